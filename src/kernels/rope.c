/* SPDX-License-Identifier: MIT
 * Rotary positions (Su et al. 2021, section 3.2.2): pairs (x[2m], x[2m + 1]) of every head turned
 * by position * base^(-2m / d).
 *
 * Invariant: angle, cosine and sine are formed in double, once for each (position, m), and applied
 * to all rows and heads at that position.
 * Read next: src/ops/rope.c. */
#include <math.h>

#include "chunks.h"
#include "kernels.h"

enum { PAIRS = 64 }; /* turned together */

/* Pairs of every head of the rows t, t + len, ... by angles position frequency[m]. x, y: at the
 * first of the `pairs` pairs of row 0, head 0. */
static void rope_position(size_t position, size_t t, size_t rows, size_t len, size_t heads,
                          size_t d, size_t pairs, const double *frequency, int sign,
                          const rdk_real *x, rdk_real *y, bool accumulate)
{
    rdk_real cosine[PAIRS], sine[PAIRS];
    for (size_t m = 0; m < pairs; m++) {
        double angle = (double)position * frequency[m];
        cosine[m] = (rdk_real)cos(angle);
        sine[m] = (rdk_real)(sign < 0 ? -sin(angle) : sin(angle));
    }
    for (size_t r = t; r < rows; r += len) {
        for (size_t at = r * heads * d; at < (r + 1) * heads * d; at += d) {
            const rdk_real *from = x + at;
            rdk_real *to = y + at;
            for (size_t m = 0; m < pairs; m++) {
                rdk_real a = from[2 * m], b = from[2 * m + 1];
                rdk_real turned_a = a * cosine[m] - b * sine[m];
                rdk_real turned_b = a * sine[m] + b * cosine[m];
                to[2 * m] = accumulate ? to[2 * m] + turned_a : turned_a;
                to[2 * m + 1] = accumulate ? to[2 * m + 1] + turned_b : turned_b;
            }
        }
    }
}

RDK_SHARED static void rope_positions(size_t begin, size_t end, size_t rows, size_t first,
                                      size_t len, size_t heads, size_t d, size_t pairs,
                                      const double *frequency, int sign, const rdk_real *x,
                                      rdk_real *y, bool accumulate)
{
    for (size_t t = begin; t < end; t++)
        rope_position(first + t, t, rows, len, heads, d, pairs, frequency, sign, x, y, accumulate);
}

static void rope(size_t rows, size_t first, size_t len, size_t heads, size_t d, double base,
                 int sign, const rdk_real *x, rdk_real *y, bool accumulate)
{
    size_t positions = len < rows ? len : rows;
    if (heads == 0) return;
    for (size_t begin = 0; begin < d / 2; begin += PAIRS) {
        size_t pairs = d / 2 - begin < PAIRS ? d / 2 - begin : PAIRS;
        double frequency[PAIRS];
        for (size_t m = 0; m < pairs; m++) {
            frequency[m] = pow(base, -2.0 * (double)(begin + m) / (double)d);
        }
        RDK_SHARE(rows * heads * d >= SERIAL_ELEMENTS, positions, rope_positions, rows, first, len,
                  heads, d, pairs, frequency, sign, x + 2 * begin, y + 2 * begin, accumulate);
    }
}
