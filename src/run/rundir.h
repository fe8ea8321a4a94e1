/* SPDX-License-Identifier: MIT
 * The directory of a run, and the lock that keeps two processes from writing into it. */
#ifndef RDK_RUN_RUNDIR_H
#define RDK_RUN_RUNDIR_H

#include <rootdk/run.h>

/* By this file the directory of an ablation, which src/ablate writes, is told from a run's. */
#define RDK_ABLATION_FILE "ablation.ini"

typedef struct rdk_rundir {
    char path[RDK_PATH_TEXT];
    int lock; /* descriptor of the directory, locked while open; -1: none */
} rdk_rundir;

/* --out where given, else runs/TASK-SCALE-dkN-seedN, with -2, -3, ... where that name is taken. An
 * --out that holds something is refused without --force; with it, the old run's files go. */
bool rdk_rundir_create(rdk_rundir *d, const rdk_config *c, rdk_status *s);
/* An existing run, to go on with. */
bool rdk_rundir_open(rdk_rundir *d, const char *path, rdk_status *s);
void rdk_rundir_close(rdk_rundir *d);

/* Is it still the directory that was opened? Not where it was removed, or another one has its name:
 * whatever lies there now belongs to somebody else. */
bool rdk_rundir_is_ours(const rdk_rundir *d, rdk_status *s);

/* "DIR/NAME" in buf, which is returned. */
char *rdk_rundir_file(const rdk_rundir *d, const char *name, char buf[RDK_PATH_TEXT + 64]);

#endif
