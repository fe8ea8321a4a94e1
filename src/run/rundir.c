/* SPDX-License-Identifier: MIT
 * Making, finding and locking the directory of a run. mkdir is the test whether a name is free, so
 * that runs started at the same moment get different ones. */
#include "rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tensorboard.h"
#include "trainer.h"

enum { MOST_SUFFIXES = 10000, LOCK_TRIES = 5, NAP_NANOSECONDS = 2000000 };

static const char *const RUN_FILES[] = {
    "config.ini",    "run.json",         "metrics.csv",      "attention.csv",
    "gradients.csv", "timing.csv",       "maps.csv",         RDK_EVENTS_FILE,
    "example.csv",   "last.safetensors", "best.safetensors", "best-before-end.safetensors"};

char *rdk_rundir_file(const rdk_rundir *d, const char *name, char buf[RDK_PATH_TEXT + 64])
{
    snprintf(buf, RDK_PATH_TEXT + 64, "%s/%s", d->path, name);
    return buf;
}

static bool lock_directory(rdk_rundir *d, rdk_status *s)
{
    d->lock = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->lock < 0) return rdk_fail(s, RDK_EIO, "cannot open %s: %s", d->path, strerror(errno));
    for (int i = 0; i < LOCK_TRIES; i++) {
        /* a file system that knows no locks is no reason to stop */
        if (flock(d->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
        /* rdk_rundir_is_held may be looking */
        nanosleep(&(struct timespec){.tv_nsec = NAP_NANOSECONDS}, NULL);
    }
    rdk_fail(s, RDK_ESTATE,
             "%s is in use by another process (wait for it, or choose another --out)", d->path);
    rdk_rundir_close(d);
    return false;
}

bool rdk_rundir_is_held(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool free_now = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
    if (fd >= 0) close(fd);
    return !free_now;
}

static bool directory_is_empty(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir) return false;
    int entries = 0;
    for (struct dirent *e; (e = readdir(dir));)
        entries += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return entries == 0;
}

static bool remove_old_run(const rdk_rundir *d, rdk_status *s)
{
    char path[RDK_PATH_TEXT + 64];
    for (size_t i = 0; i < sizeof RUN_FILES / sizeof *RUN_FILES; i++) {
        rdk_rundir_file(d, RUN_FILES[i], path);
        if (unlink(path) != 0 && errno != ENOENT)
            return rdk_fail(s, RDK_EIO, "cannot remove %s: %s", path, strerror(errno));
    }
    return true;
}

static bool is_leftover(const char *name)
{
    for (size_t i = 0; i < sizeof RUN_FILES / sizeof *RUN_FILES; i++)
        if (rdk_file_is_unfinished(name, RUN_FILES[i])) return true;
    return false;
}

/* What a process left that was killed while it saved. The lock says that none is at it now. */
static void remove_leftovers(const rdk_rundir *d)
{
    DIR *dir = opendir(d->path);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));)
        if (is_leftover(e->d_name)) unlinkat(d->lock, e->d_name, 0);
    closedir(dir);
}

static bool refuse_old_run(const rdk_rundir *d, rdk_status *s)
{
    rdk_text path = {0};
    rdk_text_shell(&path, d->path);
    rdk_fail(
        s, RDK_EVALUE,
        "--out %s exists and is not empty (go on with it: --resume %s, replace it: --force, or "
        "choose another name)",
        d->path, path.data ? path.data : "");
    rdk_text_free(&path);
    return false;
}

static bool create_named(rdk_rundir *d, const rdk_config *c, rdk_status *s)
{
    struct stat info;
    snprintf(d->path, sizeof d->path, "%s", c->out);
    bool there = stat(d->path, &info) == 0;
    if (there && !S_ISDIR(info.st_mode))
        return rdk_fail(s, RDK_EIO, "cannot use --out %s: it is not a directory", d->path);
    if (!there && !rdk_directory_make(d->path, s)) return false;
    /* locked before it is looked at: another run may be about to begin here */
    if (!lock_directory(d, s)) return false;
    if (!c->force && !directory_is_empty(d->path)) {
        rdk_rundir_close(d);
        return refuse_old_run(d, s);
    }
    remove_leftovers(d);
    return remove_old_run(d, s);
}

/* Does the run there want nothing but --resume to become the one that is asked for? */
static bool is_cut_off(const char *path, const rdk_config *c)
{
    rdk_rundir d = {.lock = -1};
    char file[RDK_PATH_TEXT + 64];
    rdk_status ignored = {0};
    const rdk_option *different;
    rdk_config old;
    snprintf(d.path, sizeof d.path, "%s", path);
    rdk_config_init(&old);
    if (!rdk_config_load(&old, rdk_rundir_file(&d, "config.ini", file), NULL, &ignored) ||
        !rdk_same_definition(&old, c, &different) || strcmp(old.data, c->data) != 0)
        return false;
    rdk_record *about = rdk_record_read(rdk_rundir_file(&d, "run.json", file), &ignored);
    const char *status = about ? rdk_record_word(about, "status") : NULL;
    bool open = status && strcmp(status, "done") != 0 && strcmp(status, "diverged") != 0;
    rdk_record_free(about);
    return open && !rdk_rundir_is_held(path);
}

bool rdk_rundir_create(rdk_rundir *d, const rdk_config *c, rdk_status *s)
{
    char name[RDK_PATH_TEXT - 16];
    *d = (rdk_rundir){.lock = -1};
    if (c->out[0]) return create_named(d, c, s);
    snprintf(name, sizeof name, "runs/%s-%s%s-dk%zu-seed%" PRIu64, c->task.name,
             c->model.attention == RDK_ADDITIVE ? "additive-" : "", c->model.scale, c->model.d_k,
             c->seed);
    if (!rdk_directory_make("runs", s)) return false;
    snprintf(d->path, sizeof d->path, "%s", name);
    for (int n = 2; mkdir(d->path, 0777) != 0; n++) {
        if (errno != EEXIST || n > MOST_SUFFIXES)
            return rdk_fail(s, RDK_EIO, "cannot create %s: %s (say where with --out)", d->path,
                            strerror(errno));
        if (is_cut_off(d->path, c)) snprintf(d->cut_off, sizeof d->cut_off, "%s", d->path);
        snprintf(d->path, sizeof d->path, "%s-%d", name, n);
    }
    return lock_directory(d, s);
}

bool rdk_rundir_open(rdk_rundir *d, const char *path, rdk_status *s)
{
    *d = (rdk_rundir){.lock = -1};
    snprintf(d->path, sizeof d->path, "%s", path);
    if (!lock_directory(d, s)) return false;
    remove_leftovers(d);
    return true;
}

bool rdk_rundir_is_ours(const rdk_rundir *d, rdk_status *s)
{
    struct stat held, named;
    if (d->lock < 0 || fstat(d->lock, &held) != 0) return true;
    if (stat(d->path, &named) == 0 && named.st_ino == held.st_ino && named.st_dev == held.st_dev)
        return true;
    return rdk_fail(s, RDK_EIO,
                    "%s was removed or replaced while the run was in it; nothing more can be saved",
                    d->path);
}

void rdk_rundir_close(rdk_rundir *d)
{
    if (d->lock >= 0) close(d->lock);
    d->lock = -1;
}
