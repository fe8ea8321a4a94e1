/* SPDX-License-Identifier: MIT
 * Closed forms for a row of n iid N(0, sigma2) scores, each with the range where it holds.
 *
 * Invariant: no form is used where its range ends; tests/double/test_theory_closed.c holds all of
 * them to their stated error over the whole of it.
 * Read next: reference.c. */
#include <math.h>

#include <rootdk/probe.h>

static const double root_two_pi = 2.506628274631000502416;
static const double zeta_2 = 1.644934066848226436472; /* pi^2 / 6 */

static double density(double z)
{
    return exp(-z * z / 2) / root_two_pi;
}

/* P(N(0, 1) < z). */
static double below(double z)
{
    return erfc(-z / sqrt(2.)) / 2;
}

double rdk_theory_gap_density(size_t n)
{
    enum { REACH = 12, A_UNIT = 64 }; /* points a unit of z */
    double sum = 0;
    for (int i = -REACH * A_UNIT; i <= REACH * A_UNIT; i++) {
        double z = (double)i / A_UNIT;
        sum += z * density(z) * pow(below(z), (double)n - 1);
    }
    return (double)n * sum / A_UNIT;
}

/* ---- closed forms ---------------------------------------------------------------------------- */

static double share_of_others(size_t n)
{
    return 1 - 1 / (double)n;
}

static bool small_holds(size_t n, double sigma2)
{
    return n >= 32 && sigma2 <= 0.25;
}

static double small_entropy(size_t n, double sigma2)
{
    return log((double)n) - share_of_others(n) * sigma2 / 2;
}

static double small_trace(size_t n, double sigma2)
{
    return 1 - (1 + share_of_others(n) * sigma2) / (double)n;
}

/* The random-energy picture, in its smooth phase sigma2 < 2 ln n (Derrida 1981): no single key
 * dominates Z, so Z and sum e^2s are near their means. */
static bool middle_holds(size_t n, double sigma2)
{
    return n >= 32 && sigma2 <= 1;
}

static double middle_entropy(size_t n, double sigma2)
{
    return log((double)n) - sigma2 / 2;
}

static double middle_trace(size_t n, double sigma2)
{
    return 1 - exp(sigma2) / (double)n;
}

/* Only rows whose two largest scores are within a few units are not one-hot; their share is the
 * density of the gap at 0, g_n / sigma, and over such gaps p (1 - p) integrates to 1/2 and H to
 * pi^2/12, each twice. */
static bool large_trace_holds(size_t n, double sigma2)
{
    return n >= 2 && sigma2 >= 256;
}

static bool large_entropy_holds(size_t n, double sigma2)
{
    return n >= 2 && sigma2 >= 65536;
}

static double large_entropy(size_t n, double sigma2)
{
    return zeta_2 * rdk_theory_gap_density(n) / sqrt(sigma2);
}

static double large_trace(size_t n, double sigma2)
{
    return rdk_theory_gap_density(n) / sqrt(sigma2);
}

static const rdk_closed_form forms[] = {
    {"small", "H = ln n - (1 - 1/n) sigma^2 / 2", "sigma^2 <= 1/4, n >= 32", 0.02, small_holds,
     small_holds, small_entropy, small_trace},
    {"middle", "H = ln n - sigma^2 / 2, tr J = 1 - e^sigma^2 / n", "sigma^2 <= 1, n >= 32", 0.02,
     middle_holds, middle_holds, middle_entropy, middle_trace},
    {"large", "tr J = g_n / sigma, H = (pi^2/6) g_n / sigma", "tr J sigma^2 >= 256, H >= 65536",
     0.02, large_entropy_holds, large_trace_holds, large_entropy, large_trace},
};

size_t rdk_closed_form_count(void)
{
    return sizeof forms / sizeof *forms;
}

const rdk_closed_form *rdk_closed_form_at(size_t i)
{
    return i < rdk_closed_form_count() ? &forms[i] : NULL;
}
