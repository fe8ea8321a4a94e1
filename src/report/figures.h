/* SPDX-License-Identifier: MIT
 * What is said of runs, each by one rule for reports and ablations: the figures of a run, the best
 * learning rate, the sensitivity to it, when a task was solved.
 *
 * Invariant: a figure that was not measured is NAN; so is one of the end where there is no end.
 * Read next: figures.c, rated.c. */
#ifndef RDK_REPORT_FIGURES_H
#define RDK_REPORT_FIGURES_H

#include <rootdk/report.h>

/* ---- alike.c: of two runs -------------------------------------------------------------------- */

/* Do their options ask for one task? Resolved ones, or both not. */
bool rdk_same_task(const rdk_config *a, const rdk_config *b);
/* Do their run.json say the same of their data? True where one says nothing. */
bool rdk_same_data(const rdk_record *a, const rdk_record *b);

/* ---- figures.c: of one run ------------------------------------------------------------------- */

/* Attention: means over layers and heads of a probed step. Ratio: |dW_Q| / |dW_V|, mean over
 * layers. first: before the first update. last: of the end. */
typedef struct rdk_run_figures {
    bool diverged;
    double step;                              /* the last one that was logged */
    double initial_loss;                      /* at step 0: held out, else of the training batch */
    double loss, accuracy, sequence_accuracy; /* held out, at the end */
    double best_loss, best_step;              /* held out */
    double solved_at; /* step of the first evaluation with an accuracy of RDK_SOLVED */
    double entropy_first, entropy_last, entropy_min;
    double sat90_first, sat99_first, sat99_last;
    double ratio_first, ratio_last;
    double score_absmax_max, grad_norm_max; /* over the logged training steps */
    double chance_loss;                     /* ln of the possible answers */
} rdk_run_figures;

extern const rdk_run_figures rdk_no_figures; /* all NAN */

/* From the tables of a run, each NULL where there is none, and its run.json. A diverged run has no
 * figures of the end. */
rdk_run_figures rdk_run_figures_of(const rdk_table *metrics, const rdk_table *attention,
                                   const rdk_table *gradients, const rdk_record *about,
                                   bool diverged);
/* Is the evaluation there with which a run ends that is done, by its run.json? Else rows are lost:
 * RDK_EFORMAT names the file and the step. A run.json without a step passes. */
bool rdk_run_figures_whole(const rdk_table *metrics, const rdk_record *about, rdk_status *s);
/* Takes away what is said of the end. */
void rdk_run_figures_unend(rdk_run_figures *f);

/* The gradients of one probed step. query: |dW_Q|, mean over layers. ratio: mean over layers of
 * |dW_Q| / |dW_V|; NAN where a layer has no |dW_V| above 0. */
typedef struct rdk_gradient_step {
    double step, query, ratio;
} rdk_gradient_step;
/* The step whose rows begin at *row, which moves behind them. False at the end of gradients.csv. */
bool rdk_gradient_next(const rdk_table *gradients, size_t *row, rdk_gradient_step *out);

/* "12.3" and "0.4" of an interval: its half to two significant digits, its mean to as many places;
 * where the half is no help (0, fewer than two values) the mean to four digits, and half is "".
 * factor: of both, e.g. 100. */
enum { RDK_INTERVAL_TEXT = 32 };
void rdk_interval_texts(rdk_interval v, double factor, char mean[RDK_INTERVAL_TEXT],
                        char half[RDK_INTERVAL_TEXT]);

/* ---- rated.c: of several runs ---------------------------------------------------------------- */

/* A finished run among those that differ in learning rate and seed alone. */
typedef struct rdk_rated {
    size_t rate; /* its place among the rates, rising */
    uint64_t seed;
    const rdk_run_figures *figures;
} rdk_rated;

typedef struct rdk_best_rate {
    size_t rate;       /* n_rates where no run has a final loss */
    rdk_interval loss; /* of the runs there that did not diverge */
    size_t diverged;   /* runs there that did */
    bool at_end;       /* the smallest or the largest that was run: a better one may lie beyond */
} rdk_best_rate;

/* The rate at which the fewest runs diverged, and of those the one of the lowest mean final loss of
 * the others; the smaller where two are equal. room [n]. */
rdk_best_rate rdk_best_rate_of(const rdk_rated *runs, size_t n, size_t n_rates, double *room);

/* Sensitivity to the learning rate (rdk_lr_sensitivity): for each seed that has all rates which the
 * runs have (two or more), then over seeds. A diverged run counts as l0: the loss at chance, or at
 * the start of that seed's runs. room [n + n_rates]. */
rdk_interval rdk_sensitivity_of(const rdk_rated *runs, size_t n, size_t n_rates, bool from_start,
                                double *room);

typedef struct rdk_solved {
    double median; /* step; NAN where no more than half of the runs solved it */
    size_t solved, runs;
} rdk_solved;
/* Of solved_at of all runs: those that did not solve it come last, they are not left out. Sorts. */
rdk_solved rdk_solved_of(double *solved_at, size_t n);

#endif
