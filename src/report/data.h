/* SPDX-License-Identifier: MIT
 * What a report is made from: one run or the runs of an ablation, reduced to curves and figures.
 *
 * Invariant: everything lives in the report's arena and is gone with it; the files of a run are
 * closed once its figures are taken. A figure that was not measured is NAN, a curve of it empty.
 * Read next: collect.c, then extract.c. */
#ifndef RDK_REPORT_DATA_H
#define RDK_REPORT_DATA_H

#include <rootdk/report.h>

#include "figures.h"
#include "run/thresholds.h"

/* n points, x rising. y may hold NAN and infinities. */
typedef struct rdk_curve {
    size_t n;
    const double *x, *y;
} rdk_curve;

/* What was measured of the gradient at the start, mean over layers (and heads). */
typedef struct rdk_start {
    double dq; /* |dW_Q| */
    double ds_median, ds_p10, ds_p90, ds_top5;
} rdk_start;

/* One option that differs among the runs, and what it was set to. */
typedef struct rdk_varied {
    const rdk_option *option;
    const char **values; /* [count] in order */
    size_t count;
} rdk_varied;

typedef struct rdk_report_run {
    rdk_saved_run saved;
    const char *name;   /* of its directory */
    const char *status; /* rdk_saved_run_status */
    bool diverged, finished;
    bool ended; /* what is said of its end counts among others: finished, or no ablation */
    /* where it stands among the others */
    size_t *value;              /* [n_varied] which of the option's values */
    size_t series, panel, rate; /* which series, d_k, learning rate */
    bool best_rate;             /* its rate is the best one of its series at its d_k */
    /* curves over the steps */
    rdk_curve train_loss, train_accuracy, eval_loss, eval_accuracy;
    rdk_curve *entropy;         /* [layers] entropy_norm, mean over heads */
    rdk_curve ratio, ds_median; /* |dW_Q|/|dW_V|, mean over layers; ds_median over all heads */
    rdk_curve entropy_mean, loss_at_probe; /* at the probed steps */
    rdk_curve *saturation;                 /* [layers * heads] sat99 */
    size_t layers, heads;
    /* [layers] at step 0: score_std, the root of the mean square over heads; what is predicted of
     * each layer, whose scale may be its own */
    double *std_start, *std_theory, *entropy_theory;
    rdk_start start;
    double score_scale;
    double score_std_last, score_absmax_last; /* at the last look: mean, largest over heads */
    double *layer_std, *layer_absmax;         /* [layers] the same of each */
    rdk_run_figures figures;
    double vocabulary, chance_accuracy, floor_loss;
    double died_step, died_loss; /* where a number became non-finite, and the last finite loss */
    double step;                 /* the last one logged, or 0 */
} rdk_report_run;

/* Of one directory; or of those of its runs that learn one task from one data: a group. */
typedef struct rdk_report {
    rdk_arena *arena;
    const char *path;
    bool ablation;
    rdk_report_run *runs; /* [n_runs] those of a group stand together */
    size_t n_runs;
    struct rdk_report *groups; /* [n_groups] this report itself where there is one */
    size_t n_groups;
    const char *name;   /* of the group: its task, and what tells it from others of that task */
    const char *prefix; /* of the ids of its elements on the page, "" where it is alone */
    rdk_varied *varied; /* the options that differ */
    size_t n_varied;
    const char **series; /* labels */
    int *colour, *dash;  /* [n_series] indices into the palette; see series.c */
    size_t n_series;
    size_t *d_k; /* [n_panels], rising */
    size_t n_panels;
    const char **rate; /* [n_rates], as text, rising */
    double *rate_value;
    size_t n_rates;
    size_t n_seeds, layers;
    rdk_text notes; /* HTML list items: what was left out and why */
    rdk_status *status;
} rdk_report;

enum { RDK_PALETTE = 8, RDK_PAIRS = 64 }; /* pairs: of a colour and dashes */

/* ---- collect.c, copies.c, group.c, classify.c, extract.c ------------------------------------- */

/* Reads the runs of a directory and groups them. r stays where it is until rdk_report_free, which
 * is called either way. False: status. */
bool rdk_report_collect(rdk_report *r, const char *path, rdk_status *s);
void rdk_report_free(rdk_report *r);
/* Of runs with one definition and one seed leaves one; the others are closed, with a note. */
void rdk_report_drop_copies(rdk_report *r);
/* Fills groups, each classified. */
bool rdk_report_group(rdk_report *r);
/* An id of the page, with the prefix of the group. */
const char *rdk_report_id(rdk_report *r, const char *id);
/* Finds what is varied, series, panels, rates; then the best rates. */
bool rdk_report_classify(rdk_report *r);
/* series.c: the options of a run as they were asked for: what follows others follows them. */
void rdk_report_asked(const rdk_report_run *run, rdk_config *asked);
/* The same by which runs are told apart: d_k and scale are what they came to. */
void rdk_report_compared(const rdk_report_run *run, rdk_config *c);
/* differing.c: in how many options that define a run these differ; behind out[i] what run i has of
 * each, "scale none, lr 0.001", but for those that all their names hold. */
size_t rdk_differing(const rdk_report_run *const *runs, size_t n, rdk_text *out);
/* series.c: "sqrt", "sqrt, softcap 5", once the varied options are known; colours, once all are. */
const char *rdk_series_label(rdk_report *r, const rdk_report_run *run);
void rdk_series_colours(rdk_report *r);
/* What is off, policies in the order of their table, then what begins with one; numbers by size,
 * also those within a text; the rest by name. */
void rdk_report_sort_values(const char **values, size_t n);
/* Curves and figures of a run from its tables. False: status (the run is left out). */
bool rdk_report_extract(rdk_report *r, rdk_report_run *run, rdk_status *s);
/* The curve of a column by its name; see rdk_show_options. Empty where the run has none. */
rdk_curve rdk_report_metric(rdk_report *r, const rdk_report_run *run, const char *name);
/* A line for the notes, of this run; escaped. */
void rdk_report_note(rdk_report *r, const char *name, const char *message);

/* Zeroed memory of the report; NULL sets the status. */
void *rdk_report_alloc(rdk_report *r, size_t count, size_t size);
const char *rdk_report_string(rdk_report *r, const char *text);

/* ---- summary.c: several runs as one ---------------------------------------------------------- */

/* The finite figures of the runs of this series, panel and rate (RDK_BEST_RATE: of its best). */
enum { RDK_BEST_RATE = -1 };
typedef struct rdk_cell {
    size_t series, panel;
    int rate;
} rdk_cell;
bool rdk_cell_has(const rdk_cell *c, const rdk_report_run *run);
size_t rdk_cell_runs(const rdk_report *r, const rdk_cell *c, size_t *diverged);
/* figure: which number of a run. Runs without it are left out. */
typedef double rdk_figure_of(const rdk_report_run *run);
rdk_interval rdk_cell_interval(rdk_report *r, const rdk_cell *c, rdk_figure_of *figure);
/* The same of the logarithms of a figure that is above 0 in all of them; of none otherwise. */
rdk_interval rdk_cell_log_interval(rdk_report *r, const rdk_cell *c, rdk_figure_of *figure);
/* When its finished runs solved their task. */
rdk_solved rdk_cell_solved(rdk_report *r, const rdk_cell *c);
/* The finished runs of a series at a d_k, for rated.c; their number in *n. *room: as rated.c wants
 * it. NULL without memory. */
rdk_rated *rdk_report_rated(rdk_report *r, size_t series, size_t panel, size_t *n, double **room);
/* The first of its runs that did not diverge, else the first; NULL where there is none. */
const rdk_report_run *rdk_cell_example(const rdk_report *r, const rdk_cell *c);

/* Mean and t-interval at the steps that the curves of all runs have that did not diverge; log: of
 * the logarithms (geometric mean). */
typedef struct rdk_band {
    rdk_curve mean;
    const double *low, *high; /* NAN where there are fewer than two */
    size_t runs;
} rdk_band;
typedef const rdk_curve *rdk_curve_of(const rdk_report_run *run, size_t which);
rdk_band rdk_cell_band(rdk_report *r, const rdk_cell *c, rdk_curve_of *curve, size_t which,
                       bool log);

/* ---- thin.c ---------------------------------------------------------------------------------- */

/* At most `most` points (>= 4) of the curve: first and last, and of each stretch between them the
 * lowest and the highest. The curve itself where it is short enough. */
rdk_curve rdk_curve_thin(rdk_report *r, const rdk_curve *c, size_t most);
/* The finite points only. */
rdk_curve rdk_curve_finite(rdk_report *r, const rdk_curve *c);

#endif
