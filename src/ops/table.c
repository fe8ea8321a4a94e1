/* SPDX-License-Identifier: MIT
 * All ops in the order of the catalogue (rootdk/ops.h).
 * Read next: softmax.c, the shortest op. */
#include "table.h"

static const rdk_op *const ops[] = {
    &rdk_op_matmul,
    &rdk_op_linear,
    &rdk_op_linear_add,
    &rdk_op_linear_map,
    &rdk_op_linear_last,
    &rdk_op_spectral_scale,
    &rdk_op_add,
    &rdk_op_sub,
    &rdk_op_mul,
    &rdk_op_div,
    &rdk_op_scale,
    &rdk_op_exp,
    &rdk_op_log,
    &rdk_op_tanh,
    &rdk_op_erf,
    &rdk_op_relu,
    &rdk_op_gelu,
    &rdk_op_gelu_tanh,
    &rdk_op_silu,
    &rdk_op_softmax,
    &rdk_op_log_softmax,
    &rdk_op_layer_norm,
    &rdk_op_rms_norm,
    &rdk_op_l2_norm,
    &rdk_op_transpose,
    &rdk_op_slice,
    &rdk_op_concat,
    &rdk_op_sum,
    &rdk_op_mean,
    &rdk_op_max,
    &rdk_op_embedding,
    &rdk_op_dropout,
    &rdk_op_rope,
    &rdk_op_attention,
    &rdk_op_additive_attention,
    &rdk_op_cross_entropy,
};

size_t rdk_op_count(void)
{
    return sizeof ops / sizeof ops[0];
}

const rdk_op *rdk_op_at(size_t i)
{
    return i < rdk_op_count() ? ops[i] : NULL;
}
