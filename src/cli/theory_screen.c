/* SPDX-License-Identifier: MIT
 * theory: the screen: scores of q and k, the softmax over them, and the order of all tables, each
 * with what its columns mean.
 * Invariant: at most 100 columns (tests/cli/test_theory.c).
 * Read next: theory_tables.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "theory.h"

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
        rdk_estimate v = rdk_theory_variance(p, i);
        const rdk_way *way = &p->way[i];
        fprintf(out, "   %-7s %-28s %10.5g %9.2g %10.5g %+6.1f\n", way->name, way->formula, v.mean,
                v.se, way->variance, rdk_theory_z(v.mean, v.se, way->variance));
    }
    fprintf(out, "\n   Var(s)     variance of the scores of one query, over n - 1; mean over the "
                 "queries\n");
    fprintf(out,
            "   predicted  c^2 d_k; %s after LayerNorm, whose vectors have one dimension less\n",
            "c^2 d_k^2 / (d_k - 1)");
    fprintf(out, "   z          distance from the prediction in standard errors (s.e., as they "
                 "should be)\n");
    fprintf(out, "              (one draw of q and k for all of them, so that z is shared)\n");
    fprintf(out, "   dmodel     here d_model = %zu; rms and l2 are two more kinds of QK-norm\n",
            p->d_model);
}

/* ---- 2. the softmax -------------------------------------------------------------------------- */

/* What all keys alike, and one key alone, would give. */
static void print_ends(FILE *out, double n)
{
    const double even[RDK_COLUMNS] = {
        1, 1 / n, 0, 0, 1 - 1 / n, 1 - 1 / n, sqrt(1 / n - 1 / (n * n))};
    const double one[RDK_COLUMNS] = {0, 1, 1, 1, 0, 0, 0};
    rdk_theory_figures(out, "(all alike)", even);
    rdk_theory_figures(out, "(one key)", one);
}

static const char softmax_legend[] =
    "\n"
    "   H/ln n  entropy over its maximum: 1 where all keys count alike, 0 for one key\n"
    "   p_max   the largest probability of a row, mean over rows\n"
    "   sat90   share of rows with p_max above .90; sat99: above .99, saturated\n"
    "   tr J    trace of the softmax Jacobian, sum p (1 - p): what passes a gradient\n"
    "   median  tr J of the middle row; the mean is held up by rows that are near a tie\n"
    "   |J|_F   Frobenius norm (rms): gain for an upstream gradient of independent entries\n";

static void print_softmax(FILE *out, const rdk_theory_point *p)
{
    fprintf(out, "\n2. The softmax over these scores, %zu keys.\n\n", p->keys);
    rdk_theory_heading(out, "scale");
    for (size_t i = 0; i < p->n_ways; i++) rdk_theory_estimates(out, p->way[i].name, &p->e[i]);
    print_ends(out, (double)p->keys);
    fputs(softmax_legend, out);
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

enum { A_BLOCK = 8 }; /* ways beside each other */

static void print_sweep_heading(FILE *out, const rdk_theory_point *p, size_t from, size_t to)
{
    fprintf(out, "   %9s", "d_k");
    for (size_t w = from; w < to; w++) fprintf(out, " %9s", p->way[w].name);
    fputc('\n', out);
}

static size_t block_end(const rdk_theory_point *p, size_t from)
{
    return from + A_BLOCK < p->n_ways ? from + A_BLOCK : p->n_ways;
}

static void print_slope_row(FILE *out, const char *label, const double *x, size_t from, size_t to,
                            bool sign)
{
    fprintf(out, "   %9s", label);
    for (size_t w = from; w < to; w++) {
        double rounded = fabs(x[w]) < 5e-5 ? 0 : x[w];
        fprintf(out, sign ? " %+9.4f" : " %9.4f", rounded);
    }
    fputc('\n', out);
}

static void print_slopes(FILE *out, const rdk_theory_results *r, size_t keys, size_t from,
                         size_t to)
{
    double measured[RDK_WAYS], se[RDK_WAYS], formula[RDK_WAYS];
    for (size_t w = from; w < to; w++) {
        rdk_slope slope = rdk_theory_slope(r, keys, w);
        measured[w] = slope.measured.mean;
        se[w] = slope.measured.se;
        formula[w] = slope.formula;
    }
    print_slope_row(out, "slope", measured, from, to, true);
    print_slope_row(out, "s.e.", se, from, to, false);
    print_slope_row(out, "predicted", formula, from, to, true);
}

/* One figure, a line for each d_k; with slopes below where that is asked for. */
static void print_sweep(FILE *out, const rdk_theory_results *r, size_t keys, const char *format,
                        rdk_estimate (*figure)(const rdk_row_estimates *), bool slopes)
{
    const rdk_theory_point *first = rdk_theory_at(r, keys, 0);
    for (size_t from = 0, to; from < first->n_ways; from = to) {
        to = block_end(first, from);
        print_sweep_heading(out, first, from, to);
        for (size_t j = 0; j < r->plan.n_d_k; j++) {
            const rdk_theory_point *p = rdk_theory_at(r, keys, j);
            fprintf(out, "   %9zu", p->d_k);
            for (size_t w = from; w < to; w++) fprintf(out, format, figure(&p->e[w]).mean);
            fputc('\n', out);
        }
        if (slopes) print_slopes(out, r, keys, from, to);
    }
}

static void print_over_d_k(FILE *out, const rdk_theory_results *r, size_t keys)
{
    double n = (double)r->plan.keys[keys];
    bool slopes = r->plan.n_d_k >= 3;
    fprintf(out, "\n1. The scores: their variance Var(s), %.0f keys.\n\n", n);
    print_sweep(out, r, keys, " %9.4g", variance_of, slopes);
    fprintf(out, slopes
                     ? "\n   slope      of ln Var(s) against ln d_k, from d_k = 32 on where three "
                       "are as wide: +1 grows as\n              d_k, 0 is the same at every d_k, "
                       "-1 falls as 1/d_k\n   predicted  slope of the formula at the same d_k; "
                       "qknorm has d_k / (d_k - 1), nearly 1\n"
                     : "\n   (three values of --d-k or more give the slopes)\n");
    fprintf(out, "\n2. The softmax over them: H/ln n, entropy over its maximum (1: all keys count "
                 "alike).\n\n");
    print_sweep(out, r, keys, " %9.4f", entropy_of, false);
    fprintf(out, "\n   sat99: share of rows that put more than .99 on one key.\n\n");
    print_sweep(out, r, keys, " %9.4f", saturated_of, false);
    fprintf(out,
            "\n   Undivided scores leave the smooth range near variance 2 ln n = %.1f: from "
            "about d_k = %.0f on,\n   a few keys dominate.\n",
            2 * log(n), 2 * log(n));
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void print_points(FILE *out, const rdk_theory_results *r, size_t keys)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t j = 0; j < r->plan.n_d_k; j++) {
        size_t n = rdk_theory_at(r, keys, j)->before.samples;
        if (n < least) least = n;
        if (n > most) most = n;
    }
    fprintf(out, "\n== %zu values of d_k, %zu keys, ", r->plan.n_d_k,
            rdk_theory_at(r, keys, 0)->keys);
    if (least < most) fprintf(out, "%zu to ", least);
    fprintf(out, "%zu queries each\n", most);
}

void rdk_theory_screen(FILE *out, const rdk_theory_results *r)
{
    const rdk_theory_plan *plan = &r->plan;
    fprintf(out, "Entries of queries q and keys k are independent N(0, 1), drawn from seed %llu.\n",
            (unsigned long long)plan->seed);
    for (size_t i = 0; i < plan->n_keys; i++) {
        const rdk_theory_point *p = rdk_theory_at(r, i, 0);
        if (plan->n_d_k == 1) {
            fprintf(out, "\n== d_k %zu, %zu keys, %zu queries\n", p->d_k, p->keys,
                    p->before.samples);
            print_scores(out, p);
            print_softmax(out, p);
        } else {
            print_points(out, r, i);
            print_over_d_k(out, r, i);
        }
        rdk_theory_scores_alone(out, &r->scores[i]);
        rdk_theory_closed_forms(out, &r->scores[i]);
    }
    rdk_theory_hand(out);
    rdk_theory_checks(out, r->findings);
}
