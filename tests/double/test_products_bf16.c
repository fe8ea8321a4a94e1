/* SPDX-License-Identifier: MIT
 * Products of bfloat16 on the tape, in double: forward and backward are the plain formulas on
 * rounded operands, and gradients pass through the rounding. */
#include "attention_tape.h"
#include "bf16_reference.h"

#include <rootdk/nn.h>

static rdk_tape *tape_of(rdk_precision precision)
{
    rdk_tape *t = new_tape();
    rdk_tape_products(t, precision);
    return t;
}

static double rounded(double x)
{
    return (double)plain_bf16((float)x);
}

/* Rounds x where it lies. */
static rdk_tensor *round_tensor(rdk_tensor *x)
{
    for (size_t i = 0; i < rdk_size(x); i++) x->data[i] = rounded(x->data[i]);
    return x;
}

static double *upstream(size_t n)
{
    double *dy = malloc(n * sizeof *dy);
    rdk_draws d = rdk_draws_at((rdk_stream){.seed = 29, .purpose = RDK_FOR_TEST}, 0);
    for (size_t i = 0; i < n; i++) dy[i] = rdk_draw_normal(&d);
    return dy;
}

/* out[m, n] = the sum over k of a(i, k) b(k, j), both rounded; steps: from row to row and along k,
 * from k to k and along the row. */
static void plain_product(size_t m, size_t n, size_t k, const double *a, const size_t a_step[2],
                          const double *b, const size_t b_step[2], double *out)
{
    for (size_t i = 0; i < m * n; i++) {
        out[i] = 0;
        for (size_t p = 0; p < k; p++)
            out[i] += rounded(a[i / n * a_step[0] + p * a_step[1]]) *
                      rounded(b[p * b_step[0] + i % n * b_step[1]]);
    }
}

enum { ROWS = 5, IN = 7, OUT = 9 };

START_TEST(a_linear_layer)
{
    rdk_tape *t = tape_of(RDK_BF16);
    rdk_tensor *x = noise(t, 2, DIMS(ROWS, IN), 1, 1), *w = noise(t, 2, DIMS(OUT, IN), 2, 1);
    rdk_tensor *b = noise(t, 1, DIMS(OUT), 3, 1), *y = rdk_linear(t, x, w, b);
    double *dy = upstream(ROWS * OUT), want[ROWS * IN + ROWS * OUT + OUT * IN];
    ck_assert(rdk_tape_backward_from(t, y, dy));
    plain_product(ROWS, OUT, IN, x->data, DIMS(IN, 1), w->data, DIMS(1, IN), want);
    for (size_t i = 0; i < ROWS * OUT; i++) want[i] += b->data[i % OUT];
    assert_same("y", y->data, want, ROWS * OUT);
    plain_product(ROWS, IN, OUT, dy, DIMS(OUT, 1), w->data, DIMS(IN, 1), want);
    assert_same("dx", x->grad, want, ROWS * IN);
    plain_product(OUT, IN, ROWS, dy, DIMS(1, OUT), x->data, DIMS(IN, 1), want);
    assert_same("dw", w->grad, want, OUT * IN);
    for (size_t j = 0; j < OUT; j++) {
        want[j] = 0; /* no product: as it is */
        for (size_t i = 0; i < ROWS; i++) want[j] += dy[i * OUT + j];
    }
    assert_same("db", b->grad, want, OUT);
    free(dy);
    rdk_tape_free(t);
}
END_TEST

/* The op with its function inside is the two ops, forward and backward. */
START_TEST(a_layer_and_its_function)
{
    rdk_tape *t = tape_of(RDK_BF16);
    rdk_tensor *x[2], *w[2], *y[2];
    double *dy = upstream(ROWS * OUT);
    for (int i = 0; i < 2; i++) {
        x[i] = noise(t, 2, DIMS(ROWS, IN), 1, 1), w[i] = noise(t, 2, DIMS(OUT, IN), 2, 1);
        y[i] = i ? rdk_linear_map(t, x[i], w[i], NULL, RDK_GELU_TANH)
                 : rdk_gelu_tanh(t, rdk_linear(t, x[i], w[i], NULL));
    }
    rdk_tensor *both = rdk_concat(t, 0, 2, y);
    double *twice = malloc(2 * ROWS * OUT * sizeof *twice);
    memcpy(twice, dy, ROWS * OUT * sizeof *dy);
    memcpy(twice + ROWS * OUT, dy, ROWS * OUT * sizeof *dy);
    ck_assert(rdk_tape_backward_from(t, both, twice));
    assert_same("y", y[1]->data, y[0]->data, ROWS * OUT);
    assert_same("dx", x[1]->grad, x[0]->grad, ROWS * IN);
    assert_same("dw", w[1]->grad, w[0]->grad, OUT * IN);
    free(dy), free(twice);
    rdk_tape_free(t);
}
END_TEST

START_TEST(a_matrix_product_in_every_form)
{
    enum { BATCHES = 2, M = 4, N = 3, K = 5 };
    const bool ta = _i & 1, tb = _i & 2;
    rdk_tape *t = tape_of(RDK_BF16);
    rdk_tensor *a = noise(t, 3, ta ? DIMS(BATCHES, K, M) : DIMS(BATCHES, M, K), 1, 1);
    rdk_tensor *b = noise(t, 3, tb ? DIMS(BATCHES, N, K) : DIMS(BATCHES, K, N), 2, 1);
    rdk_tensor *y = rdk_matmul(t, a, ta, b, tb);
    double *dy = upstream(BATCHES * M * N), want[M * K + K * N + M * N];
    ck_assert(rdk_tape_backward_from(t, y, dy));
    const size_t a_row = ta ? 1 : K, a_k = ta ? M : 1, b_k = tb ? 1 : N, b_col = tb ? K : 1;
    for (size_t i = 0; i < BATCHES; i++) {
        const double *of_a = a->data + i * M * K, *of_b = b->data + i * K * N, *d = dy + i * M * N;
        plain_product(M, N, K, of_a, DIMS(a_row, a_k), of_b, DIMS(b_k, b_col), want);
        assert_same("y", y->data + i * M * N, want, M * N);
        if (ta)
            plain_product(K, M, N, of_b, DIMS(b_k, b_col), d, DIMS(1, N), want);
        else
            plain_product(M, K, N, d, DIMS(N, 1), of_b, DIMS(b_col, b_k), want);
        assert_same("da", a->grad + i * M * K, want, M * K);
        if (tb)
            plain_product(N, K, M, d, DIMS(1, N), of_a, DIMS(a_row, a_k), want);
        else
            plain_product(K, N, M, of_a, DIMS(a_k, a_row), d, DIMS(N, 1), want);
        assert_same("db", b->grad + i * K * N, want, K * N);
    }
    free(dy);
    rdk_tape_free(t);
}
END_TEST

/* Attention of bf16 is that of float on rounded q, k, v, bit by bit, its gradients too; of additive
 * scores v alone is rounded. */
START_TEST(attention_of_rounded_operands)
{
    enum { B = 2, T = 6, H = 2, D = 3 };
    const bool is_additive = _i;
    const rdk_attention_args args = {.n_heads = H, .scale = 0.7, .causal = true};
    double *dy = upstream(B * T * H * D);
    rdk_tensor *x[2][4], *y[2];
    rdk_tape *t[2];
    for (int p = 0; p < 2; p++) {
        t[p] = tape_of(p ? RDK_BF16 : RDK_FLOAT);
        for (int i = 0; i < 3; i++) {
            x[p][i] = noise(t[p], 3, DIMS(B, T, H * D), i, 1);
            if (!p && (!is_additive || i == 2)) round_tensor(x[p][i]);
        }
        x[p][3] = noise(t[p], 2, DIMS(H, D), 3, 1);
        y[p] = is_additive ? rdk_additive_attention(t[p], x[p][0], x[p][1], x[p][2], x[p][3], &args)
                           : rdk_attention(t[p], x[p][0], x[p][1], x[p][2], &args);
        ck_assert(rdk_tape_backward_from(t[p], y[p], dy));
    }
    ck_assert_mem_eq(y[0]->data, y[1]->data, B * T * H * D * sizeof *dy);
    for (int i = 0; i < 3 + is_additive; i++)
        ck_assert_mem_eq(x[0][i]->grad, x[1][i]->grad, rdk_size(x[0][i]) * sizeof *dy);
    free(dy);
    rdk_tape_free(t[0]), rdk_tape_free(t[1]);
}
END_TEST

/* What rounding leaves of a whole gradient: it is near the other one, and another. */
START_TEST(a_small_model)
{
    enum { LEN = 7, VOCAB = 11 };
    static const int32_t tokens[LEN] = {3, 1, 4, 1, 5, 9, 2}, targets[LEN] = {1, 4, 1, 5, 9, 2, 6};
    const rdk_model_config c = {.vocab = VOCAB,
                                .max_len = LEN,
                                .layers = 2,
                                .heads = 2,
                                .d_model = 12,
                                .d_k = 6,
                                .d_ff = 20,
                                .scale = "sqrt"};
    rdk_status s = {0};
    rdk_model *m = rdk_model_new(&c, 42, &s);
    ck_assert_msg(m != NULL, "%s", s.message);
    size_t n = rdk_model_size(m);
    double loss[2], *grad[2];
    for (int p = 0; p < 2; p++) {
        rdk_tape *t = tape_of(p ? RDK_BF16 : RDK_FLOAT);
        rdk_model_zero_grad(m);
        rdk_tensor *y = rdk_model_logits(m, t, 1, LEN, tokens, NULL, NULL);
        y = rdk_cross_entropy(t, y, targets, LEN, NULL, NULL);
        ck_assert(rdk_tape_backward(t, y));
        loss[p] = y->data[0];
        grad[p] = malloc(n * sizeof *grad[p]);
        memcpy(grad[p], rdk_model_grads(m), n * sizeof *grad[p]);
        rdk_tape_free(t);
    }
    double cosine =
        dot(grad[0], grad[1], n) / sqrt(dot(grad[0], grad[0], n) * dot(grad[1], grad[1], n));
    ck_assert_msg(loss[0] != loss[1] && fabs(loss[0] / loss[1] - 1) < 0.01, "losses %g and %g",
                  loss[0], loss[1]);
    ck_assert_msg(cosine < 1 && cosine > 0.999, "cosine of the gradients %g", cosine);
    free(grad[0]), free(grad[1]);
    rdk_model_free(m);
}
END_TEST

RDK_TEST_MAIN("products of bfloat16", {
    ADD(a_linear_layer);
    ADD(a_layer_and_its_function);
    ADD_LOOP(a_matrix_product_in_every_form, 4);
    ADD_LOOP(attention_of_rounded_operands, 2);
    ADD(a_small_model);
})
