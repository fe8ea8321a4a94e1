/* SPDX-License-Identifier: MIT
 * The linear layer; the same added to something, the end of a residual branch; and with a function
 * of each element behind it:
 *     y = x W^T + b        y = r + (x W^T + b)        y = f(h), h = x W^T + b
 *     x: [.., in], w: [out, in], b: [out] or NULL, r: [.., out] -> y: [.., out]
 *     dh = dy f'(h)      dx += dh W      dW += dh^T x      db += sum over rows of dh      dr += dy
 * Products are of the tape's precision: with bf16 x, W and dh are rounded where they enter one.
 * b and r are added where the product leaves its registers. h is no tensor of the tape: f'(h) takes
 * its place in the pass that computes y, which shares the exponential, and in backward dh that of
 * f'(h). */
#include "linear.h"
#include "product.h"
#include "shape.h"
#include "table.h"

#include <string.h>

#include <kernels/kernels.h>

typedef struct linear_map_saved {
    rdk_map f;
    bool slopes;    /* what is kept is f'(h); else h */
    rdk_real *kept; /* [rows, out] */
} linear_map_saved;

const void *rdk_panels_of(const rdk_tape *t, const rdk_tensor *w, bool with_x)
{
    const rdk_packing *p = w->packing;
    if (!p || !p->current || p->precision != rdk_tape_precision(t)) return NULL;
    if (p->precision == RDK_FLOAT) return with_x ? p->panels : NULL;
    return with_x ? p->pairs_t : p->pairs;
}

static void dx_backward(rdk_tape *t, const rdk_node *n, const rdk_real *dh, bool over_x)
{
    const rdk_tensor *x = n->in[0], *w = n->in[1];
    bool add = false;
    rdk_real *dx = over_x ? rdk_grad_over_data(n->in[0]) : rdk_grad_unless_new(t, n->in[0], &add);
    rdk_product p =
        rdk_dense_product(false, false, rdk_rows(x), rdk_cols(x), w->dim[0], dh, w->data, dx, add);
    p.panels = rdk_panels_of(t, w, false);
    if (dx) rdk_multiply(t, &p);
}

void rdk_linear_weight_backward(rdk_tape *t, const rdk_node *n, const rdk_tensor *x,
                                const rdk_real *dh)
{
    const size_t rows = rdk_rows(x), n_in = rdk_cols(x), n_out = n->in[1]->dim[0];
    bool add;
    rdk_real *dw = rdk_grad_unless_new(t, n->in[1], &add);
    const rdk_product p = rdk_dense_product(true, false, n_out, n_in, rows, dh, x->data, dw, add);
    if (dw) rdk_multiply(t, &p);
    rdk_real *db = rdk_grad(t, n->in[2]);
    if (db) rdk_kernels_get()->sum_rows(rows, n_out, dh, db);
}

/* dx may take the place of x, which dW then reads before. */
static void product_backward(rdk_tape *t, const rdk_node *n, const rdk_real *dh)
{
    const bool over_x = rdk_grad_may_take_data(t, n->in[0]);
    if (!over_x) dx_backward(t, n, dh, false);
    rdk_linear_weight_backward(t, n, n->in[0], dh);
    if (over_x) dx_backward(t, n, dh, true);
}

static void linear_backward(rdk_tape *t, const rdk_node *n)
{
    product_backward(t, n, n->out->grad);
}

const rdk_op rdk_op_linear = {"linear", "y = x W^T + b", linear_backward};

static void linear_add_backward(rdk_tape *t, const rdk_node *n)
{
    product_backward(t, n, n->out->grad);
    rdk_grad_pass_on(t, n, n->in[3]);
}

const rdk_op rdk_op_linear_add = {"linear_add", "y = r + (x W^T + b)", linear_add_backward};

static void linear_map_backward(rdk_tape *t, const rdk_node *n)
{
    const linear_map_saved *s = n->saved;
    const rdk_tensor *y = n->out;
    const rdk_kernels *k = rdk_kernels_get();
    rdk_real *dh = s->kept;
    if (s->slopes)
        k->mul(rdk_size(y), y->grad, s->kept, dh);
    else
        k->map_backward(s->f, rdk_size(y), s->kept, y->data, y->grad, dh, false);
    product_backward(t, n, dh);
}

const rdk_op rdk_op_linear_map = {
    "linear_map",
    "y = f(x W^T + b), f: relu, gelu, gelu_tanh, silu",
    linear_map_backward,
};

enum { INPUTS = 4 }; /* x, w, b, r; the last two may be absent */

bool rdk_linear_fits(rdk_tape *t, const rdk_op *op, int n_in, rdk_tensor *const *in)
{
    const rdk_tensor *x = in[0], *w = in[1], *b = in[2];
    if (!rdk_tape_alive(t) || !x || !w) return false;
    if (x->n_dims < 1)
        rdk_refuse(t, op, n_in, in, "x is a scalar");
    else if (w->n_dims != 2 || w->dim[1] != rdk_cols(x))
        rdk_refuse(t, op, n_in, in, "the weight must be [out, %zu]", rdk_cols(x));
    else if (b && (b->n_dims != 1 || b->dim[0] != w->dim[0]))
        rdk_refuse(t, op, n_in, in, "the bias must be [%zu]", w->dim[0]);
    return rdk_tape_alive(t);
}

/* A tensor for y, where the shapes fit. */
static rdk_tensor *begin(rdk_tape *t, const rdk_op *op, rdk_tensor *const in[INPUTS])
{
    if (!rdk_linear_fits(t, op, INPUTS, in)) return NULL;
    const rdk_tensor *x = in[0], *w = in[1];
    size_t dim[RDK_MAX_DIMS];
    for (int i = 0; i < x->n_dims; i++) dim[i] = x->dim[i];
    dim[x->n_dims - 1] = w->dim[0];
    rdk_tensor *y = rdk_tape_tensor(t, x->n_dims, dim);
    if (y) y->data_unread = true;
    return y;
}

void rdk_linear_forward(rdk_tape *t, const rdk_tensor *x, const rdk_tensor *w, const rdk_tensor *b,
                        const rdk_tensor *r, rdk_real *h)
{
    rdk_product p = rdk_dense_product(false, true, rdk_rows(x), w->dim[0], rdk_cols(x), x->data,
                                      w->data, h, false);
    p.panels = rdk_panels_of(t, w, true);
    if (b) p.bias = b->data;
    if (r) p.residual = r->data;
    rdk_multiply(t, &p);
}

rdk_tensor *rdk_linear(rdk_tape *t, rdk_tensor *x, rdk_tensor *w, rdk_tensor *b)
{
    rdk_tensor *in[INPUTS] = {x, w, b}, *y = begin(t, &rdk_op_linear, in);
    if (!y) return NULL;
    rdk_linear_forward(t, x, w, b, NULL, y->data);
    return rdk_tape_record(t, &rdk_op_linear, y, 3, in, NULL);
}

rdk_tensor *rdk_linear_add(rdk_tape *t, rdk_tensor *x, rdk_tensor *w, rdk_tensor *b, rdk_tensor *r)
{
    rdk_tensor *in[INPUTS] = {x, w, b, r}, *y = begin(t, &rdk_op_linear_add, in);
    if (!y || !r) return NULL;
    if (r->n_dims != y->n_dims || memcmp(r->dim, y->dim, sizeof r->dim[0] * (size_t)r->n_dims) != 0)
        return rdk_refuse(t, &rdk_op_linear_add, INPUTS, in, "r must be [.., %zu], as x W^T is",
                          rdk_cols(y));
    rdk_linear_forward(t, x, w, b, r, y->data);
    return rdk_tape_record(t, &rdk_op_linear_add, y, INPUTS, in, NULL);
}

/* y = f(h), and over h what backward asks for: f'(h). Of relu that is h, since 0 times an infinite
 * dy is not 0. */
static void map_of_layer(linear_map_saved *s, rdk_tensor *y, bool recorded)
{
    const rdk_kernels *k = rdk_kernels_get();
    s->slopes = recorded && s->f != RDK_MAP_RELU;
    y->data_unread = s->slopes;
    if (s->slopes)
        k->map_and_slope(s->f, rdk_size(y), s->kept, y->data, s->kept);
    else
        k->map(s->f, rdk_size(y), s->kept, y->data);
}

rdk_tensor *rdk_linear_map(rdk_tape *t, rdk_tensor *x, rdk_tensor *w, rdk_tensor *b,
                           rdk_activation f)
{
    static const rdk_map map_of[] = {
        [RDK_RELU] = RDK_MAP_RELU,
        [RDK_GELU] = RDK_MAP_GELU,
        [RDK_GELU_TANH] = RDK_MAP_GELU_TANH,
        [RDK_SILU] = RDK_MAP_SILU,
    };
    if ((size_t)f >= sizeof map_of / sizeof *map_of)
        return rdk_tape_fail(t, RDK_EVALUE, "linear_map: there is no activation %d (0 to 3)",
                             (int)f);
    rdk_tensor *in[INPUTS] = {x, w, b}, *y = begin(t, &rdk_op_linear_map, in);
    linear_map_saved *saved = rdk_tape_alloc(t, 1, sizeof *saved);
    if (!y || !saved) return NULL;
    *saved =
        (linear_map_saved){map_of[f], false, rdk_tape_alloc(t, rdk_size(y), sizeof *saved->kept)};
    if (!saved->kept) return NULL;
    rdk_linear_forward(t, x, w, b, NULL, saved->kept);
    map_of_layer(saved, y, rdk_tape_would_record(t, 3, in));
    return rdk_tape_record(t, &rdk_op_linear_map, y, 3, in, saved);
}
