/* SPDX-License-Identifier: MIT
 * --precision bf16, as runs: what is learned is learned as with float, the bits depend on neither
 * threads nor cuts, and every file says what the products were of. */
#include "isa.h"
#include "run_files.h"

static const char *const SMALL[] = {"--seq-len",   "2",
                                    "--vocab",     "8",
                                    "--d-k",       "32",
                                    "--steps",     "9",
                                    "--batch",     "33",
                                    "--accum",     "2",
                                    "--eval-size", "9",
                                    "--log-every", "1",
                                    "--dropout",   "0.1",
                                    "--bias",      "--mlp",
                                    "swiglu",      "--probe-every",
                                    "2",           "--eval-every",
                                    "3",           "--positions",
                                    "rope",        "--precision",
                                    "bf16",        NULL};

/* The words of the verdict, up to the first figure. */
static void verdict_of(const char *dir, const char *precision, char *words, size_t size)
{
    static const char *const task[] = {
        "--seq-len",    "2",  "--vocab",     "8",   "--steps",     "300", "--batch",       "32",
        "--d-k",        "32", "--eval-size", "256", "--log-every", "0",   "--probe-every", "0",
        "--eval-every", "0",  NULL};
    program_run r =
        train_and_read(dir, task, WITH("--precision", precision, "--out", precision), 0);
    const char *verdict = strstr(r.out, "verdict ");
    ck_assert_msg(verdict != NULL, "%s", r.out);
    snprintf(words, size, "%.*s", (int)strcspn(verdict, "0123456789"), verdict);
    program_free(&r);
}

START_TEST(it_learns_what_float_learns)
{
    char *dir = program_directory(), with_float[80], with_bf16[80];
    verdict_of(dir, "float", with_float, sizeof with_float);
    verdict_of(dir, "bf16", with_bf16, sizeof with_bf16);
    ck_assert_str_eq(with_float, with_bf16);
    ck_assert_msg(strstr(with_bf16, "solved") != NULL, "%s", with_bf16);
    /* and by other steps */
    char *a = program_file(dir, "float/metrics.csv", NULL);
    char *b = program_file(dir, "bf16/metrics.csv", NULL);
    ck_assert_str_ne(a, b);
    free(a), free(b);
    program_directory_remove(dir);
}
END_TEST

START_TEST(threads_and_cuts_change_nothing)
{
    char *dir = program_directory();
    train(dir, SMALL, WITH("--threads", "1", "--out", "one"), 0);
    train(dir, SMALL, WITH("--threads", "2", "--out", "two"), 0);
    same_runs(dir, "one", "two");
    train(dir, SMALL, WITH("--stop-at", "4", "--out", "cut"), 0);
    train(dir, WITH("--resume", "cut", "--precision", "bf16"), NULL, 0);
    same_runs(dir, "one", "cut");
    well_formed_logs(dir, "cut");
    train(dir, WITH("--config", "one/config.ini", "--out", "again"), NULL, 0);
    same_runs(dir, "one", "again");
    program_directory_remove(dir);
}
END_TEST

START_TEST(looking_changes_no_weight)
{
    char *dir = program_directory();
    for (int looks = 0; looks < 2; looks++)
        train(dir, TINY,
              WITH("--precision", "bf16", "--steps", "9", "--probe-every", looks ? "1" : "0",
                   "--log-every", looks ? "1" : "0", "--out", looks ? "looked" : "not"),
              0);
    same_file(dir, "looked", "not", "last.safetensors");
    program_directory_remove(dir);
}
END_TEST

START_TEST(the_files_say_so)
{
    char *dir = program_directory();
    train(dir, TINY, WITH("--steps", "2", "--out", "float"), 0);
    program_run r =
        train_and_read(dir, TINY, WITH("--steps", "2", "--precision", "bf16", "--out", "run"), 0);
    ck_assert_msg(strstr(r.out, "products of bfloat16") != NULL, "%s", r.out);
    program_free(&r);
    ck_assert(run_json_has(dir, "run", "\"precision\": \"bf16\","));
    ck_assert(run_json_has(dir, "run", "\"numbers\": \"float32\","));
    ck_assert(run_json_has(dir, "float", "\"precision\": \"float\","));
    char *config = program_file(dir, "run/config.ini", NULL);
    ck_assert_ptr_nonnull(strstr(config, "\nprecision = bf16\n"));
    free(config);
    r = train_and_read(dir, TINY, WITH("--precision", "bf16", "--describe"), 0);
    ck_assert_msg(strstr(r.out, "can do with floats") != NULL, "%s", r.out);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

START_TEST(what_is_refused)
{
    char *dir = program_directory();
    refused(dir, TINY, WITH("--precision", "half"), 2,
            (const char *[]){"--precision", "'half'", "float, bf16", NULL});
    train(dir, TINY, WITH("--steps", "4", "--stop-at", "2", "--out", "run"), 0);
    refused(dir, WITH("--resume", "run", "--precision", "bf16"), NULL, 2,
            (const char *[]){"precision = float", "bf16", NULL});
    program_directory_remove(dir);
}
END_TEST

static bool has_isa(const char *name)
{
    for (int i = 0; rdk_kernels_at(i); i++)
        if (!strcmp(rdk_kernels_at(i)->isa, name)) return true;
    return false;
}

static void goes_on_with_the_other_table(const char *dir, const char *precision, bool noted)
{
    setenv("RDK_ISA", "avx512", 1);
    train(dir, TINY, WITH("--steps", "6", "--precision", precision, "--out", "whole", "--force"),
          0);
    train(
        dir, TINY,
        WITH("--steps", "6", "--precision", precision, "--stop-at", "2", "--out", "run", "--force"),
        0);
    setenv("RDK_ISA", "avx512bf16", 1);
    program_run r = train_and_read(dir, WITH("--resume", "run"), NULL, 0);
    ck_assert_msg(noted == (strstr(r.out, "instruction sets") != NULL), "%s", r.out);
    program_free(&r);
    ck_assert(run_json_has(dir, "run",
                           noted ? "\"isa\": \"avx512, avx512bf16 from step 2\","
                                 : "\"isa\": \"avx512\","));
    unsetenv("RDK_ISA");
}

/* The table with bfloat16's instructions is avx512's in everything else: with float, a run may
 * begin with one and end with the other, and nothing is to be noted. */
START_TEST(float_runs_go_on_with_the_other_table)
{
    if (!has_isa("avx512bf16")) return;
    char *dir = program_directory();
    goes_on_with_the_other_table(dir, "float", false);
    same_runs(dir, "whole", "run");
    goes_on_with_the_other_table(dir, "bf16", true);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("precision", {
    ADD(it_learns_what_float_learns);
    ADD(threads_and_cuts_change_nothing);
    ADD(looking_changes_no_weight);
    ADD(the_files_say_so);
    ADD(what_is_refused);
    ADD(float_runs_go_on_with_the_other_table);
})
