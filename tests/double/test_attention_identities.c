/* SPDX-License-Identifier: MIT
 * Attention in double: the identities that hold for every input (identity 5 stands in
 * test_attention_plain.c). s: scores after the scale, ds: the gradient there. */
#include "attention_tape.h"

/* ---- a layer from weights -------------------------------------------------------------------- */

enum { B = 2, T = 11, H = 3, D_K = 4, D_MODEL = 6, Q_WIDTH = H * D_K };

typedef enum { PLAIN, LAYER, RMS, L2 } qk_norm;

typedef struct layer {
    rdk_tensor *x, *wq, *wk, *wv, *key_bias, *gain;
    rdk_tensor *q, *k; /* before the norm */
    rdk_tensor *y;
    rdk_attention_row rows[B * H * T];
} layer;

static rdk_tensor *normed(rdk_tape *t, rdk_tensor *x, qk_norm kind, rdk_tensor *gain)
{
    const double eps = 1e-15; /* the identities hold where it vanishes beside the squares */
    if (kind == PLAIN) return x;
    rdk_tensor *heads = rdk_reshape(t, x, 4, DIMS(B, T, H, D_K));
    if (kind == LAYER) heads = rdk_layer_norm(t, heads, gain, NULL, eps);
    if (kind == RMS) heads = rdk_rms_norm(t, heads, gain, eps);
    if (kind == L2) {
        heads = rdk_l2_norm(t, heads, eps);
        if (gain) heads = rdk_mul(t, heads, gain);
    }
    return rdk_reshape(t, heads, 3, DIMS(B, T, Q_WIDTH));
}

typedef struct plan {
    qk_norm norm;
    double scale;
    double wq_factor; /* on W_Q before use */
    double key_shift; /* added to every key */
    bool rotary;
} plan;

static rdk_tensor *turned(rdk_tape *t, rdk_tensor *x, bool rotary)
{
    if (!rotary) return x;
    rdk_tensor *heads = rdk_rope(t, rdk_reshape(t, x, 4, DIMS(B, T, H, D_K)), 0, 100);
    return rdk_reshape(t, heads, 3, DIMS(B, T, Q_WIDTH));
}

/* Runs forward and backward; everything stays on the tape. */
static void run(rdk_tape *t, plan p, layer *l)
{
    memset(l, 0, sizeof *l);
    l->x = noise(t, 3, DIMS(B, T, D_MODEL), 10, 1);
    l->wq = noise(t, 2, DIMS(Q_WIDTH, D_MODEL), 11, 0.6);
    for (size_t i = 0; i < rdk_size(l->wq); i++) l->wq->data[i] *= p.wq_factor;
    l->wk = noise(t, 2, DIMS(Q_WIDTH, D_MODEL), 12, 0.6);
    l->wv = noise(t, 2, DIMS(Q_WIDTH, D_MODEL), 13, 0.6);
    l->key_bias = rdk_tape_leaf(t, 1, DIMS(Q_WIDTH), NULL, true);
    for (int i = 0; i < Q_WIDTH; i++) l->key_bias->data[i] = p.key_shift * (1 + 0.3 * i);
    l->gain = noise(t, 1, DIMS(D_K), 14, 1);
    l->q = rdk_linear(t, l->x, l->wq, NULL);
    l->k = rdk_linear(t, l->x, l->wk, l->key_bias);
    const rdk_attention_args args = {
        .n_heads = H, .scale = p.scale, .causal = true, .rows = l->rows};
    rdk_tensor *q = turned(t, normed(t, l->q, p.norm, l->gain), p.rotary);
    rdk_tensor *k = turned(t, normed(t, l->k, p.norm, NULL), p.rotary);
    l->y = rdk_attention(t, q, k, rdk_linear(t, l->x, l->wv, NULL), &args);
    const rdk_tensor *dy = noise(t, 3, DIMS(B, T, Q_WIDTH), 15, 1);
    ck_assert_msg(rdk_tape_backward_from(t, l->y, dy->data), "%s", rdk_tape_status(t)->message);
}

/* <W, dW> of the rows of one head */
static double inner(const rdk_tensor *w, int h)
{
    const size_t n = D_K * D_MODEL;
    return dot(w->data + (size_t)h * n, w->grad + (size_t)h * n, n);
}

static double sum_s_ds(const layer *l, int h)
{
    double sum = 0;
    for (int b = 0; b < B; b++) {
        for (int i = 0; i < T; i++) sum += l->rows[(b * H + h) * T + i].s_ds;
    }
    return sum;
}

/* Identity 1, sum_j ds = 0 in each row: then s_ds does not see a constant added to the scores, and
 * neither does the output (identity 6, first part). Keys shifted by u shift s by c q.u. */
START_TEST(shift_of_a_row_of_scores_changes_nothing)
{
    static layer plain_layer, shifted;
    rdk_tape *t = new_tape(), *u = new_tape();
    run(t, (plan){.scale = 0.5, .wq_factor = 1}, &plain_layer);
    run(u, (plan){.scale = 0.5, .wq_factor = 1, .key_shift = 3}, &shifted);
    assert_same("y", shifted.y->data, plain_layer.y->data, rdk_size(plain_layer.y));
    double largest_shift = 0;
    for (int i = 0; i < B * H * T; i++) {
        ck_assert_close(shifted.rows[i].s_ds, plain_layer.rows[i].s_ds, 1e-10, 1);
        largest_shift = fmax(largest_shift, fabs(shifted.rows[i].mean - plain_layer.rows[i].mean));
    }
    ck_assert(largest_shift > 1); /* the scores did move */
    rdk_tape_free(t);
    rdk_tape_free(u);
}
END_TEST

/* Identity 2: <W_Q, dW_Q> = <W_K, dW_K> = sum s ds per head, with and without rotary positions. */
START_TEST(weights_and_their_gradients)
{
    static layer l;
    static const double scales[] = {1, 0.5, 0.25};
    for (int i = 0; i < 6; i++) {
        rdk_tape *t = new_tape();
        run(t, (plan){.scale = scales[i % 3], .wq_factor = 1, .rotary = i >= 3}, &l);
        for (int h = 0; h < H; h++) {
            double want = sum_s_ds(&l, h);
            ck_assert(fabs(want) > 1e-3);
            ck_assert_close(inner(l.wq, h), want, 1e-11, 1);
            ck_assert_close(inner(l.wk, h), want, 1e-11, 1);
        }
        rdk_tape_free(t);
    }
}
END_TEST

/* Identity 3: behind a norm, q.dq = 0 in every row and head, <W, dW> = 0 per head, and the gain
 * takes it all: sum_e g_e dL/dg_e = sum s ds. */
START_TEST(norm_of_q_and_k_removes_the_radial_gradient)
{
    static layer l;
    for (int kind = LAYER; kind <= L2; kind++) {
        rdk_tape *t = new_tape();
        run(t, (plan){.norm = (qk_norm)kind, .scale = 2, .wq_factor = 1, .rotary = true}, &l);
        for (size_t r = 0; r < B * T * H; r++) {
            ck_assert(fabs(dot(l.q->data + r * D_K, l.q->grad + r * D_K, D_K)) < 1e-11);
            ck_assert(fabs(dot(l.k->data + r * D_K, l.k->grad + r * D_K, D_K)) < 1e-11);
        }
        double all = 0, moved = 0;
        for (int h = 0; h < H; h++) {
            ck_assert(fabs(inner(l.wq, h)) < 1e-11);
            ck_assert(fabs(inner(l.wk, h)) < 1e-11);
            all += sum_s_ds(&l, h);
        }
        for (size_t i = 0; i < rdk_size(l.wq); i++) moved = fmax(moved, fabs(l.wq->grad[i]));
        ck_assert(moved > 1e-3); /* the gradient itself is there */
        ck_assert_close(dot(l.gain->data, l.gain->grad, D_K), all, 1e-11, 1);
        rdk_tape_free(t);
    }
}
END_TEST

/* Identity 4: sum_j dk_j = 0 per sequence and head, so a bias on the keys gets no gradient. It does
 * not hold with rotary positions, nor behind a norm. */
START_TEST(bias_on_keys_gets_no_gradient)
{
    static layer l;
    for (int i = 0; i < 3; i++) {
        rdk_tape *t = new_tape();
        const plan p = {
            .scale = 0.7, .wq_factor = 1, .norm = i == 1 ? RMS : PLAIN, .rotary = i == 2};
        run(t, p, &l);
        double largest = 0;
        for (int e = 0; e < Q_WIDTH; e++) largest = fmax(largest, fabs(l.key_bias->grad[e]));
        ck_assert(i == 0 ? largest < 1e-13 : largest > 1e-3);
        for (int b = 0; b < B && i == 0; b++) {
            for (int e = 0; e < Q_WIDTH; e++) {
                double sum = 0;
                for (int j = 0; j < T; j++) sum += l.k->grad[(b * T + j) * Q_WIDTH + e];
                ck_assert(fabs(sum) < 1e-13);
            }
        }
        rdk_tape_free(t);
    }
}
END_TEST

/* Identity 6: no scale with W_Q / sqrt(d_k) is the scale 1/sqrt(d_k), and so for 1/d_k. d_k is a
 * power of 4 here, so both factors are powers of 2 and the bits agree. */
START_TEST(scale_moves_into_the_query_weights)
{
    static layer scaled, folded;
    static const double factors[] = {0.5, 0.25}; /* 1/sqrt(4), 1/4 */
    for (int i = 0; i < 2; i++) {
        const double c = factors[i];
        rdk_tape *t = new_tape(), *u = new_tape();
        run(t, (plan){.scale = c, .wq_factor = 1}, &scaled);
        run(u, (plan){.scale = 1, .wq_factor = c}, &folded);
        for (size_t e = 0; e < rdk_size(scaled.y); e++) {
            ck_assert(scaled.y->data[e] == folded.y->data[e]);
        }
        for (size_t e = 0; e < rdk_size(scaled.wq); e++) {
            ck_assert_close(folded.wq->grad[e] * c, scaled.wq->grad[e], 1e-12, 1e-2);
            ck_assert_close(folded.wk->grad[e], scaled.wk->grad[e], 1e-12, 1e-2);
        }
        rdk_tape_free(t);
        rdk_tape_free(u);
    }
}
END_TEST

/* Behind a norm the length of q and k is without effect: W_Q times anything gives the same y. */
START_TEST(norm_of_q_ignores_the_length_of_its_weights)
{
    static layer one, ten;
    for (int kind = LAYER; kind <= L2; kind++) {
        rdk_tape *t = new_tape(), *u = new_tape();
        run(t, (plan){.norm = (qk_norm)kind, .scale = 1, .wq_factor = 1}, &one);
        run(u, (plan){.norm = (qk_norm)kind, .scale = 1, .wq_factor = 10}, &ten);
        assert_same("y", ten.y->data, one.y->data, rdk_size(one.y));
        rdk_tape_free(t);
        rdk_tape_free(u);
    }
}
END_TEST

RDK_TEST_MAIN("attention: identities", {
    ADD(shift_of_a_row_of_scores_changes_nothing);
    ADD(weights_and_their_gradients);
    ADD(norm_of_q_and_k_removes_the_radial_gradient);
    ADD(bias_on_keys_gets_no_gradient);
    ADD(scale_moves_into_the_query_weights);
    ADD(norm_of_q_ignores_the_length_of_its_weights);
})
