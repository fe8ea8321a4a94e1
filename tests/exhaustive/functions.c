/* SPDX-License-Identifier: MIT
 * functions [STRIDE]: every float (or every STRIDE-th) through exp, tanh, erf, the exact GELU and
 * its derivative, on every instruction set that this processor runs, against libm in double. Prints
 * the worst error of each and where it is; ends with 1 where one is beyond its bound.
 *
 * Invariant: no float is left out: the ranges of tests/float_functions.h join and end at infinity,
 * or for GELU of -inf, which is NaN, at the last before it; and NaN is tried with every payload.
 * Read next: tests/float_functions.h, src/kernels/vector.h, src/kernels/erf.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/parallel.h"
#include "float_functions.h"

enum { TABLES_MAX = 8, PIECE_BITS = 18, PIECES_MAX = 1 << (31 - PIECE_BITS) };

typedef struct piece {
    float_error worst[TABLES_MAX];
} piece;

static piece pieces[PIECES_MAX];

/* The ranges are cut where the bits are a multiple of 2^PIECE_BITS, and each piece begins at its
 * first float: with a stride, that is tried too. */
static bool try_range(int tables, const rdk_kernels *const k[], const float_function *f,
                      uint32_t stride)
{
    const uint32_t first = float_first(f), last = float_last(f);
    const size_t begin = first >> PIECE_BITS, end = (last >> PIECE_BITS) + 1;
    RDK_PARALLEL_FOR
    for (size_t p = begin; p < end; p++) {
        uint32_t low = (uint32_t)p << PIECE_BITS, high = low + (1u << PIECE_BITS) - 1;
        pieces[p] = (piece){0};
        float_scan(tables, k, f, low > first ? low : first, high < last ? high : last, stride,
                   pieces[p].worst);
    }
    bool good = true;
    for (int t = 0; t < tables; t++) {
        float_error worst = {0};
        for (size_t p = begin; p < end; p++)
            if (!(pieces[p].worst[t].ulps <= worst.ulps)) worst = pieces[p].worst[t];
        bool within = worst.ulps <= f->bound;
        printf("%-6s %13.9g .. %-13.9g %-7s worst %5.3f ulp at %.9g (bound %.9g)%s\n", f->name,
               (double)from_bits(first | (to_bits(f->last) & 0x80000000u)), (double)f->last,
               k[t]->isa, worst.ulps, (double)worst.at, f->bound, within ? "" : " FAILED");
        good = good && within;
    }
    fflush(stdout);
    return good;
}

/* Every NaN of the float gives NaN. */
static bool try_nan(const rdk_kernels *k, const float_function *f, uint32_t stride)
{
    float x[FLOAT_BLOCK], y[FLOAT_BLOCK];
    const uint64_t least = 0x7f800001u, most = 0x7fffffffu, sign = 0x80000000u;
    size_t lost = 0;
    for (uint64_t at = least; at <= most;) {
        size_t n = 0;
        for (; n + 1 < FLOAT_BLOCK && at <= most; at += stride) {
            x[n++] = from_bits((uint32_t)at);
            x[n++] = from_bits((uint32_t)(at | sign));
        }
        float_apply(k, f, n, x, y);
        for (size_t i = 0; i < n; i++) lost += !isnan(y[i]);
    }
    if (lost) printf("%-6s %s: %zu NaN gave a number FAILED\n", f->name, k->isa, lost);
    return lost == 0;
}

int main(int argc, char **argv)
{
    const rdk_kernels *k[TABLES_MAX];
    int tables = 0;
    long stride = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    if (stride < 1 || stride > 1 << PIECE_BITS) {
        fprintf(stderr, "functions [STRIDE]: a stride is between 1 and %d\n", 1 << PIECE_BITS);
        return 2;
    }
    while (tables < TABLES_MAX && (k[tables] = rdk_kernels_at(tables)) != NULL) tables++;
    bool good = true;
    for (size_t i = 0; i < FLOAT_FUNCTIONS; i++) {
        const float_function *f = float_functions + i;
        good = try_range(tables, k, f, (uint32_t)stride) && good;
        for (int t = 0; t < tables; t++) good = try_nan(k[t], f, (uint32_t)stride) && good;
    }
    puts(good ? "every bound holds" : "a bound does not hold");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
