/* SPDX-License-Identifier: MIT
 * The limits of this machine: multiply-adds and memory bandwidth.
 *
 *     peak THREADS      one line of CSV: threads, GFLOP/s (a multiply-add counts as two),
 *                       GB/s of a triad in memory, GB/s in the nearest caches
 *
 * Invariant: every sum reaches the output, so the compiler can drop no work, and the sum of the
 * multiply-adds is compared with its closed form. Compiled for the machine at hand. */
#include "bench.h"

#include <math.h>

#include "base/parallel.h"

#if defined(__AVX512F__)
enum { BYTES = 64, SUMS = 16 };
#elif defined(__AVX__)
enum { BYTES = 32, SUMS = 12 };
#else
enum { BYTES = 16, SUMS = 12 };
#endif
enum { LANES = BYTES / sizeof(float), ROUNDS = 7 };
typedef float vector __attribute__((vector_size(BYTES)));

/* SUMS independent chains x <- x a + b, `n` long, from different beginnings (equal ones a compiler
 * may compute once); for abs(a) < 1 all end at b / (1 - a). */
static double chains(size_t n, float a, float b)
{
    vector sum[SUMS], va = {0}, vb = {0};
    va += a;
    vb += b;
    RDK_UNROLL
    for (int s = 0; s < SUMS; s++) sum[s] = va * (float)s;
    for (size_t i = 0; i < n; i++) {
        RDK_UNROLL
        for (int s = 0; s < SUMS; s++) sum[s] = sum[s] * va + vb;
    }
    double total = 0;
    for (int s = 0; s < SUMS; s++)
        for (int l = 0; l < (int)LANES; l++) total += (double)sum[s][l];
    return total / (SUMS * (double)LANES);
}

static bool multiply_adds(int threads, double *gflops)
{
    const size_t n = 20 * 1000 * 1000;
    const float a = 0.5f, b = 1;
    bool right = true;
    *gflops = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double mean[256], begun = rdk_seconds();
        RDK_PARALLEL_FOR
        for (int t = 0; t < threads; t++) mean[t] = chains(n, a, b);
        double seconds = rdk_seconds() - begun;
        for (int t = 0; t < threads; t++) right = right && fabs(mean[t] - 2) < 1e-5;
        double rate = 2.0 * SUMS * LANES * (double)n * threads / seconds / 1e9;
        if (rate > *gflops) *gflops = rate;
    }
    return right;
}

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
    double gflops;
    bool right = multiply_adds(threads, &gflops);
    printf("%d,%.1f,%.1f,%.1f\n", threads, gflops, triad(threads, FAR, 1, memory),
           triad(threads, NEAR, AGAIN, memory));
    rdk_free(memory);
    if (!right) fprintf(stderr, "peak: the multiply-adds gave a wrong sum\n");
    return right ? 0 : 1;
}
