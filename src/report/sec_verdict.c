/* SPDX-License-Identifier: MIT
 * Section 0: the verdict, a few sentences made from the measured numbers, then the commands and the
 * build.
 *
 * Invariant: no sentence claims what its numbers do not carry: differences are claimed only where
 * intervals part, and a missing effect is said as such.
 * Read next: sec_table.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page.h"

/* The panel the sentences speak of: of those with the most series, the one of the widest d_k, where
 * scaling matters most. */
static size_t widest(const rdk_report *r)
{
    size_t best = 0, most = 0;
    for (size_t p = 0; p < r->n_panels; p++) {
        size_t n = 0;
        for (size_t s = 0; s < r->n_series; s++) {
            rdk_cell c = {s, p, RDK_BEST_RATE};
            n += rdk_cell_runs(r, &c, NULL) > 0;
        }
        if (n >= most) best = p;
        if (n > most) most = n;
    }
    return best;
}

static rdk_cell best_cell(size_t series, size_t panel)
{
    return (rdk_cell){series, panel, RDK_BEST_RATE};
}

static rdk_interval figure_of(rdk_report *r, size_t series, rdk_figure_of *figure)
{
    rdk_cell c = best_cell(series, widest(r));
    return rdk_cell_interval(r, &c, figure);
}

static void number(rdk_text *t, double x)
{
    char text[RDK_READABLE];
    if (isfinite(x) && fabs(x) >= 1e-3 && fabs(x) < 1000)
        snprintf(text, sizeof text, "%.3g", x);
    else
        rdk_readable(x, text);
    rdk_text_add(t, "%s", text);
}

static void name(rdk_text *t, const rdk_report *r, size_t series)
{
    rdk_text_add(t, "<b>");
    rdk_html(t, r->series[series]);
    rdk_text_add(t, "</b>");
}

/* ---- how it started -------------------------------------------------------------------------- */

static void start_sentence(rdk_report *r, rdk_text *t)
{
    size_t told = 0;
    for (size_t s = 0; s < r->n_series; s++) {
        rdk_interval e = figure_of(r, s, rdk_run_entropy_start);
        rdk_cell c = best_cell(s, widest(r));
        const rdk_report_run *run = rdk_cell_example(r, &c);
        if (!e.n || !run) continue;
        if (!told++)
            rdk_text_add(t,
                         "<li>Before the first update, at d_k = %zu, the entropy of attention "
                         "over that of a uniform one was ",
                         r->d_k[widest(r)]);
        else
            rdk_text_add(t, ", ");
        number(t, e.mean);
        rdk_text_add(t, " under ");
        name(t, r, s);
        if (isfinite(run->entropy_theory)) {
            rdk_text_add(t, " (theory: ");
            number(t, run->entropy_theory);
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
        double e = figure_of(r, s, rdk_run_entropy_start).mean;
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

static void gradient_sentence(rdk_report *r, rdk_text *t)
{
    size_t least, most;
    if (!find_pair(r, &least, &most)) return;
    rdk_interval a = figure_of(r, least, rdk_run_ds_median);
    rdk_interval b = figure_of(r, most, rdk_run_ds_median);
    rdk_interval share_a = figure_of(r, least, rdk_run_ds_top5);
    rdk_interval share_b = figure_of(r, most, rdk_run_ds_top5);
    if (!(b.mean > 0) || !(a.mean >= 0)) return;
    double times = a.mean / b.mean;
    rdk_text_add(t, "<li>There the typical row of scores (the median) under ");
    name(t, r, least);
    rdk_text_add(t, " got ");
    number(t, times);
    rdk_text_add(t, " times the gradient that it got under ");
    name(t, r, most);
    rdk_text_add(t, times > 0.8 ? ": no smaller gradient is to be seen in the median"
                                : ": most rows are saturated and learn little");
    if (share_a.n && share_b.n)
        rdk_text_add(t,
                     ". Its largest 5&nbsp;%% of rows held %.0f&nbsp;%% of the squared gradient, "
                     "against %.0f&nbsp;%%",
                     100 * share_a.mean, 100 * share_b.mean);
    rdk_text_add(t, ".</li>\n");
}

/* ---- how it ended ---------------------------------------------------------------------------- */

/* Series by final loss, best first; those without one last. Their number with a loss. */
static size_t rank(rdk_report *r, size_t *order)
{
    size_t n = 0, with = 0;
    for (size_t s = 0; s < r->n_series; s++) {
        rdk_cell c = best_cell(s, widest(r));
        if (!rdk_cell_runs(r, &c, NULL)) continue;
        double loss = figure_of(r, s, rdk_run_loss).mean;
        size_t at = n++;
        while (at > 0 && !isnan(loss)) {
            double before = figure_of(r, order[at - 1], rdk_run_loss).mean;
            if (before <= loss) break;
            order[at] = order[at - 1];
            at--;
        }
        order[at] = s;
        with += isfinite(loss);
    }
    return with;
}

/* No further above chance than this share of the way to 1: the verdict of a run has the same. */
static const double NEAR_CHANCE = 0.10;

/* Is there no rate at which the series learned? */
static bool stayed(rdk_report *r, size_t series)
{
    rdk_cell c = best_cell(series, widest(r));
    const rdk_report_run *any = rdk_cell_example(r, &c);
    double chance = any ? any->chance_accuracy : NAN;
    double accuracy = rdk_cell_interval(r, &c, rdk_run_accuracy).mean;
    return accuracy < chance + NEAR_CHANCE * (1 - chance);
}

static void end_sentence(rdk_report *r, rdk_text *t, const size_t *order, size_t n)
{
    rdk_cell c = best_cell(order[0], widest(r));
    const rdk_report_run *any = rdk_cell_example(r, &c);
    rdk_text_add(t, "<li>Held-out loss at the end%s: ",
                 r->n_rates > 1 ? ", each at its best learning rate" : "");
    for (size_t k = 0; k < n; k++) {
        rdk_interval loss = figure_of(r, order[k], rdk_run_loss);
        rdk_interval accuracy = figure_of(r, order[k], rdk_run_accuracy);
        rdk_text_add(t, k ? ", " : "");
        name(t, r, order[k]);
        rdk_text_add(t, " ");
        rdk_interval_words(t, loss);
        rdk_text_add(t, " (%.1f&nbsp;%% right%s)", 100 * accuracy.mean,
                     stayed(r, order[k]) ? ", near chance" : "");
    }
    if (any && isfinite(any->chance_loss)) {
        rdk_text_add(t, "; knowing nothing but the form of the task: ");
        number(t, any->chance_loss);
    }
    rdk_text_add(t, ".</li>\n");
}

static bool part(rdk_interval a, rdk_interval b)
{
    return a.n > 1 && b.n > 1 && a.mean + a.half < b.mean - b.half;
}

/* The names of those whose interval does, or does not, lie apart from the best one. */
static size_t list_others(rdk_report *r, rdk_text *t, const size_t *order, size_t n, bool apart)
{
    rdk_interval best = figure_of(r, order[0], rdk_run_loss);
    size_t told = 0;
    for (size_t k = 1; k < n; k++) {
        rdk_interval loss = figure_of(r, order[k], rdk_run_loss);
        if (part(best, loss) != apart) continue;
        if (t) {
            rdk_text_add(t, told ? ", " : "");
            name(t, r, order[k]);
        }
        told++;
    }
    return told;
}

static void compare_sentence(rdk_report *r, rdk_text *t, const size_t *order, size_t n)
{
    if (n < 2) return;
    if (figure_of(r, order[0], rdk_run_loss).n < 2) {
        rdk_text_add(t, "<li>With one seed there is no interval: whether these losses differ by "
                        "more than chance cannot be said.</li>\n");
        return;
    }
    size_t apart = list_others(r, NULL, order, n, true), close = n - 1 - apart;
    rdk_text_add(t, "<li>");
    if (apart) {
        name(t, r, order[0]);
        rdk_text_add(t, " is better than ");
        list_others(r, t, order, n, true);
        rdk_text_add(t, ": their 95&nbsp;%% intervals do not overlap");
    }
    if (close) {
        rdk_text_add(t, apart ? "; between it and " : "No difference is shown between ");
        if (!apart) {
            name(t, r, order[0]);
            rdk_text_add(t, " and ");
        }
        list_others(r, t, order, n, false);
        rdk_text_add(t, apart ? " no difference is shown" : ": the intervals overlap");
    }
    rdk_text_add(t, ".</li>\n");
}

/* ---- learning rates -------------------------------------------------------------------------- */

static void rate_sentence(rdk_report *r, rdk_text *t)
{
    size_t told = 0;
    if (r->n_rates < 2) return;
    for (size_t s = 0; s < r->n_series; s++) {
        rdk_interval v = rdk_rate_sensitivity(r, s, widest(r), false);
        if (!v.n) continue;
        rdk_text_add(t,
                     told++ ? ", "
                            : "<li>Over %zu learning rates, sensitivity (mean loss above "
                              "the best one, no more than ln&nbsp;V) is ",
                     r->n_rates);
        rdk_interval_words(t, v);
        rdk_text_add(t, " for ");
        name(t, r, s);
        if (stayed(r, s)) rdk_text_add(t, " (near chance even at its best)");
    }
    rdk_text_add(t,
                 told ? ": among those that learn, the smaller, the wider the window.</li>\n" : "");
}

/* ---- a run alone ----------------------------------------------------------------------------- */

static void alone(rdk_report *r, rdk_text *t)
{
    const rdk_report_run *run = &r->runs[0];
    rdk_text_add(t, "<li>");
    if (run->diverged) {
        rdk_text_add(t, "The run diverged at step %.0f: a loss or a gradient was not finite",
                     run->died_step);
    } else if (isfinite(run->loss)) {
        rdk_text_add(t, "After %.0f steps the held-out loss is ", run->step);
        number(t, run->loss);
        rdk_text_add(t, ", %.2f&nbsp;%% of targets right", 100 * run->accuracy);
        if (isfinite(run->chance_loss)) {
            rdk_text_add(t, " (knowing nothing: ");
            number(t, run->chance_loss);
            rdk_text_add(t, ", %.1f&nbsp;%%)", 100 * run->chance_accuracy);
        }
        if (isfinite(run->solved_step))
            rdk_text_add(t, "; 99&nbsp;%% right at step %.0f", run->solved_step);
    } else {
        rdk_text_add(t, "There is no evaluation yet");
    }
    rdk_text_add(t, ".</li>\n");
    if (isfinite(run->entropy_end) && run->step > 0) {
        rdk_text_add(t, "<li>Attention went from H/ln n ");
        number(t, run->entropy_start);
        rdk_text_add(t, " to ");
        number(t, run->entropy_end);
        rdk_text_add(t, ", rows above p = 0.99 from %.1f&nbsp;%% to %.1f&nbsp;%%",
                     100 * run->sat99_start, 100 * run->sat99_end);
        if (run->ratio.n) {
            rdk_text_add(t, ", |dW_Q|/|dW_V| from ");
            number(t, run->start.ratio);
            rdk_text_add(t, " to ");
            number(t, run->ratio.y[run->ratio.n - 1]);
        }
        rdk_text_add(t, ".</li>\n");
    }
    rdk_text_add(t, "<li>One run shows what happened once; what the scaling changed needs an "
                    "ablation with several seeds.</li>\n");
}

/* ---- what cannot be concluded ---------------------------------------------------------------- */

static void limits(rdk_report *r, rdk_text *t)
{
    size_t unfinished = 0, diverged = 0;
    for (size_t i = 0; i < r->n_runs; i++) {
        unfinished += !r->runs[i].finished;
        diverged += r->runs[i].diverged;
    }
    if (!r->ablation && !unfinished) return;
    rdk_text_add(t, "<li>");
    if (r->ablation) {
        rdk_text_add(t, "%zu of %zu runs diverged. ", diverged, r->n_runs);
        if (r->n_seeds > 1 && r->n_seeds < 5)
            rdk_text_add(t,
                         "%zu seeds: fewer than five leave wide intervals, and what does not "
                         "differ here may still differ. ",
                         r->n_seeds);
        if (r->n_rates < 2)
            rdk_text_add(t,
                         "One learning rate: which scaling is better at its own best rate cannot "
                         "be concluded. ");
    }
    if (unfinished)
        rdk_text_add(t, "%zu of %zu runs %s not finished: these are figures so far. ", unfinished,
                     r->n_runs, unfinished == 1 ? "is" : "are");
    rdk_text_add(t, "</li>\n");
}

/* ---- all of it ------------------------------------------------------------------------------- */

void rdk_section_verdict(rdk_report *r, rdk_text *t)
{
    size_t *order = rdk_report_alloc(r, r->n_series, sizeof *order);
    if (!order) return;
    rdk_text_add(t, "<ul class=\"verdict\">\n");
    start_sentence(r, t);
    gradient_sentence(r, t);
    if (r->ablation) {
        size_t n = rank(r, order);
        if (n) end_sentence(r, t, order, n);
        compare_sentence(r, t, order, n);
        rate_sentence(r, t);
    } else {
        alone(r, t);
    }
    limits(r, t);
    rdk_text_add(t, "</ul>\n");
    rdk_report_commands(r, t);
    if (r->notes.size) rdk_text_add(t, "<ul class=\"notes\">\n%s</ul>\n", r->notes.data);
}
