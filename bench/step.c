/* SPDX-License-Identifier: MIT
 * One training step: forward, cross-entropy, backward, clipping at 1, AdamW.
 *
 *     step SIZE THREADS STEPS [PROBE_EVERY]      size: tiny, small, medium, baby
 *
 * Prints one line of CSV: size, threads, median and least milliseconds, GFLOP/s at the median, MiB
 * at most, seconds from the start of main to the end of the first step, the last loss.
 * Tokens are random and made before the clock starts. */
#include "bench.h"

#include "run/trainer.h"

enum { WARMUP = 5, SEED = 1 };

typedef struct trainer {
    const bench_size *size;
    rdk_model *model;
    rdk_optimizer *optimizer;
    rdk_tape *tape;
    rdk_attention_row *rows;
    int32_t *input, *target;
    double loss;
} trainer;

static const rdk_optim_config OPTIM = {.kind = RDK_ADAMW,
                                       .lr = 1e-3,
                                       .beta1 = 0.9,
                                       .beta2 = 0.99,
                                       .eps = 1e-8,
                                       .weight_decay = 0.1,
                                       .clip = 1};

static rdk_model_config model_of(const bench_size *b)
{
    return (rdk_model_config){.vocab = b->vocab,
                              .max_len = b->len,
                              .layers = b->layers,
                              .heads = b->heads,
                              .d_model = b->d_model,
                              .d_k = b->d_model / b->heads,
                              .d_ff = 4 * b->d_model,
                              .scale = "sqrt",
                              .bias = true,
                              .tie = true,
                              .init = RDK_INIT_GPT2};
}

static bool open_trainer(trainer *r, rdk_status *s)
{
    const bench_size *b = r->size;
    const rdk_model_config config = model_of(b);
    size_t tokens = b->batch * b->len;
    r->model = rdk_model_new(&config, SEED, s);
    if (!r->model) return false;
    r->optimizer = rdk_optimizer_new(&OPTIM, r->model, s);
    r->tape = rdk_tape_new(s);
    r->rows = rdk_alloc(b->layers * tokens * b->heads, sizeof *r->rows, s);
    r->input = rdk_alloc(tokens, sizeof *r->input, s);
    r->target = rdk_alloc(tokens, sizeof *r->target, s);
    if (!rdk_ok(s)) return false;
    rdk_draws draws = rdk_draws_at((rdk_stream){SEED, RDK_FOR_TEST, 0}, 0);
    for (size_t i = 0; i < tokens; i++) {
        r->input[i] = (int32_t)rdk_draw_below(&draws, b->vocab);
        r->target[i] = (int32_t)rdk_draw_below(&draws, b->vocab);
    }
    return true;
}

static void close_trainer(trainer *r)
{
    rdk_free(r->target);
    rdk_free(r->input);
    rdk_free(r->rows);
    rdk_tape_free(r->tape);
    rdk_optimizer_free(r->optimizer);
    rdk_model_free(r->model);
}

/* Forward and backward of n sequences, as a run passes them through the model. */
static bool pass(trainer *r, size_t first, size_t n, bool probed)
{
    const bench_size *b = r->size;
    size_t rows = b->heads * b->len, at = first * b->len;
    const rdk_model_probe probe = {.rows = r->rows + first * rows,
                                   .rows_of_layer = b->batch * rows};
    rdk_tape_reset(r->tape);
    rdk_tensor *logits =
        rdk_model_logits(r->model, r->tape, n, b->len, r->input + at, NULL, probed ? &probe : NULL);
    rdk_tensor *loss =
        rdk_cross_entropy(r->tape, logits, r->target + at, (double)(b->batch * b->len), NULL, NULL);
    if (!rdk_tape_backward(r->tape, loss)) return false;
    r->loss += (double)loss->data[0];
    return true;
}

static bool step(trainer *r, uint64_t i, bool probed)
{
    rdk_config config = {.model = *rdk_model_config_of(r->model), .batch = r->size->batch};
    size_t most = rdk_pass_sequences(&config);
    r->loss = 0;
    rdk_model_zero_grad(r->model);
    for (size_t first = 0, n; first < config.batch; first += n) {
        n = config.batch - first < most ? config.batch - first : most;
        if (!pass(r, first, n, probed)) return false;
    }
    double factor = rdk_clip_factor(rdk_grad_norm(r->model), OPTIM.clip);
    rdk_optimizer_step(r->optimizer, r->model, i, OPTIM.lr, factor, NULL);
    return true;
}

static bool run(trainer *r, size_t steps, size_t probe_every, double started, double *ms)
{
    double first = 0;
    for (size_t i = 0; i < WARMUP + steps; i++) {
        double begun = rdk_seconds();
        if (!step(r, i, probe_every && i % probe_every == 0)) return false;
        if (i == 0) first = rdk_seconds() - started;
        if (i >= WARMUP) ms[i - WARMUP] = 1e3 * (rdk_seconds() - begun);
    }
    double median = bench_median(steps, ms);
    printf("%s,%d,%.4g,%.4g,%.4g,%.4g,%.3f,%.4f\n", r->size->name, rdk_threads(), median, ms[0],
           bench_flops(r->size) / median / 1e6, (double)rdk_peak_memory() / (1 << 20), first,
           r->loss);
    return true;
}

int main(int argc, char **argv)
{
    double started = rdk_seconds();
    trainer r = {.size = argc > 3 ? bench_size_find(argv[1]) : NULL};
    int steps = argc > 3 ? atoi(argv[3]) : 0;
    if (!r.size || steps < 1 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: step SIZE THREADS STEPS [PROBE_EVERY]\n");
        return 2;
    }
    rdk_status s = {0};
    rdk_threads_set(atoi(argv[2]));
    double *ms = rdk_alloc((size_t)steps, sizeof *ms, &s);
    bool ok = ms && open_trainer(&r, &s);
    size_t probe_every = argc > 4 ? (size_t)atoi(argv[4]) : 0;
    if (ok && !run(&r, (size_t)steps, probe_every, started, ms))
        ok = rdk_fail(&s, RDK_ESTATE, "%s", rdk_tape_status(r.tape)->message);
    if (!ok) fprintf(stderr, "step: %s\n", s.message);
    close_trainer(&r);
    rdk_free(ms);
    return ok ? 0 : 1;
}
