/* SPDX-License-Identifier: MIT
 * GEMM at the shapes of a small Transformer, each layer's product in its three forms, the forward
 * one with its bias.
 *
 *     gemm THREADS [ROUNDS]      CSV lines: form, m, n, k, GFLOP/s in the best round
 *
 * The last line is the geometric mean. Results are compared with sums in double at some places. */
#include "bench.h"

#include <math.h>

#include "kernels/kernels.h"

enum { ROWS = 2048, CHECKS = 50 };

typedef struct form {
    const char *name;
    bool ta, tb;
    size_t m, n, k, lda, ldb;
    const rdk_real *bias; /* [n], or NULL */
} form;

static double element(const form *f, const rdk_real *a, const rdk_real *b, size_t i, size_t j)
{
    double sum = f->bias ? (double)f->bias[j] : 0;
    for (size_t p = 0; p < f->k; p++)
        sum += (double)a[f->ta ? p * f->lda + i : i * f->lda + p] *
               (double)b[f->tb ? j * f->ldb + p : p * f->ldb + j];
    return sum;
}

static bool right(const form *f, const rdk_real *a, const rdk_real *b, const rdk_real *c)
{
    for (size_t q = 0; q < CHECKS; q++) {
        size_t i = q * 7919 % f->m, j = q * 104729 % f->n;
        if (!(fabs((double)c[i * f->n + j] - element(f, a, b, i, j)) < 1e-3 * sqrt((double)f->k)))
            return false;
    }
    return true;
}

/* GFLOP/s of the best round; 0 where the result is wrong. */
static double measure(const form *f, int rounds, const rdk_real *a, const rdk_real *b, rdk_real *c)
{
    const rdk_kernels *kernels = rdk_kernels_get();
    double flops = 2.0 * (double)f->m * (double)f->n * (double)f->k, best = INFINITY;
    for (int r = 0; r <= rounds; r++) {
        double begun = rdk_seconds();
        if (f->bias)
            kernels->linear(f->m, f->n, f->k, a, b, false, f->bias, NULL, c);
        else
            kernels->gemm(f->ta, f->tb, f->m, f->n, f->k, a, f->lda, b, f->ldb, c, f->n, false);
        double seconds = rdk_seconds() - begun;
        if (r > 0 && seconds < best) best = seconds;
    }
    return right(f, a, b, c) ? flops / best / 1e9 : 0;
}

/* y = x W^T + b, dx = dy W, dW = dy^T x of a layer in -> out. */
static bool layer(size_t in, size_t out, int rounds, rdk_real *memory[3], double *logs, int *n)
{
    const form forms[] = {
        {"x W^T + b", false, true, ROWS, out, in, in, in, memory[0]},
        {"dy W", false, false, ROWS, in, out, out, in, NULL},
        {"dy^T x", true, false, out, in, ROWS, out, in, NULL},
    };
    for (size_t i = 0; i < 3; i++) {
        const form *f = &forms[i];
        double rate = measure(f, rounds, memory[0], memory[1], memory[2]);
        printf("%s,%zu,%zu,%zu,%.1f\n", f->name, f->m, f->n, f->k, rate);
        if (rate == 0) return false;
        *logs += log(rate);
        ++*n;
    }
    return true;
}

int main(int argc, char **argv)
{
    static const size_t widths[] = {64, 128, 256, 384};
    int threads = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 30, n = 0;
    if (threads < 1 || rounds < 1) {
        fprintf(stderr, "usage: gemm THREADS [ROUNDS]\n");
        return 2;
    }
    rdk_status s = {0};
    rdk_real *memory[3];
    double logs = 0;
    bool ok = true;
    rdk_threads_set(threads);
    for (int i = 0; i < 3; i++) {
        memory[i] = rdk_alloc(ROWS * 1536, sizeof *memory[i], &s);
        rdk_draws draws = rdk_draws_at((rdk_stream){1, RDK_FOR_TEST, 0}, (uint64_t)i);
        for (size_t j = 0; memory[i] && j < ROWS * 1536; j++)
            memory[i][j] = (rdk_real)(rdk_draw_uniform(&draws) - 0.5);
        ok = ok && memory[i];
    }
    printf("form,m,n,k,gflops\n");
    for (size_t i = 0; ok && i < sizeof widths / sizeof *widths; i++) {
        size_t d = widths[i];
        ok = layer(d, d, rounds, memory, &logs, &n) && layer(d, 4 * d, rounds, memory, &logs, &n) &&
             layer(4 * d, d, rounds, memory, &logs, &n);
    }
    if (ok) printf("geometric mean,,,,%.1f\n", exp(logs / n));
    if (!ok) fprintf(stderr, "gemm: %s\n", rdk_ok(&s) ? "a wrong result" : s.message);
    for (int i = 0; i < 3; i++) rdk_free(memory[i]);
    return ok ? 0 : 1;
}
