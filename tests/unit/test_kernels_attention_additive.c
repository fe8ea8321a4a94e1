/* SPDX-License-Identifier: MIT
 * Additive scores in the attention kernels of every table: against the plain computation, their
 * statistics, their gradients, the ends of the tanh. What they share with products, and what must
 * never change a bit: test_kernels_attention.c. */
#include "attention_case.h"

static attention_case new_case(rdk_attention_shape s)
{
    return case_of_kind(s, true);
}

static void check_shape(const rdk_kernels *k, rdk_attention_shape s)
{
    attention_case c = new_case(s);
    check_against_plain(k, &c, 4e-6);
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
                check_shape(k, (rdk_attention_shape){.batch = 2,
                                                     .heads = 1 + t % 3,
                                                     .len = lens[t],
                                                     .d_k = dims[d][0],
                                                     .d_v = dims[d][1],
                                                     .scale = 0.8,
                                                     .causal = causal});
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

/* dw is added to what is there, or not wanted. */
START_TEST(gradient_of_w_is_added_and_optional)
{
    TABLE(k);
    attention_case c = new_case(padded_shape(true, 0.1)), d = case_copy(&c);
    case_run(k, &c);
    case_forward(k, &d);
    for (int skip = 0; skip < 2; skip++) {
        rdk_real *dw = normals(c.n_w, 0, 1, 9), *was = copy_of(dw, c.n_w);
        rdk_real *scratch = case_scratch(&d);
        d.additive->dw = skip ? NULL : dw;
        k->attention_backward(&d.s, d.q, d.k, d.v, d.dout, d.row_max, d.row_inv,
                              &(rdk_attention_grads){0}, NULL, scratch);
        for (size_t i = 0; i < c.n_w; i++)
            ck_assert_close(dw[i] - was[i], skip ? 0 : c.dw[i], 1e-5, 10);
        drop(dw), drop(was);
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
    ADD_LOOP(statistics_of_rows, ISAS);
    ADD_LOOP(gradient_of_w_is_added_and_optional, ISAS);
    ADD_LOOP(large_queries_saturate_the_tanh, ISAS);
})
