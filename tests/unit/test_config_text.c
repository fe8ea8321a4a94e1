/* SPDX-License-Identifier: MIT
 * Configurations as text: what is written is read back, and what people write is understood or
 * refused with file and line. */
#include "options_fixture.h"

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

/* "off" and nothing are the same list; a path may be called off. */
START_TEST(a_list_that_is_not_there)
{
    static const char *const texts[] = {"scale-layers =\ndata = off\n",
                                        "scale-layers = off\ndata = off\n"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        rdk_status s = {0};
        rdk_text t = {0};
        rdk_config_init(&config);
        set(&config, "scale-layers", "1:none");
        ck_assert_msg(rdk_config_read(&config, texts[k], "f", NULL, &s), "%s", s.message);
        ck_assert_str_eq(config.model.scale_layers, "");
        ck_assert_str_eq(config.data, "off");
        rdk_config_write(&config, RDK_OPT_FINDS, &t);
        ck_assert_ptr_nonnull(strstr(t.data, "\nscale-layers = off\n"));
        ck_assert_ptr_nonnull(strstr(t.data, "\ndata = off\n"));
        rdk_text_free(&t);
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

RDK_TEST_MAIN("config text", {
    ADD(config_round_trips);
    ADD(a_list_that_is_not_there);
    ADD(scopes_decide_what_is_written);
    ADD(config_is_read_as_people_write_it);
    ADD(config_errors_name_file_and_line);
    ADD(a_long_line_is_an_error_not_an_overrun);
})
