/* SPDX-License-Identifier: MIT
 * What is measured, and what theory predicts. Definitions: docs/metrics.md.
 * All averages are formed in double, in index order. */
#ifndef ROOTDK_PROBE_H
#define ROOTDK_PROBE_H

#include <rootdk/nn.h>

/* ---- one row --------------------------------------------------------------------------------- */

/* Figures of one softmax row from its streaming sums; see rdk_attention_row. n >= 1. */
typedef struct rdk_row_figures {
    double entropy;        /* H = log1p(R) - A / (1 + R), nats */
    double p_max;          /* 1 / (1 + R) */
    double jacobian_trace; /* tr J = 1 - sum p^2 = (2R + R^2 - B2) / (1 + R)^2 */
    double jacobian_frob2; /* ||J||_F^2 = sum p^2 - 2 sum p^3 + (sum p^2)^2, without cancellation */
    double theta;          /* ||J||_{inf->1}: 4 p_max (1 - p_max) where p_max >= 1/2, else a lower
                            * bound, the larger of that and 1 - p_max^2 */
} rdk_row_figures;
rdk_row_figures rdk_row_measure(const rdk_attention_row *row);

/* The streaming sums of one row from its scores directly (two passes, double): the plain reference
 * beside the streaming kernel. The first of equal maxima is the one kept out. n >= 0. */
rdk_attention_row rdk_row_from_scores(const double *scores, size_t n);

/* ---- one head -------------------------------------------------------------------------------- */

/* Over the rows (b, i) of one head. Rows without a visible key enter nothing; score_std and
 * entropy_norm take rows with n >= 2; p_max, sat90, sat99 rows with n >= 8 (all rows with n >= 2
 * where no row is that long: short rows would fake saturation). NAN where no row counts. */
typedef struct rdk_head_figures {
    double score_std, score_absmax, score_max;
    double score_mean, score_peak; /* mean of the row means; largest s - row mean */
    double entropy, entropy_norm;
    double p_max, sat90, sat99;
    double jacobian_trace, jacobian_frob; /* mean; sqrt of mean square */
    double jacobian_trace_median, jacobian_frob_median;
    double theta;                      /* mean */
    double q_k_cosine, q_k_cosine_rms; /* over visible pairs, of q and k as they are multiplied */
    /* of ||ds|| over rows with n >= 2 that a gradient reached (rdk_attention_row.reached);
     * quantiles by nearest rank; root mean square; share of the largest 5 % (rounded up) in the sum
     * of squares, NAN where that sum is 0. NAN before a backward */
    double ds_median, ds_p10, ds_p90, ds_rms, ds_top5_share;
    double scale_gradient; /* c dL/dc = sum over all rows of s_ds; NAN as ds_median is */
    double q_rms, k_rms;   /* before QK-norm; NAN where not handed */
    size_t rows;
} rdk_head_figures;
/* The sum of the squares of columns head * d_k .. of x: [tokens, H d_k]. */
double rdk_head_squares(const rdk_real *x, size_t tokens, size_t heads, size_t head, size_t d_k);
/* rows: [B, H, T] of one layer; q, k: [B, T, H d_k] or NULL; lengths [B] or NULL (padding of q and
 * k is left out). scratch: B * T doubles. */
rdk_head_figures rdk_head_measure(const rdk_attention_row *rows, size_t batch, size_t heads,
                                  size_t len, size_t head, const rdk_real *q, const rdk_real *k,
                                  size_t d_k, const int32_t *lengths, double *scratch);

/* ---- pairs of one head ----------------------------------------------------------------------- */

/* Queries and keys of one head, as they are multiplied (normalised and turned), and who sees whom.
 */
typedef struct rdk_head_view {
    const rdk_real *q, *k;         /* [B, T, H d_k] */
    size_t batch, len, heads, d_k; /* B, T, H */
    size_t head;                   /* this one */
    double scale;                  /* c */
    bool causal;
    const int32_t *lengths; /* [B] or NULL */
} rdk_head_view;
/* Root mean square over all visible pairs of how far the scores move when q and k become q_new and
 * k_new (same shape): c (q_new.k_new - q.k). NAN where no pair is visible. */
double rdk_head_score_change(const rdk_head_view *v, const rdk_real *q_new, const rdk_real *k_new,
                             rdk_real *scratch);
/* The elements of that scratch. */
size_t rdk_head_change_scratch(size_t len, size_t d_k);
/* p of query i of sequence b over its n visible keys 0 .. n - 1, into p [T]; returns n. */
size_t rdk_head_weights(const rdk_head_view *v, size_t b, size_t i, double *p);

/* ---- theory ---------------------------------------------------------------------------------- */

/* What a model should show at initialisation if the inputs of attention are iid with unit RMS:
 * scores are N(0, sigma2) with sigma2 = c^2 d_k (d_model w_q^2)(d_model w_k^2), or by QK-norm
 * c^2 g^4 d_k (rms: gains g on q and k), that times d_k / (d_k - 1) (layer: centred vectors lie in
 * one dimension less), c^2 g^2 / d_k (l2: one gain g).
 * c->qk_norm as resolved. */
double rdk_theory_score_variance(const rdk_model_config *c);

typedef struct rdk_theory {
    double score_std, entropy, entropy_norm, p_max, sat90, sat99, jacobian_trace, jacobian_frob;
} rdk_theory;
/* Means over rows of n iid N(0, sigma2) scores (n >= 1), by Monte Carlo with `samples` rows from
 * (seed, RDK_FOR_THEORY), by the rules of rdk_head_figures. se: standard errors of the same
 * figures, or NULL. */
rdk_theory rdk_theory_rows(size_t n, double sigma2, size_t samples, uint64_t seed, rdk_theory *se);
/* The same averaged over the rows of sequences of `len` tokens, causal (row i sees i + 1 keys) or
 * not, by the rules of rdk_head_figures. Deterministic. Standard error of entropy_norm at most
 * 0.0028; score_std is exact. Costs 20 to 30 ms of one core up to len 256, 100 ms at 1024. */
rdk_theory rdk_theory_sequence(size_t len, bool causal, double sigma2);

#endif
