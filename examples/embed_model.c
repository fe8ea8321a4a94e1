/* SPDX-License-Identifier: MIT
 * Model, optimizer and task, with a loop of your own: a Transformer learns to sort six digits, and
 * attention is measured on the way. It writes no file; the trainer of src/run is not used.
 * Read beside it: docs/embedding.md. */
#include <stdio.h>

#include <rootdk/rootdk.h>

enum { BATCH = 32, STEPS = 120, SEED = 1, HELD_OUT = 256 };

/* Everything the loop needs, freed in one place. Zeroed before use: rdk_..._free(NULL) is fine. */
typedef struct trainer {
    rdk_task *task;
    rdk_model *model;
    rdk_optimizer *optimizer;
    rdk_tape *tape;
    rdk_attention_row *rows; /* [layers, BATCH, heads, T], what is measured */
    int32_t *input, *target; /* [BATCH, T] */
    int32_t length[BATCH];
    int32_t *best;   /* [BATCH, T], the most probable tokens */
    double *scratch; /* [2, BATCH, T] */
} trainer;

static const rdk_optim_config OPTIM = {.kind = RDK_ADAMW,
                                       .lr = 1e-3,
                                       .warmup = 20,
                                       .schedule = RDK_CONSTANT,
                                       .beta1 = 0.9,
                                       .beta2 = 0.95,
                                       .eps = 1e-8,
                                       .weight_decay = 0.01,
                                       .clip = 1};

/* One status for all of it: the first failure stays, so it is asked for once. */
static bool open_trainer(trainer *r, rdk_status *s)
{
    const rdk_task_config task = {.name = "sort"};
    r->task = rdk_task_open(&task, s);
    if (!r->task) return false;
    const rdk_model_config model = {.vocab = rdk_task_vocab(r->task),
                                    .max_len = rdk_task_tokens(r->task),
                                    .layers = 2,
                                    .heads = 2,
                                    .d_model = 32,
                                    .d_k = 16,
                                    .d_ff = 64,
                                    .scale = "sqrt"}; /* the rest: the first choice of each enum */
    r->model = rdk_model_new(&model, SEED, s);
    if (!r->model) return false;
    size_t len = model.max_len;
    r->optimizer = rdk_optimizer_new(&OPTIM, r->model, s);
    r->tape = rdk_tape_new(s);
    r->rows = rdk_alloc(model.layers * BATCH * model.heads * len, sizeof *r->rows, s);
    r->input = rdk_alloc(BATCH * len, sizeof *r->input, s);
    r->target = rdk_alloc(BATCH * len, sizeof *r->target, s);
    r->best = rdk_alloc(BATCH * len, sizeof *r->best, s);
    r->scratch = rdk_alloc(2 * BATCH * len, sizeof *r->scratch, s);
    return rdk_ok(s);
}

static void close_trainer(trainer *r)
{
    rdk_free(r->scratch);
    rdk_free(r->best);
    rdk_free(r->target);
    rdk_free(r->input);
    rdk_free(r->rows);
    rdk_tape_free(r->tape);
    rdk_optimizer_free(r->optimizer);
    rdk_model_free(r->model);
    rdk_task_close(r->task);
}

/* The mean loss over the counted targets of the batch at hand; NULL where an op failed. */
static rdk_tensor *forward(trainer *r, const rdk_model_probe *probe)
{
    size_t len = rdk_task_tokens(r->task), counted = 0;
    for (size_t i = 0; i < BATCH * len; i++) counted += r->target[i] != RDK_IGNORE;
    rdk_tensor *logits =
        rdk_model_logits(r->model, r->tape, BATCH, len, r->input, r->length, probe);
    return rdk_cross_entropy(r->tape, logits, r->target, (double)counted, NULL, r->best);
}

/* Update number `step`; returns its loss, or -1 where it failed. */
static double train_step(trainer *r, uint64_t step)
{
    size_t len = rdk_task_tokens(r->task);
    for (size_t i = 0; i < BATCH; i++)
        rdk_task_train(r->task, SEED, step, i, r->input + i * len, r->target + i * len,
                       &r->length[i]);
    rdk_tape_reset(r->tape);
    rdk_model_zero_grad(r->model);
    rdk_tensor *loss = forward(r, &(rdk_model_probe){.rows = r->rows});
    if (!rdk_tape_backward(r->tape, loss)) return -1;
    double factor = rdk_clip_factor(rdk_grad_norm(r->model), OPTIM.clip);
    rdk_optimizer_step(r->optimizer, r->model, step, rdk_schedule(&OPTIM, step, STEPS), factor,
                       NULL);
    return (double)loss->data[0];
}

/* Head 0 of layer 0, from the rows that the last pass has filled. */
static rdk_head_figures first_head(const trainer *r)
{
    const rdk_model_config *c = rdk_model_config_of(r->model);
    return rdk_head_measure(r->rows, BATCH, c->heads, c->max_len, 0, NULL, NULL, c->d_k, r->length,
                            r->scratch);
}

/* The share of held-out targets that are right; nothing is recorded. -1 where a pass failed. */
static double held_out_accuracy(trainer *r)
{
    size_t len = rdk_task_tokens(r->task), right = 0, counted = 0;
    rdk_tape_recording(r->tape, false);
    for (size_t first = 0; first < HELD_OUT; first += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            rdk_task_eval(r->task, SEED, first + i, r->input + i * len, r->target + i * len,
                          &r->length[i]);
        rdk_tape_reset(r->tape);
        if (!forward(r, NULL)) return -1;
        for (size_t i = 0; i < BATCH * len; i++) {
            counted += r->target[i] != RDK_IGNORE;
            right += r->target[i] != RDK_IGNORE && r->target[i] == r->best[i];
        }
    }
    rdk_tape_recording(r->tape, true);
    return (double)right / (double)counted;
}

static bool train(trainer *r)
{
    for (uint64_t step = 0; step <= STEPS; step++) {
        double loss = train_step(r, step);
        if (loss < 0) return false;
        if (step % (STEPS / 3) != 0) continue;
        rdk_head_figures f = first_head(r);
        printf("step %3d  loss %.3f  score std %.2f  entropy/ln n %.2f\n", (int)step, loss,
               f.score_std, f.entropy_norm);
    }
    double accuracy = held_out_accuracy(r);
    if (accuracy < 0) return false;
    printf("held out: %.1f %% of targets right\n", 100 * accuracy);
    return true;
}

int main(void)
{
    trainer r = {0};
    rdk_status s = {0};
    rdk_threads_set(1); /* so small a model gains nothing from more; results do not depend on it */
    bool ok = open_trainer(&r, &s);
    if (ok && !train(&r)) ok = rdk_fail(&s, RDK_ESTATE, "%s", rdk_tape_status(r.tape)->message);
    if (!ok) fprintf(stderr, "embed_model: %s\n", s.message);
    close_trainer(&r);
    return ok ? 0 : 1;
}
