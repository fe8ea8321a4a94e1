/* SPDX-License-Identifier: MIT
 * What the files of this room share: the model's inside, and one forward pass.
 * Invariant: every pointer below leads into rdk_model.param, or is NULL where this model has no
 * such part; whether a part exists is decided in params.c alone.
 * Read next: params.c. */
#ifndef RDK_NN_MODEL_H
#define RDK_NN_MODEL_H

#include <rootdk/nn.h>

enum { RDK_MAX_LAYERS = 1000, RDK_MAX_WIDTH = 1 << 24 };

/* y = x weight^T + bias, or a norm's gain and bias. gamma, u, v: with sigma_reparam, of a linear
 * layer; then it is gamma / (u^T weight v) weight that multiplies. */
typedef struct rdk_affine {
    rdk_tensor *weight, *bias;
    rdk_tensor *gamma, *u, *v;
} rdk_affine;

typedef struct rdk_layer {
    rdk_affine norm1, q, k, v, o;
    double scale; /* c */
    rdk_qk_norm qk_norm;
    rdk_tensor *q_gain, *k_gain;
    rdk_tensor *score;             /* w of additive attention, [heads, d_k] */
    rdk_tensor *score_gain, *sink; /* [heads] */
    rdk_affine norm2, in, gate, out;
} rdk_layer;

struct rdk_model {
    rdk_model_config config;
    double scale; /* c */
    rdk_param *param;
    size_t n_params;
    size_t size; /* elements of values and of grads */
    rdk_real *values, *grads;
    rdk_packing *packing; /* [n_params], panels of the weights of linear layers */
    bool replica;         /* values, packing and sinusoids are another's */
    rdk_layer *layer;
    rdk_tensor *tokens, *positions;
    rdk_affine final_norm, head; /* head.weight is tokens where tied */
    rdk_tensor sinusoids;        /* [max_len, d_model], a constant; data NULL where not used */
    rdk_tensor zero_sink;        /* [heads], zeros; data NULL where not used */
};

/* ---- params.c -------------------------------------------------------------------------------- */
/* How many parameters a configuration has, and the elements of its buffers.
 * False where a tensor or the sum is too large to address. */
bool rdk_nn_measure(const rdk_model_config *c, size_t *n_params, size_t *size);
/* Lays the parameters of a model into its buffers, and points its layers to them. */
void rdk_nn_place(rdk_model *m);
/* Does this role multiply, or is it looked up: is it drawn by the matrices' rules? False for gains,
 * biases and what else starts as a constant, and for u and v of a power iteration. */
bool rdk_nn_is_matrix(rdk_role role);

/* ---- scores.c -------------------------------------------------------------------------------- */
/* The rules of everything that is done to c q.k; see rdk_model_config_check. */
bool rdk_nn_check_scores(const rdk_model_config *c, rdk_status *s);
bool rdk_nn_factor_fits(double x); /* 1e-6 to 1e6; false for nan */

/* ---- sigma.c --------------------------------------------------------------------------------- */
/* u, v and gamma of freshly drawn weights; u holds random numbers. */
void rdk_nn_sigma_start(rdk_model *m);

/* ---- init.c ---------------------------------------------------------------------------------- */
/* The random stream index of a parameter: 44 bits of its name. */
uint64_t rdk_nn_name_index(const char *name);
void rdk_nn_draw(rdk_param *p, uint64_t seed);
/* table[t, 2m] = sin(t 10000^(-2m/d)), table[t, 2m + 1] = cos of it (Vaswani et al. 2017, 3.5). */
void rdk_nn_sinusoids(size_t len, size_t d, rdk_real *table);

/* ---- block.c --------------------------------------------------------------------------------- */
/* One forward pass: what all its parts need. */
typedef struct rdk_pass {
    rdk_model *model;
    rdk_tape *tape;
    size_t batch, len;
    const int32_t *lengths;
    const rdk_model_tokens *only; /* whose logits are asked for; NULL: all */
    size_t first;                 /* position of the first of them; 0 where all are */
    const int32_t *query;         /* of each of them, among those from there on; NULL: in order */
    const rdk_model_probe *probe;
} rdk_pass;

rdk_tensor *rdk_nn_linear(const rdk_pass *p, rdk_tensor *x, rdk_affine a);
rdk_tensor *rdk_nn_norm(const rdk_pass *p, rdk_tensor *x, rdk_affine norm);
rdk_tensor *rdk_nn_drop(const rdk_pass *p, rdk_tensor *x);
/* x: [B, T, d_model] -> [B, T, d_model], through layer i; through the last, where only some tokens
 * are asked for, -> [n, d_model]. */
rdk_tensor *rdk_nn_block(const rdk_pass *p, size_t i, rdk_tensor *x);
/* No further in layer i than its q and k, for the probe. */
bool rdk_nn_queries(const rdk_pass *p, size_t i, rdk_tensor *x);

#endif
