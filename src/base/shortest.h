/* SPDX-License-Identifier: MIT
 * The shortest decimal of a float, without the C library's conversions where that is certain: logs
 * hold hundreds of them a step. */
#ifndef RDK_SHORTEST_H
#define RDK_SHORTEST_H

#include <stdbool.h>
#include <stdint.h>

/* digits d1 d2 .. dn with d1 d2..dn = n decimal digits (no zero at the end), the value being
 * d1.d2..dn times 10^exponent. */
typedef struct rdk_decimal {
    char digits[20];
    int n, exponent;
} rdk_decimal;

/* The nearest decimal of the fewest digits that reads back as x. False where doubles do not tell
 * (x too small or large, a power of two, a tie between two decimals, the middle between two
 * floats): then nothing is said. */
bool rdk_shortest_float(float x, rdk_decimal *d);

#endif
