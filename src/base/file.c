/* SPDX-License-Identifier: MIT
 * Whole files: read in one piece, replaced all or nothing.
 *
 * Invariant: at every moment path holds either the old content or the new, whole, whatever fails
 * and whenever the machine stops. Every call's failure is reported with path and cause.
 * Read next: build.c. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rootdk/base.h>

#include "base/memory.h"

enum {
    FIRST_ROOM = 1 << 16,
    ENDLESS = 1 << 26,   /* bytes after which what is no regular file is taken to have no end */
    CAUSE = 120,         /* longest text of a system error */
    NAME_ATTEMPTS = 100, /* other temporary names tried where one exists */
    SUFFIX = 64,         /* room for what a temporary name has behind the path */
};
static const double GIGABYTE = 1e9;
static const char TEMPORARY[] = ".tmp"; /* how the name of an unfinished file ends */

/* Reports "cannot VERB PATH: cause" with the cause in errno. */
static bool fail_system(rdk_status *s, const char *verb, const char *path)
{
    char cause[CAUSE] = "unknown error";
    strerror_r(errno, cause, sizeof cause);
    return rdk_fail(s, RDK_EIO, "cannot %s %s: %s", verb, path, cause);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads to the end of the file into *data, which grows; the caller frees it also on failure. */
static bool read_all(int fd, const char *path, size_t room, double most, char **data, size_t *size,
                     rdk_status *s)
{
    for (*size = 0;;) {
        if ((double)*size > most)
            return rdk_fail(s, RDK_EIO, "cannot read %s: it does not end within %.0f bytes", path,
                            most);
        if (!*data || *size == room) {
            size_t more = *data ? room * 2 : room;
            char *grown = more > room || !*data ? rdk_grow(*data, *size, more + 1) : NULL;
            if (!grown)
                return rdk_fail(s, RDK_ENOMEM, "cannot read %s: out of memory at %zu bytes", path,
                                *size);
            *data = grown;
            room = more;
        }
        ssize_t got = read(fd, *data + *size, room - *size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_system(s, "read", path);
        if (got == 0) break;
        *size += (size_t)got;
    }
    (*data)[*size] = '\0';
    return true;
}

/* Opens it without waiting for somebody to open a pipe's other end, but for a while for its first
 * bytes. -1: status set. */
static int open_to_read(const char *path, rdk_status *s)
{
    enum { PATIENCE = 2 }; /* seconds */
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        fail_system(s, "open", path);
        return -1;
    }
    struct pollfd one = {.fd = fd, .events = POLLIN};
    if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) && poll(&one, 1, 1000 * PATIENCE) == 0) {
        rdk_fail(s, RDK_EIO, "cannot read %s: it is a pipe, and nothing came for %d seconds", path,
                 PATIENCE);
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, 0); /* from now on reads wait */
    return fd;
}

char *rdk_file_read(const char *path, size_t *size, rdk_status *s)
{
    int fd = open_to_read(path, s);
    if (fd < 0) return NULL;
    /* One byte more than the file has, so that its end is met without growing. */
    struct stat info;
    bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    double most = regular ? rdk_machine_memory() : ENDLESS;
    size_t room = regular && info.st_size > 0 ? (size_t)info.st_size + 1 : FIRST_ROOM, n = 0;
    char *data = NULL;
    bool done = !regular || (double)info.st_size <= most
                    ? read_all(fd, path, room, most, &data, &n, s)
                    : rdk_fail(s, RDK_ENOMEM,
                               "cannot read %s: it has %.1f GB, this machine's memory %.1f GB",
                               path, (double)info.st_size / GIGABYTE, most / GIGABYTE);
    close(fd);
    if (!done) {
        rdk_free(data);
        return NULL;
    }
    if (size) *size = n;
    return data;
}

/* ---- replacing ------------------------------------------------------------------------------- */

/* Creates a file beside path under a name nobody has; its name goes to `name`. */
static int open_temporary(const char *path, mode_t mode, char *name, size_t room)
{
    for (int attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        struct timespec now = {0};
        clock_gettime(CLOCK_MONOTONIC, &now);
        snprintf(name, room, "%s.%lx-%lx-%x%s", path, (unsigned long)getpid(),
                 (unsigned long)now.tv_nsec, (unsigned)attempt, TEMPORARY);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, bytes, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        if (put == 0) {
            errno = ENOSPC;
            return false;
        }
        bytes += put;
        n -= (size_t)put;
    }
    return true;
}

static bool sync_file(int fd)
{
    int result;
    do result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

/* Writes, syncs and closes; false with errno where any of them failed. */
static bool fill(int fd, size_t n, const rdk_part *parts)
{
    bool done = true;
    for (size_t i = 0; i < n && done; i++) done = write_all(fd, parts[i].bytes, parts[i].n);
    done = done && sync_file(fd);
    int cause = errno;
    /* After EINTR the descriptor is closed, and the data are synced by then. */
    if (close(fd) != 0 && errno != EINTR && done) return false;
    errno = cause;
    return done;
}

/* Makes the new name last. File systems that cannot sync a directory say EINVAL or ENOTSUP. */
static bool sync_directory_of(const char *path, char *scratch, rdk_status *s)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    strcpy(scratch, slash ? "/" : ".");
    if (length > 0) {
        memcpy(scratch, path, length);
        scratch[length] = '\0';
    }
    int fd = open(scratch, O_RDONLY | O_CLOEXEC);
    /* A directory that may be written and not read cannot be synced; the file itself is. */
    if (fd < 0) return errno == EACCES || fail_system(s, "open directory", scratch);
    bool done = sync_file(fd) || errno == EINVAL || errno == ENOTSUP;
    if (!done) fail_system(s, "sync directory", scratch);
    close(fd);
    return done;
}

static bool replace(const char *path, char *name, size_t room, size_t n, const rdk_part *parts,
                    rdk_status *s)
{
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode))
        return rdk_fail(s, RDK_EIO, "cannot replace %s: not a regular file", path);
    int fd = open_temporary(path, 0666, name, room);
    if (fd < 0) return fail_system(s, "create a file beside", path);
    /* A file system without permissions refuses; the content is what matters. */
    if (exists) (void)!fchmod(fd, old.st_mode & 0777);
    bool filled = fill(fd, n, parts);
    if (!filled || rename(name, path) != 0) {
        fail_system(s, filled ? "replace" : "write", path);
        unlink(name);
        return false;
    }
    return sync_directory_of(path, name, s);
}

bool rdk_file_replace(const char *path, const void *bytes, size_t n, rdk_status *s)
{
    return rdk_file_replace_parts(path, 1, &(rdk_part){bytes, n}, s);
}

bool rdk_file_replace_parts(const char *path, size_t n, const rdk_part *parts, rdk_status *s)
{
    size_t room = strlen(path) + SUFFIX;
    char *name = rdk_alloc(room, 1, s);
    if (!name) return false;
    bool done = replace(path, name, room, n, parts, s);
    rdk_free(name);
    return done;
}

/* ".PID-NANOSECONDS-ATTEMPT.tmp" in hexadecimal digits, behind the name; see open_temporary. */
bool rdk_file_is_unfinished(const char *name, const char *of)
{
    enum { NUMBERS = 3 };
    size_t n = strlen(of);
    if (strncmp(name, of, n) != 0) return false;
    name += n;
    for (int i = 0; i < NUMBERS; i++) {
        if (*name++ != (i ? '-' : '.')) return false;
        n = strspn(name, "0123456789abcdef");
        if (n == 0) return false;
        name += n;
    }
    return strcmp(name, TEMPORARY) == 0;
}

/* What cannot be looked at (a loop of links, a directory that may not be searched) may well exist;
 * whoever then opens it is told the cause. */
bool rdk_file_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool rdk_file_is_regular(const char *path, rdk_status *s)
{
    struct stat info;
    if (stat(path, &info) != 0) return fail_system(s, "open", path);
    if (S_ISREG(info.st_mode)) return true;
    return rdk_fail(s, RDK_EIO, "cannot read %s: it is %s (a regular file is needed)", path,
                    S_ISDIR(info.st_mode)    ? "a directory"
                    : S_ISFIFO(info.st_mode) ? "a pipe, which cannot be read again"
                                             : "a device");
}

/* ---- directories ----------------------------------------------------------------------------- */

static bool make_one(const char *path, rdk_status *s)
{
    struct stat info;
    if (mkdir(path, 0777) == 0) return true;
    int cause = errno;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return true;
    errno = cause;
    return fail_system(s, "make directory", path);
}

bool rdk_directory_make(const char *path, rdk_status *s)
{
    size_t length = strlen(path);
    char *part = rdk_alloc(length + 1, 1, s);
    if (!part) return false;
    memcpy(part, path, length);
    bool done = true;
    for (size_t i = 1; i < length && done; i++) {
        if (part[i] != '/') continue;
        part[i] = '\0';
        done = make_one(part, s);
        part[i] = '/';
    }
    done = done && make_one(path, s);
    rdk_free(part);
    return done;
}
