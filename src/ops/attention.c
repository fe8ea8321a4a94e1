/* SPDX-License-Identifier: MIT
 * Attention: y = softmax(s) v per head, over the keys that a query may see.
 *     q, k: [B, T, H d_k], v: [B, T, H d_v] -> y: [B, T, H d_v]
 *     dv_j = sum_i p_ij dy_i,  ds_ij = p_ij (dy_i.v_j - dy_i.y_i)
 * The product, s_ij = c q_i.k_j:
 *     dq_i = c sum_j ds_ij k_j,  dk_j = c sum_i ds_ij q_i
 * Additive (Bahdanau et al. 2015), s_ij = c w.t_ij, t_ij = tanh(q_i + k_j), w: [H, d_k]:
 *     dq_i = sum_j x_ij,  dk_j = sum_i x_ij,  x_ij = c ds_ij w (1 - t_ij^2),
 *     dw = c sum_ij ds_ij t_ij
 * Here shapes and lengths are checked, so that a bad one never reaches the kernel; the kernel
 * streams over keys and keeps two numbers a row.
 * Read next: src/kernels/attention.c. */
#include "shape.h"
#include "table.h"

#include <math.h>
#include <string.h>

#include <kernels/kernels.h>

typedef struct attention_saved {
    rdk_attention_shape shape;
    rdk_attention_additive additive; /* shape points here, or nowhere */
    rdk_real *row_max, *row_inv;     /* [B, H, T] */
    rdk_attention_row *rows;         /* the caller's, or NULL */
} attention_saved;

/* For all threads; to be given back by release, so nothing that stays may be made after the
 * mark. */
static rdk_real *scratch(rdk_tape *t, const rdk_attention_shape *s)
{
    const size_t threads = (size_t)rdk_threads();
    size_t bytes;
    if (!rdk_size_mul(rdk_attention_scratch(s->len, s->d_k, s->d_v), sizeof(rdk_real), &bytes)) {
        rdk_tape_fail(t, RDK_ENOMEM, "attention over %zu positions: the scratch overflows", s->len);
        return NULL;
    }
    return rdk_tape_alloc(t, threads, bytes);
}

static void attention_backward(rdk_tape *t, const rdk_node *n)
{
    const attention_saved *s = n->saved;
    rdk_attention_shape shape = s->shape;
    rdk_attention_additive additive = s->additive;
    rdk_real *dq = rdk_grad(t, n->in[0]);
    rdk_real *dk = rdk_grad(t, n->in[1]);
    rdk_real *dv = rdk_grad(t, n->in[2]);
    if (shape.additive) {
        additive.dw = rdk_grad(t, n->in[3]);
        shape.additive = &additive;
    }
    rdk_arena_mark mark = rdk_arena_mark_here(rdk_tape_arena(t));
    rdk_real *work = scratch(t, &shape);
    if (additive.dw)
        additive.parts = rdk_tape_alloc(t, shape.batch * shape.heads, shape.d_k * sizeof(double));
    if (rdk_tape_alive(t)) {
        rdk_kernels_get()->attention_backward(&shape, n->in[0]->data, n->in[1]->data,
                                              n->in[2]->data, n->out->grad, s->row_max, s->row_inv,
                                              dq, dk, dv, s->rows, work);
    }
    rdk_arena_release(rdk_tape_arena(t), mark);
}

const rdk_op rdk_op_attention = {
    "attention",
    "y = softmax(c q k^T) v, per head, over visible keys",
    attention_backward,
};

const rdk_op rdk_op_additive_attention = {
    "additive_attention",
    "y = softmax(c w.tanh(q + k)) v, per head, over visible keys",
    attention_backward,
};

static bool same_places(const rdk_tensor *x, const rdk_tensor *q)
{
    return x->n_dims == 3 && x->dim[0] == q->dim[0] && x->dim[1] == q->dim[1];
}

static bool shapes_fit(rdk_tape *t, const rdk_op *op, rdk_tensor *const in[3], size_t heads)
{
    const rdk_tensor *q = in[0], *k = in[1], *v = in[2];
    if (q->n_dims != 3 || !same_places(k, q) || !same_places(v, q) || k->dim[2] != q->dim[2]) {
        rdk_refuse(t, op, 3, in, "they must be [B, T, H d_k], the same, and [B, T, H d_v]");
    } else if (heads == 0) {
        rdk_refuse(t, op, 3, in, "0 heads, at least 1 is needed");
    } else if (q->dim[2] % heads != 0 || v->dim[2] % heads != 0) {
        rdk_refuse(t, op, 3, in, "%zu heads do not divide %zu and %zu", heads, q->dim[2],
                   v->dim[2]);
    }
    return rdk_tape_alive(t);
}

static bool weight_fits(rdk_tape *t, rdk_tensor *const in[4], size_t heads)
{
    const rdk_tensor *q = in[0], *w = in[3];
    if (w->n_dims == 2 && w->dim[0] == heads && w->dim[1] == q->dim[2] / heads) return true;
    rdk_refuse(t, &rdk_op_additive_attention, 4, in, "the last must be [heads, d_k], [%zu, %zu]",
               heads, q->dim[2] / heads);
    return false;
}

static bool values_fit(rdk_tape *t, const rdk_tensor *q, const rdk_attention_args *args)
{
    if (!isfinite(args->scale)) {
        rdk_tape_fail(t, RDK_EVALUE, "attention with scale %g: it must be finite", args->scale);
    } else if (!(args->dropout >= 0 && args->dropout < 1)) {
        rdk_tape_fail(t, RDK_EVALUE, "attention with dropout %g: it must be in 0 <= p < 1",
                      args->dropout);
    }
    for (size_t b = 0; b < q->dim[0] && args->lengths; b++) {
        const int32_t length = args->lengths[b];
        if (length >= 0 && (size_t)length <= q->dim[1]) continue;
        rdk_tape_fail(t, RDK_EVALUE,
                      "attention with length %d of sequence %zu: 0 to %zu are possible",
                      (int)length, b, q->dim[1]);
        break;
    }
    return rdk_tape_alive(t);
}

static bool copy_lengths(rdk_tape *t, attention_saved *s, const int32_t *lengths)
{
    if (!lengths) return true;
    int32_t *copy = rdk_tape_alloc(t, s->shape.batch, sizeof *copy);
    if (!copy) return false;
    if (s->shape.batch > 0) memcpy(copy, lengths, s->shape.batch * sizeof *copy);
    s->shape.lengths = copy;
    return true;
}

/* What backward needs, all of it on the tape; NULL without memory. */
static attention_saved *save(rdk_tape *t, const rdk_tensor *q, const rdk_tensor *v,
                             const rdk_attention_args *args)
{
    attention_saved *s = rdk_tape_alloc(t, 1, sizeof *s);
    if (!s) return NULL;
    const size_t heads = args->n_heads;
    *s = (attention_saved){.rows = args->rows};
    s->shape = (rdk_attention_shape){
        .batch = q->dim[0],
        .heads = heads,
        .len = q->dim[1],
        .d_k = q->dim[2] / heads,
        .d_v = v->dim[2] / heads,
        .scale = args->scale,
        .causal = args->causal,
    };
    if (args->dropout > 0 && rdk_tape_dropout_stream(t, &s->shape.stream)) {
        s->shape.dropout = args->dropout;
    }
    size_t rows;
    if (!rdk_size_mul(q->dim[0] * q->dim[1], heads, &rows)) {
        rdk_tape_fail(t, RDK_ENOMEM, "attention: the number of rows overflows");
        return NULL;
    }
    s->row_max = rdk_tape_alloc(t, rows, sizeof *s->row_max);
    s->row_inv = rdk_tape_alloc(t, rows, sizeof *s->row_inv);
    if (!s->row_max || !s->row_inv || !copy_lengths(t, s, args->lengths)) return NULL;
    return s;
}

/* in: q, k, v; w too where it is additive. */
static rdk_tensor *attend(rdk_tape *t, const rdk_op *op, int n_in, rdk_tensor *const *in,
                          const rdk_attention_args *args)
{
    rdk_tensor *q = in[0], *k = in[1], *v = in[2];
    bool additive = op == &rdk_op_additive_attention;
    if (!shapes_fit(t, op, in, args->n_heads) || !values_fit(t, q, args)) return NULL;
    if (additive && !weight_fits(t, in, args->n_heads)) return NULL;
    rdk_tensor *y = rdk_tape_tensor(t, v->n_dims, v->dim);
    attention_saved *s = save(t, q, v, args);
    if (!y || !s) return NULL;
    if (additive) {
        s->additive.w = in[3]->data;
        s->shape.additive = &s->additive;
    }

    rdk_arena_mark mark = rdk_arena_mark_here(rdk_tape_arena(t));
    rdk_real *work = scratch(t, &s->shape);
    if (work) {
        rdk_kernels_get()->attention(&s->shape, q->data, k->data, v->data, y->data, s->row_max,
                                     s->row_inv, s->rows, work);
    }
    rdk_arena_release(rdk_tape_arena(t), mark);
    return rdk_tape_record(t, op, y, n_in, in, s);
}

rdk_tensor *rdk_attention(rdk_tape *t, rdk_tensor *q, rdk_tensor *k, rdk_tensor *v,
                          const rdk_attention_args *args)
{
    if (!rdk_tape_alive(t) || !q || !k || !v) return NULL;
    return attend(t, &rdk_op_attention, 3, (rdk_tensor *[]){q, k, v}, args);
}

rdk_tensor *rdk_additive_attention(rdk_tape *t, rdk_tensor *q, rdk_tensor *k, rdk_tensor *v,
                                   rdk_tensor *w, const rdk_attention_args *args)
{
    if (!rdk_tape_alive(t) || !q || !k || !v || !w) return NULL;
    return attend(t, &rdk_op_additive_attention, 4, (rdk_tensor *[]){q, k, v, w}, args);
}
