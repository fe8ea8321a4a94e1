/* SPDX-License-Identifier: MIT
 * The catalogue of ops. Each lives in one file of src/ops, forward and backward side by side.
 *
 * Common to all: the result lives on the tape until rdk_tape_reset; inputs are not changed; a NULL
 * input or a failed tape gives NULL; shapes that do not fit set RDK_ESHAPE, named with both shapes.
 * Sizes of 0 are legal. "x: [.., n]" is any number of leading dimensions, called rows. */
#ifndef ROOTDK_OPS_H
#define ROOTDK_OPS_H

#include <rootdk/autograd.h>
#include <rootdk/kernels.h>

/* The table of all ops (their constants), for documentation and for the test that every op is
 * checked. */
size_t rdk_op_count(void);
const rdk_op *rdk_op_at(size_t i);

/* ---- products -------------------------------------------------------------------------------- */

/* Of the precision that rdk_tape_products sets, all ops here and rdk_attention: with bf16 what
 * enters a product is rounded, forward and backward, and the sums are in rdk_real. */

/* y = op(a) op(b), op = transpose of the last two dimensions where asked.
 * a: [.., m, k] (or [.., k, m]), b: [.., k, n] (or [.., n, k]) -> y: [.., m, n].
 * Leading dimensions are equal, or absent in one of the two (that matrix is shared). */
rdk_tensor *rdk_matmul(rdk_tape *t, rdk_tensor *a, bool transpose_a, rdk_tensor *b,
                       bool transpose_b);
/* y = x W^T + b.   x: [.., in], w: [out, in], b: [out] or NULL -> y: [.., out] */
rdk_tensor *rdk_linear(rdk_tape *t, rdk_tensor *x, rdk_tensor *w, rdk_tensor *b);
/* y = r + (x W^T + b), r: of y's shape: the end of a residual branch. The bits of rdk_add of r and
 * rdk_linear, with one array of y's size less. */
rdk_tensor *rdk_linear_add(rdk_tape *t, rdk_tensor *x, rdk_tensor *w, rdk_tensor *b, rdk_tensor *r);
/* y = f(x W^T + b), shapes as above: the bits of rdk_relu, rdk_gelu, rdk_gelu_tanh or rdk_silu of
 * rdk_linear, with one array of y's size less. Another f: RDK_EVALUE. */
typedef enum { RDK_RELU, RDK_GELU, RDK_GELU_TANH, RDK_SILU } rdk_activation;
rdk_tensor *rdk_linear_map(rdk_tape *t, rdk_tensor *x, rdk_tensor *w, rdk_tensor *b,
                           rdk_activation f);
/* y = x[:, T-n ..] W^T + b, of the last n positions of each sequence alone, with the bits that
 * rdk_linear has there. x: [B, T, in] -> y: [B, n, out]; n <= T. */
rdk_tensor *rdk_linear_last(rdk_tape *t, rdk_tensor *x, size_t n, rdk_tensor *w, rdk_tensor *b);
/* y = gain / (u^T W v) W: W of norm gain, where u and v are its first singular vectors.
 * w: [out, in], gain: [1], u: [out], v: [in] -> y: [out, in]. u^T W v = 0: not finite. */
rdk_tensor *rdk_spectral_scale(rdk_tape *t, rdk_tensor *w, rdk_tensor *gain, rdk_tensor *u,
                               rdk_tensor *v);

/* ---- element by element, with broadcasting --------------------------------------------------- */

/* Shapes are aligned at the last dimension; a dimension of 1, or a missing one, is repeated. */
rdk_tensor *rdk_add(rdk_tape *t, rdk_tensor *a, rdk_tensor *b);
rdk_tensor *rdk_sub(rdk_tape *t, rdk_tensor *a, rdk_tensor *b);
rdk_tensor *rdk_mul(rdk_tape *t, rdk_tensor *a, rdk_tensor *b);
rdk_tensor *rdk_div(rdk_tape *t, rdk_tensor *a, rdk_tensor *b);

rdk_tensor *rdk_scale(rdk_tape *t, rdk_tensor *x, double factor); /* y = factor * x */
rdk_tensor *rdk_exp(rdk_tape *t, rdk_tensor *x);
rdk_tensor *rdk_log(rdk_tape *t, rdk_tensor *x);
rdk_tensor *rdk_tanh(rdk_tape *t, rdk_tensor *x);
rdk_tensor *rdk_erf(rdk_tape *t, rdk_tensor *x);
rdk_tensor *rdk_relu(rdk_tape *t, rdk_tensor *x); /* gradient 0 at 0 */
rdk_tensor *rdk_gelu(rdk_tape *t, rdk_tensor *x); /* x Phi(x), exact (erf) */
rdk_tensor *rdk_silu(rdk_tape *t, rdk_tensor *x); /* x / (1 + exp(-x)) */
/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
rdk_tensor *rdk_gelu_tanh(rdk_tape *t, rdk_tensor *x);

/* ---- rows ------------------------------------------------------------------------------------ */

rdk_tensor *rdk_softmax(rdk_tape *t, rdk_tensor *x); /* over the last dimension, max-shifted */
rdk_tensor *rdk_log_softmax(rdk_tape *t, rdk_tensor *x);
/* y = (x - mean) / sqrt(var + eps) * gain + bias over the last dimension, two-pass variance.
 * x: [.., n], gain, bias: [n] or NULL. eps > 0. */
rdk_tensor *rdk_layer_norm(rdk_tape *t, rdk_tensor *x, rdk_tensor *gain, rdk_tensor *bias,
                           double eps);
/* y = x / sqrt(mean(x^2) + eps) * gain.   gain: [n] or NULL */
rdk_tensor *rdk_rms_norm(rdk_tape *t, rdk_tensor *x, rdk_tensor *gain, double eps);
/* y = x / sqrt(sum(x^2) + eps). At x = 0: value 0, gradient dy / sqrt(eps), finite. */
rdk_tensor *rdk_l2_norm(rdk_tape *t, rdk_tensor *x, double eps);

/* ---- shape ----------------------------------------------------------------------------------- */

/* a view, not recorded */
rdk_tensor *rdk_reshape(rdk_tape *t, rdk_tensor *x, int n_dims, const size_t *dim);
rdk_tensor *rdk_transpose(rdk_tape *t, rdk_tensor *x, int axis_a, int axis_b); /* a copy */
/* shares x's data, not its gradient, where the stretch lies in one piece of data that are not the
 * tape's own (rows of a parameter); else a copy */
rdk_tensor *rdk_slice(rdk_tape *t, rdk_tensor *x, int axis, size_t begin, size_t end);
rdk_tensor *rdk_concat(rdk_tape *t, int axis, int n, rdk_tensor *const *parts); /* n <= 8 */
/* over one axis, which goes away; negative counts from the end. max: gradient to the first maximum.
 * mean of an axis of size 0, max of one: refused. */
rdk_tensor *rdk_sum(rdk_tape *t, rdk_tensor *x, int axis);
rdk_tensor *rdk_mean(rdk_tape *t, rdk_tensor *x, int axis);
rdk_tensor *rdk_max(rdk_tape *t, rdk_tensor *x, int axis);
rdk_tensor *rdk_sum_all(rdk_tape *t, rdk_tensor *x); /* a scalar; via reshape and rdk_sum */
rdk_tensor *rdk_mean_all(rdk_tape *t, rdk_tensor *x);

/* ---- sequences ------------------------------------------------------------------------------- */

/* y[r] = table[ids[r]].   ids: n = product of dim, table: [v, d] -> y: [dim.., d].
 * ids are copied onto the tape. An id outside 0..v-1: RDK_EVALUE with position and value. */
rdk_tensor *rdk_embedding(rdk_tape *t, rdk_tensor *table, const int32_t *ids, int n_dims,
                          const size_t *dim);
/* In training y = x * mask / (1 - p), mask drawn from the tape's stream; else y = x. 0 <= p < 1. */
rdk_tensor *rdk_dropout(rdk_tape *t, rdk_tensor *x, double p);
/* Rotary positions (Su et al. 2021, 3.2.2): pairs (x[2m], x[2m+1]) of every head turned by
 * position * base^(-2m/d).   x: [B, T, H, d], of the positions first, first + 1, ..; d even.
 * base > 1. */
rdk_tensor *rdk_rope(rdk_tape *t, rdk_tensor *x, size_t first, double base);

/* How queries look at keys. */
typedef struct rdk_attention_args {
    size_t n_heads;          /* H; divides the last dimension of q, k and v */
    double scale;            /* c: score s = c q.k, or c w.tanh(q + k) */
    bool causal;             /* the query of position i sees keys 0..i, else all */
    const int32_t *lengths;  /* [B] real tokens a sequence (the rest is padding), or NULL: all.
                              * Copied onto the tape. 0 <= length <= T */
    double dropout;          /* on p, after the statistics; 0 <= dropout < 1 */
    rdk_attention_row *rows; /* [B, H, T] to fill, caller-owned, alive until after backward;
                              * NULL: nothing is measured. Never changes a result's bits */
    /* What becomes of c q.k before the softmax, in this order; off where 0 and NULL: */
    rdk_tensor *gain;    /* [H] factor on the scores of each head */
    double length_base;  /* > 1: times ln n / ln base, n the keys that the query sees (ln 1 = 0: the
                          * score of a query that sees one key is 0) */
    double softcap;      /* > 0: cap tanh(s / cap) */
    rdk_tensor *sink;    /* [H] score of one more outcome with value 0: p = exp(s) / (sum exp(s) +
                          * exp(sink)). None of the above is done to it */
    rdk_real *score_max; /* [H] raised to the largest score of a query that sees a key,
                          * caller-owned, or NULL. Like rows it changes nothing */
} rdk_attention_args;

/* y = softmax(c q k^T) v, per head, streaming over keys: memory O(T), hidden keys never read.
 * q, k: [B, T, H d_k], v: [B, T, H d_v] -> y: [B, T, H d_v]; head h is columns h d .. (h+1) d - 1.
 * q may be of the last n <= T positions alone, [B, n, H d_k] -> y: [B, n, H d_v]: the same bits as
 * among all, and rows and score_max are of these queries. A row that sees no key (padding) gives 0
 * and passes no gradient. */
rdk_tensor *rdk_attention(rdk_tape *t, rdk_tensor *q, rdk_tensor *k, rdk_tensor *v,
                          const rdk_attention_args *args);
/* The same with additive scores, s_ij = c w.tanh(q_i + k_j) (Bahdanau et al. 2015), w: [H, d_k].
 * As streaming, as exact in its masks, with the same statistics but for the cosines of q and k,
 * which are NAN: no product is formed. */
rdk_tensor *rdk_additive_attention(rdk_tape *t, rdk_tensor *q, rdk_tensor *k, rdk_tensor *v,
                                   rdk_tensor *w, const rdk_attention_args *args);

/* ---- loss ------------------------------------------------------------------------------------ */

enum { RDK_IGNORE = -1 };
/* loss = sum over counted rows of -log softmax(logits)[target] / denominator, one element.
 * logits: [.., v]; targets: one a row, 0..v-1 or RDK_IGNORE (not counted, gradient exactly 0);
 * copied. Any other target: RDK_EVALUE with position and value. denominator > 0: pass the number of
 * counted targets of the whole step, so that accumulated micro-batches add up to the batch's mean.
 * No counted row: loss 0, gradient 0. nll: [rows] per-row loss to fill (0 where ignored) or NULL.
 * best: [rows] argmax (the first) to fill or NULL. */
rdk_tensor *rdk_cross_entropy(rdk_tape *t, rdk_tensor *logits, const int32_t *targets,
                              double denominator, rdk_real *nll, int32_t *best);

#endif
