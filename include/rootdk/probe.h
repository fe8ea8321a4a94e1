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
    double entropy, entropy_norm;
    double p_max, sat90, sat99;
    double jacobian_trace, jacobian_frob; /* mean; sqrt of mean square */
    /* of ||ds|| over rows with n >= 2 that a gradient reached (ds of exactly 0 with p not one-hot:
     * none did); quantiles by nearest rank; share of the largest 5 % (rounded up) in the sum of
     * squares. NAN before a backward */
    double ds_median, ds_p10, ds_p90, ds_top5_share;
    double q_rms, k_rms; /* before QK-norm; NAN where not handed */
    size_t rows;
} rdk_head_figures;
/* rows: [B, H, T] of one layer; q, k: [B, T, H d_k] or NULL; lengths [B] or NULL (padding of q and
 * k is left out). scratch: B * T doubles. */
rdk_head_figures rdk_head_measure(const rdk_attention_row *rows, size_t batch, size_t heads,
                                  size_t len, size_t head, const rdk_real *q, const rdk_real *k,
                                  size_t d_k, const int32_t *lengths, double *scratch);

/* ---- theory ---------------------------------------------------------------------------------- */

/* What a model should show at initialisation if the inputs of attention are iid with unit RMS:
 * scores are N(0, sigma2) with sigma2 = c^2 d_k (d_model w_q^2)(d_model w_k^2), or by QK-norm
 * c^2 g^4 d_k (layer, rms: gains g on q and k), c^2 g^2 / d_k (l2: one gain g).
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

/* ---- several runs ---------------------------------------------------------------------------- */

/* Mean of n values and half the width of its 95 % t-interval (mean +- half covers the expected
 * value in 95 of 100 samples, where the values are independent and normal). half is NAN for n < 2,
 * mean too for n = 0. Values that are not finite make both so: leave diverged runs out and count
 * them. */
typedef struct rdk_interval {
    double mean, half;
    size_t n;
} rdk_interval;
rdk_interval rdk_interval_of(const double *x, size_t n);
/* The t with P(|T| <= t) = mass under Student's distribution with df degrees of freedom:
 * rdk_student_t(0.95, 4) = 2.776. 0 <= mass < 1, df >= 1, else NAN. */
double rdk_student_t(double mass, size_t df);
/* The middle value, or the mean of the two middle ones. Sorts x; nan sorts last. NAN for n = 0. */
double rdk_median(double *x, size_t n);

/* Sensitivity to the learning rate (Wortsman et al. 2023): the mean of min(loss, l0) over the rates
 * tried, less the best of them; loss[i]: final loss at rate i. A loss that is not finite counts as
 * l0. `l0` is ln V (chance) or the loss before the first update: saturation can raise the latter
 * far above chance, so both belong in a table. A model that never leaves l0 scores 0: read it next
 * to the losses. NAN for n = 0 or l0 not finite. */
double rdk_lr_sensitivity(const double *loss, size_t n, double l0);

#endif
