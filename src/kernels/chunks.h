/* SPDX-License-Identifier: MIT
 * How the kernels cut long arrays into chunks for threads and for sums.
 *
 * Invariant: the cutting is a function of the length alone, never of the number of threads; there
 * are at most MAX_CHUNKS chunks, so that one partial sum each fits on the stack. */
#ifndef RDK_CHUNKS_H
#define RDK_CHUNKS_H

#include "base/parallel.h"

enum {
    MAX_CHUNKS = 256,
    LEAST_CHUNK = 4096, /* elements; a multiple of CHUNK_UNIT: */
    CHUNK_UNIT = 64,    /* chunks share no cache line */
    SUMMED_ROWS = 32,   /* rows that one sum in rdk_real takes, before it goes on in double */
    SERIAL_ELEMENTS = 16 * 1024, /* less work than this is done before a second thread has begun */
};

/* Items of a chunk when n of them are cut, each a multiple of unit but for the last. */
static inline size_t chunk_size(size_t n, size_t least, size_t unit)
{
    size_t size = rdk_pieces(rdk_pieces(n, MAX_CHUNKS), unit) * unit;
    return size > least ? size : least;
}

static inline size_t chunk_count(size_t n, size_t size)
{
    return rdk_pieces(n, size);
}

static inline size_t chunk_length(size_t n, size_t size, size_t chunk)
{
    size_t left = n - chunk * size;
    return left < size ? left : size;
}

static inline double chunk_sum(const double *partial, size_t count)
{
    double sum = 0;
    for (size_t c = 0; c < count; c++) sum += partial[c];
    return sum;
}

#endif
