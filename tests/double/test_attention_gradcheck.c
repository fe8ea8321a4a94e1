/* SPDX-License-Identifier: MIT
 * Both attentions against central differences, in double: masks, lengths, dropout, and all that may
 * be done to a score before the softmax.
 * Read next: ops_gradcheck.h. */
#include "ops_gradcheck.h"

/* ---- builders: one call of the op on the leaves ---------------------------------------------- */

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

/* Operands that are one tensor have one gradient, to which all their parts go. */
static rdk_tensor *shared(rdk_tape *t, rdk_tensor *q, rdk_tensor *k, rdk_tensor *v, bool causal)
{
    return attend(t, (rdk_tensor *[]){q, k, v},
                  (rdk_attention_args){.lengths = (int32_t[]){3, 0, 5}, .causal = causal});
}

BUILDER(attention_of_one, shared(t, x[0], x[0], x[0], true))
BUILDER(attention_of_one_full, shared(t, x[0], x[0], x[0], false))
BUILDER(attention_key_is_value, shared(t, x[0], x[1], x[1], false))
BUILDER(attention_query_is_key, shared(t, x[0], x[0], x[1], false))
BUILDER(attention_query_is_value, shared(t, x[0], x[1], x[0], false))

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

/* ---- the table ------------------------------------------------------------------------------- */

static const row rows[] = {
    {"attention", attention_full, 3, {"bt6", "bt6", "bt4"}, ANY},
    {"attention", attention_causal, 3, {"bt2", "bt2", "bt8"}, ANY},
    {"attention", attention_lengths, 3, {"356", "356", "354"}, ANY},
    {"attention", attention_lengths_full, 3, {"356", "356", "352"}, ANY},
    {"attention", attention_causal, 3, {"326", "356", "354"}, ANY},
    {"attention", attention_full, 3, {"b26", "b56", "b52"}, ANY},
    {"attention", attention_lengths, 3, {"336", "356", "354"}, ANY},
    {"attention", attention_lengths_full, 3, {"326", "356", "352"}, ANY},
    {"attention", attention_policies, 5, {"336", "356", "354", "2", "2"}, ANY},
    {"attention", attention_of_one, 1, {"356"}, ANY},
    {"attention", attention_of_one_full, 1, {"356"}, ANY},
    {"attention", attention_key_is_value, 2, {"356", "356"}, ANY},
    {"attention", attention_query_is_key, 2, {"356", "356"}, ANY},
    {"attention", attention_query_is_value, 2, {"356", "356"}, ANY},
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
    {"additive_attention", additive_full, 4, {"b26", "b56", "b54", "23"}, ANY},
    {"additive_attention", additive_lengths, 4, {"336", "356", "354", "23"}, ANY},
    {"additive_attention", additive_dropout, 4, {"bt4", "bt4", "bt6", "22"}, ANY},
    {"additive_attention", additive_policies, 6, {"356", "356", "354", "23", "2", "2"}, ANY},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const row *row_at(int i)
{
    return &rows[i];
}

START_TEST(every_attention_has_a_row)
{
    for (size_t i = 0; i < rdk_op_count(); i++) {
        const char *op = rdk_op_at(i)->name;
        ck_assert_msg(!strstr(op, "attention") || has_row(N_ROWS, op),
                      "op %s has no row in tests/double/test_attention_gradcheck.c", op);
    }
}
END_TEST

RDK_TEST_MAIN("attention: gradients", {
    ADD(every_attention_has_a_row);
    ALL_CHECKS(N_ROWS);
})
