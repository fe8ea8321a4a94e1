/* SPDX-License-Identifier: MIT
 * theory: the checks, what the numbers say in words made from them, and what to do next.
 * Invariant: a sentence about size depends on the number that it states. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "theory.h"

/* ---- the checks ------------------------------------------------------------------------------ */

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

void rdk_theory_checks(FILE *out, const rdk_findings *f)
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

/* ---- the verdict ----------------------------------------------------------------------------- */

static const rdk_way *way_called(const rdk_theory_point *p, const char *name,
                                 const rdk_row_estimates **e)
{
    for (size_t i = 0; i < p->n_ways; i++) {
        if (strcmp(p->way[i].name, name) != 0) continue;
        *e = &p->e[i];
        return &p->way[i];
    }
    return NULL;
}

/* One sentence or more, wrapped. */
static void say(FILE *out, const char *format, ...) RDK_PRINTF(2, 3);
static void say(FILE *out, const char *format, ...)
{
    enum { SENTENCE = 1200, INDENT = 3 };
    char text[SENTENCE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rdk_print_wrapped(out, text, INDENT);
}

enum { PHRASE = 160 };

static bool is_even(const rdk_row_estimates *e)
{
    return e->entropy_norm.mean > .95;
}

/* How the softmax starts: its entropy, and the number of keys whose even weights would have it. */
static const char *attention(const rdk_theory_point *p, const rdk_row_estimates *e,
                             char buf[PHRASE])
{
    double keys = exp(e->entropy.mean);
    const char *so = is_even(e)                ? ": rows practically average all keys"
                     : keys < 2 && p->keys > 4 ? ": most rows look at one key or two"
                                               : "";
    snprintf(buf, PHRASE, "H/ln n is %.4f, that of even weights over %.3g of the %zu keys%s",
             e->entropy_norm.mean, keys, p->keys, so);
    return buf;
}

static const char *saturation(const rdk_row_estimates *e, char buf[PHRASE])
{
    if (e->sat90.mean > 0) {
        snprintf(buf, PHRASE,
                 "%.3g %% of the rows put more than .90 on one key, %.3g %% more "
                 "than .99",
                 100 * e->sat90.mean, 100 * e->sat99.mean);
    } else {
        snprintf(buf, PHRASE, "no row puts more than .90 on one key");
    }
    return buf;
}

static void about_none(FILE *out, const rdk_theory_point *p)
{
    char how[PHRASE], full[PHRASE];
    const rdk_row_estimates *e;
    if (!way_called(p, "none", &e)) return;
    double n = (double)p->keys, end = 2 * log(n);
    say(out,
        "none: undivided, the scores have variance %.4g at d_k = %zu, %s 2 ln n = %.1f, where the "
        "smooth range ends. %s; %s. Of the tr J = %.3f that even weights have, the middle row "
        "keeps %.3g.",
        e->variance.mean, p->d_k, e->variance.mean > end ? "beyond" : "below", end,
        attention(p, e, how), saturation(e, full), 1 - 1 / n, e->trace_median.mean);
}

static void about_sqrt(FILE *out, const rdk_theory_point *p)
{
    char how[PHRASE], full[PHRASE];
    const rdk_row_estimates *e;
    if (!way_called(p, "sqrt", &e)) return;
    say(out,
        "sqrt: divided by the standard deviation of q.k, the scores have variance %.3g; by the "
        "formula it is 1 at every d_k, and no other power of d_k does that. %s; %s. The middle "
        "row keeps tr J = %.3f.",
        e->variance.mean, attention(p, e, how), saturation(e, full), e->trace_median.mean);
}

/* Of the variance under sqrt; NAN without that. */
static double beside_sqrt(const rdk_theory_point *p, const rdk_row_estimates *e)
{
    const rdk_row_estimates *root;
    return way_called(p, "sqrt", &root) ? e->variance.mean / root->variance.mean : NAN;
}

static void about_dk(FILE *out, const rdk_theory_point *p)
{
    char how[PHRASE], full[PHRASE];
    const rdk_row_estimates *e;
    if (!way_called(p, "dk", &e)) return;
    if (p->d_k == 1) {
        say(out, "dk: at d_k = 1 it is the same as sqrt, and as none. A wider head tells them "
                 "apart.");
        return;
    }
    say(out,
        "Not d_k: that is the variance of q.k, not its standard deviation. Variance %.3g is "
        "left, %.3g times that under sqrt, and the wider the head the less. %s; %s%s.",
        e->variance.mean, beside_sqrt(p, e), attention(p, e, how), saturation(e, full),
        is_even(e) && e->sat90.mean == 0 ? ", but W_Q and W_K must grow before keys are told apart"
                                         : "");
}

static void about_d_model(FILE *out, const rdk_theory_point *p)
{
    const rdk_row_estimates *e;
    if (!way_called(p, "dmodel", &e)) return;
    if (p->d_model == p->d_k) {
        say(out, "dmodel: here d_model = d_k, as with one head, and it is the same as sqrt.");
        return;
    }
    say(out,
        "Not sqrt(d_model): a score sums d_k products, not d_model. With d_model = %zu the "
        "variance is %.3g; d_k / d_model is %.3g.",
        p->d_model, e->variance.mean, (double)p->d_k / (double)p->d_model);
}

static void about_norm(FILE *out, const rdk_theory_point *p)
{
    const rdk_row_estimates *e;
    if (!way_called(p, "qknorm", &e)) return;
    if (p->d_k == 1) {
        say(out, "qknorm: LayerNorm makes 0 of a vector of one entry, so all scores are 0.");
        return;
    }
    say(out,
        "qknorm: variance %.3g. LayerNorm leaves d_k - 1 of d_k dimensions, so d_k / (d_k - 1) = "
        "%.3g is predicted where sqrt has 1. Where W_Q and W_K grow it stays so, since the norm "
        "takes their size out.",
        e->variance.mean, (double)p->d_k / ((double)p->d_k - 1));
}

static void about_width(FILE *out, const rdk_theory_point *p)
{
    const rdk_row_estimates *e;
    if (!way_called(p, "none", &e) || e->variance.mean > 2 * log((double)p->keys)) return;
    say(out,
        "With a head of width %zu and %zu keys there is little to divide: --d-k 64 --keys 64 shows "
        "more.",
        p->d_k, p->keys);
}

static void about_slopes(FILE *out, const rdk_theory_results *r)
{
    static const char *const names[] = {"none", "sqrt", "dk", "qknorm"};
    const rdk_theory_point *p = rdk_theory_at(r, 0, 0);
    const rdk_row_estimates *e;
    double slope[4] = {NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < 4; i++) {
        const rdk_way *way = way_called(p, names[i], &e);
        if (way) slope[i] = rdk_theory_slope(r, 0, (size_t)(way - p->way)).measured.mean;
    }
    if (isnan(slope[0])) return;
    say(out,
        "The variance of the scores goes as d_k to the power %+.3f undivided, %+.3f divided by "
        "sqrt(d_k), %+.3f divided by d_k, %+.3f under QK-norm.",
        slope[0], slope[1], slope[2], slope[3]);
}

/* The widest head of the first number of keys. */
static const rdk_theory_point *widest(const rdk_theory_results *r)
{
    const rdk_theory_point *p = rdk_theory_at(r, 0, 0);
    for (size_t j = 1; j < r->plan.n_d_k; j++)
        if (rdk_theory_at(r, 0, j)->d_k > p->d_k) p = rdk_theory_at(r, 0, j);
    return p;
}

void rdk_theory_verdict(FILE *out, const rdk_theory_results *r)
{
    const char *command = rdk_cli_command();
    const rdk_theory_point *p = widest(r);
    bool off = rdk_findings_off(r->findings) > 0;
    fprintf(out, "\nverdict: %s\n",
            off ? "some figures are not as predicted, see the checks; what was measured:"
                : "as predicted, all of it.");
    about_slopes(out, r);
    about_none(out, p);
    about_sqrt(out, p);
    about_dk(out, p);
    about_d_model(out, p);
    about_norm(out, p);
    about_width(out, p);
    say(out, "All this is about the start, with independent entries of variance 1. Whether a model "
             "then learns is another question: train it.");
    fprintf(out,
            "\nnext:\n   %s theory --d-k 1..4096         the slopes in d_k\n   %s theory --keys "
            "8,64,256       the same with fewer and more keys\n   %s theory --format "
            "csv          every figure, its error and its check\n   %s --scale "
            "none                 a model that starts so; then --scale sqrt\n",
            command, command, command, command);
}
