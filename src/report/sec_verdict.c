/* SPDX-License-Identifier: MIT
 * Section 0: the verdict, a few sentences made from the measured numbers, then the commands and the
 * build.
 *
 * Invariant: no sentence claims what its numbers do not carry: differences are claimed only where
 * intervals part, and a missing effect is said as such.
 * Read next: sec_table.c. */
#include <math.h>
#include <stdio.h>

#include "verdict.h"

/* ---- how it ended ---------------------------------------------------------------------------- */

/* Series by final loss, best first; those without one last. Their number with a loss. */
static size_t rank(rdk_report *r, size_t *order)
{
    size_t n = 0, with = 0;
    for (size_t s = 0; s < r->n_series; s++) {
        rdk_cell c = rdk_verdict_cell(r, s);
        if (!rdk_cell_runs(r, &c, NULL)) continue;
        double loss = rdk_verdict_figure(r, s, rdk_run_loss).mean;
        size_t at = n++;
        while (at > 0 && !isnan(loss)) {
            double before = rdk_verdict_figure(r, order[at - 1], rdk_run_loss).mean;
            if (before <= loss) break;
            order[at] = order[at - 1];
            at--;
        }
        order[at] = s;
        with += isfinite(loss);
    }
    return with;
}

static void end_sentence(rdk_report *r, rdk_text *t, const size_t *order, size_t n)
{
    rdk_cell c = rdk_verdict_cell(r, order[0]);
    const rdk_report_run *any = rdk_cell_example(r, &c);
    rdk_text_add(t, "<li>Held-out loss at the end");
    if (r->n_panels > 1) rdk_text_add(t, ", at d_k = %zu", r->d_k[rdk_verdict_panel(r)]);
    rdk_text_add(t, "%s: ", r->n_rates > 1 ? ", each at its best learning rate" : "");
    size_t most = n <= rdk_verdict_most(r) ? n : rdk_verdict_most(r);
    for (size_t k = 0; k < most; k++) {
        rdk_interval loss = rdk_verdict_figure(r, order[k], rdk_run_loss);
        rdk_interval accuracy = rdk_verdict_figure(r, order[k], rdk_run_accuracy);
        rdk_text_add(t, k ? ", " : "");
        rdk_verdict_name(t, r, order[k]);
        rdk_text_add(t, " ");
        rdk_interval_words(t, loss);
        rdk_text_add(t, " (%.1f&nbsp;%% right%s)", 100 * accuracy.mean,
                     rdk_verdict_stayed(r, order[k]) ? ", near chance" : "");
    }
    if (n > most) rdk_text_add(t, "; %zu more in the table", n - most);
    if (any && isfinite(any->figures.chance_loss)) {
        rdk_text_add(t, "; knowing nothing but the form of the task: ");
        rdk_verdict_number(t, any->figures.chance_loss);
    }
    rdk_text_add(t, ".</li>\n");
}

/* How a series stands to the best one. */
typedef enum { APART, OVERLAPPING, WITHOUT_INTERVAL } standing;

static standing stands(rdk_interval best, rdk_interval other)
{
    if (other.n < 2) return WITHOUT_INTERVAL;
    return rdk_intervals_part(best, other) ? APART : OVERLAPPING;
}

/* The names of those that stand so, and their number. t: NULL for the number alone. */
static size_t list_others(rdk_report *r, rdk_text *t, const size_t *order, size_t n, standing how)
{
    rdk_interval best = rdk_verdict_figure(r, order[0], rdk_run_loss);
    size_t told = 0;
    for (size_t k = 1; k < n; k++) {
        if (stands(best, rdk_verdict_figure(r, order[k], rdk_run_loss)) != how) continue;
        if (t && told < rdk_verdict_most(r)) {
            rdk_text_add(t, told ? ", " : "");
            rdk_verdict_name(t, r, order[k]);
        }
        told++;
    }
    if (t && told > rdk_verdict_most(r)) rdk_verdict_more(t, told - rdk_verdict_most(r));
    return told;
}

/* The best one has no interval, or none has. */
static void no_comparison(rdk_report *r, rdk_text *t, const size_t *order, size_t n)
{
    bool any = false;
    for (size_t k = 0; k < n; k++) any = any || rdk_verdict_figure(r, order[k], rdk_run_loss).n > 1;
    if (!any) {
        rdk_text_add(t, "<li>One run of each has a final loss, so there are no intervals: whether "
                        "these losses differ by more than chance cannot be said.</li>\n");
        return;
    }
    rdk_text_add(t, "<li>There is no interval for ");
    rdk_verdict_name(t, r, order[0]);
    rdk_text_add(t, ", of which one run has a final loss: whether these losses differ by more than "
                    "chance cannot be said.</li>\n");
}

static void compare_sentence(rdk_report *r, rdk_text *t, const size_t *order, size_t n)
{
    if (n < 2) return;
    if (rdk_verdict_figure(r, order[0], rdk_run_loss).n < 2) {
        no_comparison(r, t, order, n);
        return;
    }
    size_t apart = list_others(r, NULL, order, n, APART);
    size_t close = list_others(r, NULL, order, n, OVERLAPPING), told = 0;
    rdk_text_add(t, "<li>");
    if (apart) {
        rdk_verdict_name(t, r, order[0]);
        rdk_text_add(t, " is better than ");
        list_others(r, t, order, n, APART);
        rdk_text_add(t, ": their 95&nbsp;%% intervals do not overlap");
        told++;
    }
    if (close) {
        rdk_text_add(t, told++ ? "; no difference is shown between "
                               : "No difference is shown between ");
        rdk_verdict_name(t, r, order[0]);
        rdk_text_add(t, " and ");
        list_others(r, t, order, n, OVERLAPPING);
        rdk_text_add(t, ": the intervals overlap");
    }
    if (apart + close + 1 < n) {
        rdk_text_add(t, told ? "; no interval for " : "No interval for ");
        list_others(r, t, order, n, WITHOUT_INTERVAL);
        rdk_text_add(t, ", of which one run has a final loss");
    }
    rdk_text_add(t, ".</li>\n");
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
        rdk_verdict_rate_ends(r, t);
    }
    if (unfinished)
        rdk_text_add(t, "%zu of %zu runs %s not finished: %s. ", unfinished, r->n_runs,
                     unfinished == 1 ? "is" : "are",
                     r->ablation
                         ? "curves are shown as far as they go, and figures of an end leave "
                           "such runs out"
                         : "these are figures so far");
    rdk_text_add(t, "</li>\n");
}

/* ---- all of it ------------------------------------------------------------------------------- */

void rdk_section_verdict(rdk_report *r, rdk_text *t)
{
    size_t *order = rdk_report_alloc(r, r->n_series, sizeof *order);
    if (!order) return;
    rdk_text_add(t, "<ul class=\"verdict\">\n");
    if (r->ablation) {
        rdk_verdict_start(r, t);
        rdk_verdict_gradient(r, t);
        size_t n = rank(r, order);
        if (n) end_sentence(r, t, order, n);
        compare_sentence(r, t, order, n);
        rdk_verdict_rates(r, t, order, n);
    } else {
        rdk_verdict_alone(r, t);
    }
    limits(r, t);
    rdk_text_add(t, "</ul>\n");
    rdk_report_commands(r, t);
    if (r->notes.size) rdk_text_add(t, "<ul class=\"notes\">\n%s</ul>\n", r->notes.data);
}
