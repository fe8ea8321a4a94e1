/* SPDX-License-Identifier: MIT
 * How much room pair words take (bf16.h): a left operand, line by line; a right one, in panels.
 *
 * Invariant: all sizes are in words, and each part begins at whole lines of the cache.
 * Read next: gemm_bf16.c. */
#ifndef RDK_PAIR_SCRATCH_H
#define RDK_PAIR_SCRATCH_H

#include "kernels.h"
#include "scratch.h"

enum { LINE_WORDS = 16 };

/* Pairs that k elements make: an odd end is one with 0. */
static inline size_t pairs_of(size_t k)
{
    return k / 2 + k % 2;
}

/* From line to line of a left operand: no multiple of 4096 bytes, at which lines would share one
 * set of the nearest cache. */
static inline size_t left_stride(bool by_column, size_t m, size_t k)
{
    enum { CROWDED_WORDS = 1024 };
    size_t stride = rounded_up(by_column ? m : pairs_of(k), LINE_WORDS);
    return stride % CROWDED_WORDS ? stride : stride + LINE_WORDS;
}

static inline size_t left_size(bool by_column, size_t m, size_t k)
{
    return (by_column ? pairs_of(k) : m) * left_stride(by_column, m, k);
}

static inline size_t right_size(size_t n, size_t k)
{
    return rounded_up(n, WIDEST_PANEL) * pairs_of(k);
}

#endif
