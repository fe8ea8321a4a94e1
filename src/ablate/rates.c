/* SPDX-License-Identifier: MIT
 * Learning rates: the best one and the sensitivity to it (Wortsman et al. 2023), per group of equal
 * varied options but rate and seed.
 *
 * What they are is in src/report/rated.c, for the report as well.
 * Read next: limits.c. */
#include <math.h>
#include <string.h>

#include "cells.h"
#include "rates.h"

bool rdk_rates_make(rdk_rates *t, const rdk_ablation *a, const rdk_results *r)
{
    static const char *const inner[] = {"lr", "seed", NULL};
    *t = (rdk_rates){.a = a, .r = r};
    t->rate = rdk_ablation_axis(a, "lr");
    t->seed = rdk_ablation_axis(a, "seed");
    if (t->rate == a->n_axes || a->axes[t->rate].n < 2) return false;
    t->rates = a->axes[t->rate].n;
    t->runs = rdk_alloc(r->n, sizeof *t->runs, NULL);
    t->room = rdk_alloc(r->n + t->rates, sizeof *t->room, NULL);
    rdk_groups_make(&t->groups, a, r, inner);
    return t->runs && t->room;
}

void rdk_rates_free(rdk_rates *t)
{
    if (t->groups.key) rdk_groups_free(&t->groups);
    rdk_free(t->runs);
    rdk_free(t->room);
}

static size_t place(const rdk_rates *t, const rdk_result *row, size_t axis)
{
    if (axis == t->a->n_axes) return 0;
    return rdk_grid_axis_find(&t->a->axes[axis], rdk_ablation_value(t->a, row->point, axis));
}

/* Fills t->runs with those of the group; their number. */
static size_t runs_of(rdk_rates *t, size_t group)
{
    size_t n = 0;
    for (size_t i = 0; i < t->r->n; i++) {
        const rdk_result *row = &t->r->rows[i];
        if (t->groups.key[i] != t->groups.key[t->groups.first[group]]) continue;
        t->runs[n++] = (rdk_rated){place(t, row, t->rate), place(t, row, t->seed), &row->figures};
    }
    return n;
}

rdk_best_rate rdk_rates_best(rdk_rates *t, size_t group)
{
    return rdk_best_rate_of(t->runs, runs_of(t, group), t->rates, t->room);
}

rdk_interval rdk_rates_sensitivity(rdk_rates *t, size_t group, bool from_start)
{
    return rdk_sensitivity_of(t->runs, runs_of(t, group), t->rates, from_start, t->room);
}

void rdk_results_rates(const rdk_ablation *a, const rdk_results *r, rdk_text *out)
{
    static const char *const names[] = {"best lr", "loss there", "sensitivity, l0 = chance",
                                        "sensitivity, l0 = start"};
    enum { FIGURES = sizeof names / sizeof *names };
    rdk_rates t;
    rdk_cells c;
    if (rdk_rates_make(&t, a, r)) {
        rdk_text_add(out, "Learning rates. Sensitivity: mean of min(loss, l0) over the rates, less "
                          "the best; 0 is\nbest, and also what never learns has.\n\n");
        rdk_cells_make(&c, rdk_groups_axes(&t.groups, a) + FIGURES, t.groups.count + 1);
        for (size_t i = 0; i < a->n_axes; i++)
            if (!t.groups.inner[i]) rdk_cells_word(&c, a->axes[i].option->name);
        for (size_t i = 0; i < FIGURES; i++) rdk_cells_word(&c, names[i]);
        for (size_t k = 0; k < t.groups.count; k++) {
            rdk_best_rate best = rdk_rates_best(&t, k);
            for (size_t i = 0; i < a->n_axes; i++)
                if (!t.groups.inner[i])
                    rdk_cells_word(&c, rdk_ablation_value(a, r->rows[t.groups.first[k]].point, i));
            rdk_cells_word(&c, best.rate < t.rates ? a->axes[t.rate].values[best.rate] : "-");
            rdk_cells_interval(&c, best.loss, 1);
            rdk_cells_interval(&c, rdk_rates_sensitivity(&t, k, false), 1);
            rdk_cells_interval(&c, rdk_rates_sensitivity(&t, k, true), 1);
        }
        rdk_cells_write(&c, out);
    }
    rdk_rates_free(&t);
}
