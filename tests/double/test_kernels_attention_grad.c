/* SPDX-License-Identifier: MIT
 * The gradients of attention in double precision: against central differences of its own forward,
 * against the plain computation (of both kinds of score), and the identities that they obey. */
#include "attention_case.h"

static const int32_t small_lengths[] = {7, 3, 0};

/* Bits of form: causal, lengths, dropout. */
static rdk_attention_shape small_shape(int form)
{
    return (rdk_attention_shape){.batch = 3,
                                 .heads = 2,
                                 .len = 7,
                                 .d_k = 3,
                                 .d_v = 5,
                                 .scale = 0.6,
                                 .causal = form & 1,
                                 .lengths = form & 2 ? small_lengths : NULL,
                                 .dropout = form & 4 ? 0.3 : 0};
}

/* A scalar whose gradient at o is dout; padding gives 0. */
static double loss(const rdk_kernels *k, attention_case *c)
{
    case_forward(k, c);
    return dot_of(c->n_v, c->o, c->dout);
}

static void check_differences(const rdk_kernels *k, attention_case *c, rdk_real *x, size_t n,
                              const rdk_real *dx, const char *name)
{
    const double step = 1e-5;
    double largest = 0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(dx[i]));
    ck_assert_double_gt(largest, 0);
    for (size_t i = 0; i < n; i++) {
        rdk_real was = x[i];
        x[i] = was + step;
        double up = loss(k, c);
        x[i] = was - step;
        double down = loss(k, c);
        x[i] = was;
        double numeric = (up - down) / (2 * step);
        ck_assert_msg(fabs(numeric - dx[i]) <= 1e-8 * largest,
                      "d%s[%zu] = %.12g, differences give %.12g (largest %.3g)", name, i, dx[i],
                      numeric, largest);
    }
}

START_TEST(central_differences)
{
    TABLE(k);
    for (int form = 0; form < 8; form++) {
        attention_case c = case_new(small_shape(form), 1);
        case_run(k, &c);
        check_differences(k, &c, c.q, c.n_qk, c.dq, "q");
        check_differences(k, &c, c.k, c.n_qk, c.dk, "k");
        check_differences(k, &c, c.v, c.n_v, c.dv, "v");
        case_free(&c);
    }
}
END_TEST

/* Beyond one block of keys, to the last digits. */
START_TEST(plain_computation)
{
    TABLE_AND_KIND(k, additive);
    static const int32_t lengths[] = {150, 64, 65};
    for (int form = 0; form < 8; form++) {
        rdk_attention_shape s = small_shape(form);
        s.len = 150, s.d_k = 20, s.d_v = 9;
        if (s.lengths) s.lengths = lengths;
        attention_case c = case_of_kind(s, additive);
        case_run(k, &c);
        plain_results want = plain_run(&c, NULL);
        ck_assert_double_le(distance(c.n_v, c.o, want.o), 1e-14);
        ck_assert_double_le(distance(c.n_qk, c.dq, want.dq), 1e-13);
        ck_assert_double_le(distance(c.n_qk, c.dk, want.dk), 1e-13);
        ck_assert_double_le(distance(c.n_v, c.dv, want.dv), 1e-13);
        if (additive) ck_assert_double_le(distance(c.n_w, c.dw, want.dw), 1e-13);
        plain_free(&want);
        case_free(&c);
    }
}
END_TEST

/* A row of ds sums to 0: the same vector added to every key changes no output, so sum_j dk_j = 0 in
 * every head (which is the gradient of a key bias). And sum s ds = <q, dq> = <k, dk>. */
START_TEST(identities)
{
    TABLE(k);
    for (int form = 0; form < 8; form++) {
        attention_case c = case_new(small_shape(form), 1);
        case_measure(&c);
        case_run(k, &c);
        double largest = 0, s_ds = 0;
        for (size_t i = 0; i < c.n_qk; i++) largest = fmax(largest, fabs(c.dk[i]));
        for (size_t b = 0; b < c.s.batch; b++) {
            for (size_t e = 0; e < c.s.heads * c.s.d_k; e++) {
                double sum = 0;
                for (size_t j = 0; j < c.s.len; j++) sum += c.dk[at_qk(&c, b, 0, j) + e];
                ck_assert_double_le(fabs(sum), 1e-14 * largest);
            }
        }
        for (size_t i = 0; i < c.rows; i++) s_ds += c.measured[i].s_ds;
        ck_assert_close(dot_of(c.n_qk, c.q, c.dq), s_ds, 1e-12, 1);
        ck_assert_close(dot_of(c.n_qk, c.k, c.dk), s_ds, 1e-12, 1);
        case_free(&c);
    }
}
END_TEST

/* The sums of a row give entropy and the trace of its Jacobian: two keys with scores +8 and -8, +1
 * and -1, +1/8 and -1/8. */
START_TEST(hand_table)
{
    TABLE(k);
    static const double table[][4] = {
        {8, 1.125351494e-07, 2.250702988e-07, 1.913097761e-06},
        {1, 0.1049935854, 0.2099871708, 0.3653338551},
        {0.125, 0.2461340827, 0.4922681655, 0.6853952947},
    };
    for (size_t t = 0; t < COUNT(table); t++) {
        attention_case c = case_new(
            (rdk_attention_shape){
                .batch = 1, .heads = 1, .len = 2, .d_k = 1, .d_v = 1, .scale = table[t][0]},
            1);
        c.q[0] = c.q[1] = c.k[0] = 1, c.k[1] = -1;
        case_measure(&c);
        case_run(k, &c);
        const rdk_attention_row *r = &c.measured[0];
        double z = 1 + r->rest, trace = (2 * r->rest + r->rest * r->rest - r->b2) / (z * z);
        ck_assert_close(r->rest / (z * z), table[t][1], 5e-10, 0);
        ck_assert_close(trace, table[t][2], 5e-10, 0);
        ck_assert_close(log1p(r->rest) - r->a / z, table[t][3], 5e-10, 0);
        case_free(&c);
    }
}
END_TEST

/* none with the queries divided by sqrt(d_k) is sqrt: the scale is on the scores and nowhere
 * else. */
START_TEST(scale_is_on_the_scores)
{
    TABLE(k);
    const double c8 = 0.125;
    rdk_attention_shape s = small_shape(1);
    s.scale = c8;
    attention_case c = case_new(s, 2), d = case_copy(&c);
    d.s.scale = 1;
    for (size_t i = 0; i < d.n_qk; i++) d.q[i] *= c8;
    case_run(k, &c);
    case_run(k, &d);
    ck_assert(same_bits(c.o, d.o, c.n_v) && same_bits(c.dk, d.dk, c.n_qk));
    for (size_t i = 0; i < c.n_qk; i++) ck_assert(c.dq[i] == c8 * d.dq[i]);
    case_free(&c), case_free(&d);
}
END_TEST

RDK_TEST_MAIN("kernels_attention_grad", {
    ADD_LOOP(central_differences, ISAS);
    ADD_LOOP(plain_computation, KINDS);
    ADD_LOOP(identities, ISAS);
    ADD_LOOP(hand_table, ISAS);
    ADD_LOOP(scale_is_on_the_scores, ISAS);
})
