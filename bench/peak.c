/* SPDX-License-Identifier: MIT
 * The limits of this machine: multiply-adds and memory bandwidth.
 *
 *     peak THREADS      one line of CSV: threads, GFLOP/s (a multiply-add counts as two),
 *                       GB/s of memory, GB/s of the nearest caches
 *
 * The multiply-adds are those that a run's summary is measured by (src/run/speed.c); the loop
 * over memory is compiled for the machine at hand. */
#include "bench.h"

#include "bandwidth.h"
#include "run/trainer.h"

enum { ROUNDS = 7 };

static double bandwidth(int threads, size_t size, size_t times, bench_wide *memory)
{
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double rate = bench_bandwidth(threads, size, times, memory);
        if (rate > best) best = rate;
    }
    return best;
}

int main(int argc, char **argv)
{
    enum { FAR = 64 << 20, NEAR = 12 << 10, AGAIN = 4000 }; /* bytes of an array of a thread */
    int threads = argc == 2 ? atoi(argv[1]) : 0;
    if (threads < 1 || threads > 256) {
        fprintf(stderr, "usage: peak THREADS\n");
        return 2;
    }
    rdk_threads_set(threads);
    rdk_status s = {0};
    const size_t wide = sizeof(bench_wide);
    bench_wide *memory = rdk_alloc(2 * (size_t)threads, FAR, &s);
    if (!memory) {
        fprintf(stderr, "peak: %s\n", s.message);
        return 1;
    }
    memset(memory, 0, 2 * (size_t)threads * FAR);
    printf("%d,%.1f,%.1f,%.1f\n", threads, rdk_speed_peak() / 1e9,
           bandwidth(threads, FAR / wide, 1, memory),
           bandwidth(threads, NEAR / wide, AGAIN, memory));
    rdk_free(memory);
    return 0;
}
