/* SPDX-License-Identifier: MIT
 * The command line from outside: what is refused, how it is said, and that nothing is left behind.
 * A new rule is a row of `refusals`. */
#include "run_program.h"
#include "isa.h"

#include <rootdk/base.h>

enum { MOST_WORDS = 9 };

/* Exit status, what the one line on stderr must hold, the arguments. */
static const struct refusal {
    int status;
    const char *holds[3];
    const char *arguments[MOST_WORDS];
} refusals[] = {
    {2, {"--scale", "'sqr'", "did you mean sqrt?"}, {"--scale", "sqr"}},
    {2, {"--lr", "'1e-3x'", "from 0 to 1e30"}, {"--lr", "1e-3x"}},
    {2, {"--lr", "'nan'", "from 0 to 1e30"}, {"--lr", "nan"}},
    {2, {"--lr", "'inf'"}, {"--lr=inf"}},
    {2, {"--lr", "''", "from 0 to 1e30"}, {"--lr", ""}},
    {2, {"--lr", "''"}, {"--lr="}},
    {2, {"--lr", "'0x1p-3'"}, {"--lr", "0x1p-3"}},
    {2, {"--lr", "'-1'", "from 0"}, {"--lr", "-1"}},
    {2, {"--lr", "'1?2'"}, {"--lr", "1\n2"}},
    {2, {"--heads", "'0'", "from 1 to 1024"}, {"--heads", "0"}},
    {2, {"--heads", "'-1'", "from 1 to 1024"}, {"--heads", "-1"}},
    {2, {"--steps", "'1e-3'", "whole number"}, {"--steps", "1e-3"}},
    {2, {"--steps", "'1.2345e3'", "whole number"}, {"--steps", "1.2345e3"}},
    {2, {"--seed", "'1e19'", "whole number"}, {"--seed", "1e19"}},
    {2, {"--steps", "'99999999999999999999'"}, {"--steps", "99999999999999999999"}},
    {2, {"--learning-rte", "did you mean --lr?"}, {"--learning-rte", "1"}},
    {2, {"--learning", "did you mean --lr?"}, {"--learning", "1"}},
    {2, {"'--step=3'", "did you mean --steps?"}, {"--step=3"}},
    {2, {"--d_model", "did you mean --d-model?"}, {"--d_model", "64"}},
    {2, {"'--zzzzzzzzzzz'", "--help"}, {"--zzzzzzzzzzz"}},
    {2, {"--no-bais", "did you mean --no-bias?"}, {"--no-bais"}},
    {2, {"'--no-lr'"}, {"--no-lr"}},
    {2, {"'-h'", "did you mean --help?"}, {"-h"}},
    {2, {"'-lr'", "did you mean --lr?"}, {"-lr", "1"}},
    {2, {"--lr needs a value", "from 0 to 1e30"}, {"--lr"}},
    {2, {"--lr needs a value", "before '--steps'"}, {"--lr", "--steps", "3"}},
    {2, {"--config needs a value"}, {"--config"}},
    {2, {"--out", "empty"}, {"--out", ""}},
    {2, {"--d-model 65", "--heads 4"}, {"--d-model", "65", "--heads", "4"}},
    {2, {"even --d-k"}, {"--positions", "rope", "--d-k", "5"}},
    {2, {"--bias", "'maybe'", "on or off"}, {"--bias=maybe"}},
    {2, {"'off'", "--bias=off"}, {"--bias", "off"}},
    {2, {"--no-bias takes no value"}, {"--no-bias=on"}},
    {2, {"--describe takes no value"}, {"--describe=1"}},
    {2, {"--version takes no value"}, {"--version=1"}},
    {2, {"--version takes no other words ('--threads')"}, {"--version", "--threads", "1"}},
    {2, {"--man takes no other words ('--lr')"}, {"--lr", "1", "--man"}},
    {2, {"--completion takes no other words"}, {"theory", "--completion", "--help"}},
    {2, {"--lr is given twice", "'1'", "'2'"}, {"--lr", "1", "--lr=2"}},
    {2, {"--bias is given twice"}, {"--bias", "--no-bias"}},
    {2, {"--config is given twice"}, {"--config", "a", "--config", "b"}},
    {2, {"--describe and --show-batch"}, {"--describe", "--show-batch"}},
    {2, {"--resume", "--force"}, {"--resume", "a", "--force"}},
    {2, {"--resume", "--out b"}, {"--resume", "a", "--out", "b"}},
    {2, {"--task", "'sortt'", "did you mean sort?"}, {"--task", "sortt"}},
    {2, {"--data"}, {"--task", "text"}},
    {1, {"/nonexistent"}, {"--task", "text", "--data", "/nonexistent"}},
    {1, {"is a directory", "/"}, {"--task", "text", "--data", "/"}},
    {1, {"/dev/zero", "a device"}, {"--task", "text", "--data", "/dev/zero"}},
    {1, {"/dev/zero", "does not end"}, {"--config", "/dev/zero"}},
    {1, {"/nonexistent"}, {"--resume", "/nonexistent"}},
    {1, {"missing.ini"}, {"--config", "missing.ini"}},
    {2, {"bad.ini:3:", "'lrr'", "did you mean lr?"}, {"--config", "../bad.ini"}},
    {2, {"bad.ini:3:"}, {"--lr", "1", "--config=../bad.ini"}},
    {2, {"unexpected word 'stray'"}, {"--lr", "1", "stray"}},
    {2, {"unexpected word 'stray'"}, {"train", "stray"}},
    {2, {"unexpected word '--'"}, {"--", "--lr", "1"}},
    {2, {"unknown verb 'trian'", "did you mean train?"}, {"trian", "--lr", "1"}},
    {2, {"unknown verb 'dance'", "--help"}, {"dance"}},
    {2, {"unknown verb ''"}, {""}},
    {2, {"'lrx'"}, {"help", "lrx"}},
    {2, {"one option"}, {"help", "lr", "lr"}},
    {2, {"version"}, {"version", "lr"}},
    {2, {"GB"}, {"--task", "random", "--batch", "65536", "--seq-len", "65536", "--layers", "1000"}},
    {2, {"--accum 1048576", "GB at least"}, {"--accum", "1048576"}},
    {2, {"--keys", "'1'", "from 2 to 65536"}, {"theory", "--keys", "1"}},
    {2, {"--d-k", "'4096..1'", "powers of two"}, {"theory", "--d-k", "4096..1"}},
    {2, {"--d-k", "'64,64'", "from 1 to 65536"}, {"theory", "--d-k=64,64"}},
    {2, {"--d-k needs a value", "before '--keys'"}, {"theory", "--d-k", "--keys", "8"}},
    {2, {"--samples", "'10'", "from 1000"}, {"theory", "--samples", "10"}},
    {2, {"--format", "'json'", "text, csv"}, {"theory", "--format", "json"}},
    {2, {"--csv", "empty"}, {"theory", "--csv="}},
    {2, {"'--sedd'", "did you mean --seed?"}, {"theory", "--sedd", "1"}},
    {2, {"--lr is an option of train and ablate; theory needs no run"}, {"theory", "--lr", "1"}},
    {2, {"--seed is an option of train"}, {"show", "--seed", "1"}},
    {2, {"'--describe'"}, {"theory", "--describe"}},
    {2, {"--seed is given twice"}, {"theory", "--seed", "1", "--seed", "2"}},
    {2, {"unexpected word '64'"}, {"theory", "64"}},
    {2, {"'samlpes'", "did you mean samples?"}, {"theory", "--help=samlpes"}},
    {2, {"unknown verb 'theroy'", "did you mean theory?"}, {"theroy"}},
    {2, {"--stop-at 30", "--steps 20"}, {"--steps", "20", "--stop-at", "30"}},
    {2, {"--warmup 30", "--steps 20"}, {"--steps", "20", "--warmup", "30"}},
    {2, {"--min-lr 2", "--lr 1"}, {"--lr", "1", "--min-lr", "2", "--schedule", "cosine"}},
    {2, {"--min-lr does nothing", "--schedule linear or cosine"}, {"--min-lr", "1e-4"}},
    {2, {"--momentum does nothing", "--optimizer sgd"}, {"--momentum", "0.5"}},
    {2, {"--beta1 does", "--optimizer adamw"}, {"--optimizer", "sgd", "--beta1", "0.8"}},
    {2, {"--beta2 does", "--optimizer adamw"}, {"--beta2", "0.8", "--optimizer", "sgd"}},
    {2, {"--eps does", "--optimizer adamw"}, {"--optimizer", "sgd", "--eps", "1e-6"}},
    {2, {"--qk-gain-learned does", "--qk-norm l2"}, {"--no-qk-gain-learned"}},
    {2,
     {"--qk-gain does", "--qk-norm l2"},
     {"--qk-gain", "2", "--scale", "qknorm", "--qk-norm", "off"}},
    {2, {"--val-fraction does", "--task text"}, {"--val-fraction", "0.2"}},
    {2, {"--tokenizer does", "--task text"}, {"--tokenizer", "byte", "--task", "sort"}},
    {2, {"--data does", "--task text"}, {"--data", "/etc/hosts"}},
    {2, {"--d-ff does", "--mlp other than none"}, {"--mlp", "none", "--d-ff", "64"}},
    {2, {"--force does", "--out DIR"}, {"--force"}},
};

enum { REFUSALS = sizeof refusals / sizeof *refusals };

static bool one_line(const char *text)
{
    const char *end = strchr(text, '\n');
    return end && end > text && !end[1];
}

START_TEST(refused_in_one_line_without_a_trace)
{
    const struct refusal *want = &refusals[_i];
    char *above = program_directory(), dir[PROGRAM_PATH];
    snprintf(dir, sizeof dir, "%s/empty", above);
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    program_write(above, "bad.ini", "# a comment\nlr = 1\nlrr = 2\n");
    program_run r = program_call(dir, want->arguments);
    const char *first = want->arguments[0];
    ck_assert_msg(r.status == want->status, "%s..: exit %d, signal %d: %s", first, r.status,
                  r.signal, r.err);
    ck_assert_msg(one_line(r.err), "%s..: %s", first, r.err);
    ck_assert_msg(!strncmp(r.err, "rootdk: ", 8), "%s", r.err);
    for (int k = 0; k < 3 && want->holds[k]; k++) {
        ck_assert_msg(strstr(r.err, want->holds[k]) != NULL, "no %s in: %s", want->holds[k], r.err);
    }
    ck_assert_msg(!r.out[0], "on stdout: %s", r.out);
    ck_assert_int_eq(program_directory_entries(dir), 0);
    program_free(&r);
    program_directory_remove(above);
}
END_TEST

/* Another name would be taken for none, and the run for one of that instruction set. */
START_TEST(an_instruction_set_that_is_none)
{
    static const char *const names[] = {"nonsense", "AVX2", " base"};
    const char *plain = plainest_isa();
    char *dir = program_directory();
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        setenv("RDK_ISA", names[k], 1);
        program_run r = program_call(dir, (const char *[]){"--steps", "1", NULL});
        ck_assert_int_eq(r.status, 2);
        ck_assert_msg(one_line(r.err) && strstr(r.err, names[k]) && strstr(r.err, plain), "%s",
                      r.err);
        ck_assert_int_eq(program_directory_entries(dir), 0);
        program_free(&r);
    }
    setenv("RDK_ISA", plain, 1);
    program_run r = printed((const char *[]){"--version", NULL});
    const char *named = strstr(r.out, "instruction set  ");
    ck_assert_msg(named && !strncmp(named + 17, plain, strlen(plain)), "%s", r.out);
    program_free(&r);
    setenv("RDK_ISA", "", 1);
    r = printed((const char *[]){"--man", NULL});
    ck_assert_msg(strstr(r.out, "RDK_ISA") != NULL, "%s", r.out);
    program_free(&r);
    unsetenv("RDK_ISA");
    program_directory_remove(dir);
}
END_TEST

/* OpenMP passes over such a value, once with a line of its own, and the run would take all cores.
 */
START_TEST(a_number_of_threads_that_is_none)
{
    static const char *const values[] = {
        "abc", "0", "-1", "4,", "2,x", " ", "99999999999999999999"};
    char *dir = program_directory(), holds[PROGRAM_PATH];
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        setenv("OMP_NUM_THREADS", values[k], 1);
        program_run r = program_call(dir, (const char *[]){k % 2 ? "theory" : "--describe", NULL});
        snprintf(holds, sizeof holds,
                 "rootdk: OMP_NUM_THREADS in the environment: '%s' is not a whole number from 1 "
                 "on ",
                 values[k]);
        const char *said = strstr(r.err, holds), *theirs = strstr(r.err, "libgomp");
        ck_assert_msg(said && one_line(said), "%s", r.err);
        ck_assert_msg(!theirs || !strstr(theirs + 1, "libgomp"), "%s", r.err);
        ck_assert_msg(r.status == 2 && !r.out[0], "exit %d: %s", r.status, r.out);
        program_free(&r);
        r = program_call(dir, (const char *[]){"--show-batch", "--threads", "1", NULL});
        theirs = strstr(r.err, "libgomp");
        ck_assert_msg(r.status == 0 && (!theirs || !strstr(theirs + 1, "libgomp")), "%s", r.err);
        program_free(&r);
        r = program_call(dir, (const char *[]){"--version", NULL});
        ck_assert_msg(r.status == 0 && strstr(r.out, holds + strlen("rootdk: ")), "%s", r.out);
        program_free(&r);
    }
    ck_assert_int_eq(program_directory_entries(dir), 0);
    program_directory_remove(dir);
}
END_TEST

START_TEST(numbers_of_threads)
{
    static const char *const values[] = {"1", " 1 ", "1,4", ""};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        setenv("OMP_NUM_THREADS", values[k], 1);
        char *dir = program_directory();
        program_run r = program_call(dir, (const char *[]){"--version", NULL});
        bool named = strstr(r.out, "threads          1 (") != NULL;
        ck_assert_msg(r.status == 0 && (named || !values[k][0]), "'%s': %s", values[k], r.out);
        program_free(&r);
        program_directory_remove(dir);
    }
}
END_TEST

START_TEST(lost_output_is_a_failure)
{
    int full = open("/dev/full", O_WRONLY);
    if (full < 0) return; /* only Linux has it */
    char *dir = program_directory();
    program_run r = program_start_to(dir, (const char *[]){"--help", NULL}, full);
    close(full);
    program_finish(&r);
    ck_assert_int_eq(r.status, 1);
    ck_assert_msg(strstr(r.err, "cannot write") && one_line(r.err), "%s", r.err);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

/* ---- short runs ------------------------------------------------------------------------------ */

static const char *const tiny[] = {"--task",      "copy", "--seq-len", "4", "--d-model",   "8",
                                   "--batch",     "4",    "--steps",   "2", "--out",       "run",
                                   "--threads",   "1",    "--layers",  "1", "--eval-size", "8",
                                   "--log-every", "1",    NULL};

START_TEST(config_file_reruns_a_run_and_options_override_it)
{
    char *dir = program_directory();
    program_run r = program_call(dir, tiny);
    ck_assert_msg(r.status == 0, "exit %d: %s", r.status, r.err);
    program_free(&r);
    r = program_call(dir, (const char *[]){"--config", "run/config.ini", "--out", "again", NULL});
    ck_assert_msg(r.status == 0, "exit %d: %s", r.status, r.err);
    program_free(&r);
    r = program_call(
        dir, (const char *[]){"--seed", "2", "--out", "other", "--config", "run/config.ini", NULL});
    ck_assert_msg(r.status == 0, "exit %d: %s", r.status, r.err);
    program_free(&r);
    char *first = program_file(dir, "run/config.ini", NULL);
    char *again = program_file(dir, "again/config.ini", NULL);
    char *other = program_file(dir, "other/config.ini", NULL);
    ck_assert_str_eq(first, again);
    ck_assert_ptr_nonnull(strstr(first, "\nd-model = 8\n"));
    ck_assert_ptr_nonnull(strstr(first, "\nseed = 1\n"));
    ck_assert_ptr_nonnull(strstr(other, "\nseed = 2\n"));
    free(first);
    free(again);
    free(other);
    first = program_file(dir, "run/metrics.csv", NULL);
    again = program_file(dir, "again/metrics.csv", NULL);
    other = program_file(dir, "other/metrics.csv", NULL);
    ck_assert_str_eq(first, again);
    ck_assert_str_ne(first, other);
    free(first);
    free(again);
    free(other);
    program_directory_remove(dir);
}
END_TEST

/* A run that does not end by itself, until it has written a few lines. */
static program_run started(const char *dir, const char *const *more, int stdout_fd)
{
    static const char *const endless[] = {
        "--task",   "copy",      "--d-model",   "8",   "--batch",      "2",
        "--steps",  "100000000", "--out",       "run", "--threads",    "1",
        "--layers", "1",         "--log-every", "1",   "--eval-every", "0"};
    const char *arguments[PROGRAM_ARGS] = {NULL};
    size_t n = sizeof endless / sizeof *endless;
    memcpy(arguments, endless, sizeof endless);
    for (; more && *more; more++) arguments[n++] = *more;
    return program_start_to(dir, arguments, stdout_fd);
}

static void wait_for(const char *dir, const char *name)
{
    char path[PROGRAM_PATH];
    struct stat info;
    struct timespec tick = {.tv_nsec = 10000000};
    snprintf(path, sizeof path, "%s/%s", dir, name);
    for (int i = 0; i < 3000; i++) {
        if (stat(path, &info) == 0 && info.st_size > 500) return;
        nanosleep(&tick, NULL);
    }
    ck_abort_msg("%s did not grow", path);
}

static void is_saved(const char *dir)
{
    char *weights = program_file(dir, "run/last.safetensors", NULL);
    char *json = program_file(dir, "run/run.json", NULL);
    ck_assert_msg(strstr(json, "interrupted") != NULL, "%s", json);
    free(weights);
    free(json);
}

START_TEST(a_signal_saves_and_ends_by_that_signal)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    char *dir = program_directory();
    program_run r = started(dir, NULL, -1);
    wait_for(dir, "run/metrics.csv");
    kill(r.pid, signals[_i]);
    program_finish(&r);
    ck_assert_msg(r.signal == signals[_i], "signal %d, exit %d: %s", r.signal, r.status, r.err);
    ck_assert_msg(strstr(r.err, "--resume run") || strstr(r.out, "--resume run"), "%s", r.err);
    is_saved(dir);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

START_TEST(a_reader_that_goes_away_saves_quietly)
{
    int ends[2];
    char *dir = program_directory();
    ck_assert_int_eq(pipe(ends), 0);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    program_run r = started(dir, NULL, ends[1]);
    close(ends[1]);
    wait_for(dir, "run/metrics.csv");
    close(ends[0]);
    program_finish(&r);
    ck_assert_msg(r.signal == SIGPIPE, "signal %d, exit %d: %s", r.signal, r.status, r.err);
    is_saved(dir);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

START_TEST(divergence_has_an_exit_status_of_its_own)
{
    char *dir = program_directory();
    program_run r = started(dir, (const char *[]){"--lr", "1e30", "--clip", "0", NULL}, -1);
    program_finish(&r);
    ck_assert_msg(r.status == 3, "exit %d: %s", r.status, r.err);
    ck_assert_msg(strstr(r.err, "rootdk: step ") && strstr(r.err, "finite"), "%s", r.err);
    program_free(&r);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("usage", {
    ADD_LOOP(refused_in_one_line_without_a_trace, REFUSALS);
    ADD(an_instruction_set_that_is_none);
    ADD(a_number_of_threads_that_is_none);
    ADD(numbers_of_threads);
    ADD(lost_output_is_a_failure);
    ADD(config_file_reruns_a_run_and_options_override_it);
    ADD_LOOP(a_signal_saves_and_ends_by_that_signal, 3);
    ADD(a_reader_that_goes_away_saves_quietly);
    ADD(divergence_has_an_exit_status_of_its_own);
})
