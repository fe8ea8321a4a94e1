/* SPDX-License-Identifier: MIT
 * A CSV file that grows by whole lines. The first column is always the step.
 * Invariant: a line is written by one call to the system at its end, so a killed process loses no
 * line but the one it was writing, and a resumed run cuts that one off. */
#ifndef RDK_RUN_CSV_H
#define RDK_RUN_CSV_H

#include <rootdk/base.h>

typedef struct rdk_csv {
    int fd; /* -1: not open; then everything is a no-op */
    char *path;
    rdk_text line;
} rdk_csv;

/* A new file with its header line ("step,loss"); replaces an old one. */
bool rdk_csv_create(rdk_csv *c, const char *directory, const char *name, const char *header,
                    rdk_status *s);
/* An old one to go on with, at step `cut`: its header must be the same; lines of a step >= cut, and
 * a last line without its end, are removed. A damaged line before that, or a missing file where cut
 * > 0, is an error that names it. */
bool rdk_csv_continue(rdk_csv *c, const char *directory, const char *name, const char *header,
                      uint64_t cut, rdk_status *s);
void rdk_csv_close(rdk_csv *c);

/* The fields of one line, in order, then its end. Reals are written as the shortest text of the
 * nearest float; beyond a float's range, of the double. */
void rdk_csv_uint(rdk_csv *c, uint64_t x);
void rdk_csv_real(rdk_csv *c, double x);
void rdk_csv_exact(rdk_csv *c, double x);        /* as a double */
void rdk_csv_word(rdk_csv *c, const char *word); /* no comma, quote or line end in it */
void rdk_csv_empty(rdk_csv *c);
bool rdk_csv_end(rdk_csv *c, rdk_status *s);
/* All lines so far are on the disk. */
bool rdk_csv_sync(rdk_csv *c, rdk_status *s);

#endif
