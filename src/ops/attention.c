/* SPDX-License-Identifier: MIT
 * Attention: y = softmax(s) v per head, over the keys that a query may see.
 *     q: [B, n, H d_k], k: [B, T, H d_k], v: [B, T, H d_v] -> y: [B, n, H d_v]
 *     dv_j = sum_i p_ij dy_i,  ds_ij = p_ij (dy_i.v_j - dy_i.y_i)
 * Queries are those of the last n positions, mostly all. The product, s_ij = c q_i.k_j:
 *     dq_i = c sum_j ds_ij k_j,  dk_j = c sum_i ds_ij q_i
 * Additive (Bahdanau et al. 2015), s_ij = c w.t_ij, t_ij = tanh(q_i + k_j), w: [H, d_k]:
 *     dq_i = sum_j x_ij,  dk_j = sum_i x_ij,  x_ij = c ds_ij w (1 - t_ij^2),
 *     dw = c sum_ij ds_ij t_ij
 * With products of bf16 the operands of q.k and of p v are rounded first, and are what backward
 * reads; its gradient passes through the rounding unchanged. p, ds and dy are not rounded. Additive
 * scores form no product of q and k: there v alone is rounded. Scores may be more than that, and a
 * sink may stand beside the keys (rdk_attention_args): gain and sink are then inputs as well. Here
 * shapes and lengths are checked, so that a bad one never reaches the kernel; the kernel streams
 * over keys and keeps two numbers a row. Read next: src/kernels/attention.c. */
#include "product.h"
#include "shape.h"
#include "table.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include <kernels/kernels.h>

/* The inputs of a node, in this order. */
enum { IN_Q, IN_K, IN_V, IN_GAIN, IN_SINK, IN_WEIGHT, INPUTS };

typedef struct attention_saved {
    rdk_attention_shape shape;
    const rdk_real *q, *k, *v;       /* as they enter the products */
    rdk_attention_additive additive; /* shape points here, or nowhere */
    rdk_real *row_max, *row_inv;     /* [B, H, T] */
    rdk_attention_row *rows;         /* the caller's, or NULL */
} attention_saved;

/* For all threads; to be given back by release, so nothing that stays may be made after the
 * mark. */
static rdk_real *scratch(rdk_tape *t, const rdk_attention_shape *s)
{
    const size_t threads = (size_t)rdk_team();
    size_t bytes;
    if (!rdk_size_mul(rdk_attention_scratch(s->len, s->d_k, s->d_v), sizeof(rdk_real), &bytes)) {
        rdk_tape_fail(t, RDK_ENOMEM, "attention over %zu positions: the scratch overflows", s->len);
        return NULL;
    }
    return rdk_tape_alloc(t, threads, bytes);
}

/* of_heads: [B, H], added up over the sequences in order. */
static void add_head_grads(const rdk_attention_shape *s, const double *of_heads, rdk_real *grad)
{
    for (size_t h = 0; h < s->heads && grad; h++) {
        double sum = 0;
        for (size_t b = 0; b < s->batch; b++) sum += of_heads[b * s->heads + h];
        grad[h] += (rdk_real)sum;
    }
}

/* Those of q, k and v. Where two are one tensor, their parts come in any order: added to zeros. */
static rdk_attention_grads grads_of_operands(rdk_tape *t, const rdk_node *n)
{
    rdk_attention_grads to;
    to.dq = rdk_grad_unless_new(t, n->in[IN_Q], &to.add_q);
    to.dk = rdk_grad_unless_new(t, n->in[IN_K], &to.add_k);
    to.dv = rdk_grad_unless_new(t, n->in[IN_V], &to.add_v);
    if (to.dq && !to.add_q && (to.dq == to.dk || to.dq == to.dv)) {
        memset(to.dq, 0, rdk_size(n->in[IN_Q]) * sizeof *to.dq);
        to.add_q = true;
    }
    if (to.dk && !to.add_k && to.dk == to.dv) {
        memset(to.dk, 0, rdk_size(n->in[IN_K]) * sizeof *to.dk);
        to.add_k = true;
    }
    return to;
}

static void attention_backward(rdk_tape *t, const rdk_node *n)
{
    const attention_saved *s = n->saved;
    rdk_attention_shape shape = s->shape;
    rdk_attention_additive additive = s->additive;
    rdk_real *grad[INPUTS] = {NULL};
    rdk_attention_grads to = grads_of_operands(t, n);
    for (int i = IN_GAIN; i < n->n_in; i++) grad[i] = rdk_grad(t, n->in[i]);
    rdk_arena_mark mark = rdk_arena_mark_here(rdk_tape_arena(t));
    const size_t heads = shape.batch * shape.heads;
    if (shape.additive) shape.additive = &additive;
    if ((additive.dw = grad[IN_WEIGHT]))
        additive.parts = rdk_tape_alloc(t, heads, shape.d_k * sizeof *additive.parts);
    if (grad[IN_GAIN] || grad[IN_SINK])
        shape.head_grads = rdk_tape_alloc(t, 2 * heads, sizeof *shape.head_grads);
    rdk_real *work = scratch(t, &shape);
    if (work && rdk_tape_alive(t)) {
        rdk_kernels_get()->attention_backward(&shape, s->q, s->k, s->v, n->out->grad, s->row_max,
                                              s->row_inv, &to, s->rows, work);
        if (shape.head_grads) {
            add_head_grads(&shape, shape.head_grads, grad[IN_GAIN]);
            add_head_grads(&shape, shape.head_grads + heads, grad[IN_SINK]);
        }
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

static bool same_places(const rdk_tensor *x, const rdk_tensor *k)
{
    return x->n_dims == 3 && x->dim[0] == k->dim[0] && x->dim[1] == k->dim[1];
}

static bool last_places(const rdk_tensor *q, const rdk_tensor *k)
{
    return q->n_dims == 3 && q->dim[0] == k->dim[0] && q->dim[1] <= k->dim[1];
}

static bool shapes_fit(rdk_tape *t, const rdk_op *op, rdk_tensor *const in[3], size_t heads)
{
    const rdk_tensor *q = in[0], *k = in[1], *v = in[2];
    if (k->n_dims != 3 || !same_places(v, k) || !last_places(q, k) || k->dim[2] != q->dim[2]) {
        rdk_refuse(t, op, 3, in,
                   "they must be [B, n, H d_k], n <= T, then [B, T, H d_k] and [B, T, H d_v]");
    } else if (heads == 0) {
        rdk_refuse(t, op, 3, in, "0 heads, at least 1 is needed");
    } else if (q->dim[2] % heads != 0 || v->dim[2] % heads != 0) {
        rdk_refuse(t, op, 3, in, "%zu heads do not divide %zu and %zu", heads, q->dim[2],
                   v->dim[2]);
    }
    return rdk_tape_alive(t);
}

static bool weight_fits(rdk_tape *t, rdk_tensor *const in[INPUTS], size_t heads)
{
    rdk_tensor *w = in[IN_WEIGHT];
    size_t d_k = in[IN_Q]->dim[2] / heads;
    char shape[RDK_SHAPE_TEXT];
    if (!w || (w->n_dims == 2 && w->dim[0] == heads && w->dim[1] == d_k)) return true;
    rdk_tape_fail(t, RDK_ESHAPE,
                  "additive_attention with a w of %s: it must be [H, d_k], here [%zu, %zu]",
                  rdk_shape_text(w, shape), heads, d_k);
    return false;
}

static bool is_of_heads(rdk_tape *t, rdk_tensor *x, const char *what, size_t heads)
{
    char shape[RDK_SHAPE_TEXT];
    if (!x || (x->n_dims == 1 && x->dim[0] == heads)) return true;
    rdk_tape_fail(t, RDK_ESHAPE, "attention with a %s of %s: it must be [H], here [%zu]", what,
                  rdk_shape_text(x, shape), heads);
    return false;
}

static bool policy_fits(rdk_tape *t, const rdk_attention_args *args)
{
    bool base_fits =
        args->length_base == 0 || (args->length_base > 1 && isfinite(args->length_base));
    if (!base_fits) {
        rdk_tape_fail(t, RDK_EVALUE, "attention with length_base %g: it must be above 1, or 0",
                      args->length_base);
    } else if (!(args->softcap >= 0 && isfinite(args->softcap))) {
        rdk_tape_fail(t, RDK_EVALUE, "attention with softcap %g: it must be positive, or 0",
                      args->softcap);
    }
    return rdk_tape_alive(t) && is_of_heads(t, args->gain, "gain", args->n_heads) &&
           is_of_heads(t, args->sink, "sink", args->n_heads);
}

static bool values_fit(rdk_tape *t, const rdk_tensor *k, const rdk_attention_args *args)
{
    if (!isfinite(args->scale)) {
        rdk_tape_fail(t, RDK_EVALUE, "attention with scale %g: it must be finite", args->scale);
    } else if (!(args->dropout >= 0 && args->dropout < 1)) {
        rdk_tape_fail(t, RDK_EVALUE, "attention with dropout %g: it must be in 0 <= p < 1",
                      args->dropout);
    }
    for (size_t b = 0; b < k->dim[0] && args->lengths; b++) {
        const int32_t length = args->lengths[b];
        if (length >= 0 && (size_t)length <= k->dim[1]) continue;
        rdk_tape_fail(t, RDK_EVALUE,
                      "attention with length %d of sequence %zu: 0 to %zu are possible",
                      (int)length, b, k->dim[1]);
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
        .len = v->dim[1],
        .first = v->dim[1] - q->dim[1],
        .d_k = q->dim[2] / heads,
        .d_v = v->dim[2] / heads,
        .scale = args->scale,
        .causal = args->causal,
        .gain = args->gain ? args->gain->data : NULL,
        .length_base = args->length_base,
        .softcap = args->softcap,
        .sink = args->sink ? args->sink->data : NULL,
    };
    if (args->dropout > 0 && rdk_tape_dropout_stream(t, &s->shape.stream)) {
        s->shape.dropout = args->dropout;
    }
    size_t rows;
    if (!rdk_size_mul(v->dim[0] * v->dim[1], heads, &rows)) {
        rdk_tape_fail(t, RDK_ENOMEM, "attention: the number of rows overflows");
        return NULL;
    }
    s->row_max = rdk_tape_alloc(t, rows, sizeof *s->row_max);
    s->row_inv = rdk_tape_alloc(t, rows, sizeof *s->row_inv);
    if (!s->row_max || !s->row_inv || !copy_lengths(t, s, args->lengths)) return NULL;
    return s;
}

/* The largest score of each head, of the rows that see a key. */
static void raise_score_max(const attention_saved *s, rdk_real *most)
{
    const rdk_attention_shape *shape = &s->shape;
    for (size_t b = 0; b < shape->batch; b++) {
        size_t len = shape->lengths ? (size_t)shape->lengths[b] : shape->len;
        for (size_t h = 0; h < shape->heads; h++) {
            const rdk_real *row = s->row_max + (b * shape->heads + h) * shape->len;
            for (size_t i = shape->first; i < len; i++)
                if (row[i] > most[h]) most[h] = row[i];
        }
    }
}

/* in: [n_in] of INPUTS, w the last where it is additive. */
static rdk_tensor *attend(rdk_tape *t, const rdk_op *op, int n_in, rdk_tensor *const in[INPUTS],
                          const rdk_attention_args *args)
{
    rdk_tensor *q = in[IN_Q], *k = in[IN_K], *v = in[IN_V], *w = in[IN_WEIGHT];
    if (!shapes_fit(t, op, in, args->n_heads) || !weight_fits(t, in, args->n_heads) ||
        !values_fit(t, k, args) || !policy_fits(t, args))
        return NULL;
    rdk_tensor *y = rdk_tape_tensor(t, 3, (size_t[]){q->dim[0], q->dim[1], v->dim[2]});
    attention_saved *s = save(t, q, v, args);
    if (!y || !s) return NULL;
    y->data_unread = true;
    s->q = w ? q->data : rdk_operand(t, q);
    s->k = w ? k->data : rdk_operand(t, k);
    s->v = rdk_operand(t, v);
    if (w) {
        s->additive.w = w->data;
        s->shape.additive = &s->additive;
    }

    rdk_arena_mark mark = rdk_arena_mark_here(rdk_tape_arena(t));
    rdk_real *work = scratch(t, &s->shape);
    if (work) {
        rdk_kernels_get()->attention(&s->shape, s->q, s->k, s->v, y->data, s->row_max, s->row_inv,
                                     s->rows, work);
    }
    rdk_arena_release(rdk_tape_arena(t), mark);
    if (args->score_max && rdk_tape_alive(t)) raise_score_max(s, args->score_max);
    return rdk_tape_record(t, op, y, n_in, in, s);
}

rdk_tensor *rdk_attention(rdk_tape *t, rdk_tensor *q, rdk_tensor *k, rdk_tensor *v,
                          const rdk_attention_args *args)
{
    if (!rdk_tape_alive(t) || !q || !k || !v) return NULL;
    rdk_tensor *in[INPUTS] = {q, k, v, args->gain, args->sink, NULL};
    return attend(t, &rdk_op_attention, IN_WEIGHT, in, args);
}

rdk_tensor *rdk_additive_attention(rdk_tape *t, rdk_tensor *q, rdk_tensor *k, rdk_tensor *v,
                                   rdk_tensor *w, const rdk_attention_args *args)
{
    if (!rdk_tape_alive(t) || !q || !k || !v || !w) return NULL;
    rdk_tensor *in[INPUTS] = {q, k, v, args->gain, args->sink, w};
    return attend(t, &rdk_op_additive_attention, INPUTS, in, args);
}
