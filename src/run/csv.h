/* SPDX-License-Identifier: MIT
 * A CSV file that grows by whole lines. The first column is always the step.
 * Invariant: whole lines are written, by one call to the system, so a killed process loses none but
 * those that it was writing, and a resumed run cuts off the one of them that has no end. */
#ifndef RDK_RUN_CSV_H
#define RDK_RUN_CSV_H

#include <rootdk/base.h>

typedef struct rdk_csv {
    int fd; /* -1: not open; then everything is a no-op */
    char *path;
    rdk_text text; /* what is not written yet: whole lines, */
    size_t whole;  /* of so many bytes, and the fields of the next */
} rdk_csv;

/* A new file with its header line ("step,loss"); replaces an old one. */
bool rdk_csv_create(rdk_csv *c, const char *directory, const char *name, const char *header,
                    rdk_status *s);

/* What rows a file must hold, in order: writes how the next one begins ("20,train,"), or says that
 * there is none. */
enum { RDK_CSV_KEY = 128 };
typedef bool rdk_csv_next(void *state, char key[RDK_CSV_KEY]);
/* An old file, at the step where the run goes on. */
typedef struct rdk_csv_old {
    const char *directory, *name, *header; /* the header must be the same */
    uint64_t cut;                          /* rows of this step and later are not looked at */
    rdk_csv_next *next;                    /* what rows lie before it; NULL: not known */
    void *state;
} rdk_csv_old;

/* Can it be gone on with? A damaged line before the cut, a row that should be there and is not, a
 * missing file where cut > 0: errors that name file, row and remedy. Changes nothing. */
bool rdk_csv_check(const rdk_csv_old *old, rdk_status *s);
/* The same, then opens it: lines of a step >= cut, and a last line without its end, are removed. */
bool rdk_csv_continue(rdk_csv *c, const rdk_csv_old *old, rdk_status *s);
void rdk_csv_close(rdk_csv *c);

/* The fields of one line, in order, then its end. Reals are written as the shortest text of the
 * nearest float; beyond a float's range, of the double. Zero is 0, never -0. */
void rdk_csv_uint(rdk_csv *c, uint64_t x);
void rdk_csv_real(rdk_csv *c, double x);
void rdk_csv_exact(rdk_csv *c, double x);        /* as a double */
void rdk_csv_word(rdk_csv *c, const char *word); /* no comma, quote or line end in it */
void rdk_csv_empty(rdk_csv *c);
void rdk_csv_end(rdk_csv *c);
/* The lines since the last call, into the file; the last of them has ended. */
bool rdk_csv_write(rdk_csv *c, rdk_status *s);
/* All lines that were written are on the disk. */
bool rdk_csv_sync(rdk_csv *c, rdk_status *s);

#endif
