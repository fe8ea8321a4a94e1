/* SPDX-License-Identifier: MIT
 * The command that a page prints is run as it stands: the directory that the page is about takes it
 * and has nothing left to do, and in a new one it makes the same under the same names. */
#include "grids.h"
#include "pages.h"

/* What a browser would show, in place. */
static void unescape(char *text)
{
    static const struct {
        const char *name;
        char is;
    } all[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&#39;", '\''}};
    char *to = text;
    for (const char *p = text; *p; p++) {
        size_t k = 0;
        while (k < 5 && strncmp(p, all[k].name, strlen(all[k].name)) != 0) k++;
        *to++ = k < 5 ? all[k].is : *p;
        if (k < 5) p += strlen(all[k].name) - 1;
    }
    *to = '\0';
}

/* Of the page on this directory; free(). */
static char *printed_command(const char *dir, const char *what)
{
    static const char before[] = "<p class=\"command\"><code>";
    char *page = report(dir, what), *begin = strstr(page, before);
    ck_assert_ptr_nonnull(begin);
    begin += strlen(before);
    begin[strcspn(begin, "<")] = '\0';
    char *command = strdup(begin);
    unescape(command);
    free(page);
    return command;
}

/* In a shell, in the test's directory, where ./train is the program. */
static void shell(const char *dir, const char *command)
{
    char line[3 * PROGRAM_PATH];
    ck_assert(symlink(program_path(), below(dir, "train").text) == 0 || errno == EEXIST);
    int n = snprintf(line, sizeof line, "cd '%s' && %s >shell.txt 2>&1", dir, command);
    ck_assert(n > 0 && n < (int)sizeof line);
    int status = system(line);
    char *said = program_file(dir, "shell.txt", NULL);
    ck_assert_msg(status == 0, "%s\n%s", command, said);
    free(said);
}

/* A file says everything itself. */
static void make_grid(const char *dir, const char *const *words)
{
    const char *all[PROGRAM_ARGS] = {"ablate",  "--task",   "copy",    "--seq-len", "4",
                                     "--vocab", "5",        "--batch", "4",         "--eval-size",
                                     "8",       "--layers", "1"};
    size_t n = 0;
    bool by_file = !strcmp(words[0], "--config");
    while (all[n] && !(n && by_file)) n++;
    while (*words) all[n++] = *words++;
    program_run r = call(dir, all, 0);
    program_free(&r);
}

/* The grid of these options, below "a b": its command there, and with another --out. */
static void comes_again(const char *const *words)
{
    char *dir = program_directory(), elsewhere[PROGRAM_PATH];
    const char *all[PROGRAM_ARGS] = {NULL};
    size_t n = 0;
    while (*words) all[n++] = *words++;
    all[n++] = "--out";
    all[n++] = "a b";
    make_grid(dir, all);
    char *command = printed_command(dir, "a b"), *out = strstr(command, " --out 'a b'");
    ck_assert_msg(out && !out[strlen(" --out 'a b'")], "%s", command);
    int entries = program_directory_entries(below(dir, "a b").text);
    char *before = program_file(dir, "a b/points.csv", NULL);
    shell(dir, command);
    char *after = program_file(dir, "a b/points.csv", NULL), *said;
    ck_assert_str_eq(before, after);
    ck_assert_int_eq(program_directory_entries(below(dir, "a b").text), entries);
    said = program_file(dir, "shell.txt", NULL);
    ck_assert_msg(!strstr(said, "done in"), "not finished before: %s", said);
    *out = '\0';
    snprintf(elsewhere, sizeof elsewhere, "%s --out new", command);
    shell(dir, elsewhere);
    same_results(dir, "a b",
                 "new"); /* results.csv has the names of the points, and their figures */
    same_file(dir, "a b", "new", "ablation.ini");
    free(command);
    free(before);
    free(after);
    free(said);
    program_directory_remove(dir);
}

static const char *const *const GRIDS[] = {
    /* one of the d_k is what heads and width come to by themselves */
    WITH("--scale", "none,sqrt", "--heads", "1", "--d-k", "8,64", "--d-model", "auto", "--lr",
         "1e-3,3e-3", "--seed", "1..2", "--steps", "3"),
    WITH("--d-k", "4,8", "--steps", "3"), /* the scaling is nobody's */
    WITH("--seed", "1..2", "--steps", "3"),
    WITH("--lr", "1e-3,3e-3", "--steps", "3"),
    /* typed, and what the rule would give: both stand in the record as they were typed */
    WITH("--scale", "sqrt", "--d-k", "4", "--d-ff", "32", "--seed", "1..2", "--steps", "3"),
    WITH("--heads", "1,2,4", "--d-model", "8", "--steps", "3"),
    WITH("--steps", "2,3"), /* saves follow the steps, */
    WITH("--steps", "2,3", "--save-every", "1"),
    WITH("--seed", "1..2", "--save-every", "0", "--steps",
         "3"), /* or are off, which is no default here */
    WITH("--optimizer", "sgd", "--momentum", "0.8", "--lr", "0.01,0.1", "--steps", "3"),
    WITH("--scale-layers", "off,0:none", "--steps", "3"),
};

START_TEST(grid_comes_again)
{
    comes_again(GRIDS[_i]);
}
END_TEST

/* A file states everything, also what does nothing, which typed would be refused. */
START_TEST(grid_of_a_file_comes_again)
{
    char *dir = program_directory();
    three_steps(dir, "run", NULL);
    char *path = strdup(below(dir, "run/config.ini").text);
    comes_again(WITH("--config", path, "--seed", "1..2"));
    free(path);
    program_directory_remove(dir);
}
END_TEST

/* Typed, a path with a comma would be a list: it stands in the file. */
START_TEST(grid_of_a_path_with_a_comma_comes_again)
{
    char *dir = program_directory();
    rdk_text ini = {0};
    rdk_text_add(&ini, "task = text\ndata = \"%s/a, b.txt\"\nsteps = 3\nbatch = 4\n", dir);
    rdk_text_add(&ini, "seq-len = 8\nlayers = 1\n");
    for (int i = 0; i < 400; i++) rdk_text_add(&ini, "# to be or not to be\n");
    program_write(dir, "a, b.txt", ini.data);
    program_write(dir, "c.ini", ini.data);
    rdk_text_free(&ini);
    char *path = strdup(below(dir, "c.ini").text);
    comes_again(WITH("--config", path, "--seed", "1..2"));
    free(path);
    program_directory_remove(dir);
}
END_TEST

START_TEST(run_comes_again)
{
    const char *const *const more[] = {
        WITH("--scale", "none"), WITH("--seed", "2"),
        WITH("--d-k", "4"),      WITH("--d-ff", "16", "--lr", "0.01"),
        WITH("--scale", "sqrt"),
    };
    char *dir = program_directory(), again[PROGRAM_PATH];
    three_steps(dir, "a", more[_i]);
    char *command = printed_command(dir, "a");
    snprintf(again, sizeof again, "%s --out b", command);
    shell(dir, again);
    same_runs(dir, "a", "b");
    free(command);
    program_directory_remove(dir);
}
END_TEST

/* What was begun in steps that are no one product is gone on with, and adds nothing. */
START_TEST(points_that_are_no_grid)
{
    char *dir = program_directory();
    make_grid(dir, WITH("--scale", "none,sqrt", "--seed", "1..2", "--steps", "3", "--out", "A"));
    make_grid(dir, WITH("--scale", "dk", "--seed", "3", "--out", "A"));
    char *before = program_file(dir, "A/points.csv", NULL);
    char *command = printed_command(dir, "A");
    ck_assert_str_eq(command, "./train ablate --out A");
    shell(dir, command);
    char *after = program_file(dir, "A/points.csv", NULL);
    ck_assert_str_eq(before, after);
    char *page = report(dir, "A");
    holds(page, "no one command makes them elsewhere");
    shell(dir, "mkdir B && cp A/ablation.ini A/points.csv B && ./train ablate --out B");
    same_results(dir, "A", "B");
    free(before);
    free(after);
    free(command);
    free(page);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("commands", {
    ADD_LOOP(grid_comes_again, sizeof GRIDS / sizeof *GRIDS);
    ADD(grid_of_a_file_comes_again);
    ADD(grid_of_a_path_with_a_comma_comes_again);
    ADD_LOOP(run_comes_again, 5);
    ADD(points_that_are_no_grid);
})
