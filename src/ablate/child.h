/* SPDX-License-Identifier: MIT
 * One child process that trains one point. */
#ifndef RDK_ABLATE_CHILD_H
#define RDK_ABLATE_CHILD_H

#include <sys/types.h>

#include "ablate.h"

/* Where the output of a point's runs goes, in its directory. */
#define RDK_POINT_LOG "output.txt"

/* Starts the program with these words (argv[0]: how it is called, where the system does not say
 * what file this process runs). Its output is appended to `log`; it keeps the descriptor `lock`
 * open, so the lock lives as long as it does; it is asked to stop when this process dies (Linux).
 * -1 on failure. */
pid_t rdk_child_start(char *const *words, const char *log, int lock, rdk_status *s);

/* The last lines of a log, each behind "  | ". */
void rdk_child_last_lines(const char *log, rdk_text *out);

#endif
