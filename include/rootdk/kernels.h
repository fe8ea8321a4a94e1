/* SPDX-License-Identifier: MIT
 * What the numeric kernels show to users: the statistics of one attention row.
 *
 * Invariant: sums only, so a row costs nothing to keep and every figure follows from it later
 * (probe.h).
 * Read next: autograd.h. */
#ifndef ROOTDK_KERNELS_H
#define ROOTDK_KERNELS_H

#include <rootdk/base.h>

/* What is measured of one query row, in the pass that computes it (recurrences: see
 * src/kernels/attention_stats.h). With p the softmax over the n visible keys, m the largest
 * score s (after the scale), w = exp(s - m), and the largest element kept out of every sum: */
typedef struct rdk_attention_row {
    int32_t n;                /* visible keys; 0: a row that sees none, all else 0 */
    rdk_real max, abs_max;    /* of s over visible keys */
    rdk_real mean;            /* of s over visible keys */
    rdk_real peak;            /* max - mean, formed before either was rounded */
    rdk_real rest;            /* R  = sum w */
    rdk_real a;               /* A  = sum w (s - m) <= 0 */
    rdk_real b2, b3;          /* B2, B3: sums of w^2 and w^3 */
    rdk_real cosine, cosine2; /* sums of cos(q, k_j) and of its square, q and k as they enter the
                               * product; 0 with a zero vector, or where c is 0; NAN where the
                               * score is additive */
    bool reached;             /* does a gradient reach the row: is dL/do not all 0? By backward */
    bool sink;                /* a sink stands beside the keys: p is over n + 1 outcomes, and m (of
                               * w), R, A, B2, B3 count it as one; the figures of s are of keys */
    rdk_real ds_norm;         /* ||dL/ds|| of the row, filled by backward; else 0 */
    rdk_real uncapped;        /* abs_max before a soft cap; 0 where there is none */
    double variance;          /* of s over visible keys: the square of a score may exceed a float */
    double s_ds;              /* sum_j z_j dL/dz_j, z the score before a soft cap: c dL/dc of the
                               * row. Filled by backward */
} rdk_attention_row;

#endif
