/* SPDX-License-Identifier: MIT
 * Rotary positions (Su et al. 2021, 3.2.2): each pair (x[2m], x[2m+1]) of a head is turned by the
 * angle position * base^(-2m/d).   x: [B, T, H, d], its positions from `first` on -> y of its
 * shape. A rotation is orthogonal, so the gradient is dy turned back. */
#include "shape.h"
#include "table.h"

#include <math.h>

#include <kernels/kernels.h>

enum { FORWARD = 1, BACK = -1 };

typedef struct rope_saved {
    size_t first;
    double base;
} rope_saved;

static void turn(const rdk_tensor *shape, rope_saved s, int sign, const rdk_real *x, rdk_real *y,
                 bool add)
{
    const size_t len = shape->dim[1], heads = shape->dim[2], d = shape->dim[3];
    rdk_kernels_get()->rope(shape->dim[0] * len, s.first, len, heads, d, s.base, sign, x, y, add);
}

static void rope_backward(rdk_tape *t, const rdk_node *n)
{
    const rope_saved *s = n->saved;
    rdk_real *dx = rdk_grad(t, n->in[0]);
    if (!dx) return;
    turn(n->out, *s, BACK, n->out->grad, dx, true);
}

const rdk_op rdk_op_rope = {"rope", "pairs of x turned by position base^(-2m/d)", rope_backward};

rdk_tensor *rdk_rope(rdk_tape *t, rdk_tensor *x, size_t first, double base)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    if (x->n_dims != 4) return rdk_refuse(t, &rdk_op_rope, 1, &x, "it must be [B, T, H, d]");
    if (x->dim[3] % 2 != 0) {
        return rdk_refuse(t, &rdk_op_rope, 1, &x, "d is turned in pairs, %zu is odd", x->dim[3]);
    }
    if (!(base > 1) || !isfinite(base)) {
        return rdk_tape_fail(t, RDK_EVALUE, "rope with base %g: it must be above 1", base);
    }
    rdk_tensor *y = rdk_tape_tensor(t, x->n_dims, x->dim);
    rope_saved *saved = rdk_tape_alloc(t, 1, sizeof *saved);
    if (!y || !saved) return NULL;
    *saved = (rope_saved){first, base};
    turn(x, *saved, FORWARD, x->data, y->data, false);
    return rdk_tape_record(t, &rdk_op_rope, y, 1, &x, saved);
}
