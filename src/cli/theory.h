/* SPDX-License-Identifier: MIT
 * The verb theory: what it is asked, what it measures, what it finds.
 *
 * Invariant: every number on the screen is an estimate of `theory` or a finding made of one, and
 * every finding is a row of the CSV.
 * Read next: theory.c, the verb; theory_measure.c; theory_findings.c; theory_screen.c. */
#ifndef RDK_CLI_THEORY_H
#define RDK_CLI_THEORY_H

#include "cli.h"

typedef struct rdk_theory_options {
    rdk_uint_list d_k, keys;
    uint64_t samples; /* 0: by rule */
    uint64_t d_model; /* 0: 4 d_k */
    uint64_t seed;
    int format; /* 0 text, 1 csv */
    uint32_t threads;
    char csv[RDK_PATH_TEXT];
} rdk_theory_options;

/* ---- what is measured ------------------------------------------------------------------------ */

enum { RDK_WAYS = 24, RDK_SIGMAS = 6 };

/* A way to score: the policies of src/nn/scaling.c, then two more kinds of QK-norm. */
typedef struct rdk_way {
    const char *name, *formula;
    rdk_dot_scale scale;
    double variance; /* of the scores, by formula */
} rdk_way;

/* q and k drawn, at one d_k and one number of keys. */
typedef struct rdk_theory_point {
    size_t d_k, keys, d_model, n_ways;
    rdk_way way[RDK_WAYS];
    rdk_row_estimates before, e[RDK_WAYS];
} rdk_theory_point;

/* Scores drawn, for one number of keys, at each of rdk_theory_sigma2. */
typedef struct rdk_theory_scores {
    size_t keys;
    rdk_row_estimates row[RDK_SIGMAS], causal[RDK_SIGMAS];
    rdk_expectation exact[RDK_SIGMAS];
} rdk_theory_scores;
extern const double rdk_theory_sigma2[RDK_SIGMAS];

/* ln Var(s) against ln d_k: weighted least squares. */
typedef struct rdk_slope {
    rdk_estimate measured;
    double formula; /* of the formula's values at the same d_k and weights; NAN: no slope */
} rdk_slope;

typedef struct rdk_findings rdk_findings;

typedef struct rdk_theory_results {
    const rdk_theory_options *options;
    rdk_theory_point *point;   /* [keys.n][d_k.n] */
    rdk_theory_scores *scores; /* [keys.n] */
    rdk_findings *findings;
} rdk_theory_results;

const rdk_theory_point *rdk_theory_at(const rdk_theory_results *r, size_t keys, size_t d_k);
/* Of a way, over the points with the keys-th number of keys from d_k = 32 on, or all of them where
 * fewer than 3 are that wide. NAN with fewer than 3. */
rdk_slope rdk_theory_slope(const rdk_theory_results *r, size_t keys, size_t way);
/* Var(s) of a way as measured, with the error that it should have (rdk_dot_variance_error). */
rdk_estimate rdk_theory_variance(const rdk_theory_point *p, size_t way);
/* How many numbers will be drawn. */
double rdk_theory_cost(const rdk_theory_options *o);
/* Free with rdk_theory_free either way. */
bool rdk_theory_measure(rdk_theory_results *r, const rdk_theory_options *o, rdk_status *s);
void rdk_theory_free(rdk_theory_results *r);

/* ---- what is found --------------------------------------------------------------------------- */

/* What a figure is held against. The order is that of the list of checks. */
typedef enum rdk_against {
    RDK_AGAINST_NOTHING,
    RDK_AGAINST_FORMULA,   /* Var(s) = c^2 d_k and its like */
    RDK_AGAINST_SLOPE,     /* its slope in d_k */
    RDK_AGAINST_STEIN,     /* sigma2 tr J = sum p s */
    RDK_AGAINST_EXACT,     /* quadrature */
    RDK_AGAINST_REFERENCE, /* another program's Monte Carlo */
    RDK_AGAINST_CLOSED,    /* a closed form, where it holds, against quadrature */
    RDK_AGAINST_HAND,      /* the hand table */
    RDK_AGAINSTS,
} rdk_against;

typedef struct rdk_finding {
    const char *table; /* "dot", "rows", "causal", "closed", "hand", "slope" */
    size_t d_k, keys;  /* 0: no such thing */
    const char *scale; /* or the name of a closed form; "" */
    double sigma2;     /* NAN: no such thing */
    const char *figure;
    rdk_estimate e; /* se NAN: no random number in it */
    rdk_against against;
    double expected;
    double z; /* distance in standard errors; without one, in units of what is allowed */
} rdk_finding;

struct rdk_findings {
    rdk_finding *at;
    size_t n, room, n_z; /* n_z: those that have a standard error */
    double bound;        /* on |z|: luck passes it in one run of a thousand */
};

/* The hand table: two keys with scores +x and -x. */
typedef struct rdk_hand_row {
    double x, p2, product, trace, entropy, theta; /* as printed in textbooks, to 10 digits */
} rdk_hand_row;
enum { RDK_HAND_ROWS = 3 };
extern const rdk_hand_row rdk_hand_table[RDK_HAND_ROWS];
rdk_hand_row rdk_hand_measure(double x);

bool rdk_theory_find(rdk_theory_results *r, rdk_status *s);
bool rdk_finding_is_off(const rdk_findings *f, const rdk_finding *one);
size_t rdk_findings_off(const rdk_findings *f);

/* ---- what is said ---------------------------------------------------------------------------- */

void rdk_theory_screen(FILE *out, const rdk_theory_results *r);
void rdk_theory_verdict(FILE *out, const rdk_theory_results *r);
void rdk_theory_csv(rdk_text *out, const rdk_findings *f);

/* Parts of the screen: theory_tables.c, theory_verdict.c. */
void rdk_theory_scores_alone(FILE *out, const rdk_theory_scores *t);
void rdk_theory_closed_forms(FILE *out, const rdk_theory_scores *t);
void rdk_theory_hand(FILE *out);
void rdk_theory_checks(FILE *out, const rdk_findings *f);

/* Lines of the table of softmax figures: its heading, seven values, estimates over their errors. */
enum { RDK_COLUMNS = 7 };
void rdk_theory_heading(FILE *out, const char *first);
void rdk_theory_figures(FILE *out, const char *label, const double x[RDK_COLUMNS]);
void rdk_theory_estimates(FILE *out, const char *label, const rdk_row_estimates *e);
/* "1/64", "16". buf returned. */
char *rdk_fraction(double x, char buf[RDK_NUMBER_TEXT]);
double rdk_theory_z(double value, double se, double expected);

extern const rdk_grammar rdk_theory_grammar;
int rdk_cli_theory(int argc, char **argv);

#endif
