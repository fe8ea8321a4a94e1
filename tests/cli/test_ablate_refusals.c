/* SPDX-License-Identifier: MIT
 * What an ablation does not take: options, other data, a run that was changed; each is named with
 * the way out, and nothing is written. */
#include "grids.h"

/* ---- what is refused ------------------------------------------------------------------------- */

static const struct {
    const char *words[6], *holds;
} REFUSALS[] = {
    {{"ablate", "--steps", "3", "--out", "new"}, "nothing varies"},
    {{"ablate", "--seed", "1,,2", "--out", "new"}, "--seed: an empty value"},
    {{"ablate", "--scale", "sqrtt,none", "--out=new"}, "(did you mean sqrt?)"},
    {{"ablate", "--seed", "1..2", "--vocab=3", "--out=new"}, "(in the point seed-1)"},
    {{"ablate", "--seed", "1..2", "--stop-at=3", "--out=new"}, "--stop-at would leave"},
    {{"ablate", "--seed", "1..2", "--resume=a", "--out=new"}, "--resume goes on with one run"},
    {{"ablate", "--momentum", ".5,.6", "--out=new"},
     "--momentum does nothing here: it counts with"},
    {{"ablate", "--seed=1..2", "--momentum=.5", "--out=new"}, "--momentum does nothing here"},
    {{"ablate", "--qk-clip=0,1", "--qk-clip-alpha=.2,.5", "--out=new"},
     "(in the point qk-clip-0_qk-clip-alpha-0.2; or make two grids)"},
    {{"ablate", "--collect", "--out", "new"}, "there is no ablation in new"},
    {{"ablate", "--point", "x", "--out", "new"}, "there is no ablation in new"},
    {{"ablate", "--point", "x", "--out", "a"}, "a has no point 'x'"},
    {{"ablate", "--collect", "--list", "--out", "a"}, "do not go together"},
    {{"ablate", "--collect", "--seed=7", "--out", "a"}, "(drop --seed)"},
    {{"ablate", "--steps", "4", "--out", "a"}, "a has steps = 3 for all its runs"},
    {{"ablate", "--warmup", "2,4", "--steps=3", "--out=new"}, "(in the point warmup-4)"},
    {{"--resume", "a"}, "it is an ablation, which goes on with ablate --out a"},
};
enum { N_REFUSALS = sizeof REFUSALS / sizeof *REFUSALS };

START_TEST(refused_in_one_line_without_a_trace)
{
    char *dir = program_directory();
    train(dir, WITH("ablate", TINY_TASK, "--steps", "3", "--seed", "1..2"), WITH("--out", "a"), 0);
    int before = program_directory_entries(below(dir, "a").text);
    for (int i = 0; i < N_REFUSALS; i++)
        refused(dir, REFUSALS[i].words, NULL, 2, WITH(REFUSALS[i].holds));
    ck_assert_int_eq(program_directory_entries(dir), 1);
    ck_assert_int_eq(program_directory_entries(below(dir, "a").text), before);
    program_directory_remove(dir);
}
END_TEST

/* ---- other data ------------------------------------------------------------------------------ */

static void write_text(const char *dir, char first)
{
    char text[2001];
    for (size_t i = 0; i < 2000; i++) text[i] = (char)('a' + i * i % 7);
    text[0] = first;
    text[2000] = '\0';
    program_write(dir, "ad.txt", text);
}

/* Of two seeds, and the text changed behind it. */
static char *grid_of_a_changed_text(void)
{
    char *dir = program_directory();
    write_text(dir, 'a');
    train(dir,
          WITH("ablate", "--task", "text", "--data", "ad.txt", "--seq-len", "8", "--d-model", "8",
               "--heads", "2", "--layers", "1", "--batch", "2", "--eval-size", "8", "--steps", "3",
               "--seed", "1..2", "--out", "a"),
          NULL, 0);
    write_text(dir, 'Z');
    return dir;
}

/* A text that was changed under its ablation would put two data sets into one mean. */
START_TEST(other_data_is_refused)
{
    char *dir = grid_of_a_changed_text();
    const char *const modes[][4] = {{"--seed", "3"}, {"--list"}, {"--point", "seed-1"}};
    for (int i = 0; i < 3; i++)
        refused(dir, WITH("ablate", "--out", "a"), modes[i], 1,
                WITH("a/seed-1 is a run of other data: ", "; now it is: "));
    ck_assert(!run_has(dir, "a", "seed-3"));
    program_directory_remove(dir);
}
END_TEST

/* What was done before the text changed was done on one: that is gathered, and said. Runs of two
 * are not, wherever the text is now. */
START_TEST(runs_of_two_texts_are_not_gathered)
{
    char *dir = grid_of_a_changed_text();
    program_run r = train_and_read(dir, WITH("ablate", "--collect", "--out", "a"), NULL, 0);
    ck_assert_msg(strstr(r.err, "note: a/seed-1 is a run of other data: "), "%s", r.err);
    ck_assert_msg(strstr(r.out, "| final loss"), "%s", r.out);
    program_free(&r);
    train(dir, WITH("--config", "a/seed-2/config.ini", "--out", "a/seed-2", "--force"), NULL, 0);
    for (int i = 0; i < 2; i++) {
        refused(dir, WITH("ablate", "--collect", "--out", "a"), NULL, 1,
                WITH("a/seed-2 is a run of other data than seed-1: text: ", "(move one of"));
        if (i == 0) ck_assert(unlink(below(dir, "ad.txt").text) == 0);
    }
    program_directory_remove(dir);
}
END_TEST

/* ---- a run that was changed ------------------------------------------------------------------ */

START_TEST(a_run_that_was_made_longer)
{
    char *dir = program_directory();
    train(dir, QUICK, WITH("--out", "a"), 0);
    train(dir, QUICK, WITH("--out", "b"), 0);
    train(dir, WITH("--resume", "a/scale-none_seed-1", "--steps", "5"), NULL, 0);
    program_run r = train_and_read(dir, WITH("ablate", "--out", "a"), NULL, 1);
    ck_assert_msg(strstr(r.err, "a/scale-none_seed-1 was made longer, to 5 steps") &&
                      strstr(r.err, "(move that directory away, and the same command runs it") &&
                      strstr(r.err, "; 1 run is left out\n"),
                  "%s", r.err);
    ck_assert_msg(strstr(r.out, "1 of 4 runs are not finished"), "%s", r.out);
    program_free(&r);
    ck_assert(rename(below(dir, "a/scale-none_seed-1").text, below(dir, "longer").text) == 0);
    train(dir, WITH("ablate", "--out", "a"), NULL, 0);
    same_results(dir, "a", "b");
    program_directory_remove(dir);
}
END_TEST

/* A header without a row, as an editor may leave it. */
START_TEST(a_grid_without_points_is_refused)
{
    char *dir = program_directory();
    train(dir, QUICK, WITH("--out", "a"), 0);
    program_write(dir, "a/points.csv", "scale,seed\n");
    static const char *const modes[] = {"--list", "--collect", "--describe", "--jobs=1"};
    for (int i = 0; i < 4; i++) {
        program_run r = train_and_read(dir, WITH("ablate", "--out", "a", modes[i]), NULL, 1);
        ck_assert_msg(strstr(r.err, "a/points.csv has no point"), "%s", r.err);
        program_free(&r);
    }
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("refusals of an ablation", {
    ADD(refused_in_one_line_without_a_trace);
    ADD(other_data_is_refused);
    ADD(runs_of_two_texts_are_not_gathered);
    ADD(a_run_that_was_made_longer);
    ADD(a_grid_without_points_is_refused);
})
