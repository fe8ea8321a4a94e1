/* SPDX-License-Identifier: MIT
 * Additive scores in the attention kernels of every table: against the plain computation, and what
 * must never change a bit. What follows the score is the code of test_kernels_attention.c. */
#include "attention_case.h"

static attention_case new_case(rdk_attention_shape s)
{
    attention_case c = case_new(s, 1);
    case_additive(&c);
    return c;
}

static void check_close(const char *what, const attention_case *c, size_t n, const rdk_real *got,
                        const double *want, double tolerance)
{
    double error = distance(n, got, want);
    ck_assert_msg(error <= tolerance, "%s: error %.3g (T %zu, d_k %zu, d_v %zu, causal %d)", what,
                  error, c->s.len, c->s.d_k, c->s.d_v, c->s.causal);
}

static void check_against_plain(const rdk_kernels *k, rdk_attention_shape s)
{
    attention_case c = new_case(s);
    case_run(k, &c);
    plain_results want = plain_run(&c, NULL);
    check_close("o", &c, c.n_v, c.o, want.o, 4e-6);
    check_close("dv", &c, c.n_v, c.dv, want.dv, 4e-6);
    check_close("dq", &c, c.n_qk, c.dq, want.dq, 2e-5);
    check_close("dk", &c, c.n_qk, c.dk, want.dk, 2e-5);
    check_close("dw", &c, c.n_w, c.dw, want.dw, 2e-5);
    plain_free(&want);
    case_free(&c);
}

START_TEST(shapes_against_the_plain_computation)
{
    TABLE(k);
    static const size_t lens[] = {0, 1, 2, 13, 24, 63, 64, 65, 130};
    static const size_t dims[][2] = {{1, 1}, {3, 2}, {16, 33}, {20, 64}, {65, 7}};
    for (size_t t = 0; t < COUNT(lens); t++)
        for (size_t d = 0; d < COUNT(dims); d++)
            for (int causal = 0; causal < 2; causal++)
                check_against_plain(k, (rdk_attention_shape){.batch = 2,
                                                             .heads = 1 + t % 3,
                                                             .len = lens[t],
                                                             .d_k = dims[d][0],
                                                             .d_v = dims[d][1],
                                                             .scale = 0.8,
                                                             .causal = causal});
}
END_TEST

static const int32_t some_lengths[] = {70, 0, 1, 37, 100};

static rdk_attention_shape padded_shape(bool causal, double dropout)
{
    return (rdk_attention_shape){.batch = COUNT(some_lengths),
                                 .heads = 2,
                                 .len = 100,
                                 .d_k = 18,
                                 .d_v = 24,
                                 .scale = 0.5,
                                 .causal = causal,
                                 .lengths = some_lengths,
                                 .dropout = dropout};
}

START_TEST(padding_causal_and_dropout_together)
{
    TABLE(k);
    for (int form = 0; form < 4; form++)
        check_against_plain(k, padded_shape(form & 1, form & 2 ? 0.3 : 0));
}
END_TEST

static bool same_results(const attention_case *a, const attention_case *b)
{
    return same_bits(a->o, b->o, a->n_v) && same_bits(a->row_max, b->row_max, a->rows) &&
           same_bits(a->row_inv, b->row_inv, a->rows) && same_bits(a->dq, b->dq, a->n_qk) &&
           same_bits(a->dk, b->dk, a->n_qk) && same_bits(a->dv, b->dv, a->n_v) &&
           same_bits(a->dw, b->dw, a->n_w);
}

START_TEST(nan_in_padding_reaches_nothing)
{
    TABLE(k);
    for (int form = 0; form < 4; form++) {
        attention_case c = new_case(padded_shape(form & 1, 0)), p = case_copy(&c);
        for (size_t b = 0; b < c.s.batch; b++) {
            for (size_t i = case_length(&c, b); i < c.s.len; i++) {
                size_t q = at_qk(&c, b, 0, i), v = at_v(&c, b, 0, i);
                for (size_t e = 0; e < c.s.heads * c.s.d_k; e++)
                    p.q[q + e] = p.k[q + e] = form & 2 ? NAN : INFINITY;
                for (size_t e = 0; e < c.s.heads * c.s.d_v; e++)
                    p.v[v + e] = p.dout[v + e] = form & 2 ? NAN : INFINITY;
            }
        }
        case_run(k, &c);
        case_run(k, &p);
        ck_assert(same_results(&c, &p));
        case_free(&c), case_free(&p);
    }
}
END_TEST

/* With no gradient from the future, the gradients of the past do not move either. */
START_TEST(nan_in_the_future_reaches_no_past)
{
    TABLE(k);
    static const size_t firsts[] = {1, 5, 13, 63, 64, 65, 90};
    for (size_t f = 0; f < COUNT(firsts); f++) {
        size_t first = firsts[f];
        rdk_attention_shape s = padded_shape(true, 0);
        s.lengths = NULL;
        s.batch = s.heads = 1;
        attention_case c = new_case(s), p = case_copy(&c);
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

START_TEST(threads_and_measuring_change_no_bit)
{
    TABLE(k);
    static const int threads[] = {2, 3, 8};
    for (int form = 0; form < 4; form++) {
        rdk_threads_set(1);
        attention_case c = new_case(padded_shape(form & 1, form & 2 ? 0.3 : 0));
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

/* The sums of a row are those of its scores; a product there is none. */
START_TEST(statistics_of_rows)
{
    TABLE(k);
    attention_case c = new_case(padded_shape(true, 0));
    plain_row *all = calloc(c.rows, sizeof *all);
    case_measure(&c);
    case_run(k, &c);
    plain_results want = plain_run(&c, all);
    for (size_t i = 0; i < c.rows; i++) {
        const rdk_attention_row *r = &c.measured[i];
        double squares = 0, s_ds = 0;
        ck_assert_int_eq(r->n, (int)all[i].n);
        if (r->n == 0) continue;
        for (size_t j = 0; j < all[i].n; j++) {
            squares += all[i].ds[j] * all[i].ds[j];
            s_ds += all[i].s[j] * all[i].ds[j];
        }
        ck_assert_close(r->max, all[i].s[all[i].arg_max], 2e-6, 1);
        ck_assert_close(1 / (1 + (double)r->rest), all[i].p[all[i].arg_max], 1e-5, 0);
        ck_assert_close(r->ds_norm, sqrt(squares), 1e-4, 1e-3);
        ck_assert_close(r->s_ds, s_ds, 1e-4, 1e-2);
        ck_assert(isnan(r->cosine) && isnan(r->cosine2));
    }
    free(all);
    plain_free(&want);
    case_free(&c);
}
END_TEST

/* Any gradient may be unwanted; the others are added to what is there. */
START_TEST(gradients_are_added_and_optional)
{
    TABLE(k);
    attention_case c = new_case(padded_shape(true, 0.1)), d = case_copy(&c);
    case_run(k, &c);
    case_forward(k, &d);
    for (int skip = 0; skip < 3; skip++) {
        rdk_real *dq = normals(c.n_qk, 0, 1, 9), *dk = copy_of(dq, c.n_qk);
        rdk_real *was = copy_of(dq, c.n_qk), *scratch = case_scratch(&d);
        rdk_real *dw = copy_of(was, c.n_w);
        d.additive->dw = skip == 2 ? NULL : dw;
        k->attention_backward(&d.s, d.q, d.k, d.v, d.dout, d.row_max, d.row_inv,
                              skip == 0 ? NULL : dq, skip == 1 ? NULL : dk, NULL, NULL, scratch);
        for (size_t i = 0; i < c.n_qk; i++) {
            ck_assert_close(dq[i] - was[i], skip == 0 ? 0 : c.dq[i], 1e-5, 1);
            ck_assert_close(dk[i] - was[i], skip == 1 ? 0 : c.dk[i], 1e-5, 1);
        }
        for (size_t i = 0; i < c.n_w; i++)
            ck_assert_close(dw[i] - was[i], skip == 2 ? 0 : c.dw[i], 1e-5, 10);
        drop(dq), drop(dk), drop(dw), drop(was);
        rdk_free(scratch);
    }
    case_free(&c), case_free(&d);
}
END_TEST

/* A tanh at its ends: scores are plus or minus the sum of |w|, gradients 0, nothing is lost. */
START_TEST(large_queries_saturate_the_tanh)
{
    TABLE(k);
    attention_case c = new_case(
        (rdk_attention_shape){.batch = 1, .heads = 1, .len = 40, .d_k = 8, .d_v = 3, .scale = 1});
    double sum = 0;
    for (size_t i = 0; i < c.n_qk; i++) c.q[i] = (rdk_real)1e30;
    for (size_t e = 0; e < c.n_w; e++) sum += (double)c.w[e];
    case_measure(&c);
    case_run(k, &c);
    ck_assert_close(c.measured[3].max, sum, 1e-6, 1);
    ck_assert(c.measured[3].variance == 0);
    for (size_t i = 0; i < c.n_qk; i++) ck_assert(c.dq[i] == 0 && c.dk[i] == 0);
    case_free(&c);
}
END_TEST

RDK_TEST_MAIN("kernels_attention_additive", {
    ADD_LOOP(shapes_against_the_plain_computation, ISAS);
    ADD_LOOP(padding_causal_and_dropout_together, ISAS);
    ADD_LOOP(nan_in_padding_reaches_nothing, ISAS);
    ADD_LOOP(nan_in_the_future_reaches_no_past, ISAS);
    ADD_LOOP(threads_and_measuring_change_no_bit, ISAS);
    ADD_LOOP(statistics_of_rows, ISAS);
    ADD_LOOP(gradients_are_added_and_optional, ISAS);
    ADD_LOOP(large_queries_saturate_the_tanh, ISAS);
})
