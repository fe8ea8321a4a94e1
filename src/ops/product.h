/* SPDX-License-Identifier: MIT
 * Products as the tape has them: of operands as they are, or rounded to bfloat16. */
#ifndef RDK_OPS_PRODUCT_H
#define RDK_OPS_PRODUCT_H

#include <kernels/kernels.h>
#include <rootdk/autograd.h>

/* Of matrices that are stored row after row: op(A) [m, k], op(B) [k, n], C [m, n]. */
rdk_product rdk_dense_product(bool ta, bool tb, size_t m, size_t n, size_t k, const rdk_real *a,
                              const rdk_real *b, rdk_real *c, bool accumulate);
/* C = residual + (op(A) op(B) + bias), or C += where accumulate, in the tape's precision. Bias,
 * residual, and with floats panels, are for x W^T: not ta, tb, C written. Scratch ends with the
 * call; without memory for it the tape has failed and C is as it was. */
void rdk_multiply(rdk_tape *t, const rdk_product *p);
/* x as it enters a product: its values, or those rounded, on the tape. NULL without memory. */
const rdk_real *rdk_operand(rdk_tape *t, const rdk_tensor *x);

#endif
