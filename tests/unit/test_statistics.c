/* SPDX-License-Identifier: MIT
 * Intervals, medians, LR sensitivity: against closed forms, published quantiles, sums by hand. */
#include <harness.h>
#include <rootdk/probe.h>

/* Closed forms: one degree of freedom is Cauchy, two have t = m sqrt(2 / (1 - m^2)). */
START_TEST(quantiles_in_closed_form)
{
    const double pi = acos(-1);
    for (double mass = 0.05; mass < 1; mass += 0.05) {
        ck_assert_close(rdk_student_t(mass, 1), tan(pi * mass / 2), 1e-13, 0);
        ck_assert_close(rdk_student_t(mass, 2), mass * sqrt(2 / (1 - mass * mass)), 1e-13, 0);
    }
}
END_TEST

/* Tables of Student's t, two-sided 95 % and 99 %, as printed everywhere. */
START_TEST(quantiles_of_the_tables)
{
    static const struct {
        size_t df;
        double t95, t99;
    } table[] = {
        {1, 12.706, 63.657}, {2, 4.303, 9.925},  {3, 3.182, 5.841},   {4, 2.776, 4.604},
        {5, 2.571, 4.032},   {9, 2.262, 3.250},  {10, 2.228, 3.169},  {15, 2.131, 2.947},
        {30, 2.042, 2.750},  {60, 2.000, 2.660}, {120, 1.980, 2.617},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        ck_assert_double_eq_tol(rdk_student_t(0.95, table[i].df), table[i].t95, 5.1e-4);
        ck_assert_double_eq_tol(rdk_student_t(0.99, table[i].df), table[i].t99, 5.1e-4);
    }
}
END_TEST

/* With many degrees of freedom: the normal quantile and its first two corrections in 1 / df. */
START_TEST(quantiles_near_the_normal)
{
    const double z = 1.959963984540054;
    for (size_t df = 2000; df < 200000; df = df * 3 + 1) {
        double v = (double)df, third = z * z * z;
        double want =
            z + (third + z) / (4 * v) + (5 * third * z * z + 16 * third + 3 * z) / (96 * v * v);
        ck_assert_close(rdk_student_t(0.95, df), want, 1e-9, 0);
    }
}
END_TEST

START_TEST(quantiles_at_the_ends)
{
    ck_assert_double_lt(rdk_student_t(0, 3), 1e-300);
    ck_assert(isnan(rdk_student_t(1, 3)) && isnan(rdk_student_t(-0.1, 3)));
    ck_assert(isnan(rdk_student_t(0.95, 0)) && isnan(rdk_student_t(NAN, 3)));
}
END_TEST

/* 1..5: mean 3, deviation sqrt(2.5), standard error sqrt(0.5), t = 2.776445. */
START_TEST(interval_by_hand)
{
    rdk_interval i = rdk_interval_of((double[]){1, 2, 3, 4, 5}, 5);
    ck_assert_double_eq(i.mean, 3);
    ck_assert_close(i.half, 2.7764451052 * sqrt(0.5), 1e-9, 0);
    ck_assert_uint_eq(i.n, 5);
    i = rdk_interval_of((double[]){0.25, 0.25, 0.25}, 3);
    ck_assert_double_eq(i.half, 0);
    i = rdk_interval_of((double[]){0.8, 0.8, 0.8}, 3); /* 2.4 / 3 is not 0.8 */
    ck_assert(i.mean == 0.8 && i.half == 0);
    i = rdk_interval_of((double[]){1e9 + 1, 1e9 + 3}, 2); /* no sum of squares less a square */
    ck_assert_close(i.half, tan(acos(-1) * 0.475), 1e-12, 0);
}
END_TEST

START_TEST(interval_of_too_few)
{
    rdk_interval one = rdk_interval_of((double[]){7}, 1), none = rdk_interval_of(NULL, 0);
    ck_assert(one.mean == 7 && isnan(one.half) && one.n == 1);
    ck_assert(isnan(none.mean) && isnan(none.half) && none.n == 0);
    ck_assert(isnan(rdk_interval_of((double[]){1, NAN}, 2).mean));
}
END_TEST

START_TEST(medians)
{
    ck_assert_double_eq(rdk_median((double[]){3, 1, 2}, 3), 2);
    ck_assert_double_eq(rdk_median((double[]){4, 1, 3, 2}, 4), 2.5);
    ck_assert_double_eq(rdk_median((double[]){NAN, 1, 2}, 3), 2);
    ck_assert_double_eq(rdk_median((double[]){INFINITY, INFINITY, 1}, 3), INFINITY);
    ck_assert(isnan(rdk_median((double[]){NAN, NAN, 2}, 3)) && isnan(rdk_median(NULL, 0)));
}
END_TEST

/* min(loss, 2) is 0.5, 1, 2, 2, 2: mean 1.5, best 0.5. */
START_TEST(lr_sensitivity_by_hand)
{
    const double loss[] = {0.5, 1, 7, NAN, INFINITY};
    ck_assert_double_eq(rdk_lr_sensitivity(loss, 5, 2), 1);
    ck_assert_double_eq(rdk_lr_sensitivity(loss, 5, 10), (0.5 + 1 + 7 + 10 + 10) / 5 - 0.5);
    ck_assert_double_eq(rdk_lr_sensitivity(loss, 1, 2), 0);
    ck_assert_double_eq(rdk_lr_sensitivity((double[]){3, 4}, 2, 2), 0); /* always at chance */
    ck_assert_double_eq(rdk_lr_sensitivity((double[]){NAN, NAN}, 2, 2), 0);
    ck_assert(isnan(rdk_lr_sensitivity(loss, 0, 2)));
    ck_assert(isnan(rdk_lr_sensitivity(loss, 5, INFINITY)));
}
END_TEST

RDK_TEST_MAIN("statistics", {
    ADD(quantiles_in_closed_form);
    ADD(quantiles_of_the_tables);
    ADD(quantiles_near_the_normal);
    ADD(quantiles_at_the_ends);
    ADD(interval_by_hand);
    ADD(interval_of_too_few);
    ADD(medians);
    ADD(lr_sensitivity_by_hand);
})
