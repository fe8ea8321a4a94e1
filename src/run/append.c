/* SPDX-License-Identifier: MIT
 * Files that only grow: see append.h for the invariant. */
#include "append.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool append_fail(const char *path, const char *what, rdk_status *s)
{
    return rdk_fail(s, RDK_EIO, "cannot %s %s: %s", what, path, strerror(errno));
}

int rdk_append_open(const char *path, rdk_status *s)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) append_fail(path, "open", s);
    return fd;
}

static bool still_there(int fd, const char *path, rdk_status *s)
{
    struct stat info;
    return fstat(fd, &info) != 0 || info.st_nlink > 0 || !S_ISREG(info.st_mode) ||
           rdk_fail(s, RDK_EIO, "%s was removed while the run was writing it", path);
}

bool rdk_append(int fd, const char *path, const void *bytes, size_t n, rdk_status *s)
{
    if (fd < 0) return true;
    if (!still_there(fd, path, s)) return false;
    for (size_t done = 0; done < n;) {
        ssize_t now = write(fd, (const char *)bytes + done, n - done);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) return append_fail(path, "write", s);
        done += (size_t)now;
    }
    return true;
}

bool rdk_append_sync(int fd, const char *path, rdk_status *s)
{
    int result;
    if (fd < 0) return true;
    do result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result == 0 || append_fail(path, "sync", s);
}
