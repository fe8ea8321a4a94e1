/* SPDX-License-Identifier: MIT
 * What may be asked of a model that stands: its parameters, its buffers, the factors on its scores.
 * Invariant: nothing here allocates, and nothing but the gradients changes.
 * Read next: init.c. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "nn/model.h"

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

void rdk_model_zero_grad(rdk_model *m)
{
    memset(m->grads, 0, m->size * sizeof *m->grads);
}

void rdk_model_gather_grads(rdk_model *m, size_t n, rdk_model *const *replica)
{
    enum { PIECE = 4096 }; /* elements that stay in the nearest cache until the last was added */
    size_t pieces = m->size / PIECE + (m->size % PIECE != 0);
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
