/* SPDX-License-Identifier: MIT
 * The sentence of the verdict on learning rates, and what their ends leave open.
 *
 * Invariant: a sensitivity is how far losses lie above the series' own best one, so that it speaks
 * of a window of rates only beside others whose best loss is as good. Windows are ranked among
 * those alone; of what never learns, or ends worse at its best rate too, it is said.
 * Read next: rated.c. */
#include "verdict.h"

/* How the window of a series stands to that of the best one which learns. */
typedef enum { COMPARED, WORSE, UNKNOWN, STAYED } window;

/* A sentence being made of the series that have a sensitivity. */
typedef struct rates {
    rdk_report *r;
    const size_t *order; /* [n] best first */
    size_t n;
    rdk_interval best; /* the loss of the first one that learns */
} rates;

static rdk_interval sensitivity(const rates *w, size_t series)
{
    return rdk_rate_sensitivity(w->r, series, rdk_verdict_panel(w->r), false);
}

/* Not one whose runs all diverged, either. */
static bool learns(const rates *w, size_t series)
{
    return sensitivity(w, series).n && !rdk_verdict_stayed(w->r, series) &&
           rdk_verdict_figure(w->r, series, rdk_run_loss).n;
}

static window window_of(const rates *w, size_t series)
{
    rdk_interval loss = rdk_verdict_figure(w->r, series, rdk_run_loss);
    if (!learns(w, series)) return STAYED;
    if (w->best.n < 2 || loss.n < 2) return UNKNOWN;
    return rdk_intervals_part(w->best, loss) ? WORSE : COMPARED;
}

static size_t count(const rates *w, window which)
{
    size_t n = 0;
    for (size_t k = 0; k < w->n; k++)
        n += sensitivity(w, w->order[k]).n && window_of(w, w->order[k]) == which;
    return n;
}

static void list(const rates *w, window which, rdk_text *t)
{
    size_t told = 0;
    for (size_t k = 0; k < w->n; k++) {
        if (!sensitivity(w, w->order[k]).n || window_of(w, w->order[k]) != which) continue;
        if (++told > rdk_verdict_most(w->r)) continue;
        rdk_text_add(t, told > 1 ? ", " : "");
        rdk_verdict_name(t, w->r, w->order[k]);
    }
    if (told > rdk_verdict_most(w->r)) rdk_verdict_more(t, told - rdk_verdict_most(w->r));
}

/* Of those that learn, in the order of the page. */
static void list_sensitivities(const rates *w, rdk_text *t)
{
    size_t told = 0;
    for (size_t s = 0; s < w->r->n_series; s++) {
        if (!learns(w, s) || ++told > rdk_verdict_most(w->r)) continue;
        rdk_text_add(t, told > 1 ? ", " : "");
        rdk_interval_words(t, sensitivity(w, s));
        rdk_text_add(t, " for ");
        rdk_verdict_name(t, w->r, s);
    }
    if (told > rdk_verdict_most(w->r)) rdk_verdict_more(t, told - rdk_verdict_most(w->r));
}

/* What the numbers of several series say of their windows. */
static void compare(const rates *w, rdk_text *t)
{
    size_t compared = count(w, COMPARED), worse = count(w, WORSE);
    if (compared > 1) {
        rdk_text_add(t, "; between ");
        list(w, COMPARED, t);
        rdk_text_add(t, ", whose best losses are not shown to differ, the smaller, the wider the "
                        "window of rates");
    }
    if (worse) {
        rdk_text_add(t, "; ");
        list(w, WORSE, t);
        rdk_text_add(t, worse > 1
                            ? " are worse at their best rates too, so their windows are not "
                              "compared"
                            : " is worse at its best rate too, so its window is not compared");
    }
}

void rdk_verdict_rates(rdk_report *r, rdk_text *t, const size_t *order, size_t n)
{
    rates w = {.r = r, .order = order, .n = n};
    size_t first = 0;
    if (r->n_rates < 2) return;
    while (first < n && !learns(&w, order[first])) first++;
    if (first < n) w.best = rdk_verdict_figure(r, order[first], rdk_run_loss);
    size_t stayed = count(&w, STAYED);
    if (first == n && !stayed) return;
    rdk_text_add(t, "<li>Over %zu learning rates, ", r->n_rates);
    if (first < n) {
        rdk_text_add(t, "sensitivity (how far the losses lie above the lowest one in the mean, no "
                        "loss counted above that of chance) is ");
        list_sensitivities(&w, t);
        compare(&w, t);
        rdk_text_add(t, stayed ? "; " : "");
    }
    if (stayed) rdk_text_add(t, "near chance even at the best of them, so without a window: ");
    if (stayed) list(&w, STAYED, t);
    rdk_text_add(t, ".</li>\n");
}

void rdk_verdict_rate_ends(rdk_report *r, rdk_text *t)
{
    size_t rows = 0, ends = 0;
    if (r->n_rates < 2) return;
    for (size_t s = 0; s < r->n_series; s++) {
        for (size_t p = 0; p < r->n_panels; p++) {
            size_t n;
            double *room;
            rdk_rated *runs = rdk_report_rated(r, s, p, &n, &room);
            if (!runs || !n) continue;
            rows++;
            ends += rdk_best_rate_of(runs, n, r->n_rates, room).at_end;
        }
    }
    if (!ends) return;
    rdk_text_add(t,
                 "The best learning rate is the smallest or the largest that was run for %zu of "
                 "%zu series%s: a better one may lie beyond it. ",
                 ends, rows, r->n_panels > 1 ? ", counted at each d_k" : "");
}
