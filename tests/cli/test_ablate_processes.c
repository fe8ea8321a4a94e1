/* SPDX-License-Identifier: MIT
 * Ablations as processes: kills, signals, two at once, commands for others. Whatever happens,
 * results.csv ends as that of an undisturbed one. */
#include "grids.h"

#include <fcntl.h>
#include <sys/file.h>

static const char *const SLOW[] = {GRID, TINY_TASK, "--steps", "2500", NULL};

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
/* Not by that of the link through which they are started. */
START_TEST(points_go_by_the_name_of_the_program)
{
    char *dir = program_directory(), path[64], name[32] = "";
    int child = 0;
    program_run r = start(dir, WITH(GRID, TINY_TASK, "--steps", "100000000"), WITH("--out", "a"));
    await(dir, "a/scale-none_seed-1/metrics.csv", 600);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)r.pid, (int)r.pid);
    FILE *f = fopen(path, "r");
    bool told = f && fscanf(f, "%d", &child) == 1; /* not every kernel tells */
    if (f) fclose(f);
    snprintf(path, sizeof path, "/proc/%d/comm", child);
    f = told ? fopen(path, "r") : NULL;
    ck_assert(!told || (f && fscanf(f, "%31s", name) == 1));
    if (f) fclose(f);
    kill(r.pid, SIGINT);
    program_finish(&r);
    program_free(&r);
    if (told) ck_assert_str_eq(name, "rootdk");
    program_directory_remove(dir);
}
END_TEST

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
/* A script's background job ignores SIGINT from its start: SIGTERM is what stops it. */
START_TEST(a_background_job_is_stopped_by_term)
{
    char *dir = program_directory();
    signal(SIGINT, SIG_IGN);
    program_run r = in_the_middle(dir, "a");
    signal(SIGINT, SIG_DFL);
    kill(r.pid, SIGINT);
    kill(r.pid, SIGTERM);
    program_finish(&r);
    ck_assert_msg(r.signal == SIGTERM && strstr(r.out, " ablate --out a\n"), "signal %d: %s",
                  r.signal, r.err);
    program_free(&r);
    ck_assert(run_json_has(dir, "a/scale-none_seed-1", "\"interrupted\"") ||
              run_json_has(dir, "a/scale-none_seed-1", "\"done\""));
    program_directory_remove(dir);
}
END_TEST

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
    const char *first = strstr(r.out, "seed-1"), *second = strstr(r.out, "seed-2");
    ck_assert_msg(first && second && !strstr(second, "seed-1"), "not seed by seed: %s", r.out);
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

RDK_TEST_MAIN("processes of an ablation", {
    ADD(killed_and_started_again);
    ADD_ON_LINUX(points_go_by_the_name_of_the_program);
    ADD_ON_LINUX(no_run_outlives_a_killed_ablation);
    ADD_LOOP(a_signal_stops_saves_and_goes_on, 3);
    ADD(a_background_job_is_stopped_by_term);
    ADD(half_a_run_is_done_again);
    ADD(two_at_once_share_the_work);
    ADD(what_others_did_is_not_counted);
    ADD_LOOP(each_command_does_one_point, 2);
})
