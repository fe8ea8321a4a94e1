/* SPDX-License-Identifier: MIT
 * What the attention kernels measure of a row, against sums over its scores in double. The scores
 * are the keys themselves (d_k = 1, q = 1), so that they are the same number in both. */
#include "attention_case.h"

#include <float.h>

static attention_case scores_case(size_t len, bool causal, double offset, double sd)
{
    attention_case c = case_new(
        (rdk_attention_shape){
            .batch = 3, .heads = 2, .len = len, .d_k = 1, .d_v = 4, .scale = 1, .causal = causal},
        1);
    rdk_real *keys = normals(c.n_qk, offset, sd, 11);
    for (size_t i = 0; i < c.n_qk; i++) c.q[i] = 1, c.k[i] = keys[i];
    drop(keys);
    case_measure(&c);
    return c;
}

/* Sums over the row with its largest element left out. */
static rdk_attention_row want_row(const plain_row *r)
{
    double mean = 0, variance = 0, abs_max = 0, rest = 0, a = 0, b2 = 0, b3 = 0;
    double max = r->s[r->arg_max];
    for (size_t j = 0; j < r->n; j++) mean += r->s[j] / (double)r->n;
    for (size_t j = 0; j < r->n; j++) {
        double d = r->s[j] - max, w = exp(d);
        variance += (r->s[j] - mean) * (r->s[j] - mean) / (double)r->n;
        abs_max = fmax(abs_max, fabs(r->s[j]));
        if (j == r->arg_max) continue;
        rest += w, a += w * d, b2 += w * w, b3 += w * w * w;
    }
    return (rdk_attention_row){.n = (int32_t)r->n,
                               .max = (rdk_real)max,
                               .abs_max = (rdk_real)abs_max,
                               .mean = (rdk_real)mean,
                               .peak = (rdk_real)(max - mean),
                               .variance = variance,
                               .rest = (rdk_real)rest,
                               .a = (rdk_real)a,
                               .b2 = (rdk_real)b2,
                               .b3 = (rdk_real)b3};
}

static void check_rows(const rdk_kernels *k, attention_case *c)
{
    static plain_row plain[3 * 2 * LONGEST];
    const double least = 1e-30; /* where floats begin to end */
    case_run(k, c);
    plain_results out = plain_run(c, plain);
    for (size_t i = 0; i < c->rows; i++) {
        const rdk_attention_row *got = &c->measured[i], want = want_row(&plain[i]);
        ck_assert_int_eq(got->n, want.n);
        ck_assert(got->max == want.max && got->abs_max == want.abs_max);
        ck_assert_close(got->mean, want.mean, 1e-5, want.abs_max);
        ck_assert_close(got->peak, want.peak, 1e-5, want.abs_max * 1e-2);
        ck_assert_close(got->variance, want.variance, 1e-5, least);
        ck_assert_close(got->rest, want.rest, 1e-5, least);
        ck_assert_close(got->a, want.a, 1e-5, least);
        ck_assert_close(got->b2, want.b2, 1e-5, least);
        ck_assert_close(got->b3, want.b3, 1e-5, least);
    }
    plain_free(&out);
}

START_TEST(sums_over_the_scores)
{
    TABLE(k);
    static const size_t lens[] = {1, 2, 17, 64, 65, 300};
    static const double spread[][2] = {{0, 0}, {0, 1}, {0, 8}, {1e4, 1}, {-1e4, 30}};
    for (size_t t = 0; t < COUNT(lens); t++) {
        for (size_t f = 0; f < 2 * COUNT(spread); f++) {
            attention_case c = scores_case(lens[t], f % 2, spread[f / 2][0], spread[f / 2][1]);
            check_rows(k, &c);
            case_free(&c);
        }
    }
}
END_TEST

/* The maximum moves in every block, or stands in the first; or is there more than once. */
START_TEST(order_of_the_scores_and_ties)
{
    TABLE(k);
    for (int order = 0; order < 4; order++) {
        attention_case c = scores_case(200, false, 0, 1);
        for (size_t b = 0; b < 3; b++) {
            for (size_t i = 0; i < 200; i++) {
                rdk_real x = (rdk_real)(order == 0 ? i : 200 - i) / 8;
                if (order >= 2) x = i % 64 == 3 ? 5 : (rdk_real)(i % 7) * (order == 3);
                c.k[(b * 200 + i) * 2] = c.k[(b * 200 + i) * 2 + 1] = x;
            }
        }
        check_rows(k, &c);
        case_free(&c);
    }
}
END_TEST

/* An outlier at the first key: mean and variance do not hang on where they are counted from. */
START_TEST(variance_beside_an_outlier)
{
    TABLE(k);
    attention_case c = scores_case(300, false, 0, 1);
    for (size_t b = 0; b < 3; b++) c.k[b * 600] = c.k[b * 600 + 1] = 30000;
    check_rows(k, &c);
    case_free(&c);
}
END_TEST

/* Scores as far apart as floats can lie: what is a square of theirs is kept in double, and sums
 * that are finite stay so. */
START_TEST(scores_at_the_end_of_a_float)
{
    TABLE(k);
    static const double spread[] = {1e15, 1e18, 3e19, 1e30, 8e37};
    for (size_t f = 0; f < 2 * COUNT(spread); f++) {
        attention_case c = scores_case(150, f % 2, 0, spread[f / 2]);
        check_rows(k, &c);
        for (size_t i = 0; i < c.rows; i++) {
            const rdk_attention_row *r = &c.measured[i];
            ck_assert(isfinite(r->variance) && isfinite(r->peak) && isfinite(r->mean));
            ck_assert(isfinite(r->ds_norm) && isfinite(r->s_ds) && isfinite(r->a));
            ck_assert(r->n < 2 || r->variance > 0);
        }
        case_free(&c);
    }
}
END_TEST

/* The largest float and its negative: their difference is no float. */
START_TEST(a_difference_beyond_a_float)
{
    TABLE(k);
    attention_case c = scores_case(70, false, 0, 1);
    for (size_t i = 0; i < c.n_qk; i++) c.k[i] = i / 2 % 2 ? FLT_MAX : -FLT_MAX;
    case_run(k, &c);
    for (size_t i = 0; i < c.rows; i++) {
        const rdk_attention_row *r = &c.measured[i];
        ck_assert_close(r->variance, (double)FLT_MAX * (double)FLT_MAX, 1e-6, 0);
        ck_assert(r->rest == 34 && r->a == 0 && r->b2 == 34 && r->max == FLT_MAX);
        ck_assert(isfinite(r->s_ds) && isfinite(r->ds_norm));
    }
    case_free(&c);
}
END_TEST

/* Cosines of every pair, beside sums in double; a zero query and a zero key have none. */
START_TEST(cosines)
{
    TABLE(k);
    static const double sizes[] = {1e-12, 1, 1e12}, scales[] = {1e-6, -.25, 1, 1e6};
    static const size_t widths[] = {1, 7, 16, 64};
    for (size_t f = 0; f < COUNT(sizes) * COUNT(scales) * COUNT(widths); f++) {
        attention_case c = case_new((rdk_attention_shape){.batch = 2,
                                                          .heads = 2,
                                                          .len = 90,
                                                          .d_k = widths[f / 12],
                                                          .d_v = 3,
                                                          .scale = scales[f % 4],
                                                          .causal = f % 2},
                                    sizes[f / 4 % 3]);
        size_t d = c.s.d_k;
        memset(c.q + at_qk(&c, 1, 0, 5), 0, d * sizeof *c.q);
        memset(c.k + at_qk(&c, 1, 0, 3), 0, d * sizeof *c.k);
        case_measure(&c);
        case_run(k, &c);
        for (size_t i = 0; i < c.rows; i++) {
            size_t b = i / 90 / 2, h = i / 90 % 2, n = (size_t)c.measured[i].n;
            const rdk_real *q = c.q + at_qk(&c, b, h, i % 90);
            double sum = 0, sum2 = 0, size = 0;
            for (size_t j = 0; j < n; j++) {
                const rdk_real *key = c.k + at_qk(&c, b, h, j);
                double norms = sqrt(dot_of(d, q, q) * dot_of(d, key, key));
                double x = norms > 0 ? dot_of(d, q, key) / norms : 0;
                sum += x, sum2 += x * x, size += fabs(x);
            }
            ck_assert_close(c.measured[i].cosine, sum, 1e-5, size);
            ck_assert_close(c.measured[i].cosine2, sum2, 1e-5, 1e-3);
            if (i == 2 * 90 + 5) ck_assert(c.measured[i].cosine == 0);
        }
        case_free(&c);
    }
}
END_TEST

/* A row is reached where its dL/do is not all 0, also by one element, and also where so saturated a
 * row lets nothing through. */
START_TEST(rows_that_a_gradient_reaches)
{
    TABLE(k);
    attention_case c = scores_case(70, true, 0, 1e6);
    for (size_t b = 0; b < 3; b++)
        for (size_t i = 0; i < 70; i++) {
            rdk_real *dout = c.dout + at_v(&c, b, 1, i);
            memset(dout, 0, 4 * sizeof *dout);
            if (i % 3 == 1) dout[i % 4] = (rdk_real)-1e-30;
        }
    case_run(k, &c);
    for (size_t i = 0; i < c.rows; i++) {
        bool first_head = i / 70 % 2 == 0;
        ck_assert_int_eq(c.measured[i].reached, first_head || i % 70 % 3 == 1);
        ck_assert(c.measured[i].reached || c.measured[i].ds_norm == 0);
    }
    case_free(&c);
}
END_TEST

START_TEST(one_key)
{
    TABLE(k);
    attention_case c = scores_case(40, true, 3, 2);
    case_run(k, &c);
    for (size_t bh = 0; bh < 6; bh++) {
        const rdk_attention_row *r = &c.measured[bh * 40];
        ck_assert(r->n == 1 && r->max == r->mean && r->variance == 0);
        ck_assert(r->rest == 0 && r->a == 0 && r->b2 == 0 && r->b3 == 0);
        ck_assert(r->ds_norm == 0 && r->s_ds == 0);
    }
    case_free(&c);
}
END_TEST

/* dL/ds of a row, from nearly uniform to saturated beyond the digits of a float: the norm is right
 * relative to itself, which p (dO.v - dO.o) is not. */
START_TEST(gradient_at_the_scores)
{
    TABLE(k);
    static plain_row plain[3 * 2 * LONGEST];
    static const double sds[] = {0.1, 1, 8, 30};
    static const size_t lens[] = {1, 3, 24, 64, 100, 260};
    double smallest = 1;
    for (size_t f = 0; f < COUNT(sds) * COUNT(lens) * 2; f++) {
        attention_case c =
            scores_case(lens[f / 2 % COUNT(lens)], f % 2, 0, sds[f / 2 / COUNT(lens)]);
        c.s.dropout = f % 4 == 3 ? 0.2 : 0;
        case_run(k, &c);
        plain_results out = plain_run(&c, plain);
        for (size_t i = 0; i < c.rows; i++) {
            /* The plain ds, without the cancellation that even double does not survive. */
            double u[LONGEST], largest = 0, mean = 0, norm2 = 0, s_ds = 0, size = 0;
            const plain_row *r = &plain[i];
            size_t b = i / c.s.len / 2, h = i / c.s.len % 2, q = i % c.s.len;
            for (size_t j = 0; j < r->n; j++)
                u[j] = r->keep[j] * dot_of(4, c.dout + at_v(&c, b, h, q), c.v + at_v(&c, b, h, j));
            for (size_t j = 0; j < r->n; j++) largest = fmax(largest, fabs(u[j]));
            for (size_t j = 0; j < r->n; j++) mean += r->p[j] * (u[j] - u[r->arg_max]);
            for (size_t j = 0; j < r->n; j++) {
                double ds = r->p[j] * (u[j] - u[r->arg_max] - mean), d = r->s[j] - r->s[r->arg_max];
                norm2 += ds * ds, s_ds += d * ds, size += fabs(d * ds);
            }
            /* u is rounded: where all are alike, less is left than the row could pass. */
            double part = 0.1 * largest / (1 + (double)c.measured[i].rest);
            ck_assert_close(c.measured[i].ds_norm, sqrt(norm2), 2e-5,
                            fmax(part * (double)c.measured[i].rest, 1e-30));
            ck_assert_close(c.measured[i].s_ds, s_ds, 2e-5,
                            fmax(fmax(size, -part * (double)c.measured[i].a), 1e-30));
            if (norm2 > 0) smallest = fmin(smallest, sqrt(norm2));
        }
        plain_free(&out);
        case_free(&c);
    }
    ck_assert_double_le(smallest, 1e-15); /* saturation was there to be seen */
}
END_TEST

/* A second backward of the same call finds the figures of the first, not their sum. */
START_TEST(backward_twice)
{
    TABLE(k);
    attention_case c = scores_case(30, true, 0, 1);
    case_run(k, &c);
    rdk_attention_row first = c.measured[29];
    case_run(k, &c);
    ck_assert(c.measured[29].ds_norm == first.ds_norm && c.measured[29].s_ds == first.s_ds);
    ck_assert(first.ds_norm > 0);
    case_free(&c);
}
END_TEST

RDK_TEST_MAIN("kernels_attention_stats", {
    ADD_LOOP(sums_over_the_scores, ISAS);
    ADD_LOOP(order_of_the_scores_and_ties, ISAS);
    ADD_LOOP(variance_beside_an_outlier, ISAS);
    ADD_LOOP(scores_at_the_end_of_a_float, ISAS);
    ADD_LOOP(a_difference_beyond_a_float, ISAS);
    ADD_LOOP(cosines, ISAS);
    ADD_LOOP(rows_that_a_gradient_reaches, ISAS);
    ADD_LOOP(one_key, ISAS);
    ADD_LOOP(gradient_at_the_scores, ISAS);
    ADD_LOOP(backward_twice, ISAS);
})
