/* SPDX-License-Identifier: MIT
 * Runs the built program as a user would: fork and exec in a directory of the test's own.
 *
 *     char *dir = program_directory();
 *     program_run r = program_call(dir, (const char *[]){"--steps", "2", NULL});
 *     ck_assert_int_eq(r.status, 0);   r.out, r.err: what it wrote
 *     program_free(&r);
 *     program_directory_remove(dir);
 *
 * program_start and program_finish are the two halves, for tests that send signals between. The
 * program is $RDK_PROGRAM, or build/rootdk below the directory that the tests are started in.
 * Every failure of the machinery itself fails the test. */
#ifndef RDK_TEST_RUN_PROGRAM_H
#define RDK_TEST_RUN_PROGRAM_H

#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct program_run {
    pid_t pid;
    FILE *out_file, *err_file;
    int status;      /* of exit; -1 where a signal ended it */
    int signal;      /* that ended it; 0 where none */
    char *out, *err; /* NUL-terminated */
} program_run;

enum { PROGRAM_PATH = 4096, PROGRAM_ARGS = 64 };

static inline const char *program_path(void)
{
    static char path[2 * PROGRAM_PATH];
    char here[PROGRAM_PATH];
    const char *set = getenv("RDK_PROGRAM");
    if (!set || !*set) set = "build/rootdk";
    ck_assert_ptr_nonnull(getcwd(here, sizeof here));
    snprintf(path, sizeof path, "%s%s%s", *set == '/' ? "" : here, *set == '/' ? "" : "/", set);
    ck_assert_msg(access(path, X_OK) == 0, "there is no program %s (make builds it)", path);
    return path;
}

/* A new empty directory; program_directory_remove frees it. */
static inline char *program_directory(void)
{
    const char *base = getenv("TMPDIR");
    char *path = malloc(PROGRAM_PATH);
    ck_assert_ptr_nonnull(path);
    snprintf(path, PROGRAM_PATH, "%s/rootdk-test-XXXXXX", base && *base ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(path));
    return path;
}

static inline void program_remove_tree(const char *path)
{
    DIR *d = opendir(path);
    char below[PROGRAM_PATH];
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        int n = snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (n < 0 || n >= PROGRAM_PATH) continue;
        if (unlink(below) != 0) program_remove_tree(below);
    }
    if (d) closedir(d);
    rmdir(path);
}

static inline void program_directory_remove(char *path)
{
    program_remove_tree(path);
    free(path);
}

/* Files and directories right in it. */
static inline int program_directory_entries(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* The whole file, NUL-terminated, free(); *size may be NULL. */
static inline char *program_file(const char *directory, const char *name, size_t *size)
{
    char path[PROGRAM_PATH];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f && fstat(fileno(f), &info) == 0, "cannot read %s", path);
    char *text = malloc((size_t)info.st_size + 1);
    ck_assert_ptr_nonnull(text);
    size_t n = fread(text, 1, (size_t)info.st_size, f);
    text[n] = '\0';
    if (size) *size = n;
    fclose(f);
    return text;
}

static inline void program_write(const char *directory, const char *name, const char *text)
{
    char path[PROGRAM_PATH];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "wb");
    ck_assert_msg(f && fputs(text, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
}

/* stdout_fd: where its stdout goes, -1: is captured. arguments end with NULL. */
static inline program_run program_start_to(const char *directory, const char *const *arguments,
                                           int stdout_fd)
{
    char *argv[PROGRAM_ARGS] = {"rootdk"};
    const char *path = program_path();
    int n = 1;
    while (*arguments && n + 1 < PROGRAM_ARGS) argv[n++] = (char *)*arguments++;
    program_run r = {.out_file = tmpfile(), .err_file = tmpfile()};
    ck_assert(r.out_file && r.err_file);
    fflush(NULL);
    r.pid = fork();
    ck_assert_int_ge(r.pid, 0);
    if (r.pid > 0) return r;
    if (chdir(directory) == 0 && dup2(stdout_fd < 0 ? fileno(r.out_file) : stdout_fd, 1) == 1 &&
        dup2(fileno(r.err_file), 2) == 2) {
        int null = open("/dev/null", O_RDONLY);
        dup2(null, 0);
        execv(path, argv);
    }
    _exit(127);
}

static inline program_run program_start(const char *directory, const char *const *arguments)
{
    return program_start_to(directory, arguments, -1);
}

static inline char *program_captured(FILE *f)
{
    long end = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    ck_assert_int_ge(end, 0);
    char *text = calloc((size_t)end + 1, 1);
    rewind(f);
    ck_assert(text && fread(text, 1, (size_t)end, f) == (size_t)end);
    fclose(f);
    return text;
}

static inline void program_finish(program_run *r)
{
    int status;
    ck_assert_int_eq(waitpid(r->pid, &status, 0), r->pid);
    r->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    r->out = program_captured(r->out_file);
    r->err = program_captured(r->err_file);
    r->out_file = r->err_file = NULL;
}

static inline program_run program_call(const char *directory, const char *const *arguments)
{
    program_run r = program_start(directory, arguments);
    program_finish(&r);
    return r;
}

static inline void program_free(program_run *r)
{
    free(r->out);
    free(r->err);
}

/* Of a call that only prints: it ends well, says nothing on stderr and leaves no file. */
static inline program_run printed(const char *const *arguments)
{
    char *dir = program_directory();
    program_run r = program_call(dir, arguments);
    ck_assert_msg(r.status == 0 && !r.err[0], "exit %d: %s", r.status, r.err);
    ck_assert_int_eq(program_directory_entries(dir), 0);
    program_directory_remove(dir);
    return r;
}

#endif
