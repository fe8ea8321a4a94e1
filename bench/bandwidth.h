/* SPDX-License-Identifier: MIT
 * The measure of bandwidth: y += a x. Two loads and a store for each element, as processors have
 * ports for them; and what is written was read, so no cache fetches more than is counted. */
#ifndef ROOTDK_BENCH_BANDWIDTH_H
#define ROOTDK_BENCH_BANDWIDTH_H

#include <rootdk/rootdk.h>

#include "base/parallel.h"

/* Wider than any register is well: it becomes several. */
typedef float bench_wide __attribute__((vector_size(64)));

/* GB/s, each thread `times` over arrays of its own; memory: [threads, 2, size]. */
static inline double bench_bandwidth(int threads, size_t size, size_t times, bench_wide *memory)
{
    const double moved = 3.0 * sizeof *memory;
    double begun = rdk_seconds();
    RDK_PARALLEL_FOR
    for (int t = 0; t < threads; t++) {
        bench_wide *x = memory + 2 * (size_t)t * size, *y = x + size;
        for (size_t k = 0; k < times; k++) {
            for (size_t i = 0; i < size; i++) y[i] += 0.5f * x[i];
            __asm__ volatile("" ::: "memory");
        }
    }
    return moved * (double)size * (double)times * threads / (rdk_seconds() - begun) / 1e9;
}

#endif
