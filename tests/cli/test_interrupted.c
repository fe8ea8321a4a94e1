/* SPDX-License-Identifier: MIT
 * Runs that somebody ends: a signal, a kill. The process dies as it should, what it leaves can be
 * loaded, and the run that goes on is the run that nobody touched. */
#include "pages.h"

enum { ROWS_FIRST = 600, BEYOND = 25 }; /* bytes of metrics.csv to wait for; steps to go on for */
enum { EVALUATES = 5 };                 /* ENDLESS evaluates every so many steps */

/* Every part of the state in use; the number of steps is never reached. */
static const char *const ENDLESS[] = {
    "--task",        "copy", "--seq-len",   "4",       "--vocab",     "5",
    "--d-model",     "8",    "--heads",     "2",       "--layers",    "1",
    "--batch",       "3",    "--eval-size", "8",       "--accum",     "2",
    "--dropout",     "0.1",  "--threads",   "1",       "--warmup",    "10",
    "--probe-every", "7",    "--steps",     "1000000", "--log-every", "1",
    "--eval-every",  "5",    "--schedule",  "cosine",  "--beta2",     "0.95",
    "--lr",          "0.01", NULL};

/* Starts the run and ends it by this signal once it has written rows, and the file `also`. */
static program_run ended_by(const char *dir, int number, const char *const *more, const char *also)
{
    program_run r = start(dir, ENDLESS, more);
    if (also) await(dir, also, 0);
    await(dir, "run/metrics.csv", ROWS_FIRST);
    kill(r.pid, number);
    program_finish(&r);
    ck_assert_msg(r.signal == number, "signal %d, exit %d: %s", r.signal, r.status, r.err);
    return r;
}

/* Goes on with the run to a step well beyond the last that it wrote; that is what a run which
 * stopped there by itself has. more: what the run was started with besides. */
static void goes_on_as_if_untouched(const char *dir, const char *const *more)
{
    char at[24];
    snprintf(at, sizeof at, "%lu", (unsigned long)last_step(dir, "run") + BEYOND);
    train(dir, WITH("--resume", "run", "--stop-at", at), NULL, 0);
    const char *arguments[PROGRAM_ARGS] = {"--out", "whole", "--stop-at", at};
    for (size_t n = 4; more && *more; n++, more++) arguments[n] = *more;
    train(dir, ENDLESS, arguments, 0);
    same_runs(dir, "whole", "run");
    well_formed_logs(dir, "run");
    ck_assert_int_eq(program_directory_entries(below(dir, "run").text), N_FILES_BEFORE_END);
}

/* The step that a signalled ENDLESS run saves: the one after its last row. Only where that is the
 * training row of a step which was to be evaluated did the signal come in the evaluation, which
 * then left no row: the step itself. */
static uint64_t step_to_save(const char *dir)
{
    char *text = program_file(dir, "run/metrics.csv", NULL), eval_row[32];
    uint64_t step = last_step(dir, "run");
    snprintf(eval_row, sizeof eval_row, "\n%lu,eval,", (unsigned long)step);
    bool cut_short = step > 0 && step % EVALUATES == 0 && !strstr(text, eval_row);
    free(text);
    return cut_short ? step : step + 1;
}

START_TEST(a_signal_saves)
{
    static const int signals[] = {SIGINT, SIGTERM};
    char *dir = program_directory(), json[64];
    program_run r = ended_by(dir, signals[_i], WITH("--out", "run"), NULL);
    ck_assert_msg(strstr(r.out, "interrupted after") && strstr(r.out, "--resume run"), "%s", r.out);
    ck_assert_str_eq(r.err, "");
    program_free(&r);
    ck_assert(run_json_has(dir, "run", "\"status\": \"interrupted\""));
    snprintf(json, sizeof json, "\"saved_step\": %lu,", (unsigned long)step_to_save(dir));
    ck_assert_msg(run_json_has(dir, "run", json), "run.json has not %s", json);
    goes_on_as_if_untouched(dir, NULL);
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_signal_before_the_first_step_saves_too)
{
    char *dir = program_directory();
    program_run r = start(dir, ENDLESS, WITH("--out", "run"));
    await(dir, "run/config.ini", 0);
    kill(r.pid, SIGTERM);
    program_finish(&r);
    ck_assert_msg(r.signal == SIGTERM, "signal %d, exit %d: %s", r.signal, r.status, r.err);
    ck_assert(run_has(dir, "run", "last.safetensors"));
    program_free(&r);
    goes_on_as_if_untouched(dir, NULL);
    program_directory_remove(dir);
}
END_TEST

START_TEST(interrupted_twice)
{
    char *dir = program_directory();
    program_run r = ended_by(dir, SIGINT, WITH("--out", "run"), NULL);
    program_free(&r);
    size_t size;
    free(program_file(dir, "run/metrics.csv", &size));
    r = start(dir, WITH("--resume", "run"), NULL);
    await(dir, "run/metrics.csv", (off_t)size);
    kill(r.pid, SIGINT);
    program_finish(&r);
    ck_assert_int_eq(r.signal, SIGINT);
    program_free(&r);
    goes_on_as_if_untouched(dir, NULL);
    program_directory_remove(dir);
}
END_TEST

/* An evaluation of 50000 batches, heard in its midst: no row of it, and the state before it. */
static const char *const SLOW[] = {
    "--task",    "copy",      "--seq-len", "4",        "--vocab",     "5",       "--d-model",
    "8",         "--heads",   "2",         "--layers", "1",           "--batch", "1",
    "--threads", "1",         "--steps",   "4",        "--log-every", "1",       "--eval-size",
    "50000",     "--dropout", "0.1",       NULL};

START_TEST(a_signal_in_an_evaluation)
{
    static const char *const every[] = {"0", "2"};
    static const char *const row[] = {"\n4,train,", "\n2,train,"};
    char *dir = program_directory(), saved[64], *text = NULL;
    train(dir, SLOW, WITH("--eval-every", every[_i], "--out", "whole"), 0);
    program_run r = start(dir, SLOW, WITH("--eval-every", every[_i], "--out", "run"));
    for (int i = 0; i < HALF_A_MINUTE; i++) {
        free(text);
        text =
            run_has(dir, "run", "metrics.csv") ? program_file(dir, "run/metrics.csv", NULL) : NULL;
        if (text && strstr(text, row[_i])) break;
        pause_a_millisecond();
    }
    kill(r.pid, SIGINT);
    free(text);
    program_finish(&r);
    ck_assert_msg(r.signal == SIGINT, "signal %d, exit %d: %s", r.signal, r.status, r.err);
    ck_assert_msg(strstr(r.out, "--resume run") != NULL, "%s", r.out);
    program_free(&r);
    text = program_file(dir, "run/metrics.csv", NULL);
    ck_assert_msg(!strstr(text, _i ? "\n2,eval," : "\n4,eval,"), "%s", text);
    free(text);
    snprintf(saved, sizeof saved, "\"saved_step\": %d,", _i ? 2 : 4);
    ck_assert(run_json_has(dir, "run", saved));
    ck_assert(run_json_has(dir, "run", "\"status\": \"interrupted\""));
    train(dir, WITH("--resume", "run"), NULL, 0);
    same_runs(dir, "whole", "run");
    well_formed_logs(dir, "run");
    program_directory_remove(dir);
}
END_TEST

/* show and report say the same of a run that has not come to its end. */
static void shown_and_reported(const char *dir, const char *status)
{
    char words[64];
    program_run r = program_call(dir, WITH("show", "run"));
    snprintf(words, sizeof words, " %s ", status);
    ck_assert_msg(r.status == 0 && strstr(r.out, words), "%s", r.out);
    program_free(&r);
    char *page = report(dir, "run");
    snprintf(words, sizeof words, "<b>run</b>: not finished (%s); ", status);
    holds(page, words);
    free(page);
    ck_assert(unlink(below(dir, "run/report.html").text) == 0);
}

START_TEST(a_run_that_lives_is_running)
{
    char *dir = program_directory();
    program_run r = start(dir, ENDLESS, WITH("--out", "run"));
    await(dir, "run/metrics.csv", ROWS_FIRST);
    shown_and_reported(dir, "running");
    kill(r.pid, SIGKILL);
    program_finish(&r);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* At any moment: most of the time of such a run is spent in saving. */
START_TEST(a_killed_run_goes_on_from_its_last_checkpoint)
{
    static const char *const every[] = {"1", "2", "3", "8"};
    char *dir = program_directory();
    program_run r = ended_by(dir, SIGKILL, WITH("--out", "run", "--save-every", every[_i]),
                             "run/last.safetensors");
    program_free(&r);
    ck_assert(run_json_has(dir, "run", "\"status\": \"running\""));
    shown_and_reported(dir, "cut off");
    goes_on_as_if_untouched(dir, WITH("--save-every", every[_i]));
    program_directory_remove(dir);
}
END_TEST

START_TEST(killed_before_it_saved_it_starts_anew)
{
    char *dir = program_directory();
    program_run r = ended_by(dir, SIGKILL, WITH("--out", "run"), NULL);
    program_free(&r);
    ck_assert(!run_has(dir, "run", "last.safetensors"));
    goes_on_as_if_untouched(dir, NULL);
    program_directory_remove(dir);
}
END_TEST

/* ---- what a killed process may leave --------------------------------------------------------- */

static void append(const char *dir, const char *name, const char *text)
{
    FILE *f = fopen(below(dir, name).text, "ab");
    ck_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void stopped_at_six(const char *dir)
{
    train(dir, TINY, WITH("--steps", "9", "--log-every", "1", "--out", "whole"), 0);
    train(dir, TINY, WITH("--steps", "9", "--log-every", "1", "--out", "run", "--stop-at", "6"), 0);
}

/* Rows of the checkpoint's step and later, then a row without its end; the last: such a row alone,
 * of a step before. */
START_TEST(rows_past_the_checkpoint_are_cut)
{
    static const char *const torn[] = {"", "7,train,1.5", "8", "5,eval,1.7"};
    char *dir = program_directory();
    stopped_at_six(dir);
    if (_i < 3) {
        append(dir, "run/metrics.csv", "6,train,9,9,9,9,9,9,9,9,9\n6,eval,9,9,,,,,9,9,9\n");
        append(dir, "run/attention.csv", "6,0,0,9\n");
        append(dir, "run/gradients.csv", "6,tokens,9,9,9\n7,tokens,9,9,9\n");
        append(dir, "run/timing.csv", "6,1,1,1,\n");
        append(dir, "run/maps.csv", "6,0,0,0,0,9\n9,0,0,0,0,9\n");
    }
    append(dir, "run/metrics.csv", torn[_i]);
    append(dir, "run/gradients.csv", torn[_i]);
    train(dir, WITH("--resume", "run"), NULL, 0);
    same_runs(dir, "whole", "run");
    well_formed_logs(dir, "run");
    program_directory_remove(dir);
}
END_TEST

START_TEST(half_written_files_are_cleared_away)
{
    char *dir = program_directory();
    stopped_at_six(dir);
    program_write(dir, "run/last.safetensors.1f-2e-0.tmp", "half");
    program_write(dir, "run/run.json.1f-2e-1.tmp", "");
    program_write(dir, "run/notes.tmp", "mine");
    program_write(dir, "run/metrics.csv.mine.tmp", "mine");
    program_write(dir, "run/last.safetensors.bak", "mine");
    train(dir, WITH("--resume", "run"), NULL, 0);
    same_runs(dir, "whole", "run");
    ck_assert(!run_has(dir, "run", "last.safetensors.1f-2e-0.tmp"));
    ck_assert(!run_has(dir, "run", "run.json.1f-2e-1.tmp"));
    ck_assert(run_has(dir, "run", "metrics.csv.mine.tmp"));
    ck_assert(run_has(dir, "run", "notes.tmp") && run_has(dir, "run", "last.safetensors.bak"));
    program_directory_remove(dir);
}
END_TEST

/* A best of a step still to come, from a run that was killed: no worse one may replace it. */
START_TEST(a_better_best_is_kept)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "12", "--eval-every", "3", "--out", "whole"), 0);
    train(dir, TINY, WITH("--steps", "12", "--eval-every", "3", "--out", "run", "--stop-at", "4"),
          0);
    size_t size;
    char *best = program_file(dir, "whole/best.safetensors", &size);
    write_bytes(dir, "run/best.safetensors", best, size);
    free(best);
    train(dir, WITH("--resume", "run", "--stop-at", "8"), NULL, 0);
    same_file(dir, "whole", "run", "best.safetensors");
    train(dir, WITH("--resume", "run"), NULL, 0);
    same_runs(dir, "whole", "run");
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("interrupted", {
    ADD_LOOP(a_signal_saves, 2);
    ADD(a_signal_before_the_first_step_saves_too);
    ADD(interrupted_twice);
    ADD_LOOP(a_signal_in_an_evaluation, 2);
    ADD(a_run_that_lives_is_running);
    ADD_LOOP(a_killed_run_goes_on_from_its_last_checkpoint, 4);
    ADD(killed_before_it_saved_it_starts_anew);
    ADD_LOOP(rows_past_the_checkpoint_are_cut, 4);
    ADD(half_written_files_are_cleared_away);
    ADD(a_better_best_is_kept);
})
