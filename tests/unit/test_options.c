/* SPDX-License-Identifier: MIT
 * The option table: every row, what it takes, what it refuses and how that is said. */
#include "options_fixture.h"

static const char *text_of(const rdk_config *c, const rdk_option *o)
{
    static char kept[2 * RDK_PATH_TEXT];
    rdk_text t = {0};
    rdk_option_text(c, o, &t);
    snprintf(kept, sizeof kept, "%s", t.data ? t.data : "");
    rdk_text_free(&t);
    return kept;
}

/* Refused: nothing changes, and the message names option and value on one line. */
static void refused(const rdk_option *o, const char *value)
{
    rdk_status s = {0};
    memcpy(&other, &config, sizeof config);
    ck_assert_msg(!rdk_option_set(&config, o, value, &s), "--%s took '%s'", o->name, value);
    ck_assert_int_eq(s.code, RDK_EVALUE);
    ck_assert_msg(!memcmp(&other, &config, sizeof config), "--%s '%s' changed it", o->name, value);
    ck_assert_msg(strstr(s.message, o->name) != NULL, "%s", s.message);
    if (strlen(value) < 40 && !strpbrk(value, "\n\x7f")) {
        ck_assert_msg(strstr(s.message, value) != NULL, "'%s' not in: %s", value, s.message);
    }
    ck_assert_msg(!strchr(s.message, '\n'), "%s", s.message);
}

/* ---- the table ------------------------------------------------------------------------------- */

START_TEST(names_are_unique_and_found)
{
    for (size_t i = 0; i < n_options(); i++) {
        ck_assert_ptr_eq(rdk_option_find(rdk_option_at(i)->name), rdk_option_at(i));
    }
    ck_assert_ptr_null(rdk_option_at(n_options()));
    ck_assert_ptr_null(rdk_option_find("l"));
    ck_assert_ptr_null(rdk_option_find("learning-rate"));
    ck_assert_ptr_null(rdk_option_find(""));
}
END_TEST

START_TEST(groups_stand_together)
{
    for (size_t i = 1; i < n_options(); i++) {
        const char *group = rdk_option_at(i)->group;
        if (!strcmp(group, rdk_option_at(i - 1)->group)) continue;
        for (size_t j = 0; j < i; j++) {
            ck_assert_msg(strcmp(group, rdk_option_at(j)->group) != 0, "%s in two places", group);
        }
    }
}
END_TEST

static size_t width(const rdk_option *o)
{
    switch (o->type) {
    case RDK_OPT_REAL:
        return sizeof(double);
    case RDK_OPT_BOOL:
        return sizeof(bool);
    case RDK_OPT_CHOICE:
        return sizeof(int);
    default:
        return o->size;
    }
}

START_TEST(fields_fit_and_do_not_overlap)
{
    for (size_t i = 0; i < n_options(); i++) {
        const rdk_option *a = rdk_option_at(i);
        ck_assert_uint_eq(a->size, width(a));
        ck_assert_uint_le(a->offset + a->size, sizeof(rdk_config));
        ck_assert(a->help && a->help[0]);
        ck_assert((a->type == RDK_OPT_BOOL) == !a->value_name);
        for (size_t j = 0; j < i; j++) {
            const rdk_option *b = rdk_option_at(j);
            ck_assert_msg(a->offset + a->size <= b->offset || b->offset + b->size <= a->offset,
                          "%s and %s share a field", a->name, b->name);
        }
    }
}
END_TEST

/* ---- values, for row _i ---------------------------------------------------------------------- */

START_TEST(default_is_taken_and_round_trips)
{
    const rdk_option *o = rdk_option_at((size_t)_i);
    rdk_status s = {0};
    rdk_config_init(&config);
    ck_assert_msg(rdk_option_set(&config, o, o->initial, &s), "%s", s.message);
    ck_assert_str_eq(text_of(&config, o), o->initial);
}
END_TEST

START_TEST(limits_are_taken_and_beyond_is_refused)
{
    const rdk_option *o = rdk_option_at((size_t)_i);
    if (o->type != RDK_OPT_UINT && o->type != RDK_OPT_REAL) return;
    char text[64];
    rdk_config_init(&config);
    bound_text(o, o->low, text);
    set(&config, o->name, text);
    bound_text(o, o->high, text);
    set(&config, o->name, text);
    ck_assert(strtod(text_of(&config, o), NULL) == o->high);
    snprintf(text, sizeof text, "%.17g", nextafter(o->high, INFINITY));
    if (o->type == RDK_OPT_UINT) snprintf(text, sizeof text, "%.0f", o->high + 1);
    if (o->type == RDK_OPT_UINT && o->high >= 18446744073709551616.0)
        strcpy(text, "18446744073709551616");
    refused(o, text);
    snprintf(text, sizeof text, "%.17g", nextafter(o->low, -INFINITY));
    if (o->type == RDK_OPT_UINT) snprintf(text, sizeof text, "%.0f", o->low - 1);
    refused(o, text);
}
END_TEST

START_TEST(malformed_numbers_are_refused)
{
    static const char *const bad[] = {"",       "x",     "1x",   "1 ",    " 1",      "0x1",
                                      "0x1p-3", "nan",   "NaN",  "inf",   "-inf",    "1,5",
                                      "--1",    "1e",    "e1",   ".",     "1e999",   "-1",
                                      "1_0",    "1e-3x", "1\n2", "1e+ 3", "infinity"};
    const rdk_option *o = rdk_option_at((size_t)_i);
    if (o->type != RDK_OPT_UINT && o->type != RDK_OPT_REAL) return;
    rdk_config_init(&config);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) refused(o, bad[k]);
    if (!o->auto_rule) refused(o, "auto");
    if (o->type == RDK_OPT_REAL) return;
    static const char *const not_whole[] = {"15e-1", "1.5",  "1.0",     "99999999999999999999",
                                            "1e-1",  "-1e3", "1.234e2", "1e19"};
    for (size_t k = 0; k < sizeof not_whole / sizeof *not_whole; k++) refused(o, not_whole[k]);
}
END_TEST

/* As --help prints its bounds. */
START_TEST(whole_numbers_may_be_short)
{
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {{"1e3", 1000}, {"1.5e3", 1500}, {"1E12", 1000000000000}, {"20e-1", 2}, {"0e9", 0}};
    rdk_config_init(&config);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        set(&config, "seed", cases[k].text);
        ck_assert_uint_eq(config.seed, cases[k].value);
    }
    set(&config, "seed", "9007199254740993"); /* digits stay exact */
    ck_assert_uint_eq(config.seed, 9007199254740993);
    set(&config, "heads", "1e1");
    ck_assert_uint_eq(config.model.heads, 10);
    refused(rdk_option_find("heads"), "1e4");
    refused(rdk_option_find("seed"), "1e16"); /* beyond 2^53 it might not be what is meant */
}
END_TEST

/* Where 0 is a value like others, another number stands for the rule. */
START_TEST(an_interval_by_rule_is_not_the_interval_0)
{
    const rdk_option *o = rdk_option_find("eval-every");
    rdk_config_init(&config);
    ck_assert(config.eval_every == RDK_BY_RULE);
    ck_assert_str_eq(text_of(&config, o), "auto");
    set(&config, "eval-every", "0");
    ck_assert_uint_eq(config.eval_every, 0);
    ck_assert_str_eq(text_of(&config, o), "0");
    set(&config, "eval-every", "auto");
    ck_assert_str_eq(text_of(&config, o), "auto");
}
END_TEST

/* Each need is met by what it says, and not by the default of the task and training groups. */
START_TEST(what_does_nothing_is_told)
{
    static const char *const meets[][4] = {
        {"qk-gain", "2", "qk-norm", "rms"},
        {"qk-gain-learned", "off", "scale", "qknorm"},
        {"data", "f", "task", "text"},
        {"tokenizer", "byte", "task", "text"},
        {"val-fraction", "0.2", "task", "text"},
        {"min-lr", "0", "schedule", "linear"},
        {"momentum", "0.5", "optimizer", "sgd"},
        {"force", "on", "out", "run"},
        {"qk-clip-alpha", "1", "qk-clip", "100"},
        {"length-gain", "1", "length-scale", "ssmax"},
        {"length-base", "9", "length-scale", "log"},
    };
    size_t needy = 0;
    for (size_t k = 0; k < sizeof meets / sizeof *meets; k++) {
        const rdk_option *o = rdk_option_find(meets[k][0]);
        rdk_status s = {0};
        rdk_config_init(&config);
        set(&config, meets[k][0], meets[k][1]);
        ck_assert_msg(!rdk_option_counts(&config, o, &s), "%s", o->name);
        ck_assert_int_eq(s.code, RDK_EVALUE);
        ck_assert_msg(strstr(s.message, o->name) && strstr(s.message, o->need->by), "%s",
                      s.message);
        set(&config, meets[k][2], meets[k][3]);
        ck_assert_msg(rdk_option_counts(&config, o, NULL), "%s", o->name);
    }
    for (size_t i = 0; i < n_options(); i++) needy += rdk_option_at(i)->need != NULL;
    ck_assert_uint_eq(needy, sizeof meets / sizeof *meets + 4); /* betas, eps, d-ff: met at first */
}
END_TEST

START_TEST(names_are_taken_whole)
{
    const rdk_option *o = rdk_option_at((size_t)_i);
    rdk_config_init(&config);
    if (o->type == RDK_OPT_BOOL) {
        set(&config, o->name, "on");
        ck_assert_str_eq(text_of(&config, o), "on");
        set(&config, o->name, "off");
        ck_assert_str_eq(text_of(&config, o), "off");
        refused(o, "yes");
        refused(o, "ON");
        refused(o, "1");
        refused(o, "");
    }
    bool choice = o->type == RDK_OPT_CHOICE;
    size_t n = 0;
    if (o->type == RDK_OPT_NAME) n = o->name_count();
    while (choice && o->choices[n]) n++;
    for (size_t k = 0; k < n; k++) {
        const char *name = choice ? o->choices[k] : o->name_at(k);
        char cut[64];
        set(&config, o->name, name);
        ck_assert_str_eq(text_of(&config, o), name);
        snprintf(cut, sizeof cut, "%.*s", (int)strlen(name) - 1, name);
        if (strlen(cut) > 2) refused(o, cut);
        snprintf(cut, sizeof cut, "%sx", name);
        refused(o, cut);
    }
    if (n) refused(o, "");
}
END_TEST

START_TEST(choices_stand_in_the_order_of_their_enums)
{
    rdk_config_init(&config);
    ck_assert_int_eq(config.model.arch, RDK_DECODER);
    ck_assert_int_eq(config.model.qk_norm, RDK_QK_AUTO);
    set(&config, "qk-norm", "off");
    ck_assert_int_eq(config.model.qk_norm, RDK_QK_OFF);
    set(&config, "qk-norm", "rms");
    ck_assert_int_eq(config.model.qk_norm, RDK_QK_RMS);
    set(&config, "norm-place", "post");
    ck_assert_int_eq(config.model.norm_place, RDK_POST_NORM);
    set(&config, "positions", "none");
    ck_assert_int_eq(config.model.positions, RDK_NO_POSITIONS);
    set(&config, "mlp", "swiglu");
    ck_assert_int_eq(config.model.mlp, RDK_MLP_SWIGLU);
    set(&config, "init", "t5");
    ck_assert_int_eq(config.model.init, RDK_INIT_T5);
    set(&config, "tokenizer", "byte");
    ck_assert_int_eq(config.task.tokenizer, RDK_TOKENS_BYTE);
    set(&config, "schedule", "cosine");
    ck_assert_int_eq(config.optim.schedule, RDK_COSINE);
    set(&config, "optimizer", "sgd");
    ck_assert_int_eq(config.optim.kind, RDK_SGD);
}
END_TEST

START_TEST(scale_takes_a_number_in_any_form)
{
    const rdk_option *o = rdk_option_find("scale");
    rdk_config_init(&config);
    set(&config, "scale", "0.1250");
    ck_assert_str_eq(config.model.scale, "0.125");
    set(&config, "scale", "125e-3");
    ck_assert_str_eq(config.model.scale, "0.125");
    refused(o, "0");
    refused(o, "-1");
    refused(o, "nan");
    refused(o, "sqr");
    rdk_status s = {0};
    rdk_option_set(&config, o, "sqr", &s);
    ck_assert_ptr_nonnull(strstr(s.message, "did you mean sqrt?"));
}
END_TEST

START_TEST(a_value_that_is_none_brings_the_nearest)
{
    static const struct {
        const char *option, *value, *near; /* NULL: none is named */
    } cases[] = {
        {"precision", "bfloat16", "bf16"},
        {"precision", "FP32", "float"},
        {"precision", "float16", NULL},
        {"scale", "1/sqrt", "sqrt"},
        {"scale", "1/sqrt(d_k)", "sqrt"},
        {"scale", "1/sqrt(d_model)", "dmodel"},
        {"scale", "off", "none"},
        {"optimizer", "Adam", "adamw"},
        {"optimizer", "lion", NULL},
        {"schedule", "cos", "cosine"},
        {"schedule", "none", "constant"},
        {"mlp", "silu", "swiglu"},
        {"mlp", "geglu", NULL},
        {"mlp", "gelu-exat", "gelu-exact"},
        {"positions", "rotary", "rope"},
        {"positions", "nope", "none"},
        {"norm", "layernorm", "layer"},
        {"norm", "RMSNorm", "rms"},
        {"sink", "none", "off"},
        {"sink", "on", NULL},
        {"qk-norm", "none", "off"},
        {"task", "rev", "reverse"},
        {"task", "c", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char hint[64] = "did you mean";
        rdk_status s = {0};
        const rdk_option *o = rdk_option_find(cases[i].option);
        ck_assert(!rdk_option_set(&config, o, cases[i].value, &s));
        if (cases[i].near) snprintf(hint, sizeof hint, "(did you mean %s?)", cases[i].near);
        bool hinted = strstr(s.message, hint) != NULL;
        ck_assert_msg(hinted == (cases[i].near != NULL), "%s", s.message);
    }
}
END_TEST

START_TEST(paths_are_taken_as_they_are)
{
    char text[RDK_PATH_TEXT + 1];
    const rdk_option *o = rdk_option_find("data");
    rdk_config_init(&config);
    memset(text, 'a', sizeof text);
    text[RDK_PATH_TEXT] = '\0';
    refused(o, text);
    text[RDK_PATH_TEXT - 1] = '\0';
    set(&config, "data", text);
    ck_assert_str_eq(config.data, text);
    set(&config, "data", "b");
    ck_assert_str_eq(config.data, "b");
    refused(o, "a\nb");
    refused(o, "a\x7f");
}
END_TEST

/* A row over a struct of a verb's own. */
static const rdk_option list_row = {.name = "widths",
                                    .group = "own",
                                    .type = RDK_OPT_LIST,
                                    .offset = 0,
                                    .size = sizeof(rdk_uint_list),
                                    .initial = "64",
                                    .low = 2,
                                    .high = 4096};

START_TEST(lists_of_whole_numbers)
{
    static const char *const taken[][2] = {
        {"64", "64"},
        {"3,2", "3,2"},
        {"2..16", "2,4,8,16"},
        {"5..9", "8"},
        {"7,2..4,9", "7,2,4,9"},
        {"4096..4096", "4096"},
        {"2..4096", "2,4,8,16,32,64,128,256,512,1024,2048,4096"}};
    static const char *const no_list[] = {
        "",     ",",       "1",     "4097", "2,",  ",2", "2,,3", "2,2", "2..4,4", "5..7", "8..4",
        "1..4", "4..9999", "2...4", "2..",  "..4", "a",  "2 ,3", "2.5", "-2",     "+2",   "2e-1"};
    rdk_uint_list list = {0};
    rdk_status s = {0};
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++) {
        rdk_text t = {0};
        ck_assert_msg(rdk_option_set(&list, &list_row, taken[k][0], &s), "%s", s.message);
        rdk_option_text(&list, &list_row, &t);
        ck_assert_str_eq(t.data, taken[k][1]);
        rdk_text_free(&t);
    }
    for (size_t k = 0; k < sizeof no_list / sizeof *no_list; k++) {
        rdk_uint_list before = list;
        s = (rdk_status){0};
        ck_assert_msg(!rdk_option_set(&list, &list_row, no_list[k], &s), "took %s", no_list[k]);
        ck_assert(!memcmp(&before, &list, sizeof list));
        ck_assert(strstr(s.message, "--widths: '") && strstr(s.message, "from 2 to 4096"));
    }
    char many[200] = "2";
    for (int k = 3; k < 3 + RDK_LIST_ROOM; k++) sprintf(many + strlen(many), ",%d", k);
    ck_assert(!rdk_option_set(&list, &list_row, many, &s)); /* one more than there is room for */
    *strrchr(many, ',') = '\0';
    ck_assert(rdk_option_set(&list, &list_row, many, &s));
    ck_assert_uint_eq(list.n, RDK_LIST_ROOM);
}
END_TEST

START_TEST(messages_stay_on_one_line)
{
    char quoted[RDK_QUOTE_TEXT], wild[500];
    ck_assert_str_eq(rdk_quote("a\nb\033c", quoted), "'a?b?c'");
    ck_assert_str_eq(rdk_quote("", quoted), "''");
    memset(wild, 'x', sizeof wild);
    wild[sizeof wild - 1] = '\0';
    rdk_quote(wild, quoted);
    ck_assert_uint_lt(strlen(quoted), RDK_QUOTE_TEXT);
    ck_assert_str_eq(quoted + strlen(quoted) - 4, "...'");
}
END_TEST

START_TEST(nearest_names)
{
    static const char *const pairs[][2] = {
        {"learning-rate", "lr"},          {"learning-rte", "lr"},  {"learning", "lr"},
        {"d_model", "d-model"},           {"batch-size", "batch"}, {"layrs", "layers"},
        {"weigth-decay", "weight-decay"}, {"n_layer", "layers"},   {"seqlen", "seq-len"},
    };
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        const rdk_option *o = rdk_option_nearest(pairs[k][0]);
        ck_assert_msg(o && !strcmp(o->name, pairs[k][1]), "%s: %s", pairs[k][0],
                      o ? o->name : "none");
    }
    ck_assert_ptr_null(rdk_option_nearest("zzzzzzzzzz"));
    ck_assert_ptr_null(rdk_option_nearest(""));
}
END_TEST

RDK_TEST_MAIN("options", {
    int n = (int)n_options();
    ADD(names_are_unique_and_found);
    ADD(groups_stand_together);
    ADD(fields_fit_and_do_not_overlap);
    ADD_LOOP(default_is_taken_and_round_trips, n);
    ADD_LOOP(limits_are_taken_and_beyond_is_refused, n);
    ADD_LOOP(malformed_numbers_are_refused, n);
    ADD_LOOP(names_are_taken_whole, n);
    ADD(whole_numbers_may_be_short);
    ADD(an_interval_by_rule_is_not_the_interval_0);
    ADD(what_does_nothing_is_told);
    ADD(choices_stand_in_the_order_of_their_enums);
    ADD(scale_takes_a_number_in_any_form);
    ADD(a_value_that_is_none_brings_the_nearest);
    ADD(paths_are_taken_as_they_are);
    ADD(lists_of_whole_numbers);
    ADD(messages_stay_on_one_line);
    ADD(nearest_names);
})
