/* SPDX-License-Identifier: MIT
 * What is measured of one row of scores, key block by key block, beside the pass that computes it.
 *
 * With w = exp(s - m), m the largest score so far: R = sum w, A = sum w (s - m), B2 = sum w^2,
 * B3 = sum w^3, each without the largest element (whose w is 1), so that 1 - p_max = R / (1 + R)
 * and the entropy log1p(R) - A / (1 + R) are exact however small they are. When the maximum moves
 * by d = m_old - m_new < 0, with a = exp(d), the old one joins the sums:
 *
 *     A = a (A + (R + 1) d)    R = a (R + 1)    B2 = a^2 (B2 + 1)    B3 = a^3 (B3 + 1)
 *
 * Mean and variance of s are merged from those of the blocks (Chan, Golub and LeVeque 1979).
 * Invariant: nothing here changes what attention computes.
 * Read next: attention.c; src/probe/row.c for what becomes of the sums. */
#ifndef RDK_ATTENTION_STATS_H
#define RDK_ATTENTION_STATS_H

#include "attention_block.h"

typedef struct row_stats {
    size_t n;
    double max, min, mean, squares; /* squares: sum of (s - mean)^2 */
    double r, a, b2, b3;
    double cosine, cosine2;
    double uncapped;
} row_stats;

/* 1 / ||x||, or 0 for the zero vector. */
static rdk_real stats_inverse_norm(size_t n, const rdk_real *x)
{
    vsum sum = {{0}, {0}};
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        sum = v_accumulate_product(sum, v_load(x + j), v_load(x + j));
    if (j < n) sum = v_accumulate_product(sum, v_load_n(x + j, n - j), v_load_n(x + j, n - j));
    double squares = v_total(sum);
    return squares > 0 ? (rdk_real)(1 / sqrt(squares)) : 0;
}

static void stats_raise_max(row_stats *t, double max)
{
    double d = t->max - max, a = exp(d);
    t->a = a * (t->a + (t->r + 1) * d);
    t->r = a * (t->r + 1);
    t->b2 = a * a * (t->b2 + 1);
    t->b3 = a * a * a * (t->b3 + 1);
    t->max = max;
}

/* s - max, but no further down than where exp is 0: the difference of two floats may be -inf, and
 * 0 times that is not 0. */
static inline vreal stats_below(vreal s, rdk_real max)
{
    static const rdk_real bottom = -1000;
    return v_max(v_set(bottom), s - max);
}

/* Raises t->max to max, the largest score up to and including this block; true where one of this
 * block's scores is it. */
static bool stats_take_max(row_stats *t, rdk_real max)
{
    bool first = t->n == 0, raised = !first && (double)max > t->max;
    if (first) t->max = t->min = (double)max;
    if (raised) stats_raise_max(t, (double)max);
    return first || raised;
}

/* The keys of one block, n >= 1: s becomes w = exp(s - max), max the largest score of the row up to
 * and including this block; returns the sum of w, and adds the sums over the block. An element as
 * large as the largest has w = 1; the largest itself is left out. After stats_take_max and
 * stats_add_moments, which count the scores. */
static rdk_real stats_to_weights(row_stats *t, size_t n, bool holds_max, rdk_real *s)
{
    const rdk_real max = (rdk_real)t->max;
    vreal low = v_set(max), r = v_set(0), a = v_set(0), b2 = v_set(0), b3 = v_set(0);
    vreal equal = v_set(0), sum = v_set(0);
    for (size_t j = 0; j < n; j += LANES) {
        vreal score = v_visible(v_load(s + j), j, n, -INFINITY), d = stats_below(score, max);
        vreal w = v_visible(v_exp(v_load(s + j) - max), j, n, 0);
        vreal x = (vreal)((vint)w & (score < max));
        v_store(s + j, w);
        sum += w;
        low = v_min(low, v_visible(score, j, n, max));
        equal += v_select(score == max, v_set(1), v_set(0));
        r += x;
        a += x * d;
        b2 += x * x;
        b3 += x * x * x;
    }
    double ties = (double)v_sum(equal) - (holds_max ? 1 : 0);
    double least = -(double)v_hmax(-low);
    if (least < t->min) t->min = least;
    t->r += (double)v_sum(r) + ties;
    t->a += (double)v_sum(a);
    t->b2 += (double)v_sum(b2) + ties;
    t->b3 += (double)v_sum(b3) + ties;
    return v_sum(sum);
}

/* Sum of (s - origin), and of its square in *squares. */
static double stats_sums_about(rdk_real origin, size_t n, const rdk_real *s, double *squares)
{
    vreal sum = v_set(0), sum2 = v_set(0);
    for (size_t j = 0; j < n; j += LANES) {
        vreal d = v_visible(v_load(s + j), j, n, origin) - origin;
        sum += d;
        sum2 += d * d;
    }
    *squares = (double)v_sum(sum2);
    return (double)v_sum(sum);
}

/* The same where their squares leave the range of a float: rare, so plainly. */
static double stats_wide_sums_about(double origin, size_t n, const rdk_real *s, double *squares)
{
    double sum = 0;
    *squares = 0;
    for (size_t j = 0; j < n; j++) {
        double d = (double)s[j] - origin;
        sum += d;
        *squares += d * d;
    }
    return sum;
}

static void stats_add_moments(row_stats *t, size_t n, const rdk_real *s)
{
    /* About a score of the block; where that lies far out, so that the difference below would
     * cancel, about the mean that was found, and where squares overflow, in double. */
    static const double most_cancelled = 0.9;
    double squares, count = (double)n, origin = (double)s[0];
    double sum = stats_sums_about(s[0], n, s, &squares);
    if (!isfinite(squares)) {
        origin += stats_wide_sums_about(origin, n, s, &squares) / count;
        sum = stats_wide_sums_about(origin, n, s, &squares);
    } else if (sum * sum > most_cancelled * squares * count) {
        rdk_real middle = s[0] + (rdk_real)(sum / count);
        origin = (double)middle;
        sum = stats_sums_about(middle, n, s, &squares);
    }
    double mean = origin + sum / count;
    squares -= sum * sum / count;
    if (t->n > 0) {
        double apart = mean - t->mean, share = count / (count + (double)t->n);
        squares += apart * apart * share * (double)t->n + t->squares;
        mean = t->mean + apart * share;
    }
    t->squares = squares;
    t->mean = mean;
    t->n += n;
}

/* The cosines of a block's pairs: s = c |q| |k| cos. of_q: 1 / (c |q|); of_k[j]: 1 / |k_j|. */
static void stats_add_cosines(row_stats *t, size_t n, const rdk_real *s, rdk_real of_q,
                              const rdk_real *of_k)
{
    vreal sum = v_set(0), sum2 = v_set(0);
    for (size_t j = 0; j < n; j += LANES) {
        vreal x = v_visible(v_load(s + j) * of_q * v_load(of_k + j), j, n, 0);
        sum += x;
        sum2 += x * x;
    }
    t->cosine += (double)v_sum(sum);
    t->cosine2 += (double)v_sum(sum2);
}

/* A row whose scores are no products has none. */
static void stats_without_cosines(row_stats *t)
{
    t->cosine = t->cosine2 = NAN;
}

/* The largest score before the cap: those of a block are factor times product. */
static void stats_add_uncapped(row_stats *t, size_t n, rdk_real factor, const rdk_real *product)
{
    vreal most = v_set(0);
    for (size_t j = 0; j < n; j += LANES) {
        vreal x = v_visible(v_load(product + j), j, n, 0);
        most = v_max(most, v_max(x, -x));
    }
    double largest = fabs((double)factor * (double)v_hmax(most));
    if (largest > t->uncapped) t->uncapped = largest;
}

/* After the last block: the sink is one more outcome of the softmax, and no score of a key. */
static void stats_add_sink(row_stats *t, double sink)
{
    double keys_max = t->max, d = sink - keys_max, w = exp(d);
    if (d > 0) {
        stats_raise_max(t, sink);
        t->max = keys_max;
        return;
    }
    t->r += w;
    t->a += w * d;
    t->b2 += w * w;
    t->b3 += w * w * w;
}

/* Field by field: a struct that is copied as a whole waits for the narrower stores of its parts. */
static void stats_row(const row_stats *t, bool sink, rdk_attention_row *row)
{
    double up = fabs(t->max), down = fabs(t->min);
    row->n = (int32_t)t->n;
    row->max = (rdk_real)t->max;
    row->abs_max = (rdk_real)(down > up ? down : up);
    row->mean = (rdk_real)t->mean;
    row->peak = (rdk_real)(t->max - t->mean);
    row->variance = t->n ? t->squares / (double)t->n : 0;
    row->rest = (rdk_real)t->r;
    row->a = (rdk_real)t->a;
    row->b2 = (rdk_real)t->b2;
    row->b3 = (rdk_real)t->b3;
    row->cosine = (rdk_real)t->cosine;
    row->cosine2 = (rdk_real)t->cosine2;
    row->sink = sink;
    row->uncapped = (rdk_real)t->uncapped;
    row->ds_norm = 0; /* until backward */
    row->s_ds = 0;
    row->reached = false;
}

/* Backward, before its first block: nothing of an earlier one is left; does a gradient arrive? */
static void stats_begin_gradient(rdk_attention_row *row, size_t n, const rdk_real *dout)
{
    row->ds_norm = 0;
    row->s_ds = 0;
    row->reached = false;
    for (size_t e = 0; e < n && !row->reached; e++) row->reached = dout[e] != 0;
}

/* Backward: adds a block's gradients at the scores. In double, because in a saturated row their
 * squares leave the range of a float; and with s counted from the row's largest score, which
 * changes nothing, as the gradients of a row sum to 0, but leaves no large number to cancel. */
static void stats_add_gradient(rdk_attention_row *row, size_t n, rdk_real max, const rdk_real *s,
                               const rdk_real *ds)
{
    vsum squares = {{0}, {0}}, products = {{0}, {0}};
    for (size_t j = 0; j < n; j += LANES) {
        vreal g = v_visible(v_load(ds + j), j, n, 0);
        vreal d = stats_below(v_visible(v_load(s + j), j, n, max), max);
        squares = v_accumulate_product(squares, g, g);
        products = v_accumulate_product(products, d, g);
    }
    double before = (double)row->ds_norm;
    row->ds_norm = (rdk_real)sqrt(before * before + v_total(squares));
    row->s_ds += v_total(products);
}

/* The norm alone, where scores are shaped or a sink takes its share: the gradients of a row's keys
 * need not sum to 0 there, and s_ds comes from policy_gradient. */
static void stats_add_gradient_norm(rdk_attention_row *row, size_t n, const rdk_real *ds)
{
    vsum squares = {{0}, {0}};
    for (size_t j = 0; j < n; j += LANES) {
        vreal g = v_visible(v_load(ds + j), j, n, 0);
        squares = v_accumulate_product(squares, g, g);
    }
    double before = (double)row->ds_norm;
    row->ds_norm = (rdk_real)sqrt(before * before + v_total(squares));
}

#endif
