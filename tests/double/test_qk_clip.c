/* SPDX-License-Identifier: MIT
 * QK-clip: a head above the limit comes down to it, one below keeps its bits, whatever the sign of
 * its scores; and where the size of W_Q and W_K does not matter the function does not change. */
#include "model_case.h"

enum { HEADS = 2, LAYERS = 2, ALL = HEADS * LAYERS };

static double scores_of(rdk_model *m, rdk_tape *t, rdk_real most[ALL])
{
    rdk_model_probe probe = {.score_max = most};
    for (int i = 0; i < ALL; i++) most[i] = -INFINITY;
    return loss_of(m, t, NULL, &probe, false);
}

static rdk_model *shaken(const rdk_model_config *c)
{
    rdk_model *m = new_model(c);
    shake(m, 0.3);
    return m;
}

/* The largest score of each head by the statistics of the rows. */
START_TEST(the_largest_score_of_each_head)
{
    rdk_attention_row rows[LAYERS * BATCH * HEADS * LEN];
    rdk_real most[ALL];
    rdk_model_probe probe = {.rows = rows, .score_max = most};
    static const int32_t lengths[BATCH] = {LEN, 4, 0};
    rdk_model_config c = small_config();
    rdk_model *m = shaken(&c);
    rdk_tape *t = new_tape();
    for (int i = 0; i < ALL; i++) most[i] = -INFINITY;
    loss_of(m, t, lengths, &probe, false);
    for (size_t layer = 0; layer < LAYERS; layer++)
        for (size_t h = 0; h < HEADS; h++) {
            double want = -INFINITY;
            for (size_t b = 0; b < BATCH; b++)
                for (size_t i = 0; i < (size_t)lengths[b]; i++)
                    want = fmax(want, rows[((layer * BATCH + b) * HEADS + h) * LEN + i].max);
            ck_assert(most[layer * HEADS + h] == want);
        }
    for (int i = 0; i < ALL; i++) most[i] = 1e9; /* only raised */
    loss_of(m, t, lengths, &probe, false);
    for (int i = 0; i < ALL; i++) ck_assert(most[i] == 1e9);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

/* In one layer, so that no head hears of another's clip. */
START_TEST(heads_above_come_down_and_others_keep_their_bits)
{
    static const double alphas[] = {0, 0.5, 1};
    rdk_model_config c = small_config();
    c.layers = 1;
    c.bias = _i % 2;
    for (int a = 0; a < 3; a++) {
        rdk_real before[ALL], after[ALL];
        rdk_model *m = shaken(&c), *untouched = shaken(&c);
        rdk_tape *t = new_tape();
        scores_of(m, t, before);
        size_t high = before[0] > before[1] ? 0 : 1;
        double tau = (before[0] + before[1]) / 2;
        ck_assert(before[high] > tau && before[1 - high] < tau && tau > 0);
        ck_assert_uint_eq(rdk_qk_clip_count(m, before, tau), 1);
        rdk_qk_clip(m, before, tau, alphas[a]);
        scores_of(m, t, after);
        ck_assert_close(after[high], tau, 1e-12, 0);
        ck_assert(after[1 - high] == before[1 - high]);
        for (size_t i = 0; i < rdk_model_param_count(m); i++) {
            const rdk_param *p = rdk_model_param(m, i), *q = rdk_model_param(untouched, i);
            size_t n = rdk_size(&p->tensor), half = n / 2;
            bool query = strstr(p->name, ".wq.") != NULL, key = strstr(p->name, ".wk.") != NULL;
            bool same = !memcmp(p->tensor.data, q->tensor.data, n * sizeof(rdk_real));
            ck_assert_msg(same != ((query && alphas[a] > 0) || (key && alphas[a] < 1)), "%s",
                          p->name);
            if (query || key)
                ck_assert_mem_eq(p->tensor.data + (1 - high) * half,
                                 q->tensor.data + (1 - high) * half, half * sizeof(rdk_real));
        }
        rdk_model_free(m);
        rdk_model_free(untouched);
        rdk_tape_free(t);
    }
}
END_TEST

START_TEST(nothing_to_clip)
{
    static const double largest[] = {-3, 0, 5, -INFINITY, NAN};
    rdk_model_config c = small_config();
    rdk_model *m = shaken(&c), *untouched = shaken(&c);
    rdk_real most[ALL];
    for (size_t k = 0; k < sizeof largest / sizeof *largest; k++) {
        for (int i = 0; i < ALL; i++) most[i] = largest[k];
        ck_assert_uint_eq(rdk_qk_clip_count(m, most, 5), 0);
        rdk_qk_clip(m, most, 5, 0.5);
        ck_assert_mem_eq(rdk_model_values(m), rdk_model_values(untouched),
                         rdk_model_size(m) * sizeof(rdk_real));
    }
    rdk_model_free(m);
    rdk_model_free(untouched);
}
END_TEST

/* LN(eta x) = LN(x) up to the norm's eps, and so for the other norms: no score moves, whatever the
 * clip does to the weights. */
START_TEST(under_qk_norm_the_function_does_not_change)
{
    rdk_model_config c = small_config();
    c.qk_norm = (rdk_qk_norm)(_i + 1);
    rdk_model *m = shaken(&c), *before = shaken(&c);
    rdk_tape *t = new_tape();
    rdk_real most[ALL], after[ALL];
    double loss = scores_of(m, t, most), tau = INFINITY;
    for (int i = 0; i < ALL; i++) tau = fmin(tau, 0.8 * most[i]);
    ck_assert(tau > 0);
    ck_assert_uint_eq(rdk_qk_clip_count(m, most, tau), ALL);
    rdk_qk_clip(m, most, tau, 0.5);
    ck_assert_mem_ne(rdk_model_values(m), rdk_model_values(before),
                     rdk_model_size(m) * sizeof(rdk_real));
    ck_assert_close(scores_of(m, t, after), loss, 1e-6, 0);
    for (int i = 0; i < ALL; i++) ck_assert_close(after[i], most[i], 1e-5, 0);
    rdk_model_free(m);
    rdk_model_free(before);
    rdk_tape_free(t);
}
END_TEST

/* Why the two do not go together: sigma is of all heads' rows, and follows a clip. */
START_TEST(under_sigma_reparam_a_clip_reaches_the_other_head)
{
    rdk_model_config c = small_config();
    c.layers = 1;
    c.sigma_reparam = true;
    rdk_model *m = shaken(&c);
    rdk_tape *t = new_tape();
    rdk_real before[ALL], after[ALL];
    scores_of(m, t, before);
    size_t high = before[0] > before[1] ? 0 : 1;
    double tau = (before[0] + before[1]) / 2;
    ck_assert(tau > 0 && before[high] > tau);
    rdk_qk_clip(m, before, tau, 0.5);
    rdk_model_power_step(m);
    scores_of(m, t, after);
    ck_assert_double_gt(after[1 - high], before[1 - high] * 1.01);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("qk-clip", {
    ADD(the_largest_score_of_each_head);
    ADD_LOOP(heads_above_come_down_and_others_keep_their_bits, 2);
    ADD(nothing_to_clip);
    ADD_LOOP(under_qk_norm_the_function_does_not_change, 3);
    ADD(under_sigma_reparam_a_clip_reaches_the_other_head);
})
