/* SPDX-License-Identifier: MIT
 * The sentences of the verdict on the start: entropy, the gradient at the scores, saturation.
 *
 * Invariant: "most" is said of more than half, a difference only where intervals part.
 * Read next: sec_verdict.c. */
#include <math.h>
#include <string.h>

#include "verdict.h"

/* ---- how it started -------------------------------------------------------------------------- */

/* Of a layer, the mean over the runs of a series. */
static double layer_entropy(const rdk_report *r, const rdk_cell *c, size_t layer)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        if (!rdk_cell_has(c, run) || layer >= run->layers) continue;
        const rdk_curve *e = &run->entropy[layer];
        if (!e->n || e->x[0] != 0 || !isfinite(e->y[0])) continue;
        sum += e->y[0];
        n++;
    }
    return n ? sum / (double)n : NAN;
}

/* A mean over layers that differ hides the one that is saturated: each by itself, or the extremes
 * of many. */
static void layers_words(const rdk_report *r, rdk_text *t, const rdk_cell *c, size_t layers)
{
    enum { FEW = 4 };
    size_t low = 0, high = 0, told = 0;
    for (size_t l = 1; l < layers; l++) {
        if (layer_entropy(r, c, l) < layer_entropy(r, c, low)) low = l;
        if (layer_entropy(r, c, l) > layer_entropy(r, c, high)) high = l;
    }
    for (size_t l = 0; l < layers; l++) {
        if (layers > FEW && l != low && l != high) continue;
        rdk_text_add(t, "%slayer %zu: ", told++ ? ", " : "", l);
        rdk_verdict_number(t, layer_entropy(r, c, l));
    }
    if (layers > FEW) rdk_text_add(t, ", the others between");
}

void rdk_verdict_start(rdk_report *r, rdk_text *t)
{
    size_t told = 0, more = 0;
    for (size_t s = 0; s < r->n_series; s++) {
        rdk_interval e = rdk_verdict_figure(r, s, rdk_run_entropy_start);
        rdk_cell c = rdk_verdict_cell(r, s);
        const rdk_report_run *run = rdk_cell_example(r, &c);
        if (!e.n || !run) continue;
        if (told == rdk_verdict_most(r)) {
            more++;
            continue;
        }
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
        bool layers = run->saved.config.model.scale_layers[0] && run->layers > 1;
        if (isfinite(theory)) rdk_text_add(t, " (theory: ");
        if (isfinite(theory)) rdk_verdict_number(t, theory);
        if (layers) rdk_text_add(t, isfinite(theory) ? "; " : " (");
        if (layers) layers_words(r, t, &c, run->layers);
        if (layers || isfinite(theory)) rdk_text_add(t, ")");
    }
    if (more) rdk_text_add(t, " (%zu more: see the table)", more);
    rdk_text_add(t, told ? "; 1 is uniform, 0 is a single key.</li>\n" : "");
}

/* ---- the gradient at the scores -------------------------------------------------------------- */

/* What a series has beside its scaling: ", precision bf16", or nothing. */
static const char *beside_scaling(const char *series)
{
    return series + strcspn(series, ",");
}

static bool is_sqrt(const char *series)
{
    static const char name[] = "sqrt";
    return strcspn(series, ",") == strlen(name) && !strncmp(series, name, strlen(name));
}

/* Differences of entropy / ln n that are none here. */
static const double alike = 0.01;

/* Of the series that start as sharp as any, the plainest; false where none was measured. */
static bool find_sharpest(rdk_report *r, size_t *at)
{
    double low = INFINITY;
    for (size_t s = 0; s < r->n_series; s++)
        low = fmin(low, rdk_verdict_figure(r, s, rdk_run_entropy_start).mean);
    size_t shortest = SIZE_MAX;
    for (size_t s = 0; s < r->n_series; s++) {
        size_t length = strlen(r->series[s]);
        if (!(rdk_verdict_figure(r, s, rdk_run_entropy_start).mean <= low + alike) ||
            length >= shortest)
            continue;
        shortest = length;
        *at = s;
    }
    return shortest < SIZE_MAX;
}

/* How well a series that starts softer by so much is held against the sharpest, of which `beside`
 * is: best sqrt with all else alike, then the plainest sqrt, then what starts softest. */
static double standing(const char *name, const char *beside, double softer)
{
    static const double most = 1; /* entropy / ln n lies within 0 and 1 */
    double plain = alike / (double)strlen(name);
    if (!is_sqrt(name)) return softer + plain;
    return strcmp(beside_scaling(name), beside) ? 2 * most + plain : 3 * most;
}

/* The two that are told of; false where nothing starts softer than the sharpest. */
static bool find_pair(rdk_report *r, size_t *least, size_t *most)
{
    if (!find_sharpest(r, least)) return false;
    const char *beside = beside_scaling(r->series[*least]);
    const double low = rdk_verdict_figure(r, *least, rdk_run_entropy_start).mean;
    double best = 0;
    for (size_t s = 0; s < r->n_series; s++) {
        double softer = rdk_verdict_figure(r, s, rdk_run_entropy_start).mean - low;
        double rank = standing(r->series[s], beside, softer);
        if (!(softer > alike) || rank <= best) continue;
        best = rank;
        *most = s;
    }
    return best > 0;
}

/* "3 % (12 %) under sqrt": of the rows before the first update those with a largest p above 0.99,
 * the saturated ones, and above 0.9. */
static bool saturation_words(rdk_report *r, rdk_text *t, size_t series, bool first, double *share)
{
    double sat90 = rdk_verdict_figure(r, series, rdk_run_sat90_start).mean;
    *share = rdk_verdict_figure(r, series, rdk_run_sat99_start).mean;
    if (!isfinite(*share) || !isfinite(sat90)) return false;
    rdk_text_add(t, "%.1f&nbsp;%%%s (%.1f&nbsp;%%%s) under ", 100 * *share,
                 first ? " were saturated, their largest p above 0.99" : "", 100 * sat90,
                 first ? " above 0.9" : "");
    rdk_verdict_name(t, r, series);
    return true;
}

static void saturation_sentence(rdk_report *r, rdk_text *t, size_t least, size_t most)
{
    double under_least, under_most;
    rdk_text words = {0};
    if (saturation_words(r, &words, least, true, &under_least)) {
        rdk_text_add(&words, under_least > 0.5 ? ", so most of them; " : ", ");
        if (saturation_words(r, &words, most, false, &under_most) && rdk_text_ok(&words, r->status))
            rdk_text_add(t, ". Of all rows %s", words.data);
    }
    rdk_text_free(&words);
}

void rdk_verdict_gradient(rdk_report *r, rdk_text *t)
{
    size_t least = 0, most = 0;
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
