/* SPDX-License-Identifier: MIT
 * What the ops refuse: the message names the call, both shapes and the rule, and it sticks. */
#include <rootdk/ops.h>

#include "harness.h"

#define DIMS(...)                                                                                  \
    (const size_t[])                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static rdk_tape *new_tape(void)
{
    rdk_status s = {.code = RDK_OK};
    rdk_tape *t = rdk_tape_new(&s);
    ck_assert_msg(t != NULL, "%s", s.message);
    return t;
}

static rdk_tensor *scalar(rdk_tape *t, double x)
{
    const rdk_real value = (rdk_real)x;
    return rdk_tape_leaf(t, 0, NULL, &value, true);
}

/* 1, 2, 3, .. */
static rdk_tensor *counting(rdk_tape *t, int n_dims, const size_t *dim)
{
    rdk_tensor *x = rdk_tape_leaf(t, n_dims, dim, NULL, true);
    for (size_t i = 0; i < rdk_size(x); i++) x->data[i] = (rdk_real)(i + 1);
    return x;
}

#define ASSERT_OK(t) ck_assert_msg(rdk_tape_alive(t), "%s", rdk_tape_status(t)->message)

static void assert_fails(const rdk_tape *t, rdk_code code, const char *a, const char *b)
{
    const rdk_status *s = rdk_tape_status(t);
    ck_assert_msg(s->code == code, "status %d (%s), not %d", s->code, s->message, code);
    ck_assert_msg(strstr(s->message, a) != NULL, "'%s' lacks '%s'", s->message, a);
    ck_assert_msg(strstr(s->message, b) != NULL, "'%s' lacks '%s'", s->message, b);
}

/* Calls that cannot be, and what the message must say. */
typedef struct refusal {
    const char *says[3];
    rdk_code code;
    rdk_tensor *(*call)(rdk_tape *t, rdk_tensor *a, rdk_tensor *b); /* a: [2, 3], b: [4, 5] */
} refusal;

#define CALL(name, expression)                                                                     \
    static rdk_tensor *name(rdk_tape *t, rdk_tensor *a, rdk_tensor *b)                             \
    {                                                                                              \
        (void)t, (void)a, (void)b;                                                                 \
        return expression;                                                                         \
    }

static rdk_tensor *attend(rdk_tape *t, rdk_tensor *a, rdk_tensor *b, rdk_attention_args args)
{
    rdk_tensor *q = rdk_reshape(t, a, 3, DIMS(1, 2, 3)), *v = rdk_reshape(t, b, 3, DIMS(1, 2, 10));
    if (args.n_heads == 9) v = rdk_reshape(t, b, 3, DIMS(2, 1, 10)), args.n_heads = 1;
    return rdk_attention(t, q, q, v, &args);
}

static rdk_tensor *cube(rdk_tape *t, rdk_tensor *x)
{
    return rdk_reshape(t, x, 3, DIMS(x->dim[0], 1, x->dim[1]));
}

static rdk_tensor *grid(rdk_tape *t, rdk_tensor *x)
{
    return rdk_reshape(t, x, 4, DIMS(1, x->dim[0], 1, x->dim[1]));
}

static rdk_tensor *flat(rdk_tape *t, rdk_tensor *x)
{
    return rdk_reshape(t, x, 1, DIMS(rdk_size(x)));
}

static rdk_tensor *nothing(rdk_tape *t)
{
    return rdk_tape_leaf(t, 2, DIMS(0, 3), NULL, true);
}

CALL(bad_matmul, rdk_matmul(t, a, false, b, false))
CALL(bad_matmul_t, rdk_matmul(t, a, true, b, true))
CALL(bad_matmul_1d, rdk_matmul(t, a, false, flat(t, b), false))
CALL(bad_batch, rdk_matmul(t, cube(t, a), true, cube(t, b), false))
CALL(bad_linear, rdk_linear(t, a, b, NULL))
CALL(bad_bias, rdk_linear(t, a, a, flat(t, b)))
CALL(bad_linear_add, rdk_linear_add(t, a, b, NULL, a))
CALL(bad_residual, rdk_linear_add(t, a, a, NULL, a))
CALL(flat_linear_last, rdk_linear_last(t, a, 1, a, NULL))
CALL(bad_linear_last, rdk_linear_last(t, cube(t, a), 2, a, NULL))
CALL(bad_linear_map, rdk_linear_map(t, a, b, NULL, RDK_GELU))
CALL(bad_activation, rdk_linear_map(t, a, a, NULL, (rdk_activation)(RDK_SILU + 1)))
CALL(bad_add, rdk_add(t, a, b))
CALL(bad_sub, rdk_sub(t, a, b))
CALL(bad_mul, rdk_mul(t, b, a))
CALL(bad_div, rdk_div(t, a, b))
CALL(bad_softmax, rdk_softmax(t, rdk_sum_all(t, a)))
CALL(bad_log_softmax, rdk_log_softmax(t, rdk_sum_all(t, a)))
CALL(bad_gain, rdk_layer_norm(t, a, flat(t, b), NULL, 1e-5))
CALL(bad_rms_gain, rdk_rms_norm(t, a, b, 1e-5))
CALL(bad_eps, rdk_l2_norm(t, a, 0))
CALL(bad_reshape, rdk_reshape(t, a, 2, DIMS(4, 5)))
CALL(bad_reshape_size, rdk_reshape(t, a, 2, DIMS(SIZE_MAX, 5)))
CALL(bad_transpose, rdk_transpose(t, a, 0, 2))
CALL(bad_slice, rdk_slice(t, a, 1, 2, 4))
CALL(bad_slice_axis, rdk_slice(t, a, -3, 0, 1))
CALL(bad_concat, rdk_concat(t, 0, 2, (rdk_tensor *[]){a, b}))
CALL(bad_concat_many, rdk_concat(t, 0, 9, (rdk_tensor *[]){a, a, a, a, a, a, a, a, a}))
CALL(bad_sum, rdk_sum(t, a, 2))
CALL(bad_mean, rdk_mean(t, nothing(t), 0))
CALL(bad_mean_all, rdk_mean_all(t, nothing(t)))
CALL(bad_max, rdk_max(t, nothing(t), -2))
CALL(bad_table, rdk_embedding(t, flat(t, a), (int32_t[]){0}, 1, DIMS(1)))
CALL(bad_id, rdk_embedding(t, a, (int32_t[]){0, 1, 2}, 1, DIMS(3)))
CALL(bad_id_below, rdk_embedding(t, a, (int32_t[]){0, -1}, 1, DIMS(2)))
CALL(bad_dropout, rdk_dropout(t, a, 1))
CALL(bad_rope, rdk_rope(t, a, 0, 10))
CALL(bad_rope_odd, rdk_rope(t, grid(t, a), 0, 10))
CALL(bad_rope_base, rdk_rope(t, rdk_reshape(t, b, 4, DIMS(1, 2, 5, 2)), 0, 1))
static rdk_tensor *add_up(rdk_tape *t, rdk_tensor *a, rdk_tensor *w, size_t heads)
{
    rdk_tensor *q = rdk_reshape(t, a, 3, DIMS(1, 2, 3));
    rdk_attention_args args = {.n_heads = heads, .scale = 1};
    return rdk_additive_attention(t, q, q, q, w, &args);
}

CALL(bad_weight, add_up(t, a, b, 1))
CALL(flat_weight, add_up(t, a, rdk_slice(t, flat(t, a), 0, 0, 3), 3))
CALL(additive_heads, add_up(t, a, b, 2))
CALL(bad_heads, attend(t, a, b, (rdk_attention_args){.n_heads = 2, .scale = 1}))
CALL(no_heads, attend(t, a, b, (rdk_attention_args){.n_heads = 0, .scale = 1}))
CALL(bad_places, attend(t, a, b, (rdk_attention_args){.n_heads = 9, .scale = 1}))
CALL(bad_length, attend(t, a, b, (rdk_attention_args){.n_heads = 1, .lengths = (int32_t[]){3}}))
CALL(bad_length_below,
     attend(t, a, b, (rdk_attention_args){.n_heads = 1, .lengths = (int32_t[]){-1}}))
CALL(bad_scale, attend(t, a, b, (rdk_attention_args){.n_heads = 1, .scale = NAN}))
CALL(bad_p, attend(t, a, b, (rdk_attention_args){.n_heads = 1, .dropout = 1.5}))
CALL(bad_score_gain, attend(t, a, b, (rdk_attention_args){.n_heads = 1, .gain = flat(t, b)}))
CALL(bad_sink, attend(t, a, b, (rdk_attention_args){.n_heads = 1, .sink = flat(t, b)}))
CALL(bad_softcap, attend(t, a, b, (rdk_attention_args){.n_heads = 1, .softcap = -2}))
CALL(bad_base, attend(t, a, b, (rdk_attention_args){.n_heads = 1, .length_base = 1}))
CALL(bad_spectral, rdk_spectral_scale(t, a, flat(t, a), flat(t, a), flat(t, b)))
CALL(bad_target, rdk_cross_entropy(t, a, (int32_t[]){0, 3}, 1, NULL, NULL))
CALL(bad_target_below, rdk_cross_entropy(t, a, (int32_t[]){-2, 0}, 1, NULL, NULL))
CALL(bad_denominator, rdk_cross_entropy(t, a, (int32_t[]){0, 0}, 0, NULL, NULL))
CALL(bad_dims, rdk_tape_tensor(t, 7, DIMS(1, 1, 1, 1, 1, 1, 1)))
CALL(too_large, rdk_tape_tensor(t, 3, DIMS(SIZE_MAX / 2, 4, 1)))

static const refusal refusals[] = {
    {{"matmul of [2, 3] and [4, 5]", "inner sizes 3 and 4"}, RDK_ESHAPE, bad_matmul},
    {{"matmul of [2, 3] and [4, 5]", "2 (a transposed) and 5 (b transposed)"},
     RDK_ESHAPE,
     bad_matmul_t},
    {{"matmul of [2, 3] and [20]", "two dimensions"}, RDK_ESHAPE, bad_matmul_1d},
    {{"matmul of [2, 1, 3] and [4, 1, 5]", "leading dimensions"}, RDK_ESHAPE, bad_batch},
    {{"linear of [2, 3] and [4, 5]", "[out, 3]"}, RDK_ESHAPE, bad_linear},
    {{"linear_add of [2, 3], [4, 5] and [2, 3]", "[out, 3]"}, RDK_ESHAPE, bad_linear_add},
    {{"linear_add of [2, 3], [2, 3] and [2, 3]", "[.., 2], as x W^T"}, RDK_ESHAPE, bad_residual},
    {{"linear_last of [2, 3] and [2, 3]", "[B, T, in]"}, RDK_ESHAPE, flat_linear_last},
    {{"linear_last of [2, 1, 3] and [2, 3]", "no last 2 of 1"}, RDK_ESHAPE, bad_linear_last},
    {{"linear_map of [2, 3] and [4, 5]", "[out, 3]"}, RDK_ESHAPE, bad_linear_map},
    {{"linear_map", "no activation 4"}, RDK_EVALUE, bad_activation},
    {{"linear of [2, 3], [2, 3] and [20]", "must be [2]"}, RDK_ESHAPE, bad_bias},
    {{"spectral_scale of [2, 3]", "[out, in], [1], [out] and [in]"}, RDK_ESHAPE, bad_spectral},
    {{"attention with a gain of [20]", "must be [H], here [1]"}, RDK_ESHAPE, bad_score_gain},
    {{"attention with a sink of [20]", "must be [H], here [1]"}, RDK_ESHAPE, bad_sink},
    {{"attention with softcap -2", "positive, or 0"}, RDK_EVALUE, bad_softcap},
    {{"attention with length_base 1", "above 1, or 0"}, RDK_EVALUE, bad_base},
    {{"add of [2, 3] and [4, 5]", "equal or 1"}, RDK_ESHAPE, bad_add},
    {{"sub of [2, 3] and [4, 5]", "equal or 1"}, RDK_ESHAPE, bad_sub},
    {{"mul of [4, 5] and [2, 3]", "equal or 1"}, RDK_ESHAPE, bad_mul},
    {{"div of [2, 3] and [4, 5]", "equal or 1"}, RDK_ESHAPE, bad_div},
    {{"softmax of []", "scalar"}, RDK_ESHAPE, bad_softmax},
    {{"log_softmax of []", "scalar"}, RDK_ESHAPE, bad_log_softmax},
    {{"layer_norm of [2, 3] and [20]", "must be [3]"}, RDK_ESHAPE, bad_gain},
    {{"rms_norm of [2, 3] and [4, 5]", "must be [3]"}, RDK_ESHAPE, bad_rms_gain},
    {{"l2_norm", "eps 0"}, RDK_EVALUE, bad_eps},
    {{"reshape of [2, 3] to [4, 5]", "number of elements"}, RDK_ESHAPE, bad_reshape},
    {{"reshape of [2, 3]", "number of elements"}, RDK_ESHAPE, bad_reshape_size},
    {{"transpose of [2, 3]", "axes 0 and 2"}, RDK_ESHAPE, bad_transpose},
    {{"slice of [2, 3]", "2 to 4", "axis 1 (3)"}, RDK_ESHAPE, bad_slice},
    {{"slice of [2, 3]", "no axis -3"}, RDK_ESHAPE, bad_slice_axis},
    {{"concat of [2, 3] and [4, 5]", "along axis 0 only"}, RDK_ESHAPE, bad_concat},
    {{"concat of 9", "1 to 8"}, RDK_EVALUE, bad_concat_many},
    {{"sum of [2, 3]", "no axis 2"}, RDK_ESHAPE, bad_sum},
    {{"mean of [0, 3]", "empty"}, RDK_ESHAPE, bad_mean},
    {{"mean of [0]", "empty"}, RDK_ESHAPE, bad_mean_all},
    {{"max of [0, 3]", "empty"}, RDK_ESHAPE, bad_max},
    {{"embedding of [6]", "[v, d]"}, RDK_ESHAPE, bad_table},
    {{"id 2 at position 2", "2 rows"}, RDK_EVALUE, bad_id},
    {{"id -1 at position 1", "2 rows"}, RDK_EVALUE, bad_id_below},
    {{"dropout with p 1", "0 <= p < 1"}, RDK_EVALUE, bad_dropout},
    {{"rope of [2, 3]", "[B, T, H, d]"}, RDK_ESHAPE, bad_rope},
    {{"rope of [1, 2, 1, 3]", "3 is odd"}, RDK_ESHAPE, bad_rope_odd},
    {{"rope with base 1", "above 1"}, RDK_EVALUE, bad_rope_base},
    {{"attention of [1, 2, 3], [1, 2, 3] and [1, 2, 10]", "2 heads do not divide 3"},
     RDK_ESHAPE,
     bad_heads},
    {{"attention of [1, 2, 3]", "0 heads"}, RDK_ESHAPE, no_heads},
    {{"attention of [1, 2, 3]", "[2, 1, 10]"}, RDK_ESHAPE, bad_places},
    {{"additive_attention with a w of [4, 5]", "[H, d_k], here [1, 3]"}, RDK_ESHAPE, bad_weight},
    {{"additive_attention with a w of [3]", "here [3, 1]"}, RDK_ESHAPE, flat_weight},
    {{"additive_attention of [1, 2, 3]", "2 heads do not divide 3"}, RDK_ESHAPE, additive_heads},
    {{"length 3 of sequence 0", "0 to 2"}, RDK_EVALUE, bad_length},
    {{"length -1 of sequence 0", "0 to 2"}, RDK_EVALUE, bad_length_below},
    {{"attention with scale nan", "finite"}, RDK_EVALUE, bad_scale},
    {{"attention with dropout 1.5", "0 <= p < 1"}, RDK_EVALUE, bad_p},
    {{"target 3 at position 1", "3 classes"}, RDK_EVALUE, bad_target},
    {{"target -2 at position 0", "-1 is ignored"}, RDK_EVALUE, bad_target_below},
    {{"denominator 0", "above 0"}, RDK_EVALUE, bad_denominator},
    {{"7 dimensions", "0 to 6"}, RDK_ESHAPE, bad_dims},
    {{"overflows at dimension 1"}, RDK_ENOMEM, too_large},
};

START_TEST(refused_with_both_shapes_and_sticky)
{
    const refusal *r = &refusals[_i];
    rdk_tape *t = new_tape();
    rdk_tensor *a = counting(t, 2, DIMS(2, 3)), *b = counting(t, 2, DIMS(4, 5));
    ck_assert_ptr_null(r->call(t, a, b));
    for (int i = 0; i < 3 && r->says[i]; i++) assert_fails(t, r->code, r->says[i], "");

    /* Sticky: what is right does nothing, and a second wrong does not replace the first message. */
    size_t length = rdk_tape_length(t);
    char first[sizeof rdk_tape_status(t)->message];
    strcpy(first, rdk_tape_status(t)->message);
    ck_assert_ptr_null(rdk_exp(t, a));
    ck_assert_ptr_null(rdk_matmul(t, a, false, b, false));
    ck_assert_ptr_null(rdk_tape_leaf(t, 0, NULL, NULL, true));
    ck_assert(!rdk_tape_backward(t, a));
    ck_assert_str_eq(rdk_tape_status(t)->message, first);
    ck_assert_uint_eq(rdk_tape_length(t), length);

    rdk_tape_reset(t);
    ck_assert(rdk_tape_backward(t, rdk_exp(t, scalar(t, 0))));
    rdk_tape_free(t);
}
END_TEST

START_TEST(names_stand_in_messages)
{
    rdk_tape *t = new_tape();
    rdk_tensor *a = counting(t, 2, DIMS(2, 3)), *b = counting(t, 2, DIMS(4, 5));
    a->name = "layers.0.attention.wq";
    ck_assert_ptr_null(rdk_add(t, a, b));
    assert_fails(t, RDK_ESHAPE, "layers.0.attention.w", " [2, 3] and [4, 5]");
    rdk_tensor widest = {.n_dims = RDK_MAX_DIMS, .name = a->name};
    for (int i = 0; i < RDK_MAX_DIMS; i++) widest.dim[i] = SIZE_MAX;
    char text[RDK_SHAPE_TEXT];
    ck_assert_int_eq(rdk_shape_text(&widest, text)[strlen(text) - 1], ']');
    rdk_tape_free(t);
}
END_TEST

START_TEST(null_inputs_give_null)
{
    rdk_tape *t = new_tape();
    rdk_tensor *a = counting(t, 2, DIMS(2, 3));
    ck_assert_ptr_null(rdk_matmul(t, a, false, NULL, false));
    ck_assert_ptr_null(rdk_linear(t, NULL, a, NULL));
    ck_assert_ptr_null(rdk_add(t, NULL, a));
    ck_assert_ptr_null(rdk_softmax(t, NULL));
    ck_assert_ptr_null(rdk_sum_all(t, NULL));
    ck_assert_ptr_null(rdk_concat(t, 0, 2, (rdk_tensor *[]){a, NULL}));
    ck_assert_ptr_null(rdk_exp(NULL, a));
    ASSERT_OK(t);
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("ops: refusals", {
    ADD_LOOP(refused_with_both_shapes_and_sticky, sizeof refusals / sizeof refusals[0]);
    ADD(names_stand_in_messages);
    ADD(null_inputs_give_null);
})
