/* SPDX-License-Identifier: MIT
 * The model as a formula: tokens to logits, or to the last queries and keys.
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

/* The tokens that are asked for are in the batch. */
static bool has_tokens(const rdk_pass *p)
{
    const size_t tokens = p->batch * p->len;
    const rdk_model_tokens *only = p->only;
    if (only && only->n > 0 && !only->at) {
        rdk_tape_fail(p->tape, RDK_EVALUE, "logits of %zu tokens, but no list of them (NULL)",
                      only->n);
        return false;
    }
    for (size_t r = 0; only && r < only->n; r++) {
        if (only->at[r] >= 0 && (size_t)only->at[r] < tokens) continue;
        rdk_tape_fail(p->tape, RDK_EVALUE,
                      "logits of token %d, asked for at position %zu: there are %zu, from 0 on",
                      (int)only->at[r], r, tokens);
        return false;
    }
    return true;
}

/* Behind the last attention only the tokens that are asked for go on, so queries before the first
 * of them need not be formed there. */
static bool find_first(rdk_pass *p)
{
    static const int32_t none; /* no token: not NULL, which is all */
    const rdk_model_tokens *only = p->only;
    if (!only) return true;
    p->query = &none;
    if (only->n == 0) return true;
    p->first = p->len;
    for (size_t r = 0; r < only->n; r++)
        if ((size_t)only->at[r] % p->len < p->first) p->first = (size_t)only->at[r] % p->len;
    const size_t queries = p->len - p->first;
    bool in_order = only->n == p->batch * queries;
    int32_t *query = rdk_tape_alloc(p->tape, only->n, sizeof *query);
    for (size_t r = 0; query && r < only->n; r++) {
        size_t b = (size_t)only->at[r] / p->len, i = (size_t)only->at[r] % p->len - p->first;
        query[r] = (int32_t)(b * queries + i);
        in_order = in_order && (size_t)query[r] == r;
    }
    p->query = in_order ? NULL : query;
    return query != NULL;
}

static bool fits(const rdk_pass *p)
{
    const size_t most = p->model->config.max_len;
    return rdk_tape_alive(p->tape) &&
           rdk_tape_expect(p->tape, p->len <= most,
                           "a sequence of %zu tokens is longer than this model's %zu (see "
                           "--seq-len)",
                           p->len, most) &&
           has_tokens(p);
}

rdk_tensor *rdk_model_logits(rdk_model *m, rdk_tape *t, size_t batch, size_t len,
                             const int32_t *tokens, const int32_t *lengths,
                             const rdk_model_probe *probe)
{
    return rdk_model_logits_of(m, t, batch, len, tokens, lengths, NULL, probe);
}

rdk_tensor *rdk_model_logits_of(rdk_model *m, rdk_tape *t, size_t batch, size_t len,
                                const int32_t *tokens, const int32_t *lengths,
                                const rdk_model_tokens *only, const rdk_model_probe *probe)
{
    const rdk_model_config *c = &m->config;
    rdk_pass p = {.model = m,
                  .tape = t,
                  .batch = batch,
                  .len = len,
                  .lengths = lengths,
                  .only = only,
                  .probe = probe};
    if (!fits(&p) || !find_first(&p)) return NULL;
    rdk_tensor *x = embed(&p, tokens);
    for (size_t i = 0; i < c->layers; i++) x = rdk_nn_block(&p, i, x);
    rdk_tape_scope(t, "head");
    if (c->norm_place == RDK_PRE_NORM) x = rdk_nn_norm(&p, x, m->final_norm);
    return rdk_nn_linear(&p, x, m->head);
}

bool rdk_model_queries(rdk_model *m, rdk_tape *t, size_t batch, size_t len, const int32_t *tokens,
                       const int32_t *lengths, const rdk_model_probe *probe)
{
    const size_t last = m->config.layers - 1;
    rdk_pass p = {
        .model = m, .tape = t, .batch = batch, .len = len, .lengths = lengths, .probe = probe};
    if (!fits(&p)) return false;
    rdk_tensor *x = embed(&p, tokens);
    for (size_t i = 0; i < last; i++) x = rdk_nn_block(&p, i, x);
    return rdk_nn_queries(&p, last, x);
}
