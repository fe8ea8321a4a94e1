/* SPDX-License-Identifier: MIT
 * Whole runs and what they leave: for tests that train, cut, continue and compare. All paths are
 * relative to the test's own directory, which program_directory made.
 *
 *     train(dir, TINY, WITH("--steps", "20", "--out", "whole"), 0);
 *     same_runs(dir, "whole", "cut");
 */
#ifndef RDK_TEST_RUN_FILES_H
#define RDK_TEST_RUN_FILES_H

#include "run_program.h"

#include <errno.h>

#include <rootdk/base.h>

#define WITH(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A model of 1,712 parameters on a task of 7 tokens: a step takes well below a millisecond. */
static const char *const TINY[] = {
    "--task",   "copy", "--seq-len", "4", "--vocab",     "5", "--d-model", "8", "--heads", "2",
    "--layers", "2",    "--batch",   "4", "--eval-size", "8", "--threads", "1", NULL};

/* What two equal runs have in common, byte for byte. */
static const char *const EQUAL_FILES[] = {"config.ini",       "metrics.csv",     "attention.csv",
                                          "gradients.csv",    "maps.csv",        "example.csv",
                                          "last.safetensors", "best.safetensors"};
static const char *const ALL_FILES[] = {"attention.csv",    "best-before-end.safetensors",
                                        "best.safetensors", "config.ini",
                                        "example.csv",      "gradients.csv",
                                        "last.safetensors", "maps.csv",
                                        "metrics.csv",      "run.json",
                                        "timing.csv"};
enum {
    N_EQUAL_FILES = sizeof EQUAL_FILES / sizeof *EQUAL_FILES,
    N_ALL_FILES = sizeof ALL_FILES / sizeof *ALL_FILES,
    N_FILES_BEFORE_END = N_ALL_FILES - 1, /* what a run has that has not come to its end */
    HALF_A_MINUTE = 30000,                /* milliseconds */
};

/* ---- running --------------------------------------------------------------------------------- */

/* The options of base, then more; NULL ends each, and more may be NULL. */
static inline program_run start(const char *dir, const char *const *base, const char *const *more)
{
    const char *arguments[PROGRAM_ARGS] = {NULL};
    size_t n = 0;
    while (*base) arguments[n++] = *base++;
    while (more && *more) arguments[n++] = *more++;
    ck_assert_uint_lt(n, PROGRAM_ARGS);
    return program_start(dir, arguments);
}

/* To its end, which must be of this exit status. */
static inline program_run train_and_read(const char *dir, const char *const *base,
                                         const char *const *more, int status)
{
    program_run r = start(dir, base, more);
    program_finish(&r);
    ck_assert_msg(r.status == status && !r.signal, "exit %d, signal %d, expected exit %d: %s",
                  r.status, r.signal, status, r.err);
    return r;
}

static inline void train(const char *dir, const char *const *base, const char *const *more,
                         int status)
{
    program_run r = train_and_read(dir, base, more, status);
    program_free(&r);
}

/* It is refused or fails: with this exit status, and one line on stderr that holds all of these. */
static inline void refused(const char *dir, const char *const *base, const char *const *more,
                           int status, const char *const *holds)
{
    program_run r = train_and_read(dir, base, more, status);
    const char *end = strchr(r.err, '\n');
    ck_assert_msg(end && !end[1] && !strncmp(r.err, "rootdk: ", 8), "not one line: %s", r.err);
    for (; *holds; holds++) ck_assert_msg(strstr(r.err, *holds), "no %s in: %s", *holds, r.err);
    program_free(&r);
}

static inline void pause_a_millisecond(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Waits until the file has more than `size` bytes. */
static inline void await(const char *dir, const char *name, off_t size)
{
    char path[PROGRAM_PATH];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    for (int i = 0; i < HALF_A_MINUTE; i++) {
        if (stat(path, &info) == 0 && info.st_size > size) return;
        pause_a_millisecond();
    }
    ck_abort_msg("%s did not grow beyond %ld bytes", path, (long)size);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Two parts of a path as one. The value lives as long as the expression that it stands in. */
typedef struct file_path {
    char text[PROGRAM_PATH / 2];
} file_path;

static inline file_path below(const char *directory, const char *name)
{
    file_path p;
    int n = snprintf(p.text, sizeof p.text, "%s/%s", directory, name);
    ck_assert(n > 0 && n < (int)sizeof p.text);
    return p;
}

static inline bool run_has(const char *dir, const char *run, const char *name)
{
    return access(below(dir, below(run, name).text).text, F_OK) == 0;
}

static inline void write_bytes(const char *dir, const char *name, const char *bytes, size_t size)
{
    FILE *f = fopen(below(dir, name).text, "wb");
    ck_assert_msg(f && fwrite(bytes, 1, size, f) == size && fclose(f) == 0, "cannot write %s",
                  name);
}

/* A copy of all files of a run, under another name. */
static inline void copy_run(const char *dir, const char *from, const char *to)
{
    ck_assert(mkdir(below(dir, to).text, 0700) == 0 || errno == EEXIST);
    for (int i = 0; i < N_ALL_FILES; i++) {
        size_t size;
        if (!run_has(dir, from, ALL_FILES[i])) continue;
        char *bytes = program_file(dir, below(from, ALL_FILES[i]).text, &size);
        write_bytes(dir, below(to, ALL_FILES[i]).text, bytes, size);
        free(bytes);
    }
}

static inline bool equal_files(const char *dir, const char *one, const char *other)
{
    size_t n, m;
    char *a = program_file(dir, one, &n), *b = program_file(dir, other, &m);
    bool equal = n == m && memcmp(a, b, n) == 0;
    free(a);
    free(b);
    return equal;
}

static inline void same_file(const char *dir, const char *a, const char *b, const char *name)
{
    ck_assert_msg(equal_files(dir, below(a, name).text, below(b, name).text),
                  "%s of %s and %s differ", name, a, b);
}

static inline void same_runs(const char *dir, const char *a, const char *b)
{
    static const char before_end[] = "best-before-end.safetensors";
    for (int i = 0; i < N_EQUAL_FILES; i++) same_file(dir, a, b, EQUAL_FILES[i]);
    ck_assert_int_eq(run_has(dir, a, before_end), run_has(dir, b, before_end));
    if (run_has(dir, a, before_end)) same_file(dir, a, b, before_end);
}

/* Nothing of the run differs from the copy that was taken of it. */
static inline void unchanged(const char *dir, const char *run, const char *copy)
{
    for (int i = 0; i < N_ALL_FILES; i++) {
        bool there = run_has(dir, run, ALL_FILES[i]);
        ck_assert_int_eq(there, run_has(dir, copy, ALL_FILES[i]));
        if (there) same_file(dir, run, copy, ALL_FILES[i]);
    }
    ck_assert_int_eq(program_directory_entries(below(dir, run).text),
                     program_directory_entries(below(dir, copy).text));
}

static inline bool run_json_has(const char *dir, const char *run, const char *text)
{
    char *json = program_file(dir, below(run, "run.json").text, NULL);
    bool has = strstr(json, text) != NULL;
    free(json);
    return has;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Field number `column` of a line, in buf. */
static inline char *field_of(const char *line, int column, char buf[64])
{
    for (; column > 0; column--) line += strcspn(line, ",\n") + (line[strcspn(line, ",\n")] == ',');
    snprintf(buf, 64, "%.*s", (int)strcspn(line, ",\n"), line);
    return buf;
}

static inline double number_at(const char *line, int column)
{
    char buf[64], *end;
    double x = strtod(field_of(line, column, buf), &end);
    ck_assert_msg(end > buf && !*end, "no number: '%s'", buf);
    return x;
}

static inline int columns_of(const char *line)
{
    int n = 1;
    for (; *line && *line != '\n'; line++) n += *line == ',';
    return n;
}

/* The line behind this one, or NULL. */
static inline const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end && end[1] ? end + 1 : NULL;
}

static inline int rows_of(const char *text)
{
    int n = 0;
    while ((text = next_line(text))) n++;
    return n;
}

/* The step of the last row of metrics.csv that is whole; 0 where there is none. */
static inline uint64_t last_step(const char *dir, const char *run)
{
    char *text = program_file(dir, below(run, "metrics.csv").text, NULL);
    uint64_t step = 0;
    for (const char *line = text; (line = next_line(line));)
        if (strchr(line, '\n')) step = (uint64_t)number_at(line, 0);
    free(text);
    return step;
}

/* One header; every row of as many columns; every line ended; no (step, what follows it in `keys`
 * columns) twice, and steps never go back. */
static inline void well_formed(const char *dir, const char *run, const char *name, int keys)
{
    char *text = program_file(dir, below(run, name).text, NULL), before[5 * 64] = "";
    int columns = columns_of(text);
    double step = -1;
    ck_assert_msg(text[0] && text[strlen(text) - 1] == '\n', "%s: its last line has no end", name);
    for (const char *line = text; (line = next_line(line));) {
        char key[5 * 64] = "", buf[64];
        ck_assert_msg(columns_of(line) == columns, "%s: not %d columns in %.80s", name, columns,
                      line);
        ck_assert_msg(number_at(line, 0) >= step, "%s goes back at %.80s", name, line);
        step = number_at(line, 0);
        for (int k = 0; k < keys; k++) strcat(strcat(key, field_of(line, k, buf)), ",");
        ck_assert_msg(strcmp(key, before) != 0, "%s: twice %s", name, key);
        strcpy(before, key);
    }
    free(text);
}

/* All of them but maps.csv, which is there only where something is probed. */
static inline void well_formed_logs(const char *dir, const char *run)
{
    well_formed(dir, run, "metrics.csv", 2);
    well_formed(dir, run, "attention.csv", 3);
    well_formed(dir, run, "gradients.csv", 2);
    well_formed(dir, run, "timing.csv", 1);
}

#endif
