/* SPDX-License-Identifier: MIT
 * Gradients against central differences.
 *
 * The tensor y that the function returns is reduced to L = sum w y with fixed random weights w of
 * size 1/2 to 3/2 and either sign, so that no two errors in y's gradient cancel by symmetry.
 * Invariant: the caller's leaves are untouched; the function sees copies of them.
 * Read next: tests/double/test_ops_gradcheck.c, which runs this over every op. */
#include "tape.h"

#include <math.h>
#include <string.h>

typedef struct check {
    rdk_check_fn f;
    void *context;
    int n_leaves;
    rdk_tensor **leaves; /* copies, with gradients of their own */
    rdk_tape *tape;
    rdk_arena *memory;
    rdk_real *weights; /* of y; NULL until y's size is known */
    size_t size;       /* of y */
    rdk_status *status;
} check;

static void *allocate(check *c, size_t count, size_t size)
{
    void *p = rdk_arena_alloc(c->memory, count, size);
    if (!p) rdk_fail(c->status, RDK_ENOMEM, "no memory for a gradient check");
    return p;
}

static rdk_tensor *copy_leaf(check *c, const rdk_tensor *leaf)
{
    size_t size = rdk_size(leaf);
    rdk_tensor *copy = allocate(c, 1, sizeof *copy);
    if (!copy) return NULL;
    *copy = *leaf;
    copy->view_of = NULL;
    copy->data = allocate(c, size, sizeof *copy->data);
    copy->grad = allocate(c, size, sizeof *copy->grad);
    if (!copy->data || !copy->grad) return NULL;
    if (size > 0) {
        memcpy(copy->data, leaf->data, size * sizeof *copy->data);
        memset(copy->grad, 0, size * sizeof *copy->grad);
    }
    if (!leaf->needs_grad) copy->grad = NULL;
    return copy;
}

static bool draw_weights(check *c, size_t size)
{
    const rdk_stream stream = {.seed = 1, .purpose = RDK_FOR_TEST, .step = 0};
    c->size = size;
    c->weights = allocate(c, size, sizeof *c->weights);
    if (!c->weights) return false;
    for (size_t i = 0; i < size; i++) {
        rdk_draws d = rdk_draws_at(stream, i);
        double sign = rdk_draw_uniform(&d) < 0.5 ? -1.0 : 1.0;
        c->weights[i] = (rdk_real)(sign * (0.5 + rdk_draw_uniform(&d)));
    }
    return true;
}

static rdk_tensor *run(check *c, bool recording)
{
    rdk_tape_reset(c->tape);
    rdk_tape_recording(c->tape, recording);
    rdk_tensor *y = c->f(c->tape, c->leaves, c->context);
    const rdk_status *s = rdk_tape_status(c->tape);
    if (!rdk_ok(s)) rdk_fail(c->status, s->code, "%s", s->message);
    if (!y) rdk_fail(c->status, RDK_EVALUE, "the function under a gradient check returned nothing");
    if (!y || !rdk_ok(s)) return NULL;
    if (!c->weights && !draw_weights(c, rdk_size(y))) return NULL;
    if (rdk_size(y) != c->size) {
        rdk_fail(c->status, RDK_ESHAPE, "the function under a gradient check changed its size");
        return NULL;
    }
    return y;
}

static bool analytic(check *c)
{
    rdk_tensor *y = run(c, true);
    if (!y) return false;
    if (!y->needs_grad) return true; /* independent of the leaves: their gradients are 0 */
    if (rdk_tape_backward_from(c->tape, y, c->weights)) return true;
    const rdk_status *s = rdk_tape_status(c->tape);
    return rdk_fail(c->status, s->code, "%s", s->message);
}

static bool value(check *c, double *sum)
{
    const rdk_tensor *y = run(c, false);
    if (!y) return false;
    *sum = 0;
    for (size_t i = 0; i < c->size; i++) *sum += (double)c->weights[i] * (double)y->data[i];
    return true;
}

/* dL/dx by central differences; the step is what the two arguments really differ by. */
static bool numeric(check *c, rdk_real *x, double h, double *slope)
{
    const rdk_real middle = *x;
    const rdk_real above = (rdk_real)((double)middle + h), below = (rdk_real)((double)middle - h);
    double high, low;
    *x = above;
    bool ok = value(c, &high);
    *x = below;
    ok = ok && value(c, &low);
    *x = middle;
    if (!ok) return false;
    *slope = (high - low) / ((double)above - (double)below);
    return true;
}

static bool compare_leaf(check *c, int leaf, double h, size_t max_elements, rdk_check_result *r)
{
    const double smallest_scale = 1e-8;
    const rdk_tensor *x = c->leaves[leaf];
    const size_t size = rdk_size(x);
    const size_t n = max_elements > 0 && max_elements < size ? max_elements : size;
    double *slope = allocate(c, n, sizeof *slope);
    if (!slope) return false;
    double scale = smallest_scale;
    for (size_t i = 0; i < n; i++) {
        size_t at = i * size / n;
        if (!numeric(c, &x->data[at], h, &slope[i])) return false;
        scale = fmax(scale, fmax(fabs(slope[i]), fabs((double)x->grad[at])));
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = i * size / n;
        double error = fabs((double)x->grad[at] - slope[i]) / scale;
        if (isnan(error)) error = INFINITY;
        if (error <= r->worst_error) continue;
        *r = (rdk_check_result){error, leaf, at, (double)x->grad[at], slope[i]};
    }
    return true;
}

static bool check_all(check *c, rdk_tensor *const *leaves, double h, size_t max_elements,
                      rdk_check_result *result)
{
    c->leaves = allocate(c, (size_t)c->n_leaves, sizeof(rdk_tensor *));
    if (!c->leaves) return false;
    for (int i = 0; i < c->n_leaves; i++) {
        c->leaves[i] = copy_leaf(c, leaves[i]);
        if (!c->leaves[i]) return false;
    }
    if (!analytic(c)) return false;
    for (int i = 0; i < c->n_leaves; i++) {
        if (c->leaves[i]->needs_grad && !compare_leaf(c, i, h, max_elements, result)) return false;
    }
    return true;
}

bool rdk_gradcheck(rdk_check_fn f, void *context, int n_leaves, rdk_tensor *const *leaves, double h,
                   size_t max_elements, rdk_check_result *result, rdk_status *s)
{
    *result = (rdk_check_result){.worst_error = 0};
    check c = {.f = f, .context = context, .n_leaves = n_leaves, .status = s};
    c.tape = rdk_tape_new(s);
    c.memory = rdk_arena_new(s);
    bool ok = c.tape && c.memory && check_all(&c, leaves, h, max_elements, result);
    rdk_tape_free(c.tape);
    rdk_arena_free(c.memory);
    return ok;
}
