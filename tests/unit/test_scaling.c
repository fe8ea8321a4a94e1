/* SPDX-License-Identifier: MIT
 * Scaling policies and the options of the model: each does what its name says, once, and nothing is
 * an option or a parameter in name only.
 * Read next: test_model_passes.c. */
#include "model_case.h"

enum { MOST_POLICIES = 32 };

/* c at d_k 64, d_model 256 and at d_k 16, d_model 64. A new policy needs its row. */
static const struct by_hand {
    const char *name;
    double wide, narrow;
    rdk_qk_norm qk_norm;
} by_hand[] = {
    {"none", 1, 1, RDK_QK_OFF},
    {"sqrt", 0.125, 0.25, RDK_QK_OFF},
    {"dk", 0.015625, 0.0625, RDK_QK_OFF},
    {"qknorm", 0.125, 0.25, RDK_QK_LAYER},
    {"dmodel", 0.0625, 0.125, RDK_QK_OFF},
    {"t5", 1, 1, RDK_QK_OFF},
};

START_TEST(multiplier_by_hand)
{
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        const rdk_scaling *p = rdk_scaling_at(i);
        const struct by_hand *want = NULL;
        for (size_t k = 0; k < sizeof by_hand / sizeof by_hand[0]; k++)
            if (strcmp(by_hand[k].name, p->name) == 0) want = &by_hand[k];
        ck_assert_msg(want != NULL, "policy %s has no row in tests/unit/test_scaling.c", p->name);
        ck_assert_ptr_eq(rdk_scaling_find(p->name), p);
        ck_assert_close(p->multiplier(64, 256), want->wide, 1e-14, 0);
        ck_assert_close(p->multiplier(16, 64), want->narrow, 1e-14, 0);
        ck_assert_int_eq(p->qk_norm, want->qk_norm);
        ck_assert(strlen(p->formula) > 0 && strlen(p->about) > 0);
    }
    for (size_t k = 0; k < sizeof by_hand / sizeof by_hand[0]; k++)
        ck_assert_msg(rdk_scaling_find(by_hand[k].name) != NULL, "no %s", by_hand[k].name);
    ck_assert(rdk_scaling_find("t5")->query_shrink(64) == 0.125);
    ck_assert_ptr_null(rdk_scaling_find("sqr"));
    ck_assert_ptr_null(rdk_scaling_find(""));
    ck_assert_ptr_null(rdk_scaling_at(rdk_scaling_count()));
}
END_TEST

START_TEST(a_number_is_the_scale)
{
    rdk_model_config c = small_config();
    rdk_tape *t = new_tape();
    strcpy(c.scale, "0.25");
    c.d_k = 16;
    rdk_model *number = new_model(&c);
    ck_assert(rdk_model_score_scale(number) == 0.25);
    double loss = loss_of(number, t, NULL, NULL, false);
    strcpy(c.scale, "sqrt");
    rdk_model *named = new_model(&c);
    ck_assert(loss == loss_of(named, t, NULL, NULL, false));
    rdk_model_free(number);
    rdk_model_free(named);
    rdk_tape_free(t);
}
END_TEST

/* One head of d_k 4 over two tokens, W set so that q.k is known: the score must be c q.k, once. */
START_TEST(score_by_hand)
{
    rdk_model_config c = small_config();
    c.layers = 1, c.heads = 1, c.d_model = 4, c.d_k = 4, c.positions = RDK_NO_POSITIONS;
    c.norm = RDK_RMS_NORM;
    rdk_tape *t = new_tape();
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        const rdk_scaling *policy = rdk_scaling_at(i);
        if (policy->qk_norm != RDK_QK_OFF) continue;
        strcpy(c.scale, policy->name);
        rdk_model *m = new_model(&c);
        rdk_real *wq = rdk_model_role(m, RDK_ROLE_WQ, 0)->tensor.data;
        rdk_real *wk = rdk_model_role(m, RDK_ROLE_WK, 0)->tensor.data;
        rdk_real *e = rdk_model_role(m, RDK_ROLE_TOKENS, -1)->tensor.data;
        for (int j = 0; j < 16; j++) wq[j] = wk[j] = j % 5 == 0;
        for (int j = 0; j < 4; j++) e[j] = 1; /* RMS norm: stays (1, 1, 1, 1) */
        e[4] = e[5] = 1, e[6] = e[7] = -1;
        rdk_attention_row rows[2];
        const int32_t tokens[] = {0, 1};
        rdk_model_probe probe = {.rows = rows};
        rdk_tape_reset(t);
        ck_assert_ptr_nonnull(rdk_model_logits(m, t, 1, 2, tokens, NULL, &probe));
        ck_assert_int_eq(rows[1].n, 2);
        /* token 1 scores 0 with token 0 and 4 with itself */
        ck_assert_close(rows[1].max, 4 * policy->multiplier(4, 4), 1e-4, 1e-9);
        ck_assert_close(rows[0].max, 4 * policy->multiplier(4, 4), 1e-4, 1e-9);
        ck_assert_close(rows[1].mean, 2 * policy->multiplier(4, 4), 1e-4, 1e-9);
        rdk_model_free(m);
    }
    rdk_tape_free(t);
}
END_TEST

/* All losses of one list must differ from each other. */
START_TEST(every_policy_changes_the_loss)
{
    double loss[MOST_POLICIES];
    rdk_tape *t = new_tape();
    int n = 0;
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        if (strcmp(rdk_scaling_at(i)->name, "t5") == 0) continue; /* starts as sqrt: see below */
        rdk_model_config c = policy_config(i);
        c.layers = 3; /* d_model differs from d_k: dmodel is not sqrt here */
        rdk_model *m = new_model(&c);
        loss[n++] = loss_of(m, t, NULL, NULL, false);
        rdk_model_free(m);
    }
    expect_distinct(loss, n, "policy");
    rdk_tape_free(t);
}
END_TEST

START_TEST(every_qk_norm_changes_the_loss)
{
    double loss[2 * QK_NORMS];
    rdk_tape *t = new_tape();
    for (int i = 0; i < 2 * QK_NORMS; i++) {
        rdk_model_config c = small_config();
        c.qk_norm = (rdk_qk_norm)(i % QK_NORMS);
        c.qk_gain = i >= QK_NORMS && c.qk_norm ? 1.7 : 0; /* a fixed gain must multiply as well */
        c.qk_gain_learned = i < QK_NORMS;
        if (i == QK_NORMS) strcpy(c.scale, "0.3");
        rdk_model *m = new_model(&c);
        loss[i] = loss_of(m, t, NULL, NULL, false);
        rdk_model_free(m);
    }
    expect_distinct(loss, 2 * QK_NORMS, "QK-norm");
    rdk_tape_free(t);
}
END_TEST

START_TEST(every_option_changes_the_model)
{
    rdk_tape *t = new_tape();
    rdk_model_config base = small_config(), c = variant_config(_i);
    rdk_model *a = new_model(&base), *b = new_model(&c);
    double change = fabs(loss_of(a, t, NULL, NULL, false) - loss_of(b, t, NULL, NULL, false));
    ck_assert_msg(change > 1e-6 || (starts_alike(&c) && rdk_model_size(a) < rdk_model_size(b)),
                  "%s changes nothing", variants[_i].name);
    rdk_model_free(a);
    rdk_model_free(b);
    rdk_tape_free(t);
}
END_TEST

static void expect_gradients(const rdk_model_config *c, const char *what)
{
    rdk_tape *t = new_tape();
    rdk_model *m = new_model(c);
    loss_of(m, t, NULL, NULL, true);
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        rdk_param *p = rdk_model_param(m, i);
        double norm = norm_of(p->tensor.grad, rdk_size(&p->tensor));
        if (!p->trainable)
            ck_assert_msg(norm == 0, "%s: fixed %s got a gradient", what, p->name);
        else if (gradient_is_zero(c, p))
            ck_assert_msg(norm < 1e-6, "%s: %s has gradient %g, not 0", what, p->name, norm);
        else
            ck_assert_msg(norm > 1e-7, "%s: %s has gradient %g", what, p->name, norm);
    }
    rdk_model_free(m);
    rdk_tape_free(t);
}

START_TEST(no_parameter_is_unused)
{
    rdk_model_config c = variant_config(_i);
    expect_gradients(&c, variants[_i].name);
}
END_TEST

START_TEST(no_parameter_is_unused_in_any_policy)
{
    for (size_t i = 0; i < rdk_scaling_count(); i++)
        for (int norm = 0; norm < QK_NORMS; norm++) {
            rdk_model_config c = policy_config(i);
            c.qk_norm = (rdk_qk_norm)norm;
            expect_gradients(&c, c.scale);
        }
}
END_TEST

START_TEST(same_seed_same_matrices)
{
    rdk_model_config c = small_config();
    rdk_model *base = new_model(&c);
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        rdk_model_config pc = policy_config(i);
        rdk_model *m = new_model(&pc);
        for (size_t j = 0; j < rdk_model_param_count(m); j++) {
            rdk_param *p = rdk_model_param(m, j), *q = rdk_model_find(base, p->name);
            size_t n = rdk_size(&p->tensor);
            if (!q) {
                ck_assert_int_eq(p->role, RDK_ROLE_QK_GAIN);
                continue;
            }
            bool shrunk = p->role == RDK_ROLE_WQ && rdk_scaling_at(i)->query_shrink;
            if (!shrunk) ck_assert_mem_eq(p->tensor.data, q->tensor.data, n * sizeof(rdk_real));
            for (size_t e = 0; shrunk && e < n; e++)
                ck_assert_close(p->tensor.data[e] * sqrt(6), q->tensor.data[e], 1e-6, 1e-6);
        }
        rdk_model_free(m);
    }
    rdk_model_free(base);
}
END_TEST

/* t5 and --init t5 both ask for the shrink; it must come once. */
START_TEST(query_shrink_is_applied_once)
{
    rdk_model_config c = small_config();
    c.init = RDK_INIT_T5;
    double want = 1 / sqrt(12. * 6.);
    const char *const scales[] = {"t5", "none", "sqrt", "0.5"};
    for (int i = 0; i < 4; i++) {
        strcpy(c.scale, scales[i]);
        ck_assert_close(rdk_init_std(&c, RDK_ROLE_WQ), want, 1e-12, 0);
    }
    c.init = RDK_INIT_UNIT;
    strcpy(c.scale, "t5");
    ck_assert_close(rdk_init_std(&c, RDK_ROLE_WQ), want, 1e-12, 0);
    strcpy(c.scale, "sqrt");
    ck_assert_close(rdk_init_std(&c, RDK_ROLE_WQ), 1 / sqrt(12.), 1e-12, 0);
}
END_TEST

START_TEST(none_with_shrunk_queries_equals_sqrt)
{
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    rdk_model *sqrt_model = new_model(&c);
    double want = loss_of(sqrt_model, t, NULL, NULL, false);
    strcpy(c.scale, "t5");
    rdk_model *t5 = new_model(&c);
    ck_assert_close(loss_of(t5, t, NULL, NULL, false), want, 1e-5, 0);
    strcpy(c.scale, "none");
    rdk_model *none = new_model(&c);
    ck_assert(fabs(loss_of(none, t, NULL, NULL, false) - want) > 1e-4);
    for (int layer = 0; layer < 2; layer++) {
        rdk_tensor *wq = &rdk_model_role(none, RDK_ROLE_WQ, layer)->tensor;
        for (size_t e = 0; e < rdk_size(wq); e++) wq->data[e] /= (rdk_real)sqrt(6);
    }
    ck_assert_close(loss_of(none, t, NULL, NULL, false), want, 1e-5, 0);
    rdk_model_free(sqrt_model);
    rdk_model_free(t5);
    rdk_model_free(none);
    rdk_tape_free(t);
}
END_TEST

/* gamma = sigma(W), so the model starts as it would without, to the last bit. */
START_TEST(sigma_reparametrisation_starts_as_without)
{
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    rdk_model *plain = new_model(&c);
    c.sigma_reparam = true;
    rdk_model *m = new_model(&c);
    ck_assert(loss_of(plain, t, NULL, NULL, false) == loss_of(m, t, NULL, NULL, false));
    rdk_model_free(plain);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("scaling", {
    ADD(multiplier_by_hand);
    ADD(a_number_is_the_scale);
    ADD(score_by_hand);
    ADD(every_policy_changes_the_loss);
    ADD(every_qk_norm_changes_the_loss);
    ADD_LOOP(every_option_changes_the_model, VARIANTS);
    ADD_LOOP(no_parameter_is_unused, VARIANTS);
    ADD(no_parameter_is_unused_in_any_policy);
    ADD(same_seed_same_matrices);
    ADD(query_shrink_is_applied_once);
    ADD(none_with_shrunk_queries_equals_sqrt);
    ADD(sigma_reparametrisation_starts_as_without);
})
