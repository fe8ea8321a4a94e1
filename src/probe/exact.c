/* SPDX-License-Identifier: MIT
 * Exact expectations for rows of n iid N(0, sigma2) scores, by quadrature and without a random
 * number: for one n, and averaged over the rows of a sequence.
 *
 * Invariant: every integrand is smooth and vanishes at both ends, so the trapezoid rule converges
 * geometrically; steps are chosen for 1e-9 (tests/double/test_theory_exact.c).
 * Read next: closed.c. */
#include <math.h>

#include <rootdk/probe.h>

static const double root_two_pi = 2.506628274631000502416;

/* ---- averages over one score ----------------------------------------------------------------- */

static double density(double z)
{
    return exp(-z * z / 2) / root_two_pi;
}

/* P(N(0, 1) < z). */
static double below(double z)
{
    return erfc(-z / sqrt(2.)) / 2;
}

/* phi = E exp(-e^x), psi = E[e^2x exp(-e^x)] for x ~ N(u, sigma^2). */
typedef struct averages {
    double phi, psi;
} averages;

/* Narrow: over z, where x = u + sigma z. */
static averages averages_narrow(double u, double sigma)
{
    enum { REACH = 9, A_UNIT = 5 };
    averages a = {0};
    for (int i = -REACH * A_UNIT; i <= REACH * A_UNIT; i++) {
        double z = (double)i / A_UNIT, t = exp(u + sigma * z), weight = density(z) / A_UNIT;
        a.phi += weight * exp(-t);
        a.psi += weight * t * t * exp(-t);
    }
    return a;
}

/* Wide: over x, where what is averaged is a step of width 1 (by parts: phi is the chance that x
 * lies below a Gumbel variable) and a bump. */
static averages averages_wide(double u, double sigma)
{
    enum { LOW = -40, HIGH = 5, A_UNIT = 4, TAIL = 9 };
    averages a = {0};
    for (int i = LOW * A_UNIT; i <= HIGH * A_UNIT; i++) {
        double x = (double)i / A_UNIT, t = exp(x), z = (x - u) / sigma;
        if (z < -TAIL) continue; /* nothing lies below */
        a.phi += t * exp(-t) * (z > TAIL ? 1 : below(z)) / A_UNIT;
        a.psi += t * t * exp(-t) * (z > TAIL ? 0 : density(z)) / sigma / A_UNIT;
    }
    return a;
}

/* ---- over the rows of n ---------------------------------------------------------------------- */

/* phi and psi at u_i = low + i step: they do not depend on n, so one grid serves all lengths. */
enum { GRID = 1024 };
typedef struct grid {
    double sigma2, low, step;
    size_t points;
    double log_phi[GRID], psi[GRID]; /* log_phi -INFINITY where phi is 0 */
} grid;

/* For rows of up to n scores, n >= 2; 0 < sigma2 < inf. */
static void make_grid(grid *g, size_t n, double sigma2)
{
    double sigma = sqrt(sigma2), reach = 10 * sigma + 6;
    g->sigma2 = sigma2;
    /* phi^n falls from 1 to 0 over a width of at least sigma / 4 for the lengths there are. */
    g->step = fmax(0.2, sigma / 16);
    /* e^-u is a typical Z: from 1 / (n e^reach) up to e^reach. That is at most 800 points. */
    g->low = -reach - log((double)n) - 40;
    g->points = (size_t)((reach - g->low) / g->step) + 1;
    if (g->points > GRID) g->points = GRID;
    for (size_t i = 0; i < g->points; i++) {
        double u = g->low + (double)i * g->step;
        averages a = sigma < 1 ? averages_narrow(u, sigma) : averages_wide(u, sigma);
        g->log_phi[i] = a.phi > 0 ? log(a.phi) : -INFINITY;
        g->psi[i] = a.psi;
    }
}

/* n need not be a whole number: both integrals are smooth in it. 1 < n <= that of the grid. */
static rdk_expectation expectation_at(const grid *g, double n)
{
    static const double euler = 0.577215664901532860607; /* int (exp(-e^u) - [u < 0]) du = -euler */
    double area = -g->step / 2, square = 0;
    for (size_t i = 0; i < g->points; i++) {
        double others = exp((n - 1) * g->log_phi[i]);
        area += g->step * others * exp(g->log_phi[i]);
        square += g->step * n * g->psi[i] * others;
    }
    double log_z = -euler - g->low - area, trace = 1 - square;
    return (rdk_expectation){log_z - g->sigma2 * trace, trace};
}

/* From here on log_z and sigma2 trace agree in too many digits to leave H its own. There a row is
 * one-hot but for the share g_n / sigma (closed.c, "large"), right to 1e-6. */
static const double one_hot_from = 3e7;

static rdk_expectation one_hot(size_t n, double sigma2)
{
    static const double zeta_2 = 1.644934066848226436472; /* pi^2 / 6 */
    double trace = rdk_theory_gap_density(n) / sqrt(sigma2);
    return (rdk_expectation){zeta_2 * trace, trace};
}

/* What needs no grid: true where it is filled in. */
static bool is_plain(size_t n, double sigma2, rdk_expectation *e)
{
    if (n <= 1) {
        *e = (rdk_expectation){0, 0};
    } else if (!(sigma2 >= 0)) {
        *e = (rdk_expectation){NAN, NAN};
    } else if (sigma2 == 0) {
        *e = (rdk_expectation){log((double)n), 1 - 1 / (double)n};
    } else if (sigma2 >= one_hot_from) {
        *e = one_hot(n, sigma2);
    } else {
        return false;
    }
    return true;
}

rdk_expectation rdk_theory_exact(size_t n, double sigma2)
{
    rdk_expectation e;
    grid g;
    if (is_plain(n, sigma2, &e)) return e;
    make_grid(&g, n, sigma2);
    return expectation_at(&g, (double)n);
}

/* ---- over the rows of a sequence ------------------------------------------------------------- */

/* Rows up to DENSE keys one by one; beyond, E[H] and E[tr J] are smooth in ln n and are taken from
 * their polynomial through NODES Chebyshev points of it. */
enum { DENSE = 24, NODES = 12 };

typedef struct curve {
    double at[NODES], weight[NODES]; /* points in ln n; barycentric weights */
    rdk_expectation e[NODES];
} curve;

/* Its points, not yet the values there. */
static curve curve_points(double from, double to)
{
    const double pi = 3.14159265358979323846;
    curve c;
    for (int k = 0; k < NODES; k++) {
        double angle = (k + .5) * pi / NODES;
        c.at[k] = log(from) + (1 - cos(angle)) / 2 * (log(to) - log(from));
        c.weight[k] = (k % 2 ? -1 : 1) * sin(angle);
    }
    return c;
}

static curve curve_over(const grid *g, double from, double to)
{
    curve c = curve_points(from, to);
    for (int k = 0; k < NODES; k++) c.e[k] = expectation_at(g, exp(c.at[k]));
    return c;
}

static rdk_expectation curve_at(const curve *c, double log_n)
{
    double sum = 0;
    rdk_expectation e = {0};
    for (int k = 0; k < NODES; k++) {
        double apart = log_n - c->at[k], share = c->weight[k] / apart;
        if (apart == 0) return c->e[k];
        sum += share;
        e.entropy += share * c->e[k].entropy;
        e.trace += share * c->e[k].trace;
    }
    return (rdk_expectation){e.entropy / sum, e.trace / sum};
}

/* Sums over rows: the rules of rdk_head_figures. */
typedef struct sums {
    double rows, rows_two, entropy, entropy_norm, trace, variance;
} sums;

static void add_row(sums *s, size_t n, rdk_expectation e)
{
    s->rows += 1;
    s->entropy += e.entropy;
    s->trace += e.trace;
    if (n < 2) return;
    s->rows_two += 1;
    s->entropy_norm += e.entropy / log((double)n);
    s->variance += 1 - 1 / (double)n; /* the row's own mean is taken out */
}

static rdk_theory averages_of(const sums *s, double sigma2)
{
    double two = s->rows_two > 0 ? s->rows_two : NAN;
    return (rdk_theory){sqrt(sigma2 * s->variance / two), s->entropy / s->rows,
                        s->entropy_norm / two, s->trace / s->rows};
}

rdk_theory rdk_theory_sequence(size_t len, bool causal, double sigma2)
{
    grid g;
    curve c;
    rdk_expectation e;
    sums s = {0};
    bool plain = is_plain(len < 2 ? 2 : len, sigma2, &e);
    if (!causal || len < 2) {
        add_row(&s, len, rdk_theory_exact(len, sigma2));
        return averages_of(&s, sigma2);
    }
    if (!plain) make_grid(&g, len, sigma2);
    if (!plain && len > DENSE) c = curve_over(&g, DENSE, (double)len);
    for (size_t n = 1; n <= len; n++) {
        if (n > 1 && !plain) {
            e = n <= DENSE ? expectation_at(&g, (double)n) : curve_at(&c, log((double)n));
        } else {
            is_plain(n, sigma2, &e);
        }
        add_row(&s, n, e);
    }
    return averages_of(&s, sigma2);
}

/* ---- where the size of a row's scores goes by its length ------------------------------------- */

/* n need not be a whole number. A grid of its own: phi depends on the variance. */
static rdk_expectation expectation_of_row(double n, double sigma2)
{
    rdk_expectation e;
    grid g;
    if (is_plain((size_t)ceil(n), sigma2, &e)) return e;
    make_grid(&g, (size_t)ceil(n), sigma2);
    return expectation_at(&g, n);
}

rdk_theory rdk_theory_by_length(size_t len, bool causal, double sigma2, double factor)
{
    curve c;
    sums s = {0};
    double variance = 0, slope = sigma2 * factor * factor;
    if (causal && len > DENSE) {
        c = curve_points(DENSE, (double)len);
        for (int k = 0; k < NODES; k++)
            c.e[k] = expectation_of_row(exp(c.at[k]), slope * c.at[k] * c.at[k]);
    }
    for (size_t n = causal ? 1 : len; n <= len; n++) {
        double log_n = log((double)n), at = slope * log_n * log_n;
        bool dense = n <= DENSE || !causal;
        add_row(&s, n, dense ? expectation_of_row((double)n, at) : curve_at(&c, log_n));
        if (n >= 2) variance += at * (1 - 1 / (double)n);
    }
    rdk_theory t = averages_of(&s, 0);
    t.score_std = s.rows_two > 0 ? sqrt(variance / s.rows_two) : NAN;
    return t;
}
