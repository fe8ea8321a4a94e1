/* SPDX-License-Identifier: MIT
 * Random numbers as pure functions of (seed, purpose, step, index, draw): Philox4x32-10.
 *
 * Invariant: there is no generator state, so neither thread count nor interruption can change a
 * number. The layout of the counter decides the bits of every run: never change it.
 *     key     = seed
 *     word 0  = draw                 word 1  = index, low 32 bits
 *     word 2  = step, low 32 bits    word 3  = purpose (8) | index 32..43 (12) | step 32..43 (12)
 * Source: Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", 3.3.
 * Read next: threads.c. */
#include <math.h>

#include <rootdk/base.h>

#include "philox.h"

enum { WORDS = PHILOX_WORDS };

void rdk_philox(const uint32_t c[4], const uint32_t k[2], uint32_t out[4])
{
    uint32_t c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], k0 = k[0], k1 = k[1];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)philox_multiply_0 * c0, p1 = (uint64_t)philox_multiply_1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += philox_weyl_0;
        k1 += philox_weyl_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void rdk_random_counter(rdk_stream s, uint64_t index, uint32_t draw, uint32_t counter[PHILOX_WORDS],
                        uint32_t key[2])
{
    static const uint32_t twelve_bits = 0xFFF;
    uint32_t high_index = (uint32_t)(index >> 32) & twelve_bits;
    uint32_t high_step = (uint32_t)(s.step >> 32) & twelve_bits;
    counter[0] = draw;
    counter[1] = (uint32_t)index;
    counter[2] = (uint32_t)s.step;
    counter[3] = (uint32_t)s.purpose << 24 | high_index << 12 | high_step;
    key[0] = (uint32_t)s.seed;
    key[1] = (uint32_t)(s.seed >> 32);
}

void rdk_random_block(rdk_stream s, uint64_t index, uint32_t draw, uint32_t out[4])
{
    uint32_t counter[PHILOX_WORDS], key[2];
    rdk_random_counter(s, index, draw, counter, key);
    rdk_philox(counter, key, out);
}

rdk_draws rdk_draws_at(rdk_stream s, uint64_t index)
{
    return (rdk_draws){.stream = s, .index = index};
}

uint32_t rdk_draw_u32(rdk_draws *d)
{
    if (d->left == 0) {
        rdk_random_block(d->stream, d->index, d->block++, d->word);
        d->left = WORDS;
    }
    return d->word[WORDS - d->left--];
}

static uint64_t draw_u64(rdk_draws *d)
{
    uint64_t low = rdk_draw_u32(d);
    return low | (uint64_t)rdk_draw_u32(d) << 32;
}

uint64_t rdk_draw_below(rdk_draws *d, uint64_t n)
{
    if (n <= 1) return 0;
    /* 2^64 mod n values are drawn again, so that those kept are a multiple of n. */
    uint64_t refused = (0 - n) % n, x;
    do x = draw_u64(d);
    while (x < refused);
    return x % n;
}

/* The middle of one of 2^52 equal cells: neither 0 nor 1, and exact. */
static double uniform_of(uint64_t bits)
{
    static const double unit = 1.0 / 9007199254740992.0; /* 2^-53 */
    return (double)((bits >> 12) * 2 + 1) * unit;
}

double rdk_draw_uniform(rdk_draws *d)
{
    return uniform_of(draw_u64(d));
}

static const double two_pi = 6.283185307179586476925;

double rdk_draw_normal(rdk_draws *d)
{
    double radius = sqrt(-2.0 * log(rdk_draw_uniform(d)));
    return radius * cos(two_pi * rdk_draw_uniform(d));
}

void rdk_random_normals(rdk_stream s, uint64_t index, uint32_t first, double *x, size_t n)
{
    for (size_t i = 0; i < n; i += 2) {
        uint32_t w[WORDS];
        rdk_random_block(s, index, first + (uint32_t)(i / 2), w);
        double radius = sqrt(-2.0 * log(uniform_of(w[0] | (uint64_t)w[1] << 32)));
        double angle = two_pi * uniform_of(w[2] | (uint64_t)w[3] << 32);
        x[i] = radius * cos(angle);
        if (i + 1 < n) x[i + 1] = radius * sin(angle);
    }
}
