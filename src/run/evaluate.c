/* SPDX-License-Identifier: MIT
 * The held-out figures: the same sequences at every evaluation, without dropout, nothing recorded.
 * The next training step is not touched: it has a stream and a batch of its own. */
#include "trainer.h"

#include <math.h>

void rdk_evaluate_begin(rdk_tape *t, bool recording)
{
    rdk_tape_reset(t);
    rdk_tape_recording(t, recording);
    rdk_tape_training(t, false, (rdk_stream){0}, 0);
}

/* The losses of these sequences of r->eval_batch, and their sum over the tokens; on the tape of
 * this worker until its next reset. */
static rdk_tensor *losses(rdk_trainer *r, const rdk_pass_at *at, bool recording)
{
    double tokens = (double)at->n * (double)r->eval_batch.len;
    rdk_evaluate_begin(at->tape, recording);
    rdk_tensor *loss = rdk_batch_loss(&r->eval_batch, r->model, at, tokens, NULL);
    rdk_tape_recording(at->tape, true);
    if (!loss) rdk_fail_with_tape(at);
    return loss;
}

static bool held_out_pass(rdk_trainer *r, const rdk_pass_at *at, void *context)
{
    (void)context;
    rdk_tensor *loss = losses(r, at, false);
    if (!loss || isfinite(loss->data[0])) return loss != NULL;
    double found = (double)loss->data[0];
    if (losses(r, at, true)) rdk_fail_on_loss(r, at, "the held-out loss", found);
    return false;
}

/* A group for every full pass. */
static size_t groups_of(const rdk_config *c, size_t n)
{
    size_t groups = n / rdk_pass_sequences(c);
    return groups < 1 ? 1 : groups > RDK_MOST_GROUPS ? RDK_MOST_GROUPS : groups;
}

static bool wants_stop(const rdk_trainer *r)
{
    return r->io->stop && *r->io->stop;
}

rdk_evaluation rdk_evaluate(rdk_trainer *r, rdk_score *pass)
{
    const rdk_config *c = &r->config;
    rdk_batch *b = &r->eval_batch;
    double loss = 0, right = 0, whole = 0;
    *pass = (rdk_score){0};
    for (size_t first = 0; first < c->eval_size; first += b->n) {
        size_t n = c->eval_size - first < b->n ? c->eval_size - first : b->n;
        if (wants_stop(r)) return RDK_EVAL_STOPPED;
        rdk_batch_eval(b, r->task, c->seed, first, n);
        if (!rdk_passes(r, n, groups_of(c, n), held_out_pass, NULL)) return RDK_EVAL_FAILED;
        rdk_score p = rdk_batch_score(b);
        loss += p.loss * (double)p.counted;
        right += p.accuracy * (double)p.counted;
        whole += p.sequence_accuracy * (double)n;
        pass->counted += p.counted;
        pass->tokens += p.tokens;
    }
    if (pass->counted) {
        pass->loss = loss / (double)pass->counted;
        pass->accuracy = right / (double)pass->counted;
        pass->sequence_accuracy = whole / (double)c->eval_size;
    }
    return RDK_EVAL_DONE;
}
