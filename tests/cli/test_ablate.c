/* SPDX-License-Identifier: MIT
 * Ablations as processes: grids, what is done already, divergence, failure, kills, signals, two at
 * once, commands for others. Whatever happens, results.csv ends as that of an undisturbed one. */
#include "run_files.h"

#include <fcntl.h>
#include <sys/file.h>

/* A few milliseconds a run; SLOW: long enough to be met in the middle. */
#define GRID "ablate", "--scale", "sqrt,none", "--seed", "1..2", "--layers", "1"
#define TINY_TASK                                                                                  \
    "--task", "copy", "--seq-len", "4", "--vocab", "5", "--d-model", "8", "--heads", "2",          \
        "--batch", "4", "--eval-size", "8"
static const char *const QUICK[] = {GRID, TINY_TASK, "--steps", "3", NULL};
static const char *const SLOW[] = {GRID, TINY_TASK, "--steps", "2500", NULL};

static const char *const POINTS[] = {"scale-none_seed-1", "scale-none_seed-2", "scale-sqrt_seed-1",
                                     "scale-sqrt_seed-2"};
enum { N_POINTS = sizeof POINTS / sizeof *POINTS };

static void same_results(const char *dir, const char *a, const char *b)
{
    same_file(dir, a, b, "results.csv");
    same_file(dir, a, b, "results.md");
    same_file(dir, a, b, "points.csv");
}

/* How often the point was started, by its log. */
static int starts_of(const char *dir, const char *ablation, const char *point)
{
    int n = 0;
    char *log = program_file(dir, below(ablation, below(point, "output.txt").text).text, NULL);
    for (const char *p = log; (p = strstr(p, "$ ")); p += 2) n += p == log || p[-1] == '\n';
    free(log);
    return n;
}

static void each_started(const char *dir, const char *ablation, int times)
{
    for (int i = 0; i < N_POINTS; i++) ck_assert_int_eq(starts_of(dir, ablation, POINTS[i]), times);
}

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

/* ---- kills and signals ----------------------------------------------------------------------- */

/* In the middle of the first two of four points. */
static program_run in_the_middle(const char *dir, const char *out)
{
    program_run r = start(dir, SLOW, WITH("--out", out, "--jobs", "2"));
    await(dir, below(out, "scale-none_seed-1/metrics.csv").text, 600);
    await(dir, below(out, "scale-sqrt_seed-1/metrics.csv").text, 600);
    return r;
}

/* The rerun begins at once, while children of the killed one may still be saving. */
START_TEST(killed_and_started_again)
{
    char *dir = program_directory();
    program_run r = in_the_middle(dir, "a");
    kill(r.pid, SIGKILL);
    program_finish(&r);
    program_free(&r);
    train(dir, SLOW, WITH("--out", "a"), 0);
    train(dir, SLOW, WITH("--out", "b"), 0);
    same_results(dir, "a", "b");
    for (int i = 0; i < N_POINTS; i++)
        same_runs(dir, below("a", POINTS[i]).text, below("b", POINTS[i]).text);
    program_directory_remove(dir);
}
END_TEST

static void await_text(const char *dir, const char *name, const char *text)
{
    for (int i = 0; i < HALF_A_MINUTE; i++) {
        char *json = program_file(dir, name, NULL);
        bool has = strstr(json, text) != NULL;
        free(json);
        if (has) return;
        pause_a_millisecond();
    }
    ck_abort_msg("%s never said %s", name, text);
}

#ifdef __linux__
START_TEST(no_run_outlives_a_killed_ablation)
{
    char *dir = program_directory();
    program_run r = start(dir, WITH(GRID, TINY_TASK, "--steps", "100000000"), WITH("--out", "a"));
    await(dir, "a/scale-none_seed-1/metrics.csv", 600);
    kill(r.pid, SIGKILL);
    program_finish(&r);
    program_free(&r);
    await_text(dir, "a/scale-none_seed-1/run.json", "\"interrupted\"");
    program_directory_remove(dir);
}
END_TEST
#define ADD_ON_LINUX(name) ADD(name)
#else
#define ADD_ON_LINUX(name) (void)0
#endif

/* The signal comes twice, as timeout(1) sends it. */
START_TEST(a_signal_stops_saves_and_goes_on)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    char *dir = program_directory();
    program_run r = in_the_middle(dir, "a");
    kill(r.pid, signals[_i]);
    kill(r.pid, signals[_i]);
    program_finish(&r);
    ck_assert_msg(r.signal == signals[_i], "signal %d, exit %d: %s", r.signal, r.status, r.err);
    ck_assert_msg(strstr(r.out, " ablate --out a\n"), "%s", r.out);
    program_free(&r);
    ck_assert(run_json_has(dir, "a/scale-none_seed-1", "\"interrupted\"") ||
              run_json_has(dir, "a/scale-none_seed-1", "\"done\""));
    train(dir, WITH("ablate", "--out", "a"), NULL, 0);
    train(dir, SLOW, WITH("--out", "b"), 0);
    same_results(dir, "a", "b");
    program_directory_remove(dir);
}
END_TEST

/* What a killed run may leave: no word of its end, no checkpoint, nothing but its directory. */
START_TEST(half_a_run_is_done_again)
{
    char *dir = program_directory();
    train(dir, QUICK, WITH("--out", "a"), 0);
    train(dir, QUICK, WITH("--out", "b"), 0);
    ck_assert(unlink(below(dir, "a/scale-none_seed-1/run.json").text) == 0);
    ck_assert(unlink(below(dir, "a/scale-none_seed-2/last.safetensors").text) == 0);
    program_write(dir, "a/scale-none_seed-2/run.json", "{\"status\": \"running\"}\n");
    program_write(dir, "a/scale-sqrt_seed-1/run.json", "{\"status\": \"running\"}\n");
    for (int i = 0; i < N_ALL_FILES; i++)
        ck_assert(unlink(below(dir, below("a/scale-sqrt_seed-2", ALL_FILES[i]).text).text) == 0);
    train(dir, QUICK, WITH("--out", "a"), 0);
    same_results(dir, "a", "b");
    each_started(dir, "a", 2);
    program_directory_remove(dir);
}
END_TEST

/* ---- several processes ----------------------------------------------------------------------- */

START_TEST(two_at_once_share_the_work)
{
    char *dir = program_directory();
    program_run r[2];
    for (int i = 0; i < 2; i++) r[i] = start(dir, QUICK, WITH("--out", "a", "--jobs", "2"));
    for (int i = 0; i < 2; i++) {
        program_finish(&r[i]);
        ck_assert_msg(r[i].status == 0, "exit %d: %s", r[i].status, r[i].err);
        program_free(&r[i]);
    }
    each_started(dir, "a", 1);
    train(dir, QUICK, WITH("--out", "b"), 0);
    same_results(dir, "a", "b");
    program_directory_remove(dir);
}
END_TEST

/* What another process has done is not said to be of this call. While this one is at its long run,
 * the test holds the lock of the short one, puts a finished run there and lets go. */
START_TEST(what_others_did_is_not_counted)
{
    char *dir = program_directory(), command[4 * PROGRAM_PATH];
    train(dir, WITH("ablate", "--layers", "1", TINY_TASK, "--steps", "3,4", "--out", "b"), NULL, 0);
    ck_assert(mkdir(below(dir, "a").text, 0700) == 0 &&
              mkdir(below(dir, "a/steps-3").text, 0700) == 0);
    int lock = open(below(dir, "a/steps-3/ablation.lock").text, O_RDWR | O_CREAT, 0600);
    ck_assert(lock >= 0 && flock(lock, LOCK_EX) == 0);
    program_run r = start(dir, WITH("ablate", "--layers", "1", TINY_TASK, "--steps", "3,100000000"),
                          WITH("--out", "a", "--jobs", "2"));
    await(dir, "a/steps-100000000/metrics.csv", 600);
    snprintf(command, sizeof command, "cp -r '%s/b/steps-3/.' '%s/a/steps-3/'", dir, dir);
    ck_assert_int_eq(system(command), 0);
    close(lock);
    for (int i = 0; i < 1500; i++) pause_a_millisecond(); /* it looks every half second */
    kill(r.pid, SIGINT);
    program_finish(&r);
    ck_assert_msg(strstr(r.out, "interrupted after 0 runs"), "%s", r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* The recipes of docs/scaling-out.md, each run twice: the second time there is nothing to do. */
static const char *const RECIPES[] = {"tr '\\n' '\\0' <commands | xargs -0 -P 2 -I{} sh -c {}",
                                      "parallel -j 2 <commands"};

START_TEST(each_command_does_one_point)
{
    if (_i == 1 && system("command -v parallel >/dev/null 2>&1") != 0) return;
    char *dir = program_directory(), command[2 * PROGRAM_PATH];
    setenv("RDK_COMMAND", program_path(), 1);
    program_run r = train_and_read(dir, QUICK, WITH("--out", "the runs", "--list"), 0);
    program_write(dir, "commands", r.out);
    program_free(&r);
    for (int i = 0; i < N_POINTS; i++) ck_assert(!run_has(dir, "the runs", POINTS[i]));
    snprintf(command, sizeof command, "(cd '%s' && %s && %s) >'%s/log' 2>&1", dir, RECIPES[_i],
             RECIPES[_i], dir);
    ck_assert_int_eq(system(command), 0);
    each_started(dir, "the runs", 1);
    ck_assert(!run_has(dir, "the runs", "results.csv"));
    train(dir, WITH("ablate", "--collect", "--out", "the runs"), NULL, 0);
    r = train_and_read(dir, WITH("ablate", "--list", "--out", "the runs"), NULL, 0);
    ck_assert_str_eq(r.out, "");
    program_free(&r);
    train(dir, QUICK, WITH("--out", "b"), 0);
    same_results(dir, "the runs", "b");
    program_directory_remove(dir);
}
END_TEST

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
    {{"ablate", "--collect", "--out", "new"}, "there is no ablation in new"},
    {{"ablate", "--point", "x", "--out", "new"}, "there is no ablation in new"},
    {{"ablate", "--point", "x", "--out", "a"}, "a has no point 'x'"},
    {{"ablate", "--collect", "--list", "--out", "a"}, "do not go together"},
    {{"ablate", "--collect", "--seed=7", "--out", "a"}, "(drop --seed)"},
    {{"ablate", "--steps", "4", "--out", "a"}, "a has steps = 3 for all its runs"},
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

/* A text that was changed under its ablation would put two data sets into one mean. */
START_TEST(other_data_is_refused)
{
    char *dir = program_directory(), text[2001];
    for (size_t i = 0; i < 2000; i++) text[i] = (char)('a' + i * i % 7);
    text[2000] = '\0';
    program_write(dir, "ad.txt", text);
    train(dir,
          WITH("ablate", "--task", "text", "--data", "ad.txt", "--seq-len", "8", "--d-model", "8",
               "--heads", "2", "--layers", "1", "--batch", "2", "--eval-size", "8", "--steps", "3",
               "--seed", "1..2", "--out", "a"),
          NULL, 0);
    text[5] = 'Z';
    program_write(dir, "ad.txt", text);
    const char *const modes[][4] = {{"--seed", "3"}, {"--list"}, {"--point", "seed-1"}};
    for (int i = 0; i < 3; i++)
        refused(dir, WITH("ablate", "--out", "a"), modes[i], 1,
                WITH("a/seed-1 is a run of other data: ", "; now it is: "));
    ck_assert(!run_has(dir, "a", "seed-3"));
    train(dir, WITH("ablate", "--collect", "--out", "a"), NULL, 0);
    train(dir, WITH("--config", "a/seed-1/config.ini", "--seed", "3", "--out", "a/seed-3"), NULL,
          0);
    train(dir, WITH("report", "a"), NULL, 0);
    char *page = program_file(dir, "a/report.html", NULL);
    ck_assert(strstr(page, "<b>not all runs are of this data</b>, seed-3 is of ") != NULL);
    free(page);
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

START_TEST(describe_runs_nothing)
{
    char *dir = program_directory();
    program_run r = train_and_read(dir, WITH("ablate", "--help"), NULL, 0);
    ck_assert_msg(strstr(r.out, "--resume, --stop-at and --force"), "%s", r.out);
    program_free(&r);
    r = train_and_read(dir, QUICK, WITH("--describe", "--out", "a"), 0);
    ck_assert_msg(strstr(r.out, "4 runs of 2 scale x 2 seed") && strstr(r.out, "12 steps"), "%s",
                  r.out);
    program_free(&r);
    ck_assert_int_eq(program_directory_entries(dir), 0);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("ablate", {
    ADD(every_point_is_an_ordinary_run);
    ADD(what_is_done_is_not_done_again);
    ADD(points_are_added);
    ADD(a_diverged_run_is_a_result);
    ADD(options_of_one_optimizer_in_a_grid_of_two);
    ADD(a_run_that_fails_does_not_stop_the_others);
    ADD(killed_and_started_again);
    ADD_ON_LINUX(no_run_outlives_a_killed_ablation);
    ADD_LOOP(a_signal_stops_saves_and_goes_on, 3);
    ADD(half_a_run_is_done_again);
    ADD(two_at_once_share_the_work);
    ADD(what_others_did_is_not_counted);
    ADD_LOOP(each_command_does_one_point, 2);
    ADD(refused_in_one_line_without_a_trace);
    ADD(other_data_is_refused);
    ADD(a_grid_without_points_is_refused);
    ADD(called_by_a_name_in_path);
    ADD(describe_runs_nothing);
})
