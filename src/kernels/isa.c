/* SPDX-License-Identifier: MIT
 * All kernels for one instruction set, as one constant table (that of AVX-512 once more with other
 * products of bfloat16). Compiled once for each:
 * RDK_VECTOR_BYTES, RDK_ISA_NAME and RDK_ISA_TABLE come from the Makefile.
 *
 * Invariant: everything in the files included here is static, so that the copies do not meet.
 * Read next: select.c, which chooses among the tables. */
#include "kernels.h"

#include "gemm.c"
#include "gemm_bf16.c"
#include "elementwise.c"
#include "rows.c"
#include "norm.c"
#include "embedding.c"
#include "dropout.c"
#include "rope.c"
#include "attention.c"
#include "attention_backward.c"
#include "loss.c"
#include "optim.c"
#include "peak.c"

#define TEXT_OF(name) #name
#define TEXT(name)    TEXT_OF(name)

static const rdk_bf16_kernels bf16_kernels = BF16_KERNELS;

/* What the tables of this file have in common. */
/* clang-format off */
#define KERNELS \
    .gemm = gemm, \
    .linear = linear, \
    .panels = panels, \
    .map = map, \
    .map_backward = map_backward, \
    .map_and_slope = map_and_slope, \
    .add = add, \
    .mul = mul, \
    .mul_add = mul_add, \
    .axpy = axpy, \
    .scale = scale, \
    .sum_rows = sum_rows, \
    .softmax = softmax, \
    .softmax_backward = softmax_backward, \
    .log_softmax = log_softmax, \
    .log_softmax_backward = log_softmax_backward, \
    .norm = norm, \
    .norm_backward = norm_backward, \
    .embedding = embedding, \
    .embedding_backward = embedding_backward, \
    .dropout = dropout, \
    .dropout_backward = dropout_backward, \
    .rope = rope, \
    .attention = attention, \
    .attention_backward = attention_backward, \
    .cross_entropy = cross_entropy, \
    .cross_entropy_backward = cross_entropy_backward, \
    .sum_squares = sum_squares, \
    .dot = dot, \
    .adamw = adamw, \
    .sgd = sgd, \
    .multiply_adds = multiply_adds
/* clang-format on */

extern const rdk_kernels RDK_ISA_TABLE;
const rdk_kernels RDK_ISA_TABLE = {.isa = TEXT(RDK_ISA_NAME), .bf16 = &bf16_kernels, KERNELS};

#if defined(RDK_HAS_avx512bf16) && RDK_VECTOR_BYTES == 64
/* The same functions but for bfloat16's, which isa_bf16.c has by instructions. */
extern const rdk_bf16_kernels rdk_bf16_avx512bf16;
extern const rdk_kernels rdk_kernels_avx512bf16;
const rdk_kernels rdk_kernels_avx512bf16 = {
    .isa = "avx512bf16", .bf16 = &rdk_bf16_avx512bf16, KERNELS};
#endif
