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
/* Its figures in double throughout. n >= 1. */
rdk_row_figures rdk_row_of_scores(const double *scores, size_t n);

/* ---- one head -------------------------------------------------------------------------------- */

/* Over the rows (b, i) of one head. Rows without a visible key enter nothing; score_std and
 * entropy_norm take rows with n >= 2; p_max, sat90, sat99 rows with n >= 8 (all rows with n >= 2
 * where no row is that long: short rows would fake saturation). NAN where no row counts.
 * A sink (rdk_attention_row.sink) is one more outcome of the softmax: entropy, p_max, J and theta
 * are about n + 1 outcomes, entropy_norm divides by ln(n + 1), and a row of one key has two and
 * counts wherever n >= 2 asks for a choice (entropy_norm, ds). Scores are those of keys. */
typedef struct rdk_head_figures {
    double score_std, score_absmax, score_max;
    double score_absmax_uncapped;  /* before a soft cap; 0 where there is none */
    double score_mean, score_peak; /* mean of the row means; largest s - row mean */
    double entropy, entropy_norm;
    double p_max, sat90, sat99;
    double jacobian_trace, jacobian_frob; /* mean; sqrt of mean square */
    double jacobian_trace_median, jacobian_frob_median;
    double theta;                      /* mean */
    double q_k_cosine, q_k_cosine_rms; /* over visible pairs, of q and k as they are multiplied;
                                        * NAN where they are not (additive attention) */
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
 * k is left out). scratch: 2 B T doubles. */
rdk_head_figures rdk_head_measure(const rdk_attention_row *rows, size_t batch, size_t heads,
                                  size_t len, size_t head, const rdk_real *q, const rdk_real *k,
                                  size_t d_k, const int32_t *lengths, double *scratch);

/* ---- pairs of one head ----------------------------------------------------------------------- */

/* Queries and keys of one head, as they are multiplied (normalised, turned); who sees whom. */
typedef struct rdk_head_view {
    const rdk_real *q, *k;         /* [B, T, H d_k] */
    size_t batch, len, heads, d_k; /* B, T, H */
    size_t head;                   /* this one */
    double scale;                  /* c */
    const rdk_real *w;             /* [d_k] of additive attention, or NULL: s = c q.k */
    bool causal;
    const int32_t *lengths; /* [B] or NULL */
    /* as in rdk_attention_args, 0 and NULL: off. gain_new: after the change, NULL: as before */
    const rdk_real *gain, *gain_new, *sink; /* [H] */
    double length_base, softcap;
} rdk_head_view;
/* Root mean square over all visible pairs of how far the scores move when q and k become q_new and
 * k_new (same shape), gain gain_new, and w w_new where the scores are additive. NAN where no pair
 * is visible. */
double rdk_head_score_change(const rdk_head_view *v, const rdk_real *q_new, const rdk_real *k_new,
                             const rdk_real *w_new, rdk_real *scratch);
/* The elements of that scratch. */
size_t rdk_head_change_scratch(size_t len, size_t d_k);
/* p of query i of sequence b over its n visible keys 0 .. n - 1, into p [T]; returns n. With a sink
 * they sum to less than 1. */
size_t rdk_head_weights(const rdk_head_view *v, size_t b, size_t i, double *p);

/* ---- theory ---------------------------------------------------------------------------------- */

/* What a model should show at initialisation if the inputs of attention are iid with unit RMS:
 * scores are N(0, sigma2) with sigma2 = c^2 d_k (d_model w_q^2)(d_model w_k^2), or by QK-norm
 * c^2 g^4 d_k (rms: gains g on q and k), that times d_k / (d_k - 1) (layer: centred vectors lie in
 * one dimension less), c^2 g^2 / d_k (l2: one gain g). Additive attention: sigma2 = c^2 d_k w^2 V,
 * w the std of its weight, V = rdk_additive_variance of the deviations of q and k (g after a norm:
 * so exact as a normalised element is normal, that is to 1/d_k); given q and w a score is a sum of
 * d_k bounded terms, and normal as d_k grows. c->qk_norm as resolved. */
double rdk_theory_score_variance(const rdk_model_config *c);
/* E_q Var_k tanh(q + k) for q ~ N(0, q_std^2), k ~ N(0, k_std^2): what an element adds to the
 * variance of a row of additive scores, where q is the same for all. By quadrature, 1e-9 up to
 * deviations of 8; 0.283968411 at 1 and 1. */
double rdk_additive_variance(double q_std, double k_std);

/* Averages over the rows of one sequence. */
typedef struct rdk_theory {
    double score_std, entropy, entropy_norm, jacobian_trace;
} rdk_theory;
/* What the attention of a layer should show at the start over sequences of len tokens: as
 * rdk_theory_sequence at rdk_theory_score_variance, with the standard deviation of a row by its
 * length under RDK_LENGTH_SSMAX and RDK_LENGTH_LOG. score_std under a soft cap is that of cap
 * tanh(s / cap); for the rest under a cap, or with a sink, there is no formula: NAN. */
rdk_theory rdk_theory_start(const rdk_model_config *c, size_t layer, size_t len);
/* For scores that are iid N(0, sigma2), over the rows of sequences of `len` tokens, causal (row i
 * sees i + 1 keys) or not, by the rules of rdk_head_figures: exact, without a random number, to
 * 2e-6 (entropy_norm 1e-6). NAN where no row counts, or sigma2 is NAN or negative. Costs 1 to 3 ms
 * up to len 4096. */
rdk_theory rdk_theory_sequence(size_t len, bool causal, double sigma2);
/* The same where the scores of a row of n are N(0, sigma2 (factor ln n)^2). Up to 0.1 s. */
rdk_theory rdk_theory_by_length(size_t len, bool causal, double sigma2, double factor);
/* Var(cap tanh(s / cap)) of s ~ N(0, sigma2), by quadrature. */
double rdk_theory_capped_variance(double sigma2, double cap);

/* ---- the variance argument, measured --------------------------------------------------------- */

/* A mean over independent samples, and its standard error. */
typedef struct rdk_estimate {
    double mean, se;
} rdk_estimate;

/* Over samples of one row each, or of one causal sequence each (then averaged over its rows by the
 * rules of rdk_head_figures first). NAN where a figure has no meaning. */
typedef struct rdk_row_estimates {
    rdk_estimate variance; /* of a row's scores, over n - 1: expected sigma2. Causal: NAN */
    rdk_estimate entropy, entropy_norm, p_max, sat90, sat99;
    rdk_estimate p_max_all;                 /* p_max of all rows, however short */
    rdk_estimate trace, trace_median, frob; /* tr J: mean and median over samples; ||J||_F: rms */
    /* sigma2 tr J - sum p s. Expected 0 for every n and sigma2 where the scores of a row are iid
     * N(0, sigma2): Stein's lemma, E[s_j p_j] = sigma2 E[dp_j/ds_j], summed over j */
    rdk_estimate stein;
    size_t samples;
} rdk_row_estimates;

/* Rows (or causal sequences) of n iid N(0, sigma2) scores, from (seed, RDK_FOR_THEORY).
 * n, samples >= 1. Fails only for want of memory, 8 bytes a sample. */
bool rdk_theory_gaussian(size_t n, bool causal, double sigma2, size_t samples, uint64_t seed,
                         rdk_row_estimates *e, rdk_status *s);

/* A way to score a query and a key: s = c q.k, with q and k normalised first or not. gain: of
 * QK-norm, on q and on k (layer, rms) or once (l2). */
typedef struct rdk_dot_scale {
    double c, gain;
    rdk_qk_norm qk_norm;
} rdk_dot_scale;
/* As the policy has it at the start of a run with --init unit; gain 1, or sqrt(d_k) for l2. */
rdk_dot_scale rdk_dot_scale_of(const rdk_scaling *policy, size_t d_k, size_t d_model);
/* Var(s) for q and k of d_k iid N(0, 1) entries, exactly:
 *     c^2 d_k                    no norm
 *     c^2 g^2 / d_k              l2
 *     c^2 g^4 d_k                rms
 *     c^2 g^4 d_k^2 / (d_k - 1)  layer: centred vectors have one dimension less; 0 for d_k = 1 */
double rdk_dot_variance(const rdk_dot_scale *s, size_t d_k);
/* The standard error of such a row variance (over n - 1, n >= 2) averaged over `samples` queries,
 * exactly. That of a sample is, with v the variance and k the kurtosis of its scores,
 *     2 c^4 d_k (1 + (d_k + 2) / (n - 1))    no norm: given q the scores are N(0, c^2 |q|^2)
 *     v^2 (k - (n - 3) / (n - 1)) / n        after a norm: a cosine in D dimensions,
 *                                            k = 3 D / (D + 2), D = d_k, or d_k - 1 for layer.
 * Better than the measured one for a check: with few samples of a skew distribution a low mean has
 * a low measured error as well. */
double rdk_dot_variance_error(const rdk_dot_scale *s, size_t d_k, size_t n, size_t samples);
/* Draws q and n keys of d_k iid N(0, 1) entries `samples` times and scores the same vectors in
 * every way: e [n_scales], n_scales <= 31; before: q.k itself. A row's sigma2 is c^2 |q|^2 in the
 * identity; after a norm the scores are not Gaussian and stein is NAN. Cost: samples * n * d_k
 * numbers. 1 <= d_k, n <= 65536; memory 8 bytes a sample and way. */
bool rdk_theory_dot(const rdk_dot_scale *scales, size_t n_scales, size_t d_k, size_t n,
                    size_t samples, uint64_t seed, rdk_row_estimates *before, rdk_row_estimates *e,
                    rdk_status *s);

/* ---- closed forms ---------------------------------------------------------------------------- */

/* g_n = E[max of n iid N(0, 1)] = n (n-1) int phi^2 Phi^(n-2), the density at 0 of the gap between
 * the two largest: 0.5642 (2), 1.4236 (8), 2.3437 (64). By quadrature, 1e-9. */
double rdk_theory_gap_density(size_t n);
/* E[H] and E[tr J] of a row of n iid N(0, sigma2) scores, by quadrature and without a random
 * number:
 *     phi(u) = E exp(-e^(u+s)),   psi(u) = E[e^(2(u+s)) exp(-e^(u+s))]
 *     E[ln Z] = int (exp(-e^u) - phi(u)^n) du
 *     E[sum p^2] = n int psi(u) phi(u)^(n-1) du
 *     E[H] = E[ln Z] - sigma2 E[tr J]   (Stein)
 * To 2e-6; NAN where sigma2 is NAN or negative. */
typedef struct rdk_expectation {
    double entropy, trace;
} rdk_expectation;
rdk_expectation rdk_theory_exact(size_t n, double sigma2);

/* An approximation of E[H] (nats) and E[tr J], each with its range; in it the relative error
 * against the exact value is at most `error`. "small" keeps that even for ln n - E[H], which is
 * nearly 0. */
typedef struct rdk_closed_form {
    const char *name;    /* "small" */
    const char *formula; /* in one line */
    const char *range;   /* where it holds, in words */
    double error;
    bool (*entropy_holds)(size_t n, double sigma2);
    bool (*trace_holds)(size_t n, double sigma2);
    double (*entropy)(size_t n, double sigma2);
    double (*trace)(size_t n, double sigma2);
} rdk_closed_form;
size_t rdk_closed_form_count(void);
const rdk_closed_form *rdk_closed_form_at(size_t i);

/* ---- reference figures ----------------------------------------------------------------------- */

/* Monte Carlo by another program with other random numbers (numpy's PCG64, float64), to the digits
 * printed: what this library's own is held against. */
typedef struct rdk_reference {
    size_t n;
    double sigma2, rows; /* rows behind each figure; NAN figures are not known */
    double entropy, entropy_norm, p_max, trace, trace_median, frob, sat90, sat99;
} rdk_reference;
/* Rows of n iid N(0, sigma2) scores: n = 8, 32, 64, 128, 256, sigma2 = 1/64, 1/16, 1, 16, 64, 256.
 * Causal sequences of n: entropy, entropy_norm, trace and p_max over all rows. NULL where there is
 * none. */
const rdk_reference *rdk_reference_rows(size_t n, double sigma2);
const rdk_reference *rdk_reference_causal(size_t n, double sigma2);
/* 64 keys, q and k ~ N(0, I): d_k = 4, 16, 64, 256; scale: "none", "sqrt", "dk", "rms", "l2".
 * entropy_norm, trace and p_max. */
const rdk_reference *rdk_reference_dot(size_t d_k, size_t n, const char *scale);

/* ---- the variance argument, checked ---------------------------------------------------------- */

/* What is to be measured: every d_k with every number of keys. */
typedef struct rdk_theory_plan {
    const uint64_t *d_k, *keys; /* [n_d_k] 1 .. 65536, [n_keys] 2 .. 65536; borrowed */
    size_t n_d_k, n_keys;
    uint64_t samples; /* 0: by rule, a few seconds in all */
    uint64_t d_model; /* 0: 4 d_k */
    uint64_t seed;
} rdk_theory_plan;

enum { RDK_WAYS = 24, RDK_SIGMAS = 6 };
extern const double rdk_theory_sigma2[RDK_SIGMAS]; /* 1/64, 1/16, 1, 16, 64, 256 */

/* A way to score: the policies of src/nn/scaling.c, then two more kinds of QK-norm. */
typedef struct rdk_way {
    const char *name, *formula;
    rdk_dot_scale scale;
    double variance; /* of the scores, by formula */
} rdk_way;

/* q and k drawn, at one d_k and one number of keys. */
typedef struct rdk_theory_point {
    size_t d_k, keys, d_model, n_ways;
    rdk_way way[RDK_WAYS];
    rdk_row_estimates before, e[RDK_WAYS]; /* before: of q.k itself */
} rdk_theory_point;

/* Scores drawn, for one number of keys, at each of rdk_theory_sigma2. */
typedef struct rdk_theory_scores {
    size_t keys;
    rdk_row_estimates row[RDK_SIGMAS], causal[RDK_SIGMAS];
    rdk_expectation exact[RDK_SIGMAS];
} rdk_theory_scores;

typedef struct rdk_findings rdk_findings;

typedef struct rdk_theory_results {
    rdk_theory_plan plan;
    rdk_theory_point *point;   /* [n_keys][n_d_k] */
    rdk_theory_scores *scores; /* [n_keys] */
    rdk_findings *findings;    /* NULL before rdk_theory_find */
} rdk_theory_results;

/* Intended use: rdk_theory_measure, rdk_theory_find, read findings, rdk_theory_free (whether they
 * failed or not; plan->d_k and plan->keys must live as long). Refused: a d_k or a number of keys
 * out of its range (RDK_EVALUE); beside that both fail only for want of memory. */
bool rdk_theory_measure(rdk_theory_results *r, const rdk_theory_plan *plan, rdk_status *s);
bool rdk_theory_find(rdk_theory_results *r, rdk_status *s);
void rdk_theory_free(rdk_theory_results *r);
/* How many random numbers rdk_theory_measure will draw. */
double rdk_theory_cost(const rdk_theory_plan *plan);

const rdk_theory_point *rdk_theory_at(const rdk_theory_results *r, size_t keys, size_t d_k);
/* Var(s) of a way as measured, with the error that it should have (rdk_dot_variance_error). */
rdk_estimate rdk_theory_variance(const rdk_theory_point *p, size_t way);

/* ln Var(s) against ln d_k: weighted least squares. */
typedef struct rdk_slope {
    rdk_estimate measured;
    double formula; /* of the formula's values at the same d_k and weights; NAN: no slope */
} rdk_slope;
/* Of a way, over the points with the keys-th number of keys from d_k = 32 on, or all of them where
 * fewer than 3 are that wide. NAN with fewer than 3. */
rdk_slope rdk_theory_slope(const rdk_theory_results *r, size_t keys, size_t way);

/* What a figure is held against. The order is that of the list of checks. */
typedef enum rdk_against {
    RDK_AGAINST_NOTHING,
    RDK_AGAINST_FORMULA,   /* Var(s) = c^2 d_k and its like */
    RDK_AGAINST_SLOPE,     /* its slope in d_k */
    RDK_AGAINST_STEIN,     /* sigma2 tr J = sum p s */
    RDK_AGAINST_EXACT,     /* quadrature */
    RDK_AGAINST_REFERENCE, /* another program's Monte Carlo */
    RDK_AGAINST_CLOSED,    /* a closed form, where it holds, against quadrature */
    RDK_AGAINST_HAND,      /* the hand table */
    RDK_AGAINSTS,
} rdk_against;

typedef struct rdk_finding {
    const char *table; /* "dot", "rows", "causal", "closed", "hand", "slope" */
    size_t d_k, keys;  /* 0: no such thing */
    const char *scale; /* or the name of a closed form; "" */
    double sigma2;     /* NAN: no such thing */
    const char *figure;
    rdk_estimate e; /* se NAN: no random number in it */
    rdk_against against;
    double expected;
    double z; /* distance in standard errors; without one, in units of what is allowed */
} rdk_finding;

struct rdk_findings {
    rdk_finding *at;
    size_t n, room, n_z; /* n_z: those that have a standard error */
    double bound;        /* on |z|: luck passes it in one run of a thousand */
};

/* The hand table: two keys with scores +x and -x. */
typedef struct rdk_hand_row {
    double x, p2, product, trace, entropy, theta; /* to 10 digits */
} rdk_hand_row;
enum { RDK_HAND_ROWS = 3 };
extern const rdk_hand_row rdk_hand_table[RDK_HAND_ROWS];
rdk_hand_row rdk_hand_measure(double x);

/* Is it further off than luck explains, or than is allowed? NAN is off. */
bool rdk_finding_is_off(const rdk_findings *f, const rdk_finding *one);
size_t rdk_findings_off(const rdk_findings *f); /* how many are */
/* All findings as CSV, a header first; columns: docs/theory.md. */
void rdk_theory_csv(rdk_text *out, const rdk_findings *f);

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
 * l0. `l0` is the loss at chance or that before the first update: saturation can raise the latter
 * far above chance, so both belong in a table. A model that never leaves l0 scores 0: read it next
 * to the losses. NAN for n = 0 or l0 not finite. */
double rdk_lr_sensitivity(const double *loss, size_t n, double l0);

#endif
