/* SPDX-License-Identifier: MIT
 * Additive attention in double precision: the identities that the kernels' gradients obey (against
 * the plain computation: test_kernels_attention_grad.c); what theory says of the start, against
 * draws; what is measured of pairs, against sums written out. */
#include "attention_case.h"

#include <rootdk/probe.h>

static const int32_t long_lengths[] = {150, 64, 65};

/* Bits of form: causal, lengths, dropout. */
static attention_case new_case(int form)
{
    attention_case c = case_new((rdk_attention_shape){.batch = 3,
                                                      .heads = 2,
                                                      .len = 150,
                                                      .d_k = 20,
                                                      .d_v = 9,
                                                      .scale = 0.6,
                                                      .causal = form & 1,
                                                      .lengths = form & 2 ? long_lengths : NULL,
                                                      .dropout = form & 4 ? 0.3 : 0},
                                1);
    case_additive(&c);
    return c;
}

/* The score is linear in w, so <w, dw> = sum s ds; and q and k enter as their sum, so in every
 * sequence and head sum_i dq_i = sum_j dk_j. */
START_TEST(identities)
{
    TABLE(k);
    for (int form = 0; form < 8; form++) {
        attention_case c = new_case(form);
        double s_ds = 0, largest = 0;
        case_measure(&c);
        case_run(k, &c);
        for (size_t i = 0; i < c.rows; i++) s_ds += c.measured[i].s_ds;
        ck_assert_close(dot_of(c.n_w, c.w, c.dw), s_ds, 1e-11, 1);
        for (size_t i = 0; i < c.n_qk; i++) largest = fmax(largest, fabs(c.dq[i]));
        for (size_t b = 0; b < c.s.batch; b++)
            for (size_t e = 0; e < c.s.heads * c.s.d_k; e++) {
                double apart = 0;
                for (size_t t = 0; t < c.s.len; t++)
                    apart += c.dq[at_qk(&c, b, 0, t) + e] - c.dk[at_qk(&c, b, 0, t) + e];
                ck_assert_double_le(fabs(apart), 1e-13 * largest);
            }
        case_free(&c);
    }
}
END_TEST

/* ---- theory ---------------------------------------------------------------------------------- */

/* Without k the tanh is the same for all keys; without q it is E tanh^2; where both are small, k's
 * own variance; where k is large, the sign of a normal variable about q: 1 - E (2 Phi(q/k) - 1)^2.
 */
START_TEST(variance_of_a_tanh_at_its_limits)
{
    const double pi = 3.14159265358979323846;
    ck_assert_double_le(fabs(rdk_additive_variance(1, 0)), 1e-15);
    ck_assert_close(rdk_additive_variance(0, 1e-3), 1e-6, 1e-5, 0);
    ck_assert_close(rdk_additive_variance(1e-3, 1e-3), 1e-6, 1e-5, 0);
    /* sign(x + y) and sign(x + z): correlation rho of the arguments, arcsine law */
    ck_assert_close(rdk_additive_variance(200, 200), 1 - 2 / pi * asin(.5), 0.01, 0);
    ck_assert(isnan(rdk_additive_variance(-1, 1)) && isnan(rdk_additive_variance(1, INFINITY)));
}
END_TEST

/* Drawn: pairs of keys with one query, E (tanh(q + k) - tanh(q + k'))^2 / 2. */
START_TEST(variance_of_a_tanh_against_draws)
{
    enum { DRAWS = 400000 };
    static const double std[][2] = {{1, 1}, {0.5, 2}, {3, 0.7}};
    for (size_t i = 0; i < COUNT(std); i++) {
        rdk_draws d = rdk_draws_at((rdk_stream){3, RDK_FOR_TEST, i}, 0);
        double sum = 0, sum2 = 0;
        for (int n = 0; n < DRAWS; n++) {
            double q = std[i][0] * rdk_draw_normal(&d),
                   one = tanh(q + std[i][1] * rdk_draw_normal(&d));
            double x = pow(one - tanh(q + std[i][1] * rdk_draw_normal(&d)), 2) / 2;
            sum += x, sum2 += x * x;
        }
        double mean = sum / DRAWS, error = sqrt((sum2 / DRAWS - mean * mean) / DRAWS);
        double want = rdk_additive_variance(std[i][0], std[i][1]);
        ck_assert_msg(fabs(mean - want) < 3.5 * error, "%g +- %g, predicted %g", mean, error, want);
    }
    ck_assert_close(rdk_additive_variance(1, 1), 0.283968411, 1e-9, 0);
}
END_TEST

/* sigma^2 = c^2 d_k w^2 V, by hand: unit 4 V(1, 1); t5 shrinks no W_Q; gpt2 48^2 .02^4 V(a, a) with
 * a = .02 8; a norm sets both deviations to its gain. */
START_TEST(variance_of_the_scores)
{
    rdk_model_config c = {.attention = RDK_ADDITIVE, .d_model = 64, .d_k = 48, .heads = 2};
    strcpy(c.scale, "2");
    ck_assert_close(rdk_theory_score_variance(&c), 4 * 0.283968411, 1e-8, 0);
    c.init = RDK_INIT_T5;
    ck_assert_close(rdk_theory_score_variance(&c), 4 * 0.283968411, 1e-8, 0);
    c.init = RDK_INIT_GPT2;
    strcpy(c.scale, "none");
    ck_assert_close(rdk_theory_score_variance(&c), 48 * 4e-4 * rdk_additive_variance(.16, .16),
                    1e-12, 0);
    c.qk_norm = RDK_QK_RMS, c.qk_gain = 1;
    ck_assert_close(rdk_theory_score_variance(&c), 48 * 4e-4 * 0.283968411, 1e-8, 0);
}
END_TEST

/* ---- pairs ----------------------------------------------------------------------------------- */

static rdk_head_view view_of(const attention_case *c, size_t head)
{
    return (rdk_head_view){.q = c->q,
                           .k = c->k,
                           .batch = c->s.batch,
                           .len = c->s.len,
                           .heads = c->s.heads,
                           .d_k = c->s.d_k,
                           .head = head,
                           .scale = c->s.scale,
                           .w = c->w + head * c->s.d_k,
                           .causal = c->s.causal,
                           .lengths = c->s.lengths};
}

START_TEST(weights_of_rows)
{
    for (int form = 0; form < 4; form++) {
        attention_case c = new_case(form);
        plain_row *all = calloc(c.rows, sizeof *all);
        plain_results want = plain_run(&c, all);
        double p[LONGEST];
        for (size_t h = 0; h < c.s.heads; h++) {
            rdk_head_view v = view_of(&c, h);
            for (size_t i = 0; i < c.s.len; i += 7) {
                const plain_row *r = &all[(c.s.heads + h) * c.s.len + i]; /* of sequence 1 */
                ck_assert_uint_eq(rdk_head_weights(&v, 1, i, p), r->n);
                for (size_t j = 0; j < r->n; j++) ck_assert_close(p[j], r->p[j], 1e-13, 0);
            }
        }
        free(all);
        plain_free(&want);
        case_free(&c);
    }
}
END_TEST

/* Steps so small that the difference of two scores in double has lost half its digits; and one from
 * tanhs that have rounded to 1 to others that have, or to 0. */
START_TEST(how_far_scores_move)
{
    static const double steps[] = {1, 1e-2, 1e-7, 30};
    for (size_t s = 0; s < COUNT(steps); s++) {
        attention_case c = new_case(3), moved = new_case(3);
        rdk_real *scratch = array(rdk_head_change_scratch(c.s.len, c.s.d_k));
        for (size_t i = 0; i < c.n_qk; i++) {
            if (steps[s] > 1) c.q[i] = moved.q[i] = -steps[s] * sin((double)i);
            moved.q[i] += steps[s] * sin((double)i);
            moved.k[i] += steps[s] * cos((double)i);
        }
        for (size_t e = 0; e < c.n_w; e++) moved.w[e] += steps[s] * sin(2 + (double)e);
        double sum = 0, pairs = 0;
        for (size_t b = 0; b < c.s.batch; b++)
            for (size_t i = 0; i < case_length(&c, b); i++)
                for (size_t j = 0; j <= i; j++) {
                    sum += pow(plain_score(&moved, b, 1, i, j) - plain_score(&c, b, 1, i, j), 2);
                    pairs += 1;
                }
        rdk_head_view v = view_of(&c, 1);
        double got = rdk_head_score_change(&v, moved.q, moved.k, moved.w + c.s.d_k, scratch);
        ck_assert_close(got, c.s.scale * sqrt(sum / pairs), s == 2 ? 1e-7 : 1e-12, 0);
        drop(scratch);
        case_free(&c), case_free(&moved);
    }
}
END_TEST

RDK_TEST_MAIN("additive attention", {
    ADD_LOOP(identities, ISAS);
    ADD(variance_of_a_tanh_at_its_limits);
    ADD(variance_of_a_tanh_against_draws);
    ADD(variance_of_the_scores);
    ADD(weights_of_rows);
    ADD(how_far_scores_move);
})
