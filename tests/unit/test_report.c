/* SPDX-License-Identifier: MIT
 * The parts of a report: text that cannot break a page, numbers, ticks, thinned curves, intervals.
 * The page as a whole: tests/cli/test_report.c. */
#include "harness.h"

#include "report/canvas.h"
#include "report/figure.h"
#include "report/svg.h"

/* ---- text ------------------------------------------------------------------------------------ */

static void written(void (*write)(rdk_text *, const char *), const char *text, const char *want)
{
    rdk_text t = {0};
    rdk_text_add(&t, "%s", "");
    write(&t, text);
    ck_assert_str_eq(t.data, want);
    rdk_text_free(&t);
}

START_TEST(text_of_a_page)
{
    written(rdk_html, "a<b & \"c\" > 'd'", "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39;");
    written(rdk_html, "\xC3\xA9\xE2\x82\xAC", "\xC3\xA9\xE2\x82\xAC");
    written(rdk_html, "x\xFFy\xC3", "x\xEF\xBF\xBDy\xEF\xBF\xBD");
    written(rdk_html, "\x01\x1B[31m\x7F", "\xEF\xBF\xBD\xEF\xBF\xBD[31m\xEF\xBF\xBD");
    written(rdk_html, "\xC2\x85\xEF\xBF\xBE", "\xEF\xBF\xBD\xEF\xBF\xBD");
    written(rdk_page_json, "</script><!--\"\\", "\"\\u003c/script>\\u003c!--\\\"\\\\\"");
    written(rdk_page_json, "\xFF\n", "\"\xEF\xBF\xBD\\n\"");
}
END_TEST

static void number(void (*write)(rdk_text *, double), double x, const char *want)
{
    rdk_text t = {0};
    write(&t, x);
    ck_assert_str_eq(t.data, want);
    rdk_text_free(&t);
}

START_TEST(numbers_of_a_page)
{
    char buf[RDK_READABLE];
    number(rdk_coordinate, 12.34, "12.3");
    number(rdk_coordinate, 12.96, "13");
    number(rdk_coordinate, -0.26, "-0.3");
    number(rdk_coordinate, -0.01, "0");
    number(rdk_coordinate, NAN, "0");
    number(rdk_coordinate, INFINITY, "0");
    number(rdk_page_number, 0.1f, "0.1");
    number(rdk_page_number, -0.0, "0");
    number(rdk_page_number, NAN, "null");
    number(rdk_page_number, -INFINITY, "null");
    number(rdk_page_number, 1e300, "1e300");
    ck_assert_str_eq(rdk_readable(0.123456, buf), "0.1235");
    ck_assert_str_eq(rdk_readable(1e-5, buf), "1e-5");
    ck_assert_str_eq(rdk_readable(-2.5e-13, buf), "-2.5e-13");
    ck_assert_str_eq(rdk_readable(0, buf), "0");
    ck_assert_str_eq(rdk_readable(NAN, buf), "-");
}
END_TEST

START_TEST(fields_of_a_csv)
{
    rdk_text t = {0};
    rdk_figure_field(&t, "plain");
    rdk_figure_field(&t, "a,\"b\"\n");
    rdk_figure_value(&t, 0.25);
    rdk_figure_value(&t, NAN);
    rdk_figure_value(&t, -0.0);
    ck_assert_str_eq(t.data, "plain,\"a,\"\"b\"\"\n\",0.25,,0");
    rdk_text_free(&t);
}
END_TEST

/* ---- axes ------------------------------------------------------------------------------------ */

static void ticks(rdk_axis a, size_t n, const double *want)
{
    double got[RDK_MOST_TICKS];
    ck_assert_uint_eq(rdk_axis_ticks(&a, got), n);
    for (size_t i = 0; i < n; i++) ck_assert_close(got[i], want[i], 1e-12, 1e-300);
}

START_TEST(ticks_are_round)
{
    ticks((rdk_axis){.low = 0, .high = 1.02}, 6, (double[]){0, 0.2, 0.4, 0.6, 0.8, 1});
    ticks((rdk_axis){.low = -0.4, .high = 3.1}, 7, (double[]){0, 0.5, 1, 1.5, 2, 2.5, 3});
    ticks((rdk_axis){.low = 0.9, .high = 1200, .log = true}, 4, (double[]){1, 10, 100, 1000});
    ticks((rdk_axis){.low = 0.15, .high = 2.5, .log = true}, 4, (double[]){0.2, 0.5, 1, 2});
    ticks((rdk_axis){.low = 0.15, .high = 0.42, .log = true}, 6,
          (double[]){0.15, 0.2, 0.25, 0.3, 0.35, 0.4});
    ticks((rdk_axis){.low = 1, .high = 300, .log = true, .given = (double[]){16, 64}, .n_given = 2},
          2, (double[]){16, 64});
    for (double high = 1e-9; high < 1e9; high *= 3.7) {
        double got[RDK_MOST_TICKS];
        rdk_axis a = {.low = 0, .high = high};
        size_t n = rdk_axis_ticks(&a, got);
        ck_assert_msg(n >= 3 && n <= 9, "%zu ticks up to %g", n, high);
    }
}
END_TEST

START_TEST(an_axis_takes_what_is_finite)
{
    rdk_axis a = rdk_axis_new("", true);
    rdk_axis_take(&a, NAN);
    rdk_axis_take(&a, -1);
    rdk_axis_take(&a, 0);
    rdk_axis_take(&a, INFINITY);
    rdk_axis_finish(&a);
    ck_assert(a.low > 0 && a.low < a.high && isfinite(a.high));
    a = rdk_axis_new("", false);
    rdk_axis_take(&a, 2);
    rdk_axis_finish(&a);
    ck_assert(a.low < 2 && a.high > 2);
    a = (rdk_axis){.low = 1, .high = 100, .log = true};
    ck_assert_close(rdk_axis_place(&a, 10), 0.5, 1e-12, 1);
    ck_assert(isnan(rdk_axis_place(&a, 0)));
}
END_TEST

/* ---- curves ---------------------------------------------------------------------------------- */

static rdk_report report_of(rdk_status *s)
{
    rdk_report r = {.status = s, .path = "test", .arena = rdk_arena_new(s)};
    ck_assert(r.arena != NULL);
    return r;
}

START_TEST(a_spike_survives_thinning)
{
    enum { N = 10000, MOST = 101 };
    rdk_status s = {0};
    rdk_report r = report_of(&s);
    double *x = rdk_report_alloc(&r, N, sizeof *x), *y = rdk_report_alloc(&r, N, sizeof *y);
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)i;
        y[i] = sin((double)i / 100);
    }
    y[7777] = 40;
    y[1234] = -40;
    rdk_curve c = {N, x, y}, thin = rdk_curve_thin(&r, &c, MOST);
    ck_assert_uint_le(thin.n, MOST);
    ck_assert_uint_ge(thin.n, MOST - 4);
    bool high = false, low = false;
    for (size_t i = 0; i < thin.n; i++) {
        ck_assert(i == 0 || thin.x[i] > thin.x[i - 1]);
        ck_assert_msg(thin.y[i] == y[(size_t)thin.x[i]], "a point that is none of the curve's");
        high = high || (thin.x[i] == 7777 && thin.y[i] == 40);
        low = low || (thin.x[i] == 1234 && thin.y[i] == -40);
    }
    ck_assert(high && low);
    ck_assert(thin.x[0] == 0 && thin.x[thin.n - 1] == N - 1);
    rdk_curve same = rdk_curve_thin(&r, &c, N);
    ck_assert(same.n == N && same.y == y);
    rdk_report_free(&r);
}
END_TEST

START_TEST(what_is_not_finite_leaves_a_curve)
{
    rdk_status s = {0};
    rdk_report r = report_of(&s);
    double x[] = {0, 1, 2, 3}, y[] = {5, NAN, 6, INFINITY};
    rdk_curve c = {4, x, y}, finite = rdk_curve_finite(&r, &c);
    ck_assert_uint_eq(finite.n, 2);
    ck_assert(finite.x[1] == 2 && finite.y[1] == 6);
    rdk_report_free(&r);
}
END_TEST

static const rdk_curve *loss_of(const rdk_report_run *run, size_t which)
{
    (void)which;
    return &run->train_loss;
}

START_TEST(a_mean_ends_where_a_seed_does)
{
    rdk_status s = {0};
    rdk_report r = report_of(&s);
    double x[] = {0, 10, 20, 30};
    double y[3][4] = {{1, 2, 3, 4}, {3, 4, 5, 6}, {2, 3, NAN, NAN}};
    rdk_report_run runs[4] = {0};
    for (size_t i = 0; i < 3; i++) {
        runs[i].best_rate = true;
        runs[i].train_loss = (rdk_curve){4, x, y[i]};
    }
    runs[3].series = 1;
    r.runs = runs;
    r.n_runs = 4;
    rdk_cell c = {0, 0, RDK_BEST_RATE};
    rdk_band band = rdk_cell_band(&r, &c, loss_of, 0, false);
    ck_assert_uint_eq(band.runs, 3);
    ck_assert_uint_eq(band.mean.n, 2);
    ck_assert_close(band.mean.y[0], 2, 1e-12, 1);
    /* t(2) = 4.302653, standard error 1/sqrt(3) */
    ck_assert_close(band.high[1] - band.mean.y[1], 4.302653 / sqrt(3), 1e-6, 1);
    band = rdk_cell_band(&r, &c, loss_of, 0, true);
    ck_assert_close(band.mean.y[0], cbrt(6), 1e-12, 1);
    ck_assert_close(band.mean.y[0] * band.mean.y[0], band.low[0] * band.high[0], 1e-9, 1);
    /* a diverged run is in no mean, though its curve is there */
    runs[1].diverged = true;
    band = rdk_cell_band(&r, &c, loss_of, 0, false);
    ck_assert(band.runs == 2 && band.mean.n == 2);
    ck_assert_double_eq(band.mean.y[0], 1.5);
    runs[0].diverged = runs[2].diverged = true;
    ck_assert_uint_eq(rdk_cell_band(&r, &c, loss_of, 0, false).runs, 0);
    r.n_runs = 0;
    rdk_report_free(&r);
}
END_TEST

static double dq_of(const rdk_report_run *run)
{
    return run->start.dq;
}

START_TEST(a_mean_of_logarithms)
{
    rdk_status s = {0};
    rdk_report r = report_of(&s);
    rdk_report_run runs[3] = {0};
    rdk_cell c = {0, 0, RDK_BEST_RATE};
    for (size_t i = 0; i < 3; i++) runs[i].best_rate = true;
    runs[0].start.dq = 1;
    runs[1].start.dq = 100;
    runs[2].start.dq = NAN; /* not measured */
    r.runs = runs;
    r.n_runs = 3;
    rdk_interval v = rdk_cell_log_interval(&r, &c, dq_of);
    ck_assert_close(exp(v.mean), 10, 1e-12, 0);
    ck_assert_uint_eq(v.n, 2);
    runs[2].start.dq = 0;
    ck_assert_uint_eq(rdk_cell_log_interval(&r, &c, dq_of).n, 0);
    r.n_runs = 0;
    rdk_report_free(&r);
}
END_TEST

/* ---- the terminal ---------------------------------------------------------------------------- */

START_TEST(a_curve_in_cells)
{
    rdk_status s = {0};
    rdk_report r = report_of(&s);
    double x[] = {0, 1}, y[] = {0, 1};
    rdk_axis unit = {.low = 0, .high = 1};
    rdk_curve diagonal = {2, x, y};
    rdk_canvas c = rdk_canvas_new(r.arena, 3, 3, false);
    rdk_canvas_curve(&c, &unit, &unit, &diagonal, 2);
    static const char *const want[] = {"  b", " b ", "b  "};
    for (size_t i = 0; i < 3; i++) {
        rdk_text t = {0};
        rdk_canvas_line(&c, i, false, &t);
        ck_assert_str_eq(t.data, want[i]);
        rdk_text_free(&t);
    }
    c = rdk_canvas_new(r.arena, 2, 1, true);
    rdk_canvas_curve(&c, &unit, &unit, &diagonal, 1);
    rdk_text t = {0};
    rdk_canvas_line(&c, 0, false, &t);
    ck_assert_str_eq(t.data, "\xE2\xA1\xA0\xE2\xA0\x8A"); /* dots 7 6, then 2 4 */
    rdk_text_free(&t);
    rdk_report_free(&r);
}
END_TEST

RDK_TEST_MAIN("report", {
    ADD(text_of_a_page);
    ADD(numbers_of_a_page);
    ADD(fields_of_a_csv);
    ADD(ticks_are_round);
    ADD(an_axis_takes_what_is_finite);
    ADD(a_spike_survives_thinning);
    ADD(what_is_not_finite_leaves_a_curve);
    ADD(a_mean_ends_where_a_seed_does);
    ADD(a_mean_of_logarithms);
    ADD(a_curve_in_cells);
})
