/* SPDX-License-Identifier: MIT
 * Every op against central differences, in double.
 *
 * Adding an op: give it a row in `rows`. An op of the table without a row fails here by name.
 * Read next: ops_gradcheck.h, what a row says and what is checked; test_attention_gradcheck.c, the
 * rows of attention. */
#include "ops_gradcheck.h"

/* ---- builders: one call of the op on the leaves ---------------------------------------------- */

BUILDER(matmul_nn, rdk_matmul(t, x[0], false, x[1], false))
BUILDER(matmul_tn, rdk_matmul(t, x[0], true, x[1], false))
BUILDER(matmul_nt, rdk_matmul(t, x[0], false, x[1], true))
BUILDER(matmul_tt, rdk_matmul(t, x[0], true, x[1], true))
BUILDER(linear, rdk_linear(t, x[0], x[1], NULL))
BUILDER(linear_bias, rdk_linear(t, x[0], x[1], x[2]))
BUILDER(linear_last, rdk_linear_last(t, x[0], 2, x[1], x[2]))
BUILDER(linear_last_alone, rdk_linear_last(t, x[0], 4, x[1], NULL))
BUILDER(linear_added, rdk_linear_add(t, x[0], x[1], x[2], x[3]))
BUILDER(linear_added_alone, rdk_linear_add(t, x[0], x[1], NULL, x[2]))
BUILDER(linear_relu, rdk_linear_map(t, x[0], x[1], x[2], RDK_RELU))
BUILDER(linear_gelu, rdk_linear_map(t, x[0], x[1], x[2], RDK_GELU))
BUILDER(linear_gelu_tanh, rdk_linear_map(t, x[0], x[1], x[2], RDK_GELU_TANH))
BUILDER(linear_silu, rdk_linear_map(t, x[0], x[1], NULL, RDK_SILU))
BUILDER(add, rdk_add(t, x[0], x[1]))
BUILDER(sub, rdk_sub(t, x[0], x[1]))
BUILDER(mul, rdk_mul(t, x[0], x[1]))
BUILDER(division, rdk_div(t, x[0], x[1]))
BUILDER(scale, rdk_scale(t, x[0], -1.7))
BUILDER(exponential, rdk_exp(t, x[0]))
BUILDER(logarithm, rdk_log(t, x[0]))
BUILDER(tangent, rdk_tanh(t, x[0]))
BUILDER(error_function, rdk_erf(t, x[0]))
BUILDER(relu, rdk_relu(t, x[0]))
BUILDER(gelu, rdk_gelu(t, x[0]))
BUILDER(gelu_tanh, rdk_gelu_tanh(t, x[0]))
BUILDER(silu, rdk_silu(t, x[0]))
BUILDER(softmax, rdk_softmax(t, x[0]))
BUILDER(log_softmax, rdk_log_softmax(t, x[0]))
BUILDER(layer_norm, rdk_layer_norm(t, x[0], NULL, NULL, 0.1))
BUILDER(layer_norm_gain, rdk_layer_norm(t, x[0], x[1], NULL, 0.1))
BUILDER(layer_norm_bias, rdk_layer_norm(t, x[0], x[1], x[2], 0.1))
BUILDER(rms_norm, rdk_rms_norm(t, x[0], NULL, 0.1))
BUILDER(rms_norm_gain, rdk_rms_norm(t, x[0], x[1], 0.1))
BUILDER(l2_norm, rdk_l2_norm(t, x[0], 0.1))
BUILDER(transpose_outer, rdk_transpose(t, x[0], 0, -1))
BUILDER(transpose_inner, rdk_transpose(t, x[0], -1, -2))
BUILDER(transpose_heads, rdk_transpose(t, x[0], 2, 1))
BUILDER(transpose_same, rdk_transpose(t, x[0], 0, 0))
BUILDER(slice_first, rdk_slice(t, x[0], 0, 1, 3))
BUILDER(slice_last, rdk_slice(t, x[0], -1, 2, 4))
BUILDER(slice_nothing, rdk_slice(t, x[0], 0, 2, 2))
BUILDER(concat_first, rdk_concat(t, 0, 2, x))
BUILDER(concat_last, rdk_concat(t, -1, 3, x))
BUILDER(concat_itself, rdk_concat(t, 0, 3, (rdk_tensor *[]){x[0], x[1], x[0]}))
BUILDER(concat_one, rdk_concat(t, 0, 1, x))
BUILDER(sum_first, rdk_sum(t, x[0], 0))
BUILDER(sum_last, rdk_sum(t, x[0], -1))
BUILDER(sum_middle, rdk_sum(t, x[0], 1))
BUILDER(sum_all, rdk_sum_all(t, x[0]))
BUILDER(mean_first, rdk_mean(t, x[0], 0))
BUILDER(mean_last, rdk_mean(t, x[0], -1))
BUILDER(mean_all, rdk_mean_all(t, x[0]))
BUILDER(max_first, rdk_max(t, x[0], 0))
BUILDER(max_last, rdk_max(t, x[0], -1))
BUILDER(rope, rdk_rope(t, x[0], 0, 100))
BUILDER(rope_later, rdk_rope(t, x[0], 5, 100))
BUILDER(view, rdk_scale(t, rdk_reshape(t, x[0], 1, (size_t[]){rdk_size(x[0])}), 1.5))
BUILDER(view_of_result,
        rdk_reshape(t, rdk_reshape(t, rdk_exp(t, x[0]), 1, (size_t[]){rdk_size(x[0])}), 3,
                    (size_t[]){1, rdk_size(x[0]), 1}))

static rdk_tensor *embedding(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    int32_t ids[6];
    for (int i = 0; i < 6; i++) ids[i] = (int32_t)((size_t)(i * i) % x[0]->dim[0]);
    return rdk_embedding(t, x[0], ids, 2, (size_t[]){2, 3});
}

static rdk_tensor *embedding_of_nothing(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    return rdk_embedding(t, x[0], NULL, 2, (size_t[]){0, 3});
}

static rdk_tensor *embedding_of_one(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    return rdk_embedding(t, x[0], (int32_t[]){0}, 0, NULL);
}

static rdk_tensor *dropout(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    train(t);
    return rdk_dropout(t, x[0], 0.3);
}

BUILDER(spectral_scale, rdk_spectral_scale(t, x[0], x[1], x[2], x[3]))
static rdk_tensor *loss_of(rdk_tape *t, rdk_tensor *logits, int ignore_every)
{
    enum { MOST = 512 };
    int32_t targets[MOST];
    size_t rows = rdk_rows(logits);
    ck_assert_uint_le(rows, MOST);
    for (size_t r = 0; r < rows; r++) {
        targets[r] = (int32_t)((r * 5 + 1) % rdk_cols(logits));
        if (ignore_every && r % (size_t)ignore_every == 0) targets[r] = RDK_IGNORE;
    }
    return rdk_cross_entropy(t, logits, targets, 2.5, NULL, NULL);
}

BUILDER(cross_entropy, loss_of(t, x[0], 0))
BUILDER(cross_entropy_ignored, loss_of(t, x[0], 2))

/* ---- the table ------------------------------------------------------------------------------- */

static const row rows[] = {
    {"matmul", matmul_nn, 2, {"mk", "kn"}, ANY},
    {"matmul", matmul_tn, 2, {"km", "kn"}, ANY},
    {"matmul", matmul_nt, 2, {"mk", "nk"}, ANY},
    {"matmul", matmul_tt, 2, {"km", "nk"}, ANY},
    {"matmul", matmul_nn, 2, {"bmk", "bkn"}, ANY},
    {"matmul", matmul_tn, 2, {"b2km", "b2kn"}, ANY},
    {"matmul", matmul_nt, 2, {"bmk", "bnk"}, ANY},
    {"matmul", matmul_tt, 2, {"bkm", "bnk"}, ANY},
    {"matmul", matmul_nn, 2, {"bmk", "kn"}, ANY},
    {"matmul", matmul_tn, 2, {"bkm", "kn"}, ANY},
    {"matmul", matmul_nt, 2, {"b2mk", "nk"}, ANY},
    {"matmul", matmul_tt, 2, {"bkm", "nk"}, ANY},
    {"matmul", matmul_nn, 2, {"mk", "bkn"}, ANY},
    {"matmul", matmul_tn, 2, {"km", "bkn"}, ANY},
    {"matmul", matmul_nt, 2, {"mk", "bnk"}, ANY},
    {"matmul", matmul_tt, 2, {"km", "b2nk"}, ANY},
    {"linear", linear, 2, {"rk", "nk"}, ANY},
    {"linear", linear_bias, 3, {"brk", "nk", "n"}, ANY},
    {"linear", linear_bias, 3, {"k", "nk", "n"}, ANY},
    {"linear_add", linear_added, 4, {"brk", "nk", "n", "brn"}, ANY},
    {"linear_add", linear_added, 4, {"k", "nk", "n", "n"}, ANY},
    {"linear_add", linear_added_alone, 3, {"rk", "nk", "rn"}, ANY},
    {"linear_last", linear_last, 3, {"b5k", "nk", "n"}, ANY},
    {"linear_last", linear_last_alone, 2, {"b4k", "nk"}, ANY},
    {"linear_map", linear_relu, 3, {"rk", "nk", "n"}, POSITIVE},
    {"linear_map", linear_gelu, 3, {"brk", "nk", "n"}, ANY},
    {"linear_map", linear_gelu_tanh, 3, {"brk", "nk", "n"}, ANY},
    {"linear_map", linear_gelu_tanh, 3, {"k", "nk", "n"}, ANY},
    {"linear_map", linear_silu, 2, {"rk", "nk"}, ANY},
    {"spectral_scale", spectral_scale, 4, {"M3", "1", "M", "3"}, POSITIVE},
    {"spectral_scale", spectral_scale, 4, {"2N", "1", "2", "N"}, POSITIVE},
    {"add", add, 2, {"mn", "mn"}, ANY},
    {"add", add, 2, {"bmn", "n"}, ANY},
    {"add", add, 2, {"bmn", "mn"}, ANY},
    {"add", add, 2, {"", "mn"}, ANY},
    {"add", add, 2, {"m1", "1n"}, ANY},
    {"sub", sub, 2, {"mn", "mn"}, ANY},
    {"sub", sub, 2, {"mn", "m1"}, ANY},
    {"sub", sub, 2, {"n", "bmn"}, ANY},
    {"mul", mul, 2, {"mn", "mn"}, ANY},
    {"mul", mul, 2, {"m1", "1n"}, ANY},
    {"mul", mul, 2, {"bmn", "1"}, ANY},
    {"mul", mul, 2, {"b1n", "m1"}, ANY},
    {"mul", mul, 2, {"b1m1", "1n1k"}, ANY},
    {"mul", mul, 2, {"", ""}, ANY},
    {"div", division, 2, {"mn", "mn"}, ANY},
    {"div", division, 2, {"bmn", "m1"}, ANY},
    {"div", division, 2, {"1", "mn"}, ANY},
    {"div", division, 2, {"n", "bmn"}, ANY},
    {"scale", scale, 1, {"mn"}, ANY},
    {"exp", exponential, 1, {"mn"}, ANY},
    {"log", logarithm, 1, {"mn"}, POSITIVE},
    {"tanh", tangent, 1, {"bmn"}, ANY},
    {"erf", error_function, 1, {"mn"}, ANY},
    {"relu", relu, 1, {"mn"}, ANY},
    {"gelu", gelu, 1, {"mn"}, ANY},
    {"gelu_tanh", gelu_tanh, 1, {"mn"}, ANY},
    {"silu", silu, 1, {"mn"}, ANY},
    {"softmax", softmax, 1, {"mn"}, ANY},
    {"softmax", softmax, 1, {"n"}, ANY},
    {"log_softmax", log_softmax, 1, {"bmn"}, ANY},
    {"layer_norm", layer_norm, 1, {"mn"}, ANY},
    {"layer_norm", layer_norm_gain, 2, {"mn", "n"}, ANY},
    {"layer_norm", layer_norm_bias, 3, {"bmn", "n", "n"}, ANY},
    {"rms_norm", rms_norm, 1, {"mn"}, ANY},
    {"rms_norm", rms_norm_gain, 2, {"bmn", "n"}, ANY},
    {"l2_norm", l2_norm, 1, {"bmn"}, ANY},
    {NULL, view, 1, {"bmn"}, ANY},
    {NULL, view_of_result, 1, {"mn"}, ANY},
    {"transpose", transpose_outer, 1, {"bmn"}, ANY},
    {"transpose", transpose_inner, 1, {"mn"}, ANY},
    {"transpose", transpose_heads, 1, {"bmn2"}, ANY},
    {"transpose", transpose_same, 1, {"mn"}, ANY},
    {"slice", slice_first, 1, {"3n"}, ANY},
    {"slice", slice_last, 1, {"bm5"}, ANY},
    {"slice", slice_nothing, 1, {"4n"}, ANY},
    {"concat", concat_first, 2, {"mn", "kn"}, ANY},
    {"concat", concat_last, 3, {"bm", "bn", "b2"}, ANY},
    {"concat", concat_itself, 2, {"mn", "kn"}, ANY},
    {"concat", concat_one, 1, {"mn"}, ANY},
    {"sum", sum_first, 1, {"mn"}, ANY},
    {"sum", sum_last, 1, {"bmn"}, ANY},
    {"sum", sum_middle, 1, {"bmn"}, ANY},
    {"sum", sum_all, 1, {"bmn"}, ANY},
    {"mean", mean_first, 1, {"Mn"}, ANY},
    {"mean", mean_last, 1, {"bmN"}, ANY},
    {"mean", mean_all, 1, {"MN"}, ANY},
    {"max", max_first, 1, {"Mn"}, ANY},
    {"max", max_last, 1, {"bmN"}, ANY},
    {"embedding", embedding, 1, {"Vd"}, ANY},
    {"embedding", embedding_of_nothing, 1, {"vd"}, ANY},
    {"embedding", embedding_of_one, 1, {"Vd"}, ANY},
    {"dropout", dropout, 1, {"bmn"}, ANY},
    {"rope", rope, 1, {"bth4"}, ANY},
    {"rope", rope_later, 1, {"bth4"}, ANY},
    {"rope", rope, 1, {"bt12"}, ANY},
    {"cross_entropy", cross_entropy, 1, {"mV"}, ANY},
    {"cross_entropy", cross_entropy_ignored, 1, {"bmV"}, ANY},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const row *row_at(int i)
{
    return &rows[i];
}

/* ---- the table and the ops ------------------------------------------------------------------- */

START_TEST(every_op_has_a_row)
{
    ck_assert_uint_gt(rdk_op_count(), 0);
    for (size_t i = 0; i < rdk_op_count(); i++) {
        const rdk_op *op = rdk_op_at(i);
        bool elsewhere = strstr(op->name, "attention") != NULL; /* test_attention_gradcheck.c */
        bool found = elsewhere || has_row(N_ROWS, op->name);
        ck_assert_msg(found, "op %s has no row in tests/double/test_ops_gradcheck.c", op->name);
        ck_assert_msg(op->backward && op->formula && op->formula[0], "op %s is incomplete",
                      op->name);
        for (size_t j = 0; j < i; j++) ck_assert_str_ne(rdk_op_at(j)->name, op->name);
    }
    ck_assert_ptr_null(rdk_op_at(rdk_op_count()));
}
END_TEST

START_TEST(every_row_is_of_an_op)
{
    for (int r = 0; r < N_ROWS; r++) {
        bool found = !rows[r].op;
        for (size_t i = 0; i < rdk_op_count(); i++)
            found |= !found && strcmp(rdk_op_at(i)->name, rows[r].op) == 0;
        ck_assert_msg(found, "op %s is not in src/ops/table.c", rows[r].op);
    }
}
END_TEST

/* ---- the guard against the checks: wrong gradients are seen ---------------------------------- */

/* y = x^2 whose author forgot the 2. */
static void wrong_square_backward(rdk_tape *t, const rdk_node *n)
{
    rdk_real *dx = rdk_grad(t, n->in[0]);
    for (size_t i = 0; i < rdk_size(n->out); i++) dx[i] += n->in[0]->data[i] * n->out->grad[i];
}

static const rdk_op wrong_square = {"wrong_square", "y = x^2", wrong_square_backward};

static rdk_tensor *build_wrong_square(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    rdk_tensor *y = rdk_tape_tensor(t, x[0]->n_dims, x[0]->dim);
    for (size_t i = 0; i < rdk_size(x[0]); i++) y->data[i] = x[0]->data[i] * x[0]->data[i];
    return rdk_tape_record(t, &wrong_square, y, 1, x, NULL);
}

START_TEST(forgotten_factor_is_seen)
{
    leaves l = make_leaves(N_ROWS - 1, ODD);
    rdk_check_result got = check(build_wrong_square, &rows[N_ROWS - 1], &l);
    ck_assert_close(got.worst_error, 0.5, 0.01, 1.0);
    ck_assert_close(got.analytic, got.numeric / 2, 1e-6, 1.0);
    free_leaves(&l);
}
END_TEST

static rdk_tensor *build_failure(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    return rdk_matmul(t, x[0], false, x[0], false);
}

START_TEST(failure_of_the_function_is_reported)
{
    rdk_real data[6] = {0};
    rdk_tensor x = {.data = data, .n_dims = 2, .dim = {2, 3}, .needs_grad = true};
    rdk_status s = {.code = RDK_OK};
    rdk_check_result result;
    ck_assert(!rdk_gradcheck(build_failure, NULL, 1, (rdk_tensor *[]){&x}, STEP, 0, &result, &s));
    ck_assert_int_eq(s.code, RDK_ESHAPE);
    ck_assert_ptr_nonnull(strstr(s.message, "[2, 3]"));
}
END_TEST

RDK_TEST_MAIN("ops: gradients", {
    ADD(every_op_has_a_row);
    ADD(every_row_is_of_an_op);
    ALL_CHECKS(N_ROWS);
    ADD(forgotten_factor_is_seen);
    ADD(failure_of_the_function_is_reported);
})
