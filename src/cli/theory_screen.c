/* SPDX-License-Identifier: MIT
 * theory: the tables on the screen, each with what its columns mean.
 * Invariant: at most 100 columns (tests/cli/test_theory.c).
 * Read next: theory_verdict.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "theory.h"

/* ---- numbers --------------------------------------------------------------------------------- */

char *rdk_fraction(double x, char buf[RDK_NUMBER_TEXT])
{
    double inverse = 1 / x;
    if (x < 1 && fabs(inverse - round(inverse)) < 1e-9 * inverse) {
        snprintf(buf, RDK_NUMBER_TEXT, "1/%.0f", inverse);
    } else {
        snprintf(buf, RDK_NUMBER_TEXT, "%.4g", x);
    }
    return buf;
}

/* ".0012" to as many decimals as the column has; blank where there is no such number. */
static void cell(FILE *out, int width, int decimals, double x)
{
    if (isnan(x)) {
        fprintf(out, " %*s", width, "-");
    } else {
        fprintf(out, " %*.*f", width, decimals, x);
    }
}

static double z_of(double value, double se, double expected)
{
    if (value == expected) return 0;
    return (value - expected) / se;
}

/* ---- 1. the scores --------------------------------------------------------------------------- */

static void print_scores(FILE *out, const rdk_theory_point *p)
{
    const rdk_row_estimates *b = &p->before;
    fprintf(out,
            "\n1. The scores. q.k is a sum of d_k products of variance 1: its variance is d_k. "
            "A factor c\n   makes it c^2 d_k. Measured before scaling: Var(q.k) = %.5g, standard "
            "error %.2g.\n\n",
            b->variance.mean, b->variance.se);
    fprintf(out, "   %-7s %-28s %10s %9s %10s %6s\n", "scale", "score s", "Var(s)", "s.e.",
            "predicted", "z");
    for (size_t i = 0; i < p->n_ways; i++) {
        rdk_estimate v = p->e[i].variance;
        const rdk_way *way = &p->way[i];
        fprintf(out, "   %-7s %-28s %10.5g %9.2g %10.5g %+6.1f\n", way->name, way->formula, v.mean,
                v.se, way->variance, z_of(v.mean, v.se, way->variance));
    }
    fprintf(out, "\n   Var(s)     variance of the scores of one query, over n - 1; mean over the "
                 "queries\n");
    fprintf(out,
            "   predicted  c^2 d_k; %s after LayerNorm, whose vectors have one dimension less\n",
            "c^2 d_k^2 / (d_k - 1)");
    fprintf(out, "   z          distance from the prediction in standard errors (s.e.)\n");
    fprintf(out, "   dmodel     here d_model = %zu; rms and l2 are two more kinds of QK-norm\n",
            p->d_model);
}

/* ---- 2. the softmax -------------------------------------------------------------------------- */

static void print_figures(FILE *out, const char *label, const double x[7])
{
    static const int decimals[7] = {4, 4, 3, 3, 4, 4, 4};
    fprintf(out, "   %-14s", label);
    for (int i = 0; i < 7; i++) cell(out, 8, decimals[i], x[i]);
    fputc('\n', out);
}

static void print_estimates(FILE *out, const char *label, const rdk_row_estimates *e)
{
    const rdk_estimate all[7] = {e->entropy_norm, e->p_max,        e->sat90, e->sat99,
                                 e->trace,        e->trace_median, e->frob};
    double mean[7], se[7];
    for (int i = 0; i < 7; i++) {
        mean[i] = all[i].mean;
        se[i] = all[i].se;
    }
    print_figures(out, label, mean);
    print_figures(out, "         s.e.", se);
}

static void print_figure_heading(FILE *out, const char *first)
{
    fprintf(out, "   %-14s %8s %8s %8s %8s %8s %8s %8s\n", first, "H/ln n", "p_max", "sat90",
            "sat99", "tr J", "median", "|J|_F");
}

/* What all keys alike, and one key alone, would give. */
static void print_ends(FILE *out, double n)
{
    const double even[7] = {1, 1 / n, 0, 0, 1 - 1 / n, 1 - 1 / n, sqrt(1 / n - 1 / (n * n))};
    const double one[7] = {0, 1, 1, 1, 0, 0, 0};
    print_figures(out, "(all alike)", even);
    print_figures(out, "(one key)", one);
}

static void print_softmax(FILE *out, const rdk_theory_point *p)
{
    fprintf(out, "\n2. The softmax over these scores, %zu keys.\n\n", p->keys);
    print_figure_heading(out, "scale");
    for (size_t i = 0; i < p->n_ways; i++) print_estimates(out, p->way[i].name, &p->e[i]);
    print_ends(out, (double)p->keys);
    fprintf(out,
            "\n"
            "   H/ln n  entropy over its maximum: 1 where all keys count alike, 0 for one key\n"
            "   p_max   the largest probability of a row, mean over rows\n"
            "   sat90   share of rows with p_max above .90; sat99: above .99, saturated\n"
            "   tr J    trace of the softmax Jacobian, sum p (1 - p): what passes a gradient\n"
            "   median  tr J of the middle row; the mean is held up by rows that are near a "
            "tie\n"
            "   |J|_F   Frobenius norm (rms): gain for an upstream gradient of independent "
            "entries\n");
}

/* ---- 1 and 2 over several d_k ---------------------------------------------------------------- */

static rdk_estimate variance_of(const rdk_row_estimates *e)
{
    return e->variance;
}

static rdk_estimate entropy_of(const rdk_row_estimates *e)
{
    return e->entropy_norm;
}

static rdk_estimate saturated_of(const rdk_row_estimates *e)
{
    return e->sat99;
}

static void print_sweep_heading(FILE *out, const rdk_theory_results *r, size_t keys)
{
    const rdk_theory_point *p = rdk_theory_at(r, keys, 0);
    fprintf(out, "   %9s", "d_k");
    for (size_t w = 0; w < p->n_ways; w++) fprintf(out, " %9s", p->way[w].name);
    fputc('\n', out);
}

static void print_sweep(FILE *out, const rdk_theory_results *r, size_t keys,
                        rdk_estimate (*figure)(const rdk_row_estimates *))
{
    print_sweep_heading(out, r, keys);
    for (size_t j = 0; j < r->options->d_k.n; j++) {
        const rdk_theory_point *p = rdk_theory_at(r, keys, j);
        fprintf(out, "   %9zu", p->d_k);
        for (size_t w = 0; w < p->n_ways; w++) fprintf(out, " %9.4g", figure(&p->e[w]).mean);
        fputc('\n', out);
    }
}

static void print_slopes(FILE *out, const rdk_theory_results *r, size_t keys)
{
    size_t n_ways = rdk_theory_at(r, keys, 0)->n_ways;
    rdk_slope slope[RDK_WAYS];
    for (size_t w = 0; w < n_ways; w++) slope[w] = rdk_theory_slope(r, keys, w);
    if (isnan(slope[0].formula)) {
        fprintf(out, "   (three values of --d-k or more give the slopes)\n");
        return;
    }
    fprintf(out, "   %9s", "slope");
    for (size_t w = 0; w < n_ways; w++) fprintf(out, " %+9.4f", slope[w].measured.mean);
    fprintf(out, "\n   %9s", "s.e.");
    for (size_t w = 0; w < n_ways; w++) fprintf(out, " %9.4f", slope[w].measured.se);
    fprintf(out, "\n   %9s", "predicted");
    for (size_t w = 0; w < n_ways; w++)
        fprintf(out, " %+9.4f", fabs(slope[w].formula) < 5e-5 ? 0 : slope[w].formula);
    fprintf(out, "\n\n   slope: of ln Var(s) against ln d_k, weighted least squares. +1: grows as "
                 "d_k; 0: the same\n   whatever d_k; -1: falls as 1/d_k. Predicted: that of the "
                 "formula at the same d_k\n   (d_k/(d_k - 1) for qknorm, which is 1 but for narrow "
                 "heads).\n");
}

static void print_over_d_k(FILE *out, const rdk_theory_results *r, size_t keys)
{
    double n = (double)r->options->keys.at[keys];
    fprintf(out, "\n1. The scores: Var(s), %.0f keys.\n\n", n);
    print_sweep(out, r, keys, variance_of);
    print_slopes(out, r, keys);
    fprintf(out, "\n2. The softmax over them: H/ln n, entropy over its maximum (1: all keys count "
                 "alike).\n\n");
    print_sweep(out, r, keys, entropy_of);
    fprintf(out, "\n   sat99: share of rows that put more than .99 on one key.\n\n");
    print_sweep(out, r, keys, saturated_of);
    fprintf(out,
            "\n   Undivided scores leave the smooth range near variance 2 ln n = %.1f, that is "
            "near d_k = %.0f.\n",
            2 * log(n), 2 * log(n));
}

/* ---- 3. scores alone, and under a causal mask -------------------------------------------------
 */

static void print_scores_alone(FILE *out, const rdk_theory_scores *t)
{
    char fraction[RDK_NUMBER_TEXT], label[RDK_NUMBER_TEXT + 8];
    fprintf(out,
            "\n3. Only the variance matters: rows of %zu independent N(0, sigma^2) scores, "
            "%zu of them.\n   none, sqrt and dk at d_k are sigma^2 = d_k, 1 and 1/d_k.\n\n",
            t->keys, t->row[0].samples);
    print_figure_heading(out, "sigma^2");
    for (int k = 0; k < RDK_SIGMAS; k++) {
        snprintf(label, sizeof label, "%s", rdk_fraction(rdk_theory_sigma2[k], fraction));
        print_estimates(out, label, &t->row[k]);
    }
    fprintf(out, "\n   The same under a causal mask: sequences of %zu, row i sees i keys.\n\n",
            t->keys);
    fprintf(out, "   %-8s %10s %9s %10s %9s %9s %9s\n", "sigma^2", "H/ln i", "s.e.", "H/ln T",
            "tr J", "p_max", "all rows");
    for (int k = 0; k < RDK_SIGMAS; k++) {
        const rdk_row_estimates *e = &t->causal[k];
        fprintf(out, "   %-8s %10.4f %9.4f %10.4f %9.4f %9.4f %9.4f\n",
                rdk_fraction(rdk_theory_sigma2[k], fraction), e->entropy_norm.mean,
                e->entropy_norm.se, e->entropy.mean / log((double)t->keys), e->trace.mean,
                e->p_max.mean, e->p_max_all.mean);
    }
    fprintf(out, "\n   H/ln i  by the keys that each row sees: a uniform head reads 1\n"
                 "   H/ln T  by the length, a common mistake: a uniform head does not read 1\n"
                 "   p_max   of rows with 8 keys or more; all rows: short ones fake saturation\n");
}

/* ---- 4. closed forms ------------------------------------------------------------------------- */

static void print_form(FILE *out, bool holds, double x)
{
    char text[RDK_NUMBER_TEXT];
    if (fabs(x) >= 1e4) {
        snprintf(text, sizeof text, holds ? "%.1e" : "(%.0e)", x);
    } else {
        snprintf(text, sizeof text, holds ? "%.4f" : "(%.3f)", x);
    }
    fprintf(out, " %9s", text);
}

static void print_closed(FILE *out, const rdk_theory_scores *t, const char *what, bool trace)
{
    char fraction[RDK_NUMBER_TEXT];
    fprintf(out, "   %-8s %9s %8s %9s", what, "measured", "s.e.", "exact");
    for (size_t i = 0; i < rdk_closed_form_count(); i++)
        fprintf(out, " %9s", rdk_closed_form_at(i)->name);
    fputc('\n', out);
    for (int k = 0; k < RDK_SIGMAS; k++) {
        double sigma2 = rdk_theory_sigma2[k];
        rdk_estimate e = trace ? t->row[k].trace : t->row[k].entropy;
        fprintf(out, "   %-8s %9.4f %8.4f %9.4f", rdk_fraction(sigma2, fraction), e.mean, e.se,
                trace ? t->exact[k].trace : t->exact[k].entropy);
        for (size_t i = 0; i < rdk_closed_form_count(); i++) {
            const rdk_closed_form *c = rdk_closed_form_at(i);
            double value = trace ? c->trace(t->keys, sigma2) : c->entropy(t->keys, sigma2);
            print_form(out, c->holds(t->keys, sigma2), value);
        }
        fputc('\n', out);
    }
}

static void print_closed_forms(FILE *out, const rdk_theory_scores *t)
{
    fprintf(out, "\n4. Closed forms, in brackets where they do not hold; E[H] in nats, then "
                 "E[tr J].\n\n");
    print_closed(out, t, "E[H]", false);
    print_closed(out, t, "E[tr J]", true);
    fputc('\n', out);
    for (size_t i = 0; i < rdk_closed_form_count(); i++) {
        const rdk_closed_form *c = rdk_closed_form_at(i);
        fprintf(out, "   %-7s %-48s for %s\n", c->name, c->formula, c->range);
    }
    fprintf(out, "   exact   quadrature, no random number; g_n = E[max of n N(0, 1)] = %.4f\n",
            rdk_theory_gap_density(t->keys));
    fprintf(out, "\n   For every sigma and n: sigma^2 E[tr J] = E[sum p s]. Measured difference, "
                 "and z:\n   ");
    for (int k = 0; k < RDK_SIGMAS; k++) {
        char fraction[RDK_NUMBER_TEXT];
        rdk_estimate d = t->row[k].stein;
        fprintf(out, " %s: %+.2g (%+.1f)", rdk_fraction(rdk_theory_sigma2[k], fraction), d.mean,
                z_of(d.mean, d.se, 0));
    }
    fputc('\n', out);
}

/* ---- 5. by hand ------------------------------------------------------------------------------ */

static void print_hand(FILE *out)
{
    fprintf(out,
            "\n5. By hand: two keys, scores +x and -x, so p_2 = 1 / (1 + e^2x).\n\n"
            "   %-7s %-12s %-16s %-16s %-16s %-16s\n",
            "x", "p_1", "p_2", "p_1 p_2", "tr J = |J|_F", "H");
    for (int i = 0; i < RDK_HAND_ROWS; i++) {
        rdk_hand_row h = rdk_hand_measure(rdk_hand_table[i].x);
        fprintf(out, "   %-7g %-12.9f %-16.10g %-16.10g %-16.10g %-16.10g\n", h.x, 1 - h.p2, h.p2,
                h.product, h.trace, h.entropy);
    }
    fprintf(out,
            "\n   8 is one standard deviation of undivided scores at d_k = 64, 1 of divided "
            "ones, 0.125 of\n   ones divided by d_k. One pair is not the average: see tr J and "
            "median above.\n");
}

/* ---- 6. checks ------------------------------------------------------------------------------- */

static const char *const check_names[RDK_AGAINSTS] = {
    [RDK_AGAINST_FORMULA] = "variance of the scores: c^2 d_k and its like",
    [RDK_AGAINST_SLOPE] = "its slope in d_k",
    [RDK_AGAINST_STEIN] = "sigma^2 E[tr J] = E[sum p s]",
    [RDK_AGAINST_EXACT] = "E[H] and E[tr J] against quadrature",
    [RDK_AGAINST_REFERENCE] = "all figures against another program's Monte Carlo",
    [RDK_AGAINST_CLOSED] = "closed forms where they hold, against quadrature",
    [RDK_AGAINST_HAND] = "the table by hand, to its digits",
};

static void print_off(FILE *out, const rdk_finding *one)
{
    char fraction[RDK_NUMBER_TEXT];
    fprintf(out, "        off: %s %s", one->table, one->scale);
    if (one->d_k) fprintf(out, " d_k %zu", one->d_k);
    if (!isnan(one->sigma2)) fprintf(out, " sigma^2 %s", rdk_fraction(one->sigma2, fraction));
    fprintf(out, " %s = %.6g, expected %.6g, z %+.1f\n", one->figure, one->e.mean, one->expected,
            one->z);
}

static void print_check(FILE *out, const rdk_findings *f, rdk_against against)
{
    size_t n = 0, off = 0;
    const rdk_finding *worst = NULL;
    for (size_t i = 0; i < f->n; i++) {
        const rdk_finding *one = &f->at[i];
        if (one->against != against) continue;
        n++;
        off += rdk_finding_is_off(f, one);
        if (!worst || fabs(one->z) > fabs(worst->z)) worst = one;
    }
    if (!n) return;
    bool counted = !isnan(worst->e.se);
    fprintf(out, "   %-4s %4zu   %-50s ", off ? "off" : "ok", n, check_names[against]);
    fprintf(out, counted ? "largest |z| %.1f\n" : "at %.0f %% of what is allowed\n",
            counted ? fabs(worst->z) : 100 * fabs(worst->z));
    for (size_t i = 0; i < f->n; i++)
        if (f->at[i].against == against && rdk_finding_is_off(f, &f->at[i]))
            print_off(out, &f->at[i]);
}

static void print_checks(FILE *out, const rdk_findings *f)
{
    size_t near = 0;
    for (size_t i = 0; i < f->n; i++) {
        const rdk_finding *one = &f->at[i];
        near += one->against != RDK_AGAINST_NOTHING && !isnan(one->e.se) && fabs(one->z) <= 3;
    }
    fprintf(out,
            "\n6. Checks. |z| may be %.1f: by luck one of these %zu would be beyond in 1 run of "
            "1000.\n\n",
            f->bound, f->n_z);
    for (int a = RDK_AGAINST_FORMULA; a < RDK_AGAINSTS; a++) print_check(out, f, (rdk_against)a);
    fprintf(out, "\n   within three standard errors: %zu of %zu\n", near, f->n_z);
}

/* ---- all of them ----------------------------------------------------------------------------- */

void rdk_theory_screen(FILE *out, const rdk_theory_results *r)
{
    const rdk_theory_options *o = r->options;
    fprintf(out, "Entries of queries q and keys k are independent N(0, 1), drawn from seed %llu.\n",
            (unsigned long long)o->seed);
    for (size_t i = 0; i < o->keys.n; i++) {
        const rdk_theory_point *p = rdk_theory_at(r, i, 0);
        if (o->d_k.n == 1) {
            fprintf(out, "\n== d_k %zu, %zu keys, %zu queries\n", p->d_k, p->keys,
                    p->before.samples);
            print_scores(out, p);
            print_softmax(out, p);
        } else {
            fprintf(out, "\n== %zu values of d_k, %zu keys\n", o->d_k.n, p->keys);
            print_over_d_k(out, r, i);
        }
        print_scores_alone(out, &r->scores[i]);
        print_closed_forms(out, &r->scores[i]);
    }
    print_hand(out);
    print_checks(out, r->findings);
}
