/* SPDX-License-Identifier: MIT
 * Transformers: parameters, scaling policies, the model.
 *
 * Invariant: all parameters of a model lie in one buffer, their gradients in a second of the same
 * layout, so that clipping, updating, saving and summing are one pass over one array.
 * Read next: src/nn/scaling.c, the heart; src/nn/transformer.c. */
#ifndef ROOTDK_NN_H
#define ROOTDK_NN_H

#include <rootdk/ops.h>

/* ---- choices --------------------------------------------------------------------------------- */

typedef enum { RDK_DECODER, RDK_ENCODER } rdk_arch; /* causal, bidirectional */
/* the score: c q.k, or additive (Bahdanau et al. 2015, A.1.2): c w.tanh(q + k), w: d_k a head.
 * There W_a and U_a map states to a hidden layer whose width is free; here W_Q and W_K are these
 * maps and the width is d_k, so both kinds have the same projections and differ in w alone */
typedef enum { RDK_DOT, RDK_ADDITIVE } rdk_score_kind;
typedef enum { RDK_PRE_NORM, RDK_POST_NORM } rdk_norm_place;
typedef enum { RDK_LAYER_NORM, RDK_RMS_NORM } rdk_norm_kind;
typedef enum { RDK_LEARNED, RDK_SINUSOIDAL, RDK_ROPE, RDK_NO_POSITIONS } rdk_positions;
/* gelu: the tanh form, as GPT-2 has it; gelu_exact: x Phi(x), as nanoGPT has it */
typedef enum {
    RDK_MLP_GELU,
    RDK_MLP_RELU,
    RDK_MLP_SWIGLU,
    RDK_MLP_NONE,
    RDK_MLP_GELU_EXACT
} rdk_mlp;
/* unit: W ~ N(0, 1/fan_in), embeddings and positions N(0, 1) (N(0, 1/d_model) where the head is
 * tied), projections back into the residual stream divided by sqrt(2 layers): the only one of the
 * three for which Var(q.k) = d_k at the start.
 * gpt2: all N(0, 0.02^2), those projections divided by sqrt(2 layers) (Radford et al. 2019).
 * t5: W_Q ~ N(0, 1/(d_model d_k)) (additive attention: as W_K), W_K, W_V, MLP in, head ~ N(0,
 * 1/d_model), projections back ~ N(0, 1/fan_in), embeddings as for unit. */
typedef enum { RDK_INIT_UNIT, RDK_INIT_GPT2, RDK_INIT_T5 } rdk_init;
/* what is done to q and k of each head before the product; auto: as the scaling policy has it
 * (only before rdk_config_resolve, never in a model) */
typedef enum { RDK_QK_AUTO = -1, RDK_QK_OFF, RDK_QK_L2, RDK_QK_LAYER, RDK_QK_RMS } rdk_qk_norm;

/* What else is done to a score s = c q.k, in this order (all off: the score is c q.k):
 * temperature: times exp(t), t learned per head from 0;
 * length, by the n keys that the query sees: ssmax: times s ln n, s learned per head (Nakanishi
 * 2025); log: times ln n / ln base. A query that sees one key scores it 0: without a sink p is 1
 * whatever the score, beside one exp(0) / (exp(0) + exp(sink));
 * softcap: cap tanh(s / cap) (Gemma 2);
 * sink: one more outcome of the softmax, with value 0: of score 0 (one: exp(s) / (1 + sum exp(s)))
 * or learned per head from 0 (gpt-oss). Nothing of the above is done to it. */
typedef enum { RDK_LENGTH_OFF, RDK_LENGTH_SSMAX, RDK_LENGTH_LOG } rdk_length_scale;
typedef enum { RDK_SINK_OFF, RDK_SINK_ONE, RDK_SINK_LEARNED } rdk_sink;

/* ---- scaling policies ------------------------------------------------------------------------ */

/* How attention scores are scaled: s = c q.k, with q and k normalised first or not.
 * A policy is one row of the table in src/nn/scaling.c; everything else follows from the row. */
typedef struct rdk_scaling {
    const char *name;                                 /* as in --scale NAME */
    const char *formula;                              /* of the score */
    const char *about;                                /* one line: what it is for, whence */
    double (*multiplier)(size_t d_k, size_t d_model); /* c */
    rdk_qk_norm qk_norm;                              /* unless --qk-norm says otherwise */
    double (*query_shrink)(size_t d_k);               /* factor on W_Q at the start, or NULL: 1 */
} rdk_scaling;

size_t rdk_scaling_count(void);
const rdk_scaling *rdk_scaling_at(size_t i);
const rdk_scaling *rdk_scaling_find(const char *name); /* NULL where there is none */

/* ---- the model ------------------------------------------------------------------------------- */

enum { RDK_NAME_TEXT = 64, RDK_LAYERS_TEXT = 256 };

typedef struct rdk_model_config {
    rdk_arch arch;
    rdk_score_kind attention; /* additive: scale "none" or a number, no l2, no rope */
    size_t vocab, max_len;    /* V, and the longest T */
    size_t layers, heads, d_model, d_k, d_ff; /* d_v = d_k; all >= 1 */
    char scale[RDK_NAME_TEXT];                /* a policy's name, or c itself: 1e-6 to 1e6 */
    /* "0:none/3:dk": these layers are as that scale alone has them, its QK-norm too. Empty: none */
    char scale_layers[RDK_LAYERS_TEXT];
    rdk_qk_norm qk_norm;
    bool qk_gain_learned; /* else the gain stays at its start */
    double qk_gain;       /* its start; 0: 1 for layer and rms, sqrt(d_k) for l2.
                           * Not 0 without QK-norm: refused */
    bool temperature;
    rdk_length_scale length;
    double length_gain; /* ssmax: start of s; 0: so that the mean over the rows of s ln n is 1 */
    double length_base; /* log: 1.01 to 1e9; 0: max_len */
    double softcap;     /* 1e-6 to 1e6; 0: none */
    rdk_sink sink;
    rdk_norm_place norm_place;
    rdk_norm_kind norm;
    rdk_positions positions;
    rdk_mlp mlp;
    bool bias, tie;
    double dropout;
    rdk_init init;
    /* Linear layers multiply by gamma / sigma(W) W, gamma learned, sigma(W) by power iteration
     * (Zhai et al. 2023): all in the layers but W_Q and W_K under QK-norm, which takes their size
     * out anyway, and a head of its own. See rdk_model_power_step */
    bool sigma_reparam;
} rdk_model_config;

/* Which part a parameter plays; what is measured and initialised goes by it, never by its name. */
typedef enum rdk_role {
    RDK_ROLE_TOKENS,
    RDK_ROLE_POSITIONS,
    RDK_ROLE_WQ,
    RDK_ROLE_WK,
    RDK_ROLE_WV,
    RDK_ROLE_WO,
    RDK_ROLE_SCORE, /* w of additive attention */
    RDK_ROLE_MLP_IN,
    RDK_ROLE_MLP_GATE,
    RDK_ROLE_MLP_OUT,
    RDK_ROLE_HEAD,
    RDK_ROLE_NORM,    /* gain or bias of a norm */
    RDK_ROLE_QK_GAIN, /* gain of QK-norm */
    RDK_ROLE_BIAS,
    RDK_ROLE_SCORE_GAIN, /* t of the temperature, or s of ssmax */
    RDK_ROLE_SINK,       /* score of a learned sink */
    RDK_ROLE_SIGMA,      /* gamma of sigma_reparam */
    RDK_ROLE_POWER,      /* u and v of its power iteration; not trained */
} rdk_role;

typedef struct rdk_param {
    char name[RDK_NAME_TEXT]; /* "layers.0.attention.wq.weight", also in files; see params.c */
    rdk_tensor tensor;        /* data and grad point into the model's buffers */
    size_t offset;            /* of its first element in those buffers */
    rdk_role role;
    int layer;                  /* -1 outside the layers */
    bool decay;                 /* weight decay: matrices that multiply activations, so a tied token
                                 * table too; not an untied one, positions, gains, biases */
    bool trainable;             /* false: fixed qk gain, RDK_ROLE_POWER; its gradient is not used */
    double init_mean, init_std; /* of its initial draw; std 0: a constant */
} rdk_param;

typedef struct rdk_model rdk_model;

/* What a configuration means, each rule in one place; the model uses these, and theory does.
 * The configuration as one layer has it: scale, qk_norm and qk_gain by scale_layers where that
 * names the layer. The other functions are about c->scale: hand them this for a layer of its own.
 */
rdk_model_config rdk_config_of_layer(const rdk_model_config *c, size_t layer);
/* c that multiplies q.k, or w.tanh(q + k): the policy's, or the number that scale is; NAN where it
 * is neither. */
double rdk_config_score_scale(const rdk_model_config *c);
/* The gain at which QK-norm starts (1 where there is none). */
double rdk_config_qk_gain(const rdk_model_config *c);
/* s of ssmax at the start, and the base of log (e for ssmax, 0 where scores do not go by length).
 */
double rdk_config_length_gain(const rdk_model_config *c);
double rdk_config_length_base(const rdk_model_config *c);
/* The std of the initial draw of the weights of this role, query_shrink included; 0 for
 * constants. */
double rdk_init_std(const rdk_model_config *c, rdk_role role);

/* Refuses (RDK_EVALUE, naming option, value and rule) what cannot be built. */
bool rdk_model_config_check(const rdk_model_config *c, rdk_status *s);
/* Draws all parameters from (seed, RDK_FOR_INIT); the draw of a parameter depends only on the seed
 * and its name, so policies that differ in nothing else start from the same W. Owned by the
 * caller. */
rdk_model *rdk_model_new(const rdk_model_config *c, uint64_t seed, rdk_status *s);
/* The same values under gradients of its own, for a pass beside another's; NULL and s on failure.
 * Owned by the caller; the original has to outlive it. The original and its replicas may be in
 * passes (forward and backward) at the same time, one thread each. What writes values is for the
 * original alone, and for when no pass runs: an optimizer's step, rdk_model_power_step,
 * rdk_qk_clip. A replica's gradients begin at 0 and add up as the original's do: each update, zero
 * (or drop) both. */
rdk_model *rdk_model_replica(rdk_model *m, rdk_status *s);
void rdk_model_free(rdk_model *m);
const rdk_model_config *rdk_model_config_of(const rdk_model *m);

size_t rdk_model_param_count(const rdk_model *m);
rdk_param *rdk_model_param(rdk_model *m, size_t i);
rdk_param *rdk_model_find(rdk_model *m, const char *name);         /* NULL where there is none */
rdk_param *rdk_model_role(rdk_model *m, rdk_role role, int layer); /* the first such; or NULL */
size_t rdk_model_size(const rdk_model *m); /* elements of the buffers (padding included, zero) */
rdk_real *rdk_model_values(rdk_model *m);
rdk_real *rdk_model_grads(rdk_model *m);
/* fn for every parameter, each once and by one thread; several at the same time where the model is
 * small. So fn writes nothing but what is that parameter's. */
typedef void (*rdk_param_fn)(rdk_model *m, size_t i, void *context);
void rdk_model_each(rdk_model *m, rdk_param_fn fn, void *context);
void rdk_model_zero_grad(rdk_model *m);
/* The same without writing zeros: the next backward writes what it would have added to them. Then
 * settle zeroes what it did not come to. Between the two no gradient is to be read. */
void rdk_model_drop_grads(rdk_model *m);
void rdk_model_settle_grads(rdk_model *m);
/* Lays the weights out as products of this precision need them (rdk_tape_products), once for all
 * passes until unpack: each would do it again otherwise. Between the two no value is to be changed.
 * No result's bit changes. The replicas have it too. The first call takes memory for a copy of the
 * weights of linear layers, with their rows rounded up to 32 (bf16: for two, of half the size);
 * false and s where there is none. Weights of sigma_reparam are read as they are. */
bool rdk_model_pack(rdk_model *m, rdk_precision precision, rdk_status *s);
void rdk_model_unpack(rdk_model *m);
/* Adds the gradients of these n replicas of m to those of m, one after the other: the same bits
 * whatever threads made them. The replicas keep theirs. No pass may be running, and no gradient be
 * dropped and not settled. */
void rdk_model_gather_grads(rdk_model *m, size_t n, rdk_model *const *replica);
/* With sigma_reparam, after each update of the weights: one step of the power iterations that
 * follow sigma(W). Else nothing. */
void rdk_model_power_step(rdk_model *m);
/* The factor c that multiplies q.k, or w.tanh(q + k), in this model, and in one layer of it. */
double rdk_model_score_scale(const rdk_model *m);
double rdk_model_layer_scale(const rdk_model *m, size_t layer);
/* The learned factor on the scores of a head as it stands (1 where there is none), and the score of
 * its sink (-INFINITY where there is none). */
double rdk_model_head_gain(const rdk_model *m, size_t layer, size_t head);
double rdk_model_head_sink(const rdk_model *m, size_t layer, size_t head);

/* What may be measured in a forward pass (and completed by backward), caller-owned; NULL parts are
 * not measured. Never changes a result's bits. Data of the tensors are to be read before backward
 * where the tape is frugal. */
typedef struct rdk_model_probe {
    rdk_attention_row *rows;       /* [layers, B, H, T] */
    size_t rows_of_layer;          /* from the first row of a layer to that of the next; 0: B H T */
    rdk_tensor **q, **k;           /* [layers]: q, k before QK-norm, [B, T, H d_k], on the tape */
    rdk_tensor **q_used, **k_used; /* the same as they are multiplied: normalised and turned */
    rdk_real *score_max;           /* [layers, H]: raised to the largest score of each head */
} rdk_model_probe;

/* Some tokens of a batch: b T + t of each, in any order, and as often as wanted. */
typedef struct rdk_model_tokens {
    size_t n;
    const int32_t *at; /* [n] */
} rdk_model_tokens;

/* logits: [B, T, V] of tokens [B, T]; lengths: [B] or NULL (all T). T <= max_len.
 * Sets the tape's scopes ("layer 0 attention"). NULL on failure (see the tape's status). */
rdk_tensor *rdk_model_logits(rdk_model *m, rdk_tape *t, size_t batch, size_t len,
                             const int32_t *tokens, const int32_t *lengths,
                             const rdk_model_probe *probe);
/* The same of some tokens alone: logits [n, V]; NULL: of all. What follows the last attention is
 * computed of no others, and bit by bit as beside them; with dropout, other elements are dropped
 * there. Queries of the last attention are formed from the first position that is asked for on.
 * `only` need not outlive the call. RDK_EVALUE for a token that is not in the batch. */
rdk_tensor *rdk_model_logits_of(rdk_model *m, rdk_tape *t, size_t batch, size_t len,
                                const int32_t *tokens, const int32_t *lengths,
                                const rdk_model_tokens *only, const rdk_model_probe *probe);
/* The same pass, but no further than q and k of the last layer. Fills q, k, q_used and k_used of
 * all layers, rows and score_max of all but the last. False on failure, as there. */
bool rdk_model_queries(rdk_model *m, rdk_tape *t, size_t batch, size_t len, const int32_t *tokens,
                       const int32_t *lengths, const rdk_model_probe *probe);

#endif
