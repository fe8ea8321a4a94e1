/* SPDX-License-Identifier: MIT
 * Runs that differ in learning rate and seed alone: the best rate, the sensitivity to it (Wortsman
 * et al. 2023), when they solved their task; see figures.h.
 *
 * Invariant: a diverged run is never averaged; it is counted, or stands for the loss l0.
 * Read next: classify.c, src/ablate/rates.c. */
#include <math.h>

#include "figures.h"

/* ---- the best rate --------------------------------------------------------------------------- */

/* What came out at one rate. */
typedef struct outcome {
    rdk_interval loss;
    size_t runs, diverged;
} outcome;

static outcome outcome_of(const rdk_rated *runs, size_t n, size_t rate, double *losses)
{
    outcome o = {0};
    size_t with = 0;
    for (size_t i = 0; i < n; i++) {
        if (runs[i].rate != rate) continue;
        o.runs++;
        o.diverged += runs[i].figures->diverged;
        if (isfinite(runs[i].figures->loss)) losses[with++] = runs[i].figures->loss;
    }
    o.loss = rdk_interval_of(losses, with);
    return o;
}

rdk_best_rate rdk_best_rate_of(const rdk_rated *runs, size_t n, size_t n_rates, double *room)
{
    rdk_best_rate best = {.rate = n_rates, .loss = {NAN, NAN, 0}};
    size_t first = n_rates, last = 0;
    for (size_t rate = 0; rate < n_rates; rate++) {
        outcome o = outcome_of(runs, n, rate, room);
        if (o.runs && first == n_rates) first = rate;
        if (o.runs) last = rate;
        if (!o.loss.n) continue;
        bool fewer = best.rate == n_rates || o.diverged < best.diverged;
        if (!fewer && (o.diverged > best.diverged || !(o.loss.mean < best.loss.mean))) continue;
        best = (rdk_best_rate){.rate = rate, .loss = o.loss, .diverged = o.diverged};
    }
    best.at_end = best.rate < n_rates && (best.rate == first || best.rate == last);
    return best;
}

/* ---- sensitivity ----------------------------------------------------------------------------- */

static const rdk_run_figures *run_at(const rdk_rated *runs, size_t n, size_t rate, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        if (runs[i].rate == rate && runs[i].seed == seed) return runs[i].figures;
    return NULL;
}

static bool has_rate(const rdk_rated *runs, size_t n, size_t rate)
{
    size_t i = 0;
    while (i < n && runs[i].rate != rate) i++;
    return i < n;
}

/* NAN where the seed lacks a rate or l0 is not known. */
static double of_seed(const rdk_rated *runs, size_t n, size_t n_rates, uint64_t seed,
                      bool from_start, double *losses)
{
    double l0 = NAN;
    size_t count = 0;
    for (size_t rate = 0; rate < n_rates; rate++) {
        const rdk_run_figures *f = run_at(runs, n, rate, seed);
        if (!f && has_rate(runs, n, rate)) return NAN;
        if (!f) continue;
        losses[count++] = f->loss;
        if (isnan(l0)) l0 = from_start ? f->initial_loss : f->chance_loss;
    }
    return count > 1 ? rdk_lr_sensitivity(losses, count, l0) : NAN;
}

rdk_interval rdk_sensitivity_of(const rdk_rated *runs, size_t n, size_t n_rates, bool from_start,
                                double *room)
{
    size_t seeds = 0;
    for (size_t i = 0; i < n; i++) {
        size_t before = 0;
        while (before < i && runs[before].seed != runs[i].seed) before++;
        if (before < i) continue; /* this seed is counted */
        double s = of_seed(runs, n, n_rates, runs[i].seed, from_start, room + n);
        if (!isnan(s)) room[seeds++] = s;
    }
    return rdk_interval_of(room, seeds);
}

/* ---- solved ---------------------------------------------------------------------------------- */

rdk_solved rdk_solved_of(double *solved_at, size_t n)
{
    size_t solved = 0;
    for (size_t i = 0; i < n; i++) solved += !isnan(solved_at[i]);
    return (rdk_solved){rdk_median(solved_at, n), solved, n};
}
