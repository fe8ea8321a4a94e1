/* SPDX-License-Identifier: MIT
 * Another shape over the same elements: a view. It shares data and gradient with its root, so there
 * is nothing to record and nothing to do in backward. */
#include <rootdk/ops.h>

rdk_tensor *rdk_reshape(rdk_tape *t, rdk_tensor *x, int n_dims, const size_t *dim)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    rdk_tensor *y = rdk_tape_alloc(t, 1, sizeof *y);
    if (!y) return NULL;
    if (!rdk_tape_expect(t, n_dims >= 0 && n_dims <= RDK_MAX_DIMS,
                         "reshape to %d dimensions: 0 to %d are possible", n_dims, RDK_MAX_DIMS)) {
        return NULL;
    }
    *y = (rdk_tensor){.data = x->data, .n_dims = n_dims, .needs_grad = x->needs_grad};
    y->view_of = x->view_of ? x->view_of : x;
    size_t size = 1;
    bool fits = true;
    for (int i = 0; i < n_dims; i++) {
        y->dim[i] = dim[i];
        fits = fits && rdk_size_mul(size, dim[i], &size);
    }
    if (!fits || size != rdk_size(x)) {
        char from[RDK_SHAPE_TEXT], to[RDK_SHAPE_TEXT];
        return rdk_tape_fail(t, RDK_ESHAPE, "reshape of %s to %s: the number of elements differs",
                             rdk_shape_text(x, from), rdk_shape_text(y, to));
    }
    return y;
}
