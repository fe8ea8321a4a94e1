/* SPDX-License-Identifier: MIT
 * Runs read back: their tables, their configuration, how they ended.
 *
 * Invariant: reading never changes a run, also not one that is being written at the moment.
 * Read next: src/report/table.c. */
#ifndef ROOTDK_REPORT_H
#define ROOTDK_REPORT_H

#include <rootdk/run.h>

/* ---- a CSV file ------------------------------------------------------------------------------ */

/* A CSV file in memory, columns by name. A field may be quoted as in RFC 4180 ("a,b", "" inside);
 * no field holds a line end. A last line without its end is one that is being written: left out. */
typedef struct rdk_table {
    char *path, *text;
    size_t rows, columns;
    char **names;       /* [columns] */
    char **words;       /* [rows, columns] each field as text, unquoted */
    double *numbers;    /* [columns, rows] each field as a number, NAN where it is none */
    size_t *not_number; /* [columns] line of the first field that is no number nor empty; 0 */
} rdk_table;

/* NULL on failure: RDK_EIO (cannot be read), RDK_EFORMAT (path, line and what is wrong there: no
 * header, a column twice, a line with more or fewer fields than the header). */
rdk_table *rdk_table_read(const char *path, rdk_status *s);
void rdk_table_free(rdk_table *t);
/* The column of that name, or -1. */
int rdk_table_column(const rdk_table *t, const char *name);
/* A column as numbers [rows]; empty fields and nan are NAN, inf and -inf themselves. NULL where
 * there is no such column or a field is no number (RDK_EFORMAT: path, line). Owned by the table. */
const double *rdk_table_numbers(const rdk_table *t, const char *name, rdk_status *s);
/* The text of a field; "" for a column of -1. */
const char *rdk_table_word(const rdk_table *t, size_t row, int column);

/* ---- a run ----------------------------------------------------------------------------------- */

/* What a directory says of its run; its tables are read by name where they are wanted. */
typedef struct rdk_saved_run {
    char path[RDK_PATH_TEXT];
    rdk_config config; /* config.ini, over the defaults */
    rdk_record *about; /* run.json */
} rdk_saved_run;

/* Is there a config.ini in the directory? */
bool rdk_saved_run_is(const char *path);
/* Reads config.ini and run.json. Errors name file and line. */
bool rdk_saved_run_open(rdk_saved_run *r, const char *path, rdk_status *s);
void rdk_saved_run_close(rdk_saved_run *r);
/* "running", "done", "diverged", "interrupted", "failed"; "cut off" where run.json says that it is
 * running and no process is; "unknown" where it says none. */
const char *rdk_saved_run_status(const rdk_saved_run *r);
/* DIR/name, e.g. "metrics.csv". */
rdk_table *rdk_saved_run_table(const rdk_saved_run *r, const char *name, rdk_status *s);
/* The value of an option as config.ini has it ("scale" -> "sqrt"), appended. */
void rdk_saved_run_option(const rdk_saved_run *r, const rdk_option *o, rdk_text *value);

/* ---- what is made of them -------------------------------------------------------------------- */

/* Writes one HTML page about the run in the directory, or about the ablation whose runs are its
 * subdirectories, to path: all or nothing. What cannot be read beside others is left out and named
 * on the page. */
bool rdk_report_write(const char *directory, const char *path, rdk_status *s);

/* Writes every figure of such a page as a file of its own, directory/NAME.svg: a picture that needs
 * nothing beside it, on white. Makes the directory. */
bool rdk_report_pictures(const char *page, const char *directory, rdk_status *s);

typedef struct rdk_show_options {
    const char *const *directories; /* [n_directories] runs or ablations */
    size_t n_directories;
    const char *metrics;  /* "loss,entropy_norm": columns of metrics.csv (training rows) or
                           * attention.csv (mean over layers and heads), eval_loss, eval_accuracy,
                           * ratio (|dW_Q| / |dW_V|); NULL: loss,accuracy,entropy_norm, as far as
                           * a run has them */
    size_t width;         /* columns of the terminal */
    bool unicode, colour; /* braille and box lines, else ASCII; colours, else a letter a run */
} rdk_show_options;
/* Prints a summary line for each run, then the curves of each metric. What cannot be shown beside
 * them (a file that cannot be read, a metric of the usual ones that no run has) is told on `notes`.
 * Fails with RDK_EVALUE where no run has a metric that was asked for. */
bool rdk_show(const rdk_show_options *o, FILE *out, FILE *notes, rdk_status *s);

#endif
