/* SPDX-License-Identifier: MIT
 * Where a run's files come to lie, and what happens where they cannot: names that are taken, runs
 * that start together, a full disk, a stdout that takes nothing. */
#include "run_files.h"

#include <sys/resource.h>

/* ---- names ----------------------------------------------------------------------------------- */

START_TEST(a_run_that_stands_there_is_not_touched)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "3", "--out", "deep/in/run"), 0);
    copy_run(dir, "deep/in/run", "copy");
    refused(dir, TINY, WITH("--steps", "2", "--out", "deep/in/run"), 2,
            WITH("--out deep/in/run", "--resume", "--force"));
    unchanged(dir, "deep/in/run", "copy");
    program_write(dir, "deep/in/run/notes", "mine");
    program_write(dir, "deep/in/run/metrics.csv.1-2-3.tmp", "half");
    train(dir, TINY, WITH("--steps", "2", "--seed", "5", "--out", "deep/in/run", "--force"), 0);
    train(dir, TINY, WITH("--steps", "2", "--seed", "5", "--out", "fresh"), 0);
    same_runs(dir, "deep/in/run", "fresh");
    ck_assert(run_has(dir, "deep/in/run", "notes"));
    ck_assert(!run_has(dir, "deep/in/run", "metrics.csv.1-2-3.tmp"));
    program_write(dir, "file", "text");
    refused(dir, TINY, WITH("--out", "file", "--force"), 1, WITH("--out file", "not a directory"));
    program_directory_remove(dir);
}
END_TEST

/* --force takes the checkpoints too: none of the old run may be resumed into the new one. */
START_TEST(force_leaves_nothing_of_the_old_run)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "3", "--out", "run"), 0);
    train(dir, TINY,
          WITH("--steps", "9", "--lr", "1e30", "--eval-every", "0", "--out", "run", "--force"), 3);
    ck_assert(!run_has(dir, "run", "last.safetensors"));
    ck_assert(!run_has(dir, "run", "best.safetensors"));
    program_directory_remove(dir);
}
END_TEST

START_TEST(default_names)
{
    char *dir = program_directory();
    for (int i = 0; i < 3; i++) train(dir, TINY, WITH("--steps", "1", "--seed", "42"), 0);
    train(dir, TINY, WITH("--steps", "1", "--scale", "0.25"), 0);
    ck_assert_int_eq(program_directory_entries(below(dir, "runs").text), 4);
    ck_assert(run_has(dir, "runs/copy-sqrt-dk4-seed42", "last.safetensors"));
    ck_assert(run_has(dir, "runs/copy-sqrt-dk4-seed42-2", "last.safetensors"));
    ck_assert(run_has(dir, "runs/copy-sqrt-dk4-seed42-3", "last.safetensors"));
    ck_assert(run_has(dir, "runs/copy-0.25-dk4-seed1", "last.safetensors"));
    program_directory_remove(dir);
}
END_TEST

/* The same command beside a run that was cut off: a run of its own, and a word on the other. */
START_TEST(a_run_that_was_cut_off_is_named)
{
    static const char said[] = "--resume runs/copy-sqrt-dk4-seed1 goes on with it";
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "9", "--stop-at", "4"), 0);
    program_run r = train_and_read(dir, TINY, WITH("--steps", "9", "--lr", "0.1"), 0);
    ck_assert_msg(!strstr(r.err, "--resume"), "another run is named: %s", r.err);
    program_free(&r);
    r = train_and_read(dir, TINY, WITH("--steps", "9"), 0);
    ck_assert_msg(strstr(r.err, said) != NULL, "%s", r.err);
    ck_assert(run_has(dir, "runs/copy-sqrt-dk4-seed1-3", "last.safetensors"));
    program_free(&r);
    train(dir, WITH("--resume", "runs/copy-sqrt-dk4-seed1"), NULL, 0);
    r = train_and_read(dir, TINY, WITH("--steps", "9"), 0);
    ck_assert_str_eq(r.err, "");
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

START_TEST(four_at_the_same_moment)
{
    enum { RUNS = 4 };
    static const char *const names[] = {"runs/copy-sqrt-dk4-seed1", "runs/copy-sqrt-dk4-seed1-2",
                                        "runs/copy-sqrt-dk4-seed1-3", "runs/copy-sqrt-dk4-seed1-4"};
    char *dir = program_directory();
    program_run r[RUNS];
    for (int i = 0; i < RUNS; i++) r[i] = start(dir, TINY, WITH("--steps", "5"));
    for (int i = 0; i < RUNS; i++) {
        program_finish(&r[i]);
        ck_assert_msg(r[i].status == 0, "exit %d: %s", r[i].status, r[i].err);
        program_free(&r[i]);
    }
    ck_assert_int_eq(program_directory_entries(below(dir, "runs").text), RUNS);
    for (int i = 0; i < RUNS; i++) same_runs(dir, names[0], names[i]);
    program_directory_remove(dir);
}
END_TEST

/* The same --out at the same moment: one runs, the others are refused and spoil nothing. */
START_TEST(four_into_the_same_directory)
{
    enum { RUNS = 4 };
    char *dir = program_directory();
    program_run r[RUNS];
    int done = 0;
    train(dir, TINY, WITH("--steps", "30", "--out", "alone"), 0);
    for (int i = 0; i < RUNS; i++) r[i] = start(dir, TINY, WITH("--steps", "30", "--out", "run"));
    for (int i = 0; i < RUNS; i++) {
        program_finish(&r[i]);
        done += r[i].status == 0;
        ck_assert_msg(r[i].status == 0 || strstr(r[i].err, "run is in use") ||
                          strstr(r[i].err, "run exists and is not empty"),
                      "exit %d: %s", r[i].status, r[i].err);
        program_free(&r[i]);
    }
    ck_assert_int_eq(done, 1);
    same_runs(dir, "alone", "run");
    program_directory_remove(dir);
}
END_TEST

/* ---- a directory that goes ------------------------------------------------------------------- */

/* At the next row, long before the next checkpoint. What has come in its place is left alone. */
START_TEST(a_directory_that_is_removed_is_noticed)
{
    char *dir = program_directory();
    program_run r =
        start(dir, TINY, WITH("--steps", "100000000", "--log-every", "1", "--out", "run"));
    await(dir, "run/metrics.csv", 600);
    if (_i) {
        ck_assert_int_eq(rename(below(dir, "run").text, below(dir, "old").text), 0);
        train(dir, TINY, WITH("--steps", "1", "--out", "run"), 0);
        copy_run(dir, "run", "copy");
        program_remove_tree(below(dir, "old").text);
    } else {
        program_remove_tree(below(dir, "run").text);
    }
    program_finish(&r);
    ck_assert_msg(r.status == 1 && !r.signal, "exit %d, signal %d: %s", r.status, r.signal, r.err);
    ck_assert_msg(strstr(r.err, "run") && strstr(r.err, "removed"), "%s", r.err);
    program_free(&r);
    if (_i) unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}
END_TEST

/* Another directory has the name when the next checkpoint is due: it is somebody else's. */
START_TEST(a_directory_that_is_replaced_is_left_alone)
{
    char *dir = program_directory();
    program_run r =
        start(dir, TINY, WITH("--steps", "100000000", "--log-every", "1", "--out", "run"));
    await(dir, "run/metrics.csv", 600);
    ck_assert_int_eq(rename(below(dir, "run").text, below(dir, "old").text), 0);
    train(dir, TINY, WITH("--steps", "1", "--out", "run"), 0);
    copy_run(dir, "run", "copy");
    kill(r.pid, SIGINT);
    program_finish(&r);
    ck_assert_msg(r.status == 1 && !r.signal, "exit %d, signal %d: %s", r.status, r.signal, r.err);
    ck_assert_msg(strstr(r.err, "run was removed or replaced"), "%s", r.err);
    program_free(&r);
    unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}
END_TEST

/* ---- nothing on the disk --------------------------------------------------------------------- */

START_TEST(looking_writes_nothing)
{
    char *dir = program_directory();
    program_run r = train_and_read(dir, TINY, WITH("--describe", "--out", "run", "--bias"), 0);
    static const char *const described[] = {"tensor",
                                            "shape",
                                            "decay",
                                            "predicted",
                                            "layers.0.attention.wq.weight",
                                            "5 x 8",
                                            "bias",
                                            "d-k = 4",
                                            "entropy",
                                            "\nmemory ",
                                            "\na step ",
                                            "% of them with a target that counts, ",
                                            "\ntime  ",
                                            " ms a step, tried just now: ",
                                            "\nrate  ",
                                            " that ",
                                            NULL};
    for (int i = 0; described[i]; i++)
        ck_assert_msg(strstr(r.out, described[i]), "no %s", described[i]);
    program_free(&r);
    r = train_and_read(dir, TINY, WITH("--show-batch", "--out", "run"), 0);
    static const char *const shown[] = {"input", "target",     "counted", "yes",
                                        "no\n",  "sequence 1", NULL};
    for (int i = 0; shown[i]; i++) ck_assert_msg(strstr(r.out, shown[i]), "no %s", shown[i]);
    program_free(&r);
    ck_assert_int_eq(program_directory_entries(dir), 0);
    program_directory_remove(dir);
}
END_TEST

/* With --resume it is that run which is looked at. */
START_TEST(looking_at_a_run_shows_that_run)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "3", "--out", "run"), 0);
    static const char *const resume[PROGRAM_ARGS] = {"--resume", "run", "--describe"};
    program_run r = train_and_read(dir, resume, NULL, 0);
    ck_assert_msg(strstr(r.out, "d-k = 4\n"), "%s", r.out);
    program_free(&r);
    static const char *const nowhere[PROGRAM_ARGS] = {"--resume", "nowhere"};
    refused(dir, nowhere, WITH("--describe"), 1, WITH("nowhere"));
    refused(dir, nowhere, WITH("--show-batch"), 1, WITH("nowhere"));
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_stdout_that_takes_nothing_is_a_failure)
{
    int full = open("/dev/full", O_WRONLY);
    if (full < 0) return; /* only Linux has it */
    char *dir = program_directory();
    const char *arguments[PROGRAM_ARGS] = {"--steps", "3", "--out", "run"};
    for (int i = 0; TINY[i]; i++) arguments[4 + i] = TINY[i];
    program_run r = program_start_to(dir, arguments, full);
    close(full);
    program_finish(&r);
    ck_assert_int_eq(r.status, 1);
    ck_assert_msg(strstr(r.err, "rootdk: cannot write all of the output"), "%s", r.err);
    ck_assert(run_json_has(dir, "run", "\"status\": \"done\"")); /* the run itself is whole */
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* ---- a full disk ----------------------------------------------------------------------------- */

/* Runs where no file can grow beyond `most` bytes. */
static program_run run_in_little_room(const char *dir, rlim_t most, const char *const *base,
                                      const char *const *more)
{
    struct rlimit before, now;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    now = (struct rlimit){most, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN); /* so that write fails as on a full disk; kept through exec */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &now), 0);
    program_run r = start(dir, base, more);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    program_finish(&r);
    ck_assert_msg(r.status == 1, "exit %d, signal %d: %s", r.status, r.signal, r.err);
    return r;
}

static off_t size_of(const char *dir, const char *name)
{
    struct stat info;
    ck_assert_int_eq(stat(below(dir, name).text, &info), 0);
    return info.st_size;
}

/* The logs outgrow the disk; the checkpoints before are whole, and the run goes on from them when
 * there is room. */
START_TEST(no_room_for_the_logs)
{
    static const char *const base[] = {"--log-every",  "10", "--probe-every", "1",
                                       "--save-every", "5",  "--out",         NULL};
    char *dir = program_directory();
    const char *more[PROGRAM_ARGS];
    int n = 0;
    for (int i = 0; base[i]; i++) more[n++] = base[i];
    more[n++] = "whole";
    more[n++] = "--steps";
    more[n++] = "40";
    more[n] = NULL;
    train(dir, TINY, more, 0);
    off_t room = size_of(dir, "whole/last.safetensors") + 100;
    ck_assert_int_gt(size_of(dir, "whole/gradients.csv"), room);
    more[n - 3] = "run";
    program_run r = run_in_little_room(dir, (rlim_t)room, TINY, more);
    ck_assert_msg(strstr(r.err, "cannot write run/gradients.csv: File too large"), "%s", r.err);
    program_free(&r);
    ck_assert(run_json_has(dir, "run", "\"status\": \"failed\""));
    ck_assert(run_has(dir, "run", "last.safetensors"));
    ck_assert_int_eq(program_directory_entries(below(dir, "run").text), N_FILES_BEFORE_END);
    train(dir, WITH("--resume", "run"), NULL, 0);
    same_runs(dir, "whole", "run");
    program_directory_remove(dir);
}
END_TEST

/* The next checkpoint does not fit: the one before stays as it was. */
START_TEST(no_room_for_a_checkpoint)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "9", "--eval-every", "0", "--out", "whole"), 0);
    train(dir, TINY, WITH("--steps", "9", "--eval-every", "0", "--stop-at", "4", "--out", "run"),
          0);
    copy_run(dir, "run", "copy");
    rlim_t room = (rlim_t)size_of(dir, "run/last.safetensors") / 2;
    program_run r = run_in_little_room(dir, room, WITH("--resume", "run"), WITH("--stop-at", "6"));
    ck_assert_msg(strstr(r.err, "cannot write run/last.safetensors: File too large"), "%s", r.err);
    program_free(&r);
    same_file(dir, "run", "copy", "last.safetensors");
    ck_assert_int_eq(program_directory_entries(below(dir, "run").text),
                     program_directory_entries(below(dir, "copy").text));
    train(dir, WITH("--resume", "run"), NULL, 0);
    same_runs(dir, "whole", "run");
    program_directory_remove(dir);
}
END_TEST

/* What the caller has closed would otherwise go to the next file that is opened: a log. */
START_TEST(closed_descriptors_reach_no_log)
{
    char *dir = program_directory(), command[16384];
    train(dir, TINY, (const char *[]){"--steps", "3", "--out", "open", NULL}, 0);
    snprintf(command, sizeof command,
             "cd '%s' && '%s' --config open/config.ini --out run <&- >&- 2>&-", dir,
             program_path());
    int status = system(command);
    ck_assert_int_eq(WEXITSTATUS(status), 1); /* its screen text could not be written */
    same_file(dir, "open", "run", "metrics.csv");
    program_directory_remove(dir);
}
END_TEST

/* A file at its size limit is an error with a name, not a death by SIGXFSZ. */
START_TEST(a_file_size_limit_is_named)
{
    char *dir = program_directory(), command[16384];
    train(dir, TINY, (const char *[]){"--steps", "3", "--out", "open", NULL}, 0);
    snprintf(command, sizeof command,
             "cd '%s' && (ulimit -f 4; '%s' --config open/config.ini --out run >/dev/null 2>said)",
             dir, program_path());
    int status = system(command);
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    char *said = program_file(dir, "said", NULL);
    ck_assert_msg(strstr(said, "rootdk: cannot write run/"), "%s", said);
    free(said);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("rundir", {
    ADD(a_run_that_stands_there_is_not_touched);
    ADD(force_leaves_nothing_of_the_old_run);
    ADD(default_names);
    ADD(a_run_that_was_cut_off_is_named);
    ADD(four_at_the_same_moment);
    ADD(four_into_the_same_directory);
    ADD_LOOP(a_directory_that_is_removed_is_noticed, 2);
    ADD(a_directory_that_is_replaced_is_left_alone);
    ADD(looking_writes_nothing);
    ADD(looking_at_a_run_shows_that_run);
    ADD(a_stdout_that_takes_nothing_is_a_failure);
    ADD(closed_descriptors_reach_no_log);
    ADD(a_file_size_limit_is_named);
    ADD(no_room_for_the_logs);
    ADD(no_room_for_a_checkpoint);
})
