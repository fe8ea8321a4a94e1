/* SPDX-License-Identifier: MIT
 * One training step as a run takes it: data, forward, cross-entropy, backward, clipping at 1,
 * AdamW.
 *
 *     step SIZE THREADS STEPS [PROBE_EVERY [TOGETHER]]
 *     step --options SIZE
 *
 * SIZE is tiny, small, medium, baby, or LAYERSxHEADSxD_MODELxTxBATCHxV. PROBE_EVERY 0, the default,
 * probes nothing; else a step in so many is probed as in a run, all but writing the rows:
 * statistics of attention, the watched sequences before and after the update, norms. TOGETHER steps
 * (1) are timed as one, so that each time may hold a step that is probed.
 *
 * Prints one line of CSV: size, threads, median and least milliseconds of a step, GFLOP/s at the
 * median, MiB at most, seconds from the start of main to the end of the first step, the last loss.
 * With --options instead the options of ./train that make such steps: the others as they are there.
 */
#include "bench.h"

#include "run/trainer.h"

enum { WARMUP = 5, WORDS = 7, NUMBERS = 6, SETTINGS = WORDS + NUMBERS };

typedef struct setting {
    const char *option;
    char value[RDK_NUMBER_TEXT];
} setting;

/* Random tokens; what these do not say is as in a run. */
static void settings_of(const bench_size *b, setting out[SETTINGS])
{
    static const setting words[WORDS] = {{"task", "random"}, {"init", "gpt2"}, {"bias", "on"},
                                         {"tie", "on"},      {"lr", "1e-3"},   {"clip", "1"},
                                         {"seed", "1"}};
    static const char *const names[NUMBERS] = {"layers",  "heads", "d-model",
                                               "seq-len", "batch", "vocab"};
    const size_t numbers[NUMBERS] = {b->layers, b->heads, b->d_model, b->len, b->batch, b->vocab};
    memcpy(out, words, sizeof words);
    for (size_t i = 0; i < NUMBERS; i++) {
        out[WORDS + i].option = names[i];
        snprintf(out[WORDS + i].value, sizeof out->value, "%zu", numbers[i]);
    }
}

static bool configure(rdk_config *c, const bench_size *b, int probe_every, rdk_status *s)
{
    setting all[SETTINGS];
    settings_of(b, all);
    rdk_config_init(c);
    bool ok = true;
    for (size_t i = 0; i < SETTINGS; i++)
        ok = ok && rdk_option_set(c, rdk_option_find(all[i].option), all[i].value, s);
    c->probe_every = (uint64_t)probe_every;
    return ok;
}

static void print_options(const bench_size *b)
{
    setting all[SETTINGS];
    settings_of(b, all);
    for (size_t i = 0; i < SETTINGS; i++)
        printf("%s--%s=%s", i ? " " : "", all[i].option, all[i].value);
    printf("\n");
}

/* The rows of a probed step are formed; without open files they go nowhere. */
static bool step(rdk_trainer *r, bool probed, double *loss)
{
    rdk_step_report report;
    uint64_t number = r->step;
    if (!rdk_step_gradients(r, probed, &report)) return false;
    if (probed) rdk_logs_keep_norms(r);
    if (probed && !rdk_watch_before(r)) return false;
    rdk_step_update(r, &report);
    *loss = report.pass.loss;
    return !probed || (rdk_watch_after(r) && rdk_logs_attention_rows(r, number, true) &&
                       rdk_logs_gradient_rows(r, number, true));
}

static bool steps(rdk_trainer *r, size_t n, double *loss)
{
    const uint64_t every = r->config.probe_every;
    for (size_t i = 0; i < n; i++)
        if (!step(r, every && r->step % every == 0, loss)) return false;
    return true;
}

/* n times of `together` steps each. */
static bool run(rdk_trainer *r, const bench_size *size, size_t n, size_t together, double *ms)
{
    double loss = 0;
    if (!steps(r, 1, &loss)) return false;
    double first = rdk_seconds() - r->started;
    if (!steps(r, WARMUP - 1, &loss)) return false;
    for (size_t i = 0; i < n; i++) {
        double begun = rdk_seconds();
        if (!steps(r, together, &loss)) return false;
        ms[i] = 1e3 * (rdk_seconds() - begun) / (double)together;
    }
    double median = bench_median(n, ms);
    printf("%s,%d,%.4g,%.4g,%.4g,%.4g,%.3f,%.4f\n", size->name, rdk_threads(), median, ms[0],
           bench_flops(size) / median / 1e6, (double)rdk_peak_memory() / (1 << 20), first, loss);
    return true;
}

int main(int argc, char **argv)
{
    double started = rdk_seconds();
    bench_size size;
    if (argc == 3 && !strcmp(argv[1], "--options")) {
        if (!bench_size_find(argv[2], &size)) return 2;
        print_options(&size);
        return 0;
    }
    int threads = argc > 3 ? atoi(argv[2]) : 0, together = argc > 5 ? atoi(argv[5]) : 1;
    int probe_every = argc > 4 ? atoi(argv[4]) : 0;
    int times = argc > 3 && together > 0 ? atoi(argv[3]) / together : 0;
    if (threads < 1 || times < 1 || probe_every < 0 || !bench_size_find(argv[1], &size)) {
        fprintf(stderr, "usage: step SIZE THREADS STEPS [PROBE_EVERY [TOGETHER]]\n"
                        "       step --options SIZE\n");
        return 2;
    }
    rdk_status s = {0};
    rdk_run_io io = {0};
    rdk_trainer r = {.io = &io, .status = &s, .started = started};
    rdk_threads_set(threads);
    double *ms = rdk_alloc((size_t)times, sizeof *ms, &s);
    bool ok = ms && configure(&r.config, &size, probe_every, &s) && rdk_setup_trainer(&r) &&
              run(&r, &size, (size_t)times, (size_t)together, ms);
    if (!ok) fprintf(stderr, "step: %s\n", s.message);
    rdk_trainer_free(&r);
    rdk_free(ms);
    return ok ? 0 : 1;
}
