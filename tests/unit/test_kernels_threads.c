/* SPDX-License-Identifier: MIT
 * Every kernel gives the same bits with 1, 2, 3 and 8 threads: sizes large enough to be shared, and
 * odd enough that the last chunk is short. */
#include "kernels_support.h"

/* Everything one run of a kernel wrote. */
enum {
    ROWS = 301,
    COLS = 203,
    N = ROWS * COLS,
    IDS = 50,
    LEN = 43,
    HEADS = 7,
    D = COLS / HEADS - 1
};

typedef struct outcome {
    rdk_real a[N], b[N], c[N];
    double number;
    int32_t best[ROWS];
} outcome;

typedef struct inputs {
    rdk_real *x, *y, *z;
    int32_t id[ROWS];
} inputs;

typedef void (*run)(const rdk_kernels *k, const inputs *in, outcome *out);

static void run_maps(const rdk_kernels *k, const inputs *in, outcome *out)
{
    for (rdk_map f = RDK_MAP_EXP; f <= RDK_MAP_SILU; f++) {
        k->map(f, N, in->x, out->b);
        k->map_backward(f, N, in->x, out->b, in->y, out->a, true);
    }
}

static void run_arithmetic(const rdk_kernels *k, const inputs *in, outcome *out)
{
    k->add(N, in->x, in->y, out->a);
    k->mul(N, in->x, out->a, out->b);
    k->mul_add(N, in->x, in->y, out->b);
    k->axpy(N, 3, in->z, out->b);
    k->scale(N, (rdk_real)0.3, out->b, out->c);
    k->sum_rows(ROWS, COLS, in->y, out->a);
}

static void run_softmax(const rdk_kernels *k, const inputs *in, outcome *out)
{
    k->softmax(ROWS, COLS, in->x, out->a);
    k->softmax_backward(ROWS, COLS, out->a, in->y, out->c);
    k->log_softmax(ROWS, COLS, in->x, out->b);
    k->log_softmax_backward(ROWS, COLS, out->b, in->y, out->c);
}

static void run_norm(const rdk_kernels *k, const inputs *in, outcome *out)
{
    rdk_real mean[ROWS], rstd[ROWS];
    k->norm(true, true, ROWS, COLS, 1e-5, in->x, in->z, in->z + COLS, out->a, mean, rstd);
    k->norm_backward(true, true, ROWS, COLS, in->x, in->z, mean, rstd, in->y, out->b, out->c,
                     out->c + COLS);
}

static void run_embedding(const rdk_kernels *k, const inputs *in, outcome *out)
{
    k->embedding(ROWS, COLS, in->x, in->id, out->a);
    k->embedding_backward(ROWS, COLS, in->id, in->y, out->b);
}

static void run_dropout(const rdk_kernels *k, const inputs *in, outcome *out)
{
    rdk_stream stream = {.seed = 1, .purpose = RDK_FOR_TEST, .step = 2};
    k->dropout(N, 0.3, stream, in->x, out->a);
    k->dropout_backward(N, 0.3, stream, in->x, out->b);
}

static void run_rope(const rdk_kernels *k, const inputs *in, outcome *out)
{
    k->rope(ROWS, LEN, HEADS, D, 10000, 1, in->x, out->a, false);
    k->rope(ROWS, LEN, HEADS, D, 10000, -1, in->y, out->a, true);
}

static void run_loss(const rdk_kernels *k, const inputs *in, outcome *out)
{
    rdk_real max[ROWS], inv[ROWS];
    out->number = k->cross_entropy(ROWS, COLS, in->x, in->id, max, inv, out->a, out->best);
    k->cross_entropy_backward(ROWS, COLS, in->x, in->id, max, inv, 1, out->b);
}

static void run_optim(const rdk_kernels *k, const inputs *in, outcome *out)
{
    rdk_adamw p = {1e-3, 0.9, 0.95, 1e-8, 0.1, 0.1, 0.05, 0.7};
    for (int step = 0; step < 2; step++) {
        out->number += k->adamw(&p, N, out->a, in->x, out->b, out->c);
        out->number += k->sgd(0.1, 0.9, 0.01, 0.7, N, out->a, in->y, out->b);
    }
    out->number += k->sum_squares(N, out->a) + k->dot(N, in->x, in->y);
}

static const run runs[] = {run_maps,    run_arithmetic, run_softmax, run_norm, run_embedding,
                           run_dropout, run_rope,       run_loss,    run_optim};
enum { RUNS = sizeof runs / sizeof *runs };

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    const rdk_kernels *k = rdk_kernels_at(_i / RUNS);
    if (!k) return;
    static const int threads[] = {1, 2, 3, 8};
    static outcome first, other;
    inputs in = {normals(N, 0, 1, 1), normals(N, 0, 1, 2), normals(N, 0, 1, 3), {0}};
    for (size_t r = 0; r < ROWS; r++) in.id[r] = (int32_t)(r * r % IDS);
    for (size_t t = 0; t < COUNT(threads); t++) {
        outcome *out = t == 0 ? &first : &other;
        memset(out, 0, sizeof *out); /* padding too */
        rdk_threads_set(threads[t]);
        runs[_i % RUNS](k, &in, out);
        ck_assert(t == 0 || memcmp(&first, &other, sizeof first) == 0);
    }
    size_t written = 0;
    for (size_t i = 0; i < N; i++) written += first.a[i] != 0 || first.b[i] != 0;
    ck_assert_uint_gt(written, 100);
    drop(in.x);
    drop(in.y);
    drop(in.z);
}
END_TEST

/* Alone or in the middle of a larger call, a row has the same bits. */
START_TEST(a_row_does_not_depend_on_its_neighbours)
{
    TABLE(k);
    rdk_real *x = normals(N, 0, 1, 1), *all = array(N), one[COLS], rstd[ROWS];
    rdk_threads_set(2);
    for (size_t r = 0; r < ROWS; r += 100) {
        k->softmax(ROWS, COLS, x, all);
        k->softmax(1, COLS, x + r * COLS, one);
        ck_assert(same_bits(one, all + r * COLS, COLS));
        k->norm(false, true, ROWS, COLS, 1e-5, x, NULL, NULL, all, NULL, rstd);
        k->norm(false, true, 1, COLS, 1e-5, x + r * COLS, NULL, NULL, one, NULL, rstd);
        ck_assert(same_bits(one, all + r * COLS, COLS));
    }
    drop(x);
    drop(all);
}
END_TEST

RDK_TEST_MAIN("kernels: threads", {
    ADD_LOOP(any_number_of_threads_gives_the_same_bits, ISAS * RUNS);
    ADD_LOOP(a_row_does_not_depend_on_its_neighbours, ISAS);
})
