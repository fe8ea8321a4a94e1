/* SPDX-License-Identifier: MIT
 * What the tests of the tape share: leaves, and values or errors that are asserted.
 * Read next: test_tape.c. */
#ifndef RDK_TEST_TAPE_FIXTURE_H
#define RDK_TEST_TAPE_FIXTURE_H

#include <rootdk/ops.h>

#include "harness.h"

#define DIMS(...)                                                                                  \
    (const size_t[])                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static inline rdk_tape *new_tape(void)
{
    rdk_status s = {.code = RDK_OK};
    rdk_tape *t = rdk_tape_new(&s);
    ck_assert_msg(t != NULL, "%s", s.message);
    return t;
}

static inline rdk_tensor *scalar(rdk_tape *t, double x)
{
    const rdk_real value = (rdk_real)x;
    return rdk_tape_leaf(t, 0, NULL, &value, true);
}

/* 1, 2, 3, .. */
static inline rdk_tensor *counting(rdk_tape *t, int n_dims, const size_t *dim)
{
    rdk_tensor *x = rdk_tape_leaf(t, n_dims, dim, NULL, true);
    for (size_t i = 0; i < rdk_size(x); i++) x->data[i] = (rdk_real)(i + 1);
    return x;
}

static inline void assert_values(const rdk_real *got, size_t n, const double *want)
{
    ck_assert_ptr_nonnull(got);
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(fabs((double)got[i] - want[i]) <= 1e-5 * fmax(1, fabs(want[i])),
                      "element %zu is %.9g, not %.9g", i, (double)got[i], want[i]);
    }
}
#define ASSERT_VALUES(got, ...)                                                                    \
    assert_values(got, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

#define ASSERT_OK(t) ck_assert_msg(rdk_tape_alive(t), "%s", rdk_tape_status(t)->message)

static inline void assert_fails(const rdk_tape *t, rdk_code code, const char *a, const char *b)
{
    const rdk_status *s = rdk_tape_status(t);
    ck_assert_msg(s->code == code, "status %d (%s), not %d", s->code, s->message, code);
    ck_assert_msg(strstr(s->message, a) != NULL, "'%s' lacks '%s'", s->message, a);
    ck_assert_msg(strstr(s->message, b) != NULL, "'%s' lacks '%s'", s->message, b);
}

#endif
