/* SPDX-License-Identifier: MIT
 * One call of the attention kernels with all its arrays, and the same computed plainly: every row's
 * scores in double, softmax, sums.
 * Invariant: the reference reads no hidden key and no row of padding. */
#ifndef RDK_TEST_ATTENTION_CASE_H
#define RDK_TEST_ATTENTION_CASE_H

#include "kernels_support.h"

enum { LONGEST = 320 };

typedef struct attention_case {
    rdk_attention_shape s;
    size_t rows, n_qk, n_v; /* elements of [B, H, T], q, v */
    rdk_real *q, *k, *v, *dout;
    rdk_real *o, *row_max, *row_inv, *dq, *dk, *dv;
    rdk_attention_row *measured; /* or NULL */
    /* of additive scores, or NULL; s.additive is additive[0] */
    rdk_attention_additive *additive;
    rdk_real *w, *dw;
    size_t n_w;
} attention_case;

static inline attention_case case_new(rdk_attention_shape s, double sd)
{
    ck_assert(s.len <= LONGEST);
    attention_case c = {.s = s, .rows = s.batch * s.heads * s.len};
    c.s.additive = NULL;
    c.s.stream = (rdk_stream){7, RDK_FOR_DROPOUT, 3};
    c.n_qk = c.rows * s.d_k, c.n_v = c.rows * s.d_v;
    c.q = normals(c.n_qk, 0, sd, 1), c.k = normals(c.n_qk, 0, sd, 2);
    c.v = normals(c.n_v, 0, 1, 3), c.dout = normals(c.n_v, 0, 1, 4);
    c.o = array(c.n_v), c.row_max = array(c.rows), c.row_inv = array(c.rows);
    c.dq = array(c.n_qk), c.dk = array(c.n_qk), c.dv = array(c.n_v);
    c.s.head_grads = s.gain || s.sink ? calloc(2 * s.batch * s.heads + 1, sizeof(double)) : NULL;
    return c;
}

static inline void case_measure(attention_case *c)
{
    c->measured = calloc(c->rows + 1, sizeof *c->measured);
    ck_assert_ptr_nonnull(c->measured);
}

/* Scores w.tanh(q + k) instead of products. */
static inline void case_additive(attention_case *c)
{
    c->n_w = c->s.heads * c->s.d_k;
    c->w = normals(c->n_w, 0, 1, 5), c->dw = array(c->n_w);
    c->additive = malloc(sizeof *c->additive);
    double *parts = malloc((c->s.batch * c->n_w + 1) * sizeof *parts);
    ck_assert(c->additive && parts);
    for (size_t i = 0; i < c->s.batch * c->n_w; i++) parts[i] = NAN;
    *c->additive = (rdk_attention_additive){c->w, c->dw, parts};
    c->s.additive = c->additive;
}

static inline void case_free(attention_case *c)
{
    if (c->additive) {
        drop(c->w), drop(c->dw);
        free(c->additive->parts), free(c->additive);
    }
    rdk_real *all[] = {c->q,       c->k,       c->v,  c->dout, c->o,
                       c->row_max, c->row_inv, c->dq, c->dk,   c->dv};
    for (size_t i = 0; i < COUNT(all); i++) drop(all[i]);
    free(c->measured);
    free(c->s.head_grads);
}

/* The same operands, results not yet computed. */
static inline attention_case case_copy(const attention_case *from)
{
    attention_case c = case_new(from->s, 1);
    if (c.n_qk)
        memcpy(c.q, from->q, c.n_qk * sizeof *c.q), memcpy(c.k, from->k, c.n_qk * sizeof *c.k);
    if (c.n_v) memcpy(c.v, from->v, c.n_v * sizeof *c.v);
    if (c.n_v) memcpy(c.dout, from->dout, c.n_v * sizeof *c.dout);
    if (from->additive) case_additive(&c), memcpy(c.w, from->w, c.n_w * sizeof *c.w);
    return c;
}

/* Scratch holds what an earlier use may have left there. */
static inline rdk_real *case_scratch(const attention_case *c)
{
    size_t n = rdk_attention_scratch(c->s.len, c->s.d_k, c->s.d_v) * (size_t)rdk_threads();
    rdk_real *p = rdk_alloc(n, sizeof *p, NULL);
    for (size_t i = 0; i < n; i++) p[i] = NAN;
    return p;
}

static inline void case_forward(const rdk_kernels *k, attention_case *c)
{
    rdk_real *scratch = case_scratch(c);
    k->attention(&c->s, c->q, c->k, c->v, c->o, c->row_max, c->row_inv, c->measured, scratch);
    rdk_free(scratch);
}

static inline void case_run(const rdk_kernels *k, attention_case *c)
{
    case_forward(k, c);
    rdk_real *scratch = case_scratch(c);
    const rdk_attention_grads to = {.dq = c->dq, .dk = c->dk, .dv = c->dv};
    for (size_t i = 0; i < c->n_qk; i++) c->dq[i] = c->dk[i] = NAN; /* is overwritten */
    for (size_t i = 0; i < c->n_v; i++) c->dv[i] = NAN;
    k->attention_backward(&c->s, c->q, c->k, c->v, c->dout, c->row_max, c->row_inv, &to,
                          c->measured, scratch);
    rdk_free(scratch);
}

static inline size_t case_length(const attention_case *c, size_t b)
{
    return c->s.lengths ? (size_t)c->s.lengths[b] : c->s.len;
}

static inline size_t at_qk(const attention_case *c, size_t b, size_t h, size_t t)
{
    return ((b * c->s.len + t) * c->s.heads + h) * c->s.d_k;
}

static inline size_t at_v(const attention_case *c, size_t b, size_t h, size_t t)
{
    return ((b * c->s.len + t) * c->s.heads + h) * c->s.d_v;
}

static inline double dot_of(size_t n, const rdk_real *x, const rdk_real *y)
{
    double sum = 0;
    for (size_t j = 0; j < n; j++) sum += (double)x[j] * (double)y[j];
    return sum;
}

/* ---- the plain computation ------------------------------------------------------------------- */

/* One row: c q.k, what it is multiplied with, scores, p before dropout and that of the sink, the
 * factor of dropout, dL/ds. */
typedef struct plain_row {
    size_t n, arg_max;
    double length, factor, sink;
    double x[LONGEST], s[LONGEST], p[LONGEST], keep[LONGEST], ds[LONGEST];
} plain_row;

typedef struct plain_results {
    double *o, *dq, *dk, *dv, *dw;
    double *dgain, *dsink; /* [B, H] */
} plain_results;

/* q.k, or w.tanh(q + k) */
static inline double plain_score(const attention_case *c, size_t b, size_t h, size_t i, size_t j)
{
    const rdk_real *q = c->q + at_qk(c, b, h, i), *k = c->k + at_qk(c, b, h, j);
    double sum = 0;
    if (!c->additive) return dot_of(c->s.d_k, q, k);
    for (size_t e = 0; e < c->s.d_k; e++)
        sum += (double)c->w[h * c->s.d_k + e] * tanh((double)q[e] + (double)k[e]);
    return sum;
}

/* The gradient g at that score to q, k, w. */
static inline void plain_score_backward(const attention_case *c, size_t b, size_t h, size_t i,
                                        size_t j, double g, const plain_results *out)
{
    size_t q = at_qk(c, b, h, i), k = at_qk(c, b, h, j);
    for (size_t e = 0; e < c->s.d_k; e++) {
        double x = (double)c->q[q + e], y = (double)c->k[k + e], slope = 0;
        if (c->additive) slope = (double)c->w[h * c->s.d_k + e] / pow(cosh(x + y), 2);
        out->dq[q + e] += g * (c->additive ? slope : y);
        out->dk[k + e] += g * (c->additive ? slope : x);
        if (c->additive) out->dw[h * c->s.d_k + e] += g * tanh(x + y);
    }
}

static inline void plain_forward(const attention_case *c, size_t b, size_t h, size_t i,
                                 plain_row *r, double *o)
{
    const rdk_attention_shape *s = &c->s;
    size_t row = (b * s->heads + h) * s->len + i;
    double sum = 0;
    r->n = s->causal ? i + 1 : case_length(c, b);
    r->arg_max = 0;
    r->length = s->length_base > 0 ? log((double)r->n) / log(s->length_base) : 1;
    r->factor = r->length * (s->gain ? (double)s->gain[h] : 1);
    r->sink = 0;
    for (size_t j = 0; j < r->n; j++) {
        r->x[j] = s->scale * plain_score(c, b, h, i, j);
        r->s[j] = r->factor * r->x[j];
        if (s->softcap > 0) r->s[j] = s->softcap * tanh(r->s[j] / s->softcap);
        if (r->s[j] > r->s[r->arg_max]) r->arg_max = j;
        uint32_t word[4];
        rdk_random_block(s->stream, row, (uint32_t)(j / 4), word);
        r->keep[j] = (word[j % 4] >= s->dropout * 4294967296.0) / (1 - s->dropout);
    }
    if (s->sink) sum = r->sink = exp((double)s->sink[h] - r->s[r->arg_max]);
    for (size_t j = 0; j < r->n; j++) sum += r->p[j] = exp(r->s[j] - r->s[r->arg_max]);
    r->sink /= sum;
    for (size_t j = 0; j < r->n; j++) {
        r->p[j] /= sum;
        for (size_t e = 0; e < s->d_v; e++)
            o[e] += r->p[j] * r->keep[j] * (double)c->v[at_v(c, b, h, j) + e];
    }
}

static inline void plain_backward(const attention_case *c, size_t b, size_t h, size_t i,
                                  plain_row *r, const plain_results *out)
{
    const rdk_attention_shape *s = &c->s;
    const rdk_real *dout = c->dout + at_v(c, b, h, i);
    double d = 0;
    for (size_t e = 0; e < s->d_v; e++) d += (double)dout[e] * out->o[at_v(c, b, h, i) + e];
    out->dsink[b * s->heads + h] -= r->sink * d;
    for (size_t j = 0; j < r->n; j++) {
        double dp = dot_of(s->d_v, dout, c->v + at_v(c, b, h, j));
        r->ds[j] = r->p[j] * (r->keep[j] * dp - d);
        double dz = r->ds[j];
        if (s->softcap > 0) dz /= pow(cosh(r->factor * r->x[j] / s->softcap), 2);
        out->dgain[b * s->heads + h] += r->length * r->x[j] * dz;
        plain_score_backward(c, b, h, i, j, s->scale * r->factor * dz, out);
        for (size_t e = 0; e < s->d_v; e++)
            out->dv[at_v(c, b, h, j) + e] += r->p[j] * r->keep[j] * (double)dout[e];
    }
}

static inline plain_results plain_new(const attention_case *c)
{
    size_t heads = c->s.batch * c->s.heads + 1;
    return (plain_results){calloc(c->n_v + 1, sizeof(double)),  calloc(c->n_qk + 1, sizeof(double)),
                           calloc(c->n_qk + 1, sizeof(double)), calloc(c->n_v + 1, sizeof(double)),
                           calloc(c->n_w + 1, sizeof(double)),  calloc(heads, sizeof(double)),
                           calloc(heads, sizeof(double))};
}

static inline void plain_free(plain_results *p)
{
    free(p->o), free(p->dq), free(p->dk), free(p->dv), free(p->dw);
    free(p->dgain), free(p->dsink);
}

/* all: [rows] or NULL; what is not visited (padding) has n = 0. */
static inline plain_results plain_run(const attention_case *c, plain_row *all)
{
    plain_results out = plain_new(c);
    for (size_t b = 0; b < c->s.batch; b++) {
        for (size_t h = 0; h < c->s.heads; h++) {
            for (size_t i = 0; i < case_length(c, b); i++) {
                plain_row one, *r = all ? &all[(b * c->s.heads + h) * c->s.len + i] : &one;
                plain_forward(c, b, h, i, r, out.o + at_v(c, b, h, i));
                plain_backward(c, b, h, i, r, &out);
            }
        }
    }
    return out;
}

/* Largest difference relative to the largest element. */
static inline double distance(size_t n, const rdk_real *got, const double *want)
{
    double largest = 1e-30, worst = 0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(want[i]));
    for (size_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - want[i]);
        if (!(error <= worst)) worst = error;
    }
    return worst / largest;
}

/* ---- cases of both kinds of score ------------------------------------------------------------ */

/* A test of both kinds runs for _i in [0, KINDS): every table, with products and with additive
 * scores. It begins with TABLE_AND_KIND(k, additive). */
enum { KINDS = 2 * ISAS };
#define TABLE_AND_KIND(k, additive)                                                                \
    const rdk_kernels *k = rdk_kernels_at(_i % ISAS);                                              \
    const bool additive = _i / ISAS == 1;                                                          \
    if (!k) return

static inline attention_case case_of_kind(rdk_attention_shape s, bool additive)
{
    attention_case c = case_new(s, 1);
    if (additive) case_additive(&c);
    return c;
}

static const int32_t some_lengths[] = {70, 0, 1, 37, 100};

static inline rdk_attention_shape padded_shape(bool causal, double dropout)
{
    return (rdk_attention_shape){.batch = COUNT(some_lengths),
                                 .heads = 2,
                                 .len = 100,
                                 .d_k = 18,
                                 .d_v = 24,
                                 .scale = 0.5,
                                 .causal = causal,
                                 .lengths = some_lengths,
                                 .dropout = dropout};
}

static inline bool same_results(const attention_case *a, const attention_case *b)
{
    return same_bits(a->o, b->o, a->n_v) && same_bits(a->row_max, b->row_max, a->rows) &&
           same_bits(a->row_inv, b->row_inv, a->rows) && same_bits(a->dq, b->dq, a->n_qk) &&
           same_bits(a->dk, b->dk, a->n_qk) && same_bits(a->dv, b->dv, a->n_v) &&
           same_bits(a->dw, b->dw, a->n_w);
}

static inline void check_close(const char *what, const attention_case *c, size_t n,
                               const rdk_real *got, const double *want, double tolerance)
{
    double error = distance(n, got, want);
    ck_assert_msg(error <= tolerance, "%s: error %.3g (T %zu, d_k %zu, d_v %zu, causal %d%s)", what,
                  error, c->s.len, c->s.d_k, c->s.d_v, c->s.causal,
                  c->additive ? ", additive" : "");
}

/* of_o: allowed of o; the sums of backward, which are longer, may have twice to five times that. */
static inline void check_against_plain(const rdk_kernels *k, attention_case *c, double of_o)
{
    case_run(k, c);
    plain_results want = plain_run(c, NULL);
    check_close("o", c, c->n_v, c->o, want.o, of_o);
    check_close("dv", c, c->n_v, c->dv, want.dv, 2 * of_o);
    check_close("dq", c, c->n_qk, c->dq, want.dq, 5 * of_o);
    check_close("dk", c, c->n_qk, c->dk, want.dk, 5 * of_o);
    if (c->additive) check_close("dw", c, c->n_w, c->dw, want.dw, 5 * of_o);
    plain_free(&want);
}

#endif
