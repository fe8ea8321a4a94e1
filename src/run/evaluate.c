/* SPDX-License-Identifier: MIT
 * The held-out figures: the same sequences at every evaluation, without dropout, nothing recorded.
 * The next training step is not touched: it has a stream and a batch of its own. */
#include "trainer.h"

#include <math.h>

static bool fail_with_tape(rdk_trainer *r)
{
    const rdk_status *failed = rdk_tape_status(r->tape);
    return rdk_fail(r->status, failed->code, "%s", failed->message);
}

rdk_tensor *rdk_evaluate_logits(rdk_trainer *r, const rdk_batch *b, const rdk_model_probe *probe,
                                bool recording)
{
    rdk_tape_reset(r->tape);
    rdk_tape_recording(r->tape, recording);
    rdk_tape_training(r->tape, false, (rdk_stream){0}, 0);
    rdk_tensor *logits =
        rdk_model_logits(r->model, r->tape, b->n, b->len, b->input, b->length, probe);
    rdk_tape_recording(r->tape, true);
    if (!logits) fail_with_tape(r);
    return logits;
}

static bool forward(rdk_trainer *r, bool recording)
{
    rdk_batch *b = &r->eval_batch;
    rdk_tensor *logits = rdk_evaluate_logits(r, b, NULL, recording);
    if (!logits) return false;
    rdk_tape_scope(r->tape, "the loss");
    /* recorded where the logits were: else they need no gradient */
    return rdk_cross_entropy(r->tape, logits, b->target, 1, b->nll, b->best) || fail_with_tape(r);
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
        if (!forward(r, false)) return RDK_EVAL_FAILED;
        rdk_score p = rdk_batch_score(b);
        if (!isfinite(p.loss)) {
            if (forward(r, true)) rdk_fail_on_loss(r, "the held-out loss", p.loss);
            return RDK_EVAL_FAILED;
        }
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
