/* SPDX-License-Identifier: MIT
 * What the programs of bench/ share. They measure; none of them judges. */
#ifndef ROOTDK_BENCH_H
#define ROOTDK_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rootdk/rootdk.h>

/* The four sizes that speed is stated for. Decoders with learned positions, biases, GELU, LayerNorm
 * before each part, a head tied to the token table, no dropout, scale sqrt. */
typedef struct bench_size {
    const char *name;
    size_t layers, heads, d_model, len, batch, vocab;
} bench_size;

static const bench_size bench_sizes[] = {
    {"tiny", 2, 4, 64, 32, 32, 16},
    {"small", 4, 4, 128, 64, 12, 65},
    {"medium", 4, 4, 256, 128, 16, 65},
    {"baby", 6, 6, 384, 256, 8, 65},
};

enum { BENCH_SIZES = sizeof bench_sizes / sizeof *bench_sizes };

/* One of those by its name, or any other as LAYERSxHEADSxD_MODELxTxBATCHxV; its name then is that
 * text. False, with a word on stderr, where it is neither. */
static inline bool bench_size_find(const char *name, bench_size *b)
{
    int end = 0;
    for (size_t i = 0; i < BENCH_SIZES; i++) {
        *b = bench_sizes[i];
        if (!strcmp(b->name, name)) return true;
    }
    b->name = name;
    if (sscanf(name, "%zux%zux%zux%zux%zux%zu%n", &b->layers, &b->heads, &b->d_model, &b->len,
               &b->batch, &b->vocab, &end) == 6 &&
        !name[end] && b->layers && b->heads && b->d_model && b->len && b->batch && b->vocab)
        return true;
    fprintf(stderr,
            "bench: no size is called \"%s\" (tiny, small, medium, baby, or numbers as "
            "2x4x64x32x32x16: layers, heads, d_model, T, batch, V)\n",
            name);
    return false;
}

/* Multiply-adds count as two. The matrices that take part in a product, three times (forward and
 * both gradients), and attention in full: the half that a causal mask saves counts as speed. */
static inline double bench_flops(const bench_size *b)
{
    double layers = (double)b->layers, d = (double)b->d_model, len = (double)b->len;
    double tokens = (double)b->batch * len;
    return 6 * (12 * layers * d * d + (double)b->vocab * d) * tokens +
           12 * layers * d * len * tokens;
}

static inline int bench_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts x. */
static inline double bench_median(size_t n, double *x)
{
    qsort(x, n, sizeof *x, bench_ascending);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

#endif
