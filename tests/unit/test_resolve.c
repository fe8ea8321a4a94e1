/* SPDX-License-Identifier: MIT
 * What is left to rule, and what several options say together. */
#include "options_fixture.h"

static bool resolve(rdk_config *c, rdk_status *s)
{
    rdk_task *task = rdk_task_open(&c->task, s);
    bool resolved = task && rdk_config_resolve(c, task, s);
    rdk_task_close(task);
    return resolved;
}

static void resolved(rdk_config *c)
{
    rdk_status s = {0};
    ck_assert_msg(resolve(c, &s), "%s", s.message);
}

static void unresolved(rdk_config *c, const char *a, const char *b)
{
    rdk_status s = {0};
    ck_assert(!resolve(c, &s));
    ck_assert_int_eq(s.code, RDK_EVALUE);
    ck_assert_msg(strstr(s.message, a) && strstr(s.message, b), "%s", s.message);
}

START_TEST(the_default_run_is_the_pilot)
{
    rdk_config_init(&config);
    resolved(&config);
    ck_assert_uint_eq(config.model.layers, 2);
    ck_assert_uint_eq(config.model.heads, 2);
    ck_assert_uint_eq(config.model.d_model, 64);
    ck_assert_uint_eq(config.model.d_k, 64);
    ck_assert_uint_eq(config.model.d_ff, 256);
    ck_assert_str_eq(config.task.name, "recall");
    ck_assert_uint_eq(config.task.length, 8);
    ck_assert_uint_eq(config.task.vocab, 64);
    ck_assert_uint_eq(config.model.max_len, 24);
    ck_assert_uint_eq(config.eval_size, 1024);
    ck_assert_int_eq(config.model.qk_norm, RDK_QK_OFF);
}
END_TEST

START_TEST(the_width_of_a_head)
{
    static const struct {
        const char *d_model, *heads, *d_k;
        size_t expected;
    } cases[] = {
        {"auto", "auto", "auto", 64}, {"auto", "auto", "32", 32}, {"64", "auto", "auto", 32},
        {"auto", "4", "auto", 16},    {"128", "4", "auto", 32},   {"48", "3", "auto", 16},
        {"65", "4", "10", 10},        {"64", "2", "auto", 32},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        rdk_config_init(&config);
        set(&config, "d-model", cases[k].d_model);
        set(&config, "heads", cases[k].heads);
        set(&config, "d-k", cases[k].d_k);
        resolved(&config);
        ck_assert_uint_eq(config.model.d_k, cases[k].expected);
    }
    rdk_config_init(&config);
    set(&config, "d-model", "65");
    set(&config, "heads", "4");
    unresolved(&config, "--d-model 65", "--heads 4");
}
END_TEST

START_TEST(qk_norm_follows_the_scaling_until_it_is_set)
{
    rdk_config_init(&config);
    set(&config, "scale", "qknorm");
    resolved(&config);
    ck_assert_int_eq(config.model.qk_norm, RDK_QK_LAYER);
    ck_assert(config.model.qk_gain == 1);
    rdk_config_init(&config);
    set(&config, "scale", "qknorm");
    set(&config, "qk-norm", "off");
    resolved(&config);
    ck_assert_int_eq(config.model.qk_norm, RDK_QK_OFF);
    rdk_config_init(&config);
    set(&config, "scale", "0.5");
    set(&config, "qk-norm", "l2");
    set(&config, "d-k", "50");
    resolved(&config);
    ck_assert(config.model.qk_gain == sqrt(50));
    round_trip(&config);
}
END_TEST

START_TEST(the_scale_follows_the_attention_until_it_is_set)
{
    static const struct {
        const char *attention, *scale, *want;
    } cases[] = {{"dot", "auto", "sqrt"},
                 {"additive", "auto", "none"},
                 {"additive", "0.5", "0.5"},
                 {"dot", "none", "none"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rdk_config_init(&config);
        set(&config, "attention", cases[i].attention);
        set(&config, "scale", cases[i].scale);
        resolved(&config);
        ck_assert_str_eq(config.model.scale, cases[i].want);
        round_trip(&config);
    }
    rdk_config_init(&config);
    resolved(&config);
    rdk_config_unresolve(&config);
    set(&config, "attention", "additive"); /* over a resolved file */
    resolved(&config);
    ck_assert_str_eq(config.model.scale, "none");
    rdk_config_unresolve(&config);
    set(&config, "attention", "dot");
    resolved(&config);
    ck_assert_str_eq(config.model.scale, "sqrt");
}
END_TEST

START_TEST(resolving_twice_changes_nothing)
{
    static const char *const lines[] = {"",
                                        "heads = 4",
                                        "scale = qknorm\nd-model = 96",
                                        "steps = 20",
                                        "task = sort\nqk-norm = l2",
                                        "attention = additive"};
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        rdk_status s = {0};
        rdk_config_init(&config);
        ck_assert(rdk_config_read(&config, lines[k], "f", NULL, &s));
        resolved(&config);
        rdk_text first = written(&config);
        rdk_config_init(&other);
        ck_assert(rdk_config_read(&other, first.data, "f", NULL, &s));
        resolved(&other);
        rdk_text second = written(&other);
        ck_assert_str_eq(first.data, second.data);
        ck_assert_ptr_null(strstr(first.data, "d-k = auto"));
        rdk_text_free(&first);
        rdk_text_free(&second);
    }
}
END_TEST

/* The rule is taken back only where it was followed. */
START_TEST(an_option_over_a_resolved_file_carries_its_followers)
{
    rdk_config_init(&config);
    set(&config, "d-model", "128");
    set(&config, "heads", "4");
    resolved(&config);
    rdk_text before = written(&config);
    rdk_config_unresolve(&config);
    resolved(&config);
    rdk_text after = written(&config);
    ck_assert_str_eq(before.data, after.data);
    rdk_text_free(&before);
    rdk_text_free(&after);

    rdk_config_unresolve(&config);
    set(&config, "scale", "qknorm");
    set(&config, "heads", "8");
    set(&config, "d-model", "256");
    resolved(&config);
    ck_assert_int_eq(config.model.qk_norm, RDK_QK_LAYER);
    ck_assert_uint_eq(config.model.d_k, 32);
    ck_assert_uint_eq(config.model.d_ff, 1024);

    rdk_config_unresolve(&config);
    set(&config, "scale", "none");
    resolved(&config);
    ck_assert_int_eq(config.model.qk_norm, RDK_QK_OFF);
    ck_assert(config.model.qk_gain == 0);

    set(&config, "qk-norm", "rms");
    set(&config, "qk-gain", "3");
    set(&config, "d-k", "5");
    resolved(&config);
    rdk_config_unresolve(&config);
    set(&config, "scale", "sqrt");
    resolved(&config);
    ck_assert_int_eq(config.model.qk_norm, RDK_QK_RMS);
    ck_assert(config.model.qk_gain == 3);
    ck_assert_uint_eq(config.model.d_k, 5);
}
END_TEST

/* A forward pass is a third of an update: 10/3 of the updates that an evaluation is worth, in
 * hundreds. Where that is below 100 it is 100. */
START_TEST(evaluating_takes_a_tenth_of_the_time)
{
    static const struct {
        const char *eval_size, *batch, *accum;
        uint64_t expected;
    } cases[] = {{"auto", "64", "1", 100},   {"1743", "12", "1", 500}, {"1743", "12", "4", 200},
                 {"15625", "12", "1", 4400}, {"8", "4", "1", 100},     {"360", "12", "1", 100},
                 {"361", "12", "1", 200}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        rdk_config_init(&config);
        set(&config, "eval-size", cases[k].eval_size);
        set(&config, "batch", cases[k].batch);
        set(&config, "accum", cases[k].accum);
        resolved(&config);
        ck_assert_uint_eq(config.eval_every, cases[k].expected);
        set(&config, "steps", "17"); /* no matter how long the run is */
        resolved(&config);
        ck_assert_uint_eq(config.eval_every, cases[k].expected);
    }
    rdk_config_init(&config);
    set(&config, "eval-every", "0");
    resolved(&config);
    ck_assert_uint_eq(config.eval_every, 0);
}
END_TEST

/* The task's own sizes, and the rhythm of evaluations, follow too. */
START_TEST(another_task_over_a_resolved_file_has_its_own_sizes)
{
    rdk_config_init(&config);
    resolved(&config);
    rdk_config_unresolve(&config);
    set(&config, "task", "sort");
    set(&config, "batch", "8");
    resolved(&config);
    rdk_config_init(&other);
    set(&other, "task", "sort");
    set(&other, "batch", "8");
    resolved(&other);
    ck_assert_uint_eq(config.task.length, other.task.length);
    ck_assert_uint_eq(config.task.vocab, other.task.vocab);
    ck_assert_uint_eq(config.eval_every, 500);
    ck_assert_uint_eq(other.eval_every, 500);
    set(&config, "vocab", "7");
    set(&config, "eval-every", "300");
    resolved(&config);
    rdk_config_unresolve(&config);
    set(&config, "task", "copy");
    resolved(&config);
    ck_assert_uint_eq(config.task.vocab, 7);
    ck_assert_uint_eq(config.eval_every, 300);
}
END_TEST

START_TEST(options_that_contradict_each_other)
{
    rdk_config_init(&config);
    set(&config, "steps", "20");
    resolved(&config);
    ck_assert_uint_eq(config.optim.warmup, 20);
    rdk_config_init(&config);
    set(&config, "steps", "20");
    set(&config, "stop-at", "21");
    unresolved(&config, "--stop-at 21", "--steps 20");
    set(&config, "stop-at", "20");
    resolved(&config);
    rdk_config_init(&config);
    set(&config, "lr", "1e-4");
    set(&config, "min-lr", "2e-4");
    unresolved(&config, "--min-lr 0.0002", "--lr 0.0001");
}
END_TEST

START_TEST(absurd_sizes_are_refused_before_any_allocation)
{
    static const char *const most[] = {"batch", "accum", "layers", "d-model", "d-k", "d-ff"};
    rdk_config_init(&config);
    set(&config, "batch", "1048576");
    set(&config, "layers", "1000");
    unresolved(&config, "--batch 1048576", "GB");
    rdk_config_init(&config);
    for (size_t k = 0; k < sizeof most / sizeof *most; k++) {
        char text[64];
        const rdk_option *o = rdk_option_find(most[k]);
        bound_text(o, o->high, text);
        set(&config, most[k], text);
    }
    unresolved(&config, "needs", "GB");
}
END_TEST

RDK_TEST_MAIN("resolve", {
    ADD(the_default_run_is_the_pilot);
    ADD(the_width_of_a_head);
    ADD(qk_norm_follows_the_scaling_until_it_is_set);
    ADD(the_scale_follows_the_attention_until_it_is_set);
    ADD(resolving_twice_changes_nothing);
    ADD(an_option_over_a_resolved_file_carries_its_followers);
    ADD(evaluating_takes_a_tenth_of_the_time);
    ADD(another_task_over_a_resolved_file_has_its_own_sizes);
    ADD(options_that_contradict_each_other);
    ADD(absurd_sizes_are_refused_before_any_allocation);
})
