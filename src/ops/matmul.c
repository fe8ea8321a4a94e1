/* SPDX-License-Identifier: MIT
 * Matrix products, one by one or a batch of them: Y = A B with A = op(a), B = op(b).
 *     a: [.., m, k] (or [.., k, m]), b: [.., k, n] (or [.., n, k]) -> y: [.., m, n]
 *     dA += dY B^T      dB += A^T dY, summed over the batch where b is shared (same for a)
 * All are of the tape's precision: with bf16 a, b and dY are rounded where they enter a product.
 * Where b is shared and a stands as it is, the batch is only more rows of one product. */
#include "product.h"
#include "shape.h"
#include "table.h"

#include <kernels/kernels.h>

/* One product, and how the operands step from one to the next (0: shared). */
typedef struct batched_product {
    bool ta, tb;
    size_t batch, m, n, k, step_a, step_b;
} batched_product;

static size_t rows_of(const rdk_tensor *x)
{
    return x->dim[x->n_dims - 2];
}

static size_t batch_of(const rdk_tensor *x)
{
    size_t batch = 1;
    for (int i = 0; i + 2 < x->n_dims; i++) batch *= x->dim[i];
    return batch;
}

static batched_product plan(const rdk_tensor *a, bool ta, const rdk_tensor *b, bool tb)
{
    batched_product p = {.ta = ta, .tb = tb};
    p.m = ta ? rdk_cols(a) : rows_of(a);
    p.k = ta ? rows_of(a) : rdk_cols(a);
    p.n = tb ? rows_of(b) : rdk_cols(b);
    p.step_a = a->n_dims > 2 ? p.m * p.k : 0;
    p.step_b = b->n_dims > 2 ? p.k * p.n : 0;
    p.batch = batch_of(a->n_dims > 2 ? a : b);
    if (b->n_dims == 2 && !ta) {
        p.m *= p.batch;
        p.batch = 1;
    }
    return p;
}

/* C[m, n] (+)= op(A) op(B), row after row as they are stored. */
static void multiply(rdk_tape *t, bool ta, bool tb, size_t m, size_t n, size_t k, const rdk_real *a,
                     const rdk_real *b, rdk_real *c, bool accumulate)
{
    const rdk_product p = rdk_dense_product(ta, tb, m, n, k, a, b, c, accumulate);
    rdk_multiply(t, &p);
}

static void gradient_of_a(rdk_tape *t, const batched_product *p, const rdk_real *b,
                          const rdk_real *dy, rdk_real *da)
{
    if (p->ta) {
        multiply(t, p->tb, true, p->k, p->m, p->n, b, dy, da, true);
    } else {
        multiply(t, false, !p->tb, p->m, p->k, p->n, dy, b, da, true);
    }
}

static void gradient_of_b(rdk_tape *t, const batched_product *p, const rdk_real *a,
                          const rdk_real *dy, rdk_real *db)
{
    if (p->tb) {
        multiply(t, true, p->ta, p->n, p->k, p->m, dy, a, db, true);
    } else {
        multiply(t, !p->ta, false, p->k, p->n, p->m, a, dy, db, true);
    }
}

static void matmul_backward(rdk_tape *t, const rdk_node *n)
{
    const batched_product *p = n->saved;
    const rdk_tensor *a = n->in[0], *b = n->in[1];
    rdk_real *da = rdk_grad(t, n->in[0]);
    rdk_real *db = rdk_grad(t, n->in[1]);
    for (size_t i = 0; i < p->batch; i++) {
        const rdk_real *dy = n->out->grad + i * p->m * p->n;
        if (da) gradient_of_a(t, p, b->data + i * p->step_b, dy, da + i * p->step_a);
        if (db) gradient_of_b(t, p, a->data + i * p->step_a, dy, db + i * p->step_b);
    }
}

const rdk_op rdk_op_matmul = {"matmul", "y = op(a) op(b), op: as it is or transposed",
                              matmul_backward};

static bool same_batch(const rdk_tensor *a, const rdk_tensor *b)
{
    if (a->n_dims == 2 || b->n_dims == 2) return true;
    if (a->n_dims != b->n_dims) return false;
    for (int i = 0; i + 2 < a->n_dims; i++) {
        if (a->dim[i] != b->dim[i]) return false;
    }
    return true;
}

static bool accept(rdk_tape *t, rdk_tensor *const in[2], bool ta, bool tb)
{
    const rdk_tensor *a = in[0], *b = in[1];
    const rdk_op *op = &rdk_op_matmul;
    if (a->n_dims < 2 || b->n_dims < 2) {
        rdk_refuse(t, op, 2, in, "both need at least two dimensions");
        return false;
    }
    const size_t k_a = ta ? rows_of(a) : rdk_cols(a), k_b = tb ? rdk_cols(b) : rows_of(b);
    if (k_a != k_b) {
        rdk_refuse(t, op, 2, in, "inner sizes %zu%s and %zu%s differ", k_a,
                   ta ? " (a transposed)" : "", k_b, tb ? " (b transposed)" : "");
        return false;
    }
    if (!same_batch(a, b)) {
        rdk_refuse(t, op, 2, in, "leading dimensions must be equal, or absent in one");
        return false;
    }
    return true;
}

rdk_tensor *rdk_matmul(rdk_tape *t, rdk_tensor *a, bool transpose_a, rdk_tensor *b,
                       bool transpose_b)
{
    if (!rdk_tape_alive(t) || !a || !b) return NULL;
    rdk_tensor *in[] = {a, b};
    if (!accept(t, in, transpose_a, transpose_b)) return NULL;

    const rdk_tensor *longer = a->n_dims > 2 ? a : b;
    size_t dim[RDK_MAX_DIMS];
    for (int i = 0; i + 2 < longer->n_dims; i++) dim[i] = longer->dim[i];
    dim[longer->n_dims - 2] = transpose_a ? rdk_cols(a) : rows_of(a);
    dim[longer->n_dims - 1] = transpose_b ? rows_of(b) : rdk_cols(b);
    rdk_tensor *y = rdk_tape_tensor(t, longer->n_dims, dim);
    batched_product *p = rdk_tape_alloc(t, 1, sizeof *p);
    if (!y || !p) return NULL;

    *p = plan(a, transpose_a, b, transpose_b);
    for (size_t i = 0; i < p->batch; i++)
        multiply(t, p->ta, p->tb, p->m, p->n, p->k, a->data + i * p->step_a,
                 b->data + i * p->step_b, y->data + i * p->m * p->n, false);
    return rdk_tape_record(t, &rdk_op_matmul, y, 2, in, p);
}
