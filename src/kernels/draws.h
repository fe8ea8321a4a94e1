/* SPDX-License-Identifier: MIT
 * The words of many random blocks at once, a block in each lane: those of rdk_random_block, bit by
 * bit. Philox is ten rounds of two products of 32 x 32 bits; the processor has those of every other
 * lane as one instruction.
 * Read next: dropout.c. */
#ifndef RDK_DRAWS_H
#define RDK_DRAWS_H

#include <string.h>

#include "base/philox.h"
#include "vector.h"

enum {
    DRAWN = 16, /* blocks at once */
    DRAWN_WORDS = DRAWN * PHILOX_WORDS,
    DRAW_LANES = RDK_VECTOR_BYTES / 4,
};

typedef uint32_t vdraws __attribute__((vector_size(RDK_VECTOR_BYTES)));
typedef uint64_t vproducts __attribute__((vector_size(RDK_VECTOR_BYTES)));

#if RDK_VECTOR_BYTES == 64 && defined(__AVX512F__)
#define MULTIPLY_EVEN(a, b) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#elif RDK_VECTOR_BYTES == 32 && defined(__AVX2__)
#define MULTIPLY_EVEN(a, b) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#elif RDK_VECTOR_BYTES == 16 && defined(__SSE2__)
#define MULTIPLY_EVEN(a, b) _mm_mul_epu32((__m128i)(a), (__m128i)(b))
#else
#define MULTIPLY_EVEN(a, b) (((a)&0xffffffffu) * (b))
#endif

/* The high halves of the products of each lane with m; the low lane of a pair comes first. */
static inline vdraws draws_high(vdraws a, uint32_t m)
{
    const vproducts pairs = (vproducts)a, factor = (vproducts){0} + m;
    const vproducts even = (vproducts)MULTIPLY_EVEN(pairs, factor);
    const vproducts odd = (vproducts)MULTIPLY_EVEN(pairs >> 32, factor);
    return (vdraws)(even >> 32 | (odd & ~(uint64_t)0xffffffffu));
}

/* c: counters in, words out. */
static inline void draws_philox(vdraws c[PHILOX_WORDS], const uint32_t key[2])
{
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        const vdraws high_0 = draws_high(c[0], philox_multiply_0), low_0 = c[0] * philox_multiply_0;
        const vdraws high_1 = draws_high(c[2], philox_multiply_1), low_1 = c[2] * philox_multiply_1;
        c[0] = high_1 ^ c[1] ^ k0;
        c[1] = low_1;
        c[2] = high_0 ^ c[3] ^ k1;
        c[3] = low_0;
        k0 += philox_weyl_0;
        k1 += philox_weyl_1;
    }
}

/* The words of DRAWN blocks in their order: those of the indices from `index` on at this draw, or
 * of this index at the draws from `draw` on. The low half of index or draw does not wrap. */
static void draw_blocks(rdk_stream s, uint64_t index, uint32_t draw, bool along_index,
                        uint32_t word[DRAWN_WORDS])
{
    uint32_t counter[PHILOX_WORDS], key[2];
    rdk_random_counter(s, index, draw, counter, key);
    for (uint32_t first = 0; first < DRAWN; first += DRAW_LANES) {
        vdraws lane, c[PHILOX_WORDS];
        for (uint32_t l = 0; l < DRAW_LANES; l++) lane[l] = first + l;
        for (int w = 0; w < PHILOX_WORDS; w++) c[w] = (vdraws){0} + counter[w];
        c[along_index ? 1 : 0] += lane;
        draws_philox(c, key);
        for (uint32_t l = 0; l < DRAW_LANES; l++)
            for (int w = 0; w < PHILOX_WORDS; w++)
                word[(first + l) * PHILOX_WORDS + (uint32_t)w] = c[w][l];
    }
}

/* An element is kept whose word is at least p 2^32: least, unless it is beyond all words. */
typedef struct drop_rule {
    uint32_t least;
    bool drops_all;
    rdk_real factor; /* on what is kept */
} drop_rule;

static inline drop_rule drop_rule_of(double p)
{
    static const double words = 4294967296.0; /* 2^32 */
    const double least = ceil(p * words);
    const bool all = least >= words;
    return (drop_rule){all ? 0 : (uint32_t)least, all, (rdk_real)(1 / (1 - p))};
}

#endif
