/* SPDX-License-Identifier: MIT
 * Several runs as one: intervals over seeds, of figures and of curves.
 * Read next: figure.h. */
#include <math.h>

#include "data.h"

bool rdk_cell_has(const rdk_cell *c, const rdk_report_run *run)
{
    return run->series == c->series && run->panel == c->panel &&
           (c->rate == RDK_BEST_RATE ? run->best_rate : run->rate == (size_t)c->rate);
}

size_t rdk_cell_runs(const rdk_report *r, const rdk_cell *c, size_t *diverged)
{
    size_t n = 0, bad = 0;
    for (size_t i = 0; i < r->n_runs; i++) {
        if (!rdk_cell_has(c, &r->runs[i])) continue;
        n++;
        bad += r->runs[i].diverged;
    }
    if (diverged) *diverged = bad;
    return n;
}

/* The finite figures of the runs of a cell; their number in *n. */
static double *figures_of(rdk_report *r, const rdk_cell *c, rdk_figure_of *figure, size_t *n)
{
    double *x = rdk_report_alloc(r, r->n_runs + 1, sizeof *x);
    *n = 0;
    for (size_t i = 0; x && i < r->n_runs; i++) {
        if (!rdk_cell_has(c, &r->runs[i])) continue;
        double value = figure(&r->runs[i]);
        if (isfinite(value)) x[(*n)++] = value;
    }
    return x;
}

rdk_interval rdk_cell_interval(rdk_report *r, const rdk_cell *c, rdk_figure_of *figure)
{
    size_t n;
    double *x = figures_of(r, c, figure, &n);
    return rdk_interval_of(x, n);
}

rdk_interval rdk_cell_log_interval(rdk_report *r, const rdk_cell *c, rdk_figure_of *figure)
{
    size_t n;
    double *x = figures_of(r, c, figure, &n);
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > 0)) return rdk_interval_of(x, 0);
        x[i] = log(x[i]);
    }
    return rdk_interval_of(x, n);
}

rdk_solved rdk_cell_solved(rdk_report *r, const rdk_cell *c)
{
    double *x = rdk_report_alloc(r, r->n_runs + 1, sizeof *x);
    size_t n = 0;
    for (size_t i = 0; x && i < r->n_runs; i++)
        if (rdk_cell_has(c, &r->runs[i]) && r->runs[i].ended) x[n++] = r->runs[i].figures.solved_at;
    return rdk_solved_of(x, n);
}

rdk_rated *rdk_report_rated(rdk_report *r, size_t series, size_t panel, size_t *n, double **room)
{
    rdk_rated *runs = rdk_report_alloc(r, r->n_runs + 1, sizeof *runs);
    *room = rdk_report_alloc(r, r->n_runs + r->n_rates + 1, sizeof **room);
    *n = 0;
    if (!runs || !*room) return NULL;
    for (size_t i = 0; i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        if (run->series != series || run->panel != panel || !run->ended) continue;
        runs[(*n)++] = (rdk_rated){run->rate, run->saved.config.seed, &run->figures};
    }
    return runs;
}

const rdk_report_run *rdk_cell_example(const rdk_report *r, const rdk_cell *c)
{
    const rdk_report_run *any = NULL;
    for (size_t i = 0; i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        if (!rdk_cell_has(c, run)) continue;
        if (!run->diverged) return run;
        if (!any) any = run;
    }
    return any;
}

/* The value of a curve at a step; at: where the last look ended. NAN where it has none there. */
static double value_at(const rdk_curve *c, double x, size_t *at)
{
    while (*at < c->n && c->x[*at] < x) ++*at;
    return *at < c->n && c->x[*at] == x ? c->y[*at] : NAN;
}

/* The curves of a cell that have points and did not diverge; their number. */
static size_t curves_of(const rdk_report *r, const rdk_cell *c, rdk_curve_of *curve, size_t which,
                        const rdk_curve **curves)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_runs; i++) {
        bool counts = rdk_cell_has(c, &r->runs[i]) && !r->runs[i].diverged;
        const rdk_curve *one = counts ? curve(&r->runs[i], which) : NULL;
        if (one && one->n) curves[n++] = one;
    }
    return n;
}

rdk_band rdk_cell_band(rdk_report *r, const rdk_cell *c, rdk_curve_of *curve, size_t which,
                       bool logs)
{
    const rdk_curve **curves = rdk_report_alloc(r, r->n_runs + 1, sizeof(rdk_curve *));
    size_t *at = rdk_report_alloc(r, r->n_runs + 1, sizeof *at), n = 0;
    double *values = rdk_report_alloc(r, r->n_runs + 1, sizeof *values);
    size_t k = curves ? curves_of(r, c, curve, which, curves) : 0;
    if (!k || !at || !values) return (rdk_band){0};
    size_t room = curves[0]->n;
    double *x = rdk_report_alloc(r, room, sizeof *x), *y = rdk_report_alloc(r, room, sizeof *y);
    double *low = rdk_report_alloc(r, room, sizeof *low);
    double *high = rdk_report_alloc(r, room, sizeof *high);
    for (size_t i = 0; x && y && low && high && i < room; i++) {
        bool all = true;
        for (size_t j = 0; j < k; j++) {
            double value = value_at(curves[j], curves[0]->x[i], &at[j]);
            values[j] = logs ? log(value) : value;
            all = all && isfinite(values[j]);
        }
        if (!all) continue;
        rdk_interval v = rdk_interval_of(values, k);
        x[n] = curves[0]->x[i];
        y[n] = logs ? exp(v.mean) : v.mean;
        low[n] = logs ? exp(v.mean - v.half) : v.mean - v.half;
        high[n++] = logs ? exp(v.mean + v.half) : v.mean + v.half;
    }
    return (rdk_band){{n, x, y}, low, high, k};
}
