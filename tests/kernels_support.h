/* SPDX-License-Identifier: MIT
 * What the tests of the kernels share: random arrays, exact-size arrays, distances.
 *
 * A kernel test runs for _i in [0, ISAS) and begins with TABLE(k): every table this processor
 * runs. */
#ifndef RDK_TEST_KERNELS_SUPPORT_H
#define RDK_TEST_KERNELS_SUPPORT_H

#include "kernels/kernels.h"
#include "harness.h"
#include "isa.h"

enum { ISAS = 4 };

#define TABLE(k)                                                                                   \
    const rdk_kernels *k = rdk_kernels_at(_i);                                                     \
    if (!k) return

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Around every width of vector, and beyond what one thread does. */
static const size_t odd_sizes[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 65, 100, 257};

/* n elements that begin one element past an aligned address and end with the heap block, so that a
 * sanitizer sees the first access outside. Freed with drop. */
static inline rdk_real *array(size_t n)
{
    rdk_real *p = malloc((n + 1) * sizeof *p);
    ck_assert_ptr_nonnull(p);
    for (size_t i = 0; i <= n; i++) p[i] = 0;
    return p + 1;
}

static inline void drop(rdk_real *p)
{
    free(p - 1);
}

/* N(mean, sd^2), a function of salt and the index. */
static inline rdk_real *normals(size_t n, double mean, double sd, uint64_t salt)
{
    rdk_real *p = array(n);
    rdk_stream stream = {.seed = 1, .purpose = RDK_FOR_TEST, .step = salt};
    for (size_t i = 0; i < n; i++) {
        rdk_draws d = rdk_draws_at(stream, i);
        p[i] = (rdk_real)(mean + sd * rdk_draw_normal(&d));
    }
    return p;
}

static inline rdk_real *copy_of(const rdk_real *x, size_t n)
{
    rdk_real *p = array(n);
    if (n) memcpy(p, x, n * sizeof *p);
    return p;
}

static inline bool same_bits(const rdk_real *a, const rdk_real *b, size_t n)
{
    return n == 0 || memcmp(a, b, n * sizeof *a) == 0;
}

/* Values, largest difference relative to max(|want|, least). */
static inline double worst_error(size_t n, const rdk_real *got, const double *want, double least)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - want[i]) / fmax(fabs(want[i]), least);
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

#endif
