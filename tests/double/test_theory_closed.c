/* SPDX-License-Identifier: MIT
 * Exact expectations and closed forms: against quadrature written another way, against each other,
 * and each form's promise over the whole of its range. No random number here. */
#include <harness.h>
#include <rootdk/probe.h>

static double density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * acos(-1.));
}

static double distribution(double x)
{
    return erfc(-x / sqrt(2.)) / 2;
}

START_TEST(gap_density)
{
    static const struct {
        size_t n;
        double g;
    } rows[] = {{2, .5642}, {8, 1.4236}, {32, 2.0697}, {64, 2.3437}, {128, 2.5946}, {256, 2.8269}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double n = (double)rows[i].n, gap = 0;
        for (double x = -9; x <= 9; x += 1e-3)
            gap += 1e-3 * n * (n - 1) * pow(density(x), 2) * pow(distribution(x), n - 2);
        ck_assert_double_eq_tol(rdk_theory_gap_density(rows[i].n), gap, 1e-9);
        ck_assert_double_eq_tol(gap, rows[i].g, 5.1e-5);
    }
    ck_assert_double_eq_tol(rdk_theory_gap_density(2), 1 / sqrt(acos(-1.)), 1e-12);
    ck_assert_double_eq_tol(rdk_theory_gap_density(1), 0, 1e-12);
}
END_TEST

/* Two keys: everything is a function of the gap d ~ N(0, 2 sigma2), one integral. */
START_TEST(two_keys)
{
    static const double variances[] = {1e-4, 1. / 64, .25, .99, 1, 1.01, 4, 64, 1024, 65536};
    for (size_t i = 0; i < sizeof variances / sizeof *variances; i++) {
        double sigma2 = variances[i], entropy = 0, trace = 0;
        double h = fmin(1e-3, .01 / sqrt(sigma2));
        for (double z = -9; z <= 9; z += h) {
            double d = fabs(z) * sqrt(2 * sigma2), q = exp(-d) / (1 + exp(-d));
            double weight = h * density(z);
            trace += weight * 2 * q * (1 - q);
            entropy += weight * (log1p(exp(-d)) + d * q);
        }
        rdk_expectation e = rdk_theory_exact(2, sigma2);
        ck_assert_double_eq_tol(e.trace, trace, 1e-7);
        ck_assert_double_eq_tol(e.entropy, entropy, 1e-6);
    }
}
END_TEST

/* H = ln n + (1/2) int tr J - sigma2 tr J: the trace decides the entropy (d E[LSE] / d sigma2 is
 * half of it). Across sigma2 = 1, where the quadrature changes its variable. */
START_TEST(entropy_is_an_integral_of_the_trace)
{
    const size_t lengths[] = {2, 8, 64, 500};
    for (size_t i = 0; i < 4; i++) {
        double area = 0, to = 4, h = .02;
        for (double v = h / 2; v < to; v += h) area += h * rdk_theory_exact(lengths[i], v).trace;
        rdk_expectation e = rdk_theory_exact(lengths[i], to);
        double want = log((double)lengths[i]) + area / 2 - to * e.trace;
        ck_assert_double_eq_tol(e.entropy, want, 5e-5);
    }
    rdk_expectation below = rdk_theory_exact(64, 1 - 1e-9), above = rdk_theory_exact(64, 1);
    ck_assert_double_eq_tol(below.entropy, above.entropy, 1e-7);
    ck_assert_double_eq_tol(below.trace, above.trace, 1e-8);
}
END_TEST

/* The whole of each range, between its points as well. */
START_TEST(forms_keep_their_promise)
{
    size_t held = 0;
    for (size_t n = 2; n <= 5000; n = n * 5 / 2 + 3) {
        for (double sigma2 = 1. / 256; sigma2 <= 1 << 18; sigma2 *= 2) {
            double log_n = log((double)n);
            rdk_expectation e = rdk_theory_exact(n, sigma2);
            for (size_t i = 0; i < rdk_closed_form_count(); i++) {
                const rdk_closed_form *c = rdk_closed_form_at(i);
                bool small = !strcmp(c->name, "small");
                double h = c->entropy(n, sigma2), t = c->trace(n, sigma2);
                double from = small ? log_n : 0; /* "small" says how far H is below ln n */
                if (c->entropy_holds(n, sigma2)) {
                    held++;
                    ck_assert_msg(fabs(h - e.entropy) <= c->error * fabs(from - e.entropy),
                                  "%s: H at n %zu, sigma2 %g: %g, %g", c->name, n, sigma2, h,
                                  e.entropy);
                }
                if (c->trace_holds(n, sigma2)) {
                    held++;
                    ck_assert_msg(fabs(t - e.trace) <= c->error * e.trace,
                                  "%s: tr J at n %zu, sigma2 %g: %g, %g", c->name, n, sigma2, t,
                                  e.trace);
                }
            }
        }
    }
    ck_assert_uint_gt(held, 100);
    ck_assert_ptr_null(rdk_closed_form_at(rdk_closed_form_count()));
}
END_TEST

/* And outside it fails: the ratios that science has for H at n = 64 (and 8), sigma2 = 1, 256. */
START_TEST(forms_outside_their_range)
{
    const rdk_closed_form *small = rdk_closed_form_at(0), *large = rdk_closed_form_at(2);
    double log_64 = log(64), log_8 = log(8);
    ck_assert(!small->entropy_holds(64, 1) && !small->entropy_holds(8, 1. / 4));
    ck_assert_double_eq_tol(
        (log_64 - rdk_theory_exact(64, 1).entropy) / (log_64 - small->entropy(64, 1)), .964, .0015);
    ck_assert_double_eq_tol(
        (log_8 - rdk_theory_exact(8, 1).entropy) / (log_8 - small->entropy(8, 1)), .816, .0015);
    ck_assert(!large->entropy_holds(64, 256) && large->trace_holds(64, 256));
    ck_assert_double_eq_tol(large->entropy(64, 256), .2410, 1e-4);
    ck_assert_double_eq_tol(large->trace(64, 256), .1465, 1e-4);
    ck_assert_double_eq_tol(rdk_theory_exact(64, 256).entropy, .2647, 3 * .0014);
}
END_TEST

/* ||J||_F^2 = g_n / (3 sigma), against Monte Carlo: 14 % off at sigma2 = 256, right for large
 * sigma. */
START_TEST(frobenius_norm_at_large_sigma)
{
    rdk_row_estimates e;
    rdk_status s = {0};
    ck_assert(rdk_theory_gaussian(64, false, 65536, 200000, 0, &e, &s));
    double error = 2 * e.frob.mean * e.frob.se, got = pow(e.frob.mean, 2);
    double g = rdk_theory_gap_density(64), law = g / (3 * 256);
    ck_assert_double_eq_tol(got, law, 3 * error + .02 * law);
    ck_assert_double_lt(3 * error, .1 * law);
    ck_assert_double_eq_tol(pow(.2067, 2) / (g / (3 * 16)), .875, .01);
}
END_TEST

RDK_TEST_MAIN("theory closed", {
    ADD(gap_density);
    ADD(two_keys);
    ADD(entropy_is_an_integral_of_the_trace);
    ADD(forms_keep_their_promise);
    ADD(forms_outside_their_range);
    ADD(frobenius_norm_at_large_sigma);
})
