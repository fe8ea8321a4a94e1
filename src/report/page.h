/* SPDX-License-Identifier: MIT
 * The sections of a report. Each writes its HTML; where it does not apply, one line that says so.
 * Read next: page.c. */
#ifndef RDK_REPORT_PAGE_H
#define RDK_REPORT_PAGE_H

#include "figure.h"
#include "svg.h"

typedef void rdk_section(rdk_report *r, rdk_text *t);
rdk_section rdk_section_verdict, rdk_section_table, rdk_section_curves, rdk_section_attention,
    rdk_section_gradients, rdk_section_maps, rdk_section_rates, rdk_section_trajectory,
    rdk_section_metrics;
/* sec_start.c: a part of section 3, where d_k was varied. */
void rdk_start_figure(rdk_report *r, rdk_text *t);

/* ---- figures of a run, for intervals --------------------------------------------------------- */

/* At the start over all layers: std the root of the mean square, entropy the mean, of what was
 * measured and of what is predicted alike. */
rdk_figure_of rdk_run_std_start, rdk_run_std_theory, rdk_run_entropy_start, rdk_run_entropy_theory;
rdk_figure_of rdk_run_loss, rdk_run_accuracy, rdk_run_entropy_end, rdk_run_sat90_start,
    rdk_run_sat99_start, rdk_run_ds_median, rdk_run_ds_top5, rdk_run_ratio;
/* LR sensitivity of a series at a d_k, an interval over seeds; see rdk_sensitivity_of. */
rdk_interval rdk_rate_sensitivity(rdk_report *r, size_t series, size_t panel, bool from_start);

/* ---- words ----------------------------------------------------------------------------------- */

/* A link to the definition of a metric. */
void rdk_metric_link(rdk_text *t, const char *metric, const char *words);
/* "0.123 &plusmn; 0.004" by rdk_interval_texts, without the half where there is none. */
void rdk_interval_words(rdk_text *t, rdk_interval v);
/* commands.c: the command that makes the run or the grid, the build, the data. */
void rdk_report_commands(rdk_report *r, rdk_text *t);

#endif
