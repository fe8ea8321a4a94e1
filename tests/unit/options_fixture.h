/* SPDX-License-Identifier: MIT
 * What the tests of options, of config.ini and of resolving share: values set, written, read back.
 * The loops take rows from the table, so that a new option is tested without a line here. */
#ifndef RDK_TEST_OPTIONS_FIXTURE_H
#define RDK_TEST_OPTIONS_FIXTURE_H

#include "harness.h"

#include <rootdk/run.h>

/* rdk_config is large; one for each test is enough. */
static rdk_config config, other;

static inline size_t n_options(void)
{
    return rdk_option_count();
}

static inline void set(rdk_config *c, const char *name, const char *value)
{
    rdk_status s = {0};
    const rdk_option *o = rdk_option_find(name);
    ck_assert_msg(o != NULL, "no option %s", name);
    ck_assert_msg(rdk_option_set(c, o, value, &s), "%s", s.message);
}

static inline rdk_text written(const rdk_config *c)
{
    rdk_text t = {0};
    rdk_status s = {0};
    rdk_config_write(c, RDK_OPT_RUNS, &t);
    ck_assert(rdk_text_ok(&t, &s));
    return t;
}

static inline void round_trip(const rdk_config *c)
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

/* A bound of the row, as it may be given. */
static inline void bound_text(const rdk_option *o, double x, char text[64])
{
    if (o->type == RDK_OPT_UINT) {
        snprintf(text, 64, "%.0f", x < 18446744073709551616.0 ? x : 0);
        if (x >= 18446744073709551616.0) strcpy(text, "18446744073709551615");
    } else {
        snprintf(text, 64, "%.17g", x);
    }
}

#endif
