/* SPDX-License-Identifier: MIT
 * A kernel as kernels.c measures it, and what it works on: a call is that of one pass
 * (src/run/passes.c) of a size, `tokens` rows of width d; the optimizer has all parameters at once.
 * Read next: kernel_cases.h. */
#ifndef ROOTDK_BENCH_KERNEL_JOB_H
#define ROOTDK_BENCH_KERNEL_JOB_H

#include <math.h>

#include "bench.h"
#include "kernels/kernels.h"

enum { JOB_ARRAYS = 8, JOB_SIDES = 6 };

/* What one thread works on. */
typedef struct job {
    const rdk_kernels *k;
    size_t sequences, len, heads, d, vocab, tokens, params;
    rdk_real *a[JOB_ARRAYS];   /* of the elements that the kernel is counted by */
    rdk_real *side[JOB_SIDES]; /* of a row or a column */
    int32_t *ids;              /* [tokens], below vocab */
    rdk_real *scratch;         /* of attention */
} job;

typedef struct kernel {
    const char *name;
    /* rows and columns that it is counted by */
    size_t (*rows)(const job *), (*cols)(const job *);
    size_t arrays;   /* of them it meets */
    size_t moved;    /* of them that are read or written: what is both counts twice */
    size_t products; /* attention: those of 2 d_k operations for each pair of query and visible key,
                      * which are its work; else 0, and moving is */
    bool whole;      /* one call takes all threads; else each has a call of its own */
    void (*before)(const job *); /* makes what a backward needs of its forward; or NULL */
    void (*run)(const job *);
    double (*error)(const job *, size_t i); /* of element i after one run, relative to 1 + |y| */
} kernel;

/* Element i of array n before a run: what is only written may be anything, so all are alike. */
static rdk_real job_input(size_t n, size_t i)
{
    uint32_t x = (uint32_t)(i * JOB_ARRAYS + n) * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (rdk_real)((double)x * 0x1p-30 - 2); /* -2 .. 2 */
}

static double error_of(rdk_real y, double right)
{
    double e = fabs((double)y - right) / (1 + fabs(right));
    return e == e ? e : INFINITY;
}

/* What a kernel leaves of each row for its backward, and the loss of the row. */
enum { ROW_MAX, ROW_INV, NLL };

#endif
