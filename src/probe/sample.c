/* SPDX-License-Identifier: MIT
 * Rows that grow, and averages over samples of them.
 * Invariant and contracts: sample.h.
 * Read next: theory.c, dot.c. */
#include "sample.h"

#include <base/parallel.h>
#include <math.h>

/* ---- a row that grows ------------------------------------------------------------------------ */

/* A new largest: the old one joins the sums, and all of them are measured from the new one. */
static void raise_max(rdk_row_sums *s, double d)
{
    double w = exp(d);
    s->a = w * (s->a + (s->rest + 1) * d);
    s->rest = w * (s->rest + 1);
    s->b2 = w * w * (s->b2 + 1);
    s->b3 = w * w * w * (s->b3 + 1);
}

static void add_below(rdk_row_sums *s, double d)
{
    double w = exp(d);
    s->rest += w;
    s->a += w * d;
    s->b2 += w * w;
    s->b3 += w * w * w;
}

void rdk_row_push(rdk_growing_row *r, double score)
{
    if (r->n == 0) {
        r->max = score;
    } else if (score > r->max) {
        raise_max(&r->s, r->max - score);
        r->max = score;
    } else {
        add_below(&r->s, score - r->max);
    }
    r->sum += score;
    r->sum2 += score * score;
    r->n++;
}

double rdk_row_variance(const rdk_growing_row *r)
{
    double n = (double)r->n;
    return (r->sum2 - r->sum * r->sum / n) / n;
}

/* ---- figures of a sample --------------------------------------------------------------------- */

void rdk_figures_add(rdk_figure_tally *t, const rdk_growing_row *r, double sigma2)
{
    rdk_row_figures f = rdk_row_figures_of(&r->s);
    double mean_score = r->max + r->s.a / (1 + r->s.rest); /* sum p s */
    rdk_tally_add(&t->tally, r->n, false, rdk_row_variance(r), &f);
    t->stein += sigma2 * f.jacobian_trace - mean_score;
    t->p_max_all += f.p_max;
}

void rdk_figures_mean(const rdk_figure_tally *t, double mean[RDK_FIGURES])
{
    double rows = (double)t->tally.rows;
    rdk_tally_means(&t->tally, mean);
    mean[RDK_FIGURE_STEIN] = t->tally.rows ? t->stein / rows : NAN;
    mean[RDK_FIGURE_P_MAX_ALL] = t->tally.rows ? t->p_max_all / rows : NAN;
}

/* ---- many samples ---------------------------------------------------------------------------- */

static void take(rdk_moments *m, const double x[RDK_FIGURES])
{
    m->n++;
    for (int i = 0; i < RDK_FIGURES; i++) {
        double d = x[i] - m->mean[i];
        m->mean[i] += d / (double)m->n;
        m->m2[i] += d * (x[i] - m->mean[i]);
    }
}

double rdk_moments_error(const rdk_moments *m, int figure)
{
    double n = (double)m->n;
    return m->n >= 2 ? sqrt(m->m2[figure] / (n - 1) / n) : NAN;
}

void rdk_sample_block(const rdk_sampler *s, rdk_moments *m, size_t count)
{
    enum { WORTH_THREADS = 1 << 16 };
    double block[RDK_BLOCK][RDK_FIGURES];
    size_t first = m->n, sets = s->sets;
    RDK_PARALLEL_FOR_IF(count * s->work >= WORTH_THREADS)
    for (size_t r = 0; r < count; r++) s->draw(s->setting, first + r, &block[r * sets]);
    for (size_t r = 0; r < count; r++) {
        for (size_t i = 0; i < sets; i++) {
            const double *figures = block[r * sets + i];
            take(&m[i], figures);
            if (s->traces) s->traces[i * s->stride + first + r] = figures[RDK_MEAN_TRACE];
        }
    }
}

void rdk_sample_all(const rdk_sampler *s, rdk_moments *m, size_t samples)
{
    size_t most = RDK_BLOCK / s->sets;
    while (m->n < samples) {
        size_t left = samples - m->n;
        rdk_sample_block(s, m, left < most ? left : most);
    }
}

/* ---- estimates ------------------------------------------------------------------------------- */

static rdk_estimate mean_of(const rdk_moments *m, int figure)
{
    return (rdk_estimate){m->n ? m->mean[figure] : NAN, rdk_moments_error(m, figure)};
}

/* The error of a root: that of the mean below it over twice the root. */
static rdk_estimate root_of(rdk_estimate e)
{
    double root = sqrt(e.mean);
    return (rdk_estimate){root, root == 0 ? 0 : e.se / (2 * root)};
}

/* The number of samples below the median has a standard deviation of sqrt(n) / 2: half the distance
 * between the order statistics that far to either side. */
static rdk_estimate median_of(double *x, size_t n)
{
    if (!x || n < 2) return (rdk_estimate){NAN, NAN};
    double middle = rdk_median(x, n); /* sorts x */
    size_t away = (size_t)ceil(sqrt((double)n) / 2), low = n / 2 - away;
    size_t high = n / 2 + away < n ? n / 2 + away : n - 1;
    return (rdk_estimate){middle, (x[high] - x[low]) / 2};
}

rdk_row_estimates rdk_estimates_of(const rdk_moments *m, double *traces, size_t n)
{
    rdk_estimate variance = mean_of(m, RDK_MEAN_VARIANCE);
    double unbiased = n >= 2 ? (double)n / ((double)n - 1) : NAN;
    return (rdk_row_estimates){
        .variance = {variance.mean * unbiased, variance.se * unbiased},
        .entropy = mean_of(m, RDK_MEAN_ENTROPY),
        .entropy_norm = mean_of(m, RDK_MEAN_ENTROPY_NORM),
        .p_max = mean_of(m, RDK_MEAN_P_MAX),
        .p_max_all = mean_of(m, RDK_FIGURE_P_MAX_ALL),
        .sat90 = mean_of(m, RDK_MEAN_SAT90),
        .sat99 = mean_of(m, RDK_MEAN_SAT99),
        .trace = mean_of(m, RDK_MEAN_TRACE),
        .trace_median = median_of(traces, m->n),
        .frob = root_of(mean_of(m, RDK_MEAN_FROB2)),
        .stein = mean_of(m, RDK_FIGURE_STEIN),
        .samples = m->n,
    };
}
