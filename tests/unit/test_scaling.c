/* SPDX-License-Identifier: MIT
 * Scaling policies and the options of the model: each does what its name says, once, and nothing is
 * an option or a parameter in name only. */
#include "model_case.h"

enum { MOST_POLICIES = 32 };

static rdk_model_config policy_config(size_t i)
{
    rdk_model_config c = small_config();
    const rdk_scaling *p = rdk_scaling_at(i);
    snprintf(c.scale, sizeof c.scale, "%s", p->name);
    c.qk_norm = p->qk_norm;
    return c;
}

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
static void expect_distinct(const double *loss, int n, const char *what)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            ck_assert_msg(fabs(loss[i] - loss[j]) > 1e-6, "%s %d and %d have one loss: %.9g", what,
                          i, j, loss[i]);
}

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

/* logits [len, VOCAB] of one sequence, into out. */
static void logits_of(rdk_model *m, rdk_tape *t, size_t len, const int32_t *tokens,
                      const int32_t *lengths, rdk_real *out)
{
    rdk_tape_reset(t);
    rdk_tensor *y = rdk_model_logits(m, t, 1, len, tokens, lengths, NULL);
    ck_assert_msg(y != NULL, "%s", rdk_tape_status(t)->message);
    memcpy(out, y->data, rdk_size(y) * sizeof *out);
}

static const int32_t sequence[] = {3, 1, 4, 1, 5, 9, 2}, changed[] = {3, 1, 4, 1, 5, 9, 7};

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

START_TEST(the_future_is_hidden)
{
    rdk_tape *t = new_tape();
    rdk_real a[LEN * VOCAB], b[LEN * VOCAB];
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        rdk_model_config c = policy_config(i);
        rdk_model *m = new_model(&c);
        logits_of(m, t, LEN, sequence, NULL, a);
        logits_of(m, t, LEN, changed, NULL, b);
        ck_assert_mem_eq(a, b, (LEN - 1) * VOCAB * sizeof *a);
        ck_assert_mem_ne(a + (LEN - 1) * VOCAB, b + (LEN - 1) * VOCAB, VOCAB * sizeof *a);
        rdk_model_free(m);
        c.arch = RDK_ENCODER;
        m = new_model(&c);
        logits_of(m, t, LEN, sequence, NULL, a);
        logits_of(m, t, LEN, changed, NULL, b);
        for (int p = 0; p < LEN; p++)
            ck_assert_mem_ne(a + p * VOCAB, b + p * VOCAB, VOCAB * sizeof *a);
        rdk_model_free(m);
    }
    rdk_tape_free(t);
}
END_TEST

/* Every variant, with padding behind and without: the real tokens' logits are the same bits. */
START_TEST(padding_is_never_seen)
{
    enum { REAL = 5 };
    const int32_t padded[] = {3, 1, 4, 1, 5, 8, 8}, other[] = {3, 1, 4, 1, 5, 0, 10};
    const int32_t length = REAL;
    rdk_real a[LEN * VOCAB], b[LEN * VOCAB], d[LEN * VOCAB];
    rdk_tape *t = new_tape();
    rdk_model_config c = variant_config(_i);
    for (int arch = 0; arch < 2; arch++) {
        c.arch = (rdk_arch)arch;
        rdk_model *m = new_model(&c);
        logits_of(m, t, REAL, padded, NULL, a);
        logits_of(m, t, LEN, padded, &length, b);
        logits_of(m, t, LEN, other, &length, d);
        ck_assert_msg(memcmp(a, b, REAL * VOCAB * sizeof *a) == 0, "%s", variants[_i].name);
        ck_assert_msg(memcmp(b, d, REAL * VOCAB * sizeof *a) == 0, "%s", variants[_i].name);
        rdk_model_free(m);
    }
    rdk_tape_free(t);
}
END_TEST

START_TEST(a_probe_changes_no_bit)
{
    rdk_attention_row rows[2 * BATCH * 2 * LEN];
    rdk_tensor *q[2], *k[2];
    rdk_model_probe probe = {.rows = rows, .q = q, .k = k};
    const int32_t lengths[] = {LEN, 4, 0};
    rdk_tape *t = new_tape();
    rdk_model_config c = policy_config(3);
    rdk_model *m = new_model(&c);
    size_t bytes = rdk_model_size(m) * sizeof(rdk_real);
    rdk_real *grads = malloc(bytes);
    double loss = loss_of(m, t, lengths, NULL, true);
    memcpy(grads, rdk_model_grads(m), bytes);
    ck_assert(loss == loss_of(m, t, lengths, &probe, true));
    ck_assert_mem_eq(grads, rdk_model_grads(m), bytes);
    for (int layer = 0; layer < 2; layer++) {
        ck_assert_uint_eq(q[layer]->dim[0], BATCH);
        ck_assert_uint_eq(k[layer]->dim[2], 12);
        const rdk_attention_row *r = rows + layer * BATCH * 2 * LEN;
        ck_assert_int_eq(r[LEN - 1].n, LEN);         /* sequence 0, head 0, last query */
        ck_assert_int_eq(r[2 * LEN + 3].n, 4);       /* sequence 1, of 4 tokens */
        ck_assert_int_eq(r[2 * 2 * LEN + LEN].n, 0); /* sequence 2, of none */
        ck_assert(r[LEN - 1].ds_norm > 0 && r[LEN - 1].variance > 0);
    }
    free(grads);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

START_TEST(dropout_drops_in_training_alone)
{
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    rdk_model *plain = new_model(&c);
    c.dropout = 0.3;
    rdk_model *m = new_model(&c);
    double eval = loss_of(m, t, NULL, NULL, false);
    ck_assert(eval == loss_of(plain, t, NULL, NULL, false));
    double loss[3];
    for (uint64_t step = 0; step < 3; step++) {
        rdk_tape_training(t, true, (rdk_stream){1, RDK_FOR_DROPOUT, step}, 0);
        loss[step] = loss_of(m, t, NULL, NULL, true);
        rdk_tape_training(t, true, (rdk_stream){1, RDK_FOR_DROPOUT, step}, 0);
        ck_assert(loss[step] == loss_of(m, t, NULL, NULL, true));
        ck_assert(fabs(loss[step] - eval) > 1e-5);
    }
    expect_distinct(loss, 3, "dropout step");
    rdk_model_free(plain);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

/* The embedding sum, the attention probabilities and each branch drop, and nothing else does. The
 * first query of a decoder sees itself alone: its attention gives 0 or v / (1 - p), per head. */
START_TEST(dropout_stands_where_it_should)
{
    enum { HEADS = 8, INNER = HEADS * 6 };
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    c.dropout = 0.3, c.heads = HEADS;
    rdk_model *m = new_model(&c);
    rdk_tape_training(t, true, (rdk_stream){1, RDK_FOR_DROPOUT, 0}, 0);
    loss_of(m, t, NULL, NULL, true);
    int embedding = 0, attention = 0, mlp = 0, heads_dropped = 0, heads_seen = 0;
    for (size_t i = 0; i < rdk_tape_length(t); i++) {
        const rdk_node *n = rdk_tape_node(t, i);
        bool drops = strcmp(n->op->name, "dropout") == 0;
        embedding += drops && strcmp(n->scope, "embedding") == 0;
        attention += drops && strstr(n->scope, "attention");
        mlp += drops && strstr(n->scope, "mlp");
        if (strcmp(n->op->name, "attention") != 0) continue;
        for (size_t b = 0; b < BATCH; b++)
            for (size_t e = b * LEN * INNER; e < b * LEN * INNER + INNER; e += 6, heads_seen++) {
                double y = n->out->data[e], v = n->in[2]->data[e];
                ck_assert(y == 0 || fabs(y - v / 0.7) < 1e-5);
                heads_dropped += y == 0;
            }
    }
    ck_assert_int_eq(embedding, 1);
    ck_assert_int_eq(attention, 2);
    ck_assert_int_eq(mlp, 2);
    ck_assert_int_eq(heads_seen, 2 * BATCH * HEADS);
    ck_assert_msg(heads_dropped > 0 && heads_dropped < heads_seen, "%d of %d dropped",
                  heads_dropped, heads_seen);
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
    ADD(the_future_is_hidden);
    ADD_LOOP(padding_is_never_seen, VARIANTS);
    ADD(a_probe_changes_no_bit);
    ADD(dropout_drops_in_training_alone);
    ADD(dropout_stands_where_it_should);
})
