/* SPDX-License-Identifier: MIT
 * A run that is cut and continued is the run that was never cut, byte for byte; and what --resume
 * takes, refuses and leaves alone. */
#include "run_files.h"
#include "isa.h"

/* All that could carry state from one step to the next. */
static const char *const HARD[] = {"--task",      "copy",
                                   "--seq-len",   "4",
                                   "--vocab",     "5",
                                   "--d-model",   "8",
                                   "--heads",     "2",
                                   "--layers",    "2",
                                   "--batch",     "3",
                                   "--eval-size", "8",
                                   "--accum",     "2",
                                   "--dropout",   "0.1",
                                   "--beta2",     "0.95",
                                   "--schedule",  "cosine",
                                   "--warmup",    "4",
                                   "--bias",      "--scale",
                                   "qknorm",      "--log-every",
                                   "1",           "--seed",
                                   "7",           "--threads",
                                   "1",           "--clip",
                                   "0.5",         "--probe-every",
                                   "3",           "--lr",
                                   "0.01",        "--min-lr",
                                   "1e-4",        NULL};

START_TEST(stop_and_resume_equal_an_undisturbed_run)
{
    char *dir = program_directory();
    train(dir, HARD, WITH("--steps", "20", "--out", "whole"), 0);
    program_run r =
        train_and_read(dir, HARD, WITH("--steps", "20", "--stop-at", "7", "--out", "cut"), 0);
    ck_assert_msg(strstr(r.out, "stopped as asked after 7 of 20 steps"), "%s", r.out);
    ck_assert_msg(strstr(r.out, "--resume cut"), "%s", r.out);
    program_free(&r);
    ck_assert(run_json_has(dir, "cut", "\"status\": \"interrupted\""));
    ck_assert_uint_eq(last_step(dir, "cut"), 6);
    r = train_and_read(dir, WITH("--resume", "cut"), NULL, 0);
    ck_assert_msg(strstr(r.out, "at step 7 of 20"), "%s", r.out);
    program_free(&r);
    ck_assert(run_json_has(dir, "cut", "\"status\": \"done\""));
    same_runs(dir, "whole", "cut");
    well_formed_logs(dir, "cut");
    program_directory_remove(dir);
}
END_TEST

/* What it says at its end, up to the names of its files. To be freed. */
static char *verdict_of(program_run *r)
{
    char *from = strstr(r->out, "\nverdict "), *to = strstr(r->out, "\nfiles ");
    ck_assert_msg(from && to && to > from, "%s", r->out);
    char *text = strndup(from, (size_t)(to - from));
    program_free(r);
    return text;
}

/* What QK-clip did is counted over all parts of a run; updates of metrics.csv, of which each is
 * logged, say how often. */
START_TEST(clipped_heads_are_counted_over_the_cuts)
{
    static const char *const clipped[] = {"--scale", "none", "--qk-clip", "1.5", "--log-every", "1",
                                          "--lr",    "0.02", "--steps",   "20",  NULL};
    char *dir = program_directory(), wanted[96], name[64];
    const char *base[PROGRAM_ARGS] = {NULL};
    size_t n = 0;
    for (const char *const *o = TINY; *o; o++) base[n++] = *o;
    for (const char *const *o = clipped; *o; o++) base[n++] = *o;
    train(dir, base, WITH("--out", "cut", "--stop-at", "7"), 0);
    program_run r = train_and_read(dir, WITH("--resume", "cut"), NULL, 0);
    char *rows = program_file(dir, "cut/metrics.csv", NULL);
    int column = 0, updates = 0, most = 0;
    while (strcmp(field_of(rows, column, name), "heads_clipped") != 0) column++;
    for (const char *line = rows; (line = next_line(line));) {
        if (!strstr(line, ",train,") || strstr(line, ",train,") > strchr(line, '\n')) continue;
        int heads = (int)number_at(line, column);
        if (number_at(line, 0) == 20) continue; /* no update follows */
        updates += heads > 0;
        if (heads > most) most = heads;
    }
    ck_assert_int_gt(updates, 0);
    snprintf(wanted, sizeof wanted,
             "QK-clip at 1.5 shrank heads in %d of 20 updates, at most %d of 4 heads at once.",
             updates, most);
    ck_assert_msg(strstr(r.out, wanted), "no %s in %s", wanted, r.out);
    free(rows);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* The start is told too, however often and early the run was cut. */
START_TEST(a_resumed_run_ends_with_the_same_words)
{
    char *dir = program_directory();
    program_run r = train_and_read(dir, TINY, WITH("--steps", "20", "--out", "whole"), 0);
    char *whole = verdict_of(&r);
    ck_assert_msg(strstr(whole, "Attention started") && strstr(whole, "the top 5%"), "%s", whole);
    train(dir, TINY, WITH("--steps", "20", "--out", "cut", "--stop-at", "1"), 0);
    train(dir, WITH("--resume", "cut", "--stop-at", "13"), NULL, 0);
    r = train_and_read(dir, WITH("--resume", "cut"), NULL, 0);
    char *cut = verdict_of(&r);
    ck_assert_str_eq(whole, cut);
    ck_assert(run_json_has(dir, "cut", "\"initial_loss\": "));
    free(whole);
    free(cut);
    program_directory_remove(dir);
}
END_TEST

START_TEST(additive_attention_resumes_too)
{
    static const char *const base[] = {
        "--attention", "additive", "--scale",       "1.5", "--qk-norm", "rms", "--dropout",   "0.1",
        "--steps",     "9",        "--threads",     "1",   "--batch",   "8",   "--eval-size", "8",
        "--d-model",   "8",        "--heads",       "2",   "--seq-len", "3",   "--vocab",     "6",
        "--log-every", "1",        "--probe-every", "2",   NULL};
    char *dir = program_directory();
    train(dir, base, WITH("--out", "whole"), 0);
    train(dir, base, WITH("--out", "cut", "--stop-at", "4"), 0);
    train(dir, WITH("--resume", "cut", "--threads", "2"), NULL, 0);
    same_runs(dir, "whole", "cut");
    well_formed_logs(dir, "cut");
    program_directory_remove(dir);
}
END_TEST

START_TEST(momentum_resumes_too)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--optimizer", "sgd", "--steps", "9", "--out", "whole"), 0);
    train(dir, TINY, WITH("--optimizer", "sgd", "--steps", "9", "--out", "cut", "--stop-at", "4"),
          0);
    train(dir, WITH("--resume", "cut"), NULL, 0);
    same_runs(dir, "whole", "cut");
    program_directory_remove(dir);
}
END_TEST

enum { SHORT_RUN = 12 };
static const char *const EVERY_THREE[] = {
    "--steps", "12", "--log-every", "3", "--probe-every", "3", "--eval-every", "3", NULL};

static void train_short(const char *dir, const char *out, const char *stop_at)
{
    const char *more[PROGRAM_ARGS];
    size_t n = 0;
    for (const char *const *o = EVERY_THREE; *o; o++) more[n++] = *o;
    more[n++] = "--out";
    more[n++] = out;
    if (stop_at) more[n++] = "--stop-at";
    more[n++] = stop_at;
    more[n] = NULL;
    train(dir, TINY, more, 0);
}

START_TEST(every_place_to_cut)
{
    char *dir = program_directory(), at[16];
    snprintf(at, sizeof at, "%d", _i);
    train_short(dir, "whole", NULL);
    train_short(dir, "cut", at);
    train(dir, WITH("--resume", "cut"), NULL, 0);
    same_runs(dir, "whole", "cut");
    well_formed_logs(dir, "cut");
    program_directory_remove(dir);
}
END_TEST

START_TEST(cut_twice_and_cut_everywhere)
{
    char *dir = program_directory(), at[16];
    train_short(dir, "whole", NULL);
    train_short(dir, "twice", "4");
    train(dir, WITH("--resume", "twice"), WITH("--stop-at", "9"), 0);
    train(dir, WITH("--resume", "twice"), NULL, 0);
    same_runs(dir, "whole", "twice");
    train_short(dir, "often", "1");
    for (int k = 2; k <= SHORT_RUN; k++) {
        snprintf(at, sizeof at, "%d", k);
        train(dir, WITH("--resume", "often"), WITH("--stop-at", at), 0);
    }
    same_runs(dir, "whole", "often");
    ck_assert(run_json_has(dir, "often", "\"status\": \"done\""));
    program_directory_remove(dir);
}
END_TEST

/* ---- a run that has ended -------------------------------------------------------------------- */

START_TEST(a_complete_run_is_left_alone)
{
    char *dir = program_directory();
    train_short(dir, "run", NULL);
    copy_run(dir, "run", "copy");
    for (int quiet = 0; quiet < 2; quiet++) {
        program_run r =
            train_and_read(dir, WITH("--resume", "run"), quiet ? WITH("--quiet") : NULL, 0);
        ck_assert_msg(strstr(r.out, "complete") && strstr(r.out, "step 12 of 12"), "%s", r.out);
        ck_assert_str_eq(r.err, "");
        program_free(&r);
        unchanged(dir, "run", "copy");
    }
    refused(dir, WITH("--resume", "run"), WITH("--stop-at", "12"), 2,
            WITH("--stop-at 12", "step 12"));
    unchanged(dir, "run", "copy");
    program_directory_remove(dir);
}
END_TEST

/* Killed between the last checkpoint and the last word of run.json. */
START_TEST(a_run_that_lacks_only_its_last_word_gets_it)
{
    char *dir = program_directory();
    train_short(dir, "run", NULL);
    copy_run(dir, "run", "whole");
    program_write(dir, "run/run.json", "{\n  \"saved_step\": 9,\n  \"status\": \"running\"\n}\n");
    train(dir, WITH("--resume", "run"), NULL, 0);
    ck_assert(run_json_has(dir, "run", "\"status\": \"done\""));
    same_runs(dir, "whole", "run");
    program_directory_remove(dir);
}
END_TEST

/* ---- what a resuming command may say --------------------------------------------------------- */

static const struct contradiction {
    const char *option, *value, *was;
} contradictions[] = {
    {"--lr", "0.002", "lr = 0.001"},
    {"--d-model", "16", "d-model = 8"},
    {"--seed", "2", "seed = 1"},
    {"--log-every", "7", "log-every = 20"},
    {"--heads", "4", "heads = 2"},
    {"--scale", "none", "scale = sqrt"},
    {"--task", "reverse", "task = copy"},
    {"--dropout", "0.1", "dropout = 0"},
    {"--norm", "rms", "norm = layer"},
    {"--batch", "8", "batch = 4"},
    {"--warmup", "3", "warmup = 8"},
    {"--steps", "6", "steps = 8"},
    {"--save-every", "2", "save-every = 0"},
};
enum { N_CONTRADICTIONS = sizeof contradictions / sizeof *contradictions };

START_TEST(contradictions_are_refused_by_name)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "8", "--stop-at", "4", "--out", "run"), 0);
    copy_run(dir, "run", "copy");
    for (int i = 0; i < N_CONTRADICTIONS; i++) {
        const struct contradiction *c = &contradictions[i];
        refused(dir, WITH("--resume", "run", c->option, c->value), NULL, 2,
                WITH("cannot resume run", c->was, c->value, c->option, "--out"));
        unchanged(dir, "run", "copy");
    }
    program_directory_remove(dir);
}
END_TEST

/* The command that began the run, with --resume for --out: all it says is what the run has, also
 * where it was cut to size (--warmup 50 in a run of 8 steps) or left to rule. */
START_TEST(what_agrees_or_is_free_is_taken)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "8", "--out", "whole"), 0);
    train(dir, TINY, WITH("--steps", "8", "--stop-at", "3", "--out", "run"), 0);
    program_run r = train_and_read(dir, TINY,
                                   WITH("--steps", "8", "--warmup", "50", "--d-ff", "auto",
                                        "--resume", "run", "--stop-at", "6", "--quiet"),
                                   0);
    ck_assert_msg(!strstr(r.out, "accuracy"), "not quiet: %s", r.out);
    program_free(&r);
    train(dir, WITH("--config", "whole/config.ini", "--resume", "run", "--threads", "3"), NULL, 0);
    same_runs(dir, "whole", "run");
    program_directory_remove(dir);
}
END_TEST

/* Results depend on it in their last bits, so run.json names all that had a part. */
START_TEST(another_instruction_set_is_named)
{
    char *dir = program_directory(), list[80];
    const char *plain = plainest_isa();
    setenv("RDK_ISA", plain, 1);
    train(dir, TINY, WITH("--steps", "6", "--stop-at", "2", "--out", "run"), 0);
    snprintf(list, sizeof list, "\"isa\": \"%s\",", plain);
    ck_assert(run_json_has(dir, "run", list));
    unsetenv("RDK_ISA");
    train(dir, WITH("--resume", "run", "--stop-at", "4"), NULL, 0);
    bool same = !strcmp(rdk_isa(), plain);
    snprintf(list, sizeof list, "\"isa\": \"%s%s%s%s\",", plain, same ? "" : ", ",
             same ? "" : rdk_isa(), same ? "" : " from step 2");
    ck_assert(run_json_has(dir, "run", list));
    train(dir, WITH("--resume", "run"), NULL, 0); /* the one that ends the list goes on */
    ck_assert(run_json_has(dir, "run", list));
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("resume", {
    ADD(stop_and_resume_equal_an_undisturbed_run);
    ADD(a_resumed_run_ends_with_the_same_words);
    ADD(clipped_heads_are_counted_over_the_cuts);
    ADD(additive_attention_resumes_too);
    ADD(momentum_resumes_too);
    tcase_add_loop_test(tc, every_place_to_cut, 1, SHORT_RUN);
    ADD(cut_twice_and_cut_everywhere);
    ADD(a_complete_run_is_left_alone);
    ADD(a_run_that_lacks_only_its_last_word_gets_it);
    ADD(contradictions_are_refused_by_name);
    ADD(what_agrees_or_is_free_is_taken);
    ADD(another_instruction_set_is_named);
})
