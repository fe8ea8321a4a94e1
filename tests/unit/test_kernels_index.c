/* SPDX-License-Identifier: MIT
 * The kernels that depend on where an element stands: embedding, dropout, rotary positions. */
#include "kernels_support.h"

START_TEST(embedding_looks_up_and_adds_back)
{
    TABLE(k);
    enum { TABLE_ROWS = 7 };
    static const size_t row_counts[] = {0, 1, 2, 33, 500};
    for (size_t s = 0; s < COUNT(odd_sizes); s++) {
        for (size_t c = 0; c < COUNT(row_counts); c++) {
            size_t d = odd_sizes[s], rows = row_counts[c];
            rdk_real *table = normals(TABLE_ROWS * d, 0, 1, 1), *y = array(rows * d);
            rdk_real *dy = normals(rows * d, 0, 1, 2), *dtable = normals(TABLE_ROWS * d, 0, 1, 3);
            rdk_real *want = copy_of(dtable, TABLE_ROWS * d);
            int32_t *ids = calloc(rows + 1, sizeof *ids);
            for (size_t r = 0; r < rows; r++) ids[r] = (int32_t)(r * r % TABLE_ROWS);
            k->embedding(rows, d, table, ids, y);
            k->embedding_backward(rows, d, ids, dy, dtable);
            for (size_t r = 0; r < rows; r++) {
                ck_assert(same_bits(y + r * d, table + (size_t)ids[r] * d, d));
                /* in index order, so the very bits of the plain loop */
                for (size_t j = 0; j < d; j++) want[(size_t)ids[r] * d + j] += dy[r * d + j];
            }
            ck_assert(same_bits(dtable, want, TABLE_ROWS * d));
            rdk_real *all[] = {table, y, dy, dtable, want};
            for (size_t i = 0; i < COUNT(all); i++) drop(all[i]);
            free(ids);
        }
    }
}
END_TEST

/* ---- dropout --------------------------------------------------------------------------------- */

static const rdk_stream stream = {.seed = 3, .purpose = RDK_FOR_DROPOUT, .step = 5};

START_TEST(dropout_follows_the_words_of_its_blocks)
{
    TABLE(k);
    static const double rates[] = {0, 0.1, 0.5, 0.9, 1};
    for (size_t s = 0; s < COUNT(odd_sizes); s++) {
        for (size_t c = 0; c < COUNT(rates); c++) {
            size_t n = odd_sizes[s];
            double p = rates[c];
            rdk_real *x = normals(n, 0, 1, 1), *y = array(n), *dx = normals(n, 0, 1, 2);
            rdk_real *old = copy_of(dx, n);
            k->dropout(n, p, stream, x, y);
            k->dropout_backward(n, p, stream, x, dx);
            for (size_t e = 0; e < n; e++) {
                uint32_t word[4];
                rdk_random_block(stream, e / 4, 0, word);
                bool kept = (double)word[e % 4] >= p * 4294967296.0;
                double want = kept ? (double)x[e] / (1 - p) : 0;
                ck_assert_close((double)y[e], want, 2e-7, 0);
                ck_assert_close((double)dx[e], (double)old[e] + want, 2e-7, 10);
            }
            rdk_real *all[] = {x, y, dx, old};
            for (size_t i = 0; i < COUNT(all); i++) drop(all[i]);
        }
    }
}
END_TEST

START_TEST(dropout_keeps_its_share_and_the_mean)
{
    TABLE(k);
    enum { N = 40000 };
    static rdk_real x[N], y[N], other[N];
    double sum = 0;
    size_t kept = 0, both = 0;
    for (size_t i = 0; i < N; i++) x[i] = 1;
    k->dropout(N, 0.2, stream, x, y);
    rdk_stream next = stream;
    next.step++;
    k->dropout(N, 0.2, next, x, other);
    for (size_t i = 0; i < N; i++) {
        sum += (double)y[i];
        kept += y[i] != 0;
        both += y[i] != 0 && other[i] != 0;
    }
    /* five standard deviations of a binomial: 0.002 and 0.0024 */
    ck_assert_close((double)kept / N, 0.8, 0.0125, 0);
    ck_assert_close((double)both / N, 0.64, 0.019, 0);
    ck_assert_close(sum / N, 1, 0.0125, 0);
}
END_TEST

START_TEST(what_is_dropped_leaves_no_trace)
{
    TABLE(k);
    rdk_real x[9], y[9];
    for (int i = 0; i < 9; i++) x[i] = NAN;
    k->dropout(9, 1, stream, x, y);
    for (int i = 0; i < 9; i++) ck_assert(y[i] == 0);
    k->dropout(9, 0, stream, x, y);
    for (int i = 0; i < 9; i++) ck_assert(isnan(y[i]));
}
END_TEST

START_TEST(a_word_at_the_threshold_keeps)
{
    TABLE(k);
    uint32_t word[4];
    rdk_random_block(stream, 0, 0, word);
    const double below = ldexp((double)word[1], -32), above = ldexp((double)word[1] + 0.5, -32);
    rdk_real x[] = {1, 1}, y[2];
    k->dropout(2, below, stream, x, y);
    ck_assert(y[1] > 0);
    k->dropout(2, above, stream, x, y);
    ck_assert(y[1] == 0);
}
END_TEST

/* ---- rope ------------------------------------------------------------------------------------ */

START_TEST(rope_equals_the_reference_and_turns_back)
{
    TABLE(k);
    static const size_t heads_of[] = {0, 1, 3}, rows_of[] = {0, 1, 5, 14, 15},
                        d_of[] = {0, 2, 6, 64, 136};
    enum { LEN = 7 };
    for (size_t c = 0; c < COUNT(heads_of) * COUNT(rows_of) * COUNT(d_of); c++) {
        size_t heads = heads_of[c % 3], rows = rows_of[c / 3 % 5], d = d_of[c / 15];
        size_t n = rows * heads * d;
        rdk_real *x = normals(n, 0, 1, 1), *y = array(n), *back = normals(n, 0, 1, 2);
        rdk_real *old = copy_of(back, n);
        k->rope(rows, 0, LEN, heads, d, 10000, 1, x, y, false);
        for (size_t i = 0; i < n; i += 2) {
            double t = (double)(i / (heads * d) % LEN), m = (double)(i % d / 2);
            double angle = t * pow(10000, -2 * m / (double)d);
            double a = (double)x[i], b = (double)x[i + 1];
            ck_assert_close((double)y[i], a * cos(angle) - b * sin(angle), 3e-7, 1);
            ck_assert_close((double)y[i + 1], a * sin(angle) + b * cos(angle), 3e-7, 1);
        }
        k->rope(rows, 0, LEN, heads, d, 10000, -1, y, back, true);
        for (size_t i = 0; i < n; i++) {
            ck_assert_close((double)back[i], (double)old[i] + (double)x[i], 1e-6, 2);
        }
        rdk_real *all[] = {x, y, back, old};
        for (size_t i = 0; i < COUNT(all); i++) drop(all[i]);
    }
}
END_TEST

/* The product of a turned q and a turned k depends on the distance of their positions alone. */
START_TEST(rope_is_relative)
{
    TABLE(k);
    enum { D = 16, LEN = 200 };
    rdk_real *q = normals(D, 0, 1, 1), *key = normals(D, 0, 1, 2);
    static rdk_real qs[LEN * D], ks[LEN * D];
    for (size_t i = 0; i < LEN * D; i++) qs[i] = q[i % D], ks[i] = key[i % D];
    static rdk_real q_turned[LEN * D], k_turned[LEN * D];
    k->rope(LEN, 0, LEN, 1, D, 100, 1, qs, q_turned, false);
    k->rope(LEN, 0, LEN, 1, D, 100, 1, ks, k_turned, false);
    double first = k->dot(D, q_turned + 9 * D, k_turned + 4 * D);
    for (size_t t = 5; t < LEN; t++) {
        ck_assert_close(k->dot(D, q_turned + t * D, k_turned + (t - 5) * D), first, 1e-6, 10);
    }
    ck_assert(same_bits(q_turned, q, D)); /* position 0 does not turn */
    drop(q);
    drop(key);
}
END_TEST

START_TEST(rope_from_a_position_on)
{
    TABLE(k);
    enum { B = 3, LEN = 9, FIRST = 4, WIDTH = 2 * 6, LAST = LEN - FIRST };
    rdk_real *x = normals(B * LEN * WIDTH, 0, 1, 1), *y = array(B * LEN * WIDTH);
    rdk_real *end = array(B * LAST * WIDTH), *turned = array(B * LAST * WIDTH);
    for (size_t b = 0; b < B; b++)
        memcpy(end + b * LAST * WIDTH, x + (b * LEN + FIRST) * WIDTH, LAST * WIDTH * sizeof *x);
    k->rope(B * LEN, 0, LEN, 2, 6, 100, 1, x, y, false);
    k->rope(B * LAST, FIRST, LAST, 2, 6, 100, 1, end, turned, false);
    for (size_t b = 0; b < B; b++)
        ck_assert(
            same_bits(turned + b * LAST * WIDTH, y + (b * LEN + FIRST) * WIDTH, LAST * WIDTH));
    rdk_real *all[] = {x, y, end, turned};
    for (size_t i = 0; i < COUNT(all); i++) drop(all[i]);
}
END_TEST

RDK_TEST_MAIN("kernels: by index", {
    ADD_LOOP(embedding_looks_up_and_adds_back, ISAS);
    ADD_LOOP(dropout_follows_the_words_of_its_blocks, ISAS);
    ADD_LOOP(dropout_keeps_its_share_and_the_mean, ISAS);
    ADD_LOOP(what_is_dropped_leaves_no_trace, ISAS);
    ADD_LOOP(a_word_at_the_threshold_keeps, ISAS);
    ADD_LOOP(rope_equals_the_reference_and_turns_back, ISAS);
    ADD_LOOP(rope_is_relative, ISAS);
    ADD_LOOP(rope_from_a_position_on, ISAS);
})
