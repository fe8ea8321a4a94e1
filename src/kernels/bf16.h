/* SPDX-License-Identifier: MIT
 * bfloat16: the upper half of a float, so its range with 8 bits of precision. Two of them are a
 * pair word: element 2i of a sum in the low half, 2i + 1 in the high half.
 *
 * Invariant: a number is rounded to the nearest, ties to the even one; NaN stays NaN, a denormal
 * becomes 0 of its sign: the same bits in every table. A term of two products is two multiply-adds,
 * the high elements first. A product of two bfloat16 is exact in a float, so it is the same whether
 * they are fused or not, and the same as the processor's instruction has it, which takes denormal
 * sums as 0 (where nothing over- or underflows, then, tables agree bit by bit).
 * Read next: tile_bf16.h. */
#ifndef RDK_BF16_H
#define RDK_BF16_H

#include "vector.h"

#if defined(__AVX512BF16__) && RDK_VECTOR_BYTES == 64 && !defined(RDK_DOUBLE)
#define RDK_BF16_INSTRUCTIONS 1
#include <immintrin.h>
#else
#define RDK_BF16_INSTRUCTIONS 0
#endif

/* As many lanes as a vreal has. */
typedef uint32_t vwords __attribute__((vector_size(LANES * 4)));
typedef int32_t vsigned __attribute__((vector_size(LANES * 4)));
typedef float vsingle __attribute__((vector_size(LANES * 4)));
typedef uint16_t vshorts __attribute__((vector_size(LANES * 2)));

enum { BF16_BITS = 16 };
static const uint32_t bf16_high = 0xffff0000u;

static inline vwords w_load(const uint32_t *p)
{
    vwords v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void w_store(uint32_t *p, vwords v)
{
    memcpy(p, &v, sizeof v);
}

static inline vwords w_set(uint32_t x)
{
    return x | (vwords){0};
}

/* The floats of these bits. */
static inline vreal v_of_bits(vwords bits)
{
    return __builtin_convertvector((vsingle)bits, vreal);
}

/* The rounded numbers in the high halves, the low ones 0. In the double build a number is first
 * rounded to a float. */
static inline vwords v_bf16(vreal x)
{
    static const int32_t infinity = 0x7f800000, least_normal = 0x00800000;
    static const uint32_t quiet = 0x00400000u, all_but_sign = 0x7fffffffu, below_half = 0x7fffu;
    const vwords bits = (vwords) __builtin_convertvector(x, vsingle);
    const vsigned size = (vsigned)(bits & all_but_sign);
    const vwords nan = (vwords)(size > infinity), tiny = (vwords)(size < least_normal);
    vwords rounded = bits + below_half + (bits >> BF16_BITS & 1);
    rounded = (nan & (bits | quiet)) | (~nan & rounded);
    return rounded & bf16_high & ~(tiny & all_but_sign);
}

/* A pair word for each lane. */
static inline vwords v_pairs(vreal low, vreal high)
{
#if RDK_BF16_INSTRUCTIONS
    const vshorts l = (vshorts)_mm512_cvtneps_pbh((__m512)low),
                  h = (vshorts)_mm512_cvtneps_pbh((__m512)high);
    return __builtin_convertvector(l, vwords) | __builtin_convertvector(h, vwords) << BF16_BITS;
#else
    return v_bf16(low) >> BF16_BITS | v_bf16(high);
#endif
}

/* The pair words of 2 LANES numbers that follow one another. */
static inline vwords v_pairs_along(vreal first, vreal then)
{
#if RDK_BF16_INSTRUCTIONS
    return (vwords)_mm512_cvtne2ps_pbh((__m512)then, (__m512)first);
#else
    const vshorts half[2] = {__builtin_convertvector(v_bf16(first) >> BF16_BITS, vshorts),
                             __builtin_convertvector(v_bf16(then) >> BF16_BITS, vshorts)};
    vwords words;
    memcpy(&words, half, sizeof words);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    words = words << BF16_BITS | words >> BF16_BITS;
#endif
    return words;
#endif
}

/* sum + the products of both elements of each lane. */
static inline vreal v_add_products(vreal sum, vwords a, vwords b)
{
#if RDK_BF16_INSTRUCTIONS
    return (vreal)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
#else
    sum += v_of_bits(a & bf16_high) * v_of_bits(b & bf16_high);
    return sum + v_of_bits(a << BF16_BITS) * v_of_bits(b << BF16_BITS);
#endif
}

#endif
