/* SPDX-License-Identifier: MIT
 * The constant of every op, for src/ops/table.c and for messages.
 * Adding an op: its file here, its constant below and in table.c, its line in rootdk/ops.h, its row
 * in tests/double/test_ops_gradcheck.c (which fails by name without one).
 * reshape, sum_all and mean_all have none: a view is not recorded, the other two are sum and
 * mean. */
#ifndef RDK_OPS_TABLE_H
#define RDK_OPS_TABLE_H

#include <rootdk/ops.h>

extern const rdk_op rdk_op_matmul, rdk_op_linear, rdk_op_linear_add, rdk_op_linear_map,
    rdk_op_linear_last, rdk_op_spectral_scale;
extern const rdk_op rdk_op_add, rdk_op_sub, rdk_op_mul, rdk_op_div;
extern const rdk_op rdk_op_scale;
extern const rdk_op rdk_op_exp, rdk_op_log, rdk_op_tanh, rdk_op_erf, rdk_op_relu, rdk_op_gelu,
    rdk_op_gelu_tanh, rdk_op_silu;
extern const rdk_op rdk_op_softmax, rdk_op_log_softmax;
extern const rdk_op rdk_op_layer_norm, rdk_op_rms_norm, rdk_op_l2_norm;
extern const rdk_op rdk_op_transpose, rdk_op_slice, rdk_op_concat;
extern const rdk_op rdk_op_sum, rdk_op_mean, rdk_op_max;
extern const rdk_op rdk_op_embedding, rdk_op_dropout, rdk_op_rope, rdk_op_attention,
    rdk_op_additive_attention;
extern const rdk_op rdk_op_cross_entropy;

#endif
