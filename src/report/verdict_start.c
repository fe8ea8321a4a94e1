/* SPDX-License-Identifier: MIT
 * The sentences of the verdict on the start: entropy, the gradient at the scores, saturation.
 *
 * Invariant: "most" is said of more than half, a difference only where intervals part.
 * Read next: sec_verdict.c. */
#include <math.h>
#include <string.h>

#include "verdict.h"

/* ---- how it started -------------------------------------------------------------------------- */

void rdk_verdict_start(rdk_report *r, rdk_text *t)
{
    size_t told = 0;
    for (size_t s = 0; s < r->n_series; s++) {
        rdk_interval e = rdk_verdict_figure(r, s, rdk_run_entropy_start);
        rdk_cell c = rdk_verdict_cell(r, s);
        const rdk_report_run *run = rdk_cell_example(r, &c);
        if (!e.n || !run) continue;
        if (!told++)
            rdk_text_add(t,
                         "<li>Before the first update, at d_k = %zu, the entropy of attention "
                         "over that of a uniform one was ",
                         r->d_k[rdk_verdict_panel(r)]);
        else
            rdk_text_add(t, ", ");
        rdk_verdict_number(t, e.mean);
        rdk_text_add(t, " under ");
        rdk_verdict_name(t, r, s);
        double theory = rdk_run_entropy_theory(run);
        if (isfinite(theory)) {
            rdk_text_add(t, " (theory: ");
            rdk_verdict_number(t, theory);
            rdk_text_add(t, ")");
        }
    }
    rdk_text_add(t, told ? "; 1 is uniform, 0 is a single key.</li>\n" : "");
}

/* ---- the gradient at the scores -------------------------------------------------------------- */

/* The series that starts with the least entropy, and the one it is held against: sqrt, or that of
 * the most. */
static bool find_pair(rdk_report *r, size_t *least, size_t *most)
{
    double low = INFINITY, high = -INFINITY;
    *least = *most = 0;
    for (size_t s = 0; s < r->n_series; s++) {
        double e = rdk_verdict_figure(r, s, rdk_run_entropy_start).mean;
        if (e < low) {
            low = e;
            *least = s;
        }
        if (e > high) {
            high = e;
            *most = s;
        }
    }
    for (size_t s = 0; s < r->n_series; s++)
        if (!strcmp(r->series[s], "sqrt") && s != *least) *most = s;
    return *least != *most;
}

/* "12 % had a largest p above 0.9, 3 % above 0.99": of the rows before the first update. */
static bool saturation_words(rdk_report *r, rdk_text *t, size_t series, double *sat90)
{
    double sat99 = rdk_verdict_figure(r, series, rdk_run_sat99_start).mean;
    *sat90 = rdk_verdict_figure(r, series, rdk_run_sat90_start).mean;
    if (!isfinite(*sat90) || !isfinite(sat99)) return false;
    rdk_text_add(t, "%.1f&nbsp;%% had a largest p above 0.9 (%.1f&nbsp;%% above 0.99) under ",
                 100 * *sat90, 100 * sat99);
    rdk_verdict_name(t, r, series);
    return true;
}

static void saturation_sentence(rdk_report *r, rdk_text *t, size_t least, size_t most)
{
    double under_least, under_most;
    rdk_text words = {0};
    if (saturation_words(r, &words, least, &under_least)) {
        rdk_text_add(&words, under_least > 0.5 ? ", so most are saturated; " : ", ");
        if (saturation_words(r, &words, most, &under_most) && rdk_text_ok(&words, r->status))
            rdk_text_add(t, ". Of all rows %s", words.data);
    }
    rdk_text_free(&words);
}

void rdk_verdict_gradient(rdk_report *r, rdk_text *t)
{
    size_t least, most;
    if (!find_pair(r, &least, &most)) return;
    rdk_interval a = rdk_verdict_figure(r, least, rdk_run_ds_median);
    rdk_interval b = rdk_verdict_figure(r, most, rdk_run_ds_median);
    rdk_interval share_a = rdk_verdict_figure(r, least, rdk_run_ds_top5);
    rdk_interval share_b = rdk_verdict_figure(r, most, rdk_run_ds_top5);
    if (!(b.mean > 0) || !(a.mean >= 0)) return;
    rdk_text_add(t, "<li>There the typical row of scores (the median) under ");
    rdk_verdict_name(t, r, least);
    rdk_text_add(t, " got ");
    rdk_verdict_number(t, a.mean / b.mean);
    rdk_text_add(t, " times the gradient that it got under ");
    rdk_verdict_name(t, r, most);
    if (a.n < 2 || b.n < 2)
        rdk_text_add(t, ", a ratio without an interval");
    else
        rdk_text_add(t, rdk_intervals_part(a, b) ? ", a smaller one: the intervals do not overlap"
                        : rdk_intervals_part(b, a)
                            ? ", a larger one: the intervals do not overlap"
                            : ", no difference that is shown: the intervals overlap");
    saturation_sentence(r, t, least, most);
    if (share_a.n && share_b.n)
        rdk_text_add(t,
                     ". The largest 5&nbsp;%% of rows held %.0f&nbsp;%% of the squared gradient, "
                     "against %.0f&nbsp;%%",
                     100 * share_a.mean, 100 * share_b.mean);
    rdk_text_add(t, ".</li>\n");
}
