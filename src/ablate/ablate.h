/* SPDX-License-Identifier: MIT
 * Grids of runs: which points there are, running them as processes, what came out.
 *
 * An ablation is a directory. ablation.ini holds the options that all its runs share, points.csv
 * one row a point with the options that vary, and each point is an ordinary run in a directory of
 * its own below.
 *
 * Invariant: the directory alone says what there is to do and what is done; nothing else is
 * remembered. So any number of processes, on any number of machines that share the directory, can
 * work on it, be killed and start again.
 * Read next: grid.c, pool.c, results.c. */
#ifndef RDK_ABLATE_ABLATE_H
#define RDK_ABLATE_ABLATE_H

#include <rootdk/report.h>

#include "report/figures.h"
#include "report/grid_record.h"

enum {
    RDK_POINT_NAME = 256, /* bytes of a point's name */
    RDK_ABLATION_PATH = RDK_PATH_TEXT - RDK_POINT_NAME,
    RDK_MOST_POINTS = 20000,    /* of an ablation */
    RDK_MOST_AXIS_VALUES = 4096 /* of one option */
};

/* ---- values.c: lists --------------------------------------------------------------------- */

/* One option and its values, as text that rdk_option_set takes, in order, none twice. */
typedef struct rdk_grid_axis {
    const rdk_option *option;
    const char **values;
    size_t n;
} rdk_grid_axis;

/* The values of a comma list; 1..5 is 1,2,3,4,5 where whole numbers are taken. Values live in the
 * arena. RDK_EVALUE names option and value. */
bool rdk_grid_axis_parse(rdk_grid_axis *axis, const rdk_option *o, const char *list,
                         rdk_arena *arena, rdk_status *s);
/* Adds one value in its place; nothing where it is there. */
bool rdk_grid_axis_add(rdk_grid_axis *axis, const char *value, rdk_arena *arena, rdk_status *s);
/* The place of a value, or axis->n. */
size_t rdk_grid_axis_find(const rdk_grid_axis *axis, const char *value);
/* Order of values: numbers by size, names as in their table, "auto" first. */
int rdk_value_compare(const rdk_option *o, const char *a, const char *b);

/* ---- grid.c, store.c: the points ------------------------------------------------------------ */

/* An option as somebody gave it. */
typedef struct rdk_setting {
    const rdk_option *option;
    const char *text;
    bool list; /* commas and .. separate values; else the text is one value */
} rdk_setting;

typedef struct rdk_ablation {
    rdk_arena *arena; /* owns all below */
    char directory[RDK_ABLATION_PATH];
    bool stored;         /* stands on the disk as it is here */
    rdk_config base;     /* what all points share, not resolved */
    bool saves_by_steps; /* --steps varies and --save-every was not given: each point has its own
                            (ablation.ini then holds none) */
    rdk_grid_axis *axes; /* [n_axes] in the order of the option table, seed last */
    size_t n_axes;
    /* [n_points] a point is its number in the product of all axes, the last one fastest */
    size_t *points;
    size_t n_points;
    rdk_config *resolved; /* [n_points] or NULL: as the runs will have them */
    rdk_asked *asked;     /* [n_points] likewise: which of their tokens have targets that count */
    const char **data; /* [n_points] or NULL: their data as the file is now, by run.json's line */
} rdk_ablation;

/* The ablation of a directory (empty: runs/ablate-TASK). What stands there, and the points that the
 * settings add: an option that is not set is as it is there, so that one of its axes takes all its
 * values. Nothing is written. RDK_EVALUE names an option that contradicts the directory, or of
 * which nothing varies; RDK_EFORMAT a damaged file. Free with rdk_ablation_free either way. */
bool rdk_ablation_plan(rdk_ablation *a, const char *directory, const rdk_setting *settings,
                       size_t n, rdk_status *s);
/* Every point's configuration, checked as a run would: fills resolved, asked and data. */
bool rdk_ablation_resolve(rdk_ablation *a, rdk_status *s);
/* RDK_ESTATE where a run that is there was begun on other data than the file holds now: both lines
 * are named. What cannot be read is left to those who read it. Needs a->data. */
bool rdk_ablation_check_data(const rdk_ablation *a, rdk_status *s);
/* The same of the runs that are there among each other, without the file: RDK_ESTATE names two. */
bool rdk_ablation_check_alike(const rdk_ablation *a, rdk_status *s);
/* RDK_EVALUE names an option that was given on the command line and counts at no point, as train
 * does: its runs would be one run over and over. */
bool rdk_ablation_check_counts(const rdk_ablation *a, const rdk_setting *settings, size_t n,
                               rdk_status *s);
/* Plans again, with the directory locked against others who add points, and writes. */
bool rdk_ablation_store(rdk_ablation *a, const rdk_setting *settings, size_t n, rdk_status *s);
void rdk_ablation_free(rdk_ablation *a);

const char *rdk_ablation_value(const rdk_ablation *a, size_t point, size_t axis);
/* The axis of this option, or n_axes. */
size_t rdk_ablation_axis(const rdk_ablation *a, const char *option);

/* ---- point.c: one point ------------------------------------------------------------------ */

/* "scale-sqrt_d-k-64_seed-1": its varied options, in characters that every file system takes. */
char *rdk_point_name(const rdk_ablation *a, size_t point, char buf[RDK_POINT_NAME]);
char *rdk_point_path(const rdk_ablation *a, size_t point, char buf[RDK_PATH_TEXT]);
/* Its configuration, not resolved. */
void rdk_point_config(const rdk_ablation *a, size_t point, rdk_config *c);
/* Multiply-adds of all its steps, times two; evaluations left out. Needs a->resolved. */
double rdk_point_flops(const rdk_ablation *a, size_t point);

typedef enum {
    RDK_POINT_NEW,   /* nothing there to go on from */
    RDK_POINT_BEGUN, /* a checkpoint is there */
    RDK_POINT_DONE,
    RDK_POINT_DIVERGED
} rdk_point_state;
/* What its directory says. Where a->resolved is known, a run of another configuration is refused
 * (RDK_ESTATE) by the option's name; where a->data is, one of other data. */
bool rdk_point_look(const rdk_ablation *a, size_t point, rdk_point_state *state, rdk_status *s);
/* Done or diverged; what cannot be read is not. */
bool rdk_point_is_done(const rdk_ablation *a, size_t point);

/* The right to work on the point: an open, locked file in its directory, which is made. The lock
 * goes when the last process that inherited the descriptor ends, however it ends. -1 with status
 * RDK_OK: somebody else has it. */
int rdk_point_lock(const rdk_ablation *a, size_t point, rdk_status *s);
/* The words of the program that train it: argv[0] is `program`; NULL-terminated, in the arena. */
char **rdk_point_command(const rdk_ablation *a, size_t point, rdk_point_state state, int threads,
                         const char *program, rdk_arena *arena, rdk_status *s);

/* ---- pace.c: how long it takes --------------------------------------------------------------- */

/* Of runs whose speed is known: what they cost, and the seconds that takes at their speed. */
typedef struct rdk_pace {
    double flops, seconds; /* seconds 0: no speed is known */
} rdk_pace;
/* FLOP/s that the point's timing.csv says, NAN where it says none. Needs a->resolved. */
double rdk_point_rate(const rdk_ablation *a, size_t point);
/* Adds the point where its speed is known. */
void rdk_pace_add(rdk_pace *p, const rdk_ablation *a, size_t point);
/* "about 3 min, as fast as the runs that are done"; a range by stated rates where none is known. */
void rdk_pace_words(const rdk_pace *p, double flops, size_t jobs, int threads, rdk_text *t);

/* ---- pool.c: the processes --------------------------------------------------------------- */

typedef struct rdk_pool_plan {
    size_t jobs;         /* at once */
    int threads;         /* of each */
    const char *program; /* how the program was called, where the system does not say */
    const char *only;    /* name of the one point to run; NULL: all */
    bool quiet;          /* only failures are said */
} rdk_pool_plan;

typedef struct rdk_pool_end {
    size_t finished, diverged, failed; /* of this call; diverged ones are finished too */
    size_t elsewhere;                  /* `only` is being run by somebody else */
    bool stopped;                      /* by io->stop */
} rdk_pool_end;

/* The order in which points are begun and listed: seed by seed, so that what is compared is there
 * early; within that, in the order of the grid. order: [n_points]. */
void rdk_ablation_order(const rdk_ablation *a, size_t *order);
/* Runs what is not done: starts, watches, reports on io->err. Points that others are at are waited
 * for, unless `only` is set. False where the pool itself failed. */
bool rdk_pool_run(const rdk_ablation *a, const rdk_pool_plan *plan, const rdk_run_io *io,
                  rdk_pool_end *end, rdk_status *s);

/* ---- screen.c: what is seen -------------------------------------------------------------- */

/* The grid, the cost, how many are done already, how long the rest takes in so many jobs. */
void rdk_ablation_describe(const rdk_ablation *a, size_t jobs, int threads, FILE *out);

typedef struct rdk_progress {
    const rdk_run_io *io;
    bool drawn;
    size_t points, done, running, diverged, failed;
    double cost_left;       /* of what is not finished, running ones included */
    rdk_pace ended, going;  /* of points that were run in this call; of those that run */
    double running_seconds; /* what the running ones have had so far */
    double started, last_drawn, last_looked; /* looked: at the speed of those that run */
    size_t jobs;
} rdk_progress;
/* One line for the whole: redrawn on a terminal. */
void rdk_progress_draw(rdk_progress *p);
void rdk_progress_clear(rdk_progress *p);
/* ", about 3 min left", or why that is not known yet. */
void rdk_progress_left(const rdk_progress *p, rdk_text *out);

/* ---- results.c: what came out ------------------------------------------------------------ */

/* Of one finished run. */
typedef struct rdk_result {
    size_t point;
    rdk_run_figures figures;
} rdk_result;

typedef struct rdk_results {
    rdk_result *rows; /* [n] in the order of the points */
    size_t n, missing;
    size_t damaged;    /* of the missing ones: done, but their files cannot be read */
    rdk_status damage; /* of the first of them */
} rdk_results;

/* Reads all points that are done or diverged. False without memory. Free with rdk_free(r->rows). */
bool rdk_results_read(const rdk_ablation *a, rdk_results *r, rdk_status *s);
/* results.csv: a row a run. A function of the runs alone, however they were run. */
bool rdk_results_write(const rdk_ablation *a, const rdk_results *r, rdk_status *s);

/* ---- table.c, rates.c, limits.c: results.md ---------------------------------------------- */

/* Groups of equal varied options but the seed, with mean and 95 % interval. */
void rdk_results_table(const rdk_ablation *a, const rdk_results *r, rdk_text *out);
/* Best learning rate and sensitivity to it, where it varies. */
void rdk_results_rates(const rdk_ablation *a, const rdk_results *r, rdk_text *out);
/* What these runs cannot say. */
void rdk_results_limits(const rdk_ablation *a, const rdk_results *r, rdk_text *out);

#endif
