/* SPDX-License-Identifier: MIT
 * Ablations: every point an ordinary run, what is done already, divergence, failure. Whatever
 * happens, results.csv ends as that of an undisturbed one. */
#include "grids.h"

/* ---- grids ----------------------------------------------------------------------------------- */

START_TEST(every_point_is_an_ordinary_run)
{
    char *dir = program_directory(), path[64];
    program_run r = train_and_read(dir, QUICK, WITH("--out", "a"), 0);
    ck_assert_msg(strstr(r.out, "a: 4 runs of 2 scale x 2 seed"), "%s", r.out);
    ck_assert_msg(strstr(r.err, "[4/4] ") && strstr(r.err, "time left is known") == NULL, "%s",
                  r.err);
    program_free(&r);
    char *csv = program_file(dir, "a/results.csv", NULL);
    const char *line = csv;
    ck_assert_int_eq(rows_of(csv), N_POINTS);
    for (int i = 0; i < N_POINTS; i++) {
        line = next_line(line);
        ck_assert_str_eq(field_of(line, 0, path), POINTS[i]);
        ck_assert_str_eq(field_of(line, 3, path), "done");
        well_formed_logs(dir, below("a", POINTS[i]).text);
    }
    free(csv);
    r = train_and_read(dir, WITH("--resume", "a/scale-sqrt_seed-1"), NULL, 0);
    ck_assert_msg(strstr(r.out, "is complete"), "%s", r.out);
    program_free(&r);
    train(dir, WITH("--config", "a/scale-none_seed-2/config.ini", "--out", "again"), NULL, 0);
    same_runs(dir, "again", "a/scale-none_seed-2");
    program_directory_remove(dir);
}
END_TEST

/* A list of layers beside none; the second call has the same grid. */
START_TEST(layers_of_their_own_beside_none)
{
    char *dir = program_directory(), field[64];
    const char *const grid[] = {"ablate",  "--scale-layers", "0:none,off", "--layers", "1",
                                TINY_TASK, "--steps",        "3",          "--out",    "a",
                                NULL};
    for (int i = 0; i < 2; i++) train(dir, grid, NULL, 0);
    char *csv = program_file(dir, "a/results.csv", NULL);
    const char *line = next_line(csv);
    ck_assert_int_eq(rows_of(csv), 2);
    ck_assert_str_eq(field_of(line, 0, field), "scale-layers-off");
    ck_assert_str_eq(field_of(line, 1, field), "off");
    ck_assert_str_eq(field_of(next_line(line), 1, field), "0:none");
    free(csv);
    ck_assert_int_eq(starts_of(dir, "a", "scale-layers-off"), 1);
    program_directory_remove(dir);
}
END_TEST

START_TEST(what_is_done_is_not_done_again)
{
    char *dir = program_directory();
    train(dir, QUICK, WITH("--out", "a"), 0);
    for (int i = 0; i < N_POINTS; i++) copy_run(dir, below("a", POINTS[i]).text, POINTS[i]);
    train(dir, QUICK, WITH("--out", "a"), 0);
    train(dir, WITH("ablate", "--out", "a", "--jobs", "3"), NULL, 0);
    for (int i = 0; i < N_POINTS; i++)
        for (int f = 0; f < N_ALL_FILES; f++)
            same_file(dir, below("a", POINTS[i]).text, POINTS[i], ALL_FILES[f]);
    each_started(dir, "a", 1);
    program_directory_remove(dir);
}
END_TEST

START_TEST(points_are_added)
{
    char *dir = program_directory();
    train(dir, QUICK, WITH("--out", "a"), 0);
    train(dir, WITH("ablate", "--out", "a", "--seed", "3"), NULL, 0);
    train(dir,
          WITH("ablate", "--scale", "none,sqrt", "--seed", "1..3", "--layers", "1", TINY_TASK,
               "--steps", "3", "--out", "b"),
          NULL, 0);
    same_results(dir, "a", "b");
    each_started(dir, "a", 1);
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_diverged_run_is_a_result)
{
    char *dir = program_directory(), field[64];
    const char *const rates[] = {"ablate",  "--lr",    "1e30,1e-3", "--layers", "1",
                                 TINY_TASK, "--steps", "3",         "--clip",   "0",
                                 "--out",   "a",       NULL};
    train(dir, rates, NULL, 0);
    char *csv = program_file(dir, "a/results.csv", NULL);
    const char *line = next_line(next_line(csv));
    ck_assert_str_eq(field_of(line, 0, field), "lr-1e30");
    ck_assert_str_eq(field_of(line, 2, field), "diverged");
    ck_assert_str_eq(field_of(line, 6, field), ""); /* no final loss */
    free(csv);
    train(dir, rates, NULL, 0);
    ck_assert_int_eq(starts_of(dir, "a", "lr-1e30"), 1);
    program_directory_remove(dir);
}
END_TEST

/* An option that does nothing at a point is not given to it, where it would be refused. */
START_TEST(options_of_one_optimizer_in_a_grid_of_two)
{
    char *dir = program_directory();
    train(dir,
          WITH("ablate", "--optimizer", "adamw,sgd", "--momentum", "0.5", "--layers", "1",
               TINY_TASK, "--steps", "3", "--out", "a"),
          NULL, 0);
    char *ini = program_file(dir, "a/optimizer-sgd/config.ini", NULL);
    ck_assert_msg(strstr(ini, "\nmomentum = 0.5\n"), "%s", ini);
    free(ini);
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_run_that_fails_does_not_stop_the_others)
{
    char *dir = program_directory();
    ck_assert(mkdir(below(dir, "a").text, 0700) == 0);
    ck_assert(mkdir(below(dir, "a/scale-none_seed-1").text, 0700) == 0);
    ck_assert(mkdir(below(dir, "a/scale-none_seed-1/metrics.csv").text, 0700) == 0);
    program_run r = train_and_read(dir, QUICK, WITH("--out", "a"), 1);
    ck_assert_msg(strstr(r.err, "rootdk: scale-none_seed-1 failed with exit status 1:\n"), "%s",
                  r.err);
    ck_assert_msg(strstr(r.err, "  | rootdk: cannot"), "%s", r.err);
    ck_assert_msg(strstr(r.out, "1 of 4 runs are not finished"), "%s", r.out);
    program_free(&r);
    ck_assert(rmdir(below(dir, "a/scale-none_seed-1/metrics.csv").text) == 0);
    train(dir, WITH("ablate", "--out", "a"), NULL, 0);
    train(dir, QUICK, WITH("--out", "b"), 0);
    same_results(dir, "a", "b");
    program_directory_remove(dir);
}
END_TEST

/* The program of a child is found where the shell found it. */
START_TEST(called_by_a_name_in_path)
{
    char *dir = program_directory(), command[4 * PROGRAM_PATH];
    snprintf(command, sizeof command,
             "cd '%s' && ln -s '%s' here && PATH=\"$PWD:$PATH\" here ablate --seed 1..2 --layers 1 "
             "--task copy --seq-len 4 --vocab 5 --d-model 8 --heads 2 --batch 4 --eval-size 8 "
             "--steps 3 --out a >log 2>&1",
             dir, program_path());
    ck_assert_int_eq(system(command), 0);
    ck_assert(run_has(dir, "a", "results.csv"));
    program_directory_remove(dir);
}
END_TEST

/* Each option with the one default that it has here; those that are refused are not listed. */
START_TEST(help_is_about_ablations)
{
    char *dir = program_directory();
    program_run r = train_and_read(dir, WITH("ablate", "--help"), NULL, 0);
    ck_assert_msg(strstr(r.out, "--resume, --stop-at and --force"), "%s", r.out);
    ck_assert_msg(strstr(r.out, "directory of the ablation [runs/ablate-TASK]\n"), "%s", r.out);
    ck_assert_msg(strstr(r.out, "[steps / 4]\n") && !strstr(r.out, "runs/TASK"), "%s", r.out);
    ck_assert_msg(!strstr(r.out, "  --resume DIR") && !strstr(r.out, "[no-]force"), "%s", r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* How long it takes: by stated speeds, then by that of the runs that are done. */
START_TEST(the_time_is_estimated)
{
    char *dir = program_directory();
    program_run r = train_and_read(dir, QUICK, WITH("--out", "a", "--describe"), 0);
    ck_assert_msg(strstr(r.out, "\ntime      about 1 s at 10 to 50 GFLOP/s"), "%s", r.out);
    program_free(&r);
    train(dir, QUICK, WITH("--out", "a"), 0);
    r = train_and_read(dir, WITH("ablate", "--out", "a", "--describe"), NULL, 0);
    ck_assert_msg(!strstr(r.out, "\ntime "), "%s", r.out);
    program_free(&r);
    r = train_and_read(dir, WITH("ablate", "--out", "a", "--seed", "3", "--describe"), NULL, 0);
    ck_assert_msg(strstr(r.out, " s, as fast as the runs that are done\n"), "%s", r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

START_TEST(describe_runs_nothing)
{
    char *dir = program_directory();
    program_run r = train_and_read(dir, QUICK, WITH("--describe", "--out", "a"), 0);
    ck_assert_msg(strstr(r.out, "4 runs of 2 scale x 2 seed") && strstr(r.out, "12 steps"), "%s",
                  r.out);
    program_free(&r);
    ck_assert_int_eq(program_directory_entries(dir), 0);
    program_directory_remove(dir);
}
END_TEST

/* A run that another call left with nothing to do tells no speed: it took the time of a program's
 * start. Here the first one, which was at its end but was killed before it said so. */
START_TEST(what_was_left_of_a_run_is_no_speed)
{
    char *dir = program_directory();
    static const char done[] = "\"status\": \"done\"";
    train(dir, QUICK, WITH("--out", "a"), 0);
    char *json = program_file(dir, "a/scale-none_seed-1/run.json", NULL), *at = strstr(json, done);
    ck_assert_ptr_nonnull(at);
    memcpy(at, "\"status\": \"died\"", strlen(done));
    program_write(dir, "a/scale-none_seed-1/run.json", json);
    free(json);
    for (int i = 1; i < N_POINTS; i++)
        program_remove_tree(below(dir, below("a", POINTS[i]).text).text);
    program_run r = train_and_read(dir, QUICK, WITH("--out", "a", "--jobs", "1"), 0);
    ck_assert_msg(strstr(r.err, "[1/4] scale-none_seed-1: done in ") && strstr(r.err, "[4/4] ") &&
                      !strstr(r.err, "inf"),
                  "%s", r.err);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("ablate", {
    ADD(what_was_left_of_a_run_is_no_speed);
    ADD(every_point_is_an_ordinary_run);
    ADD(layers_of_their_own_beside_none);
    ADD(what_is_done_is_not_done_again);
    ADD(points_are_added);
    ADD(a_diverged_run_is_a_result);
    ADD(options_of_one_optimizer_in_a_grid_of_two);
    ADD(a_run_that_fails_does_not_stop_the_others);
    ADD(called_by_a_name_in_path);
    ADD(help_is_about_ablations);
    ADD(the_time_is_estimated);
    ADD(describe_runs_nothing);
})
