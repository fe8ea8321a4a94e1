/* SPDX-License-Identifier: MIT
 * One softmax row: its figures from its sums, and its sums from its scores.
 *
 * Invariant: no figure is a difference of two nearly equal numbers. ln Z - sum p s and 1 - sum p^2
 * lose every digit in a saturated row; the forms here lose none.
 * Read next: head.c. */
#include "row.h"

#include <math.h>

rdk_row_figures rdk_row_figures_of(const rdk_row_sums *s)
{
    double z = 1 + s->rest;
    double p = 1 / z;       /* p_max */
    double q = s->rest / z; /* 1 - p_max, exact however small */
    double s2 = s->b2 / (z * z), s3 = s->b3 / (z * z * z);
    return (rdk_row_figures){
        .entropy = log1p(s->rest) - s->a / z,
        .p_max = p,
        .jacobian_trace = (2 * s->rest + (s->rest * s->rest - s->b2)) / (z * z),
        .jacobian_frob2 = p * p * q * q + s2 * (1 + 2 * p * p) - 2 * s3 + s2 * s2,
        .theta = q * fmax(4 * p, 1 + p),
    };
}

rdk_row_figures rdk_row_measure(const rdk_attention_row *row)
{
    rdk_row_sums s = {.rest = (double)row->rest,
                      .a = (double)row->a,
                      .b2 = (double)row->b2,
                      .b3 = (double)row->b3};
    return rdk_row_figures_of(&s);
}

/* The first of the largest. */
static size_t largest(const double *scores, size_t n)
{
    size_t top = 0;
    for (size_t j = 1; j < n; j++)
        if (scores[j] > scores[top]) top = j;
    return top;
}

/* Sums over all elements but the one at `top`. */
static rdk_row_sums sums_without(const double *scores, size_t n, size_t top)
{
    rdk_row_sums s = {0};
    for (size_t j = 0; j < n; j++) {
        if (j == top) continue;
        double d = scores[j] - scores[top], w = exp(d);
        s.rest += w;
        if (w > 0) s.a += w * d; /* d may be -inf */
        s.b2 += w * w;
        s.b3 += w * w * w;
    }
    return s;
}

rdk_row_figures rdk_row_of_scores(const double *scores, size_t n)
{
    rdk_row_sums s = sums_without(scores, n, largest(scores, n));
    return rdk_row_figures_of(&s);
}

static double mean_of(const double *scores, size_t n)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++) sum += scores[j] - scores[0];
    return scores[0] + sum / (double)n;
}

static double variance_of(const double *scores, size_t n, double mean)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++) sum += (scores[j] - mean) * (scores[j] - mean);
    return sum / (double)n;
}

rdk_attention_row rdk_row_from_scores(const double *scores, size_t n)
{
    if (n == 0) return (rdk_attention_row){0};
    size_t top = largest(scores, n);
    rdk_row_sums s = sums_without(scores, n, top);
    double mean = mean_of(scores, n), abs_max = 0;
    for (size_t j = 0; j < n; j++) abs_max = fmax(abs_max, fabs(scores[j]));
    return (rdk_attention_row){
        .n = (int32_t)n,
        .max = (rdk_real)scores[top],
        .abs_max = (rdk_real)abs_max,
        .mean = (rdk_real)mean,
        .peak = (rdk_real)(scores[top] - mean),
        .variance = variance_of(scores, n, mean),
        .rest = (rdk_real)s.rest,
        .a = (rdk_real)s.a,
        .b2 = (rdk_real)s.b2,
        .b3 = (rdk_real)s.b3,
    };
}
