/* SPDX-License-Identifier: MIT
 * --resume with more --steps: a run of a constant schedule that is made longer is the longer run
 * that nobody touched, byte for byte, its best included. */
#include "run_files.h"

#include "run/safetensors.h"

/* Evaluations, probes and warmup at intervals that the ends do not meet. */
static const char *const EVERY_FIVE[] = {"--task",
                                         "copy",
                                         "--seq-len",
                                         "4",
                                         "--vocab",
                                         "5",
                                         "--d-model",
                                         "8",
                                         "--heads",
                                         "2",
                                         "--layers",
                                         "1",
                                         "--batch",
                                         "4",
                                         "--eval-size",
                                         "8",
                                         "--threads",
                                         "1",
                                         "--warmup",
                                         "5",
                                         "--log-every",
                                         "5",
                                         "--eval-every",
                                         "5",
                                         "--probe-every",
                                         "5",
                                         "--dropout",
                                         "0.1",
                                         "--lr",
                                         "0.002",
                                         NULL};

static uint64_t best_step(const char *dir, const char *run)
{
    rdk_status s = {0};
    uint64_t step = 0;
    rdk_safetensors *f =
        rdk_safetensors_read(below(dir, below(run, "best.safetensors").text).text, &s);
    ck_assert_msg(f && rdk_parse_uint(rdk_safetensors_word(f, "step"), &step), "%s", s.message);
    rdk_safetensors_free(f);
    return step;
}

/* The old end 12 was the best so far, and is no step that the longer run evaluates: the best of it
 * is the one before. */
START_TEST(a_longer_run_is_the_undisturbed_one)
{
    static const char *const ends[] = {"23", "13", "15", "20", "14"};
    char *dir = program_directory();
    train(dir, EVERY_FIVE, WITH("--steps", ends[_i], "--out", "whole"), 0);
    train(dir, EVERY_FIVE, WITH("--steps", "12", "--out", "run"), 0);
    ck_assert_uint_eq(last_step(dir, "run"), 12);
    ck_assert_uint_eq(best_step(dir, "run"), 12);
    ck_assert(run_has(dir, "run", "best-before-end.safetensors"));
    train(dir, WITH("--resume", "run", "--steps", ends[_i]), NULL, 0);
    same_runs(dir, "whole", "run");
    well_formed_logs(dir, "run");
    program_directory_remove(dir);
}
END_TEST

/* Stopped before the longer run has found a better one: its best is of step 10, under the new
 * number of steps. */
START_TEST(the_best_before_the_old_end_comes_back)
{
    char *dir = program_directory();
    train(dir, EVERY_FIVE, WITH("--steps", "30", "--stop-at", "13", "--out", "whole"), 0);
    train(dir, EVERY_FIVE, WITH("--steps", "12", "--out", "run"), 0);
    train(dir, WITH("--resume", "run", "--steps", "30", "--stop-at", "13"), NULL, 0);
    ck_assert_uint_eq(best_step(dir, "run"), 10);
    same_runs(dir, "whole", "run");
    program_directory_remove(dir);
}
END_TEST

START_TEST(made_longer_twice)
{
    char *dir = program_directory();
    train(dir, EVERY_FIVE, WITH("--steps", "26", "--out", "whole"), 0);
    train(dir, EVERY_FIVE, WITH("--steps", "7", "--out", "run"), 0);
    train(dir, WITH("--resume", "run", "--steps", "12"), NULL, 0);
    train(dir, WITH("--resume", "run", "--steps", "30", "--stop-at", "14"), NULL, 0);
    refused(dir, WITH("--resume", "run", "--steps", "26"), NULL, 2, WITH("steps = 30"));
    train(dir, EVERY_FIVE, WITH("--steps", "30", "--out", "longest"), 0);
    train(dir, WITH("--resume", "run"), NULL, 0);
    same_runs(dir, "longest", "run");
    train(dir, EVERY_FIVE, WITH("--steps", "7", "--out", "other"), 0);
    train(dir, WITH("--resume", "other", "--steps", "12"), NULL, 0);
    train(dir, WITH("--resume", "other", "--steps", "26"), NULL, 0);
    same_runs(dir, "whole", "other");
    program_directory_remove(dir);
}
END_TEST

/* Without evaluations in between there is no best before the end. */
START_TEST(evaluated_at_the_end_only)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--eval-every", "0", "--warmup", "2", "--steps", "9", "--out", "whole"),
          0);
    train(dir, TINY, WITH("--eval-every", "0", "--warmup", "2", "--steps", "4", "--out", "run"), 0);
    ck_assert(!run_has(dir, "run", "best-before-end.safetensors"));
    train(dir, WITH("--resume", "run", "--steps", "9"), NULL, 0);
    same_runs(dir, "whole", "run");
    program_directory_remove(dir);
}
END_TEST

/* Killed after the evaluation of its end, before its last checkpoint; made longer from step 8. */
START_TEST(made_longer_from_before_the_old_end)
{
    char *dir = program_directory();
    train(dir, EVERY_FIVE, WITH("--steps", "23", "--save-every", "8", "--out", "whole"), 0);
    train(dir, EVERY_FIVE, WITH("--steps", "12", "--save-every", "8", "--out", "run"), 0);
    train(dir, EVERY_FIVE,
          WITH("--steps", "12", "--save-every", "8", "--stop-at", "8", "--out", "part"), 0);
    size_t size;
    char *last = program_file(dir, "part/last.safetensors", &size);
    write_bytes(dir, "run/last.safetensors", last, size);
    free(last);
    train(dir, WITH("--resume", "run", "--steps", "23", "--stop-at", "9"), NULL, 0);
    ck_assert(!run_json_has(dir, "run", "\"best_step\": 10")); /* it has not come there */
    train(dir, WITH("--resume", "run"), NULL, 0);
    same_runs(dir, "whole", "run");
    program_directory_remove(dir);
}
END_TEST

/* A run that cannot be made longer keeps nothing for it, nor one whose end is evaluated anyway. */
START_TEST(nothing_is_kept_in_vain)
{
    char *dir = program_directory();
    train(dir, EVERY_FIVE, WITH("--schedule", "linear", "--steps", "12", "--out", "a"), 0);
    train(dir, EVERY_FIVE, WITH("--steps", "10", "--out", "b"), 0);
    ck_assert_uint_eq(best_step(dir, "a"), 12);
    ck_assert_uint_eq(best_step(dir, "b"), 10);
    ck_assert(!run_has(dir, "a", "best-before-end.safetensors"));
    ck_assert(!run_has(dir, "b", "best-before-end.safetensors"));
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_schedule_that_ends_cannot)
{
    static const char *const names[] = {"cosine", "linear"};
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "6", "--schedule", names[_i], "--out", "run"), 0);
    copy_run(dir, "run", "copy");
    refused(dir, WITH("--resume", "run", "--steps", "12"), NULL, 2,
            WITH("steps = 6", "12", "cannot resume run"));
    unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("lengthen", {
    ADD_LOOP(a_longer_run_is_the_undisturbed_one, 5);
    ADD(the_best_before_the_old_end_comes_back);
    ADD(made_longer_twice);
    ADD(evaluated_at_the_end_only);
    ADD(made_longer_from_before_the_old_end);
    ADD(nothing_is_kept_in_vain);
    ADD_LOOP(a_schedule_that_ends_cannot, 2);
})
