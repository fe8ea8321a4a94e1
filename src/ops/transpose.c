/* SPDX-License-Identifier: MIT
 * Two axes exchanged, by a copy: every tensor stays contiguous.
 *     x: [outer, a, middle, b, inner] -> y: [outer, b, middle, a, inner],  dx += the same of dy */
#include "shape.h"
#include "table.h"

#include <string.h>

typedef struct swap {
    size_t outer, a, middle, b, inner;
} swap;

/* y[o, j, m, i, :] = x[o, i, m, j, :], or += where add. */
static void exchange(const swap *s, const rdk_real *x, rdk_real *y, bool add)
{
    for (size_t o = 0; o < s->outer; o++) {
        for (size_t j = 0; j < s->b; j++) {
            for (size_t m = 0; m < s->middle; m++) {
                for (size_t i = 0; i < s->a; i++) {
                    const size_t from = ((o * s->a + i) * s->middle + m) * s->b + j;
                    const size_t to = ((o * s->b + j) * s->middle + m) * s->a + i;
                    const rdk_real *source = x + from * s->inner;
                    rdk_real *target = y + to * s->inner;
                    for (size_t e = 0; e < s->inner; e++) {
                        target[e] = add ? target[e] + source[e] : source[e];
                    }
                }
            }
        }
    }
}

static void transpose_backward(rdk_tape *t, const rdk_node *n)
{
    const swap *s = n->saved;
    rdk_real *dx = rdk_grad(t, n->in[0]);
    if (!dx) return;
    const swap back = {s->outer, s->b, s->middle, s->a, s->inner};
    exchange(&back, n->out->grad, dx, true);
}

const rdk_op rdk_op_transpose = {"transpose", "y[.., j, .., i, ..] = x[.., i, .., j, ..]",
                                 transpose_backward};

rdk_tensor *rdk_transpose(rdk_tape *t, rdk_tensor *x, int axis_a, int axis_b)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    rdk_axis first, second;
    if (!rdk_axis_of(x, axis_a, &first) || !rdk_axis_of(x, axis_b, &second)) {
        return rdk_refuse(t, &rdk_op_transpose, 1, &x, "it has no axes %d and %d", axis_a, axis_b);
    }
    if (first.index > second.index) {
        rdk_axis held = first;
        first = second;
        second = held;
    }
    size_t dim[RDK_MAX_DIMS];
    memcpy(dim, x->dim, sizeof dim);
    dim[first.index] = second.len;
    dim[second.index] = first.len;
    rdk_tensor *y = rdk_tape_tensor(t, x->n_dims, dim);
    swap *s = rdk_tape_alloc(t, 1, sizeof *s);
    if (!y || !s) return NULL;

    /* The same axis twice is a plain copy: one of the two counts as 1. */
    const bool same = first.index == second.index;
    *s = (swap){first.outer, same ? 1 : first.len, 1, second.len, second.inner};
    for (int i = first.index + 1; i < second.index; i++) s->middle *= x->dim[i];
    exchange(s, x->data, y->data, false);
    return rdk_tape_record(t, &rdk_op_transpose, y, 1, &x, s);
}
