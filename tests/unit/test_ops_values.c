/* SPDX-License-Identifier: MIT
 * The values of the ops, by hand or by a few plain lines. (Gradient checks alone would pass an op
 * whose forward and backward are wrong together.) */
#include <rootdk/ops.h>

#include "harness.h"

#define DIMS(...)                                                                                  \
    (const size_t[])                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define LEAF(dims, n_dims, ...)                                                                    \
    rdk_tape_leaf(t, n_dims, dims, (const rdk_real[]){__VA_ARGS__}, true)

static void assert_values(const rdk_tensor *got, size_t n, const double *want)
{
    ck_assert_ptr_nonnull(got);
    ck_assert_uint_eq(rdk_size(got), n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(fabs((double)got->data[i] - want[i]) <= 2e-6 * fmax(1, fabs(want[i])),
                      "element %zu is %.9g, not %.9g", i, (double)got->data[i], want[i]);
    }
}
#define ASSERT_VALUES(got, ...)                                                                    \
    assert_values(got, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static rdk_tape *t;

static void setup(void)
{
    t = rdk_tape_new(NULL);
}

static void teardown(void)
{
    ck_assert_msg(rdk_tape_alive(t), "%s", rdk_tape_status(t)->message);
    rdk_tape_free(t);
}

static rdk_tensor *counting(int n_dims, const size_t *dim)
{
    rdk_tensor *x = rdk_tape_leaf(t, n_dims, dim, NULL, true);
    for (size_t i = 0; i < rdk_size(x); i++) x->data[i] = (rdk_real)(i + 1);
    return x;
}

static rdk_tensor *waves(int n_dims, const size_t *dim, double phase)
{
    rdk_tensor *x = rdk_tape_leaf(t, n_dims, dim, NULL, true);
    for (size_t i = 0; i < rdk_size(x); i++) x->data[i] = (rdk_real)sin(phase + 1.3 * (double)i);
    return x;
}

/* ---- products -------------------------------------------------------------------------------- */

START_TEST(products_by_hand)
{
    rdk_tensor *a = counting(2, DIMS(2, 3)), *b = counting(2, DIMS(3, 2));
    ASSERT_VALUES(rdk_matmul(t, a, false, b, false), 22, 28, 49, 64);
    ASSERT_VALUES(rdk_matmul(t, a, false, a, true), 14, 32, 32, 77);
    ASSERT_VALUES(rdk_matmul(t, a, true, a, false), 17, 22, 27, 22, 29, 36, 27, 36, 45);
    ASSERT_VALUES(rdk_matmul(t, a, true, b, true), 9, 19, 29, 12, 26, 40, 15, 33, 51);
    /* an inner size of 0 is a sum over nothing */
    rdk_tensor *empty = rdk_tape_leaf(t, 2, DIMS(2, 0), NULL, true);
    ASSERT_VALUES(rdk_matmul(t, empty, false, empty, true), 0, 0, 0, 0);
    ASSERT_VALUES(rdk_linear(t, a, a, LEAF(DIMS(2), 1, 100, 200)), 114, 232, 132, 277);
    ASSERT_VALUES(rdk_linear_add(t, a, a, NULL, LEAF(DIMS(2, 2), 2, 1, 2, 3, 4)), 15, 34, 35, 81);
    /* h = [2 - 3, 4 - 2] */
    rdk_tensor *two = LEAF(DIMS(2, 1), 2, 1, 2), *bias = LEAF(DIMS(2), 1, -3, -2);
    rdk_tensor *x = LEAF(DIMS(1), 1, 2);
    ASSERT_VALUES(rdk_linear_map(t, x, two, bias, RDK_RELU), 0, 2);
    ASSERT_VALUES(rdk_linear_map(t, x, two, bias, RDK_GELU), -0.158655254, 1.954499736);
    ASSERT_VALUES(rdk_linear_map(t, x, two, bias, RDK_GELU_TANH), -0.158808009, 1.954597694);
    ASSERT_VALUES(rdk_linear_map(t, x, two, bias, RDK_SILU), -1 / (1 + exp(1)), 2 / (1 + exp(-2)));
    /* u^T W v = -3/2 + 7/2 = 2, so times 6 / 2 */
    rdk_tensor *w = LEAF(DIMS(2, 2), 2, 3, 5, 7, 4), *gain = LEAF(DIMS(1), 1, 6);
    rdk_tensor *u = LEAF(DIMS(2), 1, 1, -1), *v = LEAF(DIMS(2), 1, -0.5, 0);
    ASSERT_VALUES(rdk_spectral_scale(t, w, gain, u, v), 9, 15, 21, 12);
}
END_TEST

enum { ROWS = 37, IN = 19, OUT = 70 };

/* y, dx, dW and db of a layer and f, in one op or in two, one behind the other. */
static void layer(rdk_activation f, bool fused, rdk_real *out)
{
    static rdk_tensor *(*const alone[])(rdk_tape *, rdk_tensor *) = {
        [RDK_RELU] = rdk_relu,
        [RDK_GELU] = rdk_gelu,
        [RDK_GELU_TANH] = rdk_gelu_tanh,
        [RDK_SILU] = rdk_silu,
    };
    rdk_tape_reset(t);
    rdk_tensor *x = waves(2, DIMS(ROWS, IN), 0), *w = waves(2, DIMS(OUT, IN), 1);
    rdk_tensor *b = waves(1, DIMS(OUT), 2), *dy = waves(2, DIMS(ROWS, OUT), 3);
    rdk_tensor *y = fused ? rdk_linear_map(t, x, w, b, f) : alone[f](t, rdk_linear(t, x, w, b));
    ck_assert(rdk_tape_backward_from(t, y, dy->data));
    memcpy(out, y->data, ROWS * OUT * sizeof *out);
    memcpy(out += ROWS * OUT, x->grad, ROWS * IN * sizeof *out);
    memcpy(out += ROWS * IN, w->grad, OUT * IN * sizeof *out);
    memcpy(out + OUT * IN, b->grad, OUT * sizeof *out);
}

START_TEST(a_layer_with_its_activation_has_the_bits_of_the_two)
{
    static rdk_real fused[ROWS * OUT + ROWS * IN + OUT * IN + OUT],
        apart[sizeof fused / sizeof *fused];
    for (rdk_activation f = RDK_RELU; f <= RDK_SILU; f++) {
        layer(f, true, fused);
        layer(f, false, apart);
        ck_assert_msg(memcmp(fused, apart, sizeof fused) == 0, "activation %d", (int)f);
    }
}
END_TEST

/* y, dx, dW, db and dr of r + layer, in one op or in two. r is used elsewhere too. */
static void added(bool fused, bool keeps, rdk_real *out)
{
    rdk_tape_reset(t);
    rdk_tape_keep_gradients(t, keeps);
    rdk_tensor *x = waves(2, DIMS(ROWS, IN), 0), *w = waves(2, DIMS(OUT, IN), 1);
    rdk_tensor *b = waves(1, DIMS(OUT), 2), *dy = waves(2, DIMS(ROWS, OUT), 3);
    rdk_tensor *leaf = waves(2, DIMS(ROWS, OUT), 4),
               *r = rdk_reshape(t, rdk_scale(t, leaf, 3), 2, DIMS(ROWS, OUT));
    rdk_tensor *h = rdk_tanh(t, r);
    rdk_tensor *y = fused ? rdk_linear_add(t, x, w, b, r) : rdk_add(t, r, rdk_linear(t, x, w, b));
    ck_assert(rdk_tape_backward_from(t, rdk_mul(t, y, h), dy->data));
    memcpy(out, y->data, ROWS * OUT * sizeof *out);
    memcpy(out += ROWS * OUT, leaf->grad, ROWS * OUT * sizeof *out);
    memcpy(out += ROWS * OUT, x->grad, ROWS * IN * sizeof *out);
    memcpy(out += ROWS * IN, w->grad, OUT * IN * sizeof *out);
    memcpy(out + OUT * IN, b->grad, OUT * sizeof *out);
    rdk_tape_keep_gradients(t, false);
}

START_TEST(the_end_of_a_branch_has_the_bits_of_layer_and_sum)
{
    static rdk_real want[2 * ROWS * OUT + ROWS * IN + OUT * IN + OUT],
        got[sizeof want / sizeof *want];
    added(false, true, want); /* each gradient in an array of its own */
    for (int way = 0; way < 4; way++) {
        added(way & 1, way & 2, got);
        ck_assert_msg(memcmp(got, want, sizeof want) == 0, "way %d", way);
    }
}
END_TEST

/* Evaluation computes y alone. */
START_TEST(a_layer_that_is_not_recorded_has_the_same_values)
{
    for (rdk_activation f = RDK_RELU; f <= RDK_SILU; f++) {
        rdk_tape_reset(t);
        rdk_tensor *x = waves(2, DIMS(ROWS, IN), 0), *w = waves(2, DIMS(OUT, IN), 1);
        rdk_tensor *y = rdk_linear_map(t, x, w, NULL, f);
        rdk_tape_recording(t, false);
        rdk_tensor *other = rdk_linear_map(t, x, w, NULL, f);
        rdk_tape_recording(t, true);
        ck_assert(!other->needs_grad);
        ck_assert(memcmp(y->data, other->data, ROWS * OUT * sizeof *y->data) == 0);
    }
}
END_TEST

/* h = [-1, 2]: what relu holds back passes nothing, however large. */
START_TEST(relu_of_a_layer_passes_no_infinite_gradient)
{
    rdk_tensor *x = LEAF(DIMS(1), 1, 1), *w = LEAF(DIMS(2, 1), 2, -1, 2);
    rdk_tensor *y = rdk_linear_map(t, x, w, NULL, RDK_RELU);
    const rdk_real dy[] = {INFINITY, 3};
    ck_assert(rdk_tape_backward_from(t, y, dy));
    ck_assert(x->grad[0] == 6 && w->grad[0] == 0 && w->grad[1] == 3);
}
END_TEST

enum { BATCH = 3, M = 4, N = 5, K = 2 };

static double element(const rdk_tensor *x, size_t b, size_t i, size_t j, bool transposed)
{
    const size_t rows = x->dim[x->n_dims - 2], cols = rdk_cols(x);
    const size_t first = x->n_dims > 2 ? b * rows * cols : 0;
    return (double)x->data[first + (transposed ? j * cols + i : i * cols + j)];
}

/* All transposes, and the batch in both operands, in one, in the other. */
START_TEST(batches_of_products)
{
    const bool ta = _i & 1, tb = _i & 2;
    const int a_dims = _i / 4 == 1 ? 2 : 3, b_dims = _i / 4 == 2 ? 2 : 3;
    const size_t a_dim[] = {BATCH, ta ? K : M, ta ? M : K},
                 b_dim[] = {BATCH, tb ? N : K, tb ? K : N};
    rdk_tensor *a = waves(a_dims, a_dim + 3 - a_dims, 0), *b = waves(b_dims, b_dim + 3 - b_dims, 1);
    rdk_tensor *y = rdk_matmul(t, a, ta, b, tb);
    ck_assert_ptr_nonnull(y);
    ck_assert(y->n_dims == 3 && y->dim[0] == BATCH && y->dim[1] == M && y->dim[2] == N);
    for (size_t e = 0; e < BATCH * M * N; e++) {
        const size_t batch = e / (M * N), i = e / N % M, j = e % N;
        double want = 0;
        for (size_t k = 0; k < K; k++) {
            want += element(a, batch, i, k, ta) * element(b, batch, k, j, tb);
        }
        ck_assert_close((double)y->data[e], want, 1e-5, 1);
    }
}
END_TEST

/* ---- element by element ---------------------------------------------------------------------- */

START_TEST(arithmetic)
{
    rdk_tensor *a = counting(2, DIMS(2, 2)), *row = LEAF(DIMS(2), 1, 10, 20);
    rdk_tensor *column = LEAF(DIMS(2, 1), 2, 2, 4), *one = LEAF(NULL, 0, 8);
    ASSERT_VALUES(rdk_add(t, a, row), 11, 22, 13, 24);
    ASSERT_VALUES(rdk_sub(t, column, a), 1, 0, 1, 0);
    ASSERT_VALUES(rdk_mul(t, row, column), 20, 40, 40, 80);
    ASSERT_VALUES(rdk_div(t, one, a), 8, 4, 8.0 / 3, 2);
    ASSERT_VALUES(rdk_div(t, a, column), 0.5, 1, 0.75, 1);
    ASSERT_VALUES(rdk_add(t, one, one), 16);
    ASSERT_VALUES(rdk_scale(t, a, -0.5), -0.5, -1, -1.5, -2);
    ck_assert_uint_eq(rdk_size(rdk_mul(t, row, rdk_tape_leaf(t, 2, DIMS(0, 1), NULL, true))), 0);
}
END_TEST

/* Three dimensions against two with ones between, element for element. */
START_TEST(broadcasting)
{
    rdk_tensor *a = waves(4, DIMS(2, 1, 3, 1), 0), *b = waves(3, DIMS(4, 1, 5), 1);
    rdk_tensor *y = rdk_sub(t, a, b);
    ck_assert(y && y->n_dims == 4 && y->dim[0] == 2 && y->dim[1] == 4 && y->dim[2] == 3 &&
              y->dim[3] == 5);
    for (size_t e = 0; e < rdk_size(y); e++) {
        const size_t i = e / 60, j = e / 15 % 4, k = e / 5 % 3, l = e % 5;
        ck_assert(y->data[e] == a->data[i * 3 + k] - b->data[j * 5 + l]);
    }
}
END_TEST

/* 2^25, then ones, then -2^25: in float the ones would be lost one by one, from run to run too. The
 * operand is the gain of a head, a row, a scalar. */
START_TEST(gradients_of_repeated_operands)
{
    enum { COPIES = 100, HEADS = 2, D = 3, ALL = COPIES * HEADS * D };
    static const size_t shapes[][2] = {{HEADS, 1}, {HEADS, D}, {1, 1}};
    static const double repeats[] = {D, 1, HEADS * D}; /* in one of the COPIES */
    rdk_tensor *(*const ops[])(rdk_tape *, rdk_tensor *, rdk_tensor *) = {rdk_add, rdk_sub, rdk_mul,
                                                                          rdk_div};
    static const double sign[] = {1, -1, 1, -1}; /* of dy/db where all operands are 1 */
    rdk_real dy[ALL];
    for (size_t i = 0; i < ALL; i++) {
        size_t row = i / (HEADS * D);
        dy[i] = row == 0 ? 33554432 : row == COPIES - 1 ? -33554432 : 1;
    }
    for (size_t op = 0; op < 4; op++) {
        for (size_t shape = 0; shape < 3; shape++) {
            rdk_tensor *a = rdk_tape_leaf(t, 3, DIMS(COPIES, HEADS, D), NULL, true);
            rdk_tensor *b = rdk_tape_leaf(t, 2, shapes[shape], NULL, true);
            for (size_t i = 0; i < ALL; i++) a->data[i] = 1;
            for (size_t i = 0; i < rdk_size(b); i++) b->data[i] = 1;
            ck_assert(rdk_tape_backward_from(t, ops[op](t, a, b), dy));
            for (size_t i = 0; i < rdk_size(b); i++)
                ck_assert_double_eq((double)b->grad[i], sign[op] * (COPIES - 2) * repeats[shape]);
            rdk_tape_reset(t);
        }
    }
}
END_TEST

START_TEST(functions)
{
    rdk_tensor *x = LEAF(DIMS(3), 1, -1, 0, 2);
    ASSERT_VALUES(rdk_exp(t, x), exp(-1), 1, exp(2));
    ASSERT_VALUES(rdk_log(t, LEAF(DIMS(2), 1, 1, 5)), 0, log(5));
    ASSERT_VALUES(rdk_tanh(t, x), tanh(-1), 0, tanh(2));
    ASSERT_VALUES(rdk_erf(t, x), -0.842700793, 0, 0.995322265);
    ASSERT_VALUES(rdk_relu(t, x), 0, 0, 2);
    ASSERT_VALUES(rdk_silu(t, x), -1 / (1 + exp(1)), 0, 2 / (1 + exp(-2)));
    ASSERT_VALUES(rdk_gelu(t, x), -0.158655254, 0, 1.954499736); /* x Phi(x), normal table */
    ASSERT_VALUES(rdk_gelu_tanh(t, x), -0.158808009, 0, 1.954597694);
    rdk_tensor *far = LEAF(DIMS(2), 1, -1000, 1000);
    ASSERT_VALUES(rdk_gelu_tanh(t, far), 0, 1000);
    ASSERT_VALUES(rdk_silu(t, far), 0, 1000);
    ASSERT_VALUES(rdk_tanh(t, far), -1, 1);
    ASSERT_VALUES(rdk_erf(t, far), -1, 1);
}
END_TEST

/* ---- rows ------------------------------------------------------------------------------------ */

START_TEST(softmax_of_large_scores)
{
    ASSERT_VALUES(rdk_softmax(t, LEAF(DIMS(2, 3), 2, 8000, 8000, 1, -20000, -20000, -20000)), 0.5,
                  0.5, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3);
    ASSERT_VALUES(rdk_log_softmax(t, LEAF(DIMS(3), 1, 8000, 8000, 7999)), -log(2 + exp(-1)),
                  -log(2 + exp(-1)), -1 - log(2 + exp(-1)));
}
END_TEST

START_TEST(norms)
{
    rdk_tensor *x = LEAF(DIMS(2, 2), 2, 3, 5, -6, -8), *gain = LEAF(DIMS(2), 1, 2, 10);
    rdk_tensor *bias = LEAF(DIMS(2), 1, 100, 200);
    const double tiny = 1e-12;
    ASSERT_VALUES(rdk_layer_norm(t, x, NULL, NULL, tiny), -1, 1, 1, -1);
    ASSERT_VALUES(rdk_layer_norm(t, x, gain, bias, tiny), 98, 210, 102, 190);
    ASSERT_VALUES(rdk_rms_norm(t, x, gain, tiny), 6 / sqrt(17), 50 / sqrt(17), -12 / sqrt(50),
                  -80 / sqrt(50));
    ASSERT_VALUES(rdk_l2_norm(t, x, tiny), 3 / sqrt(34), 5 / sqrt(34), -0.6, -0.8);
    /* eps stands inside the root: 1 + 3 and 34 + 2 */
    ASSERT_VALUES(rdk_layer_norm(t, x, NULL, NULL, 3), -0.5, 0.5, 0.5, -0.5);
    ASSERT_VALUES(rdk_l2_norm(t, x, 2), 0.5, 5.0 / 6, -6 / sqrt(102), -8 / sqrt(102));
}
END_TEST

START_TEST(norms_in_hard_cases)
{
    const double s = sqrt(1.25);
    ASSERT_VALUES(
        rdk_layer_norm(t, LEAF(DIMS(4), 1, 40000, 40001, 40002, 40003), NULL, NULL, 1e-12),
        -1.5 / s, -0.5 / s, 0.5 / s, 1.5 / s);
    rdk_tensor *zero = LEAF(DIMS(2), 1, 0, 0);
    const rdk_real dy[] = {3, -4};
    rdk_tensor *y = rdk_l2_norm(t, zero, 0.25);
    ASSERT_VALUES(y, 0, 0);
    ck_assert(rdk_tape_backward_from(t, y, dy));
    ck_assert(zero->grad[0] == 6 && zero->grad[1] == -8); /* dy / sqrt(eps) */
}
END_TEST

/* ---- shape ----------------------------------------------------------------------------------- */

START_TEST(shapes)
{
    rdk_tensor *x = counting(3, DIMS(2, 3, 2));
    ASSERT_VALUES(rdk_transpose(t, x, 0, 2), 1, 7, 3, 9, 5, 11, 2, 8, 4, 10, 6, 12);
    ASSERT_VALUES(rdk_transpose(t, x, -2, 0), 1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12);
    ASSERT_VALUES(rdk_slice(t, x, 1, 1, 3), 3, 4, 5, 6, 9, 10, 11, 12);
    rdk_tensor *parts[] = {x, rdk_slice(t, x, 1, 0, 1)};
    ASSERT_VALUES(rdk_concat(t, 1, 2, parts), 1, 2, 3, 4, 5, 6, 1, 2, 7, 8, 9, 10, 11, 12, 7, 8);
    ck_assert_uint_eq(rdk_size(rdk_slice(t, x, 0, 2, 2)), 0);
}
END_TEST

START_TEST(a_slice_of_a_parameter_is_no_copy)
{
    rdk_real data[] = {1, 2, 3, 4, 5, 6}, grad[6] = {0};
    rdk_tensor parameter = {
        .data = data, .grad = grad, .n_dims = 2, .dim = {3, 2}, .needs_grad = true};
    rdk_tensor *x = &parameter, *rows = rdk_slice(t, x, 0, 1, 3);
    rdk_tensor *own = rdk_scale(t, x, 1), *copy = rdk_slice(t, own, 0, 1, 3);
    rdk_tensor *columns = rdk_slice(t, x, 1, 0, 1), *empty = rdk_slice(t, x, 0, 3, 3);
    ASSERT_VALUES(rows, 3, 4, 5, 6);
    ck_assert_ptr_eq(rows->data, x->data + 2);
    ck_assert(columns->data < x->data || columns->data >= x->data + 6);
    ck_assert_uint_eq(rdk_size(empty), 0);
    ck_assert(copy->data < own->data || copy->data >= own->data + 6);
    /* its gradient is its own, of which that of x gets the sum */
    ck_assert(rdk_tape_backward(t, rdk_sum_all(t, rdk_add(t, rdk_scale(t, rows, 3), rows))));
    const rdk_real want[] = {0, 0, 4, 4, 4, 4};
    ck_assert_mem_eq(x->grad, want, sizeof want);
}
END_TEST

START_TEST(reductions)
{
    rdk_tensor *x = counting(3, DIMS(2, 3, 2));
    ASSERT_VALUES(rdk_sum(t, x, 0), 8, 10, 12, 14, 16, 18);
    ASSERT_VALUES(rdk_sum(t, x, 1), 9, 12, 27, 30);
    ASSERT_VALUES(rdk_mean(t, x, -1), 1.5, 3.5, 5.5, 7.5, 9.5, 11.5);
    ASSERT_VALUES(rdk_max(t, x, -2), 5, 6, 11, 12);
    ASSERT_VALUES(rdk_sum(t, rdk_tape_leaf(t, 2, DIMS(0, 2), NULL, true), 0), 0, 0);
    ASSERT_VALUES(rdk_mean(t, LEAF(DIMS(5), 1, 1, 2, 3, 4, 10), 0), 4);
    ASSERT_VALUES(rdk_sum_all(t, x), 78);
    ASSERT_VALUES(rdk_mean_all(t, x), 6.5);
    ck_assert(isnan(rdk_max(t, LEAF(DIMS(3), 1, 1, (rdk_real)NAN, 2), 0)->data[0]));
}
END_TEST

/* ---- sequences ------------------------------------------------------------------------------- */

START_TEST(embedding)
{
    rdk_tensor *y = rdk_embedding(t, counting(2, DIMS(3, 2)), (int32_t[]){2, 0, 2}, 2, DIMS(1, 3));
    ASSERT_VALUES(y, 5, 6, 1, 2, 5, 6);
    ck_assert(y->n_dims == 3 && y->dim[0] == 1 && y->dim[1] == 3 && y->dim[2] == 2);
}
END_TEST

/* Position 0 stays; at position 1 the pairs turn by 1 and by base^(-1/2) = 1/10. */
START_TEST(rope)
{
    rdk_tensor *x = LEAF(DIMS(1, 2, 1, 4), 4, 1, 2, 3, 4, 1, 0, 0, 1);
    ASSERT_VALUES(rdk_rope(t, x, 0, 100), 1, 2, 3, 4, cos(1), sin(1), -sin(0.1), cos(0.1));
}
END_TEST

/* Scores 0 and ln 3 for the second query: p = 1/4, 3/4. Two heads, the second with scores 0. */
START_TEST(attention)
{
    const rdk_real ln3 = (rdk_real)log(3);
    rdk_tensor *q = LEAF(DIMS(1, 2, 2), 3, 1, 0, 1, 0),
               *k = LEAF(DIMS(1, 2, 2), 3, 0, 1, 2 * ln3, 1);
    rdk_tensor *v = LEAF(DIMS(1, 2, 2), 3, 4, 10, 8, 30);
    rdk_attention_args args = {.n_heads = 2, .scale = 0.5, .causal = true};
    ASSERT_VALUES(rdk_attention(t, q, k, v, &args), 4, 10, 7, 20);
    args.causal = false;
    ASSERT_VALUES(rdk_attention(t, q, k, v, &args), 7, 20, 7, 20);
    args.lengths = (int32_t[]){1};
    ASSERT_VALUES(rdk_attention(t, q, k, v, &args), 4, 10, 0, 0);
    args.lengths = NULL;
    rdk_tensor *none = rdk_slice(t, q, 1, 0, 0); /* T = 0 */
    rdk_tensor *y = rdk_attention(t, none, none, none, &args);
    ck_assert(y && rdk_size(y) == 0);
}
END_TEST

/* One key: p = 1, so the output is v or, dropped, 0; kept it is v / (1 - p). */
START_TEST(attention_dropout)
{
    enum { B = 1000 };
    rdk_tensor *x = rdk_tape_leaf(t, 3, DIMS(B, 1, 1), NULL, true);
    for (int b = 0; b < B; b++) x->data[b] = 3;
    const rdk_attention_args args = {.n_heads = 1, .scale = 1, .dropout = 0.25};
    const rdk_tensor *y = rdk_attention(t, x, x, x, &args);
    for (int b = 0; b < B; b++) ck_assert(y->data[b] == 3); /* not training */

    rdk_tape_training(t, true, (rdk_stream){.seed = 4, .purpose = RDK_FOR_DROPOUT}, 0);
    const rdk_tensor *first = rdk_attention(t, x, x, x, &args);
    const rdk_tensor *second = rdk_attention(t, x, x, x, &args);
    int kept = 0, different = 0;
    for (int b = 0; b < B; b++) {
        ck_assert(first->data[b] == 0 || fabs((double)first->data[b] - 4) < 1e-5);
        kept += first->data[b] != 0;
        different += first->data[b] != second->data[b];
    }
    /* 750 and 375 expected, standard deviations 14 and 15: within 5 of them */
    ck_assert_msg(abs(kept - 750) < 70, "%d of %d kept", kept, B);
    ck_assert_msg(abs(different - 375) < 75, "%d of %d differ", different, B);
}
END_TEST

START_TEST(cross_entropy)
{
    rdk_tensor *logits = LEAF(DIMS(2, 2), 2, 0, (rdk_real)log(3), 5, 5);
    int32_t best[2];
    rdk_real nll[2];
    ASSERT_VALUES(rdk_cross_entropy(t, logits, (int32_t[]){0, 1}, 4, nll, best),
                  (log(4) + log(2)) / 4);
    ck_assert_close((double)nll[0], log(4), 1e-6, 1);
    ck_assert_close((double)nll[1], log(2), 1e-6, 1);
    ck_assert(best[0] == 1 && best[1] == 0);
}
END_TEST

RDK_TEST_MAIN("ops: values", {
    tcase_add_checked_fixture(tc, setup, teardown);
    ADD(products_by_hand);
    ADD(a_layer_with_its_activation_has_the_bits_of_the_two);
    ADD(the_end_of_a_branch_has_the_bits_of_layer_and_sum);
    ADD(a_layer_that_is_not_recorded_has_the_same_values);
    ADD(relu_of_a_layer_passes_no_infinite_gradient);
    ADD_LOOP(batches_of_products, 12);
    ADD(arithmetic);
    ADD(broadcasting);
    ADD(gradients_of_repeated_operands);
    ADD(functions);
    ADD(softmax_of_large_scores);
    ADD(norms);
    ADD(norms_in_hard_cases);
    ADD(shapes);
    ADD(a_slice_of_a_parameter_is_no_copy);
    ADD(reductions);
    ADD(embedding);
    ADD(rope);
    ADD(attention);
    ADD(attention_dropout);
    ADD(cross_entropy);
})
