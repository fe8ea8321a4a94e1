/* SPDX-License-Identifier: MIT
 * What needs the pairs of queries and keys again, outside the pass: how far an update moved the
 * scores, and p itself for a picture.
 *
 * Invariant: one row at a time, in double; no T x T array. Read next: src/run/watch.c. */
#include "dot.h"

#include <math.h>

#include <rootdk/probe.h>

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

double rdk_head_score_change(const rdk_head_view *v, const rdk_real *q_new, const rdk_real *k_new)
{
    double sum = 0, pairs = 0;
    for (size_t b = 0; b < v->batch; b++) {
        for (size_t i = 0; i < real_tokens(v, b); i++) {
            size_t n = visible(v, b, i), at_q = place(v, b, i);
            pairs += (double)n;
            for (size_t j = 0; j < n; j++) {
                size_t at_k = place(v, b, j);
                double d = rdk_wide_dot(v->d_k, q_new + at_q, k_new + at_k) -
                           rdk_wide_dot(v->d_k, v->q + at_q, v->k + at_k);
                sum += d * d;
            }
        }
    }
    return pairs > 0 ? fabs(v->scale) * sqrt(sum / pairs) : NAN;
}

size_t rdk_head_weights(const rdk_head_view *v, size_t b, size_t i, double *p)
{
    size_t n = visible(v, b, i);
    double max = -INFINITY, sum = 0;
    for (size_t j = 0; j < n; j++) {
        p[j] = v->scale * rdk_wide_dot(v->d_k, v->q + place(v, b, i), v->k + place(v, b, j));
        max = fmax(max, p[j]);
    }
    for (size_t j = 0; j < n; j++) sum += p[j] = exp(p[j] - max);
    for (size_t j = 0; j < n; j++) p[j] /= sum;
    return n;
}
