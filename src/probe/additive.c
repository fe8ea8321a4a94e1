/* SPDX-License-Identifier: MIT
 * Additive scores at the start: how far tanh(q + k) varies over the keys, by quadrature.
 *
 * Invariant: the integrands are smooth on the scale of the steps and vanish at both ends, so the
 * trapezoid rule converges geometrically.
 * Read next: theory.c. */
#include <math.h>

#include <rootdk/probe.h>

/* Points of a normal variable, `reach` deviations to either side. */
enum { REACH = 9, LEAST = 10 * REACH, MOST = 60 * REACH };

static double weight_at(double z, double step)
{
    static const double root_two_pi = 2.506628274631000502416;
    return exp(-z * z / 2) / root_two_pi * step;
}

/* tanh bends over a width of 1: steps of std z no wider than a tenth of that. */
static int points_for(double std)
{
    double wanted = LEAST * fmax(1, std);
    return wanted < MOST ? (int)wanted : MOST;
}

/* E tanh(x + std z), and of its square. */
typedef struct averages {
    double mean, square;
} averages;

static averages averages_at(double x, double std)
{
    int n = points_for(std);
    double step = (double)REACH / n;
    averages a = {0};
    for (int i = -n; i <= n; i++) {
        double z = i * step, t = tanh(x + std * z), weight = weight_at(z, step);
        a.mean += weight * t;
        a.square += weight * t * t;
    }
    return a;
}

double rdk_additive_variance(double q_std, double k_std)
{
    int n = points_for(q_std);
    double step = (double)REACH / n, sum = 0;
    if (!(q_std >= 0 && k_std >= 0 && isfinite(q_std) && isfinite(k_std))) return NAN;
    for (int i = -n; i <= n; i++) {
        averages a = averages_at(q_std * i * step, k_std);
        sum += weight_at(i * step, step) * (a.square - a.mean * a.mean);
    }
    return sum;
}
