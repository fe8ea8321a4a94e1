/* SPDX-License-Identifier: MIT
 * Selection against sorting. */
#include <harness.h>
#include <rootdk/base.h>

#include "probe/quantile.h"

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The k smallest stand in front, whatever the order and however many are equal. */
START_TEST(selection)
{
    for (size_t n = 1; n <= 40; n++)
        for (size_t k = 0; k <= n; k++) {
            double x[40], sorted[40];
            rdk_draws draws = rdk_draws_at((rdk_stream){.purpose = RDK_FOR_TEST}, n);
            for (size_t i = 0; i < n; i++)
                sorted[i] = x[i] = _i == 0   ? rdk_draw_normal(&draws)
                                   : _i == 1 ? (double)i
                                   : _i == 2 ? -(double)i
                                   : _i == 3 ? (double)(i * 7 % 3)
                                   : _i == 4 ? (i % 4   ? (double)i
                                                : i % 8 ? INFINITY
                                                        : -INFINITY)
                                             : -fabs((double)i - (double)n / 2);
            qsort(sorted, n, sizeof *sorted, descending);
            rdk_move_smallest(x, n, k);
            qsort(x, k, sizeof *x, descending);
            qsort(x + k, n - k, sizeof *x, descending);
            for (size_t i = 0; i < n - k; i++) ck_assert_double_eq(x[k + i], sorted[i]);
            for (size_t i = 0; i < k; i++) ck_assert_double_eq(x[i], sorted[n - k + i]);
        }
}
END_TEST

START_TEST(several_at_once)
{
    double x[40];
    for (size_t n = 1; n <= 40; n++)
        for (size_t a = 0; a <= n; a++)
            for (size_t b = 0; b <= n; b++) {
                for (size_t i = 0; i < n; i++) x[i] = (double)(i * 29 % n % 17);
                rdk_move_smallest_of_each(x, n, 3, (size_t[]){a, b, n / 2});
                const size_t at[] = {a, b, n / 2};
                for (size_t k = 0; k < 3; k++)
                    for (size_t i = 0; i < at[k]; i++)
                        for (size_t j = at[k]; j < n; j++) ck_assert(x[i] <= x[j]);
            }
}
END_TEST

/* A run that diverges: it ends. */
START_TEST(selection_among_nan)
{
    for (size_t at = 0; at < 9; at++) {
        double x[] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
        x[at] = NAN;
        rdk_quantile(x, 9, 50);
        for (size_t i = 0; i < 9; i++) x[i] = NAN;
        ck_assert(isnan(rdk_quantile(x, 9, 90)));
    }
}
END_TEST

RDK_TEST_MAIN("quantile", {
    ADD_LOOP(selection, 6);
    ADD(several_at_once);
    ADD(selection_among_nan);
})
