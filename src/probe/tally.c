/* SPDX-License-Identifier: MIT
 * Averages over rows: which row counts for which figure.
 *
 * Invariant: this is the only place that knows, so a measured column, the theory beside it and a
 * histogram of it are about the same rows. Sums run in double, in the order of the calls.
 * Read next: head.c. */
#include "row.h"

#include <math.h>

bool rdk_row_has_choice(size_t n, bool sink)
{
    return n > 0 && (n >= 2 || sink);
}

bool rdk_row_is_long(size_t n, size_t longest)
{
    enum { LONG_ROW = 8 };
    return n >= (longest >= LONG_ROW ? LONG_ROW : 2);
}

rdk_tally rdk_tally_begin(size_t longest)
{
    return (rdk_tally){.longest = longest};
}

void rdk_tally_add(rdk_tally *t, size_t n, bool sink, double variance, const rdk_row_figures *f)
{
    const size_t outcomes = n + (sink ? 1 : 0);
    if (n == 0) return;
    t->rows++;
    t->sum[RDK_MEAN_ENTROPY] += f->entropy;
    t->sum[RDK_MEAN_TRACE] += f->jacobian_trace;
    t->sum[RDK_MEAN_FROB2] += f->jacobian_frob2;
    if (n >= 2) {
        t->rows_two++;
        t->sum[RDK_MEAN_VARIANCE] += variance;
    }
    if (rdk_row_has_choice(n, sink)) {
        t->rows_choice++;
        t->sum[RDK_MEAN_ENTROPY_NORM] += f->entropy / log((double)outcomes);
    }
    if (rdk_row_is_long(n, t->longest)) {
        t->rows_long++;
        t->sum[RDK_MEAN_P_MAX] += f->p_max;
        t->sum[RDK_MEAN_SAT90] += f->p_max > 0.90;
        t->sum[RDK_MEAN_SAT99] += f->p_max > 0.99;
    }
}

static size_t rows_behind(const rdk_tally *t, int figure)
{
    switch (figure) {
    case RDK_MEAN_VARIANCE:
        return t->rows_two;
    case RDK_MEAN_ENTROPY_NORM:
        return t->rows_choice;
    case RDK_MEAN_P_MAX:
    case RDK_MEAN_SAT90:
    case RDK_MEAN_SAT99:
        return t->rows_long;
    default:
        return t->rows;
    }
}

void rdk_tally_means(const rdk_tally *t, double mean[RDK_MEANS])
{
    for (int m = 0; m < RDK_MEANS; m++) {
        size_t n = rows_behind(t, m);
        mean[m] = n ? t->sum[m] / (double)n : NAN;
    }
}
