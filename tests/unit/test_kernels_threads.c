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
        k->map_and_slope(f, N, in->y, out->b, out->c);
        for (size_t i = 0; i < N && f != RDK_MAP_LOG; i++) out->number += (double)out->c[i];
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
    k->rope(ROWS, 0, LEN, HEADS, D, 10000, 1, in->x, out->a, false);
    k->rope(ROWS, 0, LEN, HEADS, D, 10000, -1, in->y, out->a, true);
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

static void run_products(const rdk_kernels *k, const inputs *in, outcome *out)
{
    k->gemm(false, true, ROWS, COLS, COLS, in->x, COLS, in->y, COLS, out->a, COLS, false);
    k->gemm(true, false, COLS, COLS, ROWS, in->x, COLS, in->y, COLS, out->b, COLS, false);
    k->linear(ROWS, COLS, COLS, in->x, in->y, false, in->z, in->x, out->c);
}

static void run_products_bf16(const rdk_kernels *k, const inputs *in, outcome *out)
{
    const rdk_product p = {.tb = true,
                           .m = ROWS,
                           .n = COLS,
                           .k = COLS,
                           .lda = COLS,
                           .ldb = COLS,
                           .ldc = COLS,
                           .a = in->x,
                           .b = in->y,
                           .bias = in->z,
                           .c = out->a};
    uint32_t *scratch = rdk_alloc(rdk_product_bf16_scratch(&p), sizeof *scratch, NULL);
    k->bf16->product(&p, scratch);
    k->bf16->round(N, in->x, out->b);
    rdk_free(scratch);
}

static void run_attention(const rdk_kernels *k, const inputs *in, outcome *out)
{
    const rdk_attention_shape s = {
        .batch = 2, .heads = HEADS, .len = LEN, .d_k = D, .d_v = D, .scale = 0.3, .causal = true};
    const rdk_attention_grads to = {.dq = out->a, .dk = out->b, .dv = out->c};
    size_t size = rdk_attention_scratch(LEN, D, D) * (size_t)rdk_threads();
    rdk_real *scratch = rdk_alloc(size, sizeof *scratch, NULL);
    rdk_real max[2 * HEADS * LEN], inv[2 * HEADS * LEN];
    k->attention(&s, in->x, in->y, in->z, out->a, max, inv, NULL, scratch);
    for (size_t i = 0; i < N; i++) out->number += (double)out->a[i];
    k->attention_backward(&s, in->x, in->y, in->z, in->z, max, inv, &to, NULL, scratch);
    rdk_free(scratch);
}

static const run runs[] = {run_maps,      run_arithmetic, run_softmax,   run_norm,
                           run_embedding, run_dropout,    run_rope,      run_loss,
                           run_optim,     run_products,   run_attention, run_products_bf16};
enum { RUNS = sizeof runs / sizeof *runs };

static inputs inputs_new(void)
{
    inputs in = {normals(N, 0, 1, 1), normals(N, 0, 1, 2), normals(N, 0, 1, 3), {0}};
    for (size_t r = 0; r < ROWS; r++) in.id[r] = (int32_t)(r * r % IDS);
    return in;
}

static void inputs_free(inputs *in)
{
    drop(in->x);
    drop(in->y);
    drop(in->z);
}

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    const rdk_kernels *k = rdk_kernels_at(_i / RUNS);
    if (!k) return;
    static const int threads[] = {1, 2, 3, 8};
    static outcome first, other;
    inputs in = inputs_new();
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
    inputs_free(&in);
}
END_TEST

static const rdk_kernels *table_of(const char *isa)
{
    for (int i = 0; rdk_kernels_at(i); i++)
        if (!strcmp(rdk_kernels_at(i)->isa, isa)) return rdk_kernels_at(i);
    return NULL;
}

/* The two tables of AVX-512 differ in the instructions of bfloat16 alone, of which the bits are
 * those of the plain form: runs may go on from one with the other. */
START_TEST(both_tables_of_avx512_give_the_same_bits)
{
    const rdk_kernels *a = table_of("avx512"), *b = table_of("avx512bf16");
    if (!a || !b) return;
    static outcome first, other;
    inputs in = inputs_new();
    memset(&first, 0, sizeof first);
    memset(&other, 0, sizeof other);
    runs[_i](a, &in, &first);
    runs[_i](b, &in, &other);
    ck_assert(memcmp(&first, &other, sizeof first) == 0);
    inputs_free(&in);
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
    ADD_LOOP(both_tables_of_avx512_give_the_same_bits, RUNS);
    ADD_LOOP(a_row_does_not_depend_on_its_neighbours, ISAS);
})
