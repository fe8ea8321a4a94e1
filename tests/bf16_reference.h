/* SPDX-License-Identifier: MIT
 * bfloat16 in plain scalar code. */
#ifndef RDK_TEST_BF16_REFERENCE_H
#define RDK_TEST_BF16_REFERENCE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The nearer of the two bfloat16 about x, by their distances; of two as near the one whose last bit
 * is 0. Beyond the largest the next stands for infinity. Denormals are 0. */
static inline float plain_bf16(float x)
{
    const uint32_t below = bits_of_float(x) & 0xffff0000u, above = below + 0x10000u;
    if (isnan(x)) return x;
    if (fabsf(x) < 0x1p-126f) return copysignf(0, x);
    if (isinf(x)) return x;
    double inner = fabs((double)float_of_bits(below)), outer = fabs((double)float_of_bits(above));
    if (isinf(outer)) outer = 0x1p128;
    double to_inner = fabs((double)x) - inner, to_outer = outer - fabs((double)x);
    bool outwards = to_outer < to_inner || (to_outer == to_inner && (below >> 16 & 1));
    return float_of_bits(outwards ? above : below);
}

#endif
