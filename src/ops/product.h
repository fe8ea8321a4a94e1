/* SPDX-License-Identifier: MIT
 * Products as the tape has them: of operands as they are, or rounded to bfloat16. */
#ifndef RDK_OPS_PRODUCT_H
#define RDK_OPS_PRODUCT_H

#include <kernels/kernels.h>
#include <rootdk/autograd.h>

/* C = op(A) op(B), or C += where accumulate. Without bias and panels, which are of bfloat16 alone:
 * rdk_multiply_bf16. */
void rdk_multiply(rdk_tape *t, const rdk_product *p);
/* Its scratch ends with the call. Without memory the tape has failed and C is as it was. */
void rdk_multiply_bf16(rdk_tape *t, const rdk_product *p);
/* x as it enters a product: its values, or those rounded, on the tape. NULL without memory. */
const rdk_real *rdk_operand(rdk_tape *t, const rdk_tensor *x);

#endif
