/* SPDX-License-Identifier: MIT
 * The table over seeds: a row for each combination of what varies beside the seed.
 *
 * What is said of the end is a mean over the runs that did not diverge; those that did are counted
 * beside it.
 * Read next: rates.c. */
#include <math.h>
#include <string.h>

#include "cells.h"
#include "groups.h"

static rdk_interval interval_of(const rdk_groups *g, size_t group, const rdk_results *r,
                                double *values, double (*figure)(const rdk_result *))
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        double x = g->key[i] == g->key[g->first[group]] ? figure(&r->rows[i]) : NAN;
        if (isfinite(x)) values[n++] = x;
    }
    return rdk_interval_of(values, n);
}

static double loss(const rdk_result *r)
{
    return r->figures.loss;
}

static double accuracy(const rdk_result *r)
{
    return r->figures.accuracy;
}

static double entropy_first(const rdk_result *r)
{
    return r->figures.entropy_first;
}

static double entropy_last(const rdk_result *r)
{
    return r->figures.entropy_last;
}

/* "240 (3/3)": the median step, where more than half of the runs solved it, and how many did. */
static void solved_cell(rdk_cells *c, const rdk_groups *g, size_t group, const rdk_results *r,
                        double *values)
{
    char number[RDK_NUMBER_TEXT];
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (g->key[i] == g->key[g->first[group]]) values[n++] = r->rows[i].figures.solved_at;
    rdk_solved s = rdk_solved_of(values, n);
    rdk_text *cell = rdk_cells_next(c);
    if (cell)
        rdk_text_add(cell, "%s (%zu/%zu)", isnan(s.median) ? "-" : rdk_text_exact(s.median, number),
                     s.solved, s.runs);
}

static void count_cell(rdk_cells *c, const rdk_groups *g, size_t group, const rdk_results *r)
{
    size_t n = 0, diverged = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (g->key[i] != g->key[g->first[group]]) continue;
        n++;
        diverged += r->rows[i].figures.diverged;
    }
    rdk_text *cell = rdk_cells_next(c);
    if (cell) rdk_text_add(cell, "%zu/%zu", diverged, n);
}

void rdk_results_table(const rdk_ablation *a, const rdk_results *r, rdk_text *out)
{
    static const char *const names[] = {"final loss",      "accuracy %",    "solved at",
                                        "H/ln n at start", "H/ln n at end", "diverged"};
    static const char *const seed[] = {"seed", NULL};
    enum { FIGURES = sizeof names / sizeof *names };
    rdk_groups g;
    rdk_cells c;
    double *values = rdk_alloc(r->n, sizeof *values, NULL);
    rdk_groups_make(&g, a, r, seed);
    size_t axes = rdk_groups_axes(&g, a);
    rdk_cells_make(&c, axes + FIGURES, values ? g.count + 1 : 0);
    for (size_t i = 0; i < axes; i++) rdk_cells_word(&c, a->axes[i].option->name);
    for (size_t i = 0; i < FIGURES; i++) rdk_cells_word(&c, names[i]);
    for (size_t k = 0; values && k < g.count; k++) {
        for (size_t i = 0; i < axes; i++) /* the seed is the last axis */
            rdk_cells_word(&c, rdk_ablation_value(a, r->rows[g.first[k]].point, i));
        rdk_cells_interval(&c, interval_of(&g, k, r, values, loss), 1);
        rdk_cells_interval(&c, interval_of(&g, k, r, values, accuracy), 100);
        solved_cell(&c, &g, k, r, values);
        rdk_cells_interval(&c, interval_of(&g, k, r, values, entropy_first), 1);
        rdk_cells_interval(&c, interval_of(&g, k, r, values, entropy_last), 1);
        count_cell(&c, &g, k, r);
    }
    rdk_cells_write(&c, out);
    rdk_groups_free(&g);
    rdk_free(values);
}
