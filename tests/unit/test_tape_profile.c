/* SPDX-License-Identifier: MIT
 * The tape's own account of where its time goes: what is counted, and that counting changes
 * nothing. Times are the machine's, so they are only asked to be there. */
#include <rootdk/rootdk.h>

#include "harness.h"

enum { N = 1000, ROUNDS = 3 };

/* sum(tanh(x) + tanh(tanh(x))); dx receives the gradient. */
static void pass(rdk_tape *t, rdk_real *dx)
{
    const size_t dim[] = {N};
    rdk_real values[N];
    for (int i = 0; i < N; i++) values[i] = (rdk_real)sin(i);
    rdk_tape_reset(t);
    rdk_tensor *x = rdk_tape_leaf(t, 1, dim, values, true), *y = rdk_tanh(t, x);
    ck_assert(rdk_tape_backward(t, rdk_sum_all(t, rdk_add(t, y, rdk_tanh(t, y)))));
    memcpy(dx, x->grad, sizeof values);
}

static const rdk_op_time *time_of(const rdk_tape *t, const char *name)
{
    const rdk_op_time *e;
    for (size_t i = 0; (e = rdk_tape_profile_at(t, i)); i++)
        if (!strcmp(e->op->name, name)) return e;
    return NULL;
}

START_TEST(every_call_is_counted)
{
    rdk_tape *t = rdk_tape_new(NULL);
    rdk_real dx[N], again[N];
    pass(t, dx);
    ck_assert_ptr_null(rdk_tape_profile_at(t, 0));
    rdk_tape_profile(t, true);
    double begun = rdk_seconds(), sum = 0;
    for (int i = 0; i < ROUNDS; i++) pass(t, again);
    double seconds = rdk_seconds() - begun;
    ck_assert(memcmp(dx, again, sizeof dx) == 0);
    ck_assert_uint_eq(time_of(t, "tanh")->calls, 2 * ROUNDS);
    ck_assert_uint_eq(time_of(t, "add")->calls, ROUNDS);
    ck_assert_uint_eq(time_of(t, "sum")->calls, ROUNDS);
    ck_assert_ptr_null(rdk_tape_profile_at(t, 3));
    for (size_t i = 0; i < 3; i++) {
        const rdk_op_time *e = rdk_tape_profile_at(t, i);
        ck_assert(e->forward > 0 && e->backward > 0);
        sum += e->forward + e->backward;
    }
    ck_assert(sum <= seconds);
    rdk_tape_free(t);
}
END_TEST

START_TEST(switching_starts_at_zero)
{
    rdk_tape *t = rdk_tape_new(NULL);
    rdk_real dx[N];
    rdk_tape_profile(t, true);
    pass(t, dx);
    rdk_tape_profile(t, true);
    ck_assert_ptr_null(rdk_tape_profile_at(t, 0));
    rdk_tape_recording(t, false);
    const size_t dim[] = {N};
    rdk_tanh(t, rdk_tape_leaf(t, 1, dim, NULL, true));
    ck_assert_uint_eq(time_of(t, "tanh")->calls, 1); /* also where nothing is recorded */
    rdk_tape_recording(t, true);
    rdk_tape_profile(t, false);
    pass(t, dx);
    ck_assert_ptr_null(rdk_tape_profile_at(t, 0));
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("tape: profile", {
    ADD(every_call_is_counted);
    ADD(switching_starts_at_zero);
})
