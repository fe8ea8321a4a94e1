/* SPDX-License-Identifier: MIT
 * The figures of one head: averages over the rows (b, i) of its [B, T] queries.
 *
 * Invariant: sums run in double and in index order, so the figures are a function of the rows
 * alone. Definitions: docs/metrics.md. Read next: theory.c. */
#include "row.h"

#include <math.h>
#include <stdlib.h>

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

static rdk_head_figures averages(const head_rows *r)
{
    rdk_tally t = rdk_tally_begin(longest_row(r));
    double max = -INFINITY, abs_max = 0, mean[RDK_MEANS];
    for (size_t b = 0; b < r->batch; b++) {
        for (size_t i = 0; i < r->len; i++) {
            const rdk_attention_row *row = row_at(r, b, i);
            if (row->n == 0) continue;
            rdk_row_figures f = rdk_row_measure(row);
            rdk_tally_add(&t, (size_t)row->n, (double)row->variance, &f);
            max = fmax(max, (double)row->max);
            abs_max = fmax(abs_max, (double)row->abs_max);
        }
    }
    rdk_tally_means(&t, mean);
    rdk_theory a = rdk_means_named(mean);
    return (rdk_head_figures){
        .score_std = a.score_std,
        .score_absmax = t.rows ? abs_max : NAN,
        .score_max = t.rows ? max : NAN,
        .entropy = a.entropy,
        .entropy_norm = a.entropy_norm,
        .p_max = a.p_max,
        .sat90 = a.sat90,
        .sat99 = a.sat99,
        .jacobian_trace = a.jacobian_trace,
        .jacobian_frob = a.jacobian_frob,
        .rows = t.rows,
    };
}

/* ---- the gradient at the scores -------------------------------------------------------------- */

/* A row whose p is spread (R > 0) and whose ds is exactly 0 was reached by no gradient: its target
 * is ignored, or nothing downstream looks at it. It says nothing about saturation. A row with one
 * key has J = 0 whatever the scores. */
static bool counts_for_ds(const rdk_attention_row *row)
{
    return row->n >= 2 && (row->ds_norm != 0 || row->rest == 0);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The nearest-rank quantile: the smallest value with at least percent % of the values <= it. */
static double quantile(const double *sorted, size_t n, size_t percent)
{
    size_t rank = (n * percent + 99) / 100;
    return sorted[rank ? rank - 1 : 0];
}

static double sum_squares(const double *x, size_t begin, size_t end)
{
    double sum = 0;
    for (size_t i = begin; i < end; i++) sum += x[i] * x[i];
    return sum;
}

static void gradient_figures(rdk_head_figures *f, const head_rows *r, double *norms)
{
    f->ds_median = f->ds_p10 = f->ds_p90 = f->ds_top5_share = NAN;
    size_t n = 0;
    for (size_t b = 0; b < r->batch; b++)
        for (size_t i = 0; i < r->len; i++)
            if (counts_for_ds(row_at(r, b, i))) norms[n++] = (double)row_at(r, b, i)->ds_norm;
    double total = sum_squares(norms, 0, n);
    if (!(total > 0) || isinf(total)) return; /* before a backward, or the run diverged */
    qsort(norms, n, sizeof *norms, ascending);
    size_t top = (n * 5 + 99) / 100;
    f->ds_p10 = quantile(norms, n, 10);
    f->ds_median = quantile(norms, n, 50);
    f->ds_p90 = quantile(norms, n, 90);
    f->ds_top5_share = sum_squares(norms, n - top, n) / sum_squares(norms, 0, n);
}

/* ---- queries and keys ------------------------------------------------------------------------ */

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
        for (size_t i = 0; i < len; i++) {
            const rdk_real *row = x + ((b * r->len + i) * heads + head) * d_k;
            for (size_t c = 0; c < d_k; c++) sum += (double)row[c] * (double)row[c];
        }
    }
    return tokens ? sqrt(sum / (double)(tokens * d_k)) : NAN;
}

rdk_head_figures rdk_head_measure(const rdk_attention_row *rows, size_t batch, size_t heads,
                                  size_t len, size_t head, const rdk_real *q, const rdk_real *k,
                                  size_t d_k, const int32_t *lengths, double *scratch)
{
    head_rows r = {rows + head * len, batch, heads * len, len};
    rdk_head_figures f = averages(&r);
    gradient_figures(&f, &r, scratch);
    f.q_rms = head_rms(q, &r, heads, head, d_k, lengths);
    f.k_rms = head_rms(k, &r, heads, head, d_k, lengths);
    return f;
}
