/* SPDX-License-Identifier: MIT
 * One update. Its sequences are made first, so that the number of counted targets of the whole
 * update is known: each micro-batch is divided by that number, and k micro-batches of n sequences
 * give the gradient of one batch of k n, however unevenly their targets are counted. */
#include "trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "ops/table.h"

/* The head that element `at` of the output of attention belongs to, or -1 for another op. */
static int head_of(const rdk_trainer *r, const rdk_node *n, size_t at)
{
    bool attends = n->op->backward == rdk_op_attention.backward; /* one for all kinds of score */
    if (!attends) return -1;
    return (int)(at % rdk_cols(n->out) / r->config.model.d_k);
}

bool rdk_fail_on_loss(const rdk_trainer *r, const rdk_pass_at *at, const char *what, double loss)
{
    size_t element = 0;
    const rdk_node *n = rdk_tape_first_nonfinite(at->tape, &element);
    int h = n ? head_of(r, n, element) : -1;
    char head[32] = "", number[RDK_NUMBER_TEXT];
    if (h >= 0) snprintf(head, sizeof head, ", head %d", h);
    return rdk_fail(at->status, RDK_ENONFINITE,
                    "step %" PRIu64 ": %s is %s, first non-finite in %s%s, output of %s (try a "
                    "smaller --lr, more --warmup, or --clip)",
                    r->step, what, rdk_text_double(loss, number),
                    n && n->scope ? n->scope : "the model", head, n ? n->op->name : "the loss");
}

bool rdk_fail_with_tape(const rdk_pass_at *at)
{
    const rdk_status *failed = rdk_tape_status(at->tape);
    return rdk_fail(at->status, failed->code, "%s", failed->message);
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

/* What all passes of an update have in common. */
typedef struct update {
    double counted; /* targets */
    bool measuring;
} update;

static size_t heads_of(const rdk_trainer *r)
{
    return r->config.model.layers * r->config.model.heads;
}

/* Each worker raises its own; then they are one. */
static rdk_real *score_max_of(const rdk_trainer *r, size_t worker)
{
    return r->score_max + worker * heads_of(r);
}

static void score_max_begin(rdk_trainer *r)
{
    for (size_t i = 0; r->score_max && i < r->workers * heads_of(r); i++)
        r->score_max[i] = -INFINITY;
}

static void score_max_end(rdk_trainer *r)
{
    for (size_t w = 1; r->score_max && w < r->workers; w++)
        for (size_t i = 0; i < heads_of(r); i++)
            if (score_max_of(r, w)[i] > r->score_max[i]) r->score_max[i] = score_max_of(r, w)[i];
}

static rdk_model *model_of(const rdk_trainer *r, size_t group)
{
    return group ? r->replicas[group - 1] : r->model;
}

/* Forward and backward; the part of nll and best that belongs to these sequences is filled. */
static bool pass(rdk_trainer *r, const rdk_pass_at *at, void *context)
{
    const update *u = context;
    rdk_tape *t = at->tape;

    rdk_model_probe probe = {0};
    if (u->measuring) probe = *rdk_measure_probe(r->measure, at->worker, at->first);
    if (r->score_max) probe.score_max = score_max_of(r, at->worker);

    rdk_tape_reset(t);
    rdk_tape_training(t, true, (rdk_stream){r->config.seed, RDK_FOR_DROPOUT, r->step},
                      (uint32_t)at->first);
    rdk_tensor *loss = rdk_batch_loss(&r->batch, model_of(r, at->group), at, u->counted, &probe);
    if (loss && !isfinite(loss->data[0]))
        return rdk_fail_on_loss(r, at, "the loss", (double)loss->data[0]);
    if (!loss) return rdk_fail_with_tape(at);
    if (u->measuring) rdk_measure_take(r->measure, at->worker, at->first, at->n);
    return rdk_tape_backward(t, loss) || rdk_fail_with_tape(at); /* queries and keys are gone */
}

static bool all_passes(rdk_trainer *r, update u)
{
    score_max_begin(r);
    for (size_t g = 0; g < r->groups; g++) rdk_model_drop_grads(model_of(r, g));
    bool ok = rdk_passes(r, r->batch.n, r->groups, pass, &u);
    for (size_t g = 0; g < r->groups; g++) rdk_model_settle_grads(model_of(r, g));
    if (!ok) return false;
    rdk_model_gather_grads(r->model, r->groups - 1, r->replicas);
    score_max_end(r);
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
    if (!all_passes(r, (update){denominator, measuring})) {
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
    rdk_model_power_step(r->model);
    if (r->score_max) {
        size_t heads = rdk_qk_clip_count(r->model, r->score_max, r->config.qk_clip);
        rdk_qk_clip(r->model, r->score_max, r->config.qk_clip, r->config.qk_clip_alpha);
        r->clip_updates += heads > 0;
        if (heads > r->clip_most) r->clip_most = heads;
    }
    r->step++;
    r->tokens_seen += report->pass.tokens;
}
