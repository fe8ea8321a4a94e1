/* SPDX-License-Identifier: MIT
 * The model as a formula: tokens to logits.
 *
 *     x = tokens[ids] + positions;  x = block_i(x), i = 0 ..;  pre-norm: x = final_norm(x)
 *     logits = x head^T + bias
 *
 * Invariant: a pass reads the model and records on the tape; it changes neither parameters nor
 * configuration, and asking for a probe changes no bit of the result.
 * Read next: block.c. */
#include "nn/model.h"

static rdk_tensor *embed(const rdk_pass *p, const int32_t *tokens)
{
    rdk_model *m = p->model;
    rdk_tape_scope(p->tape, "embedding");
    rdk_tensor *x = rdk_embedding(p->tape, m->tokens, tokens, 2, (size_t[]){p->batch, p->len});
    rdk_tensor *table = m->sinusoids.data ? &m->sinusoids : m->positions;
    if (table) x = rdk_add(p->tape, x, rdk_slice(p->tape, table, 0, 0, p->len));
    return rdk_nn_drop(p, x);
}

rdk_tensor *rdk_model_logits(rdk_model *m, rdk_tape *t, size_t batch, size_t len,
                             const int32_t *tokens, const int32_t *lengths,
                             const rdk_model_probe *probe)
{
    const rdk_model_config *c = &m->config;
    if (!rdk_tape_alive(t)) return NULL;
    if (!rdk_tape_expect(t, len <= c->max_len,
                         "a sequence of %zu tokens is longer than this model's %zu (see --seq-len)",
                         len, c->max_len))
        return NULL;
    rdk_pass p = {m, t, batch, len, lengths, probe};
    rdk_tensor *x = embed(&p, tokens);
    for (size_t i = 0; i < c->layers; i++) x = rdk_nn_block(&p, i, x);
    rdk_tape_scope(t, "head");
    if (c->norm_place == RDK_PRE_NORM) x = rdk_nn_norm(&p, x, m->final_norm);
    return rdk_nn_linear(&p, x, m->head);
}
