/* SPDX-License-Identifier: MIT
 * Random numbers: the published answers of Philox4x32-10, what the counter is made of, and the
 * distributions. Nothing here depends on chance: a seed decides every number. */
#include "harness.h"

#include <rootdk/base.h>

START_TEST(known_answers)
{
    /* Random123, kat_vectors, philox4x32 with 10 rounds: counter, key, result */
    static const uint32_t kat[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    uint32_t out[4];
    rdk_philox(kat[_i], kat[_i] + 4, out);
    for (int w = 0; w < 4; w++) ck_assert_uint_eq(out[w], kat[_i][6 + w]);
}
END_TEST

/* The layout of the counter is part of every run's bits. */
START_TEST(counter_layout)
{
    rdk_stream s = {.seed = 0xa409382200000001, .purpose = RDK_FOR_DROPOUT, .step = 0xabc12345678};
    uint32_t counter[4] = {7, 0x9abcdef0, 0x12345678, 4u << 24 | 0xfed << 12 | 0xabc};
    uint32_t key[2] = {0x00000001, 0xa4093822}, want[4], got[4];
    rdk_philox(counter, key, want);
    rdk_random_block(s, 0xfed9abcdef0, 7, got);
    ck_assert_mem_eq(got, want, sizeof got);
}
END_TEST

/* Every part of the address, at its low and at its high end, and the edges of the seed. */
START_TEST(streams_differ)
{
    static const struct {
        uint64_t seed, step, index;
        rdk_purpose purpose;
        uint32_t draw;
    } at[] = {
        {1, 0, 0, RDK_FOR_INIT, 0},
        {0, 0, 0, RDK_FOR_INIT, 0},
        {(uint64_t)1 << 32, 0, 0, RDK_FOR_INIT, 0},
        {UINT64_MAX, 0, 0, RDK_FOR_INIT, 0},
        {1, 1, 0, RDK_FOR_INIT, 0},
        {1, (uint64_t)1 << 32, 0, RDK_FOR_INIT, 0},
        {1, (uint64_t)1 << 43, 0, RDK_FOR_INIT, 0},
        {1, 0, 1, RDK_FOR_INIT, 0},
        {1, 0, (uint64_t)1 << 32, RDK_FOR_INIT, 0},
        {1, 0, (uint64_t)1 << 43, RDK_FOR_INIT, 0},
        {1, 0, 0, RDK_FOR_TRAIN_DATA, 0},
        {1, 0, 0, RDK_FOR_EVAL_DATA, 0},
        {1, 0, 0, RDK_FOR_INIT, 1},
        {1, 0, 0, RDK_FOR_INIT, UINT32_MAX},
    };
    enum { N = sizeof at / sizeof at[0] };
    uint32_t words[N][4];
    for (int i = 0; i < N; i++) {
        rdk_stream s = {at[i].seed, at[i].purpose, at[i].step};
        rdk_random_block(s, at[i].index, at[i].draw, words[i]);
        for (int j = 0; j < i; j++)
            for (int w = 0; w < 4; w++)
                ck_assert_msg(words[i][w] != words[j][w], "addresses %d and %d share word %d", i, j,
                              w);
    }
}
END_TEST

START_TEST(cursor_walks_the_blocks)
{
    rdk_stream s = {42, RDK_FOR_TEST, 3};
    rdk_draws d = rdk_draws_at(s, 5);
    for (uint32_t block = 0; block < 3; block++) {
        uint32_t want[4];
        rdk_random_block(s, 5, block, want);
        for (int w = 0; w < 4; w++) ck_assert_uint_eq(rdk_draw_u32(&d), want[w]);
    }
}
END_TEST

START_TEST(below_is_in_range_and_even)
{
    static const uint64_t sizes[] = {1, 2, 3, 7, 10, 97};
    uint64_t n = sizes[_i];
    enum { PER_VALUE = 2000 };
    int count[97] = {0};
    rdk_draws d = rdk_draws_at((rdk_stream){9, RDK_FOR_TEST, 0}, (uint64_t)_i);
    for (uint64_t k = 0; k < n * PER_VALUE; k++) {
        uint64_t x = rdk_draw_below(&d, n);
        ck_assert_uint_lt(x, n);
        count[x]++;
    }
    double chi2 = 0;
    for (uint64_t x = 0; x < n; x++) chi2 += pow(count[x] - PER_VALUE, 2) / PER_VALUE;
    /* mean n - 1, variance 2 (n - 1): five standard deviations */
    ck_assert_msg(chi2 <= (n - 1.0) + 5 * sqrt(2.0 * (n - 1.0)) + 1e-9, "n %d: chi2 %g", (int)n,
                  chi2);
}
END_TEST

/* n just above 2^63: without rejection the low half would come up twice as often. */
START_TEST(below_has_no_bias)
{
    uint64_t n = ((uint64_t)1 << 63) + 1;
    n += n / 2; /* 3/4 of 2^64: plain modulo gives the first third twice the weight */
    int low = 0;
    enum { DRAWS = 30000 };
    rdk_draws d = rdk_draws_at((rdk_stream){10, RDK_FOR_TEST, 0}, 0);
    for (int k = 0; k < DRAWS; k++) {
        uint64_t x = rdk_draw_below(&d, n);
        ck_assert_uint_lt(x, n);
        low += x < n / 3;
    }
    ck_assert_close((double)low / DRAWS, 1.0 / 3, 0.03, 0);
}
END_TEST

START_TEST(uniform_moments)
{
    enum { N = 200000 };
    double sum = 0, squares = 0, least = 1, most = 0;
    for (uint64_t i = 0; i < N; i++) {
        rdk_draws d = rdk_draws_at((rdk_stream){11, RDK_FOR_TEST, 0}, i);
        double x = rdk_draw_uniform(&d);
        sum += x;
        squares += x * x;
        least = fmin(least, x);
        most = fmax(most, x);
    }
    ck_assert(least > 0 && most < 1);
    ck_assert(least < 1e-4 && most > 1 - 1e-4);
    ck_assert_close(sum / N, 0.5, 0.01, 0);
    ck_assert_close(squares / N, 1.0 / 3, 0.01, 0);
}
END_TEST

/* Moments 1 to 4 of N(0, 1) are 0, 1, 0, 3; 4.55 % lie past two standard deviations. The seeds are
 * those at which a careless key would repeat itself. */
START_TEST(normal_moments)
{
    static const uint64_t seeds[] = {0, 1, (uint64_t)1 << 32, UINT64_MAX};
    enum { N = 200000 };
    double m[5] = {0};
    int tail = 0;
    for (uint64_t i = 0; i < N; i++) {
        rdk_draws d = rdk_draws_at((rdk_stream){seeds[_i], RDK_FOR_TEST, 0}, i);
        double x = rdk_draw_normal(&d);
        ck_assert(isfinite(x));
        for (int k = 1; k <= 4; k++) m[k] += pow(x, k) / N;
        tail += fabs(x) > 2;
    }
    ck_assert_msg(fabs(m[1]) < 0.01, "mean %g", m[1]);
    ck_assert_close(m[2], 1, 0.015, 0);
    ck_assert_msg(fabs(m[3]) < 0.05, "third moment %g", m[3]);
    ck_assert_close(m[4], 3, 0.04, 0);
    ck_assert_close((double)tail / N, 0.0455, 0.05, 0);
}
END_TEST

START_TEST(neighbours_are_uncorrelated)
{
    enum { N = 100000 };
    double by_index = 0, by_step = 0, by_draw = 0;
    for (uint64_t i = 0; i < N; i++) {
        rdk_draws d = rdk_draws_at((rdk_stream){12, RDK_FOR_TEST, 0}, i);
        rdk_draws next = rdk_draws_at((rdk_stream){12, RDK_FOR_TEST, 0}, i + 1);
        rdk_draws later = rdk_draws_at((rdk_stream){12, RDK_FOR_TEST, 1}, i);
        double x = rdk_draw_normal(&d);
        by_index += x * rdk_draw_normal(&next) / N;
        by_step += x * rdk_draw_normal(&later) / N;
        by_draw += x * rdk_draw_normal(&d) / N;
    }
    double allowed = 5 / sqrt(N);
    ck_assert_msg(fabs(by_index) < allowed && fabs(by_step) < allowed && fabs(by_draw) < allowed,
                  "correlation by index %g, step %g, draw %g", by_index, by_step, by_draw);
}
END_TEST

/* Two of each block, by the same formula as a cursor's; any part of a vector is that part. */
START_TEST(normals_by_the_block)
{
    enum { N = 7 };
    rdk_stream s = {21, RDK_FOR_TEST, 3};
    double x[N], tail[N];
    rdk_random_normals(s, 9, 5, x, N);
    for (uint32_t b = 0; b < 3; b++) {
        rdk_draws d = {.stream = s, .index = 9, .block = 5 + b};
        double u = rdk_draw_uniform(&d), v = 2 * acos(-1.) * rdk_draw_uniform(&d);
        ck_assert_close(x[2 * b], sqrt(-2 * log(u)) * cos(v), 1e-12, 1e-3);
        ck_assert_close(x[2 * b + 1], sqrt(-2 * log(u)) * sin(v), 1e-12, 1e-3);
    }
    rdk_random_normals(s, 9, 7, tail, N - 4);
    ck_assert_mem_eq(x + 4, tail, (N - 4) * sizeof *x);
    double mean = 0, square = 0, product = 0;
    enum { MANY = 20000 };
    for (uint64_t i = 0; i < MANY; i++) {
        rdk_random_normals(s, i, 0, x, 2);
        mean += (x[0] + x[1]) / (2 * MANY);
        square += (x[0] * x[0] + x[1] * x[1]) / (2 * MANY);
        product += x[0] * x[1] / MANY;
    }
    ck_assert_double_eq_tol(mean, 0, 3 / sqrt(2. * MANY));
    ck_assert_double_eq_tol(square, 1, 3 * sqrt(2 / (2. * MANY)));
    ck_assert_double_eq_tol(product, 0, 3 / sqrt((double)MANY));
}
END_TEST

RDK_TEST_MAIN("base random", {
    ADD(normals_by_the_block);
    ADD_LOOP(known_answers, 3);
    ADD(counter_layout);
    ADD(streams_differ);
    ADD(cursor_walks_the_blocks);
    ADD_LOOP(below_is_in_range_and_even, 6);
    ADD(below_has_no_bias);
    ADD(uniform_moments);
    ADD_LOOP(normal_moments, 4);
    ADD(neighbours_are_uncorrelated);
})
