/* SPDX-License-Identifier: MIT
 * The sums over one softmax row that every figure of the row follows from, in double, and the
 * averages over rows: the same for rows that were measured and for rows that theory draws.
 *
 * Invariant: the largest element is kept out of every sum, so that 1 - p_max keeps its digits where
 * p_max has rounded to 1.
 * Read next: row.c, tally.c. */
#ifndef RDK_PROBE_ROW_H
#define RDK_PROBE_ROW_H

#include <rootdk/probe.h>

/* With w = exp(s - max): R = sum w, A = sum w (s - max), B2 = sum w^2, B3 = sum w^3. */
typedef struct rdk_row_sums {
    double rest, a, b2, b3;
} rdk_row_sums;

rdk_row_figures rdk_row_figures_of(const rdk_row_sums *s);

/* Which rows count for what (docs/metrics.md); the only place that knows. n: keys that a row sees;
 * longest: the largest such n of the rows at hand. */
/* At least one key, and two outcomes or more: one that is alone has p = 1 whatever its score. For
 * entropy_norm and the figures of dL/ds. */
bool rdk_row_has_choice(size_t n, bool sink);
/* In short rows p_max is high although nothing saturates. For p_max and saturation. */
bool rdk_row_is_long(size_t n, size_t longest);

/* What is averaged over rows. score_std and jacobian_frob are roots of the first and the last. */
enum {
    RDK_MEAN_VARIANCE,
    RDK_MEAN_ENTROPY,
    RDK_MEAN_ENTROPY_NORM,
    RDK_MEAN_P_MAX,
    RDK_MEAN_SAT90,
    RDK_MEAN_SAT99,
    RDK_MEAN_TRACE,
    RDK_MEAN_FROB2,
    RDK_MEANS,
};

/* Sums over rows, and how many rows went into them. */
typedef struct rdk_tally {
    size_t longest;
    size_t rows, rows_two;         /* with n >= 1, n >= 2 */
    size_t rows_choice, rows_long; /* see above */
    double sum[RDK_MEANS];
} rdk_tally;

/* longest: the largest n that will be added. */
rdk_tally rdk_tally_begin(size_t longest);
/* A row of n keys; n = 0 counts for nothing. sink: f is about n + 1 outcomes. variance: of the
 * scores of the keys. */
void rdk_tally_add(rdk_tally *t, size_t n, bool sink, double variance, const rdk_row_figures *f);
/* Each sum over its own number of rows; NAN where none counts. */
void rdk_tally_means(const rdk_tally *t, double mean[RDK_MEANS]);

#endif
