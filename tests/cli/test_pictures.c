/* SPDX-License-Identifier: MIT
 * report --figures, from outside: each figure of a page as a file of its own; and the figures
 * of the start: against d_k, which a page has where d_k was varied, and beside theory, which is of
 * each layer. */
#include "run_files.h"

#include <math.h>

#include <rootdk/report.h>

#include "page_check.h"

/* Two widths, two seeds. */
static void grid(const char *dir)
{
    static const char *const widths[] = {"4", "16"};
    char out[64];
    for (int i = 0; i < 4; i++) {
        const char *seed = i & 2 ? "2" : "1";
        snprintf(out, sizeof out, "abl/d-k-%s_seed-%s", widths[i & 1], seed);
        train(dir, TINY,
              WITH("--d-k", widths[i & 1], "--seed", seed, "--steps", "2", "--probe-every", "1",
                   "--out", out),
              0);
    }
}

/* What stands between the two, from the first `open` on; to be freed. */
static char *part(const char *text, const char *open, const char *close)
{
    const char *from = strstr(text, open);
    ck_assert_msg(from != NULL, "no %s", open);
    const char *to = strstr(from, close);
    ck_assert_msg(to != NULL, "no %s", close);
    return strndup(from, (size_t)(to - from));
}

static void is_a_picture(const char *picture)
{
    rdk_text page = {0};
    rdk_text_add(&page, "<!DOCTYPE html>%s", picture);
    page_is_well_formed(page.data);
    page_is_alone(page.data);
    rdk_text_free(&page);
    ck_assert(!strncmp(picture, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", 46));
    ck_assert_msg(strstr(picture, "fill=\"#fff\"/>") != NULL, "no paper");
    ck_assert_msg(strstr(picture, "svg .c1 { stroke: #0072b2; }") != NULL, "no colour");
    static const char *const not_there[] = {"var(", "href", "@media", "--c1", "figure", "button"};
    for (size_t i = 0; i < sizeof not_there / sizeof *not_there; i++)
        ck_assert_msg(strstr(picture, not_there[i]) == NULL, "holds %s", not_there[i]);
}

START_TEST(figures_are_files)
{
    static const char *const names[] = {"loss", "entropy",         "start",
                                        "std",  "start-gradients", "trajectory"};
    char *dir = program_directory(), path[64], id[64];
    grid(dir);
    program_run r = program_call(dir, WITH("report", "abl", "--figures", "docs/pictures"));
    ck_assert_msg(r.status == 0, "%s", r.err);
    ck_assert_str_eq(r.out, "abl/report.html\n");
    program_free(&r);
    char *page = program_file(dir, "abl/report.html", NULL);
    int figures = 0;
    for (const char *p = page; (p = strstr(p, "<figure ")); p++) figures++;
    ck_assert_int_eq(program_directory_entries(below(dir, "docs/pictures").text), figures);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "docs/pictures/%s.svg", names[i]);
        char *picture = program_file(dir, path, NULL);
        is_a_picture(picture);
        snprintf(id, sizeof id, "<figure id=\"fig-%s\"", names[i]);
        char *figure = part(page, id, "</figure>");
        char *key = part(figure, "<g class=\"key\"", "</g>");
        ck_assert_msg(strstr(picture, key) != NULL, "%s is another figure", path);
        free(key);
        free(figure);
        free(picture);
    }
    free(page);
    program_directory_remove(dir);
}
END_TEST

START_TEST(figures_that_cannot_be_written)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "1", "--out", "run"), 0);
    program_write(dir, "taken", "a file");
    program_run r = program_call(dir, WITH("report", "run", "--figures", "taken/pictures"));
    ck_assert_int_eq(r.status, 1);
    ck_assert_str_eq(r.out, "");
    ck_assert_msg(strstr(r.err, "taken") != NULL, "%s", r.err);
    program_free(&r);
    rdk_status s = {0};
    ck_assert(!rdk_report_pictures(below(dir, "taken").text, below(dir, "pictures").text, &s));
    ck_assert_int_eq(s.code, RDK_EFORMAT);
    ck_assert(!rdk_file_exists(below(dir, "pictures").text));
    program_directory_remove(dir);
}
END_TEST

/* Mean of a column of attention.csv at step 0, over layers, heads and both seeds; of the squares.
 */
static double at_start(const char *dir, const char *width, const char *column, bool squares)
{
    double sum = 0;
    int n = 0;
    for (int seed = 1; seed <= 2; seed++) {
        char path[64];
        rdk_status s = {0};
        snprintf(path, sizeof path, "abl/d-k-%s_seed-%d/attention.csv", width, seed);
        rdk_table *t = rdk_table_read(below(dir, path).text, &s);
        ck_assert_msg(t != NULL, "%s", s.message);
        const double *step = rdk_table_numbers(t, "step", &s),
                     *x = rdk_table_numbers(t, column, &s);
        ck_assert_msg(step && x, "%s", s.message);
        for (size_t i = 0; i < t->rows; i++) {
            if (step[i] != 0) continue;
            sum += squares ? x[i] * x[i] : x[i];
            n++;
        }
        rdk_table_free(t);
    }
    ck_assert_int_eq(n, 8); /* 2 layers, 2 heads */
    return sum / n;
}

/* The rows behind the figure are means of what the runs' files have. */
START_TEST(the_start_against_d_k)
{
    char *dir = program_directory();
    grid(dir);
    program_run r = program_call(dir, WITH("report", "abl"));
    ck_assert_msg(r.status == 0, "%s", r.err);
    program_free(&r);
    char *page = program_file(dir, "abl/report.html", NULL);
    char *rows = part(page, "series,d_k,score_std,", "</script>");
    static const char *const widths[] = {"4", "16"};
    for (int i = 0; i < 2; i++) {
        char head[32];
        double std, std_theory, entropy, entropy_theory;
        snprintf(head, sizeof head, "sqrt,%s,", widths[i]);
        const char *row = strstr(rows, head);
        ck_assert_msg(row != NULL, "no %s in %s", head, rows);
        ck_assert_int_eq(sscanf(row + strlen(head), "%lf,%lf,%lf,%lf", &std, &std_theory, &entropy,
                                &entropy_theory),
                         4);
        ck_assert_double_eq_tol(entropy, at_start(dir, widths[i], "entropy_norm", false), 1e-6);
        ck_assert_double_eq_tol(entropy_theory,
                                at_start(dir, widths[i], "entropy_norm_theory", false), 1e-6);
        ck_assert_double_eq_tol(std_theory, at_start(dir, widths[i], "score_std_theory", false),
                                1e-6);
        /* of each run the root of the mean square, then the mean of two runs: at most the root */
        double root = sqrt(at_start(dir, widths[i], "score_std", true));
        ck_assert_msg(std <= root * (1 + 1e-6) && std > 0.9 * root, "%g, not %g", std, root);
    }
    free(rows);
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* A field of the row of attention.csv at step 0, of a layer's first head. */
static const char *first_of(const rdk_table *t, const char *layer, const char *column)
{
    size_t row = 0;
    while (row < t->rows && strcmp(rdk_table_word(t, row, 1), layer) != 0) row++;
    ck_assert_uint_lt(row, t->rows);
    return rdk_table_word(t, row, rdk_table_column(t, column));
}

/* Layers with scales of their own: what is measured of a layer stands beside what is predicted of
 * it, and over layers both are averaged alike. */
START_TEST(theory_is_of_each_layer)
{
    static const char *const layers[] = {"0", "1"};
    char *dir = program_directory();
    for (int i = 0; i < 2; i++)
        train(dir, TINY,
              WITH("--scale-layers", "0:none/1:dk", "--d-k", i ? "4" : "16", "--steps", "1",
                   "--probe-every", "1", "--out", i ? "abl/b" : "abl/a"),
              0);
    program_run r = program_call(dir, WITH("report", "abl"));
    ck_assert_msg(r.status == 0, "%s", r.err);
    program_free(&r);
    char *page = program_file(dir, "abl/report.html", NULL);
    rdk_status s = {0};
    rdk_table *t = rdk_table_read(below(dir, "abl/b/attention.csv").text, &s);
    ck_assert_msg(t != NULL, "%s", s.message);
    double squares = 0, entropies = 0, std, std_theory, entropy, entropy_theory;
    for (int i = 0; i < 2; i++) {
        const char *deviation = first_of(t, layers[i], "score_std_theory");
        const char *norm = first_of(t, layers[i], "entropy_norm_theory");
        char want[128];
        snprintf(want, sizeof want, "\\nb,sqrt,4,%s,%s,", layers[i], deviation);
        ck_assert_msg(strstr(page, want) != NULL, "no %s", want);
        snprintf(want, sizeof want, "layer %s: predicted ", layers[i]);
        ck_assert_msg(strstr(page, want) != NULL, "no %s", want);
        snprintf(want, sizeof want, "\"Entropy / ln n, layer %s\",\"levels\":[[%s,0,", layers[i],
                 norm);
        ck_assert_msg(strstr(page, want) != NULL, "no %s", want);
        squares += pow(strtod(deviation, NULL), 2) / 2;
        entropies += strtod(norm, NULL) / 2;
    }
    const char *row = strstr(page, "\\nsqrt,4,");
    ck_assert(row && sscanf(row, "\\nsqrt,4,%lf,%lf,%lf,%lf", &std, &std_theory, &entropy,
                            &entropy_theory) == 4);
    ck_assert_double_eq_tol(std_theory, sqrt(squares), 1e-6);
    ck_assert_double_eq_tol(entropy_theory, entropies, 1e-6);
    rdk_table_free(t);
    free(page);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("pictures", {
    ADD(figures_are_files);
    ADD(figures_that_cannot_be_written);
    ADD(the_start_against_d_k);
    ADD(theory_is_of_each_layer);
})
