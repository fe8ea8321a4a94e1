/* SPDX-License-Identifier: MIT
 * Results of an ablation from run directories written by hand: every column, groups over seeds,
 * learning rates, and the sentences on what cannot be concluded. */
#include "results_fixture.h"

#include "ablate/rates.h"

/* ---- runs by hand ---------------------------------------------------------------------------- */

/* The run of a point: its held-out loss is `start`, then `loss` at step 200. */
static void run(size_t point, const char *status, double start, double loss, double accuracy)
{
    char path[RDK_PATH_TEXT], text[2000];
    put_config(point, path);
    snprintf(text, sizeof text, "{\"status\": \"%s\", \"chance_loss\": %.17g}\n", status, log(32));
    put(path, "run.json", text);
    snprintf(text, sizeof text,
             "step,split,loss,accuracy,lr,grad_norm,clip_factor,score_absmax,tokens,"
             "sequence_accuracy\n"
             "0,train,9,0.1,1,3.5,1,20,4,0\n0,eval,%g,0.25,,,,,4,0\n"
             "100,train,1,0.5,1,7.25,1,,4,0\n100,eval,0.75,0.99,,,,,4,0.5\n"
             "200,train,1,0.5,1,2,1,44,4,0\n200,eval,%g,%g,,,,,4,0.875\n",
             start, loss, accuracy);
    put(path, "metrics.csv", text);
    put(path, "attention.csv",
        "step,layer,head,entropy_norm,sat99\n0,0,0,0.5,0\n0,1,0,0.7,0\n"
        "100,0,0,0.1,0.5\n100,1,0,0.3,0.5\n200,0,0,0.25,0.125\n200,1,0,0.5,0.375\n");
    put(path, "gradients.csv",
        "step,tensor,grad_norm\n"
        "0,layers.0.attention.wq.weight,3\n0,layers.0.attention.wv.weight,1\n"
        "0,layers.1.attention.wq.weight,1\n0,layers.1.attention.wv.weight,2\n"
        "200,layers.0.attention.wq.weight,1\n200,layers.0.attention.wv.weight,4\n"
        "200,layers.1.attention.wq.weight,1\n200,layers.1.attention.wv.weight,4\n");
}

static rdk_results read_results(void)
{
    rdk_status s = {0};
    rdk_results r;
    ck_assert_msg(rdk_results_read(&a, &r, &s), "%s", s.message);
    return r;
}

/* ---- columns --------------------------------------------------------------------------------- */

START_TEST(every_column)
{
    rdk_status s = {0};
    rdk_setting settings[] = {{option("seed"), "1..3", true}, {option("scale"), "none", true}};
    begin(settings, 2);
    run(0, "done", 2.5, 0.5, 1);
    run(2, "diverged", 2.5, 0.5, 1);
    rdk_results r = read_results();
    ck_assert(r.n == 2 && r.missing == 1 && r.damaged == 0);
    ck_assert_msg(rdk_results_write(&a, &r, &s), "%s", s.message);
    char path[128];
    snprintf(path, sizeof path, "%s/results.csv", directory);
    char *text = rdk_file_read(path, NULL, &s);
    ck_assert_str_eq(
        text,
        "point,seed,status,diverged,step,initial_loss,final_loss,best_loss,best_step,accuracy,"
        "sequence_accuracy,solved_at,entropy_norm_first,entropy_norm_last,entropy_norm_min,"
        "score_absmax_max,sat99_last,query_value_ratio_first,query_value_ratio_last,grad_norm_max\n"
        "seed-1,1,done,0,200,2.5,0.5,0.5,200,1,0.875,100,0.6,0.375,0.2,44,0.25,1.75,0.25,7.25\n"
        "seed-3,3,diverged,1,200,2.5,,0.5,200,,,100,0.6,,0.2,44,,1.75,,7.25\n");
    rdk_free(text);
    rdk_free(r.rows);
    end();
}
END_TEST

START_TEST(a_run_without_probes_has_empty_columns)
{
    rdk_status s = {0};
    rdk_setting settings[] = {{option("seed"), "1..2", true}};
    begin(settings, 1);
    run(1, "done", 2.5, 1, 0.5);
    char path[RDK_PATH_TEXT];
    put(rdk_point_path(&a, 1, path), "attention.csv", "step,layer,head,entropy_norm,sat99\n");
    put(path, "gradients.csv", "step,tensor,grad_norm\n");
    rdk_results r = read_results();
    ck_assert_uint_eq(r.n, 1);
    ck_assert(isnan(r.rows[0].figures.entropy_first) && isnan(r.rows[0].figures.ratio_last));
    ck_assert_double_eq(r.rows[0].figures.best_loss, 0.75);
    ck_assert_double_eq(r.rows[0].figures.best_step, 100);
    ck_assert_msg(rdk_results_write(&a, &r, &s), "%s", s.message);
    rdk_free(r.rows);
    end();
}
END_TEST

START_TEST(one_damaged_run_is_named_and_the_others_are_read)
{
    char path[RDK_PATH_TEXT];
    rdk_setting settings[] = {{option("seed"), "1..3", true}};
    begin(settings, 1);
    for (size_t i = 0; i < 3; i++) run(i, "done", 2.5, 1, 0.5);
    put(rdk_point_path(&a, 1, path), "metrics.csv", "step,split\n1\n");
    rdk_results r = read_results();
    ck_assert(r.n == 2 && r.damaged == 1 && r.missing == 1);
    ck_assert(r.rows[1].point == 2 && strstr(r.damage.message, "seed-2/metrics.csv:2"));
    rdk_free(r.rows);
    end();
}
END_TEST

/* Done at step 300, says run.json; the last evaluation that is there is of step 200. */
START_TEST(a_run_that_lost_its_end_is_damaged)
{
    char path[RDK_PATH_TEXT];
    rdk_setting settings[] = {{option("seed"), "1..3", true}};
    begin(settings, 1);
    for (size_t i = 0; i < 3; i++) run(i, "done", 2.5, 1, 0.5);
    put(rdk_point_path(&a, 0, path), "run.json", "{\"status\": \"done\", \"step\": 200}\n");
    put(rdk_point_path(&a, 1, path), "run.json", "{\"status\": \"done\", \"step\": 300}\n");
    put(rdk_point_path(&a, 2, path), "run.json", "{\"status\": \"diverged\", \"step\": 300}\n");
    rdk_results r = read_results();
    ck_assert(r.n == 2 && r.damaged == 1 && r.rows[0].point == 0 && r.rows[1].point == 2);
    ck_assert_msg(strstr(r.damage.message, "seed-2/metrics.csv lacks the evaluation of step 300"),
                  "%s", r.damage.message);
    rdk_free(r.rows);
    end();
}
END_TEST

/* What is there must be of this grid: else it is refused by the option's name. */
START_TEST(a_run_of_another_configuration_is_refused)
{
    rdk_setting settings[] = {{option("seed"), "1..2", true}};
    begin(settings, 1);
    a.resolved[0].optim.lr = 0.5;
    run(0, "done", 2.5, 1, 0.5);
    a.resolved[0].optim.lr = 0.001;
    rdk_results r = read_results();
    ck_assert(r.n == 0 && r.damaged == 1);
    ck_assert_msg(strstr(r.damage.message, "has lr = 0.5, this ablation wants 0.001") != NULL, "%s",
                  r.damage.message);
    rdk_free(r.rows);
    end();
}
END_TEST

/* ---- intervals as text ----------------------------------------------------------------------- */

/* No digit that the width makes meaningless: the half to two, the mean to as many places. */
START_TEST(digits_fit_the_width)
{
    static const struct {
        double mean, half, factor;
        size_t n;
        const char *text_mean, *text_half;
    } cases[] = {
        {8.8542, 5.6123, 1, 3, "8.9", "5.6"},
        {0.088542, 0.056123, 100, 3, "8.9", "5.6"},
        {3.3754, 0.1512, 1, 3, "3.38", "0.15"},
        {0.03734, 0.000261, 1, 3, "0.03734", "0.00026"},
        {120.4, 33.3, 1, 2, "120", "33"},
        {1234.5, 678.9, 1, 2, "1234", "679"},
        {0.5, 0, 1, 4, "0.5", "0"},
        {0.123456, NAN, 1, 1, "0.1235", ""},
        {1.2345e-7, 3.2e-9, 1, 3, "1.23e-7", "3.2e-9"},
        {-0.25, 0.031, 1, 3, "-0.250", "0.031"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char mean[RDK_INTERVAL_TEXT], half[RDK_INTERVAL_TEXT];
        rdk_interval v = {cases[i].mean, cases[i].half, cases[i].n};
        rdk_interval_texts(v, cases[i].factor, mean, half);
        ck_assert_str_eq(mean, cases[i].text_mean);
        ck_assert_str_eq(half, cases[i].text_half);
    }
}
END_TEST

/* ---- over seeds ------------------------------------------------------------------------------ */

/* losses 1, 2, 6: mean 3, deviation sqrt(7), half width 4.3027 sqrt(7 / 3) = 6.572. */
START_TEST(means_and_intervals_leave_diverged_runs_out)
{
    rdk_text t = {0};
    rdk_setting settings[] = {{option("seed"), "1..4", true}, {option("d-k"), "4,8", true}};
    begin(settings, 2);
    const double loss[] = {1, 2, 6};
    for (size_t i = 0; i < 3; i++) run(i, "done", 2.5, loss[i], 0.5);
    run(3, "diverged", 2.5, 1e9, 0.5);
    run(4, "done", 2.5, 0.0625, 0.5);
    rdk_results r = read_results();
    rdk_results_table(&a, &r, &t);
    ck_assert_str_eq(t.data, "| d-k | final loss | accuracy % | solved at | H/ln n at start | H/ln "
                             "n at end | diverged |\n"
                             "|-----|------------|------------|-----------|-----------------|------"
                             "---------|----------|\n"
                             "| 4   | 3.0 +- 6.6 | 50 +- 0    | 100 (4/4) | 0.6 +- 0        | "
                             "0.375 +- 0    | 1/4      |\n"
                             "| 8   | 0.0625     | 50         | 100 (1/1) | 0.6             | "
                             "0.375         | 0/1      |\n"
                             "\n");
    rdk_text_free(&t);
    rdk_free(r.rows);
    end();
}
END_TEST

/* ---- over learning rates --------------------------------------------------------------------- */

/* Two seeds, three rates; chance is ln 32 = 3.4657, the start 5. */
static void begin_rates(void)
{
    rdk_setting settings[] = {{option("lr"), "1,2,3", true},
                              {option("seed"), "1..2", true},
                              {option("beta2"), "0.9,0.99", true}};
    begin(settings, 3);
    /* order: lr, beta2, seed */
    const double loss[3][2][2] = {{{1, 2}, {1, 1}}, {{0.5, 1.5}, {1, 1}}, {{4, 9}, {2, 2}}};
    for (size_t i = 0; i < 12; i++) {
        size_t rate = i / 4, beta = i / 2 % 2, seed = i % 2;
        bool diverged = beta == 1 && rate == 0 && seed == 0;
        run(i, diverged ? "diverged" : "done", 5, loss[rate][beta][seed], 0.5);
    }
}

START_TEST(best_rate_and_sensitivity)
{
    begin_rates();
    rdk_results r = read_results();
    rdk_rates t;
    const double chance = log(32);
    ck_assert(rdk_rates_make(&t, &a, &r));
    ck_assert_uint_eq(t.groups.count, 2);
    rdk_best_rate best = rdk_rates_best(&t, 0);
    ck_assert_uint_eq(best.rate, 1);
    ck_assert(best.loss.mean == 1 && best.loss.n == 2 && !best.at_end && !best.diverged);
    /* a rate at which fewer seeds diverged is better, however good the others are */
    best = rdk_rates_best(&t, 1);
    ck_assert(best.rate == 1 && best.loss.mean == 1 && !best.at_end);

    /* seed 1: (1 + .5 + chance) / 3 - .5; seed 2: (2 + 1.5 + chance) / 3 - 1.5 */
    rdk_interval s = rdk_rates_sensitivity(&t, 0, false);
    double one = (1.5 + chance) / 3 - 0.5, two = (3.5 + chance) / 3 - 1.5;
    ck_assert_close(s.mean, (one + two) / 2, 1e-12, 0);
    ck_assert_close(s.half, rdk_student_t(0.95, 1) * fabs(one - two) / 2, 1e-12, 0);
    /* l0 = 5: 4 counts as it is, 9 as 5 */
    s = rdk_rates_sensitivity(&t, 0, true);
    ck_assert_close(s.mean, ((5.5 / 3 - 0.5) + (8.5 / 3 - 1.5)) / 2, 1e-12, 0);
    /* the diverged one counts as l0 */
    s = rdk_rates_sensitivity(&t, 1, true);
    ck_assert_close(s.mean, ((8.0 / 3 - 1) + (4.0 / 3 - 1)) / 2, 1e-12, 0);
    rdk_rates_free(&t);
    rdk_free(r.rows);
    end();
}
END_TEST

/* At 1 two of three seeds diverged, at 2 one, at 3 all: the best rate is 2, whatever the losses. */
START_TEST(best_rate_where_some_run_diverged_at_every_rate)
{
    static const int bad[3] = {2, 1, 3};
    rdk_setting settings[] = {{option("lr"), "1,2,3", true}, {option("seed"), "1..3", true}};
    rdk_text t = {0};
    begin(settings, 2);
    for (size_t i = 0; i < 9; i++)
        run(i, (int)(i % 3) < bad[i / 3] ? "diverged" : "done", 5, i < 3 ? 0.25 : 2, 0.5);
    rdk_results r = read_results();
    rdk_rates rates;
    ck_assert(rdk_rates_make(&rates, &a, &r));
    rdk_best_rate best = rdk_rates_best(&rates, 0);
    ck_assert(best.rate == 1 && best.diverged == 1 && !best.at_end);
    ck_assert(best.loss.mean == 2 && best.loss.n == 2);
    rdk_results_limits(&a, &r, &t);
    ck_assert_msg(strstr(t.data, "In 1 of 1 rows of the second table some run diverged at every "
                                 "lr: the best one is that at which the fewest did"),
                  "%s", t.data);
    rdk_text_free(&t);
    rdk_rates_free(&rates);
    rdk_free(r.rows);
    end();
}
END_TEST

START_TEST(a_seed_without_all_rates_says_nothing_of_sensitivity)
{
    char path[RDK_PATH_TEXT];
    begin_rates();
    put(rdk_point_path(&a, 0, path), "run.json", "{\"status\": \"running\"}\n");
    rdk_results r = read_results();
    rdk_rates t;
    ck_assert(rdk_rates_make(&t, &a, &r));
    rdk_interval s = rdk_rates_sensitivity(&t, 0, true);
    ck_assert_uint_eq(s.n, 1);
    ck_assert_close(s.mean, 8.5 / 3 - 1.5, 1e-12, 0);
    rdk_rates_free(&t);
    rdk_free(r.rows);
    end();
}
END_TEST

/* ---- what cannot be concluded ---------------------------------------------------------------- */

static void check_limits(const rdk_setting *settings, size_t n, const char *const *said,
                         const char *const *unsaid)
{
    rdk_text t = {0};
    begin(settings, n);
    for (size_t i = 0; i < a.n_points; i++) run(i, "done", 5, 1 + (double)i, 0.5);
    rdk_results r = read_results();
    rdk_results_limits(&a, &r, &t);
    const char *text = t.data ? t.data : "";
    for (; *said; said++) ck_assert_msg(strstr(text, *said) != NULL, "no '%s' in: %s", *said, text);
    for (; *unsaid; unsaid++) ck_assert_msg(!strstr(text, *unsaid), "'%s' in: %s", *unsaid, text);
    rdk_text_free(&t);
    rdk_free(r.rows);
    end();
}

#define SAYS(...) ((const char *const[]){__VA_ARGS__, NULL})

START_TEST(limits)
{
    rdk_setting one_of_all[] = {{option("scale"), "none,sqrt", true}};
    check_limits(
        one_of_all, 1,
        SAYS("Only one learning rate was run (0.001)", "One seed was run", "One d_k was run"),
        SAYS("not finished", "may lie beyond"));
    rdk_setting three_seeds[] = {{option("scale"), "none,qknorm", true},
                                 {option("seed"), "1..3", true},
                                 {option("lr"), "1e-3,1e-2", true}};
    check_limits(
        three_seeds, 3,
        SAYS("3 seeds were run, fewer than 5: intervals are wide (4.3 standard errors "
             "where 5 seeds have 2.8)",
             "In 2 of 2 rows of the second table the best lr is the smallest or the largest"),
        SAYS("Only one learning rate", "One d_k", "One seed"));
    rdk_setting enough[] = {{option("d-k"), "4,8", true},
                            {option("scale"), "none,sqrt", true},
                            {option("seed"), "1..5", true}};
    check_limits(enough, 3, SAYS("Only one learning rate"), SAYS("seeds were run", "One d_k"));
}
END_TEST

/* Of two seeds that are wanted one has been run. */
START_TEST(limits_count_the_seeds_that_were_run)
{
    rdk_setting two[] = {{option("scale"), "none,sqrt", true}, {option("seed"), "1..2", true}};
    rdk_text t = {0};
    begin(two, 2);
    run(0, "done", 5, 1, 0.5);
    rdk_results r = read_results();
    rdk_results_limits(&a, &r, &t);
    ck_assert_msg(t.data && strstr(t.data, "3 of 4 runs are not finished"), "%s", t.data);
    ck_assert_msg(strstr(t.data, "One seed was run") && !strstr(t.data, "2 seeds"), "%s", t.data);
    rdk_text_free(&t);
    rdk_free(r.rows);
    end();
}
END_TEST

RDK_TEST_MAIN("results", {
    ADD(every_column);
    ADD(a_run_without_probes_has_empty_columns);
    ADD(one_damaged_run_is_named_and_the_others_are_read);
    ADD(a_run_that_lost_its_end_is_damaged);
    ADD(a_run_of_another_configuration_is_refused);
    ADD(digits_fit_the_width);
    ADD(means_and_intervals_leave_diverged_runs_out);
    ADD(best_rate_and_sensitivity);
    ADD(best_rate_where_some_run_diverged_at_every_rate);
    ADD(a_seed_without_all_rates_says_nothing_of_sensitivity);
    ADD(limits);
    ADD(limits_count_the_seeds_that_were_run);
})
