/* SPDX-License-Identifier: MIT
 * theory: the tables about scores alone: Monte Carlo, closed forms, by hand.
 * Read next: theory_verdict.c. */
#include <math.h>

#include "theory.h"

/* ---- shared with theory_screen.c ------------------------------------------------------------- */

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

double rdk_theory_z(double value, double se, double expected)
{
    if (value == expected) return 0;
    return (value - expected) / se;
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

void rdk_theory_figures(FILE *out, const char *label, const double x[RDK_COLUMNS])
{
    static const int decimals[RDK_COLUMNS] = {4, 4, 3, 3, 4, 4, 4};
    fprintf(out, "   %-14s", label);
    for (int i = 0; i < RDK_COLUMNS; i++) cell(out, 8, decimals[i], x[i]);
    fputc('\n', out);
}

void rdk_theory_estimates(FILE *out, const char *label, const rdk_row_estimates *e)
{
    const rdk_estimate all[RDK_COLUMNS] = {e->entropy_norm, e->p_max,        e->sat90, e->sat99,
                                           e->trace,        e->trace_median, e->frob};
    double mean[RDK_COLUMNS], se[RDK_COLUMNS];
    for (int i = 0; i < RDK_COLUMNS; i++) {
        mean[i] = all[i].mean;
        se[i] = all[i].se;
    }
    rdk_theory_figures(out, label, mean);
    rdk_theory_figures(out, "         s.e.", se);
}

void rdk_theory_heading(FILE *out, const char *first)
{
    fprintf(out, "   %-14s %8s %8s %8s %8s %8s %8s %8s\n", first, "H/ln n", "p_max", "sat90",
            "sat99", "tr J", "median", "|J|_F");
}

/* ---- 3. scores alone, and under a causal mask ------------------------------------------------ */

void rdk_theory_scores_alone(FILE *out, const rdk_theory_scores *t)
{
    char fraction[RDK_NUMBER_TEXT], label[RDK_NUMBER_TEXT + 8];
    fprintf(out,
            "\n3. Only the variance matters: rows of %zu independent N(0, sigma^2) scores, "
            "%zu of them.\n   none, sqrt and dk at d_k are sigma^2 = d_k, 1 and 1/d_k.\n\n",
            t->keys, t->row[0].samples);
    rdk_theory_heading(out, "sigma^2");
    for (int k = 0; k < RDK_SIGMAS; k++) {
        snprintf(label, sizeof label, "%s", rdk_fraction(rdk_theory_sigma2[k], fraction));
        rdk_theory_estimates(out, label, &t->row[k]);
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

/* In brackets where the form does not hold; what cannot be is not printed as a number. */
static void print_form(FILE *out, bool holds, double x, double most)
{
    char text[RDK_NUMBER_TEXT];
    if (x < 0 || x > most) {
        snprintf(text, sizeof text, x < 0 ? "(< 0)" : "(> max)");
    } else {
        snprintf(text, sizeof text, holds ? "%.4f " : "(%.4f)", x);
    }
    fprintf(out, " %9s", text);
}

static void print_closed(FILE *out, const rdk_theory_scores *t, const char *what, bool trace)
{
    char fraction[RDK_NUMBER_TEXT];
    double most = trace ? 1 : log((double)t->keys);
    fprintf(out, "   %-8s", what);
    for (size_t i = 0; i < rdk_closed_form_count(); i++)
        fprintf(out, " %8s ", rdk_closed_form_at(i)->name);
    fprintf(out, " %9s %9s %8s\n", "exact", "measured", "s.e.");
    for (int k = 0; k < RDK_SIGMAS; k++) {
        double sigma2 = rdk_theory_sigma2[k];
        rdk_estimate e = trace ? t->row[k].trace : t->row[k].entropy;
        fprintf(out, "   %-8s", rdk_fraction(sigma2, fraction));
        for (size_t i = 0; i < rdk_closed_form_count(); i++) {
            const rdk_closed_form *c = rdk_closed_form_at(i);
            bool holds = (trace ? c->trace_holds : c->entropy_holds)(t->keys, sigma2);
            double value = (trace ? c->trace : c->entropy)(t->keys, sigma2);
            print_form(out, holds, value, most);
        }
        fprintf(out, " %9.4f %9.4f %8.4f\n", trace ? t->exact[k].trace : t->exact[k].entropy,
                e.mean, e.se);
    }
    fputc('\n', out);
}

static void print_identity(FILE *out, const rdk_theory_scores *t)
{
    char fraction[RDK_NUMBER_TEXT];
    fprintf(out,
            "\n   For every n and sigma, exactly: sigma^2 E[tr J] = E[sum p s].\n\n"
            "   %-8s %15s %12s %12s %9s %6s\n",
            "sigma^2", "sigma^2 E[tr J]", "E[sum p s]", "difference", "s.e.", "z");
    for (int k = 0; k < RDK_SIGMAS; k++) {
        rdk_estimate d = t->row[k].stein;
        double left = rdk_theory_sigma2[k] * t->row[k].trace.mean;
        fprintf(out, "   %-8s %15.5g %12.5g %+12.2g %9.2g %+6.1f\n",
                rdk_fraction(rdk_theory_sigma2[k], fraction), left, left - d.mean, d.mean, d.se,
                rdk_theory_z(d.mean, d.se, 0));
    }
}

void rdk_theory_closed_forms(FILE *out, const rdk_theory_scores *t)
{
    fprintf(out, "\n4. Closed forms; in brackets outside the range that is stated below. E[H] in "
                 "nats.\n\n");
    print_closed(out, t, "E[H]", false);
    print_closed(out, t, "E[tr J]", true);
    for (size_t i = 0; i < rdk_closed_form_count(); i++) {
        const rdk_closed_form *c = rdk_closed_form_at(i);
        fprintf(out, "   %-7s %-48s %s\n", c->name, c->formula, c->range);
    }
    fprintf(out, "   exact   quadrature, no random number; g_n = E[max of n N(0, 1)] = %.4f\n",
            rdk_theory_gap_density(t->keys));
    print_identity(out, t);
}

/* ---- 5. by hand ------------------------------------------------------------------------------ */

void rdk_theory_hand(FILE *out)
{
    fprintf(out,
            "\n5. By hand: two keys, scores +x and -x, so p_2 = 1 / (1 + e^2x).\n\n"
            "   %-7s %-12s %-16s %-16s %-16s %s\n",
            "x", "p_1", "p_2", "p_1 p_2", "tr J = |J|_F", "H");
    for (int i = 0; i < RDK_HAND_ROWS; i++) {
        rdk_hand_row h = rdk_hand_measure(rdk_hand_table[i].x);
        fprintf(out, "   %-7g %-12.9f %-16.10g %-16.10g %-16.10g %.10g\n", h.x, 1 - h.p2, h.p2,
                h.product, h.trace, h.entropy);
    }
    fprintf(out,
            "\n   8 is one standard deviation of undivided scores at d_k = 64, 1 of divided "
            "ones, 0.125 of\n   ones divided by d_k. One pair is not the average: see tr J and "
            "median above.\n");
}
