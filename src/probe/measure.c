/* SPDX-License-Identifier: MIT
 * The variance argument as a whole: its Monte Carlo, point by point, and the slopes in d_k.
 *
 * Invariant: a point depends on its d_k and keys, on the seed and on how many samples it has, never
 * on which others are asked for with it.
 * Read next: findings.c. */
#include <math.h>
#include <string.h>

#include <rootdk/probe.h>

const double rdk_theory_sigma2[RDK_SIGMAS] = {1. / 64, 1. / 16, 1, 16, 64, 256};

/* ---- how much -------------------------------------------------------------------------------- */

/* Numbers drawn for one point, where that is left to rule, and the samples that this may mean. */
static const double a_point = 1 << 25, one_of_many = 1 << 23, scores = 1 << 21;
enum { LEAST = 256, MOST = 20000 };

static size_t by_rule(double numbers, double a_sample)
{
    double samples = numbers / a_sample;
    return samples < LEAST ? LEAST : samples > MOST ? MOST : (size_t)samples;
}

static size_t queries(const rdk_theory_plan *plan, uint64_t d_k, uint64_t keys)
{
    bool many = plan->n_d_k * plan->n_keys > 3;
    if (plan->samples) return (size_t)plan->samples;
    return by_rule(many ? one_of_many : a_point, (double)d_k * ((double)keys + 1));
}

static size_t rows_of_scores(const rdk_theory_plan *plan, uint64_t keys)
{
    return plan->samples ? (size_t)plan->samples : by_rule(scores, (double)keys);
}

double rdk_theory_cost(const rdk_theory_plan *plan)
{
    double numbers = 0;
    for (size_t i = 0; i < plan->n_keys; i++) {
        uint64_t n = plan->keys[i];
        numbers += 2. * RDK_SIGMAS * (double)rows_of_scores(plan, n) * (double)n;
        for (size_t j = 0; j < plan->n_d_k; j++)
            numbers +=
                (double)queries(plan, plan->d_k[j], n) * (double)plan->d_k[j] * ((double)n + 1);
    }
    return numbers;
}

/* ---- ways to score --------------------------------------------------------------------------- */

static void add_way(rdk_theory_point *p, const char *name, const char *formula, rdk_dot_scale scale)
{
    if (p->n_ways == RDK_WAYS) return;
    p->way[p->n_ways++] = (rdk_way){name, formula, scale, rdk_dot_variance(&scale, p->d_k)};
}

static void list_ways(rdk_theory_point *p)
{
    double n = (double)p->keys, d_k = (double)p->d_k;
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        const rdk_scaling *policy = rdk_scaling_at(i);
        add_way(p, policy->name, policy->formula, rdk_dot_scale_of(policy, p->d_k, p->d_model));
    }
    add_way(p, "rms", "RMS(q).RMS(k) / sqrt(d_k)", (rdk_dot_scale){1 / sqrt(d_k), 1, RDK_QK_RMS});
    add_way(p, "l2", "g cos(q, k), g = log2(n^2-n)",
            (rdk_dot_scale){1, log2(n * n - n), RDK_QK_L2}); /* Henry et al. 2020, 3 */
}

/* ---- measuring ------------------------------------------------------------------------------- */

const rdk_theory_point *rdk_theory_at(const rdk_theory_results *r, size_t keys, size_t d_k)
{
    return &r->point[keys * r->plan.n_d_k + d_k];
}

rdk_estimate rdk_theory_variance(const rdk_theory_point *p, size_t way)
{
    const rdk_row_estimates *e = &p->e[way];
    return (rdk_estimate){e->variance.mean,
                          rdk_dot_variance_error(&p->way[way].scale, p->d_k, p->keys, e->samples)};
}

static bool measure_point(rdk_theory_point *p, const rdk_theory_plan *plan, uint64_t keys,
                          uint64_t d_k, rdk_status *s)
{
    rdk_dot_scale scales[RDK_WAYS];
    p->d_k = (size_t)d_k;
    p->keys = (size_t)keys;
    p->d_model = plan->d_model ? (size_t)plan->d_model : 4 * p->d_k;
    list_ways(p);
    for (size_t i = 0; i < p->n_ways; i++) scales[i] = p->way[i].scale;
    return rdk_theory_dot(scales, p->n_ways, p->d_k, p->keys, queries(plan, d_k, keys), plan->seed,
                          &p->before, p->e, s);
}

static bool measure_scores(rdk_theory_scores *t, const rdk_theory_plan *plan, uint64_t keys,
                           rdk_status *s)
{
    size_t rows = rows_of_scores(plan, keys);
    t->keys = (size_t)keys;
    for (int k = 0; k < RDK_SIGMAS; k++) {
        double sigma2 = rdk_theory_sigma2[k];
        t->exact[k] = rdk_theory_exact(t->keys, sigma2);
        if (!rdk_theory_gaussian(t->keys, false, sigma2, rows, plan->seed, &t->row[k], s) ||
            !rdk_theory_gaussian(t->keys, true, sigma2, rows, plan->seed, &t->causal[k], s))
            return false;
    }
    return true;
}

static bool is_in_range(const rdk_theory_plan *plan, rdk_status *s)
{
    enum { MOST_WIDE = 65536 };
    for (size_t j = 0; j < plan->n_d_k; j++)
        if (plan->d_k[j] < 1 || plan->d_k[j] > MOST_WIDE)
            return rdk_fail(s, RDK_EVALUE, "theory of d_k = %llu (1 to %d)",
                            (unsigned long long)plan->d_k[j], MOST_WIDE);
    for (size_t i = 0; i < plan->n_keys; i++)
        if (plan->keys[i] < 2 || plan->keys[i] > MOST_WIDE)
            return rdk_fail(s, RDK_EVALUE, "theory of %llu keys (2 to %d)",
                            (unsigned long long)plan->keys[i], MOST_WIDE);
    return true;
}

bool rdk_theory_measure(rdk_theory_results *r, const rdk_theory_plan *plan, rdk_status *s)
{
    memset(r, 0, sizeof *r);
    if (!is_in_range(plan, s)) return false;
    r->plan = *plan;
    r->point = rdk_alloc(plan->n_keys * plan->n_d_k, sizeof *r->point, s);
    r->scores = rdk_alloc(plan->n_keys, sizeof *r->scores, s);
    bool ok = r->point && r->scores;
    for (size_t i = 0; ok && i < plan->n_keys; i++) {
        ok = measure_scores(&r->scores[i], plan, plan->keys[i], s);
        for (size_t j = 0; ok && j < plan->n_d_k; j++)
            ok =
                measure_point(&r->point[i * plan->n_d_k + j], plan, plan->keys[i], plan->d_k[j], s);
    }
    return ok;
}

/* ---- slopes ---------------------------------------------------------------------------------- */

/* Heads narrower than this are left out where there are enough others: d_k / (d_k - 1) of the
 * LayerNorm is no power of d_k. */
enum { WIDE = 32, ENOUGH = 3 };

/* Sums of a weighted line through (x, y), and through (x, f) for the formula's own values. */
typedef struct fit {
    size_t n;
    double w, x, xx, y, xy, f, xf;
} fit;

static void fit_add(fit *l, double weight, double x, double y, double f)
{
    l->n++;
    l->w += weight;
    l->x += weight * x;
    l->xx += weight * x * x;
    l->y += weight * y;
    l->xy += weight * x * y;
    l->f += weight * f;
    l->xf += weight * x * f;
}

rdk_slope rdk_theory_slope(const rdk_theory_results *r, size_t keys, size_t way)
{
    size_t wide = 0;
    fit l = {0};
    for (size_t j = 0; j < r->plan.n_d_k; j++) wide += r->plan.d_k[j] >= WIDE;
    for (size_t j = 0; j < r->plan.n_d_k; j++) {
        const rdk_theory_point *p = rdk_theory_at(r, keys, j);
        rdk_estimate v = rdk_theory_variance(p, way);
        double formula = p->way[way].variance;
        if (wide >= ENOUGH && p->d_k < WIDE) continue;
        if (!(formula > 0) || !(v.mean > 0) || !(v.se > 0)) continue;
        double weight = v.mean * v.mean / (v.se * v.se);
        fit_add(&l, weight, log((double)p->d_k), log(v.mean), log(formula));
    }
    double spread = l.xx - l.x * l.x / l.w;
    if (l.n < ENOUGH || !(spread > 0)) return (rdk_slope){{NAN, NAN}, NAN};
    return (rdk_slope){{(l.xy - l.x * l.y / l.w) / spread, 1 / sqrt(spread)},
                       (l.xf - l.x * l.f / l.w) / spread};
}
