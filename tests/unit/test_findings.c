/* SPDX-License-Identifier: MIT
 * The checks of the variance argument from a program: that all pass, and that a figure which is off
 * is called off. */
#include <harness.h>
#include <rootdk/probe.h>

static const uint64_t widths[] = {16}, lengths[] = {64};

/* One estimate moved by ten of its errors: exactly its checks are off. */
START_TEST(a_wrong_figure_is_off)
{
    rdk_theory_plan plan = {widths, lengths, 1, 1, .samples = 1000, .seed = 1};
    rdk_theory_results r;
    rdk_status s = {0};
    ck_assert(rdk_theory_measure(&r, &plan, &s) && rdk_theory_find(&r, &s));
    ck_assert_uint_eq(rdk_findings_off(r.findings), 0);
    ck_assert_double_eq_tol(erfc(r.findings->bound / sqrt(2.)) * (double)r.findings->n_z, .001,
                            2e-5);
    r.point[0].e[0].variance.mean += 10 * r.point[0].e[0].variance.se;
    r.scores[0].causal[2].entropy.mean += 10 * r.scores[0].causal[2].entropy.se;
    r.scores[0].row[3].stein.mean -= 10 * r.scores[0].row[3].stein.se;
    r.scores[0].row[4].sat99.mean = NAN;
    ck_assert(rdk_theory_find(&r, &s));
    ck_assert_uint_eq(rdk_findings_off(r.findings), 4);
    rdk_theory_free(&r);
}
END_TEST

START_TEST(what_is_out_of_range)
{
    static const uint64_t none[] = {0}, one[] = {1};
    rdk_theory_plan plans[] = {{none, lengths, 1, 1, .samples = 9},
                               {widths, one, 1, 1, .samples = 9}};
    static const char *const says[] = {"d_k = 0", "1 keys"};
    for (int i = 0; i < 2; i++) {
        rdk_theory_results r;
        rdk_status s = {0};
        ck_assert(!rdk_theory_measure(&r, &plans[i], &s) && s.code == RDK_EVALUE);
        ck_assert(strstr(s.message, says[i]) != NULL);
        rdk_theory_free(&r);
    }
}
END_TEST

/* A header, then a line for each finding. */
START_TEST(csv_has_all_of_them)
{
    rdk_theory_plan plan = {widths, lengths, 1, 1, .samples = 1000, .seed = 1};
    rdk_theory_results r;
    rdk_status s = {0};
    rdk_text csv = {0};
    size_t lines = 0;
    ck_assert(rdk_theory_measure(&r, &plan, &s) && rdk_theory_find(&r, &s));
    rdk_theory_csv(&csv, r.findings);
    ck_assert(rdk_text_ok(&csv, &s));
    for (size_t i = 0; i < csv.size; i++) lines += csv.data[i] == '\n';
    ck_assert_uint_eq(lines, r.findings->n + 1);
    rdk_text_free(&csv);
    rdk_theory_free(&r);
}
END_TEST

RDK_TEST_MAIN("findings", {
    ADD(a_wrong_figure_is_off);
    ADD(what_is_out_of_range);
    ADD(csv_has_all_of_them);
})
