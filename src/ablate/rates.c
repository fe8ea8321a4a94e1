/* SPDX-License-Identifier: MIT
 * Learning rates: the best one and the sensitivity to it (Wortsman et al. 2023), per group of equal
 * varied options but rate and seed.
 *
 * Sensitivity is formed for each seed over its rates and then averaged over seeds, so its interval
 * is one over seeds. A diverged run counts as l0.
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
    t->seeds = t->seed < a->n_axes ? a->axes[t->seed].n : 1;
    t->values = rdk_alloc(t->rates > t->seeds ? t->rates : t->seeds, sizeof *t->values, NULL);
    t->at_seed = rdk_alloc(t->seeds, sizeof *t->at_seed, NULL);
    rdk_groups_make(&t->groups, a, r, inner);
    return t->values && t->at_seed;
}

void rdk_rates_free(rdk_rates *t)
{
    if (t->groups.key) rdk_groups_free(&t->groups);
    rdk_free(t->values);
    rdk_free(t->at_seed);
}

static size_t place(const rdk_rates *t, const rdk_result *row, size_t axis)
{
    if (axis == t->a->n_axes) return 0;
    return rdk_axis_find(&t->a->axes[axis], rdk_ablation_value(t->a, row->point, axis));
}

/* The next row of the group with this rate and seed (t->rates, t->seeds: any), from *i on. */
static const rdk_result *next_row(const rdk_rates *t, size_t group, size_t rate, size_t seed,
                                  size_t *i)
{
    for (; *i < t->r->n; ++*i) {
        const rdk_result *row = &t->r->rows[*i];
        if (t->groups.key[*i] != t->groups.key[t->groups.first[group]]) continue;
        if (rate < t->rates && place(t, row, t->rate) != rate) continue;
        if (seed < t->seeds && place(t, row, t->seed) != seed) continue;
        ++*i;
        return row;
    }
    return NULL;
}

size_t rdk_rates_best(rdk_rates *t, size_t group, rdk_interval *best, bool *at_end)
{
    size_t best_rate = t->rates, first = t->rates, last = 0;
    *best = (rdk_interval){INFINITY, NAN, 0};
    for (size_t rate = 0; rate < t->rates; rate++) {
        size_t n = 0, i = 0;
        bool diverged = false;
        for (const rdk_result *row; (row = next_row(t, group, rate, t->seeds, &i));) {
            diverged = diverged || !isfinite(row->loss);
            t->values[n++] = row->loss;
        }
        if (n && first == t->rates) first = rate;
        if (n) last = rate;
        rdk_interval here = rdk_interval_of(t->values, n);
        if (!n || diverged || !(here.mean < best->mean)) continue;
        *best = here;
        best_rate = rate;
    }
    *at_end = best_rate < t->rates && (best_rate == first || best_rate == last);
    return best_rate;
}

static bool group_has(const rdk_rates *t, size_t group, size_t rate)
{
    size_t i = 0;
    return next_row(t, group, rate, t->seeds, &i) != NULL;
}

rdk_interval rdk_rates_sensitivity(rdk_rates *t, size_t group, bool from_start)
{
    size_t seeds = 0;
    for (size_t seed = 0; seed < t->seeds; seed++) {
        size_t n = 0;
        double l0 = NAN;
        bool whole = true;
        for (size_t rate = 0; rate < t->rates; rate++) {
            size_t i = 0;
            const rdk_result *row = next_row(t, group, rate, seed, &i);
            whole = whole && (row || !group_has(t, group, rate));
            if (!row) continue;
            t->values[n++] = row->loss;
            if (from_start)
                l0 = isnan(l0) ? row->initial_loss : l0;
            else if (t->a->chance)
                l0 = t->a->chance[row->point];
        }
        double s = whole && n > 1 ? rdk_lr_sensitivity(t->values, n, l0) : NAN;
        if (!isnan(s)) t->at_seed[seeds++] = s;
    }
    return rdk_interval_of(t->at_seed, seeds);
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
            rdk_interval best;
            bool at_end;
            size_t rate = rdk_rates_best(&t, k, &best, &at_end);
            for (size_t i = 0; i < a->n_axes; i++)
                if (!t.groups.inner[i])
                    rdk_cells_word(&c, rdk_ablation_value(a, r->rows[t.groups.first[k]].point, i));
            rdk_cells_word(&c, rate < t.rates ? a->axes[t.rate].values[rate] : "-");
            rdk_cells_interval(&c, best, 1);
            rdk_cells_interval(&c, rdk_rates_sensitivity(&t, k, false), 1);
            rdk_cells_interval(&c, rdk_rates_sensitivity(&t, k, true), 1);
        }
        rdk_cells_write(&c, out);
    }
    rdk_rates_free(&t);
}
