/* SPDX-License-Identifier: MIT
 * The limits of this machine: multiply-adds and memory bandwidth.
 *
 *     peak THREADS      one line of CSV: threads, GFLOP/s (a multiply-add counts as two),
 *                       GB/s of a triad in memory, GB/s in the nearest caches
 *
 * The multiply-adds are those that a run's summary is measured by (src/run/speed.c); the triad is
 * compiled for the machine at hand. */
#include "bench.h"

#include "base/parallel.h"
#include "run/trainer.h"

enum { ROUNDS = 7 };

/* z = x + a y over arrays of `size` floats a thread; three arrays of 4 bytes an element move. */
static double triad(int threads, size_t size, size_t times, float *memory)
{
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double begun = rdk_seconds();
        RDK_PARALLEL_FOR
        for (int t = 0; t < threads; t++) {
            float *x = memory + 3 * (size_t)t * size, *y = x + size, *z = y + size;
            for (size_t k = 0; k < times; k++) {
                for (size_t i = 0; i < size; i++) z[i] = x[i] + 0.5f * y[i];
                __asm__ volatile("" ::: "memory");
            }
        }
        double rate = 12.0 * (double)size * (double)times * threads / (rdk_seconds() - begun) / 1e9;
        if (rate > best) best = rate;
    }
    return best;
}

int main(int argc, char **argv)
{
    enum { FAR = 8 << 20, NEAR = 2 << 10, AGAIN = 4000 }; /* floats an array and thread */
    int threads = argc == 2 ? atoi(argv[1]) : 0;
    if (threads < 1 || threads > 256) {
        fprintf(stderr, "usage: peak THREADS\n");
        return 2;
    }
    rdk_threads_set(threads);
    rdk_status s = {0};
    float *memory = rdk_alloc(3 * (size_t)threads * FAR, sizeof *memory, &s);
    if (!memory) {
        fprintf(stderr, "peak: %s\n", s.message);
        return 1;
    }
    memset(memory, 0, 3 * (size_t)threads * FAR * sizeof *memory);
    printf("%d,%.1f,%.1f,%.1f\n", threads, rdk_speed_peak() / 1e9, triad(threads, FAR, 1, memory),
           triad(threads, NEAR, AGAIN, memory));
    rdk_free(memory);
    return 0;
}
