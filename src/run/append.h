/* SPDX-License-Identifier: MIT
 * Files that only grow: what the logs of a run have in common.
 * Invariant: what is appended at once is written by one call to the system where that takes it
 * whole, so that a killed process leaves at most one piece cut. */
#ifndef RDK_RUN_APPEND_H
#define RDK_RUN_APPEND_H

#include <rootdk/base.h>

/* A file that is there, to be appended to: its descriptor, or -1. */
int rdk_append_open(const char *path, rdk_status *s);
/* fd -1: nothing is done. A file that lost its name is an error: what is written to it is lost. */
bool rdk_append(int fd, const char *path, const void *bytes, size_t n, rdk_status *s);
/* All so far is on the disk. */
bool rdk_append_sync(int fd, const char *path, rdk_status *s);

#endif
