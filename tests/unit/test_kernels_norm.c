/* SPDX-License-Identifier: MIT
 * Normalisation in all its forms against double references: offsets, scales, the zero row, gains
 * that are absent, gradients. */
#include "kernels_support.h"

enum { FORMS = 4, ROWS = 6 };
static const double eps = 1e-5;

static bool form_center(int form)
{
    return form & 1;
}

static bool form_mean_square(int form)
{
    return form & 2;
}

/* xhat of one row in double; returns 1 / sqrt(S + eps). */
static double reference(int form, size_t n, const rdk_real *x, double *xhat)
{
    double mean = 0, squares = 0;
    for (size_t j = 0; j < n && form_center(form); j++) mean += (double)x[j] / (double)n;
    for (size_t j = 0; j < n; j++) squares += ((double)x[j] - mean) * ((double)x[j] - mean);
    double rstd = 1 / sqrt((form_mean_square(form) && n ? squares / (double)n : squares) + eps);
    for (size_t j = 0; j < n; j++) xhat[j] = ((double)x[j] - mean) * rstd;
    return rstd;
}

START_TEST(hand_values)
{
    TABLE(k);
    /* x - mean = -1.5 -0.5 0.5 1.5, variance 1.25; a one-pass variance cancels here */
    rdk_real x[] = {40000, 40001, 40002, 40003}, y[4], mean, rstd;
    k->norm(true, true, 1, 4, 0, x, NULL, NULL, y, &mean, &rstd);
    static const double want[] = {-1.3416408, -0.4472136, 0.4472136, 1.3416408};
    ck_assert_double_le(worst_error(4, y, want, 0), 1e-6);
    ck_assert(mean == 40001.5f);
    ck_assert_close((double)rstd, 1 / sqrt(1.25), 1e-7, 0);
    /* RMS of 3, 4 is sqrt(12.5), their length 5 */
    rdk_real leg[] = {3, 4};
    k->norm(false, true, 1, 2, 0, leg, NULL, NULL, y, NULL, &rstd);
    ck_assert_close((double)y[0], 3 / sqrt(12.5), 1e-6, 0);
    k->norm(false, false, 1, 2, 0, leg, NULL, NULL, y, NULL, &rstd);
    ck_assert_close((double)y[0], 0.6, 1e-6, 0);
    ck_assert_close((double)y[1], 0.8, 1e-6, 0);
}
END_TEST

START_TEST(every_form_equals_the_reference)
{
    TABLE(k);
    for (int form = 0; form < FORMS; form++) {
        for (size_t s = 0; s < COUNT(odd_sizes); s++) {
            size_t n = odd_sizes[s];
            rdk_real *x = normals(n * ROWS, 1, 2, 1), *gain = normals(n, 1, 0.3, 2);
            rdk_real *bias = normals(n, 0, 1, 3), *y = array(n * ROWS), *plain = array(n * ROWS);
            rdk_real mean[ROWS] = {7, 7, 7, 7, 7, 7}, rstd[ROWS];
            double *xhat = calloc(n + 1, sizeof *xhat);
            k->norm(form_center(form), form_mean_square(form), ROWS, n, eps, x, NULL, NULL, plain,
                    form_center(form) ? mean : NULL, rstd);
            k->norm(form_center(form), form_mean_square(form), ROWS, n, eps, x, gain, bias, y, mean,
                    rstd);
            for (size_t r = 0; r < ROWS; r++) {
                double want = reference(form, n, x + r * n, xhat);
                ck_assert_close((double)rstd[r], want, 2e-7, 0);
                ck_assert(form_center(form) || mean[r] == 7);
                ck_assert_double_le(worst_error(n, plain + r * n, xhat, 0.01), 1e-5);
                for (size_t j = 0; j < n; j++) {
                    double v = xhat[j] * (double)gain[j] + (double)bias[j];
                    ck_assert_close((double)y[r * n + j], v, 4e-6, 1);
                }
            }
            rdk_real *all[] = {x, gain, bias, y, plain};
            for (size_t i = 0; i < COUNT(all); i++) drop(all[i]);
            free(xhat);
        }
    }
}
END_TEST

START_TEST(scale_and_offset_do_not_matter)
{
    TABLE(k);
    enum { N = 100 };
    static const double scale[] = {1e30, 1e18, 1e-3, 1e-30}, offset[] = {0, 1e19, 100, 0};
    for (int form = 0; form < FORMS; form++) {
        for (size_t c = 0; c < COUNT(scale); c++) {
            rdk_real *x = normals(N, offset[c], scale[c], 4), y[N], mean, rstd;
            double xhat[N];
            reference(form, N, x, xhat);
            k->norm(form_center(form), form_mean_square(form), 1, N, eps, x, NULL, NULL, y, &mean,
                    &rstd);
            /* an offset 1e5 times the spread: x and its mean are known to 1 % of the spread */
            double allowed = c == 2 ? 2e-3 : 2e-6, size = fmin(1, scale[c] / sqrt(eps));
            ck_assert_double_le(worst_error(N, y, xhat, size), allowed);
            for (int j = 0; j < N; j++) ck_assert(isfinite(y[j]));
            drop(x);
        }
    }
}
END_TEST

START_TEST(the_zero_row_is_finite)
{
    TABLE(k);
    for (int form = 0; form < FORMS; form++) {
        rdk_real x[5] = {0}, dy[] = {1, -2, 3, 0, 1}, y[5], dx[5] = {0}, mean = 0, rstd;
        k->norm(form_center(form), form_mean_square(form), 1, 5, eps, x, NULL, NULL, y, &mean,
                &rstd);
        k->norm_backward(form_center(form), form_mean_square(form), 1, 5, x, NULL, &mean, &rstd, dy,
                         dx, NULL, NULL);
        double middle = form_center(form) ? 0.6 : 0;
        for (int j = 0; j < 5; j++) {
            ck_assert(y[j] == 0);
            ck_assert_close((double)dx[j], ((double)dy[j] - middle) / sqrt(eps), 1e-6, 0.1);
        }
    }
}
END_TEST

/* dx, dgain, dbias of one call in double, added to what is there. */
static void reference_backward(int form, size_t n, const rdk_real *x, const rdk_real *gain,
                               const rdk_real *dy, double *dx, double *dgain, double *dbias)
{
    double *xhat = calloc(n + 1, sizeof *xhat);
    for (size_t r = 0; r < ROWS; r++) {
        double rstd = reference(form, n, x + r * n, xhat), g = 0, gx = 0;
        for (size_t j = 0; j < n; j++) {
            double v = (double)dy[r * n + j];
            dgain[j] += v * xhat[j];
            dbias[j] += v;
            g += v * (gain ? (double)gain[j] : 1);
            gx += v * (gain ? (double)gain[j] : 1) * xhat[j];
        }
        if (form_mean_square(form)) gx /= (double)n;
        g = form_center(form) ? g / (double)n : 0;
        for (size_t j = 0; j < n; j++) {
            double v = (double)dy[r * n + j] * (gain ? (double)gain[j] : 1);
            dx[r * n + j] += rstd * (v - g - xhat[j] * gx);
        }
    }
    free(xhat);
}

START_TEST(gradients_equal_the_reference_and_add)
{
    TABLE(k);
    for (int form = 0; form < FORMS; form++) {
        for (size_t s = 0; s < 2 * COUNT(odd_sizes); s++) {
            size_t n = odd_sizes[s / 2];
            rdk_real *x = normals(n * ROWS, 1, 2, 1), *dy = normals(n * ROWS, 0, 1, 4);
            rdk_real *gain = s % 2 ? normals(n, 1, 0.3, 2) : NULL;
            rdk_real *y = array(n * ROWS), *dx = normals(n * ROWS, 0, 1, 5);
            rdk_real *dgain = normals(n, 0, 1, 6), *dbias = normals(n, 0, 1, 7);
            rdk_real mean[ROWS], rstd[ROWS];
            double *want = calloc(n * (ROWS + 2) + 1, sizeof *want);
            for (size_t i = 0; i < n * ROWS; i++) want[i] = (double)dx[i];
            for (size_t j = 0; j < n; j++) want[n * ROWS + j] = (double)dgain[j];
            for (size_t j = 0; j < n; j++) want[n * (ROWS + 1) + j] = (double)dbias[j];
            reference_backward(form, n, x, gain, dy, want, want + n * ROWS, want + n * (ROWS + 1));
            k->norm(form_center(form), form_mean_square(form), ROWS, n, eps, x, gain, NULL, y, mean,
                    rstd);
            k->norm_backward(form_center(form), form_mean_square(form), ROWS, n, x, gain,
                             form_center(form) ? mean : NULL, rstd, dy, dx, dgain, dbias);
            /* one element: x - mean is 0, rstd 316 */
            double least = n == 1 ? 100 : n < 4 ? 10 : 1;
            ck_assert_double_le(worst_error(n * ROWS, dx, want, least), 4e-6);
            ck_assert_double_le(worst_error(n, dgain, want + n * ROWS, 1), 2e-6);
            ck_assert_double_le(worst_error(n, dbias, want + n * (ROWS + 1), 1), 2e-6);
            rdk_real *all[] = {x, dy, y, dx, dgain, dbias};
            for (size_t i = 0; i < COUNT(all); i++) drop(all[i]);
            if (gain) drop(gain);
            free(want);
        }
    }
}
END_TEST

START_TEST(nan_stays_in_its_row)
{
    TABLE(k);
    rdk_real x[] = {1, NAN, 3, 1, 2, 4}, y[6], mean[2], rstd[2];
    k->norm(true, true, 2, 3, eps, x, NULL, NULL, y, mean, rstd);
    for (int j = 0; j < 3; j++) ck_assert(isnan(y[j]) && isfinite(y[3 + j]));
}
END_TEST

RDK_TEST_MAIN("kernels: norms", {
    ADD_LOOP(hand_values, ISAS);
    ADD_LOOP(every_form_equals_the_reference, ISAS);
    ADD_LOOP(scale_and_offset_do_not_matter, ISAS);
    ADD_LOOP(the_zero_row_is_finite, ISAS);
    ADD_LOOP(gradients_equal_the_reference_and_add, ISAS);
    ADD_LOOP(nan_stays_in_its_row, ISAS);
})
