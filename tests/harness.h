/* SPDX-License-Identifier: MIT
 * What every test program shares. A test file defines its tests, then ends with
 *
 *     RDK_TEST_MAIN("softmax", { ADD(shift_invariance); ADD(rows_sum_to_one); })
 *
 * Check forks for every test (CK_FORK=no under sanitizers), so a test computes nothing before
 * it. */
#ifndef RDK_TEST_HARNESS_H
#define RDK_TEST_HARNESS_H

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADD(name) tcase_add_test(tc, name)
/* Runs the test for i in [0, n): it reads `_i`. */
#define ADD_LOOP(name, n) tcase_add_loop_test(tc, name, 0, n)

#define RDK_TEST_MAIN(title, body)                                                                 \
    int main(void)                                                                                 \
    {                                                                                              \
        Suite *s = suite_create(title);                                                            \
        TCase *tc = tcase_create(title);                                                           \
        tcase_set_timeout(tc, 300);                                                                \
        body suite_add_tcase(s, tc);                                                               \
        SRunner *runner = srunner_create(s);                                                       \
        srunner_run_all(runner, CK_NORMAL);                                                        \
        int failed = srunner_ntests_failed(runner);                                                \
        srunner_free(runner);                                                                      \
        return failed ? EXIT_FAILURE : EXIT_SUCCESS;                                               \
    }

/* |got - want| <= relative * max(|want|, floor); says both. */
#define ck_assert_close(got, want, relative, floor_)                                               \
    do {                                                                                           \
        double got_ = (got), want_ = (want);                                                       \
        ck_assert_msg(fabs(got_ - want_) <= (relative)*fmax(fabs(want_), (floor_)),                \
                      "%s = %.9g, want %.9g (relative error %.3g, allowed %.3g)", #got, got_,      \
                      want_, fabs(got_ - want_) / fmax(fabs(want_), (floor_)),                     \
                      (double)(relative));                                                         \
    } while (0)

#endif
