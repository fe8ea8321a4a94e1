/* SPDX-License-Identifier: MIT
 * Philox 4x32-10 (Salmon et al. 2011, section 3.3), for those who compute many blocks at once.
 * Read next: random.c, src/kernels/draws.h. */
#ifndef RDK_PHILOX_H
#define RDK_PHILOX_H

#include <rootdk/base.h>

enum { PHILOX_ROUNDS = 10, PHILOX_WORDS = 4 };
static const uint32_t philox_multiply_0 = 0xD2511F53, philox_multiply_1 = 0xCD9E8D57;
static const uint32_t philox_weyl_0 = 0x9E3779B9, philox_weyl_1 = 0xBB67AE85;

/* Counter and key of the block (index, draw) of a stream. Word 0 of the counter is the draw, word 1
 * the low half of the index. */
void rdk_random_counter(rdk_stream s, uint64_t index, uint32_t draw, uint32_t counter[PHILOX_WORDS],
                        uint32_t key[2]);

#endif
