/* SPDX-License-Identifier: MIT
 * The loss of a pass: logits where a target counts, and what is made of them.
 *
 * Most tasks ask for a part of their tokens, an answer behind what it follows from. The others are
 * attended to, and that is all that they are for: of the last layer they have keys and values, so
 * that whatever else would be computed of them, not a number even, reaches no loss and no gradient.
 *
 * Invariant: dropout behind that attention apart, whose draws go by the place among those that
 * count, what is computed of a token does not depend on which others count.
 * Read next: step.c, evaluate.c. */
#include "trainer.h"

/* The counted tokens of a pass, on its tape. */
typedef struct counted {
    size_t n;
    int32_t *token; /* [n], from the first of the pass; NULL: they are all */
    int32_t *target, *best;
    rdk_real *nll;
} counted;

static bool is_kind(rdk_tape *t, size_t i, int32_t target, size_t vocab)
{
    if (target >= 0 && (size_t)target < vocab) return true;
    rdk_tape_fail(t, RDK_EVALUE,
                  "target %d at position %zu of a pass: there are %zu kinds (%d is not counted)",
                  (int)target, i, vocab, (int)RDK_IGNORE);
    return false;
}

static bool find_counted(rdk_tape *t, size_t tokens, const int32_t *target, size_t vocab,
                         counted *c)
{
    *c = (counted){0};
    for (size_t i = 0; i < tokens; i++) c->n += target[i] != RDK_IGNORE;
    if (c->n == tokens) return true;
    c->token = rdk_tape_alloc(t, c->n, sizeof *c->token);
    c->target = rdk_tape_alloc(t, c->n, sizeof *c->target);
    c->best = rdk_tape_alloc(t, c->n, sizeof *c->best);
    c->nll = rdk_tape_alloc(t, c->n, sizeof *c->nll);
    if (!rdk_tape_alive(t)) return false;
    for (size_t i = 0, k = 0; i < tokens; i++) {
        if (target[i] == RDK_IGNORE) continue;
        if (!is_kind(t, i, target[i], vocab)) return false;
        c->token[k] = (int32_t)i;
        c->target[k++] = target[i];
    }
    return true;
}

static void put_back(const counted *c, rdk_real *nll, int32_t *best)
{
    for (size_t k = 0; k < c->n; k++) {
        nll[c->token[k]] = c->nll[k];
        best[c->token[k]] = c->best[k];
    }
}

rdk_tensor *rdk_batch_loss(rdk_batch *b, rdk_model *m, const rdk_pass_at *at, double denominator,
                           const rdk_model_probe *probe)
{
    rdk_tape *t = at->tape;
    const size_t first = at->first * b->len;
    const int32_t *target = b->target + first;
    rdk_real *nll = b->nll + first;
    int32_t *best = b->best + first;
    counted c;
    if (!find_counted(t, at->n * b->len, target, rdk_model_config_of(m)->vocab, &c)) return NULL;
    const rdk_model_tokens only = {c.n, c.token};
    rdk_tensor *logits = rdk_model_logits_of(m, t, at->n, b->len, b->input + first,
                                             b->length + at->first, c.token ? &only : NULL, probe);
    rdk_tape_scope(t, "the loss");
    if (!c.token) return rdk_cross_entropy(t, logits, target, denominator, nll, best);
    rdk_tensor *loss = rdk_cross_entropy(t, logits, c.target, denominator, c.nll, c.best);
    if (loss) put_back(&c, nll, best);
    return loss;
}
