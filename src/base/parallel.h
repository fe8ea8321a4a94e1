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
/* Before a for loop: equal runs of iterations to each thread. For loops that are met once a step or
 * less; of one thread too OpenMP makes a team, and wakes it. */
#define RDK_PARALLEL_FOR RDK_PRAGMA(omp parallel for schedule(static) if (!omp_in_parallel()))
/* The same where `condition` holds: small work is not worth waking the threads. */
#define RDK_PARALLEL_FOR_IF(condition)                                                             \
    RDK_PRAGMA(omp parallel for schedule(static) if ((condition) && !omp_in_parallel()))
#define RDK_PARALLEL_RUNS RDK_PRAGMA(omp parallel for schedule(static))
#define RDK_PARALLEL_EACH RDK_PRAGMA(omp parallel for schedule(dynamic, 1))
/* Iterations are independent: vectorise. */
#define RDK_SIMD RDK_PRAGMA(omp simd)
#else
#define RDK_PARALLEL_FOR
/* The condition is still compiled, so that what it names counts as used. */
#define RDK_PARALLEL_FOR_IF(condition) (void)(condition);
#define RDK_PARALLEL_RUNS
#define RDK_PARALLEL_EACH
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

/* ---- kernels --------------------------------------------------------------------------------- */

/* Before the definition of an f of those below: it is compiled once. Copies that were made for the
 * two calls might round differently, as compilers are free in what they contract to multiply-adds;
 * and then the threads would change bits. */
#if defined(__clang__)
#define RDK_SHARED __attribute__((noinline, noduplicate))
#elif defined(__GNUC__)
#define RDK_SHARED __attribute__((noipa))
#else
#define RDK_SHARED
#endif

/* f(begin, end, ...) for 0 .. n - 1: where `condition` holds, equal runs to each thread; else, with
 * one thread, and inside a parallel loop, f(0, n, ...) as a plain call. A step has hundreds. */
#define RDK_SHARE(condition, n, f, ...)                                                            \
    do {                                                                                           \
        const size_t n_ = (n), team_ = n_ > 1 && (condition) ? (size_t)rdk_team() : 1;             \
        if (team_ > 1) {                                                                           \
            RDK_PARALLEL_RUNS                                                                      \
            for (size_t i_ = 0; i_ < team_; i_++)                                                  \
                f(rdk_piece_begin(n_, team_, i_), rdk_piece_begin(n_, team_, i_ + 1),              \
                  __VA_ARGS__);                                                                    \
        } else {                                                                                   \
            f(0, n_, __VA_ARGS__);                                                                 \
        }                                                                                          \
    } while (0)

/* The same for things of unequal cost, handed out one by one: f(i, i + 1, thread, ...), the thread
 * being one of rdk_team(), for scratch. */
#define RDK_SHARE_UNEVEN(condition, n, f, ...)                                                     \
    do {                                                                                           \
        const size_t n_ = (n);                                                                     \
        if (n_ > 1 && (condition) && rdk_team() > 1) {                                             \
            RDK_PARALLEL_EACH                                                                      \
            for (size_t i_ = 0; i_ < n_; i_++) f(i_, i_ + 1, rdk_thread_index(), __VA_ARGS__);     \
        } else {                                                                                   \
            f(0, n_, 0, __VA_ARGS__);                                                              \
        }                                                                                          \
    } while (0)

#endif
