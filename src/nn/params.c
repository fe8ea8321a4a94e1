/* SPDX-License-Identifier: MIT
 * Which parameters a model has, what they are called, and where they lie.
 *
 * All values lie in one buffer, all gradients in a second of the same layout. Each parameter begins
 * at a multiple of 64 bytes; the elements between are zero and stay so. The names, in the order of
 * the buffers (i: the layer; weights are [out, in]):
 *
 *     tokens.weight                        [vocab, d_model]
 *     positions.weight                     [max_len, d_model]         learned positions
 *     layers.i.norm1.gain .bias            [d_model]
 *     layers.i.attention.wq.weight .bias   [heads d_k, d_model]       likewise wk, wv
 *     layers.i.attention.q_gain k_gain     [d_k]; l2: q_gain [heads] alone
 *     layers.i.attention.score.weight      [heads, d_k]               additive attention
 *     layers.i.attention.log_gain          [heads]                    temperature: exp of it
 *     layers.i.attention.length_gain       [heads]                    ssmax: s
 *     layers.i.attention.sink              [heads]                    a learned sink
 *     layers.i.attention.wo.weight .bias   [d_model, heads d_k]
 *     layers.i.norm2.gain .bias            [d_model]                  with an MLP
 *     layers.i.mlp.in.weight .bias         [d_ff, d_model]            likewise gate, for swiglu
 *     layers.i.mlp.out.weight .bias        [d_model, d_ff]
 *     final_norm.gain .bias                [d_model]                  pre-norm
 *     head.weight                          [vocab, d_model]           not where tied
 *     head.bias                            [vocab]
 *     (linear layer).gamma, .u, .v         [1], [out], [in]           sigma_reparam
 *
 * Invariant: the list is one function, walk(), run once to measure and once to place; nothing else
 * knows which parts exist.
 * Read next: model.c (the buffers), init.c (the first values), block.c (their use). */
#include <stdio.h>
#include <string.h>

#include "nn/model.h"

enum { ALIGN = 64 / sizeof(rdk_real), LONGEST_PART = 24 };

/* The normals that one stream index gives (init.c); with room to round up. */
static const size_t MAX_ELEMENTS = UINT32_MAX - ALIGN;

/* A walk over the list. model NULL: only measures. */
typedef struct layout {
    const rdk_model_config *config;
    rdk_model *model;
    size_t n_params, size;
    int layer; /* -1 outside the layers */
    bool too_large;
} layout;

bool rdk_nn_is_matrix(rdk_role role)
{
    switch (role) {
    case RDK_ROLE_NORM:
    case RDK_ROLE_QK_GAIN:
    case RDK_ROLE_BIAS:
    case RDK_ROLE_SCORE_GAIN:
    case RDK_ROLE_SINK:
    case RDK_ROLE_SIGMA:
    case RDK_ROLE_POWER:
        return false;
    default:
        return true;
    }
}

/* Matrices that multiply activations decay. A tied token table is the head's matrix too, and decays
 * as that; an untied one only looks rows up. */
static bool decays(const rdk_model_config *c, rdk_role role)
{
    if (role == RDK_ROLE_TOKENS) return c->tie;
    return rdk_nn_is_matrix(role) && role != RDK_ROLE_POSITIONS;
}

static void describe(const layout *l, rdk_param *p, rdk_role role, const char *name, double mean)
{
    const rdk_model_config *c = l->config;
    if (l->layer < 0)
        snprintf(p->name, sizeof p->name, "%.*s", LONGEST_PART, name);
    else
        snprintf(p->name, sizeof p->name, "layers.%d.%.*s", l->layer, LONGEST_PART, name);
    p->role = role;
    p->layer = l->layer;
    p->decay = decays(c, role);
    p->trainable = role != RDK_ROLE_POWER && (role != RDK_ROLE_QK_GAIN || c->qk_gain_learned);
    p->init_mean = mean;
    rdk_model_config own = rdk_config_of_layer(c, l->layer < 0 ? SIZE_MAX : (size_t)l->layer);
    p->init_std = rdk_init_std(&own, role);
}

/* The next parameter: [rows, cols], or [cols] where rows is 0. NULL while measuring. */
static rdk_tensor *place(layout *l, rdk_role role, const char *name, size_t rows, size_t cols,
                         double mean)
{
    size_t count = cols, offset = l->size, end;
    if ((rows && !rdk_size_mul(rows, cols, &count)) || count > MAX_ELEMENTS ||
        !rdk_size_add(offset, count + ALIGN - 1, &end)) {
        l->too_large = true;
        return NULL;
    }
    l->size = end / ALIGN * ALIGN;
    size_t i = l->n_params++;
    if (!l->model) return NULL;
    rdk_param *p = &l->model->param[i];
    describe(l, p, role, name, mean);
    p->offset = offset;
    p->tensor = (rdk_tensor){.data = l->model->values + offset,
                             .grad = l->model->grads + offset,
                             .n_dims = rows ? 2 : 1,
                             .dim = {rows ? rows : cols, rows ? cols : 0},
                             .needs_grad = p->trainable,
                             .name = p->name};
    return &p->tensor;
}

/* "wq" and "weight" to "wq.weight", in buf. */
static const char *join(char buf[RDK_NAME_TEXT], const char *name, const char *part)
{
    snprintf(buf, RDK_NAME_TEXT, "%s.%s", name, part);
    return buf;
}

/* Under QK-norm the size of W_Q and of W_K is taken out again, and gamma would be dead. */
static bool is_reparametrised(const layout *l, rdk_role role)
{
    bool scores = role == RDK_ROLE_WQ || role == RDK_ROLE_WK;
    return l->config->sigma_reparam &&
           !(scores && rdk_config_of_layer(l->config, (size_t)l->layer).qk_norm != RDK_QK_OFF);
}

/* The weight of a linear layer, parameter i: products with it may find it laid out. */
static void multiplies(const layout *l, rdk_tensor *weight, size_t i)
{
    if (l->model) weight->packing = &l->model->packing[i];
}

static rdk_affine place_linear(layout *l, rdk_role role, const char *name, size_t out, size_t in)
{
    char buf[RDK_NAME_TEXT];
    rdk_affine a = {0};
    const size_t i = l->n_params;
    a.weight = place(l, role, join(buf, name, "weight"), out, in, 0);
    if (l->config->bias) a.bias = place(l, RDK_ROLE_BIAS, join(buf, name, "bias"), 0, out, 0);
    if (is_reparametrised(l, role)) {
        a.gamma = place(l, RDK_ROLE_SIGMA, join(buf, name, "gamma"), 0, 1, 0);
        a.u = place(l, RDK_ROLE_POWER, join(buf, name, "u"), 0, out, 0);
        a.v = place(l, RDK_ROLE_POWER, join(buf, name, "v"), 0, in, 0);
    } else {
        multiplies(l, a.weight, i);
    }
    return a;
}

static rdk_affine place_norm(layout *l, const char *name)
{
    const rdk_model_config *c = l->config;
    char buf[RDK_NAME_TEXT];
    rdk_affine a = {0};
    a.weight = place(l, RDK_ROLE_NORM, join(buf, name, "gain"), 0, c->d_model, 1);
    if (c->bias && c->norm == RDK_LAYER_NORM)
        a.bias = place(l, RDK_ROLE_NORM, join(buf, name, "bias"), 0, c->d_model, 0);
    return a;
}

/* L2-normed q and k meet in a cosine, which one factor a head stretches; LayerNorm and RMSNorm have
 * a gain for each dimension of q and of k, shared by the heads. */
static void place_qk_gains(layout *l, rdk_layer *y, const rdk_model_config *c)
{
    bool l2 = c->qk_norm == RDK_QK_L2;
    double start = rdk_config_qk_gain(c);
    y->q_gain = y->k_gain = NULL;
    if (c->qk_norm == RDK_QK_OFF) return;
    y->q_gain = place(l, RDK_ROLE_QK_GAIN, "attention.q_gain", 0, l2 ? c->heads : c->d_k, start);
    if (!l2) y->k_gain = place(l, RDK_ROLE_QK_GAIN, "attention.k_gain", 0, c->d_k, start);
}

/* What is learned of a head's scores beside QK-norm. A temperature as its logarithm: it stays
 * positive, and a step of the optimizer changes it by a share of itself, whatever it is. s of ssmax
 * as it is published: plain. */
static void place_score_parts(layout *l, rdk_layer *y, const rdk_model_config *c)
{
    y->score_gain = y->sink = NULL;
    if (c->temperature)
        y->score_gain = place(l, RDK_ROLE_SCORE_GAIN, "attention.log_gain", 0, c->heads, 0);
    if (c->length == RDK_LENGTH_SSMAX)
        y->score_gain = place(l, RDK_ROLE_SCORE_GAIN, "attention.length_gain", 0, c->heads,
                              rdk_config_length_gain(c));
    if (c->sink == RDK_SINK_LEARNED)
        y->sink = place(l, RDK_ROLE_SINK, "attention.sink", 0, c->heads, 0);
    else if (c->sink == RDK_SINK_ONE && l->model)
        y->sink = &l->model->zero_sink;
}

static void place_layer(layout *l, rdk_layer *y)
{
    const rdk_model_config *c = l->config;
    const rdk_model_config own = rdk_config_of_layer(c, (size_t)l->layer);
    size_t inner = c->heads * c->d_k; /* widths are at most RDK_MAX_WIDTH: no overflow */
    y->scale = rdk_config_score_scale(&own);
    y->qk_norm = own.qk_norm;
    y->norm1 = place_norm(l, "norm1");
    y->q = place_linear(l, RDK_ROLE_WQ, "attention.wq", inner, c->d_model);
    y->k = place_linear(l, RDK_ROLE_WK, "attention.wk", inner, c->d_model);
    y->v = place_linear(l, RDK_ROLE_WV, "attention.wv", inner, c->d_model);
    place_qk_gains(l, y, &own);
    y->score = NULL;
    if (c->attention == RDK_ADDITIVE)
        y->score = place(l, RDK_ROLE_SCORE, "attention.score.weight", c->heads, c->d_k, 0);
    place_score_parts(l, y, &own);
    y->o = place_linear(l, RDK_ROLE_WO, "attention.wo", c->d_model, inner);
    if (c->mlp == RDK_MLP_NONE) return;
    y->norm2 = place_norm(l, "norm2");
    y->in = place_linear(l, RDK_ROLE_MLP_IN, "mlp.in", c->d_ff, c->d_model);
    if (c->mlp == RDK_MLP_SWIGLU)
        y->gate = place_linear(l, RDK_ROLE_MLP_GATE, "mlp.gate", c->d_ff, c->d_model);
    y->out = place_linear(l, RDK_ROLE_MLP_OUT, "mlp.out", c->d_model, c->d_ff);
}

static rdk_affine place_head(layout *l, rdk_tensor *tokens)
{
    const rdk_model_config *c = l->config;
    if (!c->tie) return place_linear(l, RDK_ROLE_HEAD, "head", c->vocab, c->d_model);
    rdk_affine a = {.weight = tokens};
    multiplies(l, tokens, 0);
    if (c->bias) a.bias = place(l, RDK_ROLE_BIAS, "head.bias", 0, c->vocab, 0);
    return a;
}

/* Walks the list; writes into parts, whose layers are layer (all into one slot while measuring). */
static void walk(layout *l, rdk_model *parts, rdk_layer *layer)
{
    const rdk_model_config *c = l->config;
    l->layer = -1;
    parts->tokens = place(l, RDK_ROLE_TOKENS, "tokens.weight", c->vocab, c->d_model, 0);
    if (c->positions == RDK_LEARNED)
        parts->positions =
            place(l, RDK_ROLE_POSITIONS, "positions.weight", c->max_len, c->d_model, 0);
    for (size_t i = 0; i < c->layers; i++) {
        l->layer = (int)i;
        place_layer(l, &layer[l->model ? i : 0]);
    }
    l->layer = -1;
    if (c->norm_place == RDK_PRE_NORM) parts->final_norm = place_norm(l, "final_norm");
    parts->head = place_head(l, parts->tokens);
}

bool rdk_nn_measure(const rdk_model_config *c, size_t *n_params, size_t *size)
{
    layout l = {.config = c};
    rdk_model parts = {0};
    rdk_layer layer = {0};
    walk(&l, &parts, &layer);
    *n_params = l.n_params;
    *size = l.size;
    return !l.too_large;
}

void rdk_nn_place(rdk_model *m)
{
    layout l = {.config = &m->config, .model = m};
    walk(&l, m, m->layer);
}
