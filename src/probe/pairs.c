/* SPDX-License-Identifier: MIT
 * What needs the pairs of queries and keys again, outside the pass: how far an update moved the
 * scores, and p itself for a picture.
 *
 * Invariant: a row, or a block of rows, at a time; no T x T array.
 * Read next: src/run/watch.c. */
#include "dot.h"

#include <math.h>

#include <rootdk/probe.h>

#include "kernels/kernels.h"

static size_t real_tokens(const rdk_head_view *v, size_t b)
{
    return v->lengths ? (size_t)v->lengths[b] : v->len;
}

static size_t visible(const rdk_head_view *v, size_t b, size_t i)
{
    size_t real = real_tokens(v, b);
    return i >= real ? 0 : v->causal ? i + 1 : real;
}

/* Of the head's part of token (b, t), in q and in k. */
static size_t place(const rdk_head_view *v, size_t b, size_t t)
{
    return ((b * v->len + t) * v->heads + v->head) * v->d_k;
}

/* What multiplies c q.k in a row of n keys. */
static double factor_of(const rdk_head_view *v, const rdk_real *gain, size_t n)
{
    double length = v->length_base > 0 ? log((double)n) / log(v->length_base) : 1;
    return length * (gain ? (double)gain[v->head] : 1);
}

/* ---- how far scores move --------------------------------------------------------------------- */

/* The changes of a block of queries at a time. */
enum { QUERIES = 64 };

size_t rdk_head_change_scratch(size_t len, size_t d_k)
{
    return QUERIES * 2 * d_k + len * 3 * d_k + QUERIES * len; /* 3: of additive scores */
}

/* Row t of to: x in its first half and y - z in the second, or the other way round. */
static void lay_out(const rdk_head_view *v, size_t b, size_t first, size_t end, const rdk_real *x,
                    const rdk_real *y, const rdk_real *z, bool x_first, rdk_real *to)
{
    for (size_t t = first; t < end; t++, to += 2 * v->d_k) {
        size_t at = place(v, b, t);
        rdk_real *plain = x_first ? to : to + v->d_k, *apart = x_first ? to + v->d_k : to;
        for (size_t c = 0; c < v->d_k; c++) {
            plain[c] = x[at + c];
            apart[c] = y[at + c] - z[at + c];
        }
    }
}

/* The sum of squares over the visible pairs of one sequence, and how many they are. The difference
 * of two scores would be what rounding left of it; instead
 *     q'.k' - q.k = [q' - q, q].[k', k' - k] */
static double changes(const rdk_head_view *v, size_t b, const rdk_real *q_new,
                      const rdk_real *k_new, rdk_real *scratch, double *pairs)
{
    size_t real = real_tokens(v, b), width = 2 * v->d_k;
    rdk_real *left = scratch, *right = left + QUERIES * width, *change = right + v->len * width;
    double sum = 0;
    lay_out(v, b, 0, real, k_new, k_new, v->k, true, right);
    for (size_t first = 0; first < real; first += QUERIES) {
        size_t end = real - first < QUERIES ? real : first + QUERIES;
        size_t keys = visible(v, b, end - 1);
        lay_out(v, b, first, end, v->q, q_new, v->q, false, left);
        rdk_kernels_get()->gemm(false, true, end - first, keys, width, left, width, right, width,
                                change, keys, false);
        for (size_t i = first; i < end; i++) {
            const rdk_real *row = change + (i - first) * keys;
            size_t n = visible(v, b, i);
            sum += rdk_wide_dot(n, row, row);
            *pairs += (double)n;
        }
    }
    return sum;
}

/* How far the change of c x by c moved takes a score, x being q.k or w.tanh(q + k): with z = f c x,
 * a = z / cap and s = cap tanh(a),
 *     z' - z = f' c moved + (f' - f) c x
 *     tanh a' - tanh a = tanh(a' - a) (1 - tanh a' tanh a) */
static double shaped_change(const rdk_head_view *v, double f, double f_new, double x, double moved)
{
    double z = f * v->scale * x;
    double change = f_new * v->scale * moved + (f_new - f) * v->scale * x;
    if (!(v->softcap > 0)) return change;
    double a = z / v->softcap, apart = change / v->softcap;
    return v->softcap * tanh(apart) * (1 - tanh(a) * tanh(a + apart));
}

/* *x = q.k; returns moved = q'.k' - q.k. */
static double product_change(const rdk_head_view *v, size_t at_q, size_t at_k,
                             const rdk_real *q_new, const rdk_real *k_new, double *x)
{
    double moved = 0;
    *x = 0;
    for (size_t e = 0; e < v->d_k; e++) {
        double q = (double)v->q[at_q + e], k = (double)v->k[at_k + e];
        double k_after = (double)k_new[at_k + e];
        *x += q * k;
        moved += ((double)q_new[at_q + e] - q) * k_after + q * (k_after - k);
    }
    return moved;
}

/* As changes(), of scores that are more than c q.k: pair by pair. */
static double shaped_changes(const rdk_head_view *v, size_t b, const rdk_real *q_new,
                             const rdk_real *k_new, double *pairs)
{
    double sum = 0;
    for (size_t i = 0; i < real_tokens(v, b); i++) {
        size_t n = visible(v, b, i);
        double f = factor_of(v, v->gain, n);
        double f_new = factor_of(v, v->gain_new ? v->gain_new : v->gain, n);
        for (size_t j = 0; j < n; j++) {
            double x, moved = product_change(v, place(v, b, i), place(v, b, j), q_new, k_new, &x);
            double change = shaped_change(v, f, f_new, x, moved);
            sum += change * change;
        }
        *pairs += (double)n;
    }
    return sum;
}

/* Of one pair: tanh(q + k), tanh(q' + k') and tanh of the difference of these arguments. Any of the
 * three follows from the other two, but not where they have rounded to 1. [d_k] each */
typedef struct tanh_parts {
    rdk_real *was, *now, *step;
} tanh_parts;

/* Of additive scores, without a difference of near numbers: with t = tanh(q + k), t' after it, and
 * u = tanh of the step from one argument to the other
 *     w'.t' - w.t = sum (w' - w) t' + w u (1 - t t')
 * *x: w.t */
static double additive_change(const rdk_head_view *v, const rdk_real *w_new, const tanh_parts *at,
                              double *x)
{
    double moved = 0;
    *x = 0;
    for (size_t e = 0; e < v->d_k; e++) {
        double w = (double)v->w[e], was = (double)at->was[e], now = (double)at->now[e];
        *x += w * was;
        moved += ((double)w_new[e] - w) * now + w * (double)at->step[e] * (1 - was * now);
    }
    return moved;
}

/* The parts of query i and its n keys, one array after the other. */
static tanh_parts additive_parts(const rdk_head_view *v, size_t b, size_t i, size_t n,
                                 const rdk_real *q_new, const rdk_real *k_new, rdk_real *scratch)
{
    const size_t d = v->d_k, q = place(v, b, i);
    const tanh_parts all = {scratch, scratch + n * d, scratch + 2 * n * d};
    for (size_t j = 0; j < n; j++) {
        size_t k = place(v, b, j);
        for (size_t e = 0; e < d; e++) {
            all.was[j * d + e] = v->q[q + e] + v->k[k + e];
            all.now[j * d + e] = q_new[q + e] + k_new[k + e];
            all.step[j * d + e] = (q_new[q + e] - v->q[q + e]) + (k_new[k + e] - v->k[k + e]);
        }
    }
    rdk_kernels_get()->map(RDK_MAP_TANH, 3 * n * d, scratch, scratch);
    return all;
}

static double additive_changes(const rdk_head_view *v, size_t b, const rdk_real *q_new,
                               const rdk_real *k_new, const rdk_real *w_new, rdk_real *scratch,
                               double *pairs)
{
    double sum = 0;
    for (size_t i = 0; i < real_tokens(v, b); i++) {
        size_t n = visible(v, b, i);
        tanh_parts at = additive_parts(v, b, i, n, q_new, k_new, scratch);
        double f = factor_of(v, v->gain, n);
        double f_new = factor_of(v, v->gain_new ? v->gain_new : v->gain, n);
        for (size_t j = 0; j < n; j++) {
            double x, moved = additive_change(v, w_new, &at, &x);
            double change = shaped_change(v, f, f_new, x, moved);
            sum += change * change;
            at.was += v->d_k, at.now += v->d_k, at.step += v->d_k;
        }
        *pairs += (double)n;
    }
    return sum;
}

double rdk_head_score_change(const rdk_head_view *v, const rdk_real *q_new, const rdk_real *k_new,
                             const rdk_real *w_new, rdk_real *scratch)
{
    double sum = 0, pairs = 0;
    bool shaped = v->gain || v->length_base > 0 || v->softcap > 0;
    for (size_t b = 0; b < v->batch; b++)
        sum += v->w     ? additive_changes(v, b, q_new, k_new, w_new, scratch, &pairs)
               : shaped ? shaped_changes(v, b, q_new, k_new, &pairs)
                        : changes(v, b, q_new, k_new, scratch, &pairs);
    return pairs > 0 ? (shaped || v->w ? 1 : fabs(v->scale)) * sqrt(sum / pairs) : NAN;
}

/* ---- one row --------------------------------------------------------------------------------- */

static double score(const rdk_head_view *v, size_t b, size_t i, size_t j)
{
    const rdk_real *q = v->q + place(v, b, i), *k = v->k + place(v, b, j);
    double sum = 0;
    if (!v->w) return v->scale * rdk_wide_dot(v->d_k, q, k);
    for (size_t e = 0; e < v->d_k; e++) sum += (double)v->w[e] * tanh((double)q[e] + (double)k[e]);
    return v->scale * sum;
}

size_t rdk_head_weights(const rdk_head_view *v, size_t b, size_t i, double *p)
{
    size_t n = visible(v, b, i);
    double max = -INFINITY, sum = 0, factor = factor_of(v, v->gain, n);
    for (size_t j = 0; j < n; j++) {
        p[j] = factor * score(v, b, i, j);
        if (v->softcap > 0) p[j] = v->softcap * tanh(p[j] / v->softcap);
        max = fmax(max, p[j]);
    }
    if (v->sink && n > 0) {
        max = fmax(max, (double)v->sink[v->head]);
        sum = exp((double)v->sink[v->head] - max);
    }
    for (size_t j = 0; j < n; j++) sum += p[j] = exp(p[j] - max);
    for (size_t j = 0; j < n; j++) p[j] /= sum;
    return n;
}
