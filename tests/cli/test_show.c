/* SPDX-License-Identifier: MIT
 * show, from outside: summaries and curves in a terminal. */
#include "pages.h"

static void no_line_is_wider(const char *text, size_t columns)
{
    for (size_t n = 0; *text; text++) {
        n = *text == '\n' ? 0 : n + (((unsigned char)*text & 0xC0) != 0x80);
        ck_assert_msg(n <= columns, "a line of more than %zu characters", columns);
    }
}

START_TEST(curves_in_a_terminal)
{
    char *dir = program_directory();
    three_steps(dir, "a-run", NULL);
    three_steps(dir, "b-run", WITH("--scale", "none"));
    setenv("LC_ALL", "C", 1);
    setenv("COLUMNS", "64", 1);
    program_run r = call(dir, WITH("show", "a-run", "b-run"), 0);
    for (const char *p = r.out; *p; p++) ck_assert_msg((unsigned char)*p < 0x80, "%.20s", p);
    ck_assert(strstr(r.out, "a a-run") && strstr(r.out, "b b-run") && strstr(r.out, "\nloss\n") &&
              strstr(r.out, "\nentropy_norm\n") && !strchr(r.out, '\x1B'));
    no_line_is_wider(r.out, 72);
    program_free(&r);
    setenv("LC_ALL", "C.UTF-8", 1);
    r = call(dir, WITH("show", "a-run", "--metric", "p_max,ratio"), 0);
    ck_assert(strstr(r.out, "\np_max\n") && strstr(r.out, "\nratio\n") &&
              strstr(r.out, "\xE2\x94\x82") && !strstr(r.out, "\nloss\n"));
    program_free(&r);
    r = call(dir, WITH("show", "a-run", "nowhere"), 0);
    ck_assert(strstr(r.out, "left out: cannot open nowhere"));
    program_free(&r);
    r = call(dir, WITH("show", "a-run", "--metric", "lose"), 2);
    ck_assert(strstr(r.err, "--metric: no run here has 'lose'"));
    ck_assert_str_eq(r.out, "");
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* Runs that differ at the start of their long names can be told apart, in lines of the width. */
START_TEST(long_names_are_told_apart)
{
    static const char *const names[] = {"scale-none_lr-0.001_warmup-10_seed-1",
                                        "scale-sqrt_lr-0.001_warmup-10_seed-1"};
    char *dir = program_directory(), line[64];
    for (int i = 0; i < 2; i++)
        three_steps(dir, below("abl", names[i]).text, WITH("--seed", i ? "1" : "2"));
    setenv("LC_ALL", "C", 1);
    setenv("COLUMNS", "80", 1);
    program_run r = call(dir, WITH("show", "abl"), 0);
    ck_assert_msg(strstr(r.out, "  scale             status ") &&
                      strstr(r.out, "\na none              done ") &&
                      strstr(r.out, "\nb sqrt              done "),
                  "%s", r.out);
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "\n%c %s\n", 'a' + i, names[i]);
        ck_assert_msg(strstr(r.out, line) != NULL, "%s", r.out);
    }
    no_line_is_wider(r.out, 80);
    program_free(&r);
    setenv("COLUMNS", "30", 1);
    r = call(dir, WITH("show", "abl"), 0);
    ck_assert_msg(strstr(r.out, "\nb .._lr-0.001_warmup-10_seed-1\n") != NULL, "%s", r.out);
    program_free(&r);
    setenv("COLUMNS", "120", 1);
    r = call(dir, WITH("show", "abl"), 0);
    ck_assert(strstr(r.out, names[0]) && !strstr(r.out, "seed-1\n") && !strstr(r.out, ".."));
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* Options in the order of the names; what all have is left out, and the directory where each run is
 * named by itself. Names of no points are cut at their start. */
START_TEST(what_differs_stays_of_long_names)
{
    static const char *const names[] = {"a/scale-none_d-k-2_lr-0.001_seed-1",
                                        "a/scale-none_d-k-4_lr-0.001_seed-10"};
    char *dir = program_directory();
    three_steps(dir, names[0], NULL);
    three_steps(dir, names[1], WITH("--seed", "2"));
    three_steps(dir, "b/some_run_of_a_long_name_1", NULL);
    three_steps(dir, "b/some_run_of_a_long_name_2", WITH("--seed", "2"));
    setenv("LC_ALL", "C", 1);
    setenv("COLUMNS", "80", 1);
    program_run r = call(dir, WITH("show", names[0], names[1]), 0);
    ck_assert_msg(strstr(r.out, "  d-k seed          status ") &&
                      strstr(r.out, "\na 2 1               done ") &&
                      strstr(r.out, "\nb 4 10              done ") &&
                      strstr(r.out, "\nb a/scale-none_d-k-4_lr-0.001_seed-10\n"),
                  "%s", r.out);
    program_free(&r);
    r = call(dir, WITH("show", "b"), 0);
    ck_assert_msg(strstr(r.out, "\na ..f_a_long_name_1 done ") && strstr(r.out, "  run  "), "%s",
                  r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* What follows another option is none that differs; what all names hold is not said again. */
START_TEST(options_that_differ_are_told)
{
    char *dir = program_directory();
    three_steps(dir, "a-run", NULL);
    three_steps(dir, "b-run", WITH("--scale", "none", "--bias", "--lr", "0.01"));
    three_steps(dir, "again", NULL);
    three_steps(dir, "abl/scale-none_seed-1", WITH("--scale", "none"));
    three_steps(dir, "abl/scale-dk_seed-2", WITH("--scale", "dk", "--seed", "2"));
    setenv("COLUMNS", "80", 1);
    static const struct {
        const char *runs[4], *says;
    } cases[] = {
        {{"a-run", "b-run"},
         "\nwhat differs:\na scale sqrt, bias off, lr 0.001\nb scale none, bias on, lr 0.01\n\n"},
        {{"abl"}, NULL},
        {{"abl/scale-none_seed-1", "a-run"}, "\na scale none\nb scale sqrt\n\n"},
        {{"a-run", "again"}, "\nno option differs\n\n"},
        {{"a-run"}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *runs = cases[i].runs;
        program_run r = call(dir, WITH("show", runs[0], runs[1]), 0);
        bool silent = !strstr(r.out, "differs");
        ck_assert_msg(cases[i].says ? strstr(r.out, cases[i].says) != NULL : silent, "%s", r.out);
        program_free(&r);
    }
    setenv("COLUMNS", "24", 1);
    program_run r = call(dir, WITH("show", "a-run", "b-run"), 0);
    ck_assert_msg(strstr(r.out, "\nb scale none, bias on,\n  lr 0.01\n") != NULL, "%s", r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* What nobody asked for by name may be missing; what was asked for may not. */
START_TEST(show_draws_what_is_there)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "3", "--probe-every", "0", "--out", "blind"), 0);
    three_steps(dir, "lost", NULL);
    three_steps(dir, "damaged", NULL);
    ck_assert(unlink(below(dir, "lost/attention.csv").text) == 0);
    program_write(dir, "damaged/attention.csv", "step,layer\n0\n");
    static const struct {
        const char *run, *says;
    } cases[] = {
        {"blind", "note: no run here has 'entropy_norm'"},
        {"lost", "note: cannot open lost/attention.csv"},
        {"damaged", "note: damaged/attention.csv:2: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program_run r = call(dir, WITH("show", cases[i].run), 0);
        ck_assert_msg(strstr(r.err, cases[i].says) != NULL, "%s", r.err);
        ck_assert(strstr(r.out, "\nloss\n") && strstr(r.out, "\naccuracy\n"));
        ck_assert(!strstr(r.out, "\nentropy_norm\n"));
        program_free(&r);
        r = call(dir, WITH("show", cases[i].run, "--metric", "loss,entropy_norm"), 2);
        ck_assert_msg(strstr(r.err, "--metric: no run here has 'entropy_norm'") != NULL, "%s",
                      r.err);
        ck_assert_str_eq(r.out, "");
        program_free(&r);
    }
    program_directory_remove(dir);
}
END_TEST

/* Curves of different tasks are not drawn over each other, whatever the order they came in. */
START_TEST(tasks_are_drawn_apart)
{
    char *dir = program_directory();
    three_steps(dir, "abl/a", NULL);
    train(dir, WITH("--task", "sort", "--steps", "2", "--batch", "2", "--eval-size", "4"),
          WITH("--d-model", "8", "--heads", "2", "--out", "abl/b"), 0);
    three_steps(dir, "abl/c", WITH("--seed", "2"));
    setenv("LC_ALL", "C", 1);
    setenv("COLUMNS", "80", 1);
    for (int way = 0; way < 2; way++) {
        program_run r = way ? call(dir, WITH("show", "abl/a", "abl/b", "abl/c"), 0)
                            : call(dir, WITH("show", "abl"), 0);
        const char *copy = strstr(r.out, "\ncopy: "), *sort = strstr(r.out, "\nsort: ");
        const char *second = strstr(r.out, way ? "\nb abl/c" : "\nb c ");
        const char *third = strstr(r.out, way ? "\nc abl/b" : "\nc b ");
        ck_assert_msg(copy && sort && copy < second && second < sort && sort < third, "%s", r.out);
        copy = strstr(third, "\ncopy: ");
        ck_assert(copy && strstr(copy, "\nloss\n"));
        sort = strstr(copy, "\nsort: ");
        ck_assert(sort && strstr(sort, "\nloss\n") && strchr(sort, 'c') && !strstr(sort, "aaa"));
        no_line_is_wider(r.out, 80);
        program_free(&r);
    }
    program_directory_remove(dir);
}
END_TEST

/* show DIR/ with a star: the files of an ablation are nobody's runs. */
START_TEST(plain_files_beside_runs_are_passed_over)
{
    char *dir = program_directory();
    three_steps(dir, "abl/a", NULL);
    program_write(dir, "abl/results.csv", "x\n");
    program_run r = call(dir, WITH("show", "abl/a", "abl/results.csv"), 0);
    ck_assert_msg(!strstr(r.out, "left out") && !r.err[0], "%s%s", r.out, r.err);
    program_free(&r);
    r = call(dir, WITH("show", "abl/results.csv"), 1);
    ck_assert(strstr(r.err, "cannot open abl/results.csv"));
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("show", {
    ADD(curves_in_a_terminal);
    ADD(long_names_are_told_apart);
    ADD(what_differs_stays_of_long_names);
    ADD(options_that_differ_are_told);
    ADD(show_draws_what_is_there);
    ADD(tasks_are_drawn_apart);
    ADD(plain_files_beside_runs_are_passed_over);
})
