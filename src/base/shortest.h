/* SPDX-License-Identifier: MIT
 * The shortest decimal of a float, without the C library's conversions where that is certain: logs
 * hold hundreds of them a step. */
#ifndef RDK_SHORTEST_H
#define RDK_SHORTEST_H

#include <stdbool.h>
#include <stdint.h>

/* n digits, the last of them not 0, without an end; the value is d1.d2..dn times 10^exponent. */
typedef struct rdk_decimal {
    char digits[20]; /* a double has 17 */
    int n, exponent;
} rdk_decimal;

/* The nearest decimal of the fewest digits that reads back as x. False where doubles do not tell
 * (x too small or large, a power of two, a tie between two decimals, the middle between two
 * floats): then nothing is said. */
bool rdk_shortest_float(float x, rdk_decimal *d);

#endif
