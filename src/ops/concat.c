/* SPDX-License-Identifier: MIT
 * Tensors one behind the other along an axis: y = [x_1, x_2, ..]. Each dx_p += its part of dy. */
#include "shape.h"
#include "table.h"

#include <string.h>

#include <kernels/kernels.h>

static void concat_backward(rdk_tape *t, const rdk_node *n)
{
    const int *axis = n->saved;
    rdk_axis whole, part;
    rdk_axis_of(n->out, *axis, &whole);
    const rdk_real *dy = n->out->grad;
    for (int p = 0; p < n->n_in; p++) {
        rdk_axis_of(n->in[p], *axis, &part);
        const size_t width = part.len * part.inner;
        rdk_real *dx = rdk_grad(t, n->in[p]);
        for (size_t o = 0; o < part.outer && dx; o++) {
            const rdk_real *row = dy + o * whole.len * whole.inner;
            rdk_kernels_get()->axpy(width, 1, row, dx + o * width);
        }
        dy += width;
    }
}

const rdk_op rdk_op_concat = {"concat", "y = [x_1, x_2, ..] along one axis", concat_backward};

static bool same_but(const rdk_tensor *x, const rdk_tensor *y, int axis)
{
    if (x->n_dims != y->n_dims) return false;
    for (int i = 0; i < x->n_dims; i++) {
        if (i != axis && x->dim[i] != y->dim[i]) return false;
    }
    return true;
}

static void copy_part(const rdk_tensor *x, int axis, rdk_real *y, size_t step)
{
    rdk_axis part;
    rdk_axis_of(x, axis, &part);
    const size_t width = part.len * part.inner;
    for (size_t o = 0; o < part.outer && width > 0; o++) {
        memcpy(y + o * step, x->data + o * width, width * sizeof *y);
    }
}

rdk_tensor *rdk_concat(rdk_tape *t, int axis, int n, rdk_tensor *const *parts)
{
    if (!rdk_tape_alive(t)) return NULL;
    if (n < 1 || n > RDK_MAX_INPUTS) {
        return rdk_tape_fail(t, RDK_EVALUE, "concat of %d tensors: 1 to %d are possible", n,
                             RDK_MAX_INPUTS);
    }
    for (int p = 0; p < n; p++) {
        if (!parts[p]) return NULL;
    }
    rdk_axis whole;
    if (!rdk_axis_of(parts[0], axis, &whole)) {
        return rdk_refuse(t, &rdk_op_concat, n, parts, "there is no axis %d", axis);
    }
    size_t dim[RDK_MAX_DIMS];
    memcpy(dim, parts[0]->dim, sizeof dim);
    for (int p = 1; p < n; p++) {
        if (!same_but(parts[0], parts[p], whole.index)) {
            return rdk_refuse(t, &rdk_op_concat, n, parts, "they may differ along axis %d only",
                              axis);
        }
        if (!rdk_size_add(dim[whole.index], parts[p]->dim[whole.index], &dim[whole.index])) {
            return rdk_refuse(t, &rdk_op_concat, n, parts, "the size overflows");
        }
    }
    rdk_tensor *y = rdk_tape_tensor(t, parts[0]->n_dims, dim);
    int *saved = rdk_tape_alloc(t, 1, sizeof *saved);
    if (!y || !saved) return NULL;

    *saved = whole.index;
    size_t offset = 0;
    for (int p = 0; p < n; p++) {
        copy_part(parts[p], whole.index, y->data + offset, dim[whole.index] * whole.inner);
        offset += parts[p]->dim[whole.index] * whole.inner;
    }
    return rdk_tape_record(t, &rdk_op_concat, y, n, parts, saved);
}
