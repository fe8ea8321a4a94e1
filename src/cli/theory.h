/* SPDX-License-Identifier: MIT
 * The verb theory: what it is asked and how it says what src/probe measured and found.
 *
 * Invariant: every number on the screen is an estimate or a finding of rdk_theory_results, or a
 * formula; every finding is a row of the CSV.
 * Read next: theory.c, the verb; src/probe/measure.c, findings.c; theory_screen.c. */
#ifndef RDK_CLI_THEORY_H
#define RDK_CLI_THEORY_H

#include "cli.h"

void rdk_theory_screen(FILE *out, const rdk_theory_results *r);
void rdk_theory_verdict(FILE *out, const rdk_theory_results *r);

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

#endif
