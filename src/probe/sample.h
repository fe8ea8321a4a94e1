/* SPDX-License-Identifier: MIT
 * Monte Carlo over softmax rows: a row that grows score by score, and averages over many samples.
 *
 * Invariant: sample i is a pure function of its setting and i, and samples are averaged in index
 * order: the same numbers for any number of threads.
 * Read next: sample.c. */
#ifndef RDK_PROBE_SAMPLE_H
#define RDK_PROBE_SAMPLE_H

#include "row.h"

/* ---- a row that grows ------------------------------------------------------------------------ */

typedef struct rdk_growing_row {
    size_t n;
    double max, sum, sum2; /* the scores' mean is 0, so the plain sum of squares does not cancel */
    rdk_row_sums s;
} rdk_growing_row;

void rdk_row_push(rdk_growing_row *r, double score);
double rdk_row_variance(const rdk_growing_row *r); /* over n */

/* ---- figures of a sample --------------------------------------------------------------------- */

/* What a sample gives: the averages of a tally (RDK_MEANS of them), then these. */
enum {
    RDK_FIGURE_STEIN = RDK_MEANS, /* sigma2 tr J - sum p s, expected 0 */
    RDK_FIGURE_P_MAX_ALL,         /* p_max over all rows, however short */
    RDK_FIGURES,
};

/* A row of scores of variance sigma2 into the sums that rdk_figures_mean divides. sigma2 NAN: no
 * identity holds for it. */
typedef struct rdk_figure_tally {
    rdk_tally tally;
    double stein, p_max_all;
} rdk_figure_tally;
void rdk_figures_add(rdk_figure_tally *t, const rdk_growing_row *r, double sigma2);
void rdk_figures_mean(const rdk_figure_tally *t, double mean[RDK_FIGURES]);

/* ---- many samples ---------------------------------------------------------------------------- */

/* Welford's update: mean, and m2 = the sum of squared deviations from it. */
typedef struct rdk_moments {
    size_t n;
    double mean[RDK_FIGURES], m2[RDK_FIGURES];
} rdk_moments;
double rdk_moments_error(const rdk_moments *m, int figure); /* standard error of the mean */

/* Draws sample `index`: figures [sets]. */
typedef void rdk_draw_sample(const void *setting, uint64_t index, double (*figures)[RDK_FIGURES]);

typedef struct rdk_sampler {
    rdk_draw_sample *draw;
    const void *setting;
    size_t sets;    /* rows of figures that a sample gives; at most RDK_SETS */
    size_t work;    /* numbers drawn a sample: are threads worth waking? */
    double *traces; /* [sets][stride] receives tr J of every sample, or NULL */
    size_t stride;
} rdk_sampler;
/* RDK_BLOCK: rows of figures drawn at once. */
enum { RDK_SETS = 32, RDK_BLOCK = 256 };

/* Takes `count` further samples, count * sets <= RDK_BLOCK, into moments [sets]. */
void rdk_sample_block(const rdk_sampler *s, rdk_moments *m, size_t count);
/* Takes so many that moments [sets] hold `samples` of them. */
void rdk_sample_all(const rdk_sampler *s, rdk_moments *m, size_t samples);
/* With their standard errors; traces: [m->n] of the set or NULL, sorted in place. n: scores of a
 * row where all rows have as many, else 0 (variance is then NAN). */
rdk_row_estimates rdk_estimates_of(const rdk_moments *m, double *traces, size_t n);

#endif
