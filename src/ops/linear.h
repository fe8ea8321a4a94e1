/* SPDX-License-Identifier: MIT
 * What the linear layers share. */
#ifndef RDK_OPS_LINEAR_H
#define RDK_OPS_LINEAR_H

#include <rootdk/ops.h>

/* Do x, w and b, the first of in, fit each other? If not the tape has failed. */
bool rdk_linear_fits(rdk_tape *t, const rdk_op *op, int n_in, rdk_tensor *const *in);
/* h = r + (x W^T + b); b and r may be NULL. h: [rows of x, out] */
void rdk_linear_forward(rdk_tape *t, const rdk_tensor *x, const rdk_tensor *w, const rdk_tensor *b,
                        const rdk_tensor *r, rdk_real *h);
/* dW += dh^T x and db += sum over rows of dh, of a node whose second and third inputs these are. */
void rdk_linear_weight_backward(rdk_tape *t, const rdk_node *n, const rdk_tensor *x,
                                const rdk_real *dh);
/* W as it was laid out for products with x, or with dh; NULL where it was not. */
const void *rdk_panels_of(const rdk_tape *t, const rdk_tensor *w, bool with_x);

#endif
