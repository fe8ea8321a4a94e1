/* SPDX-License-Identifier: MIT
 * A model as a thing that is made, asked and freed: its buffers, its replicas, its parameters by
 * name and role.
 * Invariant: a replica owns what is written in a pass (gradients), and borrows what is read.
 * Read next: params.c, which parameters there are. */
#include "nn/model.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"

/* What a model and its replica have each. */
static bool allocate(rdk_model *m, rdk_status *s)
{
    m->param = rdk_alloc(m->n_params, sizeof *m->param, s);
    m->layer = rdk_alloc(m->config.layers, sizeof *m->layer, s);
    m->grads = rdk_alloc(m->size, sizeof *m->grads, s);
    return m->param && m->layer && m->grads;
}

/* What a replica borrows. */
static bool allocate_values(rdk_model *m, rdk_status *s)
{
    const rdk_model_config *c = &m->config;
    m->values = rdk_alloc(m->size, sizeof *m->values, s);
    m->packing = rdk_alloc(m->n_params, sizeof *m->packing, s);
    if (c->positions == RDK_SINUSOIDAL)
        m->sinusoids = (rdk_tensor){
            .data = rdk_alloc(c->max_len * c->d_model, sizeof(rdk_real), s), /* measured before */
            .n_dims = 2,
            .dim = {c->max_len, c->d_model},
            .name = "sinusoids"};
    if (c->sink == RDK_SINK_ONE)
        m->zero_sink = (rdk_tensor){.data = rdk_alloc(c->heads, sizeof(rdk_real), s),
                                    .n_dims = 1,
                                    .dim = {c->heads},
                                    .name = "a sink of score 0"};
    return m->values && m->packing && (c->positions != RDK_SINUSOIDAL || m->sinusoids.data) &&
           (c->sink != RDK_SINK_ONE || m->zero_sink.data);
}

rdk_model *rdk_model_new(const rdk_model_config *c, uint64_t seed, rdk_status *s)
{
    if (!rdk_model_config_check(c, s)) return NULL;
    rdk_model *m = rdk_alloc(1, sizeof *m, s);
    if (!m) return NULL;
    m->config = *c;
    m->scale = rdk_config_score_scale(c);
    if (!rdk_nn_measure(c, &m->n_params, &m->size) || !allocate(m, s) || !allocate_values(m, s)) {
        rdk_model_free(m);
        return NULL;
    }
    rdk_nn_place(m);
    for (size_t i = 0; i < m->n_params; i++) rdk_nn_draw(&m->param[i], seed);
    rdk_nn_sigma_start(m);
    if (m->sinusoids.data) rdk_nn_sinusoids(c->max_len, c->d_model, m->sinusoids.data);
    return m;
}

rdk_model *rdk_model_replica(rdk_model *m, rdk_status *s)
{
    rdk_model *r = rdk_alloc(1, sizeof *r, s);
    if (!r) return NULL;
    *r = *m;
    r->replica = true;
    r->param = NULL, r->layer = NULL, r->grads = NULL;
    if (!allocate(r, s)) {
        rdk_model_free(r);
        return NULL;
    }
    rdk_nn_place(r);
    return r;
}

void rdk_model_free(rdk_model *m)
{
    if (!m) return;
    if (!m->replica) {
        rdk_free(m->sinusoids.data);
        rdk_free(m->zero_sink.data);
        rdk_free(m->values);
        for (size_t i = 0; m->packing && i < m->n_params; i++) {
            rdk_free(m->packing[i].panels);
            rdk_free(m->packing[i].pairs_t);
            rdk_free(m->packing[i].pairs);
        }
        rdk_free(m->packing);
    }
    rdk_free(m->grads);
    rdk_free(m->layer);
    rdk_free(m->param);
    rdk_free(m);
}

const rdk_model_config *rdk_model_config_of(const rdk_model *m)
{
    return &m->config;
}

size_t rdk_model_param_count(const rdk_model *m)
{
    return m->n_params;
}

rdk_param *rdk_model_param(rdk_model *m, size_t i)
{
    return &m->param[i];
}

rdk_param *rdk_model_find(rdk_model *m, const char *name)
{
    for (size_t i = 0; i < m->n_params; i++)
        if (strcmp(m->param[i].name, name) == 0) return &m->param[i];
    return NULL;
}

rdk_param *rdk_model_role(rdk_model *m, rdk_role role, int layer)
{
    for (size_t i = 0; i < m->n_params; i++)
        if (m->param[i].role == role && m->param[i].layer == layer) return &m->param[i];
    return NULL;
}

size_t rdk_model_size(const rdk_model *m)
{
    return m->size;
}

rdk_real *rdk_model_values(rdk_model *m)
{
    return m->values;
}

rdk_real *rdk_model_grads(rdk_model *m)
{
    return m->grads;
}

void rdk_model_drop_grads(rdk_model *m)
{
    for (size_t i = 0; i < m->n_params; i++) m->param[i].tensor.grad_stale = true;
}

void rdk_model_settle_grads(rdk_model *m)
{
    for (size_t i = 0; i < m->n_params; i++) {
        rdk_tensor *x = &m->param[i].tensor;
        if (x->grad_stale) memset(x->grad, 0, rdk_size(x) * sizeof *x->grad);
        x->grad_stale = false;
    }
}

void rdk_model_zero_grad(rdk_model *m)
{
    for (size_t i = 0; i < m->n_params; i++) m->param[i].tensor.grad_stale = false;
    memset(m->grads, 0, m->size * sizeof *m->grads);
}

void rdk_model_gather_grads(rdk_model *m, size_t n, rdk_model *const *replica)
{
    enum { PIECE = 4096 }; /* elements that stay in the nearest cache until the last was added */
    size_t pieces = rdk_pieces(m->size, PIECE);
    RDK_PARALLEL_FOR_IF(m->size > PIECE)
    for (size_t c = 0; c < pieces; c++) {
        size_t end = (c + 1) * PIECE < m->size ? (c + 1) * PIECE : m->size;
        for (size_t i = 0; i < n; i++) {
            const rdk_real *from = replica[i]->grads;
            RDK_SIMD
            for (size_t e = c * PIECE; e < end; e++) m->grads[e] += from[e];
        }
    }
}

double rdk_model_score_scale(const rdk_model *m)
{
    return m->scale;
}

double rdk_model_layer_scale(const rdk_model *m, size_t layer)
{
    return m->layer[layer].scale;
}

double rdk_model_head_gain(const rdk_model *m, size_t layer, size_t head)
{
    const rdk_tensor *gain = m->layer[layer].score_gain;
    if (!gain) return 1;
    return m->config.temperature ? exp((double)gain->data[head]) : (double)gain->data[head];
}

double rdk_model_head_sink(const rdk_model *m, size_t layer, size_t head)
{
    const rdk_tensor *sink = m->layer[layer].sink;
    return sink ? (double)sink->data[head] : -INFINITY;
}
