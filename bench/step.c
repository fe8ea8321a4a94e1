/* SPDX-License-Identifier: MIT
 * One training step as a run takes it: data, forward, cross-entropy, backward, clipping at 1,
 * AdamW.
 *
 *     step SIZE THREADS STEPS [PROBE_EVERY]      size: tiny, small, medium, baby
 *
 * Prints one line of CSV: size, threads, median and least milliseconds, GFLOP/s at the median, MiB
 * at most, seconds from the start of main to the end of the first step, the last loss. */
#include "bench.h"

#include "run/trainer.h"

enum { WARMUP = 5, SEED = 1 };

static bool set(rdk_config *c, const char *name, size_t value, rdk_status *s)
{
    char text[RDK_NUMBER_TEXT];
    snprintf(text, sizeof text, "%zu", value);
    return rdk_option_set(c, rdk_option_find(name), text, s);
}

/* Random tokens; what the options do not say is as in a run. */
static bool configure(rdk_config *c, const bench_size *b, rdk_status *s)
{
    static const char *const words[][2] = {{"task", "random"}, {"init", "gpt2"}, {"bias", "on"},
                                           {"tie", "on"},      {"lr", "1e-3"},   {"clip", "1"}};
    rdk_config_init(c);
    bool ok = true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ok = ok && rdk_option_set(c, rdk_option_find(words[i][0]), words[i][1], s);
    return ok && set(c, "layers", b->layers, s) && set(c, "heads", b->heads, s) &&
           set(c, "d-model", b->d_model, s) && set(c, "seq-len", b->len, s) &&
           set(c, "batch", b->batch, s) && set(c, "vocab", b->vocab, s) && set(c, "seed", SEED, s);
}

static bool step(rdk_trainer *r, bool probed, double *loss)
{
    rdk_step_report report;
    if (!rdk_step_gradients(r, probed, &report)) return false;
    rdk_step_update(r, &report);
    *loss = report.pass.loss;
    return true;
}

static bool run(rdk_trainer *r, const bench_size *size, size_t steps, size_t probe_every,
                double started, double *ms)
{
    double first = 0, loss = 0;
    for (size_t i = 0; i < WARMUP + steps; i++) {
        double begun = rdk_seconds();
        if (!step(r, probe_every && i % probe_every == 0, &loss)) return false;
        if (i == 0) first = rdk_seconds() - started;
        if (i >= WARMUP) ms[i - WARMUP] = 1e3 * (rdk_seconds() - begun);
    }
    double median = bench_median(steps, ms);
    printf("%s,%d,%.4g,%.4g,%.4g,%.4g,%.3f,%.4f\n", size->name, rdk_threads(), median, ms[0],
           bench_flops(size) / median / 1e6, (double)rdk_peak_memory() / (1 << 20), first, loss);
    return true;
}

int main(int argc, char **argv)
{
    double started = rdk_seconds();
    const bench_size *size = argc > 3 ? bench_size_find(argv[1]) : NULL;
    int steps = argc > 3 ? atoi(argv[3]) : 0;
    if (!size || steps < 1 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: step SIZE THREADS STEPS [PROBE_EVERY]\n");
        return 2;
    }
    rdk_status s = {0};
    rdk_run_io io = {0};
    rdk_trainer r = {.io = &io, .status = &s, .started = started};
    rdk_threads_set(atoi(argv[2]));
    double *ms = rdk_alloc((size_t)steps, sizeof *ms, &s);
    size_t probe_every = argc > 4 ? (size_t)atoi(argv[4]) : 0;
    bool ok = ms && configure(&r.config, size, &s) && rdk_setup_trainer(&r) &&
              run(&r, size, (size_t)steps, probe_every, started, ms);
    if (!ok) fprintf(stderr, "step: %s\n", s.message);
    rdk_trainer_free(&r);
    rdk_free(ms);
    return ok ? 0 : 1;
}
