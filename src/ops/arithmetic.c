/* SPDX-License-Identifier: MIT
 * a + b, a - b, a * b, a / b with broadcasting. One idea: an op is what it does to one run of
 * elements (broadcast.h); equal shapes are a single run, handed to a kernel whole.
 *
 * In a run of n elements an operand advances (step 1) or is repeated (step 0); it may also be
 * repeated from run to run. The gradient of a repeated operand is the sum over its repetitions, in
 * their order and in double, rounded once.
 * Read next: broadcast.h. */
#include "broadcast.h"
#include "shape.h"
#include "table.h"

#include <kernels/kernels.h>

/* Where a gradient goes: dx, or the sums in double that are added to it at the end. Both NULL where
 * none is wanted. */
typedef struct sink {
    rdk_real *dx;
    double *sums;
    size_t step; /* 0: all of a run goes into one element */
} sink;

/* One run at hand. */
typedef struct run {
    size_t n, step_a, step_b;
    const rdk_real *a, *b, *dy;
    rdk_real *y;
    sink da, db;
} run;

typedef void (*run_rule)(const run *r);

/* For x, of whose elements those of y are repetitions. The sums are to be released. */
static sink sink_new(rdk_tape *t, const rdk_tensor *x, rdk_real *dx, const rdk_tensor *y)
{
    size_t size = rdk_size(x);
    if (!dx || size == rdk_size(y)) return (sink){.dx = dx};
    double *sums = rdk_tape_alloc(t, size, sizeof *sums);
    for (size_t i = 0; sums && i < size; i++) sums[i] = 0;
    return (sink){.sums = sums};
}

static sink sink_at(const sink *s, size_t at, size_t step)
{
    return (sink){s->dx ? s->dx + at : NULL, s->sums ? s->sums + at : NULL, step};
}

static void sink_close(const sink *s, const rdk_tensor *x, rdk_real *dx)
{
    size_t size = s->sums ? rdk_size(x) : 0;
    for (size_t i = 0; i < size; i++) dx[i] = (rdk_real)((double)dx[i] + s->sums[i]);
}

static void walk_backward(rdk_tape *t, const rdk_node *n, run_rule rule)
{
    const rdk_tensor *a = n->in[0], *b = n->in[1], *y = n->out;
    rdk_real *da = rdk_grad(t, n->in[0]);
    rdk_real *db = rdk_grad(t, n->in[1]);
    rdk_arena_mark mark = rdk_arena_mark_here(rdk_tape_arena(t));
    const sink to_a = sink_new(t, a, da, y), to_b = sink_new(t, b, db, y);
    rdk_broadcast p;
    rdk_run at;
    rdk_broadcast_plan(a, b, &p);
    for (bool more = rdk_run_first(&p, &at); more; more = rdk_run_next(&p, &at)) {
        const run r = {
            .n = at.n,
            .step_a = at.step_a,
            .step_b = at.step_b,
            .a = a->data + at.a,
            .b = b->data + at.b,
            .y = y->data + at.y,
            .dy = y->grad + at.y,
            .da = sink_at(&to_a, at.a, at.step_a),
            .db = sink_at(&to_b, at.b, at.step_b),
        };
        rule(&r);
    }
    sink_close(&to_a, a, da);
    sink_close(&to_b, b, db);
    rdk_arena_release(rdk_tape_arena(t), mark);
}

static rdk_tensor *walk(rdk_tape *t, const rdk_op *op, run_rule rule, rdk_tensor *a, rdk_tensor *b)
{
    if (!rdk_tape_alive(t) || !a || !b) return NULL;
    rdk_tensor *in[] = {a, b};
    rdk_broadcast p;
    rdk_run at;
    if (!rdk_broadcast_plan(a, b, &p)) {
        return rdk_refuse(t, op, 2, in, "dimensions must be equal or 1, aligned at the last");
    }
    rdk_tensor *y = rdk_tape_tensor(t, p.n_dims, p.dim);
    if (!y) return NULL;
    for (bool more = rdk_run_first(&p, &at); more; more = rdk_run_next(&p, &at)) {
        const run r = {
            .n = at.n,
            .step_a = at.step_a,
            .step_b = at.step_b,
            .a = a->data + at.a,
            .b = b->data + at.b,
            .y = y->data + at.y,
        };
        rule(&r);
    }
    return rdk_tape_record(t, op, y, 2, in, NULL);
}

/* dx += factor dy */
static void deposit(size_t n, rdk_real factor, const rdk_real *dy, const sink *s)
{
    if (s->dx) {
        rdk_kernels_get()->axpy(n, factor, dy, s->dx);
    } else if (s->sums && s->step == 1) {
        for (size_t i = 0; i < n; i++) s->sums[i] += (double)factor * (double)dy[i];
    } else if (s->sums) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += (double)dy[i];
        s->sums[0] += (double)factor * sum;
    }
}

/* ---- add, sub -------------------------------------------------------------------------------- */

static void add_run(const run *r)
{
    if (r->step_a == 1 && r->step_b == 1) {
        rdk_kernels_get()->add(r->n, r->a, r->b, r->y);
        return;
    }
    for (size_t i = 0; i < r->n; i++) r->y[i] = r->a[i * r->step_a] + r->b[i * r->step_b];
}

static void add_run_backward(const run *r)
{
    deposit(r->n, 1, r->dy, &r->da);
    deposit(r->n, 1, r->dy, &r->db);
}

static void add_backward(rdk_tape *t, const rdk_node *n)
{
    size_t size = rdk_size(n->out);
    if (rdk_size(n->in[0]) != size || rdk_size(n->in[1]) != size) {
        walk_backward(t, n, add_run_backward);
        return;
    }
    rdk_grad_add(t, n->in[1], n->out->grad);
    rdk_grad_pass_on(t, n, n->in[0]); /* a residual connection */
}

const rdk_op rdk_op_add = {"add", "y = a + b", add_backward};

rdk_tensor *rdk_add(rdk_tape *t, rdk_tensor *a, rdk_tensor *b)
{
    return walk(t, &rdk_op_add, add_run, a, b);
}

static void sub_run(const run *r)
{
    for (size_t i = 0; i < r->n; i++) r->y[i] = r->a[i * r->step_a] - r->b[i * r->step_b];
}

static void sub_run_backward(const run *r)
{
    deposit(r->n, 1, r->dy, &r->da);
    deposit(r->n, -1, r->dy, &r->db);
}

static void sub_backward(rdk_tape *t, const rdk_node *n)
{
    walk_backward(t, n, sub_run_backward);
}

const rdk_op rdk_op_sub = {"sub", "y = a - b", sub_backward};

rdk_tensor *rdk_sub(rdk_tape *t, rdk_tensor *a, rdk_tensor *b)
{
    return walk(t, &rdk_op_sub, sub_run, a, b);
}

/* ---- mul ------------------------------------------------------------------------------------- */

static void mul_run(const run *r)
{
    const rdk_kernels *k = rdk_kernels_get();
    if (r->step_a == 0) {
        k->scale(r->n, r->a[0], r->b, r->y);
    } else if (r->step_b == 0) {
        k->scale(r->n, r->b[0], r->a, r->y);
    } else {
        k->mul(r->n, r->a, r->b, r->y);
    }
}

/* dx += dy * other */
static void mul_deposit(size_t n, const rdk_real *dy, const rdk_real *other, size_t step_other,
                        const sink *s)
{
    const rdk_kernels *k = rdk_kernels_get();
    if (step_other == 0) {
        deposit(n, other[0], dy, s);
    } else if (s->dx) {
        k->mul_add(n, dy, other, s->dx);
    } else if (s->sums && s->step == 0) {
        s->sums[0] += k->dot(n, dy, other);
    } else if (s->sums) {
        for (size_t i = 0; i < n; i++) s->sums[i] += (double)dy[i] * (double)other[i];
    }
}

static void mul_run_backward(const run *r)
{
    mul_deposit(r->n, r->dy, r->b, r->step_b, &r->da);
    mul_deposit(r->n, r->dy, r->a, r->step_a, &r->db);
}

static void mul_backward(rdk_tape *t, const rdk_node *n)
{
    walk_backward(t, n, mul_run_backward);
}

const rdk_op rdk_op_mul = {"mul", "y = a * b", mul_backward};

rdk_tensor *rdk_mul(rdk_tape *t, rdk_tensor *a, rdk_tensor *b)
{
    rdk_tensor *y = walk(t, &rdk_op_mul, mul_run, a, b);
    if (y) y->data_unread = true;
    return y;
}

/* ---- div ------------------------------------------------------------------------------------- */

static void div_run(const run *r)
{
    for (size_t i = 0; i < r->n; i++) r->y[i] = r->a[i * r->step_a] / r->b[i * r->step_b];
}

/* da += dy / b,  db += -dy y / b */
static void div_run_backward(const run *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const rdk_real g = r->dy[i] / r->b[i * r->step_b];
        if (r->da.dx) r->da.dx[i] += g;
        if (r->db.dx) r->db.dx[i] -= g * r->y[i];
        if (r->da.sums) r->da.sums[i * r->da.step] += (double)g;
        if (r->db.sums) r->db.sums[i * r->db.step] -= (double)(g * r->y[i]);
    }
}

static void div_backward(rdk_tape *t, const rdk_node *n)
{
    walk_backward(t, n, div_run_backward);
}

const rdk_op rdk_op_div = {"div", "y = a / b", div_backward};

rdk_tensor *rdk_div(rdk_tape *t, rdk_tensor *a, rdk_tensor *b)
{
    return walk(t, &rdk_op_div, div_run, a, b);
}
