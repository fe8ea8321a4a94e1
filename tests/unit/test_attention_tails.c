/* SPDX-License-Identifier: MIT
 * Gradients of attention where something has saturated: a capped score, a sink far above its row, a
 * tanh at its end. They are small, and right relative to themselves.
 * Invariant: every element is compared with its own value in double, none with a larger neighbour
 * (as in test_attention_policies.c). */
#include "attention_case.h"

enum { HEADS = 2 };

/* Each element that backward is right about has its own size. */
static void check_each(const char *what, size_t n, const rdk_real *got, const double *want)
{
    for (size_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - want[i]);
        ck_assert_msg(want[i] != 0, "%s %zu says nothing", what, i);
        ck_assert_msg(error <= 1e-4 * fabs(want[i]), "%s %zu: %g, %g in double", what, i,
                      (double)got[i], want[i]);
    }
}

static rdk_attention_shape one_key(void)
{
    return (rdk_attention_shape){
        .batch = 1, .heads = HEADS, .len = 1, .d_k = 4, .d_v = 3, .scale = 1};
}

/* One key beside a sink, z / cap = +-12 and 6: the slope of the cap is 4 exp(-24) and exp(-12). */
START_TEST(a_cap_far_behind_its_score)
{
    TABLE(k);
    static const rdk_real sinks[HEADS] = {0.5f, -0.5f}, sizes[] = {12, -12, 6};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        rdk_attention_shape s = one_key();
        s.softcap = 0.75, s.sink = sinks;
        attention_case c = case_new(s, 1);
        for (size_t e = 0; e < c.n_qk; e++)
            c.q[e] = (rdk_real)0.75, c.k[e] = sizes[i] * (rdk_real)(1 + (double)(e % 4)) / 10;
        case_run(k, &c);
        plain_results want = plain_run(&c, NULL);
        check_each("dq", c.n_qk, c.dq, want.dq);
        check_each("dk", c.n_qk, c.dk, want.dk);
        plain_free(&want);
        case_free(&c);
    }
}
END_TEST

/* p over the keys is exp(-30) and less; the sink's gradient is -p_sink sum p u. */
START_TEST(a_sink_far_above_its_row)
{
    TABLE(k);
    static const rdk_real sinks[HEADS] = {30, 40};
    for (size_t len = 1; len <= 70; len += 23) {
        rdk_attention_shape s = one_key();
        s.batch = 2, s.len = len, s.sink = sinks;
        attention_case c = case_new(s, 1);
        case_run(k, &c);
        plain_results want = plain_run(&c, NULL);
        for (size_t i = 0; i < s.batch * HEADS; i++) {
            double got = c.s.head_grads[s.batch * HEADS + i];
            ck_assert_msg(fabs(got - want.dsink[i]) <= 1e-4 * fabs(want.dsink[i]),
                          "T %zu, dsink %zu: %g, %g in double", len, i, got, want.dsink[i]);
        }
        plain_free(&want);
        case_free(&c);
    }
}
END_TEST

/* Two keys of different scores, and q + k about 12 (of either sign) for both. */
START_TEST(an_additive_score_at_its_end)
{
    TABLE(k);
    rdk_attention_shape s = one_key();
    s.len = 2;
    attention_case c = case_new(s, 1);
    case_additive(&c);
    for (size_t e = 0; e < c.n_qk; e++) {
        c.q[e] = e % 2 ? 10 : -10;
        c.k[e] = (rdk_real)(e % 2 ? 2 : -2) * (e < c.n_qk / 2 ? 1 : (rdk_real)1.125);
    }
    case_run(k, &c);
    plain_results want = plain_run(&c, NULL);
    check_each("dq", c.n_qk, c.dq, want.dq);
    check_each("dk", c.n_qk, c.dk, want.dk);
    plain_free(&want);
    case_free(&c);
}
END_TEST

/* Weights down to the end of exp, times gradients as small as those of a training: what is left of
 * such a key is below what float can say with all digits, and 0. */
START_TEST(saturated_rows_give_no_denormals)
{
    TABLE(k);
    rdk_attention_shape s = one_key();
    s.batch = 3, s.len = 70, s.causal = true;
    attention_case c = case_new(s, 6);
    for (size_t e = 0; e < c.n_v; e++) c.dout[e] *= (rdk_real)1e-5;
    case_run(k, &c);
    const struct {
        const rdk_real *x;
        size_t n;
    } grads[] = {{c.dq, c.n_qk}, {c.dk, c.n_qk}, {c.dv, c.n_v}};
    for (size_t g = 0; g < COUNT(grads); g++)
        for (size_t e = 0; e < grads[g].n; e++)
            ck_assert_msg(fpclassify(grads[g].x[e]) != FP_SUBNORMAL,
                          "gradient %zu, element %zu: %g", g, e, (double)grads[g].x[e]);
    case_free(&c);
}
END_TEST

RDK_TEST_MAIN("attention tails", {
    ADD_LOOP(a_cap_far_behind_its_score, ISAS);
    ADD_LOOP(a_sink_far_above_its_row, ISAS);
    ADD_LOOP(an_additive_score_at_its_end, ISAS);
    ADD_LOOP(saturated_rows_give_no_denormals, ISAS);
})
