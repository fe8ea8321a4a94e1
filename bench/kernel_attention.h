/* SPDX-License-Identifier: MIT
 * Attention for kernels.c, and the same computed plainly: every row's softmax, in double.
 * Read next: kernel_cases.h. */
#ifndef ROOTDK_BENCH_KERNEL_ATTENTION_H
#define ROOTDK_BENCH_KERNEL_ATTENTION_H

#include "kernel_job.h"

enum { LONGEST = 256 };

enum { Q, K, V, OUT, DOUT, DQ, DK, DV };

static rdk_attention_shape attention_shape(const job *j)
{
    size_t d_k = j->d / j->heads;
    return (rdk_attention_shape){.batch = j->sequences,
                                 .heads = j->heads,
                                 .len = j->len,
                                 .d_k = d_k,
                                 .d_v = d_k,
                                 .scale = 1 / sqrt((double)d_k),
                                 .causal = true};
}

static void attention(const job *j)
{
    const rdk_attention_shape s = attention_shape(j);
    j->k->attention(&s, j->a[Q], j->a[K], j->a[V], j->a[OUT], j->side[ROW_MAX], j->side[ROW_INV],
                    NULL, j->scratch);
}

static void attention_backward(const job *j)
{
    const rdk_attention_shape s = attention_shape(j);
    const rdk_attention_grads to = {.dq = j->a[DQ], .dk = j->a[DK], .dv = j->a[DV]};
    j->k->attention_backward(&s, j->a[Q], j->a[K], j->a[V], j->a[DOUT], j->side[ROW_MAX],
                             j->side[ROW_INV], &to, NULL, j->scratch);
}

/* Where head (b, h), that of element i, begins in an array, and i within it. */
typedef struct place {
    size_t begin, t, c;
} place;

static place place_of(const job *j, size_t i)
{
    size_t d_k = j->d / j->heads, row = i / j->d;
    return (place){row / j->len * j->len * j->d + i % j->d / d_k * d_k, row % j->len,
                   i % j->d % d_k};
}

static double plain_dot(const job *j, const rdk_real *x, const rdk_real *y)
{
    double sum = 0;
    for (size_t c = 0; c < j->d / j->heads; c++) sum += (double)x[c] * (double)y[c];
    return sum;
}

/* Row t of the head that begins there: p; from it, dL/ds. */
static void plain_p(const job *j, size_t begin, size_t t, double p[LONGEST])
{
    double scale = attention_shape(j).scale, sum = 0;
    for (size_t k = 0; k <= t; k++) {
        p[k] = exp(scale * plain_dot(j, j->a[Q] + begin + t * j->d, j->a[K] + begin + k * j->d));
        sum += p[k];
    }
    for (size_t k = 0; k <= t; k++) p[k] /= sum;
}

static void plain_ds(const job *j, size_t begin, size_t t, const double *p, double ds[LONGEST])
{
    double mean = 0;
    for (size_t k = 0; k <= t; k++) {
        ds[k] = plain_dot(j, j->a[DOUT] + begin + t * j->d, j->a[V] + begin + k * j->d);
        mean += p[k] * ds[k];
    }
    for (size_t k = 0; k <= t; k++) ds[k] = p[k] * (ds[k] - mean);
}

static double attention_error(const job *j, size_t i)
{
    place at = place_of(j, i);
    double p[LONGEST], o = 0;
    plain_p(j, at.begin, at.t, p);
    for (size_t k = 0; k <= at.t; k++) o += p[k] * (double)j->a[V][at.begin + k * j->d + at.c];
    return error_of(j->a[OUT][i], o);
}

/* The largest of the three gradients'. */
static double attention_backward_error(const job *j, size_t i)
{
    place at = place_of(j, i);
    double p[LONGEST], ds[LONGEST], dq = 0, dk = 0, dv = 0, scale = attention_shape(j).scale;
    plain_p(j, at.begin, at.t, p);
    plain_ds(j, at.begin, at.t, p, ds);
    for (size_t k = 0; k <= at.t; k++) dq += ds[k] * (double)j->a[K][at.begin + k * j->d + at.c];
    for (size_t t = at.t; t < j->len; t++) {
        plain_p(j, at.begin, t, p);
        plain_ds(j, at.begin, t, p, ds);
        dk += ds[at.t] * (double)j->a[Q][at.begin + t * j->d + at.c];
        dv += p[at.t] * (double)j->a[DOUT][at.begin + t * j->d + at.c];
    }
    return fmax(error_of(j->a[DQ][i], scale * dq),
                fmax(error_of(j->a[DK][i], scale * dk), error_of(j->a[DV][i], dv)));
}

#endif
