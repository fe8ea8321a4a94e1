/* SPDX-License-Identifier: MIT
 * One update. Its sequences are made first, so that the number of counted targets of the whole
 * update is known: each micro-batch is divided by that number, and k micro-batches of n sequences
 * give the gradient of one batch of k n, however unevenly their targets are counted. */
#include "trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The head that element `at` of the output of attention belongs to, or -1 for another op. */
static int head_of(const rdk_trainer *r, const rdk_node *n, size_t at)
{
    bool attends = !strcmp(n->op->name, "attention") || !strcmp(n->op->name, "additive_attention");
    if (!attends) return -1;
    return (int)(at % rdk_cols(n->out) / r->config.model.d_k);
}

bool rdk_fail_on_loss(rdk_trainer *r, const char *what, double loss)
{
    size_t at = 0;
    const rdk_node *n = rdk_tape_first_nonfinite(r->tape, &at);
    char head[32] = "", number[RDK_NUMBER_TEXT];
    if (n && head_of(r, n, at) >= 0) snprintf(head, sizeof head, ", head %d", head_of(r, n, at));
    return rdk_fail(r->status, RDK_ENONFINITE,
                    "step %" PRIu64 ": %s is %s, first non-finite in %s%s, output of %s (try a "
                    "smaller --lr, more --warmup, or --clip)",
                    r->step, what, rdk_text_double(loss, number),
                    n && n->scope ? n->scope : "the model", head, n ? n->op->name : "the loss");
}

static bool fail_on_gradient(rdk_trainer *r, double norm)
{
    size_t at = 0;
    rdk_param *p = rdk_grad_first_nonfinite(r->model, &at);
    char number[RDK_NUMBER_TEXT];
    return rdk_fail(r->status, RDK_ENONFINITE,
                    "step %" PRIu64
                    ": the gradient norm is %s, first non-finite in the gradient of %s, "
                    "element %zu (try a smaller --lr or more --warmup)",
                    r->step, rdk_text_double(norm, number), p ? p->name : "no single tensor", at);
}

/* Forward and backward of n sequences; their part of nll and best is filled. */
static bool pass(rdk_trainer *r, size_t first, size_t n, double counted, bool measuring)
{
    rdk_batch *b = &r->batch;
    size_t at = first * b->len;
    rdk_stream dropout = {r->config.seed, RDK_FOR_DROPOUT, r->step};

    rdk_tape_reset(r->tape);
    rdk_tape_training(r->tape, true, dropout, (uint32_t)first);
    rdk_tensor *logits =
        rdk_model_logits(r->model, r->tape, n, b->len, b->input + at, b->length + first,
                         measuring ? rdk_measure_probe(r->measure, first) : NULL);
    rdk_tape_scope(r->tape, "the loss");
    rdk_tensor *loss =
        rdk_cross_entropy(r->tape, logits, b->target + at, counted, b->nll + at, b->best + at);
    if (loss && !isfinite(loss->data[0]))
        return rdk_fail_on_loss(r, "the loss", (double)loss->data[0]);
    if (!loss || !rdk_tape_backward(r->tape, loss)) {
        const rdk_status *failed = rdk_tape_status(r->tape);
        return rdk_fail(r->status, failed->code, "%s", failed->message);
    }
    if (measuring) rdk_measure_take(r->measure, first, n);
    return true;
}

/* All sequences of the update, in passes that do not cross a micro-batch. */
static bool passes(rdk_trainer *r, double counted, bool measuring)
{
    size_t batch = r->config.batch, most = rdk_pass_sequences(&r->config);
    for (size_t first = 0, n; first < r->batch.n; first += n) {
        size_t left = batch - first % batch;
        n = left < most ? left : most;
        if (!pass(r, first, n, counted, measuring)) return false;
    }
    return true;
}

bool rdk_step_gradients(rdk_trainer *r, bool measuring, rdk_step_report *report)
{
    const rdk_config *c = &r->config;
    rdk_batch_train(&r->batch, r->task, c->seed, r->step);
    /* an update without a counted target is a defined no-op: loss 0, gradients 0 */
    uint64_t counted = rdk_batch_counted(&r->batch);
    double denominator = counted ? (double)counted : 1;

    *report =
        (rdk_step_report){.lr = rdk_schedule(&c->optim, r->step, c->steps), .score_absmax = NAN};
    rdk_model_zero_grad(r->model);
    if (!passes(r, denominator, measuring)) {
        report->pass =
            (rdk_score){.loss = NAN, .accuracy = NAN, .sequence_accuracy = NAN, .counted = counted};
        report->grad_norm = report->clip_factor = NAN;
        return false;
    }
    report->pass = rdk_batch_score(&r->batch);
    report->grad_norm = rdk_grad_norm(r->model);
    report->clip_factor = rdk_clip_factor(report->grad_norm, c->optim.clip);
    if (measuring) {
        rdk_measure_finish(r->measure);
        report->score_absmax = rdk_measure_score_absmax(r->measure);
    }
    return isfinite(report->grad_norm) || fail_on_gradient(r, report->grad_norm);
}

void rdk_step_update(rdk_trainer *r, const rdk_step_report *report)
{
    rdk_optimizer_step(r->optimizer, r->model, r->step, report->lr, report->clip_factor,
                       r->update_norm);
    r->step++;
    r->tokens_seen += report->pass.tokens;
}
