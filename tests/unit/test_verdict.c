/* SPDX-License-Identifier: MIT
 * Grids written by hand, whose numbers the report and the tables of the ablation must both have:
 * best rate, sensitivity, solved, means without diverged runs, and the sentences of the verdict. */
#include "results_fixture.h"

#include "ablate/rates.h"
#include "report/page.h"

/* ---- runs by hand ---------------------------------------------------------------------------- */

typedef struct made {
    const char *status;
    double loss;            /* held out, at the end */
    double halfway, end;    /* accuracy at steps 100 and 200 */
    double entropy, sat90;  /* at the start */
    double ds_median, dw_q; /* at the start; |dW_V| is 1 */
} made;

enum { START = 5 }; /* the held-out loss before the first update; the training batch had 9 */

static void run(size_t point, const made *m)
{
    char path[RDK_PATH_TEXT], text[2000];
    put_config(point, path);
    snprintf(text, sizeof text,
             "{\"status\": \"%s\", \"chance_loss\": %.17g, \"chance_accuracy\": 0.03125, "
             "\"vocabulary_size\": 66}\n",
             m->status, log(32));
    put(path, "run.json", text);
    snprintf(text, sizeof text,
             "step,split,loss,accuracy,grad_norm,score_absmax,sequence_accuracy\n"
             "0,train,9,0,1,20,0\n0,eval,%d,0,,,0\n100,train,2,0.5,1,1,0\n100,eval,2,%g,,,0\n"
             "200,train,%g,0.5,1,1,0\n200,eval,%g,%g,,,0\n",
             START, m->halfway, 10 * m->loss, m->loss, m->end);
    put(path, "metrics.csv", text);
    snprintf(text, sizeof text,
             "step,layer,head,scale,entropy_norm,sat90,sat99,ds_median,ds_top5_share\n"
             "0,0,0,1,%g,%g,%g,%g,0.25\n200,0,0,1,0.25,0.5,0.125,0.1,0.5\n",
             m->entropy, m->sat90, m->sat90 / 2, m->ds_median);
    put(path, "attention.csv", text);
    snprintf(text, sizeof text,
             "step,tensor,grad_norm\n0,layers.0.attention.wq.weight,%g\n"
             "0,layers.0.attention.wv.weight,1\n200,layers.0.attention.wq.weight,1\n"
             "200,layers.0.attention.wv.weight,0\n",
             m->dw_q);
    put(path, "gradients.csv", text);
}

static char *page_of_the_grid(void)
{
    rdk_status s = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/report.html", directory);
    ck_assert_msg(rdk_report_write(directory, path, &s), "%s", s.message);
    char *page = rdk_file_read(path, NULL, &s);
    ck_assert_msg(page != NULL, "%s", s.message);
    return page;
}

static rdk_results results_of_the_grid(void)
{
    rdk_status s = {0};
    rdk_results r;
    ck_assert_msg(rdk_results_read(&a, &r, &s), "%s", s.message);
    ck_assert_uint_eq(r.damaged, 0);
    return r;
}

static void holds(const char *page, const char *words)
{
    const char *verdict = strstr(page, "<section id=\"verdict\">");
    ck_assert_msg(strstr(page, words) != NULL, "no '%s' in: %.3000s", words,
                  verdict ? verdict : page);
}

static void lacks(const char *page, const char *words)
{
    ck_assert_msg(!strstr(page, words), "'%s' is on the page", words);
}

/* ---- a grid of two scalings, two rates, three seeds ------------------------------------------ */

/* Order: scale (none, sqrt), lr, seed. One seed of none diverged at the larger rate. */
static const made GRID[] = {
    {"done", 2.0, .5, .5, .10, .625, .08, 1},  {"done", 2.2, .5, .5, .12, .625, .10, 1},
    {"done", 2.4, .5, .99, .14, .625, .12, 1}, {"done", 0.1, .5, .5, .10, .625, .08, 1},
    {"diverged", 9, .5, .5, .12, .625, .1, 1}, {"done", 0.1, .5, .5, .14, .625, .12, 1},
    {"done", 1.0, .5, .5, .8, .0625, .9, 1},   {"done", 1.0, .5, .5, .8, .0625, 1, 1},
    {"done", 1.3, .5, .5, .8, .0625, 1.1, 1},  {"done", 0.1, .99, 1, .8, .0625, .9, 1},
    {"done", 0.2, .5, 1, .8, .0625, 1, 1},     {"done", 0.3, .5, .9, .8, .0625, 1.1, 1},
};
enum { N_GRID = sizeof GRID / sizeof *GRID };

static void begin_two_scalings(void)
{
    rdk_setting settings[] = {{option("scale"), "none,sqrt", true},
                              {option("lr"), "0.001,0.01", true},
                              {option("seed"), "1..3", true}};
    begin(settings, 3);
    ck_assert_uint_eq(a.n_points, N_GRID);
    for (size_t i = 0; i < N_GRID; i++) run(i, &GRID[i]);
}

/* t(2) = 4.3027. Losses .1 .2 .3: .2 +- .248; 2 2.2 2.4: 2.2 +- .497. Sensitivity of sqrt, by seed:
 * .45 .4 .5; of none with l0 = ln 32: .95 .6329 1.15, with l0 = 5: .95 1.4 1.15. */
#define PM         "&nbsp;&plusmn;&nbsp;"
#define CELL(text) "<td class=\"n\">" text "</td>"

START_TEST(the_table_and_the_verdict_have_these_numbers)
{
    begin_two_scalings();
    char *page = page_of_the_grid();
    holds(page,
          "none</td>" CELL("0.001") CELL("3") CELL("2.20" PM "0.50") CELL("66" PM "70")
              CELL("- <span class=\"small\">1/3</span>") CELL("0.120" PM "0.050")
                  CELL("0.25" PM "0") CELL("0/3") CELL("0.91" PM "0.65") CELL("1.17" PM "0.56"));
    holds(page,
          "sqrt</td>" CELL("0.01") CELL("3") CELL("<b>0.20" PM "0.25</b>") CELL("97" PM "14")
              CELL("200 <span class=\"small\">2/3</span>") CELL("0.8" PM "0") CELL("0.25" PM "0")
                  CELL("0/3") CELL("0.45" PM "0.12") CELL("0.45" PM "0.12"));
    /* at the rate where one diverged, the two others */
    holds(page, "none</td>" CELL("0.01") CELL("3") CELL("0.1" PM "0"));
    holds(page, "was 0.12 under <b>none</b>, 0.8 under <b>sqrt</b>; 1 is uniform");
    holds(page, "the typical row of scores (the median) under <b>none</b> got 0.1 times the "
                "gradient that it got under <b>sqrt</b>, a smaller one: the intervals do not "
                "overlap. Of all rows 31.2&nbsp;% were saturated, their largest p above 0.99 "
                "(62.5&nbsp;% above 0.9) under <b>none</b>, 3.1&nbsp;% (6.2&nbsp;%) under "
                "<b>sqrt</b>. The largest 5&nbsp;% of rows held "
                "25&nbsp;% of the squared gradient, against 25&nbsp;%.");
    holds(page, "Held-out loss at the end, each at its best learning rate: <b>sqrt</b> 0.20" PM
                "0.25 (96.7&nbsp;% right), <b>none</b> 2.20" PM "0.50 (66.3&nbsp;% right); knowing "
                "nothing but the form of the task: 3.47.");
    holds(page, "<b>sqrt</b> is better than <b>none</b>: their 95&nbsp;% intervals do not "
                "overlap.");
    holds(page,
          "Over 2 learning rates, sensitivity (how far the losses lie above the lowest one in "
          "the mean, no loss counted above that of chance) is 0.91" PM
          "0.65 for <b>none</b>, 0.45" PM "0.12 for <b>sqrt</b>; <b>none</b> is worse at its "
          "best rate too, so its window is not compared.</li>");
    lacks(page, "the wider the window");
    lacks(page, "flatter");
    holds(page, "1 of 12 runs diverged. 3 seeds: fewer than five");
    holds(page, "The best learning rate is the smallest or the largest that was run for 2 of 2 "
                "series: a better one may lie beyond it. </li>");
    rdk_free(page);
    end();
}
END_TEST

/* What results.md says, in the words of the page. */
static void page_has(const char *page, const rdk_results *r, rdk_rates *t, size_t group,
                     size_t runs)
{
    rdk_best_rate best = rdk_rates_best(t, group);
    size_t scale = rdk_ablation_axis(&a, "scale");
    rdk_text row = {0};
    rdk_text_add(&row, "%s</td>" CELL("%s") CELL("%zu") "<td class=\"n\">",
                 rdk_ablation_value(&a, r->rows[t->groups.first[group]].point, scale),
                 a.axes[t->rate].values[best.rate], runs);
    const char *at = strstr(page, row.data);
    ck_assert_msg(at != NULL, "no row: %s", row.data);
    at += row.size;
    rdk_text_free(&row);
    if (!strncmp(at, "<b>", 3)) at += 3;
    const char *end = strstr(at, "</tr>");
    rdk_text loss = {0}, tail = {0};
    rdk_interval_words(&loss, best.loss);
    ck_assert_msg(!strncmp(at, loss.data, loss.size), "want %s: %.60s", loss.data, at);
    for (int from_start = 0; from_start < 2; from_start++) {
        rdk_text_add(&tail, "<td class=\"n\">");
        rdk_interval_words(&tail, rdk_rates_sensitivity(t, group, from_start));
        rdk_text_add(&tail, "</td>");
    }
    ck_assert_msg((size_t)(end - at) > tail.size && !strncmp(end - tail.size, tail.data, tail.size),
                  "want %s: %.400s", tail.data, at);
    rdk_text_free(&loss);
    rdk_text_free(&tail);
}

START_TEST(the_report_and_the_results_say_the_same)
{
    begin_two_scalings();
    char *page = page_of_the_grid();
    rdk_results r = results_of_the_grid();
    rdk_rates t;
    rdk_text tables = {0};
    ck_assert(rdk_rates_make(&t, &a, &r));
    ck_assert_uint_eq(t.groups.count, 2);
    for (size_t k = 0; k < t.groups.count; k++) page_has(page, &r, &t, k, 3);
    rdk_results_table(&a, &r, &tables);
    rdk_results_rates(&a, &r, &tables);
    holds(
        tables.data,
        "| none  | 0.001   | 2.20 +- 0.50 | 0.91 +- 0.65             | 1.17 +- 0.56            |\n"
        "| sqrt  | 0.01    | 0.20 +- 0.25 | 0.45 +- 0.12             | 0.45 +- 0.12            "
        "|\n");
    holds(tables.data, "| none  | 0.01  | 0.1 +- 0     |");
    holds(tables.data, "| 200 (2/3) |");
    holds(tables.data, "| - (1/3)   |");
    ck_assert_double_eq(r.rows[0].figures.initial_loss, START);
    ck_assert(isnan(r.rows[0].figures.ratio_last)); /* |dW_V| was 0 */
    rdk_text_free(&tables);
    rdk_rates_free(&t);
    rdk_free(r.rows);
    rdk_free(page);
    end();
}
END_TEST

/* The best run of sqrt is still at it: neither has it among its figures. */
START_TEST(the_same_while_a_run_is_not_finished)
{
    char path[RDK_PATH_TEXT];
    begin_two_scalings();
    put(rdk_point_path(&a, 9, path), "run.json", "{\"status\": \"running\"}\n");
    char *page = page_of_the_grid();
    rdk_results r = results_of_the_grid();
    rdk_rates t;
    ck_assert(rdk_rates_make(&t, &a, &r));
    ck_assert_double_eq(rdk_rates_best(&t, 1).loss.mean, 0.25);
    page_has(page, &r, &t, 0, 3);
    page_has(page, &r, &t, 1, 2);
    holds(page, "1 of 12 runs is not finished: curves are shown as far as they go");
    rdk_rates_free(&t);
    rdk_free(r.rows);
    rdk_free(page);
    end();
}
END_TEST

/* ---- sentences that numbers do not carry ----------------------------------------------------- */

/* dk has one run that did not diverge; none and sqrt start alike and end alike. */
START_TEST(nothing_is_claimed_without_intervals_that_part)
{
    static const made grid[] = {
        {"done", 1.0, .5, .5, .5, .3, .5, 1},  {"done", 1.5, .5, .5, .5, .3, 1.5, 1},
        {"done", 2.0, .5, .5, .5, .3, 1, 1},   {"done", 1.1, .5, .5, .8, .1, 1, 1},
        {"done", 1.4, .5, .5, .8, .1, 2, 1},   {"done", 2.0, .5, .5, .8, .1, 3, 1},
        {"done", 9.0, .5, .5, .9, .1, 1, 1},   {"diverged", 1, .5, .5, .9, .1, 1, 1},
        {"diverged", 1, .5, .5, .9, .1, 1, 1},
    };
    rdk_setting settings[] = {{option("scale"), "none,sqrt,dk", true},
                              {option("seed"), "1..3", true}};
    begin(settings, 2);
    for (size_t i = 0; i < a.n_points; i++) run(i, &grid[i]);
    char *page = page_of_the_grid();
    holds(page, "got 0.5 times the gradient that it got under <b>sqrt</b>, no difference that is "
                "shown: the intervals overlap. Of all rows 15.0&nbsp;% were "
                "saturated, their largest p above 0.99 (30.0&nbsp;% above 0.9) under <b>none</b>, "
                "5.0&nbsp;% (10.0&nbsp;%)");
    lacks(page, "so most of them");
    holds(page, "No difference is shown between <b>none</b> and <b>sqrt</b>: the intervals "
                "overlap; no interval for <b>dk</b>, of which one run has a final loss.");
    holds(page, CELL("9") CELL("50") CELL("- <span class=\"small\">0/3</span>"));
    rdk_free(page);
    end();
}
END_TEST

/* Entropies at the start: none, none with bf16, sqrt, sqrt with bf16. */
static void begin_two_options(const double entropy[4])
{
    rdk_setting settings[] = {{option("scale"), "none,sqrt", true},
                              {option("precision"), "float,bf16", true}};
    begin(settings, 2);
    ck_assert_uint_eq(a.n_points, 4);
    for (size_t i = 0; i < 4; i++) {
        const made m = {"done", 1, .5, .5, entropy[i], .3, 1 + (double)i, 1};
        run(i, &m);
    }
}

/* A gradient is held against that of a series with all else alike; of series that start alike the
 * plainest stands for all. */
START_TEST(starts_are_compared_between_equals_alone)
{
    static const struct {
        double entropy[4];
        const char *words; /* NULL: no sentence */
    } cases[] = {
        {{.120, .119, .8, .801},
         "under <b>none</b> got 0.333 times the gradient that it got under <b>sqrt</b>, a ratio"},
        {{.2, .1, .8, .8},
         "under <b>none, precision bf16</b> got 0.5 times the gradient that it got under "
         "<b>sqrt, precision bf16</b>, a ratio"},
        {{.9, .9, .8, .8},
         "under <b>sqrt</b> got 3 times the gradient that it got under <b>none</b>, a ratio"},
        {{.8, .801, .802, .803}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_two_options(cases[i].entropy);
        char *page = page_of_the_grid();
        if (cases[i].words)
            holds(page, cases[i].words);
        else
            lacks(page, "typical row of scores");
        rdk_free(page);
        end();
    }
}
END_TEST

/* The scale that additive attention has by rule is no scaling that was chosen. */
START_TEST(additive_attention_is_called_so)
{
    rdk_setting settings[] = {{option("attention"), "dot,additive", true},
                              {option("seed"), "1..2", true}};
    begin(settings, 2);
    for (size_t i = 0; i < a.n_points; i++) {
        const made m = {"done", 1, .5, .5, i < 2 ? .8 : .9, .3, 1, 1};
        run(i, &m);
    }
    char *page = page_of_the_grid();
    holds(page, "was 0.8 under <b>sqrt</b>");
    holds(page, "0.9 under <b>none, attention additive</b>");
    rdk_free(page);
    end();
}
END_TEST

/* none ends worse, with the smallest figure of those that learn; dk never leaves chance. Only sqrt
 * and qknorm are as good as each other, and the rate of sqrt is in the middle. */
START_TEST(windows_are_compared_between_equals_alone)
{
    enum { SCALES = 4, RATES = 3, SEEDS = 2 };
    static const double loss[SCALES][RATES] = {
        {2, 2.1, 2.1}, {1, .1, 2}, {3.4, 3.4, 3.4}, {.5, .3, .1}};
    rdk_setting settings[] = {{option("scale"), "none,sqrt,dk,qknorm", true},
                              {option("lr"), "0.001,0.01,0.1", true},
                              {option("seed"), "1..2", true}};
    begin(settings, 3);
    ck_assert_uint_eq(a.n_points, SCALES * RATES * SEEDS);
    for (size_t i = 0; i < a.n_points; i++) {
        size_t scale = i / (RATES * SEEDS);
        double accuracy = scale == 2 ? .032 : .9;
        made m = {"done",   loss[scale][i / SEEDS % RATES] + (i % SEEDS ? .001 : 0),
                  accuracy, accuracy,
                  .5,       .3,
                  1,        1};
        run(i, &m);
    }
    char *page = page_of_the_grid();
    holds(page, "for <b>qknorm</b>; between <b>sqrt</b>, <b>qknorm</b>, whose best losses are not "
                "shown to differ, the smaller, the wider the window of rates; <b>none</b> is worse "
                "at its best rate too, so its window is not compared; near chance even at the best "
                "of them, so without a window: <b>dk</b>.</li>");
    holds(page, "was run for 3 of 4 series: a better one");
    rdk_free(page);
    end();
}
END_TEST

/* The page of two scalings at two rates with one seed, in the order of the points. */
static char *page_of_two_by_two(const made grid[4])
{
    rdk_setting settings[] = {{option("scale"), "none,sqrt", true},
                              {option("lr"), "0.001,0.01", true}};
    begin(settings, 2);
    ck_assert_uint_eq(a.n_points, 4);
    for (size_t i = 0; i < a.n_points; i++) run(i, &grid[i]);
    return page_of_the_grid();
}

/* Of runs that all diverged the sensitivity is 0, every one of them counting as chance. */
START_TEST(what_always_diverges_has_no_window)
{
    static const made grid[] = {{"diverged", 2, .9, .9, .5, .3, 1, 1},
                                {"diverged", 1, .9, .9, .5, .3, 1, 1},
                                {"done", 1, .9, .9, .5, .3, 1, 1},
                                {"done", .5, .9, .9, .5, .3, 1, 1}};
    char *page = page_of_two_by_two(grid);
    holds(page, " that of chance) is 0.25 for <b>sqrt</b>.</li>");
    rdk_free(page);
    end();
}
END_TEST

/* One seed: whether the best losses differ is not known, so nothing is said of windows. */
START_TEST(windows_are_not_compared_without_intervals)
{
    static const made grid[] = {{"done", 2, .9, .9, .5, .3, 1, 1},
                                {"done", 1, .9, .9, .5, .3, 1, 1},
                                {"done", 1, .9, .9, .5, .3, 1, 1},
                                {"done", .5, .9, .9, .5, .3, 1, 1}};
    char *page = page_of_two_by_two(grid);
    holds(page, "is 0.5 for <b>none</b>, 0.25 for <b>sqrt</b>.</li>");
    rdk_free(page);
    end();
}
END_TEST

/* ---- figures over seeds and widths ----------------------------------------------------------- */

/* Section 4 draws on logarithmic axes: of 1 and 4 the mean is 2. */
START_TEST(gradients_against_width_are_geometric_means)
{
    static const made grid[] = {
        {"done", 1, .5, .5, .5, .3, .01, 1},
        {"done", 1, .5, .5, .5, .3, 1, 4},
        {"done", 1, .5, .5, .5, .3, 4, 3},
        {"done", 1, .5, .5, .5, .3, 0, 12},
    };
    rdk_setting settings[] = {{option("d-k"), "4,16", true}, {option("seed"), "1..2", true}};
    begin(settings, 2);
    for (size_t i = 0; i < a.n_points; i++) run(i, &grid[i]);
    char *page = page_of_the_grid();
    holds(page, "what still parts scalings there is what their rows pass on, and saturated rows");
    lacks(page, "come together");
    holds(page, "\\nsqrt,4,2,2,2,0.1,,,0.25\\n");
    holds(page, "\\nsqrt,16,6,6,6,,,,0.25\\n"); /* a median of 0 has no logarithm */
    rdk_free(page);
    end();
}
END_TEST

/* 81 probed steps are drawn as 27 stretches of three: what is saved is what is drawn. */
START_TEST(a_spike_between_drawn_steps_is_saved)
{
    static const made one = {"done", 1, .5, .5, .5, .3, 1, 1};
    char path[RDK_PATH_TEXT];
    rdk_text t = {0};
    rdk_setting settings[] = {{option("seed"), "1..2", true}};
    begin(settings, 1);
    run(0, &one);
    rdk_text_add(&t, "step,layer,head,entropy_norm,sat90,sat99\n");
    for (int i = 0; i < 81; i++) rdk_text_add(&t, "%d,0,0,0.5,0,%g\n", 10 * i, i == 4 ? .75 : .125);
    put(rdk_point_path(&a, 0, path), "attention.csv", t.data);
    rdk_text_free(&t);
    char *page = page_of_the_grid();
    holds(page, ",0,0,0,0.125\\n");
    holds(page, ",0,0,30,0.75\\n");
    holds(page, ",0,0,60,0.125\\n");
    rdk_free(page);
    end();
}
END_TEST

/* ---- names of lines -------------------------------------------------------------------------- */

/* Circles at chance stand where the name of chance would, at the end and in the middle; the
 * training curve crosses it at the start: the name moves up. Those of the loss are on their lines.
 */
START_TEST(the_name_of_a_line_lies_on_no_curve)
{
    static const made low = {"done", 2, .03, .04, .5, .3, 1, 1};
    rdk_setting settings[] = {{option("seed"), "1..2", true}};
    begin(settings, 1);
    run(0, &low);
    run(1, &low);
    char *page = page_of_the_grid();
    holds(page, "[0.03125,-1,\"chance\",0,-11]");
    holds(page, "\"ln V\",0,-3]");
    rdk_free(page);
    end();
}
END_TEST

RDK_TEST_MAIN("verdict", {
    ADD(the_name_of_a_line_lies_on_no_curve);
    ADD(the_table_and_the_verdict_have_these_numbers);
    ADD(the_report_and_the_results_say_the_same);
    ADD(the_same_while_a_run_is_not_finished);
    ADD(nothing_is_claimed_without_intervals_that_part);
    ADD(starts_are_compared_between_equals_alone);
    ADD(additive_attention_is_called_so);
    ADD(windows_are_compared_between_equals_alone);
    ADD(what_always_diverges_has_no_window);
    ADD(windows_are_not_compared_without_intervals);
    ADD(gradients_against_width_are_geometric_means);
    ADD(a_spike_between_drawn_steps_is_saved);
})
