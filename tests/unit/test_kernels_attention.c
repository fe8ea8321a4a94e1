/* SPDX-License-Identifier: MIT
 * The attention kernels of every table against the plain computation, and what must never change a
 * bit, for products and for additive scores: hidden operands, threads, measuring, company in the
 * batch.
 * Read next: test_kernels_attention_additive.c, what additive scores have alone. */
#include "attention_case.h"

static void check_shape(const rdk_kernels *k, rdk_attention_shape s)
{
    attention_case c = case_new(s, 1);
    check_against_plain(k, &c, 2e-6);
    case_free(&c);
}

START_TEST(shapes_against_the_plain_computation)
{
    TABLE(k);
    static const size_t lens[] = {0, 1, 2, 3, 11, 12, 13, 24, 63, 64, 65, 130};
    static const size_t dims[][2] = {{1, 1}, {3, 2}, {8, 8}, {16, 33}, {20, 64}, {64, 20}, {65, 7}};
    for (size_t t = 0; t < COUNT(lens); t++)
        for (size_t d = 0; d < COUNT(dims); d++)
            for (int causal = 0; causal < 2; causal++)
                check_shape(k, (rdk_attention_shape){.batch = 2,
                                                     .heads = 1 + t % 3,
                                                     .len = lens[t],
                                                     .d_k = dims[d][0],
                                                     .d_v = dims[d][1],
                                                     .scale = 1 / sqrt((double)dims[d][0]),
                                                     .causal = causal});
}
END_TEST

START_TEST(sizes_of_zero)
{
    TABLE(k);
    for (int zero = 0; zero < 4; zero++)
        check_shape(k, (rdk_attention_shape){.batch = zero != 0,
                                             .heads = zero == 1 ? 0 : 2,
                                             .len = 5,
                                             .d_k = zero == 2 ? 0 : 4,
                                             .d_v = zero == 3 ? 0 : 4,
                                             .scale = 1});
}
END_TEST

START_TEST(padding_causal_and_dropout_together)
{
    TABLE_AND_KIND(k, additive);
    for (int form = 0; form < 4; form++) {
        attention_case c = case_of_kind(padded_shape(form & 1, form & 2 ? 0.3 : 0), additive);
        check_against_plain(k, &c, additive ? 4e-6 : 2e-6);
        case_free(&c);
    }
}
END_TEST

START_TEST(padding_gives_zeros)
{
    TABLE_AND_KIND(k, additive);
    attention_case c = case_of_kind(padded_shape(true, 0), additive);
    case_measure(&c);
    for (size_t i = 0; i < c.n_v; i++) c.o[i] = NAN;
    for (size_t i = 0; i < c.rows; i++) c.row_inv[i] = NAN, c.measured[i].n = 99;
    case_run(k, &c);
    for (size_t b = 0; b < c.s.batch; b++) {
        for (size_t i = case_length(&c, b); i < c.s.len; i++) {
            size_t o = at_v(&c, b, 0, i), q = at_qk(&c, b, 0, i), row = b * c.s.heads * c.s.len + i;
            for (size_t e = 0; e < c.s.heads * c.s.d_v; e++)
                ck_assert(c.o[o + e] == 0 && c.dv[o + e] == 0);
            for (size_t e = 0; e < c.s.heads * c.s.d_k; e++)
                ck_assert(c.dq[q + e] == 0 && c.dk[q + e] == 0);
            ck_assert(c.row_inv[row] == 0 && c.measured[row].n == 0 &&
                      c.measured[row].ds_norm == 0);
        }
    }
    case_free(&c);
}
END_TEST

/* ---- what must change no bit ----------------------------------------------------------------- */

START_TEST(nan_in_padding_reaches_nothing)
{
    TABLE_AND_KIND(k, additive);
    static const double poison[] = {NAN, INFINITY, -INFINITY, 3e38};
    for (size_t form = 0; form < 4 * COUNT(poison); form++) {
        attention_case c = case_of_kind(padded_shape(form & 1, form & 2 ? 0.3 : 0), additive);
        attention_case p = case_copy(&c);
        for (size_t b = 0; b < c.s.batch; b++) {
            for (size_t i = case_length(&c, b); i < c.s.len; i++) {
                size_t q = at_qk(&c, b, 0, i), v = at_v(&c, b, 0, i);
                for (size_t e = 0; e < c.s.heads * c.s.d_k; e++)
                    p.q[q + e] = p.k[q + e] = (rdk_real)poison[form / 4];
                for (size_t e = 0; e < c.s.heads * c.s.d_v; e++)
                    p.v[v + e] = p.dout[v + e] = (rdk_real)poison[form / 4];
            }
        }
        case_run(k, &c);
        case_run(k, &p);
        ck_assert(same_results(&c, &p));
        case_free(&c), case_free(&p);
    }
}
END_TEST

/* The future, from position `first` on, is poisoned: outputs and the gradients of queries before it
 * do not move, and with no gradient coming from the future neither do those of keys and values. */
START_TEST(nan_in_the_future_reaches_no_past)
{
    TABLE_AND_KIND(k, additive);
    static const size_t firsts[] = {1, 2, 5, 12, 13, 30, 63, 64, 65, 90};
    for (size_t f = 0; f < COUNT(firsts); f++) {
        size_t first = firsts[f];
        rdk_attention_shape s = padded_shape(true, f % 2 ? 0.2 : 0);
        s.lengths = NULL;
        s.batch = 1;
        attention_case c = case_of_kind(s, additive), p = case_copy(&c);
        for (size_t e = at_qk(&c, 0, 0, first); e < c.n_qk; e++) p.q[e] = p.k[e] = NAN;
        for (size_t e = at_v(&c, 0, 0, first); e < c.n_v; e++) p.v[e] = p.dout[e] = INFINITY;
        case_run(k, &c);
        case_run(k, &p);
        ck_assert(same_bits(c.o, p.o, at_v(&c, 0, 0, first)));
        ck_assert(same_bits(c.row_inv, p.row_inv, first));
        ck_assert(same_bits(c.dq, p.dq, at_qk(&c, 0, 0, first)));
        ck_assert(isnan(p.o[c.n_v - 1]) && isnan(p.dq[c.n_qk - 1])); /* it was really there */
        case_free(&c), case_free(&p);
    }
}
END_TEST

/* A query poisons the gradients of the keys it sees, and of no later ones. */
START_TEST(nan_in_a_query_reaches_no_later_key)
{
    TABLE_AND_KIND(k, additive);
    static const size_t places[] = {0, 1, 6, 12, 40, 63, 64, 99};
    for (size_t f = 0; f < COUNT(places); f++) {
        size_t i = places[f];
        rdk_attention_shape s = padded_shape(true, 0);
        s.lengths = NULL;
        s.batch = s.heads = 1;
        attention_case c = case_of_kind(s, additive), p = case_copy(&c);
        for (size_t e = 0; e < s.d_k; e++) p.q[at_qk(&c, 0, 0, i) + e] = NAN;
        case_run(k, &c);
        case_run(k, &p);
        size_t later = i + 1;
        for (size_t t = 0; t < s.len; t++) ck_assert(!isnan(p.dk[t * s.d_k]) == (t >= later));
        size_t qk = at_qk(&c, 0, 0, later), v = at_v(&c, 0, 0, later);
        ck_assert(same_bits(c.dk + qk, p.dk + qk, c.n_qk - qk));
        ck_assert(same_bits(c.dv + v, p.dv + v, c.n_v - v));
        ck_assert(same_bits(c.dq + qk, p.dq + qk, c.n_qk - qk));
        case_free(&c), case_free(&p);
    }
}
END_TEST

START_TEST(threads_and_measuring_change_no_bit)
{
    TABLE_AND_KIND(k, additive);
    static const int threads[] = {1, 2, 3, 8};
    for (int form = 0; form < 4; form++) {
        rdk_threads_set(1);
        attention_case c = case_of_kind(padded_shape(form & 1, form & 2 ? 0.3 : 0), additive);
        case_run(k, &c);
        for (size_t t = 0; t < COUNT(threads); t++) {
            rdk_threads_set(threads[t]);
            attention_case again = case_copy(&c);
            if (t % 2 == 0) case_measure(&again);
            case_run(k, &again);
            ck_assert(same_results(&c, &again));
            case_free(&again);
        }
        case_free(&c);
    }
}
END_TEST

/* The same rows at the front of a longer, padded sequence, with others in the batch. */
START_TEST(padding_and_company_change_no_bit)
{
    TABLE_AND_KIND(k, additive);
    enum { SHORT = 70 };
    static const int32_t lengths[] = {SHORT, 90};
    for (int causal = 0; causal < 2; causal++) {
        rdk_attention_shape s = padded_shape(causal, 0);
        s.batch = 1, s.len = SHORT, s.lengths = NULL;
        attention_case alone = case_of_kind(s, additive);
        s.batch = 2, s.len = 100, s.lengths = lengths;
        attention_case both = case_of_kind(s, additive);
        memcpy(both.q, alone.q, alone.n_qk * sizeof *both.q);
        memcpy(both.k, alone.k, alone.n_qk * sizeof *both.k);
        memcpy(both.v, alone.v, alone.n_v * sizeof *both.v);
        memcpy(both.dout, alone.dout, alone.n_v * sizeof *both.dout);
        case_run(k, &alone);
        case_run(k, &both);
        ck_assert(same_bits(alone.o, both.o, alone.n_v));
        ck_assert(same_bits(alone.dq, both.dq, alone.n_qk));
        ck_assert(same_bits(alone.dk, both.dk, alone.n_qk));
        ck_assert(same_bits(alone.dv, both.dv, alone.n_v));
        case_free(&alone), case_free(&both);
    }
}
END_TEST

/* Any of the three may be unwanted; the others are added to what is there where asked to. */
START_TEST(gradients_are_added_and_optional)
{
    TABLE_AND_KIND(k, additive);
    attention_case c = case_of_kind(padded_shape(true, 0.1), additive), d = case_copy(&c);
    case_run(k, &c);
    case_forward(k, &d);
    for (int skip = 0; skip < 3; skip++) {
        rdk_real *dq = normals(c.n_qk, 0, 1, 9), *dk = copy_of(dq, c.n_qk), *dv = array(c.n_v);
        rdk_real *was = copy_of(dq, c.n_qk), *scratch = case_scratch(&d);
        const rdk_attention_grads to = {.dq = skip == 0 ? NULL : dq,
                                        .dk = skip == 1 ? NULL : dk,
                                        .dv = skip == 2 ? NULL : dv,
                                        .add_q = true,
                                        .add_k = true,
                                        .add_v = true};
        k->attention_backward(&d.s, d.q, d.k, d.v, d.dout, d.row_max, d.row_inv, &to, NULL,
                              scratch);
        for (size_t i = 0; i < c.n_qk; i++) {
            ck_assert_close(dq[i] - was[i], skip == 0 ? 0 : c.dq[i], 1e-5, 1);
            ck_assert_close(dk[i] - was[i], skip == 1 ? 0 : c.dk[i], 1e-5, 1);
        }
        for (size_t i = 0; i < c.n_v; i++) ck_assert(dv[i] == (skip == 2 ? 0 : c.dv[i]));
        drop(dq), drop(dk), drop(dv), drop(was);
        rdk_free(scratch);
    }
    case_free(&c), case_free(&d);
}
END_TEST

/* ---- numbers at the edge --------------------------------------------------------------------- */

/* All scores the same, far from 0: p is uniform, the output the mean of the values. */
START_TEST(large_equal_scores)
{
    TABLE(k);
    static const double scores[] = {-20000, 1e8, -1e30, 0};
    for (size_t f = 0; f < COUNT(scores); f++) {
        attention_case c = case_new(
            (rdk_attention_shape){
                .batch = 1, .heads = 1, .len = 70, .d_k = 1, .d_v = 3, .scale = scores[f]},
            1);
        for (size_t i = 0; i < c.n_qk; i++) c.q[i] = c.k[i] = 1;
        case_run(k, &c);
        double mean[3] = {0};
        for (size_t i = 0; i < c.n_v; i++) mean[i % 3] += (double)c.v[i] / 70;
        for (size_t i = 0; i < c.n_v; i++) ck_assert_close(c.o[i], mean[i % 3], 1e-6, 1);
        for (size_t i = 0; i < c.rows; i++) ck_assert_close(c.row_inv[i] * 70, 1, 1e-6, 1);
        case_free(&c);
    }
}
END_TEST

/* Differences of a few units on top of 2^24: what is subtracted is what the maximum was taken
 * of. */
START_TEST(large_scores_that_differ)
{
    TABLE(k);
    attention_case c = case_new(
        (rdk_attention_shape){.batch = 1, .heads = 1, .len = 3, .d_k = 1, .d_v = 1, .scale = 0.1},
        1);
    static const rdk_real keys[] = {167772160, 167772176, 167772144};
    for (int j = 0; j < 3; j++) c.q[j] = 1, c.k[j] = keys[j], c.v[j] = (rdk_real)j;
    case_run(k, &c);
    rdk_real score[3], max = 0;
    double sum = 0, mean = 0;
    for (int j = 0; j < 3; j++)
        score[j] = (rdk_real)0.1 * keys[j], max = score[j] > max ? score[j] : max;
    for (int j = 0; j < 3; j++) sum += exp((double)(score[j] - max));
    for (int j = 0; j < 3; j++) mean += j * exp((double)(score[j] - max)) / sum;
    ck_assert_close(c.o[0], mean, 1e-6, 0);
    double total = 0; /* dv_j = p_j dout summed over j gives the sum of dout only if p sums to 1 */
    for (int j = 0; j < 3; j++) total += c.dv[j] - c.dout[j];
    ck_assert_close(total, 0, 1e-6, 1);
    case_free(&c);
}
END_TEST

/* The largest score comes block by block: the state is rescaled every time, and never below. */
START_TEST(rising_and_falling_scores)
{
    TABLE(k);
    for (int rising = 0; rising < 2; rising++) {
        attention_case c = case_new(
            (rdk_attention_shape){
                .batch = 1, .heads = 1, .len = 300, .d_k = 1, .d_v = 5, .scale = 0.375},
            1);
        for (size_t i = 0; i < 300; i++) c.q[i] = 1, c.k[i] = (rdk_real)(rising ? i : 300 - i);
        case_run(k, &c);
        plain_results want = plain_run(&c, NULL);
        check_close("o", &c, c.n_v, c.o, want.o, 2e-6);
        check_close("dk", &c, c.n_qk, c.dk, want.dk, 1e-5);
        plain_free(&want);
        case_free(&c);
    }
}
END_TEST

/* ---- queries of the last positions alone ----------------------------------------------------- */

/* What queries have: row by row, those before `first` cut off each sequence. */
static void cut(const attention_case *c, size_t first, size_t width, const rdk_real *from,
                rdk_real *to)
{
    const size_t kept = (c->s.len - first) * width;
    for (size_t b = 0; b < c->s.batch; b++)
        memcpy(to + b * kept, from + (b * c->s.len + first) * width, kept * sizeof *to);
}

/* Zeros and zeros of the other sign are equal. */
static void check_equal(size_t n, const rdk_real *got, const rdk_real *want)
{
    for (size_t i = 0; i < n; i++) ck_assert(got[i] == want[i]);
}

/* whole: run, with no gradient arriving before `first`. */
static void check_from(const rdk_kernels *k, const attention_case *whole, size_t first)
{
    attention_case c = case_copy(whole);
    const size_t qk = c.s.heads * c.s.d_k, v = c.s.heads * c.s.d_v;
    const size_t queries = c.s.batch * (c.s.len - first);
    rdk_real *want = array(c.n_qk + c.n_v);
    cut(whole, first, qk, whole->q, c.q), cut(whole, first, v, whole->dout, c.dout);
    for (size_t i = queries * qk; i < c.n_qk; i++) c.q[i] = NAN; /* is not there */
    for (size_t i = queries * v; i < c.n_v; i++) c.dout[i] = NAN;
    c.s.first = first;
    case_measure(&c);
    case_run(k, &c);
    cut(whole, first, v, whole->o, want), ck_assert(same_bits(c.o, want, queries * v));
    cut(whole, first, qk, whole->dq, want), check_equal(queries * qk, c.dq, want);
    check_equal(c.n_qk, c.dk, whole->dk), check_equal(c.n_v, c.dv, whole->dv);
    check_equal(c.n_w, c.dw, whole->dw);
    for (size_t i = 0; i < c.rows; i++) {
        if (i % c.s.len >= first) {
            ck_assert(same_bits(&c.row_max[i], &whole->row_max[i], 1));
            ck_assert_mem_eq(&c.measured[i], &whole->measured[i], sizeof *c.measured);
        } else {
            ck_assert(c.measured[i].n == 0); /* left as it was */
        }
    }
    drop(want);
    case_free(&c);
}

/* They have the bits that they have among all. */
START_TEST(queries_of_the_last_positions)
{
    TABLE_AND_KIND(k, additive);
    static const size_t firsts[] = {0, 1, 12, 37, 63, 64, 65, 70, 99, 100};
    for (int form = 0; form < 8; form++) {
        rdk_attention_shape s = padded_shape(form & 1, form & 2 ? 0.3 : 0);
        if (form & 4) s.lengths = NULL;
        attention_case whole = case_of_kind(s, additive);
        case_measure(&whole);
        for (size_t f = 0; f < COUNT(firsts); f++) {
            for (size_t b = 0; b < s.batch; b++)
                for (size_t e = at_v(&whole, b, 0, 0); e < at_v(&whole, b, 0, firsts[f]); e++)
                    whole.dout[e] = 0;
            for (size_t e = 0; e < whole.n_w; e++) whole.dw[e] = 0; /* is added to */
            case_run(k, &whole);
            check_from(k, &whole, firsts[f]);
        }
        case_free(&whole);
    }
}
END_TEST

/* ---- dropout --------------------------------------------------------------------------------- */

/* With v all ones the output of a row is the sum of what is kept over 1 - p: 1 in the mean, each
 * row's deviation known. */
START_TEST(dropout_keeps_the_expectation)
{
    TABLE(k);
    enum { T = 128, B = 32 };
    const double p = 0.25;
    attention_case c = case_new(
        (rdk_attention_shape){
            .batch = B, .heads = 1, .len = T, .d_k = 2, .d_v = 1, .scale = 0, .dropout = p},
        1);
    for (size_t i = 0; i < c.n_v; i++) c.v[i] = 1;
    case_forward(k, &c);
    double mean = 0;
    for (size_t i = 0; i < c.n_v; i++) mean += (double)c.o[i] / (double)c.n_v;
    double deviation = sqrt(p / (1 - p) / ((double)T * (double)c.n_v));
    ck_assert_double_le(fabs(mean - 1), 4 * deviation);
    ck_assert(c.o[0] != c.o[1] && c.o[0] != c.o[T]);
    case_free(&c);
}
END_TEST

RDK_TEST_MAIN("kernels_attention", {
    ADD_LOOP(shapes_against_the_plain_computation, ISAS);
    ADD_LOOP(sizes_of_zero, ISAS);
    ADD_LOOP(padding_causal_and_dropout_together, KINDS);
    ADD_LOOP(padding_gives_zeros, KINDS);
    ADD_LOOP(nan_in_padding_reaches_nothing, KINDS);
    ADD_LOOP(nan_in_the_future_reaches_no_past, KINDS);
    ADD_LOOP(nan_in_a_query_reaches_no_later_key, KINDS);
    ADD_LOOP(threads_and_measuring_change_no_bit, KINDS);
    ADD_LOOP(padding_and_company_change_no_bit, KINDS);
    ADD_LOOP(gradients_are_added_and_optional, KINDS);
    ADD_LOOP(large_equal_scores, ISAS);
    ADD_LOOP(large_scores_that_differ, ISAS);
    ADD_LOOP(rising_and_falling_scores, ISAS);
    ADD_LOOP(queries_of_the_last_positions, KINDS);
    ADD_LOOP(dropout_keeps_the_expectation, ISAS);
})
