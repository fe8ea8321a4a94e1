/* SPDX-License-Identifier: MIT
 * The option table: every row, then configurations as text, then what resolving does.
 * The loops take rows from the table, so that a new option is tested without a line here. */
#include "harness.h"

#include <rootdk/run.h>

static size_t n_options(void)
{
    return rdk_option_count();
}

/* rdk_config is large; one for each test is enough. */
static rdk_config config, other;

static const char *text_of(const rdk_config *c, const rdk_option *o)
{
    static char kept[2 * RDK_PATH_TEXT];
    rdk_text t = {0};
    rdk_option_text(c, o, &t);
    snprintf(kept, sizeof kept, "%s", t.data ? t.data : "");
    rdk_text_free(&t);
    return kept;
}

static void set(rdk_config *c, const char *name, const char *value)
{
    rdk_status s = {0};
    const rdk_option *o = rdk_option_find(name);
    ck_assert_msg(o != NULL, "no option %s", name);
    ck_assert_msg(rdk_option_set(c, o, value, &s), "%s", s.message);
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

static void bound_text(const rdk_option *o, double x, char text[64])
{
    if (o->type == RDK_OPT_UINT) {
        snprintf(text, 64, "%.0f", x < 18446744073709551616.0 ? x : 0);
        if (x >= 18446744073709551616.0) strcpy(text, "18446744073709551615");
    } else {
        snprintf(text, 64, "%.17g", x);
    }
}

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
    static const char *const not_whole[] = {"1e3", "1.5", "1.0", "99999999999999999999"};
    for (size_t k = 0; k < 4; k++) refused(o, not_whole[k]);
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
        "1..4", "4..9999", "2...4", "2..",  "..4", "a",  "2 ,3", "2.5", "-2",     "+2",   "2e1"};
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

/* ---- config.ini ------------------------------------------------------------------------------ */

/* Written with every option away from its default. */
static void set_everything(rdk_config *c)
{
    rdk_config_init(c);
    for (size_t i = 0; i < n_options(); i++) {
        const rdk_option *o = rdk_option_at(i);
        char text[64];
        if (o->type == RDK_OPT_BOOL) set(c, o->name, strcmp(o->initial, "on") ? "on" : "off");
        if (o->type == RDK_OPT_CHOICE) set(c, o->name, o->choices[1]);
        if (o->type == RDK_OPT_NAME) set(c, o->name, o->name_at(2));
        if (o->type == RDK_OPT_TEXT) set(c, o->name, "some/where");
        if (o->type != RDK_OPT_UINT && o->type != RDK_OPT_REAL) continue;
        double x = o->low + (o->high < 1e6 ? o->high - o->low : 1e6) / 3;
        snprintf(text, sizeof text, o->type == RDK_OPT_UINT ? "%.0f" : "%.17g", x);
        set(c, o->name, text);
    }
}

static rdk_text written(const rdk_config *c)
{
    rdk_text t = {0};
    rdk_status s = {0};
    rdk_config_write(c, RDK_OPT_RUNS, &t);
    ck_assert(rdk_text_ok(&t, &s));
    return t;
}

static void round_trip(const rdk_config *c)
{
    rdk_status s = {0};
    rdk_text first = written(c);
    rdk_config_init(&other);
    ck_assert_msg(rdk_config_read(&other, first.data, "config.ini", NULL, &s), "%s", s.message);
    for (size_t i = 0; i < n_options(); i++) {
        const rdk_option *o = rdk_option_at(i);
        bool same = !memcmp((const char *)c + o->offset, (char *)&other + o->offset, o->size);
        ck_assert_msg(same, "%s is not the same:\n%s", o->name, first.data);
    }
    rdk_text second = written(&other);
    ck_assert_str_eq(first.data, second.data);
    rdk_text_free(&first);
    rdk_text_free(&second);
}

START_TEST(config_round_trips)
{
    rdk_config_init(&config);
    round_trip(&config);
    set_everything(&config);
    round_trip(&config);
    static const char *const paths[] = {" lead",    "trail ", "a # b", "#",       "\"",
                                        "a\"b",     "a\\b",   "\\",    "\"a\\\"", "x = y",
                                        "\xC3\xA4", "a;b",    "=",     "auto"};
    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
        set(&config, "data", paths[k]);
        round_trip(&config);
    }
}
END_TEST

START_TEST(scopes_decide_what_is_written)
{
    rdk_text t = {0};
    rdk_config_init(&config);
    rdk_config_write(&config, RDK_OPT_FINDS, &t);
    ck_assert_ptr_nonnull(strstr(t.data, "\nlr = 0.001\n"));
    ck_assert_ptr_nonnull(strstr(t.data, "\nlog-every = "));
    ck_assert_ptr_nonnull(strstr(t.data, "# training\n"));
    ck_assert_ptr_null(strstr(t.data, "threads"));
    ck_assert_ptr_null(strstr(t.data, "resume"));
    rdk_text_free(&t);
    rdk_config_write(&config, RDK_OPT_DEFINES, &t);
    ck_assert_ptr_null(strstr(t.data, "log-every"));
    ck_assert_ptr_null(strstr(t.data, "# running"));
    rdk_text_free(&t);
}
END_TEST

START_TEST(config_is_read_as_people_write_it)
{
    static const char text[] = "\xEF\xBB\xBF# a run\r\n\r\n  lr=2e-3   # peak\r\n\tsteps =  7\r\n"
                               "data = a#b\r\nout = \"c d \" # quoted\r\nbias = on";
    bool *given = calloc(n_options(), sizeof *given);
    rdk_status s = {0};
    rdk_config_init(&config);
    ck_assert_msg(rdk_config_read(&config, text, "f", given, &s), "%s", s.message);
    ck_assert(config.optim.lr == 2e-3);
    ck_assert_uint_eq(config.steps, 7);
    ck_assert_str_eq(config.data, "a#b");
    ck_assert_str_eq(config.out, "c d ");
    ck_assert(config.model.bias);
    size_t n = 0;
    for (size_t i = 0; i < n_options(); i++) n += given[i];
    ck_assert_uint_eq(n, 5);
    ck_assert(given[rdk_option_find("lr") - rdk_option_at(0)]);
    free(given);
    ck_assert(rdk_config_read(&config, "", "f", NULL, &s));
}
END_TEST

START_TEST(config_errors_name_file_and_line)
{
    static const char *const bad[][3] = {
        {"lr = 1\nstepz = 3\n", "dir/f.ini:2:", "did you mean steps?"},
        {"\n\nlr = fast\n", "dir/f.ini:3:", "'fast' is not a number"},
        {"lr = 1\r\nlr = 1\r\n", "dir/f.ini:2:", "a second value for 'lr'"},
        {"lr 1\n", "dir/f.ini:1:", "'lr 1'"},
        {"= 1\n", "dir/f.ini:1:", "unknown key ''"},
        {"lr = \n", "dir/f.ini:1:", "'' is not a number"},
        {"[train]\n", "dir/f.ini:1:", "'[train]'"},
        {"data = \"x\n", "dir/f.ini:1:", "closing quote"},
        {"data = \"x\" y\n", "dir/f.ini:1:", "follows the quoted value"},
        {"data = \"x\\\"\n", "dir/f.ini:1:", "closing quote"},
        {"heads = 0", "dir/f.ini:1:", "from 1 to 1024"},
        {"scale = sqr", "dir/f.ini:1:", "did you mean sqrt?"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        rdk_status s = {0};
        rdk_config_init(&config);
        ck_assert_msg(!rdk_config_read(&config, bad[k][0], "dir/f.ini", NULL, &s), "took %s",
                      bad[k][0]);
        ck_assert_int_eq(s.code, RDK_EVALUE);
        ck_assert_msg(strstr(s.message, bad[k][1]) && strstr(s.message, bad[k][2]), "%s",
                      s.message);
        ck_assert_msg(!strchr(s.message, '\n'), "%s", s.message);
    }
}
END_TEST

START_TEST(a_long_line_is_an_error_not_an_overrun)
{
    enum { LONG = 10000 };
    char *text = malloc(LONG + 20);
    rdk_status s = {0};
    static const char *const begins[] = {"data = ", "data = \"", "", "steps = "};
    for (size_t k = 0; k < 4; k++) {
        strcpy(text, begins[k]);
        memset(text + strlen(begins[k]), 'k', LONG);
        strcpy(text + strlen(begins[k]) + LONG, k == 1 ? "\"\n" : "\n");
        rdk_config_init(&config);
        ck_assert(!rdk_config_read(&config, text, "f", NULL, &s));
        ck_assert_uint_lt(strlen(s.message), sizeof s.message);
        s = (rdk_status){0};
    }
    free(text);
}
END_TEST

/* ---- resolving ------------------------------------------------------------------------------- */

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

START_TEST(resolving_twice_changes_nothing)
{
    static const char *const lines[] = {"", "heads = 4", "scale = qknorm\nd-model = 96",
                                        "steps = 20", "task = sort\nqk-norm = l2"};
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

RDK_TEST_MAIN("options", {
    int n = (int)n_options();
    ADD(names_are_unique_and_found);
    ADD(groups_stand_together);
    ADD(fields_fit_and_do_not_overlap);
    ADD_LOOP(default_is_taken_and_round_trips, n);
    ADD_LOOP(limits_are_taken_and_beyond_is_refused, n);
    ADD_LOOP(malformed_numbers_are_refused, n);
    ADD_LOOP(names_are_taken_whole, n);
    ADD(choices_stand_in_the_order_of_their_enums);
    ADD(scale_takes_a_number_in_any_form);
    ADD(paths_are_taken_as_they_are);
    ADD(lists_of_whole_numbers);
    ADD(messages_stay_on_one_line);
    ADD(nearest_names);
    ADD(config_round_trips);
    ADD(scopes_decide_what_is_written);
    ADD(config_is_read_as_people_write_it);
    ADD(config_errors_name_file_and_line);
    ADD(a_long_line_is_an_error_not_an_overrun);
    ADD(the_default_run_is_the_pilot);
    ADD(the_width_of_a_head);
    ADD(qk_norm_follows_the_scaling_until_it_is_set);
    ADD(resolving_twice_changes_nothing);
    ADD(an_option_over_a_resolved_file_carries_its_followers);
    ADD(options_that_contradict_each_other);
    ADD(absurd_sizes_are_refused_before_any_allocation);
})
