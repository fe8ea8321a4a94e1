/* SPDX-License-Identifier: MIT
 * Pages of many runs: a large ablation, and runs of several tasks, which are never compared. */
#include "pages.h"

/* ---- several tasks --------------------------------------------------------------------------- */

static const char *const OF_SORT[] = {"--task",      "sort",    "--d-model", "8",       "--heads",
                                      "2",           "--batch", "2",         "--steps", "2",
                                      "--eval-size", "4",       "--threads", "1",       NULL};

/* Each in a part of its own, with ids of its own; a run that is alone there as a run alone. */
START_TEST(tasks_have_parts_of_their_own)
{
    char *dir = program_directory();
    three_steps(dir, "runs/a", NULL);
    train(dir, OF_SORT, WITH("--out", "runs/b"), 0);
    three_steps(dir, "runs/c", WITH("--scale", "none"));
    char *page = report(dir, "runs");
    holds(page, "<p>3 runs of 2 tasks. Losses and accuracies of different tasks or data cannot be "
                "compared");
    holds(page, "<a href=\"#g1-group\">copy&nbsp;(2)</a> <a href=\"#g2-group\">sort&nbsp;(1)</a>");
    holds(page, "An ablation of <b>copy</b>: 2 runs, varied in scale (2).");
    holds(page, "<p>A run of <b>sort</b>.</p>");
    holds(page, "id=\"g2-fig-loss\"");
    holds(page, "./train --config runs/b/config.ini</code>");
    const char *second = strstr(page, "id=\"g2-group\"");
    ck_assert(second && !strstr(second, "<b>none</b>"));
    ck_assert(strstr(page, "id=\"metrics\"") && !strstr(page, "id=\"fig-loss\""));
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* One task, lengths that differ; and one text before and after it was changed. */
START_TEST(what_is_of_other_data_is_apart)
{
    char *dir = program_directory(), text[601];
    for (size_t i = 0; i < 600; i++) text[i] = (char)('a' + i * i % 7);
    text[600] = '\0';
    train(dir, OF_SORT, WITH("--seq-len", "4", "--out", "runs/a"), 0);
    train(dir, OF_SORT, WITH("--seq-len", "5", "--out", "runs/b"), 0);
    for (int i = 0; i < 2; i++) {
        text[0] = (char)('b' + i);
        program_write(dir, "t.txt", text);
        train(dir, WITH("--task", "text", "--data", "t.txt", "--seq-len", "8", "--steps", "1"),
              WITH("--d-model", "8", "--heads", "2", "--batch", "2", "--out",
                   i ? "runs/d" : "runs/c"),
              0);
    }
    char *page = report(dir, "runs");
    holds(page, "4 runs of 4 tasks");
    holds(page, "<h1>sort, seq-len 4</h1>");
    holds(page, "<h1>sort, seq-len 5</h1>");
    holds(page, "<h1>text</h1>");
    holds(page, "<h1>text, other data (2)</h1>");
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* ---- a large one ----------------------------------------------------------------------------- */

enum { SCALES = 4, WIDTHS = 4, SEEDS = 5, ROWS = 200, LAYERS = 2, HEADS = 2 };

/* A number with as many digits as a float has. */
static double noise(rdk_draws *d)
{
    return (double)(float)(0.1 + rdk_draw_uniform(d));
}

static void number(rdk_text *t, double x)
{
    char buf[RDK_NUMBER_TEXT];
    rdk_text_add(t, ",%s", rdk_text_float((float)x, buf));
}

static void put(const char *dir, const char *name, rdk_text *t)
{
    rdk_status s = {0};
    ck_assert(rdk_text_ok(t, &s));
    ck_assert_msg(rdk_file_replace(below(dir, name).text, t->data, t->size, &s), "%s", s.message);
    rdk_text_free(t);
}

static void made_up_tables(const char *run, rdk_draws *d)
{
    rdk_text metrics = {0}, attention = {0}, gradients = {0};
    rdk_text_add(&metrics, "step,split,loss,accuracy\n");
    rdk_text_add(&attention, "step,layer,head,scale,score_std,entropy_norm,sat90,sat99,ds_median,"
                             "ds_p90,ds_top5_share,score_std_theory,entropy_norm_theory\n");
    rdk_text_add(&gradients, "step,tensor,grad_norm\n");
    for (int i = 0; i < ROWS; i++) {
        for (int eval = 0; eval <= (i % 10 == 0); eval++) {
            rdk_text_add(&metrics, "%d,%s", i * 5, eval ? "eval" : "train");
            number(&metrics, noise(d));
            number(&metrics, noise(d));
            rdk_text_add(&metrics, "\n");
        }
        for (int k = 0; k < LAYERS * HEADS; k++) {
            rdk_text_add(&attention, "%d,%d,%d", i * 5, k / HEADS, k % HEADS);
            for (int c = 0; c < 10; c++) number(&attention, noise(d));
            rdk_text_add(&attention, "\n");
        }
        for (int k = 0; k < 2 * LAYERS; k++) {
            rdk_text_add(&gradients, "%d,layers.%d.attention.w%c.weight", i * 5, k / 2,
                         k % 2 ? 'v' : 'q');
            number(&gradients, noise(d));
            rdk_text_add(&gradients, "\n");
        }
    }
    put(run, "metrics.csv", &metrics);
    put(run, "attention.csv", &attention);
    put(run, "gradients.csv", &gradients);
}

static void made_up_run(const char *dir, const char *scale, int width, int seed)
{
    rdk_status s = {0};
    rdk_text path = {0}, config = {0}, json = {0};
    rdk_draws d = rdk_draws_at((rdk_stream){(uint64_t)seed, RDK_FOR_TEST, (uint64_t)width},
                               (uint64_t)scale[0]);
    rdk_text_add(&path, "%s/abl/scale=%s,d-k=%d,seed=%d", dir, scale, width, seed);
    ck_assert(rdk_directory_make(path.data, &s));
    rdk_text_add(&config, "scale = %s\nd-k = %d\nseed = %d\n", scale, width, seed);
    rdk_text_add(&json, "{\"status\": \"done\", \"vocabulary_size\": 64, \"chance_loss\": 3.4}\n");
    put(path.data, "config.ini", &config);
    put(path.data, "run.json", &json);
    made_up_tables(path.data, &d);
    rdk_text_free(&path);
}

/* Every title of panels in a row ends before the next one begins, and before the figure does. */
static void titles_have_room(const char *page)
{
    static const double letter = 6.5; /* of a title of 12 px */
    enum { WIDTH = 960 };
    const char *at = page;
    double end = 0, line = -1, x, y, length;
    size_t titles = 0;
    while ((at = strstr(at, "<text x=\""))) {
        const char *text = strchr(at, '>') + 1, *more = strstr(at, "class=\"title");
        ck_assert(sscanf(at, "<text x=\"%lf\" y=\"%lf\"", &x, &y) == 2);
        at += 5;
        if (!more || more > text) continue;
        bool small = !strncmp(more, "class=\"title small", 18);
        const char *set = strstr(more, "textLength=\"");
        if (!set || set > text || sscanf(set, "textLength=\"%lf", &length) != 1)
            length = letter * (small ? 10. / 12 : 1) * (double)strcspn(text, "<");
        ck_assert_msg(x + length <= WIDTH, "beyond the figure: %.60s", text);
        ck_assert_msg(y != line || x > end + 4 || x < 60, "touches the one before: %.60s", text);
        end = x + length;
        line = y;
        titles++;
    }
    ck_assert_uint_ge(titles, 4 * 2 * WIDTHS);
}

START_TEST(a_large_ablation_is_a_small_page)
{
    static const char *const scales[SCALES] = {"none", "sqrt", "dk", "qknorm"};
    char *dir = program_directory();
    for (int i = 0; i < SCALES; i++)
        for (int k = 0; k < WIDTHS; k++)
            for (int seed = 1; seed <= SEEDS; seed++) made_up_run(dir, scales[i], 16 << k, seed);
    char *page = report(dir, "abl");
    ck_assert_msg(strlen(page) < 2000000, "%zu bytes", strlen(page));
    titles_have_room(page);
    holds(page, "80 runs, varied in scale (4), d-k (4), seed (5).");
    holds(page, "Thinned to at most");
    free(page);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("pages of many runs", {
    ADD(tasks_have_parts_of_their_own);
    ADD(what_is_of_other_data_is_apart);
    ADD(a_large_ablation_is_a_small_page);
})
