/* SPDX-License-Identifier: MIT
 * report, from outside: pages of tiny runs, of broken and unfinished ones. Of many: test_pages.c.
 * The page in a browser: make browser. */
#include "pages.h"

#include <math.h>

/* ---- a run ----------------------------------------------------------------------------------- */

static const char *const SECTIONS[] = {"verdict", "table", "curves",     "attention", "gradients",
                                       "maps",    "rates", "trajectory", "metrics"};

/* The losses of the training rows, as they stand in the file, between commas. */
static void losses(const char *dir, const char *run, rdk_text *list, double *values)
{
    rdk_status s = {0};
    rdk_table *t = rdk_table_read(below(below(dir, run).text, "metrics.csv").text, &s);
    ck_assert_msg(t != NULL, "%s", s.message);
    for (size_t i = 0; i < t->rows; i++) {
        if (strcmp(rdk_table_word(t, i, 1), "train") != 0) continue;
        const char *loss = rdk_table_word(t, i, rdk_table_column(t, "loss"));
        rdk_text_add(list, "%s%s", list->size ? "," : "", loss);
        *values++ = strtod(loss, NULL);
    }
    rdk_table_free(t);
}

START_TEST(a_page_of_a_run)
{
    char *dir = program_directory();
    three_steps(dir, "run", NULL);
    char *page = report(dir, "run");
    char section[64];
    for (size_t i = 0; i < sizeof SECTIONS / sizeof *SECTIONS; i++) {
        snprintf(section, sizeof section, "<section id=\"%s\">", SECTIONS[i]);
        holds(page, section);
    }
    holds(page, "One learning rate was run");
    holds(page, "One d_k: no figure against d_k");
    holds(page, "--task copy");
    rdk_text list = {0};
    double values[4];
    losses(dir, "run", &list, values);
    rdk_text_add(&list, "]}");
    holds(page, list.data);
    rdk_text_free(&list);
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* What the terminal said at the end, the page says too: every line, but for its first letter. */
START_TEST(a_run_alone_has_the_verdict_of_the_terminal)
{
    static const char *const runs[][5] = {{"--scale", "none"},
                                          {"--task", "random", "--dropout", "0"},
                                          {"--qk-norm", "l2"},
                                          {"--scale-layers", "0:none"},
                                          {"--layers", "6", "--scale-layers", "3:8/5:dk"}};
    char *dir = program_directory();
    const char *base[PROGRAM_ARGS] = {"--seq-len", "4",       "--vocab",     "5",
                                      "--d-model", "8",       "--batch",     "4",
                                      "--steps",   "6",       "--eval-size", "8",
                                      "--quiet",   "--out",   "run",         "--eval-every",
                                      "2",         "--force", "--task",      "copy"};
    base[18 + (_i == 1 ? 0 : 2)] = NULL;
    program_run r = train_and_read(dir, base, runs[_i], 0);
    char *page = report(dir, "run");
    int lines = 0;
    if (_i == 3) holds(r.out, "% of rows above p = 0.99; ");
    if (_i == 3) holds(r.out, " in layer 1: entropy/ln n ");
    if (_i == 4) holds(r.out, "Attention started (of 6 layers those of least and most entropy) ");
    if (_i == 4) holds(r.out, " in layer 3: entropy/ln n ");
    for (char *line = r.out, *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
        char want[512];
        if (!strncmp(line, "run ", 4)) continue;
        snprintf(want, sizeof want, "%.*s", (int)(end - line) - 10, line + 10);
        holds(page, want);
    }
    ck_assert_int_ge(lines, 6);
    free(page);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* Where layers differ, a mean over them would hide the one that is saturated: also of a run that
 * went on, whose start another process saw, and of series. */
START_TEST(layers_that_differ_are_told_apart)
{
    char *dir = program_directory();
    program_run whole = train_and_read(
        dir, TINY, WITH("--scale-layers", "0:8", "--steps", "6", "--quiet", "--out", "abl/a"), 0);
    train(dir, TINY,
          WITH("--scale-layers", "0:8", "--steps", "6", "--quiet", "--seed", "2", "--out", "abl/b"),
          0);
    train(dir, TINY, WITH("--scale-layers", "0:8", "--steps", "6", "--stop-at", "3", "--out", "c"),
          0);
    program_run rest = call(dir, WITH("--resume", "c", "--quiet"), 0);
    size_t n = (size_t)(strstr(whole.out, "\nrun ") - whole.out);
    ck_assert(strstr(whole.out, " in layer 0: ") && !strncmp(whole.out, rest.out, n));
    char *page = report(dir, "abl");
    holds(page, " under <b>sqrt</b> (theory: 0.");
    holds(page, "; layer 0: 0.");
    holds(page, ", layer 1: 0.");
    free(page);
    program_free(&whole);
    program_free(&rest);
    program_directory_remove(dir);
}
END_TEST

/* Rows are logged every second step and attention looked at every step: the path of section 7 has
 * what both have, to the end. */
START_TEST(the_path_has_every_step_of_both)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "6", "--log-every", "2", "--probe-every", "1", "--out", "run"),
          0);
    char *page = report(dir, "run");
    const char *csv = strstr(page, "class=\"csv\" data-of=\"fig-trajectory\"");
    ck_assert(csv != NULL);
    const char *end = strstr(csv, "</script>");
    for (int step = 0; step <= 6; step++) {
        char row[32];
        snprintf(row, sizeof row, "\\nsqrt,4,%d,", step);
        const char *at = strstr(csv, row);
        ck_assert_msg((at && at < end) == (step % 2 == 0), "step %d: %.400s", step, csv);
    }
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* The line that was drawn, read back through its axis, is the column of the file. */
START_TEST(a_drawn_line_is_the_column)
{
    char *dir = program_directory();
    double values[4], box[4], x[2], y[2];
    rdk_text list = {0};
    three_steps(dir, "run", NULL);
    char *page = report(dir, "run");
    losses(dir, "run", &list, values);
    rdk_text_free(&list);
    const char *json = strstr(page, "{\"box\":[");
    ck_assert(json && sscanf(json, "{\"box\":[%lf,%lf,%lf,%lf],\"x\":[%lf,%lf],\"y\":[%lf,%lf]",
                             &box[0], &box[1], &box[2], &box[3], &x[0], &x[1], &y[0], &y[1]) == 8);
    const char *clip = strstr(page, "<g clip-path=\"url(#fig-loss-0)\"");
    const char *path = clip ? strstr(clip, "class=\"mean ") : NULL;
    path = path ? strstr(path, " d=\"M") : NULL;
    ck_assert(path != NULL);
    long px, py, dx, dy;
    int used;
    ck_assert(sscanf(path, " d=\"M%ld %ldl0 0%n", &px, &py, &used) == 2);
    path += used;
    for (int step = 0; step < 4; step++) {
        double place = (values[step] - y[0]) / (y[1] - y[0]);
        ck_assert_msg(fabs((double)px - 10 * box[2] * step / x[1]) <= 1.5, "step %d: x %ld", step,
                      px);
        ck_assert_msg(fabs((double)py - 10 * box[3] * (1 - place)) <= 1.5, "step %d: y %ld", step,
                      py);
        if (step == 3) break;
        ck_assert(sscanf(path, "%ld%ld%n", &dx, &dy, &used) == 2);
        path += used;
        px += dx;
        py += dy;
    }
    free(page);
    program_directory_remove(dir);
}
END_TEST

START_TEST(the_place_of_a_page)
{
    char *dir = program_directory();
    three_steps(dir, "run", NULL);
    program_write(dir, "page.html", "old");
    program_run r = call(dir, WITH("report", "--out", "page.html", "run/"), 0);
    ck_assert_str_eq(r.out, "page.html\n");
    program_free(&r);
    char *page = program_file(dir, "page.html", NULL);
    page_is_well_formed(page);
    free(page);
    ck_assert(!run_has(dir, "run", "report.html"));
    r = call(dir, WITH("report", "--out", "no/such/place.html", "run"), 1);
    ck_assert(strstr(r.err, "no/such/place.html"));
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

START_TEST(what_is_no_run)
{
    char *dir = program_directory();
    static const struct {
        const char *words[4];
        int status;
        const char *says;
    } cases[] = {
        {{"report"}, 2, "takes one directory"},
        {{"report", "a", "b"}, 2, "takes one directory"},
        {{"report", "nowhere"}, 1, "nowhere"},
        {{"report", "--oot", "x"}, 2, "did you mean --out?"},
        {{"report", "."}, 1, "no run"},
        {{"show"}, 2, "one or more runs"},
        {{"show", "nowhere"}, 1, "nowhere"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program_run r = call(dir, cases[i].words, cases[i].status);
        ck_assert_msg(strstr(r.err, cases[i].says) != NULL, "%s", r.err);
        ck_assert_str_eq(r.out, "");
        program_free(&r);
    }
    ck_assert_int_eq(program_directory_entries(dir), 0);
    program_directory_remove(dir);
}
END_TEST

/* Every link within the page leads somewhere, and every figure's title to a definition. */
START_TEST(links_lead_somewhere)
{
    char *dir = program_directory();
    three_steps(dir, "run", NULL);
    char *page = report(dir, "run"), name[64], id[80];
    int metrics = 0;
    for (const char *p = page; (p = strstr(p, "href=\"#")); p++) {
        ck_assert(sscanf(p, "href=\"#%63[^\"]", name) == 1);
        snprintf(id, sizeof id, " id=\"%s\"", name);
        holds(page, id);
        metrics += !strncmp(name, "m-", 2);
    }
    ck_assert_int_ge(metrics, 12);
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* ---- several runs ---------------------------------------------------------------------------- */

START_TEST(a_page_of_an_ablation)
{
    char *dir = program_directory();
    static const char *const scales[] = {"none", "sqrt"}, *const rates[] = {"0.001", "0.01"};
    char out[64];
    for (int i = 0; i < 8; i++) {
        snprintf(out, sizeof out, "abl/%d", i);
        three_steps(
            dir, out,
            WITH("--scale", scales[i & 1], "--lr", rates[i >> 1 & 1], "--seed", i & 4 ? "1" : "2"));
    }
    char *page = report(dir, "abl");
    holds(page, "8 runs, varied in scale (2), lr (2), seed (2).");
    holds(page, "./train ablate --scale none,sqrt");
    holds(page, "--lr 0.001,0.01");
    holds(page, "id=\"fig-rates\"");
    holds(page, "LR sensitivity");
    holds(page, "2 seeds: fewer than five");
    holds(page, "0 of 8 runs diverged");
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* With d_model fixed, d_k follows the heads: a panel each, one series; the command says heads. */
START_TEST(heads_at_fixed_width)
{
    char *dir = program_directory();
    static const char *const heads[] = {"1", "2", "4"};
    char out[64];
    for (int i = 0; i < 3; i++) {
        snprintf(out, sizeof out, "abl/heads=%s", heads[i]);
        const char *words[] = {"--task",      "copy", "--seq-len", "4",      "--vocab",   "5",
                               "--d-model",   "8",    "--heads",   heads[i], "--batch",   "4",
                               "--eval-size", "8",    "--steps",   "2",      "--threads", "1",
                               "--out",       out,    NULL};
        train(dir, words, NULL, 0);
    }
    char *page = report(dir, "abl");
    holds(page, "3 runs, varied in d-k (3).");
    holds(page, "--heads 1,2,4 --d-model 8");
    holds(page, "Loss, d_k = 2<");
    holds(page, "Loss, d_k = 8<");
    holds(page, "\"series\":[\"sqrt\"]");
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* Series are called by their scaling: what changed with it made the difference as well. */
START_TEST(what_changes_with_the_scaling_is_named)
{
    static const char says[] = "<li><b>layers</b>, <b>bias</b> change with the scaling or the d_k: "
                               "what differs between those may come from them.</li>";
    char *dir = program_directory();
    three_steps(dir, "two/a", NULL);
    train(dir, WITH("--task", "copy", "--seq-len", "4", "--vocab", "5", "--d-model", "8"),
          WITH("--heads", "2", "--layers", "1", "--batch", "4", "--eval-size", "8", "--steps", "3",
               "--log-every", "1", "--scale", "none", "--bias", "--out", "two/b"),
          0);
    char *page = report(dir, "two");
    holds(page, says);
    free(page);
    three_steps(dir, "two/c", WITH("--bias"));
    page = report(dir, "two");
    holds(page, "<li><b>layers</b> changes with the scaling or the d_k: what differs between those "
                "may come from it.</li>");
    free(page);
    program_directory_remove(dir);
}
END_TEST

/* The last line is lost, at its end, so that nothing looks damaged. */
static void metrics_cut(const char *dir, const char *run)
{
    char *text = program_file(dir, below(run, "metrics.csv").text, NULL);
    size_t n = strlen(text) - 1;
    while (n > 0 && text[n - 1] != '\n') n--;
    write_bytes(dir, below(run, "metrics.csv").text, text, n);
    free(text);
}

START_TEST(broken_and_unfinished_runs_are_named)
{
    char *dir = program_directory();
    for (int i = 0; i < 6; i++) {
        static const char *const names[] = {"abl/good",     "abl/running", "abl/damaged",
                                            "abl/headless", "abl/blind",   "abl/cut"};
        char seed[4] = {(char)('1' + i), '\0'};
        three_steps(dir, names[i], WITH("--seed", seed));
    }
    program_write(dir, "abl/running/run.json", "{\"status\": \"running\"}\n");
    program_write(dir, "abl/damaged/metrics.csv", "step,split,loss\n0,train\n");
    metrics_cut(dir, "abl/cut");
    ck_assert(unlink(below(dir, "abl/headless/run.json").text) == 0);
    ck_assert(unlink(below(dir, "abl/blind/attention.csv").text) == 0);
    char *page = report(dir, "abl");
    holds(page, "<b>running</b>: not finished");
    holds(page, "<b>damaged</b>: left out: abl/damaged/metrics.csv:2: 2 fields");
    holds(page, "<b>headless</b>: left out: ");
    holds(page, "<b>cut</b>: left out: abl/cut/metrics.csv lacks the evaluation of step 3");
    holds(page, "<b>blind</b>: cannot");
    holds(page, "1 of 3 runs is not finished");
    free(page);
    program_run r = call(dir, WITH("report", "abl/damaged"), 1);
    ck_assert(strstr(r.err, "abl/damaged/metrics.csv:2:"));
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_diverged_run_has_its_cross)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "9", "--lr", "1e30", "--log-every", "1", "--out", "run"), 3);
    char *page = report(dir, "run");
    holds(page, "class=\"death\"");
    holds(page, "diverged at step");
    holds(page, "1/1");
    free(page);
    program_run r = call(dir, WITH("show", "run"), 0);
    ck_assert_msg(strstr(r.out, " -> -\n") && !strstr(r.out, "nan"), "%s", r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* Printed commands are for a shell: first quoted, then escaped for the page. */
START_TEST(commands_are_quoted)
{
    char *dir = program_directory();
    three_steps(dir, "it's <x>", NULL);
    char *page = report(dir, "it's <x>");
    holds(page, "./train --config &#39;it&#39;\\&#39;&#39;s &lt;x&gt;/config.ini&#39;</code>.");
    free(page);
    program_run r = call(dir,
                         WITH("ablate", "--seed", "1..2", "--task", "copy", "--seq-len", "4",
                              "--vocab", "5", "--d-model", "8", "--heads", "2", "--batch", "4",
                              "--eval-size", "8", "--steps", "2", "--out", "a b"),
                         0);
    ck_assert_msg(strstr(r.out, " report 'a b'\n") != NULL, "%s", r.out);
    program_free(&r);
    page = report(dir, "a b");
    holds(page, "./train --config &#39;a b/&#39;<i>RUN</i>/config.ini</code>.");
    free(page);
    program_directory_remove(dir);
}
END_TEST

START_TEST(names_of_any_bytes)
{
    char *dir = program_directory();
    ck_assert(mkdir(below(dir, "abl").text, 0777) == 0);
    three_steps(dir, "abl/x", NULL);
    three_steps(dir, "abl/y", WITH("--seed", "2"));
    char inner[] = "abl/<b>&\"'\xFF\x1B[31m";
    ck_assert(rename(below(dir, "abl/x").text, below(dir, inner).text) == 0);
    char *page = report(dir, "abl");
    ck_assert(!strchr(page, '\x1B') && !strchr(page, '\xFF') && !strstr(page, "<b>&"));
    free(page);
    program_run r = call(dir, WITH("show", "abl"), 0);
    ck_assert(!strchr(r.out, '\x1B') && !strchr(r.out, '\xFF'));
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("report", {
    ADD(a_page_of_a_run);
    ADD_LOOP(a_run_alone_has_the_verdict_of_the_terminal, 5);
    ADD(layers_that_differ_are_told_apart);
    ADD(the_path_has_every_step_of_both);
    ADD(a_drawn_line_is_the_column);
    ADD(links_lead_somewhere);
    ADD(the_place_of_a_page);
    ADD(what_is_no_run);
    ADD(a_page_of_an_ablation);
    ADD(heads_at_fixed_width);
    ADD(what_changes_with_the_scaling_is_named);
    ADD(broken_and_unfinished_runs_are_named);
    ADD(a_diverged_run_has_its_cross);
    ADD(commands_are_quoted);
    ADD(names_of_any_bytes);
})
