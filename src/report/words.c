/* SPDX-License-Identifier: MIT
 * Words and figures that several sections share.
 * Read next: page.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page.h"

/* Of the end: only where it is one. */
double rdk_run_loss(const rdk_report_run *run)
{
    return run->ended ? run->figures.loss : NAN;
}

double rdk_run_accuracy(const rdk_report_run *run)
{
    return run->ended ? run->figures.accuracy : NAN;
}

double rdk_run_entropy_end(const rdk_report_run *run)
{
    return run->ended ? run->figures.entropy_last : NAN;
}

double rdk_run_entropy_start(const rdk_report_run *run)
{
    return run->figures.entropy_first;
}

double rdk_run_entropy_theory(const rdk_report_run *run)
{
    double sum = 0;
    for (size_t l = 0; l < run->layers; l++) sum += run->entropy_theory[l];
    return run->layers ? sum / (double)run->layers : NAN;
}

static double root_mean_square(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return n ? sqrt(sum / (double)n) : NAN;
}

double rdk_run_std_start(const rdk_report_run *run)
{
    return root_mean_square(run->std_start, run->layers);
}

double rdk_run_std_theory(const rdk_report_run *run)
{
    return root_mean_square(run->std_theory, run->layers);
}

double rdk_run_sat90_start(const rdk_report_run *run)
{
    return run->figures.sat90_first;
}

double rdk_run_sat99_start(const rdk_report_run *run)
{
    return run->figures.sat99_first;
}

double rdk_run_ds_median(const rdk_report_run *run)
{
    return run->start.ds_median;
}

double rdk_run_ds_top5(const rdk_report_run *run)
{
    return run->start.ds_top5;
}

double rdk_run_ratio(const rdk_report_run *run)
{
    return run->figures.ratio_first;
}

rdk_interval rdk_rate_sensitivity(rdk_report *r, size_t series, size_t panel, bool from_start)
{
    size_t n;
    double *room;
    rdk_rated *runs = rdk_report_rated(r, series, panel, &n, &room);
    return runs ? rdk_sensitivity_of(runs, n, r->n_rates, from_start, room)
                : (rdk_interval){NAN, NAN, 0};
}

void rdk_metric_link(rdk_text *t, const char *metric, const char *words)
{
    rdk_text_add(t, "<a class=\"metric\" href=\"#m-%s\">%s</a>", metric, words);
}

void rdk_interval_words(rdk_text *t, rdk_interval v)
{
    char mean[RDK_INTERVAL_TEXT], half[RDK_INTERVAL_TEXT];
    rdk_interval_texts(v, 1, mean, half);
    rdk_text_add(t, *half ? "%s&nbsp;&plusmn;&nbsp;%s" : "%s", mean, half);
}
