/* SPDX-License-Identifier: MIT
 * The figures of one head: averages and quantiles over the rows (b, i) of its [B, T] queries.
 *
 * Invariant: sums run in double and in index order, so the figures are a function of the rows
 * alone. Definitions: docs/metrics.md.
 * Read next: quantile.c, theory.c. */
#include "dot.h"
#include "quantile.h"
#include "row.h"

#include <math.h>

typedef struct head_rows {
    const rdk_attention_row *first; /* row (b, i) is first[b * stride + i] */
    size_t batch, stride, len;
} head_rows;

static const rdk_attention_row *row_at(const head_rows *r, size_t b, size_t i)
{
    return r->first + b * r->stride + i;
}

static size_t longest_row(const head_rows *r)
{
    int32_t n = 0;
    for (size_t b = 0; b < r->batch; b++)
        for (size_t i = 0; i < r->len; i++)
            if (row_at(r, b, i)->n > n) n = row_at(r, b, i)->n;
    return (size_t)n;
}

/* ---- averages -------------------------------------------------------------------------------- */

/* What the tally of theory does not know. */
typedef struct head_sums {
    double max, abs_max, uncapped, peak, mean, theta, cosine, cosine2, pairs;
} head_sums;

/* fmax, which compilers call rather than inline. x: kept where y is NaN. */
static double larger(double x, double y)
{
    return y > x ? y : x;
}

static void add_row(head_sums *s, const rdk_attention_row *row, const rdk_row_figures *f)
{
    s->max = larger(s->max, (double)row->max);
    s->abs_max = larger(s->abs_max, (double)row->abs_max);
    s->uncapped = larger(s->uncapped, (double)row->uncapped);
    s->peak = larger(s->peak, (double)row->peak);
    s->mean += (double)row->mean;
    s->theta += f->theta;
    s->cosine += (double)row->cosine;
    s->cosine2 += (double)row->cosine2;
    s->pairs += (double)row->n;
}

/* traces, frobs: of the Jacobians of the rows that count, in order. */
static rdk_head_figures averages(const head_rows *r, double *traces, double *frobs)
{
    rdk_tally t = rdk_tally_begin(longest_row(r));
    head_sums s = {.max = -INFINITY};
    double mean[RDK_MEANS];
    for (size_t b = 0; b < r->batch; b++) {
        for (size_t i = 0; i < r->len; i++) {
            const rdk_attention_row *row = row_at(r, b, i);
            if (row->n == 0) continue;
            rdk_row_figures f = rdk_row_measure(row);
            traces[t.rows] = f.jacobian_trace;
            frobs[t.rows] = sqrt(f.jacobian_frob2);
            rdk_tally_add(&t, (size_t)row->n, row->sink, row->variance, &f);
            add_row(&s, row, &f);
        }
    }
    rdk_tally_means(&t, mean);
    double rows = t.rows ? (double)t.rows : NAN;
    return (rdk_head_figures){
        .score_std = sqrt(mean[RDK_MEAN_VARIANCE]),
        .score_absmax = t.rows ? s.abs_max : NAN,
        .score_max = t.rows ? s.max : NAN,
        .score_absmax_uncapped = t.rows ? s.uncapped : NAN,
        .score_mean = s.mean / rows,
        .score_peak = t.rows ? s.peak : NAN,
        .entropy = mean[RDK_MEAN_ENTROPY],
        .entropy_norm = mean[RDK_MEAN_ENTROPY_NORM],
        .p_max = mean[RDK_MEAN_P_MAX],
        .sat90 = mean[RDK_MEAN_SAT90],
        .sat99 = mean[RDK_MEAN_SAT99],
        .jacobian_trace = mean[RDK_MEAN_TRACE],
        .jacobian_frob = sqrt(mean[RDK_MEAN_FROB2]),
        .theta = s.theta / rows,
        .q_k_cosine = t.rows ? s.cosine / s.pairs : NAN,
        .q_k_cosine_rms = t.rows ? sqrt(s.cosine2 / s.pairs) : NAN,
        .rows = t.rows,
    };
}

/* ---- the gradient at the scores -------------------------------------------------------------- */

static double sum_squares(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/* The norms of the rows that count: not of one with a single outcome, whose J is 0 whatever its
 * score; not of one that no gradient reaches, which says nothing about saturation. A row through
 * which nothing comes, because p is 1 and 0, is a 0 that counts. */
static size_t gradient_norms(const head_rows *r, double *norms, double *scale_gradient)
{
    size_t n = 0;
    *scale_gradient = 0;
    for (size_t b = 0; b < r->batch; b++) {
        for (size_t i = 0; i < r->len; i++) {
            const rdk_attention_row *row = row_at(r, b, i);
            *scale_gradient += row->s_ds;
            if (rdk_row_has_choice((size_t)row->n, row->sink) && row->reached)
                norms[n++] = (double)row->ds_norm;
        }
    }
    return n;
}

static void gradient_figures(rdk_head_figures *f, const head_rows *r, double *norms)
{
    f->ds_median = f->ds_p10 = f->ds_p90 = f->ds_rms = f->ds_top5_share = f->scale_gradient = NAN;
    double scale_gradient;
    size_t n = gradient_norms(r, norms, &scale_gradient);
    double total = sum_squares(norms, n);
    if (n == 0 || !isfinite(total)) return; /* before a backward, or the run diverged */
    f->scale_gradient = scale_gradient;
    f->ds_rms = sqrt(total / (double)n);
    const size_t p10 = rdk_quantile_rank(n, 10), p50 = rdk_quantile_rank(n, 50);
    const size_t p90 = rdk_quantile_rank(n, 90), rest = n - rdk_quantile_rank(n, 5);
    rdk_move_smallest_of_each(norms, n, 4, (size_t[]){p10, p50, p90, rest});
    f->ds_p10 = rdk_largest(norms, p10);
    f->ds_median = rdk_largest(norms, p50);
    f->ds_p90 = rdk_largest(norms, p90);
    if (total > 0) f->ds_top5_share = sum_squares(norms + rest, n - rest) / sum_squares(norms, n);
}

/* ---- queries and keys ------------------------------------------------------------------------ */

double rdk_head_squares(const rdk_real *x, size_t tokens, size_t heads, size_t head, size_t d_k)
{
    double sum = 0;
    for (size_t i = 0; i < tokens; i++) {
        const rdk_real *row = x + (i * heads + head) * d_k;
        sum += rdk_wide_dot(d_k, row, row);
    }
    return sum;
}

/* RMS over the real tokens of columns head * d_k .. of x: [B, T, H d_k]. */
static double head_rms(const rdk_real *x, const head_rows *r, size_t heads, size_t head, size_t d_k,
                       const int32_t *lengths)
{
    if (!x) return NAN;
    double sum = 0;
    size_t tokens = 0;
    for (size_t b = 0; b < r->batch; b++) {
        size_t len = lengths ? (size_t)lengths[b] : r->len;
        tokens += len;
        sum += rdk_head_squares(x + b * r->len * heads * d_k, len, heads, head, d_k);
    }
    return tokens ? sqrt(sum / (double)(tokens * d_k)) : NAN;
}

rdk_head_figures rdk_head_measure(const rdk_attention_row *rows, size_t batch, size_t heads,
                                  size_t len, size_t head, const rdk_real *q, const rdk_real *k,
                                  size_t d_k, const int32_t *lengths, double *scratch)
{
    head_rows r = {rows + head * len, batch, heads * len, len};
    double *frobs = scratch + batch * len;
    rdk_head_figures f = averages(&r, scratch, frobs);
    f.jacobian_trace_median = rdk_quantile(scratch, f.rows, 50);
    f.jacobian_frob_median = rdk_quantile(frobs, f.rows, 50);
    gradient_figures(&f, &r, scratch);
    f.q_rms = head_rms(q, &r, heads, head, d_k, lengths);
    f.k_rms = head_rms(k, &r, heads, head, d_k, lengths);
    return f;
}
