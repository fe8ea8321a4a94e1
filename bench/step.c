/* SPDX-License-Identifier: MIT
 * One training step as a run takes it: data, forward, cross-entropy, backward, clipping at 1,
 * AdamW.
 *
 *     step SIZE THREADS STEPS [PRECISION]
 *     step --options SIZE
 *
 * SIZE is tiny, small, medium, baby, or LAYERSxHEADSxD_MODELxTxBATCHxV. PRECISION: float, or bf16
 * for products of bfloat16. Nothing is probed.
 *
 * Prints one line of CSV: size, threads, median and least milliseconds of a step, GFLOP/s at the
 * median, MiB at most, seconds from the start of main to the end of the first step, the last loss.
 * With --options instead the options of ./train that make such steps: the others as they are there.
 */
#include "training.h"

enum { WARMUP = 5 };

static void print_options(const bench_size *b)
{
    bench_setting all[BENCH_SETTINGS];
    bench_settings(b, all);
    for (size_t i = 0; i < BENCH_SETTINGS; i++)
        printf("%s--%s=%s", i ? " " : "", all[i].option, all[i].value);
    printf("\n");
}

static bool run(rdk_trainer *r, const bench_size *size, size_t n, double *ms)
{
    double loss = 0;
    if (!bench_step(r, false, &loss)) return false;
    double first = rdk_seconds() - r->started;
    for (size_t i = 1; i < WARMUP; i++)
        if (!bench_step(r, false, &loss)) return false;
    for (size_t i = 0; i < n; i++) {
        double begun = rdk_seconds();
        if (!bench_step(r, false, &loss)) return false;
        ms[i] = 1e3 * (rdk_seconds() - begun);
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
    bool counted = argc == 4 || argc == 5;
    int threads = counted ? atoi(argv[2]) : 0, times = counted ? atoi(argv[3]) : 0;
    const char *precision = argc == 5 ? argv[4] : "float";
    if (threads < 1 || times < 1 || !bench_size_find(argv[1], &size)) {
        fprintf(stderr, "usage: step SIZE THREADS STEPS [PRECISION]\n       step --options SIZE\n");
        return 2;
    }
    rdk_status s = {0};
    rdk_run_io io = {0};
    rdk_trainer r = {.io = &io, .status = &s, .started = started};
    rdk_threads_set(threads);
    double *ms = rdk_alloc((size_t)times, sizeof *ms, &s);
    bool ok = ms && bench_configure(&r.config, &size, 0, &s) &&
              rdk_option_set(&r.config, rdk_option_find("precision"), precision, &s) &&
              rdk_setup_trainer(&r) && run(&r, &size, (size_t)times, ms);
    if (!ok) fprintf(stderr, "step: %s\n", s.message);
    rdk_trainer_free(&r);
    rdk_free(ms);
    return ok ? 0 : 1;
}
