/* SPDX-License-Identifier: MIT
 * One layer: attention and MLP, each on a residual branch.
 *
 *     pre-norm:  x += attention(norm1(x)); x += mlp(norm2(x))
 *     post-norm: x = norm1(x + attention(x)); x = norm2(x + mlp(x))
 *
 * Invariant: `attend` is the only place that sees the scale c, and it passes it to rdk_attention; q
 * and k are normalised per head before they are turned by RoPE. Read next: transformer.c. */
#include "nn/model.h"

static const double NORM_EPS = 1e-5;
static const double QK_EPS = 1e-6; /* inside the root: finite gradients also at q = 0 */
static const double ROPE_BASE = 10000;

rdk_tensor *rdk_nn_norm(const rdk_pass *p, rdk_tensor *x, rdk_affine norm)
{
    if (p->model->config.norm == RDK_RMS_NORM)
        return rdk_rms_norm(p->tape, x, norm.weight, NORM_EPS);
    return rdk_layer_norm(p->tape, x, norm.weight, norm.bias, NORM_EPS);
}

rdk_tensor *rdk_nn_drop(const rdk_pass *p, rdk_tensor *x)
{
    double rate = p->model->config.dropout;
    return rate > 0 ? rdk_dropout(p->tape, x, rate) : x;
}

/* The matrix that a linear layer multiplies by. */
static rdk_tensor *matrix(const rdk_pass *p, rdk_affine a)
{
    return a.gamma ? rdk_spectral_scale(p->tape, a.weight, a.gamma, a.u, a.v) : a.weight;
}

rdk_tensor *rdk_nn_linear(const rdk_pass *p, rdk_tensor *x, rdk_affine a)
{
    return rdk_linear(p->tape, x, matrix(p, a), a.bias);
}

static rdk_tensor *in_rows(const rdk_pass *p, rdk_tensor *x)
{
    return x ? rdk_reshape(p->tape, x, 2, (size_t[]){rdk_rows(x), rdk_cols(x)}) : NULL;
}

/* The rows of x of the tokens that are asked for. at: which these are. */
static rdk_tensor *asked_for(const rdk_pass *p, rdk_tensor *x, const int32_t *at)
{
    return rdk_embedding(p->tape, in_rows(p, x), at, 1, &p->only->n);
}

/* x + branch, at the last layer of the branch, which reads h. */
static rdk_tensor *join(const rdk_pass *p, rdk_tensor *x, rdk_tensor *h, rdk_affine last)
{
    if (p->model->config.dropout > 0)
        return rdk_add(p->tape, x, rdk_nn_drop(p, rdk_nn_linear(p, h, last)));
    return rdk_linear_add(p->tape, h, matrix(p, last), last.bias, x);
}

static rdk_tensor *linear_map(const rdk_pass *p, rdk_tensor *x, rdk_affine a, rdk_activation f)
{
    return rdk_linear_map(p->tape, x, matrix(p, a), a.bias, f);
}

/* x: [B, T, H, d_k], normalised over d_k; gain: NULL for k under l2. */
static rdk_tensor *qk_norm(const rdk_pass *p, rdk_qk_norm kind, rdk_tensor *x, rdk_tensor *gain)
{
    switch (kind) {
    case RDK_QK_LAYER:
        return rdk_layer_norm(p->tape, x, gain, NULL, QK_EPS);
    case RDK_QK_RMS:
        return rdk_rms_norm(p->tape, x, gain, QK_EPS);
    case RDK_QK_L2:
        x = rdk_l2_norm(p->tape, x, QK_EPS);
        if (!gain) return x;
        return rdk_mul(p->tape, x,
                       rdk_reshape(p->tape, gain, 2, (size_t[]){p->model->config.heads, 1}));
    default:
        return x;
    }
}

/* What is done to q, or k, between its projection and the product: from position `first` on,
 * [B, T - first, H d_k] -> the same. */
static rdk_tensor *prepare(const rdk_pass *p, rdk_qk_norm kind, size_t first, rdk_tensor *x,
                           rdk_tensor *gain)
{
    const rdk_model_config *c = &p->model->config;
    bool turn = c->positions == RDK_ROPE;
    const size_t n = p->len - first;
    if (kind == RDK_QK_OFF && !turn) return x;
    x = rdk_reshape(p->tape, x, 4, (size_t[]){p->batch, n, c->heads, c->d_k});
    x = qk_norm(p, kind, x, gain);
    if (turn) x = rdk_rope(p->tape, x, first, ROPE_BASE);
    return rdk_reshape(p->tape, x, 3, (size_t[]){p->batch, n, c->heads * c->d_k});
}

/* q of layer i as it is multiplied, from position `first` on, of the h that its attention is given.
 * The probe is told of all of them or of none. */
static rdk_tensor *queries(const rdk_pass *p, size_t i, rdk_tensor *h, size_t first)
{
    const rdk_layer *y = &p->model->layer[i];
    const rdk_model_probe *probe = first ? NULL : p->probe;
    rdk_tensor *q = first ? rdk_linear_last(p->tape, h, p->len - first, matrix(p, y->q), y->q.bias)
                          : rdk_nn_linear(p, h, y->q);
    if (probe && probe->q) probe->q[i] = q;
    q = prepare(p, y->qk_norm, first, q, y->q_gain);
    if (probe && probe->q_used) probe->q_used[i] = q;
    return q;
}

static rdk_tensor *keys(const rdk_pass *p, size_t i, rdk_tensor *h)
{
    const rdk_layer *y = &p->model->layer[i];
    const rdk_model_probe *probe = p->probe;
    rdk_tensor *k = rdk_nn_linear(p, h, y->k);
    if (probe && probe->k) probe->k[i] = k;
    k = prepare(p, y->qk_norm, 0, k, y->k_gain);
    if (probe && probe->k_used) probe->k_used[i] = k;
    return k;
}

static rdk_tensor *attend(const rdk_pass *p, size_t i, rdk_tensor *q, rdk_tensor *k, rdk_tensor *v,
                          double dropout)
{
    const rdk_model_config *c = &p->model->config;
    const rdk_layer *y = &p->model->layer[i];
    const rdk_model_probe *probe = p->probe;
    rdk_attention_args args = {.n_heads = c->heads,
                               .scale = y->scale,
                               .causal = c->arch == RDK_DECODER,
                               .lengths = p->lengths,
                               .dropout = dropout,
                               .gain = y->score_gain,
                               .length_base = rdk_config_length_base(c),
                               .softcap = c->softcap,
                               .sink = y->sink};
    if (c->temperature) args.gain = rdk_exp(p->tape, y->score_gain);
    if (probe && probe->score_max) args.score_max = probe->score_max + i * c->heads;
    if (probe && probe->rows) {
        size_t rows = probe->rows_of_layer ? probe->rows_of_layer : p->batch * c->heads * p->len;
        args.rows = probe->rows + i * rows;
    }
    return y->score ? rdk_additive_attention(p->tape, q, k, v, y->score, &args)
                    : rdk_attention(p->tape, q, k, v, &args);
}

/* Where not all queries are formed but the probe asks of them: all are, beside the pass. Backward
 * completes the rows of those that it comes to; no gradient arrives at the others. */
static void show_all_queries(const rdk_pass *p, size_t i, rdk_tensor *h, rdk_tensor *k,
                             rdk_tensor *v)
{
    const rdk_model_probe *probe = p->probe;
    if (!probe || !(probe->rows || probe->q || probe->q_used || probe->score_max)) return;
    bool recorded = rdk_tape_recording(p->tape, false);
    rdk_tensor *q = queries(p, i, h, 0);
    if (probe->rows || probe->score_max) attend(p, i, q, k, v, 0);
    rdk_tape_recording(p->tape, recorded);
}

/* The branches: x + what they make of h. */
static rdk_tensor *attention(const rdk_pass *p, size_t i, rdk_tensor *x, rdk_tensor *h)
{
    const rdk_layer *y = &p->model->layer[i];
    const bool last = p->only && i + 1 == p->model->config.layers;
    const size_t first = last ? p->first : 0;
    rdk_tape_scope(p->tape, "layer %zu attention", i);
    rdk_tensor *q = queries(p, i, h, first), *k = keys(p, i, h), *v = rdk_nn_linear(p, h, y->v);
    if (first > 0) show_all_queries(p, i, h, k, v);
    rdk_tensor *o = attend(p, i, q, k, v, p->model->config.dropout);
    if (last) {
        x = asked_for(p, x, p->only->at);
        o = p->query ? asked_for(p, o, p->query) : in_rows(p, o);
    }
    return join(p, x, o, y->o);
}

static rdk_activation activation_of(rdk_mlp kind)
{
    switch (kind) {
    case RDK_MLP_RELU:
        return RDK_RELU;
    case RDK_MLP_GELU_EXACT:
        return RDK_GELU;
    default:
        return RDK_GELU_TANH;
    }
}

static rdk_tensor *mlp(const rdk_pass *p, size_t i, rdk_tensor *x, rdk_tensor *h)
{
    const rdk_layer *y = &p->model->layer[i];
    const rdk_mlp kind = p->model->config.mlp;
    rdk_tape_scope(p->tape, "layer %zu mlp", i);
    if (kind == RDK_MLP_SWIGLU) {
        rdk_tensor *in = rdk_nn_linear(p, h, y->in);
        h = rdk_mul(p->tape, linear_map(p, h, y->gate, RDK_SILU), in);
    } else {
        h = linear_map(p, h, y->in, activation_of(kind));
    }
    return join(p, x, h, y->out);
}

typedef rdk_tensor *(*branch_fn)(const rdk_pass *p, size_t i, rdk_tensor *x, rdk_tensor *h);

static bool norm_first(const rdk_pass *p)
{
    return p->model->config.norm_place == RDK_PRE_NORM;
}

/* x with one branch, its norm before or after the sum. */
static rdk_tensor *residual(const rdk_pass *p, size_t i, rdk_tensor *x, branch_fn branch,
                            rdk_affine norm)
{
    rdk_tape_scope(p->tape, "layer %zu", i);
    x = branch(p, i, x, norm_first(p) ? rdk_nn_norm(p, x, norm) : x);
    return norm_first(p) ? x : rdk_nn_norm(p, x, norm);
}

rdk_tensor *rdk_nn_block(const rdk_pass *p, size_t i, rdk_tensor *x)
{
    const rdk_layer *y = &p->model->layer[i];
    x = residual(p, i, x, attention, y->norm1);
    if (p->model->config.mlp == RDK_MLP_NONE) return x;
    return residual(p, i, x, mlp, y->norm2);
}

bool rdk_nn_queries(const rdk_pass *p, size_t i, rdk_tensor *x)
{
    rdk_tape_scope(p->tape, "layer %zu", i);
    rdk_tensor *h = norm_first(p) ? rdk_nn_norm(p, x, p->model->layer[i].norm1) : x;
    rdk_tape_scope(p->tape, "layer %zu attention", i);
    rdk_tensor *q = queries(p, i, h, 0), *k = keys(p, i, h);
    return q && k;
}
