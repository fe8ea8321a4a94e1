/* SPDX-License-Identifier: MIT
 * Attention in double against a straightforward one that holds the whole T x T matrix, and that
 * one's identity on which backward rests. s: scores after the scale, ds: the gradient there. */
#include "attention_tape.h"

enum { MOST = 4096 }; /* elements of any array here */

/* ---- a straightforward attention ------------------------------------------------------------- */

typedef struct shape {
    size_t b, t, h, d_k, d_v;
    double scale;
    bool causal;
    const int32_t *lengths;
} shape;

/* Everything about one query row of one head. */
typedef struct plain_row {
    size_t n; /* visible keys */
    double s[64], p[64], dp[64], ds[64];
} plain_row;

static size_t visible(const shape *a, size_t b, size_t i)
{
    size_t length = a->lengths ? (size_t)a->lengths[b] : a->t;
    if (i >= length) return 0;
    return a->causal ? i + 1 : length;
}

static plain_row plain(const shape *a, size_t b, size_t h, size_t i, const double *q,
                       const double *k, const double *v, const double *dy)
{
    plain_row r = {.n = visible(a, b, i)};
    const size_t qk = a->h * a->d_k, vo = a->h * a->d_v, first = b * a->t;
    double most = -INFINITY, sum = 0, mean_dp = 0;
    for (size_t j = 0; j < r.n; j++) {
        r.s[j] = a->scale *
                 dot(q + (first + i) * qk + h * a->d_k, k + (first + j) * qk + h * a->d_k, a->d_k);
        r.dp[j] =
            dot(dy + (first + i) * vo + h * a->d_v, v + (first + j) * vo + h * a->d_v, a->d_v);
        most = fmax(most, r.s[j]);
    }
    for (size_t j = 0; j < r.n; j++) sum += r.p[j] = exp(r.s[j] - most);
    for (size_t j = 0; j < r.n; j++) r.p[j] /= sum;
    for (size_t j = 0; j < r.n; j++) mean_dp += r.p[j] * r.dp[j];
    for (size_t j = 0; j < r.n; j++) r.ds[j] = r.p[j] * (r.dp[j] - mean_dp);
    return r;
}

typedef struct result {
    double y[MOST], dq[MOST], dk[MOST], dv[MOST];
} result;

static void plain_attention(const shape *a, const double *q, const double *k, const double *v,
                            const double *dy, result *out)
{
    const size_t qk = a->h * a->d_k, vo = a->h * a->d_v;
    memset(out, 0, sizeof *out);
    for (size_t row = 0; row < a->b * a->h * a->t; row++) {
        const size_t b = row / (a->h * a->t), h = row / a->t % a->h, i = row % a->t;
        const plain_row r = plain(a, b, h, i, q, k, v, dy);
        const size_t at_q = (b * a->t + i) * qk + h * a->d_k,
                     at_y = (b * a->t + i) * vo + h * a->d_v;
        for (size_t j = 0; j < r.n; j++) {
            const size_t at_k = (b * a->t + j) * qk + h * a->d_k;
            const size_t at_v = (b * a->t + j) * vo + h * a->d_v;
            for (size_t e = 0; e < a->d_v; e++) {
                out->y[at_y + e] += r.p[j] * v[at_v + e];
                out->dv[at_v + e] += r.p[j] * dy[at_y + e];
            }
            for (size_t e = 0; e < a->d_k; e++) {
                out->dq[at_q + e] += a->scale * r.ds[j] * k[at_k + e];
                out->dk[at_k + e] += a->scale * r.ds[j] * q[at_q + e];
            }
        }
    }
}

/* ---- against it ------------------------------------------------------------------------------ */

static const int32_t some_lengths[] = {7, 0, 1};
static const int32_t long_lengths[] = {33, 20};
static const shape shapes[] = {
    {1, 1, 1, 1, 1, 1.0, true, NULL},           {3, 7, 2, 5, 3, 0.45, false, NULL},
    {3, 7, 2, 5, 3, 0.45, true, NULL},          {3, 9, 3, 4, 4, 0.5, true, some_lengths},
    {3, 9, 1, 8, 6, 1.0, false, some_lengths},  {2, 33, 1, 16, 9, 1.0, true, NULL},
    {2, 33, 1, 9, 16, 4.0, true, long_lengths}, /* saturated */
    {1, 64, 1, 8, 8, 0.125, false, NULL},
};

static void assert_rows(const shape *a, const rdk_attention_row *rows, rdk_tensor *const in[3],
                        const double *dy)
{
    for (size_t row = 0; row < a->b * a->h * a->t; row++) {
        const plain_row r = plain(a, row / (a->h * a->t), row / a->t % a->h, row % a->t,
                                  in[0]->data, in[1]->data, in[2]->data, dy);
        double sum = 0;
        for (size_t j = 0; j < r.n; j++) sum += r.ds[j];
        ck_assert(fabs(sum) < 1e-13); /* identity 1 holds for the reference as well */
        ck_assert_uint_eq((size_t)rows[row].n, r.n);
        ck_assert_close(rows[row].ds_norm, sqrt(dot(r.ds, r.ds, r.n)), 1e-10, 1e-3);
        ck_assert_close(rows[row].s_ds, dot(r.s, r.ds, r.n), 1e-10, 1e-2);
    }
}

START_TEST(equals_the_straightforward_one)
{
    const shape *a = &shapes[_i];
    rdk_tape *t = new_tape();
    rdk_tensor *in[3] = {noise(t, 3, DIMS(a->b, a->t, a->h * a->d_k), 1, 1),
                         noise(t, 3, DIMS(a->b, a->t, a->h * a->d_k), 2, 1),
                         noise(t, 3, DIMS(a->b, a->t, a->h * a->d_v), 3, 1)};
    const rdk_tensor *dy = noise(t, 3, in[2]->dim, 4, 1);
    rdk_attention_row *rows = rdk_alloc(a->b * a->h * a->t, sizeof *rows, NULL);
    const rdk_attention_args args = {.n_heads = a->h,
                                     .scale = a->scale,
                                     .causal = a->causal,
                                     .lengths = a->lengths,
                                     .rows = rows};
    rdk_tensor *y = rdk_attention(t, in[0], in[1], in[2], &args);
    ck_assert_msg(rdk_tape_backward_from(t, y, dy->data), "%s", rdk_tape_status(t)->message);

    result *want = rdk_alloc(1, sizeof *want, NULL);
    plain_attention(a, in[0]->data, in[1]->data, in[2]->data, dy->data, want);
    assert_same("y", y->data, want->y, rdk_size(y));
    assert_same("dq", in[0]->grad, want->dq, rdk_size(in[0]));
    assert_same("dk", in[1]->grad, want->dk, rdk_size(in[1]));
    assert_same("dv", in[2]->grad, want->dv, rdk_size(in[2]));
    assert_rows(a, rows, in, dy->data);
    rdk_free(want);
    rdk_free(rows);
    rdk_tape_free(t);
}
END_TEST

/* Identity 5: D_i = sum_j p_ij dp_ij = dy_i.y_i, which is why backward needs no T x T array. */
START_TEST(row_of_the_jacobian_from_the_output)
{
    const shape *a = &shapes[3];
    rdk_tape *t = new_tape();
    const rdk_tensor *dy = noise(t, 3, DIMS(a->b, a->t, a->h * a->d_v), 4, 1);
    rdk_tensor *q = noise(t, 3, DIMS(a->b, a->t, a->h * a->d_k), 1, 1);
    rdk_tensor *k = noise(t, 3, q->dim, 2, 1), *v = noise(t, 3, dy->dim, 3, 1);
    const rdk_attention_args args = {
        .n_heads = a->h, .scale = a->scale, .causal = a->causal, .lengths = a->lengths};
    const rdk_tensor *y = rdk_attention(t, q, k, v, &args);
    for (size_t row = 0; row < a->b * a->h * a->t; row++) {
        const size_t b = row / (a->h * a->t), h = row / a->t % a->h, i = row % a->t;
        const plain_row r = plain(a, b, h, i, q->data, k->data, v->data, dy->data);
        const size_t at = (b * a->t + i) * a->h * a->d_v + h * a->d_v;
        ck_assert(fabs(dot(r.p, r.dp, r.n) - dot(dy->data + at, y->data + at, a->d_v)) < 1e-13);
    }
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("attention: plain", {
    ADD_LOOP(equals_the_straightforward_one, sizeof shapes / sizeof shapes[0]);
    ADD(row_of_the_jacobian_from_the_output);
})
