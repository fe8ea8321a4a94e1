/* SPDX-License-Identifier: MIT
 * Each kernel's share of its limit, at the shapes of the four sizes.
 *
 *     kernels THREADS [SIZE...]      CSV lines: kernel, size, rows x columns, threads, ns an
 * element, rate, limit, their unit, share
 *
 * A thread has calls of its own, of one pass, as the threads of a step have; the optimizer is one
 * call that all share. Limits are measured in the same rounds: of attention the peak of
 * multiply-adds, causal pairs counted as T (T + 1) / 2; of all else y += a x over as many bytes as
 * the kernel meets, in whatever cache or memory they fit. Of both the best round counts.
 *
 * Invariant: a result that differs from the same computed in double is an error, not a row.
 * Read next: kernel_cases.h. */
#include "bandwidth.h"
#include "kernel_cases.h"

#include "run/trainer.h"

enum { ROUNDS = 7, PLACES = 23, MOST_THREADS = 256 };
static const double round_seconds = 2e-3, most_error = 1e-4;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The shapes; no arrays yet. */
static job job_of(const bench_size *b)
{
    const rdk_config c = {.batch = b->batch,
                          .accum = 1,
                          .model = {.layers = b->layers,
                                    .heads = b->heads,
                                    .d_model = b->d_model,
                                    .d_k = b->d_model / b->heads,
                                    .d_ff = 4 * b->d_model,
                                    .vocab = b->vocab,
                                    .max_len = b->len,
                                    .mlp = RDK_MLP_GELU,
                                    .tie = true}};
    size_t sequences = rdk_pass_sequences(&c);
    return (job){.k = rdk_kernels_get(),
                 .sequences = sequences,
                 .len = b->len,
                 .heads = b->heads,
                 .d = b->d_model,
                 .vocab = b->vocab,
                 .tokens = sequences * b->len,
                 .params = (size_t)rdk_matrix_elements(&c.model)};
}

static size_t elements_of(const kernel *k, const job *j)
{
    return k->rows(j) * k->cols(j);
}

static bool job_make(job *j, const kernel *k, rdk_status *s)
{
    size_t n = elements_of(k, j), side = larger(j->tokens * j->heads, j->d);
    for (size_t i = 0; i < k->arrays; i++) j->a[i] = rdk_alloc(n, sizeof *j->a[i], s);
    for (size_t i = 0; i < JOB_SIDES; i++) j->side[i] = rdk_alloc(side, sizeof *j->side[i], s);
    j->ids = rdk_alloc(j->tokens, sizeof *j->ids, s);
    size_t scratch = rdk_attention_scratch(j->len, j->d / j->heads, j->d / j->heads);
    /* inside a parallel loop each call indexes by its thread */
    j->scratch = rdk_alloc(scratch * (size_t)rdk_threads(), sizeof *j->scratch, s);
    return rdk_ok(s);
}

static void job_free(job *j)
{
    for (size_t i = 0; i < JOB_ARRAYS; i++) rdk_free(j->a[i]);
    for (size_t i = 0; i < JOB_SIDES; i++) rdk_free(j->side[i]);
    rdk_free(j->ids);
    rdk_free(j->scratch);
}

static void job_fill(const job *j, const kernel *k)
{
    size_t n = elements_of(k, j);
    for (size_t a = 0; a < k->arrays; a++)
        for (size_t i = 0; i < n; i++) j->a[a][i] = job_input(a, i);
    for (size_t i = 0; i < j->d; i++) {
        j->side[GAIN][i] = job_input(0, i);
        j->side[BIAS][i] = job_input(1, i);
    }
    for (size_t i = 0; i < j->tokens; i++) j->ids[i] = (int32_t)(i * 7919 % j->vocab);
    if (k->before) k->before(j);
}

/* One run from fresh arrays, against the plain computation. */
static bool right(const kernel *k, const job *j)
{
    size_t n = elements_of(k, j);
    job_fill(j, k);
    k->run(j);
    for (size_t p = 0; p < PLACES; p++)
        if (!(k->error(j, p * 104729 % n) < most_error)) return false;
    return true;
}

/* Seconds of a call. */
static double seconds_of(const kernel *k, const job *jobs, int threads, size_t times)
{
    double begun = rdk_seconds();
    if (k->whole)
        for (size_t i = 0; i < times; i++) k->run(jobs);
    else {
        RDK_PARALLEL_FOR
        for (int t = 0; t < threads; t++)
            for (size_t i = 0; i < times; i++) k->run(&jobs[t]);
    }
    return (rdk_seconds() - begun) / (double)times;
}

/* Calls that fill a round. On one thread, lest it be the other's waking that is timed. */
static size_t times_of(const kernel *k, const job *jobs)
{
    int threads = rdk_threads();
    double seconds = INFINITY;
    rdk_threads_set(1);
    for (int i = 0; i < ROUNDS; i++) seconds = fmin(seconds, seconds_of(k, jobs, 1, 1));
    rdk_threads_set(threads);
    return 1 + (size_t)(round_seconds / seconds);
}

typedef struct outcome {
    double seconds, limit; /* of a call; GFLOP/s of multiply-adds, or GB/s of y += a x */
} outcome;

/* memory: [threads, 2, size] */
static outcome measure(const kernel *k, const job *jobs, int threads, bench_wide *memory,
                       size_t size)
{
    outcome best = {INFINITY, 0};
    const double guess = 50e9, moved = 3.0 * sizeof *memory * (double)size;
    size_t times = times_of(k, jobs);
    size_t again = 1 + (size_t)(round_seconds * guess / moved);
    for (int r = 0; r < ROUNDS; r++) {
        best.seconds = fmin(best.seconds, seconds_of(k, jobs, threads, times));
        double limit =
            k->products ? rdk_speed_peak() / 1e9 : bench_bandwidth(threads, size, again, memory);
        best.limit = fmax(best.limit, limit);
    }
    return best;
}

static void print(const kernel *k, const job *j, const char *size, int threads, outcome best)
{
    double calls = k->whole ? 1 : threads, elements = calls * (double)elements_of(k, j);
    double pairs = calls * (double)(j->sequences * j->heads * j->len) * (double)(j->len + 1) / 2;
    double flops = 2 * (double)(k->products * (j->d / j->heads)) * pairs;
    double work = k->products ? flops : elements * (double)(k->moved * sizeof(rdk_real));
    double rate = work / best.seconds / 1e9;
    printf("%s,%s,%zux%zu,%d,%.4f,%.1f,%.1f,%s,%.3f\n", k->name, size, k->rows(j), k->cols(j),
           threads, 1e9 * best.seconds / elements, rate, best.limit,
           k->products ? "GFLOP/s" : "GB/s", rate / best.limit);
    fflush(stdout);
}

static bool row(const kernel *k, const bench_size *b, int threads, rdk_status *s)
{
    job jobs[MOST_THREADS];
    size_t n = k->whole ? 1 : (size_t)threads, made = 0;
    while (made < n && rdk_ok(s)) {
        jobs[made] = job_of(b);
        job_make(&jobs[made++], k, s);
    }
    /* of two arrays: as many bytes a thread as the kernel meets */
    size_t met = elements_of(k, jobs) * k->arrays * sizeof(rdk_real) * n / (size_t)threads;
    size_t size = rdk_pieces(met, 2 * sizeof(bench_wide));
    bench_wide *memory = rdk_alloc(2 * size * (size_t)threads, sizeof *memory, s);
    bool ok = rdk_ok(s);
    for (size_t t = 0; ok && t < n; t++)
        ok = right(k, &jobs[t]) ||
             rdk_fail(s, RDK_EVALUE, "a wrong result of %s at %s", k->name, b->name);
    if (ok) print(k, jobs, b->name, threads, measure(k, jobs, threads, memory, size));
    for (size_t t = 0; t < made; t++) job_free(&jobs[t]);
    rdk_free(memory);
    return ok;
}

static bool rows_of(const bench_size *b, int threads, rdk_status *s)
{
    if (b->len > LONGEST || b->d_model % b->heads || b->vocab > job_of(b).tokens)
        return rdk_fail(s, RDK_EVALUE,
                        "size %s: T is at most %d, V at most the tokens of a pass, and heads "
                        "divide d_model",
                        b->name, LONGEST);
    for (size_t i = 0; i < KERNEL_CASES; i++)
        if (!row(&kernel_cases[i], b, threads, s)) return false;
    return true;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 0;
    rdk_status s = {0};
    if (threads < 1 || threads > MOST_THREADS) {
        fprintf(stderr, "usage: kernels THREADS [SIZE...]\n");
        return 2;
    }
    rdk_threads_set(threads);
    printf("kernel,size,shape,threads,ns_per_element,rate,limit,unit,share\n");
    bool ok = true;
    for (size_t i = 0; ok && argc == 2 && i < BENCH_SIZES; i++)
        ok = rows_of(&bench_sizes[i], threads, &s);
    for (int i = 2; ok && i < argc; i++) {
        bench_size b;
        ok = bench_size_find(argv[i], &b) && rows_of(&b, threads, &s);
    }
    if (!ok && !rdk_ok(&s)) fprintf(stderr, "kernels: %s\n", s.message);
    return ok ? 0 : 1;
}
