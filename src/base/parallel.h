/* SPDX-License-Identifier: MIT
 * Parallel loops over OpenMP, as macros that vanish where it is absent. The only place with
 * pragmas.
 *
 * Invariant: results never depend on the number of threads. Two shapes of loop keep that:
 * - rows: each element of the result is written by exactly one iteration, whichever thread runs it;
 * - sums: cut into chunks whose bounds do not depend on the thread count (src/kernels/chunks.h),
 * each summed into partial[c] by one iteration, then added in index order by one thread. So there
 * is no reduction clause, no atomic and no critical here. A loop inside a parallel loop runs on the
 * thread that meets it.
 * Read next: threads.c. */
#ifndef RDK_PARALLEL_H
#define RDK_PARALLEL_H

#include <stddef.h>

#define RDK_PRAGMA(text) _Pragma(#text)
/* Before a loop of constant length: written out early, so that an array indexed by its counter
 * becomes registers. */
#if defined(__clang__)
#define RDK_UNROLL RDK_PRAGMA(clang loop unroll(full))
#elif defined(__GNUC__)
#define RDK_UNROLL RDK_PRAGMA(GCC unroll 16)
#else
#define RDK_UNROLL
#endif

#ifdef _OPENMP
#include <omp.h>
/* Before a for loop: equal runs of iterations to each thread. */
#define RDK_PARALLEL_FOR RDK_PRAGMA(omp parallel for schedule(static) if (!omp_in_parallel()))
/* The same where `condition` holds: small work is not worth waking the threads. */
#define RDK_PARALLEL_FOR_IF(condition)                                                             \
    RDK_PRAGMA(omp parallel for schedule(static) if ((condition) && !omp_in_parallel()))
/* For iterations of unequal cost, handed out one by one; the rows rule above still holds. */
#define RDK_PARALLEL_FOR_UNEVEN_IF(condition)                                                      \
    RDK_PRAGMA(omp parallel for schedule(dynamic, 1) if ((condition) && !omp_in_parallel()))
/* Before two perfectly nested for loops, run as one. */
#define RDK_PARALLEL_FOR_2_IF(condition)                                                           \
    RDK_PRAGMA(omp parallel for collapse(2) schedule(static) if ((condition) && !omp_in_parallel()))
/* Iterations are independent: vectorise. */
#define RDK_SIMD RDK_PRAGMA(omp simd)
#else
#define RDK_PARALLEL_FOR
/* The condition is still compiled, so that what it names counts as used. */
#define RDK_PARALLEL_FOR_IF(condition)        (void)(condition);
#define RDK_PARALLEL_FOR_UNEVEN_IF(condition) (void)(condition);
#define RDK_PARALLEL_FOR_2_IF(condition)      (void)(condition);
#define RDK_SIMD
#endif

/* How many threads share a loop that begins here: one, inside a parallel loop. */
static inline int rdk_team(void)
{
#ifdef _OPENMP
    return omp_in_parallel() ? 1 : omp_get_max_threads();
#else
    return 1;
#endif
}

/* Which thread this is: 0 .. rdk_threads() - 1 inside a parallel loop, 0 outside. For scratch. */
static inline int rdk_thread_index(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* How many pieces of at most `largest` n things make. */
static inline size_t rdk_pieces(size_t n, size_t largest)
{
    return n / largest + (n % largest != 0);
}

/* Where piece i begins if n is cut into `count` pieces as equal as can be (piece `count`: n). */
static inline size_t rdk_piece_begin(size_t n, size_t count, size_t i)
{
    size_t longer = n % count;
    return i * (n / count) + (i < longer ? i : longer);
}

#endif
