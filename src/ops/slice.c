/* SPDX-License-Identifier: MIT
 * A stretch of one axis: y = x[.., begin .. end-1, ..]. dx += dy there. A stretch in one piece of
 * data that are not the tape's own, as rows of a parameter are, is read where it lies; else y is a
 * copy, since the data of a tape may give way to a gradient (rdk_tape_frugal). */
#include "shape.h"
#include "table.h"

#include <string.h>

#include <kernels/kernels.h>

typedef struct stretch {
    size_t outer, step, offset,
        n; /* elements: per outer row of x, to the stretch, of the stretch */
} stretch;

static void slice_backward(rdk_tape *t, const rdk_node *n)
{
    const stretch *s = n->saved;
    rdk_real *dx = rdk_grad(t, n->in[0]);
    if (!dx) return;
    for (size_t o = 0; o < s->outer; o++) {
        rdk_kernels_get()->axpy(s->n, 1, n->out->grad + o * s->n, dx + o * s->step + s->offset);
    }
}

const rdk_op rdk_op_slice = {"slice", "y = x[.., begin .. end-1, ..]", slice_backward};

static bool is_shared(const rdk_tensor *x, const stretch *s)
{
    const rdk_tensor *root = x->view_of ? x->view_of : x;
    return s->outer == 1 && !root->data_own;
}

/* For y, of these dimensions. */
static rdk_tensor *stretch_of(rdk_tape *t, rdk_tensor *x, const size_t *dim, const stretch *s)
{
    if (!is_shared(x, s)) return rdk_tape_tensor(t, x->n_dims, dim);
    rdk_tensor *y = rdk_tape_alloc(t, 1, sizeof *y);
    if (!y) return NULL;
    *y = (rdk_tensor){.data = x->data + s->offset, .n_dims = x->n_dims};
    memcpy(y->dim, dim, sizeof y->dim);
    return y;
}

static void copy_stretch(const rdk_tensor *x, rdk_tensor *y, const stretch *s)
{
    for (size_t o = 0; o < s->outer && s->n > 0; o++)
        memcpy(y->data + o * s->n, x->data + o * s->step + s->offset, s->n * sizeof *y->data);
}

rdk_tensor *rdk_slice(rdk_tape *t, rdk_tensor *x, int axis, size_t begin, size_t end)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    rdk_axis a;
    if (!rdk_axis_of(x, axis, &a)) {
        return rdk_refuse(t, &rdk_op_slice, 1, &x, "it has no axis %d", axis);
    }
    if (begin > end || end > a.len) {
        return rdk_refuse(t, &rdk_op_slice, 1, &x, "%zu to %zu is no stretch of axis %d (%zu)",
                          begin, end, axis, a.len);
    }
    size_t dim[RDK_MAX_DIMS];
    memcpy(dim, x->dim, sizeof dim);
    dim[a.index] = end - begin;
    stretch *s = rdk_tape_alloc(t, 1, sizeof *s);
    if (!s) return NULL;
    *s = (stretch){a.outer, a.len * a.inner, begin * a.inner, (end - begin) * a.inner};
    rdk_tensor *y = stretch_of(t, x, dim, s);
    if (!y) return NULL;
    if (!is_shared(x, s)) copy_stretch(x, y, s);
    return rdk_tape_record(t, &rdk_op_slice, y, 1, &x, s);
}
