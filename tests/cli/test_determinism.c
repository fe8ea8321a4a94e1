/* SPDX-License-Identifier: MIT
 * What a run's bits depend on: the configuration, and nothing else. Not the number of threads, not
 * what is logged or saved when, not what ran before. (The instruction set and the compiler may
 * change them: docs/architecture.md.) */
#include "run_files.h"

/* Large enough that every parallel loop has work for several threads; odd sizes. */
static const char *const MIDDLING[] = {"--task",      "recall",
                                       "--seq-len",   "5",
                                       "--d-model",   "24",
                                       "--heads",     "3",
                                       "--d-k",       "7",
                                       "--layers",    "2",
                                       "--batch",     "9",
                                       "--steps",     "7",
                                       "--eval-size", "20",
                                       "--dropout",   "0.1",
                                       "--log-every", "1",
                                       "--lr",        "0.01",
                                       "--mlp",       "swiglu",
                                       "--bias",      "--scale",
                                       "qknorm",      "--qk-gain",
                                       "3",           "--vocab",
                                       "12",          "--schedule",
                                       "linear",      "--probe-every",
                                       "2",           "--eval-every",
                                       "3",           NULL};

START_TEST(threads)
{
    static const char *const counts[] = {"2", "3", "8"};
    char *dir = program_directory();
    train(dir, MIDDLING, WITH("--threads", "1", "--out", "one"), 0);
    for (int i = 0; i < 3; i++) {
        train(dir, MIDDLING, WITH("--threads", counts[i], "--out", counts[i]), 0);
        same_runs(dir, "one", counts[i]);
    }
    program_directory_remove(dir);
}
END_TEST

/* Threads whose stack is small, on every instruction set: musl gives 128 KiB. Rows of 4 KiB are
 * copied before a product. */
START_TEST(small_stacks)
{
    static const char *const wide[] = {
        "--task",      "random", "--seq-len", "128",      "--d-model", "1024",    "--d-k",
        "64",          "--mlp",  "none",      "--layers", "1",         "--batch", "4",
        "--eval-size", "4",      "--steps",   "1",        "--threads", "2",       NULL};
    static const char *const isas[] = {"base", "avx2", "avx512", "avx512bf16"};
    char *dir = program_directory();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    setenv("OMP_STACKSIZE", "1M", 1); /* frames are several times as large under a sanitizer */
#else
    setenv("OMP_STACKSIZE", "64k", 1);
#endif
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        setenv("RDK_ISA", isas[i], 1);
        program_run r = program_call(dir, (const char *[]){"--version", NULL});
        if (r.status == 0) {
            train(dir, wide, WITH("--out", isas[i]), 0);
            train(dir, wide, WITH("--out", isas[i], "--force", "--precision", "bf16"), 0);
        }
        program_free(&r);
    }
    unsetenv("RDK_ISA");
    unsetenv("OMP_STACKSIZE");
    program_directory_remove(dir);
}
END_TEST

/* The architectures and norms that the other tests leave out, one and three threads. */
START_TEST(threads_of_other_models)
{
    static const char *const models[][8] = {
        {"--batch", "7", "--arch", "encoder", "--positions", "sinusoidal", "--mlp", "gelu"},
        {"--batch", "7", "--norm", "rms", "--positions", "rope", "--tie"},
        {"--batch", "7", "--scale", "none", "--qk-norm", "l2", "--mlp", "none"},
        {"--batch", "7", "--optimizer", "sgd", "--norm-place", "post", "--init", "gpt2"},
        /* in several groups, which threads take side by side (src/run/passes.c) */
        {"--batch", "64", "--scale", "none", "--qk-clip", "2", "--mlp", "relu"},
        {"--batch", "61", "--accum", "2", "--dropout", "0.1", "--scale", "qknorm"},
    };
    static const char *const base[] = {
        "--task",        "sort", "--seq-len",   "9", "--vocab", "7", "--d-model",   "20",
        "--heads",       "2",    "--eval-size", "9", "--steps", "5", "--log-every", "1",
        "--probe-every", "1",    NULL};
    char *dir = program_directory();
    for (int t = 1; t <= 3; t += 2) {
        const char *more[PROGRAM_ARGS] = {"--threads", t == 1 ? "1" : "3", "--out",
                                          t == 1 ? "one" : "three"};
        for (int i = 0; i < 8 && models[_i][i]; i++) more[4 + i] = models[_i][i];
        train(dir, base, more, 0);
    }
    same_runs(dir, "one", "three");
    program_directory_remove(dir);
}
END_TEST

/* ---- what is written when -------------------------------------------------------------------- */

/* Every row of the one is, to the byte, a row of the other. */
static void rows_of_one_are_in(const char *dir, const char *few, const char *many, const char *name)
{
    char *a = program_file(dir, below(few, name).text, NULL);
    char *b = program_file(dir, below(many, name).text, NULL);
    for (const char *line = a; (line = next_line(line));) {
        int n = (int)strcspn(line, "\n");
        const char *at = b;
        while ((at = next_line(at)) && strncmp(at, line, (size_t)n + 1) != 0) continue;
        ck_assert_msg(at != NULL, "%s of %s has no row %.*s", name, many, n, line);
    }
    free(a);
    free(b);
}

START_TEST(looking_changes_nothing)
{
    static const char *const ways[][8] = {
        {"--log-every", "0", "--probe-every", "0", "--eval-every", "0", "--save-every", "0"},
        {"--log-every", "0", "--probe-every", "1", "--eval-every", "0", "--save-every", "1"},
        {"--log-every", "5", "--probe-every", "3", "--eval-every", "2", "--save-every", "4"},
        {"--log-every", "1", "--probe-every", "0", "--eval-every", "1", "--save-every", "0"},
    };
    const char *more[PROGRAM_ARGS] = {"--steps", "10", "--dropout", "0.2", "--out", "few"};
    char *dir = program_directory();
    train(dir, TINY,
          WITH("--steps", "10", "--dropout", "0.2", "--out", "many", "--log-every", "1",
               "--probe-every", "1", "--eval-every", "1", "--save-every", "1"),
          0);
    for (int i = 0; i < 8; i++) more[6 + i] = ways[_i][i];
    train(dir, TINY, more, 0);
    same_file(dir, "few", "many", "last.safetensors");
    rows_of_one_are_in(dir, "few", "many", "metrics.csv");
    rows_of_one_are_in(dir, "few", "many", "attention.csv");
    rows_of_one_are_in(dir, "few", "many", "gradients.csv");
    ck_assert_int_eq(run_has(dir, "few", "maps.csv"), strcmp(ways[_i][3], "0") != 0);
    if (run_has(dir, "few", "maps.csv")) same_file(dir, "few", "many", "maps.csv");
    program_directory_remove(dir);
}
END_TEST

/* Another evaluation, another set; the training is the same. */
START_TEST(the_size_of_an_evaluation_changes_no_weight)
{
    char *dir = program_directory();
    const char *const base[] = {"--task",    "copy", "--seq-len", "4",   "--d-model", "8",
                                "--batch",   "4",    "--dropout", "0.1", "--steps",   "6",
                                "--threads", "1",    "--layers",  "1",   NULL};
    train(dir, base, WITH("--eval-every", "2", "--eval-size", "13", "--out", "a"), 0);
    train(dir, base, WITH("--eval-every", "5", "--eval-size", "2", "--out", "b"), 0);
    same_file(dir, "a", "b", "last.safetensors");
    program_directory_remove(dir);
}
END_TEST

/* ---- again ----------------------------------------------------------------------------------- */

/* What a run says, without the lines that name it. */
static char *said(const char *out, const char *name)
{
    char *kept = calloc(strlen(out) + 1, 1);
    for (const char *line = out; *line;) {
        size_t n = strcspn(line, "\n") + (strchr(line, '\n') != NULL);
        char *copy = strndup(line, n);
        if (!strstr(copy, name)) strcat(kept, copy);
        free(copy);
        line += n;
    }
    return kept;
}

START_TEST(two_runs_are_equal_and_say_the_same)
{
    char *dir = program_directory();
    program_run a = train_and_read(dir, MIDDLING, WITH("--out", "run-one"), 0);
    program_run b = train_and_read(dir, MIDDLING, WITH("--out", "run-two"), 0);
    same_runs(dir, "run-one", "run-two");
    char *one = said(a.out, "run-one"), *two = said(b.out, "run-two");
    ck_assert_str_eq(one, two);
    ck_assert_msg(strstr(one, "gW_Q/gW_V") && strstr(one, "verdict"), "%s", one);
    ck_assert_msg(!a.err[0] || !strncmp(a.err, "time ", 5), "%s", a.err);
    free(one);
    free(two);
    program_free(&a);
    program_free(&b);
    train(dir, MIDDLING, WITH("--out", "other", "--seed", "2"), 0);
    ck_assert(!equal_files(dir, "run-one/metrics.csv", "other/metrics.csv"));
    program_directory_remove(dir);
}
END_TEST

START_TEST(config_ini_reruns_the_run)
{
    char *dir = program_directory();
    train(dir, MIDDLING, WITH("--out", "run", "--threads", "2"), 0);
    train(dir, WITH("--config", "run/config.ini", "--out", "again"), NULL, 0);
    same_runs(dir, "run", "again");
    train(dir, WITH("--config", "again/config.ini", "--out", "third"), NULL, 0);
    same_runs(dir, "run", "third");
    program_directory_remove(dir);
}
END_TEST

/* ---- the same update in other portions ------------------------------------------------------- */

/* The fields of both are numbers that are equal to `relative` (or to `floor`), or equal texts. */
static void close_rows(const char *a, const char *b, const char *exact, double relative,
                       double floor)
{
    int columns = columns_of(a), n = 0;
    const char *header = a;
    for (const char *x = a, *y = b; (x = next_line(x)); n++) {
        y = next_line(y);
        ck_assert_ptr_nonnull(y);
        for (int k = 0; k < columns; k++) {
            char name[64], p[64], q[64], *end;
            field_of(header, k, name);
            field_of(x, k, p);
            field_of(y, k, q);
            double u = strtod(p, &end), v = strtod(q, NULL);
            bool equal = strstr(exact, name) || end == p
                             ? !strcmp(p, q)
                             : fabs(u - v) <= relative * fmax(fabs(u), floor);
            ck_assert_msg(equal, "%s: %s, in other portions %s (row %d)", name, p, q, n);
        }
    }
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(n, rows_of(b));
}

START_TEST(micro_batches_are_one_batch)
{
    static const char *const base[] = {
        "--task",  "copy", "--seq-len",     "5", "--vocab",      "6", "--d-model",   "8",
        "--heads", "2",    "--steps",       "4", "--eval-size",  "8", "--log-every", "1",
        "--lr",    "0.01", "--probe-every", "1", "--eval-every", "2", NULL};
    static const char *const exact = "step split lr tokens tokens_seen accuracy layer head tensor";
    char *dir = program_directory(), *file[2][3];
    static const char *const names[] = {"metrics.csv", "attention.csv", "gradients.csv"};
    train(dir, base, WITH("--batch", "8", "--out", "one"), 0);
    train(dir, base, WITH("--batch", "4", "--accum", "2", "--out", "two"), 0);
    for (int i = 0; i < 3; i++) {
        file[0][i] = program_file(dir, below("one", names[i]).text, NULL);
        file[1][i] = program_file(dir, below("two", names[i]).text, NULL);
        close_rows(file[0][i], file[1][i], exact, 2e-4, 1e-3);
        free(file[0][i]);
        free(file[1][i]);
    }
    program_directory_remove(dir);
}
END_TEST

/* A text with one window alone, so that all micro-batches are equal: only what dropout takes away
 * tells them apart, and it must. */
START_TEST(each_micro_batch_drops_other_things)
{
    enum { LOSS = 2 };
    static const char *const base[] = {
        "--task",    "text", "--data",         "text", "--seq-len", "9",
        "--d-model", "8",    "--val-fraction", "0.5",  "--batch",   "1",
        "--threads", "1",    "--steps",        "1",    NULL};
    char *dir = program_directory(), *text[3];
    static const char *const accum[] = {"1", "2", "3"};
    double loss[3];
    program_write(dir, "text", "abcdefghijabcdefghij");
    for (int i = 0; i < 3; i++) {
        train(dir, base, WITH("--dropout", "0.5", "--accum", accum[i], "--out", accum[i]), 0);
        text[i] = program_file(dir, below(accum[i], "metrics.csv").text, NULL);
        loss[i] = number_at(next_line(text[i]), LOSS);
        free(text[i]);
    }
    ck_assert(loss[0] != loss[1] && loss[1] != loss[2] && loss[0] != loss[2]);
    train(dir, base, WITH("--accum", "3", "--out", "whole"), 0);
    train(dir, base, WITH("--out", "once"), 0);
    char *a = program_file(dir, "whole/metrics.csv", NULL),
         *b = program_file(dir, "once/metrics.csv", NULL);
    ck_assert_double_eq_tol(number_at(next_line(a), LOSS), number_at(next_line(b), LOSS), 1e-6);
    free(a);
    free(b);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("determinism", {
    ADD(threads);
    ADD(small_stacks);
    ADD_LOOP(threads_of_other_models, 6);
    ADD_LOOP(looking_changes_nothing, 4);
    ADD(the_size_of_an_evaluation_changes_no_weight);
    ADD(two_runs_are_equal_and_say_the_same);
    ADD(config_ini_reruns_the_run);
    ADD(micro_batches_are_one_batch);
    ADD(each_micro_batch_drops_other_things);
})
