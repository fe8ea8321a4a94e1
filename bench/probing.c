/* SPDX-License-Identifier: MIT
 * What looking at attention costs, in one process: steps of which none is probed and steps of which
 * some are, in turns, on the same model. Their work is else the same, so the machine's moods, which
 * are larger than the cost and last longer than a turn, meet both.
 *
 *     probing SIZE THREADS TURNS DIRECTORY
 *
 * A turn is ten steps without, ten of which one is probed, and ten that all are. A probed step is
 * that of a run: statistics of attention, the watched sequences before and after the update, norms,
 * rows, which go to CSV files in DIRECTORY.
 *
 * Prints two lines of CSV, of one step in ten and of every step: size, threads, steps a probed one,
 * median milliseconds of a step without, and what probing adds to it in per cent: median, quartiles
 * of the turns. */
#include "training.h"

enum { WARMUP = 10, TOGETHER = 10, KINDS = 3 };
static const size_t probe_every[KINDS] = {0, TOGETHER, 1};

/* Milliseconds of a step. */
static bool ten_steps(rdk_trainer *r, size_t every, double *ms)
{
    double begun = rdk_seconds(), loss;
    for (size_t i = 0; i < TOGETHER; i++)
        if (!bench_step(r, every && i % every == 0, &loss)) return false;
    *ms = 1e3 * (rdk_seconds() - begun) / TOGETHER;
    return true;
}

static double quantile(size_t n, const double *ascending, double q)
{
    return ascending[(size_t)(q * (double)(n - 1) + 0.5)];
}

/* ms: [KINDS][turns]; the first is sorted, of the others the costs. */
static void print(const bench_size *size, size_t turns, double *const ms[KINDS])
{
    for (size_t k = 1; k < KINDS; k++)
        for (size_t i = 0; i < turns; i++) ms[k][i] = 100 * (ms[k][i] / ms[0][i] - 1);
    double plain = bench_median(turns, ms[0]);
    for (size_t k = 1; k < KINDS; k++) {
        double cost = bench_median(turns, ms[k]);
        printf("%s,%d,%zu,%.4g,%.2f,%.2f,%.2f\n", size->name, rdk_threads(), probe_every[k], plain,
               cost, quantile(turns, ms[k], 0.25), quantile(turns, ms[k], 0.75));
    }
}

static bool run(rdk_trainer *r, const bench_size *size, size_t turns, double *times)
{
    double *const ms[KINDS] = {times, times + turns, times + 2 * turns}, loss;
    for (size_t i = 0; i < WARMUP; i++)
        if (!bench_step(r, i % 2 == 1, &loss)) return false;
    for (size_t i = 0; i < turns; i++)
        for (size_t k = 0; k < KINDS; k++)
            if (!ten_steps(r, probe_every[k], &ms[k][i])) return false;
    print(size, turns, ms);
    return true;
}

int main(int argc, char **argv)
{
    bench_size size;
    int threads = argc == 5 ? atoi(argv[2]) : 0, turns = argc == 5 ? atoi(argv[3]) : 0;
    if (threads < 1 || turns < 1 || !bench_size_find(argv[1], &size)) {
        fprintf(stderr, "usage: probing SIZE THREADS TURNS DIRECTORY\n");
        return 2;
    }
    rdk_status s = {0};
    rdk_run_io io = {0};
    rdk_trainer r = {.io = &io, .status = &s, .started = rdk_seconds()};
    snprintf(r.directory.path, sizeof r.directory.path, "%s", argv[4]);
    rdk_threads_set(threads);
    double *times = rdk_alloc((size_t)turns, KINDS * sizeof *times, &s);
    bool ok = times && bench_configure(&r.config, &size, TOGETHER, &s) && rdk_setup_trainer(&r) &&
              rdk_logs_open(&r, false) && run(&r, &size, (size_t)turns, times);
    if (!ok) fprintf(stderr, "probing: %s\n", s.message);
    rdk_trainer_free(&r);
    rdk_free(times);
    return ok ? 0 : 1;
}
