/* SPDX-License-Identifier: MIT
 * softmax, log-softmax and cross-entropy: hand values, double references, extreme logits, tiny
 * losses, ignored rows. */
#include <float.h>

#include "kernels_support.h"

enum { ROWS = 5, IGNORED = -1 };

/* log softmax of one row, in double. */
static void reference(size_t n, const rdk_real *x, double *log_p)
{
    double max = -INFINITY, rest = 0;
    size_t at = 0;
    for (size_t j = 0; j < n; j++) {
        if ((double)x[j] > max) max = (double)x[j], at = j;
    }
    for (size_t j = 0; j < n; j++) {
        if (j != at) rest += exp((double)x[j] - max);
    }
    for (size_t j = 0; j < n; j++) log_p[j] = (double)x[j] - max - log1p(rest);
}

START_TEST(softmax_hand_values)
{
    TABLE(k);
    rdk_real x[] = {8000, 8000, 1}, y[3];
    k->softmax(1, 3, x, y);
    ck_assert(y[0] == 0.5f && y[1] == 0.5f && y[2] == 0);
    rdk_real low[] = {-20000, -20000, -20000, -20000};
    k->softmax(1, 4, low, low);
    for (int j = 0; j < 4; j++) ck_assert(low[j] == 0.25f);
    rdk_real wide[] = {-3e38f, 3e38f, 0};
    k->softmax(1, 3, wide, y);
    ck_assert(y[0] == 0 && y[1] == 1 && y[2] == 0);
    k->log_softmax(1, 3, x, y);
    ck_assert_close((double)y[0], -log(2), 1e-7, 0);
    ck_assert_close((double)y[2], -7999 - log(2), 1e-7, 0);
    /* e^0 : e^1 : e^2 */
    rdk_real steps[] = {0, 1, 2};
    k->softmax(1, 3, steps, y);
    ck_assert_close((double)y[0], 0.09003057, 1e-6, 0);
    ck_assert_close((double)y[2], 0.66524096, 1e-6, 0);
}
END_TEST

START_TEST(rows_equal_the_reference)
{
    TABLE(k);
    static const double spread[] = {0.1, 1, 8, 30, 300}, offset[] = {0, 1e4, -1e4, 0, 0};
    for (size_t s = 0; s < COUNT(odd_sizes); s++) {
        size_t n = odd_sizes[s];
        double *log_p = calloc(n + 1, sizeof *log_p);
        rdk_real *p = array(n * ROWS), *lp = array(n * ROWS), *x = array(n * ROWS);
        for (size_t r = 0; r < ROWS; r++) {
            rdk_real *row = normals(n, offset[r], spread[r], 10 + r);
            if (n) memcpy(x + r * n, row, n * sizeof *row);
            drop(row);
        }
        k->softmax(ROWS, n, x, p);
        k->log_softmax(ROWS, n, x, lp);
        for (size_t r = 0; r < ROWS; r++) {
            reference(n, x + r * n, log_p);
            ck_assert_double_le(worst_error(n, lp + r * n, log_p, 1e-12), 1e-6);
            double total = 0;
            for (size_t j = 0; j < n; j++) {
                /* what would be denormal may be 0 */
                double want = exp(log_p[j]), flushed = want < FLT_MIN ? FLT_MIN : 0;
                ck_assert_double_le(fabs((double)p[r * n + j] - want),
                                    (5e-7 - 1e-7 * log_p[j]) * want + flushed);
                total += (double)p[r * n + j];
            }
            if (n) ck_assert_close(total, 1, 3e-7, 0);
        }
        free(log_p);
        drop(p);
        drop(lp);
        drop(x);
    }
}
END_TEST

START_TEST(gradients_equal_the_reference_and_add)
{
    TABLE(k);
    for (size_t s = 0; s < COUNT(odd_sizes); s++) {
        size_t n = odd_sizes[s];
        rdk_real *x = normals(n * ROWS, 0, 3, 1), *dy = normals(n * ROWS, 0, 1, 2);
        rdk_real *p = array(n * ROWS), *lp = array(n * ROWS);
        rdk_real *dp = normals(n * ROWS, 0, 1, 3), *old = copy_of(dp, n * ROWS);
        rdk_real *dlp = copy_of(old, n * ROWS);
        k->softmax(ROWS, n, x, p);
        k->log_softmax(ROWS, n, x, lp);
        k->softmax_backward(ROWS, n, p, dy, dp);
        k->log_softmax_backward(ROWS, n, lp, dy, dlp);
        for (size_t r = 0; r < ROWS; r++) {
            double mean = 0, total = 0;
            for (size_t j = r * n; j < r * n + n; j++) {
                mean += (double)p[j] * (double)dy[j];
                total += (double)dy[j];
            }
            for (size_t j = r * n; j < r * n + n; j++) {
                double want = (double)old[j] + (double)p[j] * ((double)dy[j] - mean);
                ck_assert_close((double)dp[j], want, 1e-6, 1);
                want = (double)old[j] + (double)dy[j] - exp((double)lp[j]) * total;
                ck_assert_close((double)dlp[j], want, 1e-6, 1 + fabs(total));
            }
        }
        rdk_real *all[] = {x, dy, p, lp, dp, old, dlp};
        for (size_t i = 0; i < COUNT(all); i++) drop(all[i]);
    }
}
END_TEST

START_TEST(a_bad_row_stays_alone)
{
    TABLE(k);
    rdk_real x[] = {1, 2, NAN, INFINITY, 0, 0, 1, 2, 3}, y[9];
    k->softmax(3, 3, x, y);
    for (int j = 0; j < 3; j++) ck_assert(isnan(y[j]) && isfinite(y[6 + j]));
    ck_assert(isnan(y[3]));
    rdk_real hidden[] = {-INFINITY, 5, -INFINITY};
    k->softmax(1, 3, hidden, y);
    ck_assert(y[0] == 0 && y[1] == 1 && y[2] == 0);
}
END_TEST

/* ---- cross-entropy --------------------------------------------------------------------------- */

START_TEST(cross_entropy_equals_the_reference)
{
    TABLE(k);
    static const size_t row_counts[] = {0, 1, 17, 300};
    for (size_t s = 1; s < COUNT(odd_sizes); s++) {
        for (size_t c = 0; c < COUNT(row_counts); c++) {
            size_t v = odd_sizes[s], rows = row_counts[c];
            rdk_real *x = normals(rows * v, 50, 4, 1), *max = array(rows), *inv = array(rows);
            rdk_real *nll = array(rows), *dx = normals(rows * v, 0, 1, 2);
            rdk_real *old = copy_of(dx, rows * v);
            int32_t *target = calloc(rows + 1, sizeof *target),
                    *best = calloc(rows + 1, sizeof *best);
            double *log_p = calloc(v, sizeof *log_p), sum = 0;
            for (size_t r = 0; r < rows; r++) {
                target[r] = r % 3 == 1 ? IGNORED : (int32_t)(r * 7 % v);
            }
            double got = k->cross_entropy(rows, v, x, target, max, inv, nll, best);
            k->cross_entropy_backward(rows, v, x, target, max, inv, (rdk_real)0.5, dx);
            for (size_t r = 0; r < rows; r++) {
                size_t argmax = 0;
                reference(v, x + r * v, log_p);
                for (size_t j = 1; j < v; j++) argmax = log_p[j] > log_p[argmax] ? j : argmax;
                ck_assert_int_eq(best[r], (int32_t)argmax);
                if (target[r] == IGNORED) {
                    ck_assert(nll[r] == 0 && same_bits(dx + r * v, old + r * v, v));
                    continue;
                }
                double want = -log_p[target[r]], worst = 0;
                sum += want;
                ck_assert_close((double)nll[r], want, 1e-6, 1e-30);
                for (size_t j = 0; j < v; j++) {
                    double slope = exp(log_p[j]) - (j == (size_t)target[r]);
                    double change = (double)dx[r * v + j] - (double)old[r * v + j];
                    worst = fmax(worst, fabs(change - 0.5 * slope));
                }
                ck_assert_double_le(worst, 1e-6);
            }
            ck_assert_close(got, sum, 1e-6, 1e-30);
            double again = k->cross_entropy(rows, v, x, target, max, inv, NULL, NULL);
            ck_assert(again == got);
            rdk_real *all[] = {x, max, inv, nll, dx, old};
            for (size_t i = 0; i < COUNT(all); i++) drop(all[i]);
            free(target);
            free(best);
            free(log_p);
        }
    }
}
END_TEST

/* A target that is certain up to e^-40 still has a loss and a gradient, to full accuracy. */
START_TEST(a_tiny_loss_does_not_stall)
{
    TABLE(k);
    for (size_t v = 2; v < 40; v++) {
        rdk_real x[40], max, inv, nll, dx[40] = {0};
        for (size_t j = 0; j < v; j++) x[j] = -40;
        int32_t target = (int32_t)(v / 2), best;
        x[target] = 0;
        double rest = (double)(v - 1) * exp(-40.0);
        double loss = k->cross_entropy(1, v, x, &target, &max, &inv, &nll, &best);
        k->cross_entropy_backward(1, v, x, &target, &max, &inv, 1, dx);
        ck_assert_close(loss, rest, 1e-6, 0);
        ck_assert_close((double)nll, rest, 1e-6, 0);
        ck_assert_close((double)dx[target], -rest, 1e-6, 0);
        ck_assert_close((double)dx[(target + 1) % (int32_t)v], exp(-40.0), 1e-6, 0);
        ck_assert_int_eq(best, target);
    }
}
END_TEST

START_TEST(cross_entropy_at_the_edges)
{
    TABLE(k);
    /* uniform: ln v; ties: the first; one class: 0 */
    rdk_real x[65] = {0}, max, inv, nll;
    int32_t target = 3, best, zero = 0;
    ck_assert_close(k->cross_entropy(1, 65, x, &target, &max, &inv, &nll, &best), log(65), 1e-6, 0);
    ck_assert_int_eq(best, 0);
    ck_assert(k->cross_entropy(1, 1, x, &zero, &max, &inv, &nll, &best) == 0);
    /* far apart: the loss is the distance, the gradient 1 and -1 */
    rdk_real far[] = {0, 8000}, dx[2] = {0};
    ck_assert(k->cross_entropy(1, 2, far, &zero, &max, &inv, &nll, &best) == 8000);
    k->cross_entropy_backward(1, 2, far, &zero, &max, &inv, 1, dx);
    ck_assert(best == 1 && dx[0] == -1 && dx[1] == 1);
    /* only ignored rows; a row with NaN gives NaN */
    int32_t none[] = {IGNORED}, first[] = {0};
    rdk_real bad[] = {NAN, 1, 2};
    rdk_real kept[] = {1, 2, 3};
    ck_assert(k->cross_entropy(1, 3, bad, none, &max, &inv, &nll, &best) == 0);
    k->cross_entropy_backward(1, 3, bad, none, &max, &inv, 1, kept);
    ck_assert(kept[0] == 1 && kept[1] == 2 && kept[2] == 3);
    ck_assert(isnan(k->cross_entropy(1, 3, bad, first, &max, &inv, &nll, &best)));
}
END_TEST

RDK_TEST_MAIN("kernels: rows", {
    ADD_LOOP(softmax_hand_values, ISAS);
    ADD_LOOP(rows_equal_the_reference, ISAS);
    ADD_LOOP(gradients_equal_the_reference_and_add, ISAS);
    ADD_LOOP(a_bad_row_stays_alone, ISAS);
    ADD_LOOP(cross_entropy_equals_the_reference, ISAS);
    ADD_LOOP(a_tiny_loss_does_not_stall, ISAS);
    ADD_LOOP(cross_entropy_at_the_edges, ISAS);
})
