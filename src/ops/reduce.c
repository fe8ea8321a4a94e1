/* SPDX-License-Identifier: MIT
 * Sum, mean and maximum over one axis, which goes away.
 *     x: [outer, len, inner] -> y: [outer, inner]
 *     sum: dx += dy      mean: dx += dy / len      max: dx += dy at the first maximum
 *
 * Sums run in double, in index order. */
#include "shape.h"
#include "table.h"

#include <string.h>

/* y for the result without the axis; NULL (and the status) where x has no such axis. */
static rdk_tensor *reduced(rdk_tape *t, const rdk_op *op, rdk_tensor *x, int axis, rdk_axis *a)
{
    if (!rdk_axis_of(x, axis, a)) return rdk_refuse(t, op, 1, &x, "it has no axis %d", axis);
    size_t dim[RDK_MAX_DIMS];
    int n_dims = 0;
    for (int i = 0; i < x->n_dims; i++) {
        if (i != a->index) dim[n_dims++] = x->dim[i];
    }
    return rdk_tape_tensor(t, n_dims, dim);
}

/* ---- sum and mean ---------------------------------------------------------------------------- */

typedef struct sum_saved {
    rdk_axis axis;
    rdk_real factor;
} sum_saved;

static void sum_backward(rdk_tape *t, const rdk_node *n)
{
    const sum_saved *s = n->saved;
    const rdk_axis *a = &s->axis;
    rdk_real *dx = rdk_grad(t, n->in[0]);
    if (!dx) return;
    for (size_t o = 0; o < a->outer; o++) {
        const rdk_real *dy = n->out->grad + o * a->inner;
        for (size_t l = 0; l < a->len; l++) {
            rdk_real *row = dx + (o * a->len + l) * a->inner;
            for (size_t i = 0; i < a->inner; i++) row[i] += s->factor * dy[i];
        }
    }
}

const rdk_op rdk_op_sum = {"sum", "y = sum of x over one axis", sum_backward};
const rdk_op rdk_op_mean = {"mean", "y = sum of x over one axis / its size", sum_backward};

static rdk_tensor *sum(rdk_tape *t, const rdk_op *op, rdk_tensor *x, int axis)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    rdk_axis a;
    rdk_tensor *y = reduced(t, op, x, axis, &a);
    if (!y) return NULL;
    if (op == &rdk_op_mean && a.len == 0) {
        return rdk_refuse(t, op, 1, &x, "axis %d is empty, there is nothing to average", axis);
    }
    sum_saved *s = rdk_tape_alloc(t, 1, sizeof *s);
    if (!s) return NULL;

    const double divisor = op == &rdk_op_mean ? (double)a.len : 1.0;
    *s = (sum_saved){.axis = a, .factor = (rdk_real)(1.0 / divisor)};
    for (size_t o = 0; o < a.outer; o++) {
        for (size_t i = 0; i < a.inner; i++) {
            const rdk_real *column = x->data + o * a.len * a.inner + i;
            double total = 0;
            for (size_t l = 0; l < a.len; l++) total += (double)column[l * a.inner];
            y->data[o * a.inner + i] = (rdk_real)(total / divisor);
        }
    }
    return rdk_tape_record(t, op, y, 1, &x, s);
}

rdk_tensor *rdk_sum(rdk_tape *t, rdk_tensor *x, int axis)
{
    return sum(t, &rdk_op_sum, x, axis);
}

rdk_tensor *rdk_mean(rdk_tape *t, rdk_tensor *x, int axis)
{
    return sum(t, &rdk_op_mean, x, axis);
}

static rdk_tensor *flat(rdk_tape *t, rdk_tensor *x)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    const size_t size = rdk_size(x);
    return rdk_reshape(t, x, 1, &size);
}

rdk_tensor *rdk_sum_all(rdk_tape *t, rdk_tensor *x)
{
    return rdk_sum(t, flat(t, x), 0);
}

rdk_tensor *rdk_mean_all(rdk_tape *t, rdk_tensor *x)
{
    return rdk_mean(t, flat(t, x), 0);
}

/* ---- max ------------------------------------------------------------------------------------- */

static void max_backward(rdk_tape *t, const rdk_node *n)
{
    const size_t *at = n->saved; /* of the maximum, as an index into x */
    rdk_real *dx = rdk_grad(t, n->in[0]);
    const size_t size = rdk_size(n->out);
    for (size_t i = 0; i < size && dx; i++) dx[at[i]] += n->out->grad[i];
}

const rdk_op rdk_op_max = {"max", "y = largest x along one axis", max_backward};

/* A nan counts as the largest: it must not vanish in a maximum. */
static bool exceeds(rdk_real x, rdk_real best)
{
    const bool x_is_nan = x != x, best_is_nan = best != best;
    return x > best || (x_is_nan && !best_is_nan);
}

rdk_tensor *rdk_max(rdk_tape *t, rdk_tensor *x, int axis)
{
    if (!rdk_tape_alive(t) || !x) return NULL;
    rdk_axis a;
    rdk_tensor *y = reduced(t, &rdk_op_max, x, axis, &a);
    if (!y) return NULL;
    if (a.len == 0) {
        return rdk_refuse(t, &rdk_op_max, 1, &x, "axis %d is empty, there is no largest", axis);
    }
    size_t *at = rdk_tape_alloc(t, rdk_size(y), sizeof *at);
    if (!at) return NULL;
    for (size_t o = 0; o < a.outer; o++) {
        for (size_t i = 0; i < a.inner; i++) {
            size_t best = o * a.len * a.inner + i;
            for (size_t l = 1, j = best + a.inner; l < a.len; l++, j += a.inner) {
                if (exceeds(x->data[j], x->data[best])) best = j;
            }
            at[o * a.inner + i] = best;
            y->data[o * a.inner + i] = x->data[best];
        }
    }
    return rdk_tape_record(t, &rdk_op_max, y, 1, &x, at);
}
