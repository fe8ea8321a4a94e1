/* SPDX-License-Identifier: MIT
 * Words and figures that several sections share. Read next: page.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page.h"

double rdk_run_loss(const rdk_report_run *run)
{
    return run->loss;
}

double rdk_run_accuracy(const rdk_report_run *run)
{
    return run->accuracy;
}

double rdk_run_solved_step(const rdk_report_run *run)
{
    return run->solved_step;
}

double rdk_run_entropy_start(const rdk_report_run *run)
{
    return run->entropy_start;
}

double rdk_run_entropy_end(const rdk_report_run *run)
{
    return run->entropy_end;
}

double rdk_run_sat99_start(const rdk_report_run *run)
{
    return run->sat99_start;
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
    return run->start.ratio;
}

static double l0_of(const rdk_report_run *run, bool from_initial)
{
    return from_initial ? run->initial_loss : log(run->vocabulary);
}

/* Of one seed: the losses of all rates of the series at this d_k. NAN where a rate is missing. */
static double sensitivity_of_seed(rdk_report *r, const rdk_report_run *like, bool from_initial)
{
    double *loss = rdk_report_alloc(r, r->n_rates, sizeof *loss), l0 = l0_of(like, from_initial);
    size_t n = 0;
    for (size_t i = 0; loss && i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        if (run->series != like->series || run->panel != like->panel ||
            run->saved.config.seed != like->saved.config.seed || !run->finished)
            continue;
        if (n < r->n_rates) loss[n++] = run->loss;
    }
    return n == r->n_rates ? rdk_lr_sensitivity(loss, n, l0) : NAN;
}

rdk_interval rdk_rate_sensitivity(rdk_report *r, size_t series, size_t panel, bool from_initial)
{
    double *x = rdk_report_alloc(r, r->n_runs, sizeof *x);
    size_t n = 0;
    for (size_t i = 0; x && i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        if (run->series != series || run->panel != panel || run->rate != 0) continue;
        double value = sensitivity_of_seed(r, run, from_initial);
        if (isfinite(value)) x[n++] = value;
    }
    return rdk_interval_of(x, n);
}

void rdk_metric_link(rdk_text *t, const char *metric, const char *words)
{
    rdk_text_add(t, "<a class=\"metric\" href=\"#m-%s\">%s</a>", metric, words);
}

/* The half to two digits, and the mean to as many places. */
void rdk_interval_words(rdk_text *t, rdk_interval v)
{
    char mean[RDK_READABLE], half[RDK_READABLE];
    if (v.n < 2 || !isfinite(v.half) || v.half <= 0 || fabs(v.mean) >= 1e6) {
        rdk_text_add(t, "%s", rdk_readable(v.mean, mean));
        return;
    }
    int places = 1 - (int)floor(log10(v.half));
    if (places > 6) {
        rdk_readable(v.mean, mean);
        rdk_readable(v.half, half);
    } else {
        snprintf(mean, sizeof mean, "%.*f", places < 0 ? 0 : places, v.mean);
        snprintf(half, sizeof half, "%.*f", places < 0 ? 0 : places, v.half);
    }
    rdk_text_add(t, "%s&nbsp;&plusmn;&nbsp;%s", mean, half);
}
