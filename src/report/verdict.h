/* SPDX-License-Identifier: MIT
 * What the sentences of the verdict share. */
#ifndef RDK_REPORT_VERDICT_H
#define RDK_REPORT_VERDICT_H

#include "page.h"

/* The panel the sentences speak of: of those with the most series, the one of the widest d_k, where
 * scaling matters most. */
size_t rdk_verdict_panel(const rdk_report *r);
/* A series there, at its best rate; a figure of it. */
rdk_cell rdk_verdict_cell(const rdk_report *r, size_t series);
rdk_interval rdk_verdict_figure(rdk_report *r, size_t series, rdk_figure_of *figure);
void rdk_verdict_number(rdk_text *t, double x);
/* How many names a sentence has before it says how many more there are: "and 9 more". */
size_t rdk_verdict_most(const rdk_report *r);
void rdk_verdict_more(rdk_text *t, size_t more);
void rdk_verdict_name(rdk_text *t, const rdk_report *r, size_t series);
/* Does a lie below b as a whole? False where one of them is no interval. */
bool rdk_intervals_part(rdk_interval a, rdk_interval b);

/* Is there no rate at which the series learned? */
bool rdk_verdict_stayed(rdk_report *r, size_t series);
/* verdict_rates.c: the sensitivity to the learning rate. order: the n series that have a loss, the
 * best one first. */
void rdk_verdict_rates(rdk_report *r, rdk_text *t, const size_t *order, size_t n);
/* How many best rates are the smallest or the largest that was run. */
void rdk_verdict_rate_ends(rdk_report *r, rdk_text *t);

/* Sentences on the time before the first update. */
rdk_section rdk_verdict_start, rdk_verdict_gradient;
/* All that is said of a run alone. */
rdk_section rdk_verdict_alone;

#endif
