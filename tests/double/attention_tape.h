/* SPDX-License-Identifier: MIT
 * What the tests of attention on the tape share: noise on it, products, comparison. */
#ifndef RDK_TEST_ATTENTION_TAPE_H
#define RDK_TEST_ATTENTION_TAPE_H

#include <rootdk/ops.h>

#include "harness.h"

#define DIMS(...)                                                                                  \
    (const size_t[])                                                                               \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static inline rdk_tape *new_tape(void)
{
    rdk_tape *t = rdk_tape_new(NULL);
    ck_assert_ptr_nonnull(t);
    rdk_tape_keep_gradients(t, true);
    return t;
}

static inline rdk_tensor *noise(rdk_tape *t, int n_dims, const size_t *dim, int number, double size)
{
    const rdk_stream s = {.seed = 23, .purpose = RDK_FOR_TEST, .step = (uint64_t)number};
    rdk_tensor *x = rdk_tape_leaf(t, n_dims, dim, NULL, true);
    rdk_draws d = rdk_draws_at(s, 0);
    for (size_t i = 0; i < rdk_size(x); i++) x->data[i] = size * rdk_draw_normal(&d);
    return x;
}

static inline double dot(const double *x, const double *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static inline void assert_same(const char *what, const double *got, const double *want, size_t n)
{
    double largest = 1;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(want[i]));
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(fabs(got[i] - want[i]) <= 1e-12 * largest, "%s at %zu: %.17g, want %.17g",
                      what, i, got[i], want[i]);
    }
}

#endif
