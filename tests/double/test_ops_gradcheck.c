/* SPDX-License-Identifier: MIT
 * Every op against central differences, in double.
 *
 * Adding an op: give it a row in `rows`. Shapes are one character a dimension: a digit is itself, a
 * small letter a random size (0 too), a capital one that is never 0; the same letter is the same
 * size in all leaves of the row. An op of the table without a row fails here by name. */
#include <rootdk/ops.h>

#include "harness.h"

enum { MAX_LEAVES = 6, LETTERS = 128 };
static const double STEP = 1e-5, ALLOWED = 1e-6;

/* ---- builders: one call of the op on the leaves ---------------------------------------------- */

#define BUILDER(name, call)                                                                        \
    static rdk_tensor *name(rdk_tape *t, rdk_tensor *const *x, void *context)                      \
    {                                                                                              \
        (void)context;                                                                             \
        return call;                                                                               \
    }

BUILDER(matmul_nn, rdk_matmul(t, x[0], false, x[1], false))
BUILDER(matmul_tn, rdk_matmul(t, x[0], true, x[1], false))
BUILDER(matmul_nt, rdk_matmul(t, x[0], false, x[1], true))
BUILDER(matmul_tt, rdk_matmul(t, x[0], true, x[1], true))
BUILDER(linear, rdk_linear(t, x[0], x[1], NULL))
BUILDER(linear_bias, rdk_linear(t, x[0], x[1], x[2]))
BUILDER(add, rdk_add(t, x[0], x[1]))
BUILDER(sub, rdk_sub(t, x[0], x[1]))
BUILDER(mul, rdk_mul(t, x[0], x[1]))
BUILDER(division, rdk_div(t, x[0], x[1]))
BUILDER(scale, rdk_scale(t, x[0], -1.7))
BUILDER(exponential, rdk_exp(t, x[0]))
BUILDER(logarithm, rdk_log(t, x[0]))
BUILDER(tangent, rdk_tanh(t, x[0]))
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
BUILDER(rope, rdk_rope(t, x[0], 100))
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

static void train(rdk_tape *t)
{
    rdk_tape_training(t, true, (rdk_stream){.seed = 7, .purpose = RDK_FOR_DROPOUT, .step = 3}, 1);
}

static rdk_tensor *dropout(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    train(t);
    return rdk_dropout(t, x[0], 0.3);
}

static rdk_tensor *attend(rdk_tape *t, rdk_tensor *const *x, rdk_attention_args args)
{
    args.n_heads = 2;
    args.scale = 0.7;
    return rdk_attention(t, x[0], x[1], x[2], &args);
}

BUILDER(attention_full, attend(t, x, (rdk_attention_args){.causal = false}))
BUILDER(attention_causal, attend(t, x, (rdk_attention_args){.causal = true}))
BUILDER(attention_lengths,
        attend(t, x, (rdk_attention_args){.lengths = (int32_t[]){3, 0, 5}, .causal = true}))
BUILDER(attention_lengths_full, attend(t, x, (rdk_attention_args){.lengths = (int32_t[]){1, 5, 4}}))

static rdk_tensor *attention_dropout(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    train(t);
    return attend(t, x, (rdk_attention_args){.causal = true, .dropout = 0.25});
}

static rdk_tensor *attention_measured(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    size_t rows = x[0]->dim[0] * x[0]->dim[1] * 2;
    rdk_attention_row *measured = rdk_tape_alloc(t, rows, sizeof *measured);
    return attend(t, x, (rdk_attention_args){.causal = true, .rows = measured});
}

static rdk_tensor *add_up(rdk_tape *t, rdk_tensor *const *x, rdk_attention_args args)
{
    args.n_heads = 2;
    args.scale = 0.7;
    return rdk_additive_attention(t, x[0], x[1], x[2], x[3], &args);
}

BUILDER(additive_full, add_up(t, x, (rdk_attention_args){.causal = false}))
BUILDER(additive_causal, add_up(t, x, (rdk_attention_args){.causal = true}))
BUILDER(additive_lengths,
        add_up(t, x, (rdk_attention_args){.lengths = (int32_t[]){3, 0, 5}, .causal = true}))

static rdk_tensor *additive_dropout(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    train(t);
    return add_up(t, x, (rdk_attention_args){.causal = true, .dropout = 0.25});
}

BUILDER(spectral_scale, rdk_spectral_scale(t, x[0], x[1], x[2], x[3]))
BUILDER(attention_gain, attend(t, x, (rdk_attention_args){.causal = true, .gain = x[3]}))
BUILDER(attention_sink, attend(t, x, (rdk_attention_args){.causal = true, .sink = x[3]}))
BUILDER(attention_softcap, attend(t, x, (rdk_attention_args){.causal = true, .softcap = 0.3}))
BUILDER(attention_length, attend(t, x, (rdk_attention_args){.causal = true, .length_base = 3}))

/* Every policy at once, measured, with sequences that end early and dropout. */
static rdk_tensor *attention_policies(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    train(t);
    rdk_attention_row *measured = rdk_tape_alloc(t, 3 * 5 * 2, sizeof *measured);
    return attend(t, x,
                  (rdk_attention_args){.causal = true,
                                       .lengths = (int32_t[]){3, 0, 5},
                                       .dropout = 0.2,
                                       .rows = measured,
                                       .gain = x[3],
                                       .length_base = 2,
                                       .softcap = 0.7,
                                       .sink = x[4]});
}

/* Every policy on additive scores. */
static rdk_tensor *additive_policies(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    (void)context;
    return add_up(t, x,
                  (rdk_attention_args){.causal = true,
                                       .lengths = (int32_t[]){3, 0, 5},
                                       .gain = x[4],
                                       .length_base = 2,
                                       .softcap = 0.7,
                                       .sink = x[5]});
}

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

typedef enum { ANY, POSITIVE } domain;

typedef struct row {
    const char *op; /* as in the table; NULL: a view, which is not recorded */
    rdk_check_fn build;
    int n_leaves;
    const char *shape[MAX_LEAVES];
    domain values;
} row;

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
    {"rope", rope, 1, {"bt12"}, ANY},
    {"attention", attention_full, 3, {"bt6", "bt6", "bt4"}, ANY},
    {"attention", attention_causal, 3, {"bt2", "bt2", "bt8"}, ANY},
    {"attention", attention_lengths, 3, {"356", "356", "354"}, ANY},
    {"attention", attention_lengths_full, 3, {"356", "356", "352"}, ANY},
    {"attention", attention_dropout, 3, {"bt4", "bt4", "bt6"}, ANY},
    {"attention", attention_measured, 3, {"bt6", "bt6", "bt6"}, ANY},
    {"attention", attention_gain, 4, {"bt6", "bt6", "bt4", "2"}, ANY},
    {"attention", attention_sink, 4, {"bt4", "bt4", "bt6", "2"}, ANY},
    {"attention", attention_softcap, 3, {"bt6", "bt6", "bt6"}, ANY},
    {"attention", attention_length, 3, {"bt4", "bt4", "bt4"}, ANY},
    {"attention", attention_policies, 5, {"356", "356", "354", "2", "2"}, ANY},
    {"additive_attention", additive_full, 4, {"bt6", "bt6", "bt4", "23"}, ANY},
    {"additive_attention", additive_causal, 4, {"bt2", "bt2", "bt8", "21"}, ANY},
    {"additive_attention", additive_lengths, 4, {"356", "356", "354", "23"}, ANY},
    {"additive_attention", additive_dropout, 4, {"bt4", "bt4", "bt6", "22"}, ANY},
    {"additive_attention", additive_policies, 6, {"356", "356", "354", "23", "2", "2"}, ANY},
    {"cross_entropy", cross_entropy, 1, {"mV"}, ANY},
    {"cross_entropy", cross_entropy_ignored, 1, {"bmV"}, ANY},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* ---- leaves ---------------------------------------------------------------------------------- */

/* How the letters of a row are drawn. */
enum { ALL_ONE, ALL_ZERO, ODD, RANDOM, N_DRAWS = 7 };

typedef struct leaves {
    int n;
    rdk_tensor tensor[MAX_LEAVES];
    rdk_tensor *at[MAX_LEAVES];
    char text[200];
} leaves;

static rdk_draws cursor(int r, int draw, int purpose)
{
    const rdk_stream s = {.seed = 11, .purpose = RDK_FOR_TEST, .step = (uint64_t)r};
    return rdk_draws_at(s, (uint64_t)(draw * 100 + purpose));
}

static void draw_sizes(int r, int draw, size_t size[LETTERS])
{
    static const size_t odd[] = {9, 3, 5, 7, 11}, any[] = {0, 1, 2, 3, 5, 7};
    rdk_draws d = cursor(r, draw, 0);
    for (int c = 0; c < LETTERS; c++) {
        bool never_0 = c >= 'A' && c <= 'Z';
        size[c] = draw == ALL_ONE    ? 1
                  : draw == ALL_ZERO ? (size_t)never_0
                  : draw == ODD      ? odd[c % 3]
                                     : any[rdk_draw_below(&d, 6)];
        if (never_0 && size[c] == 0) size[c] = 4;
        if (c >= '0' && c <= '9') size[c] = (size_t)(c - '0');
    }
}

/* Away from 0 (the kink of relu, the pole of 1/x): magnitudes 0.2 to 1.2, either sign. */
static double draw_value(rdk_draws *d, domain values)
{
    double sign = rdk_draw_uniform(d) < 0.5 ? -1 : 1;
    double x = 0.2 + rdk_draw_uniform(d);
    return values == POSITIVE ? x : sign * x;
}

static leaves make_leaves(int r, int draw)
{
    size_t size[LETTERS];
    leaves l = {.n = rows[r].n_leaves};
    draw_sizes(r, draw, size);
    int used = snprintf(l.text, sizeof l.text, "row %d, op %s, draw %d:", r,
                        rows[r].op ? rows[r].op : "(view)", draw);
    for (int i = 0; i < l.n; i++) {
        rdk_tensor *x = &l.tensor[i];
        *x = (rdk_tensor){.needs_grad = true};
        for (const char *c = rows[r].shape[i]; *c; c++) x->dim[x->n_dims++] = size[(int)*c];
        x->data = rdk_alloc(rdk_size(x), sizeof *x->data, NULL);
        x->grad = rdk_alloc(rdk_size(x), sizeof *x->grad, NULL);
        rdk_draws d = cursor(r, draw, i + 1);
        for (size_t j = 0; j < rdk_size(x); j++) {
            x->data[j] = draw_value(&d, rows[r].values);
        }
        char shape[RDK_SHAPE_TEXT];
        used +=
            snprintf(l.text + used, sizeof l.text - (size_t)used, " %s", rdk_shape_text(x, shape));
    }
    return l;
}

/* Set after the struct stands where it will be used. */
static rdk_tensor *const *pointers(leaves *l)
{
    for (int i = 0; i < l->n; i++) l->at[i] = &l->tensor[i];
    return l->at;
}

static void free_leaves(leaves *l)
{
    for (int i = 0; i < l->n; i++) {
        rdk_free(l->tensor[i].data);
        rdk_free(l->tensor[i].grad);
    }
}

/* ---- the checks ------------------------------------------------------------------------------ */

static rdk_check_result check(rdk_check_fn f, const row *r, leaves *l)
{
    rdk_status s = {.code = RDK_OK};
    rdk_check_result result;
    bool ran = rdk_gradcheck(f, (void *)r, l->n, pointers(l), STEP, 0, &result, &s);
    ck_assert_msg(ran, "%s: %s", l->text, s.message);
    return result;
}

static void assert_gradient(const char *what, rdk_check_fn f, int r)
{
    for (int draw = 0; draw < N_DRAWS; draw++) {
        leaves l = make_leaves(r, draw);
        rdk_check_result got = check(f, &rows[r], &l);
        ck_assert_msg(
            got.worst_error <= ALLOWED,
            "%s, %s: error %.3g in leaf %d at %zu: backward says %.12g, differences %.12g", l.text,
            what, got.worst_error, got.worst_leaf, got.worst_at, got.analytic, got.numeric);
        free_leaves(&l);
    }
}

START_TEST(every_op_has_a_row)
{
    ck_assert_uint_gt(rdk_op_count(), 0);
    for (size_t i = 0; i < rdk_op_count(); i++) {
        const rdk_op *op = rdk_op_at(i);
        bool found = false;
        for (int r = 0; r < N_ROWS; r++) found |= rows[r].op && strcmp(rows[r].op, op->name) == 0;
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

static size_t recorded(const rdk_tape *t, const char *op)
{
    size_t n = 0;
    for (size_t i = 0; i < rdk_tape_length(t); i++) {
        n += strcmp(rdk_tape_node(t, i)->op->name, op) == 0;
    }
    return n;
}

START_TEST(row_records_its_op)
{
    const row *r = &rows[_i];
    rdk_tape *t = rdk_tape_new(NULL);
    leaves l = make_leaves(_i, ODD);
    rdk_tensor *y = r->build(t, pointers(&l), NULL);
    ck_assert_msg(y != NULL, "%s: %s", l.text, rdk_tape_status(t)->message);
    if (r->op) ck_assert_msg(recorded(t, r->op) == 1, "%s: the op is not recorded", l.text);
    free_leaves(&l);
    rdk_tape_free(t);
}
END_TEST

START_TEST(alone)
{
    assert_gradient("alone", rows[_i].build, _i);
}
END_TEST

/* The same tensors into two branches: once as they are, once scaled. */
static rdk_tensor *in_two_branches(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    const row *r = context;
    rdk_tensor *scaled[MAX_LEAVES];
    rdk_tensor *first = r->build(t, x, NULL);
    for (int i = 0; i < r->n_leaves; i++) scaled[i] = rdk_scale(t, x[i], 0.8);
    return rdk_add(t, first, r->build(t, scaled, NULL));
}

START_TEST(reused)
{
    assert_gradient("reused", in_two_branches, _i);
}
END_TEST

static rdk_tensor *then_transposed(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    const row *r = context;
    rdk_tensor *y = r->build(t, x, NULL);
    return y && y->n_dims >= 2 ? rdk_transpose(t, y, 0, -1) : y;
}

START_TEST(incoming_gradient_transposed)
{
    assert_gradient("transposed", then_transposed, _i);
}
END_TEST

static rdk_tensor *then_sliced(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    const row *r = context;
    rdk_tensor *y = r->build(t, x, NULL);
    return y && y->n_dims >= 1 ? rdk_slice(t, y, -1, rdk_cols(y) / 3, (rdk_cols(y) + 1) / 2) : y;
}

START_TEST(incoming_gradient_sliced)
{
    assert_gradient("sliced", then_sliced, _i);
}
END_TEST

/* Gradients from an upstream gradient that depends on the element alone. */
static void differentiate(const row *r, leaves *l)
{
    rdk_tape *t = rdk_tape_new(NULL);
    rdk_tensor *y = r->build(t, pointers(l), NULL);
    ck_assert_msg(y != NULL, "%s: %s", l->text, rdk_tape_status(t)->message);
    rdk_real *dy = rdk_alloc(rdk_size(y), sizeof *dy, NULL);
    for (size_t i = 0; i < rdk_size(y); i++) dy[i] = sin(1.0 + (double)i);
    if (y->needs_grad) {
        ck_assert_msg(rdk_tape_backward_from(t, y, dy), "%s: %s", l->text,
                      rdk_tape_status(t)->message);
    }
    rdk_free(dy);
    rdk_tape_free(t);
}

static void fill_gradients(leaves *l, double x)
{
    for (int i = 0; i < l->n; i++) {
        for (size_t j = 0; j < rdk_size(&l->tensor[i]); j++) l->tensor[i].grad[j] = x;
    }
}

START_TEST(adds_into_a_gradient_that_stands)
{
    for (int draw = 0; draw < N_DRAWS; draw++) {
        leaves fresh = make_leaves(_i, draw), standing = make_leaves(_i, draw);
        fill_gradients(&standing, 2.5);
        differentiate(&rows[_i], &fresh);
        differentiate(&rows[_i], &standing);
        for (int i = 0; i < fresh.n; i++) {
            for (size_t j = 0; j < rdk_size(&fresh.tensor[i]); j++) {
                double want = 2.5 + fresh.tensor[i].grad[j], got = standing.tensor[i].grad[j];
                ck_assert_msg(fabs(got - want) <= 1e-12 * fmax(1, fabs(want)),
                              "%s: leaf %d at %zu: %.15g, not %.15g", fresh.text, i, j, got, want);
            }
        }
        free_leaves(&fresh);
        free_leaves(&standing);
    }
}
END_TEST

/* A leaf that needs no gradient gets none, and the others get the very same. */
static void check_constant(int r, int draw, int constant)
{
    leaves all = make_leaves(r, draw), some = make_leaves(r, draw);
    some.tensor[constant].needs_grad = false;
    differentiate(&rows[r], &all);
    differentiate(&rows[r], &some);
    for (int i = 0; i < all.n; i++) {
        for (size_t j = 0; j < rdk_size(&all.tensor[i]); j++) {
            double want = i == constant ? 0 : all.tensor[i].grad[j];
            ck_assert_msg(some.tensor[i].grad[j] == want,
                          "%s: with leaf %d constant, leaf %d at %zu gets %.17g, not %.17g",
                          all.text, constant, i, j, some.tensor[i].grad[j], want);
        }
    }
    free_leaves(&all);
    free_leaves(&some);
}

START_TEST(constant_input)
{
    for (int draw = 0; draw < N_DRAWS; draw++) {
        for (int i = 0; i < rows[_i].n_leaves; i++) check_constant(_i, draw, i);
    }
}
END_TEST

/* ---- the guard against the checks: wrong gradients are seen ---------------------------------- */

static const rdk_op *spoilt; /* the op whose backward is called with the sign of dy turned */

static void spoilt_backward(rdk_tape *t, const rdk_node *n)
{
    for (size_t i = 0; i < rdk_size(n->out); i++) n->out->grad[i] = -n->out->grad[i];
    spoilt->backward(t, n);
}

static const rdk_op spoilt_op = {"spoilt", "", spoilt_backward};

static rdk_tensor *build_spoilt(rdk_tape *t, rdk_tensor *const *x, void *context)
{
    const row *r = context;
    rdk_tensor *y = r->build(t, x, NULL);
    for (size_t i = 0; i < rdk_tape_length(t); i++) {
        rdk_node *n = (rdk_node *)rdk_tape_node(t, i);
        if (!r->op || strcmp(n->op->name, r->op) != 0) continue;
        spoilt = n->op;
        n->op = &spoilt_op;
    }
    return y;
}

START_TEST(sign_turned_in_any_op_is_seen)
{
    if (!rows[_i].op) return;
    leaves l = make_leaves(_i, ODD);
    size_t elements = 0;
    rdk_tape *t = rdk_tape_new(NULL);
    elements = rdk_size(rows[_i].build(t, pointers(&l), NULL));
    rdk_tape_free(t);
    rdk_check_result got = check(build_spoilt, &rows[_i], &l);
    if (elements > 0) {
        ck_assert_msg(got.worst_error > 0.5, "%s: a turned sign went unseen (error %g)", l.text,
                      got.worst_error);
    }
    free_leaves(&l);
}
END_TEST

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
    ADD_LOOP(row_records_its_op, N_ROWS);
    ADD_LOOP(alone, N_ROWS);
    ADD_LOOP(reused, N_ROWS);
    ADD_LOOP(incoming_gradient_transposed, N_ROWS);
    ADD_LOOP(incoming_gradient_sliced, N_ROWS);
    ADD_LOOP(adds_into_a_gradient_that_stands, N_ROWS);
    ADD_LOOP(constant_input, N_ROWS);
    ADD_LOOP(sign_turned_in_any_op_is_seen, N_ROWS);
    ADD(forgotten_factor_is_seen);
    ADD(failure_of_the_function_is_reported);
})
