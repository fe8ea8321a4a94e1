/* SPDX-License-Identifier: MIT
 * The products of bfloat16 once more, by the processor's instructions for them: all in which the
 * table avx512bf16 differs from avx512 (isa.c).
 *
 * Invariant: as there, everything included is static.
 * Read next: gemm_bf16.c. */
#include "gemm_bf16.c"

_Static_assert(RDK_BF16_INSTRUCTIONS || !SINGLE, "this is for a processor that has them");

extern const rdk_bf16_kernels rdk_bf16_avx512bf16;
const rdk_bf16_kernels rdk_bf16_avx512bf16 = BF16_KERNELS;
