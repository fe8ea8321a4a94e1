/* SPDX-License-Identifier: MIT
 * Schedules, clipping, non-finite gradients and the update rules on a whole model, against values
 * by hand and an independent double reference. */
#include "model_case.h"

static const rdk_optim_config adamw_config = {
    .kind = RDK_ADAMW, .lr = 1e-2, .beta1 = 0.8, .beta2 = 0.93, .eps = 1e-3, .weight_decay = 0.1};
static const rdk_optim_config sgd_config = {
    .kind = RDK_SGD, .lr = 1e-2, .momentum = 0.7, .weight_decay = 0.1};

static rdk_optimizer *new_optimizer(const rdk_optim_config *c, rdk_model *m)
{
    rdk_status s = {0};
    rdk_optimizer *o = rdk_optimizer_new(c, m, &s);
    ck_assert_msg(o != NULL, "%s", s.message);
    return o;
}

/* ---- schedules ------------------------------------------------------------------------------- */

START_TEST(schedule_table)
{
    const struct {
        rdk_schedule_kind kind;
        uint64_t warmup, steps, step;
        double lr; /* of peak 8, end 2 */
    } want[] = {
        {RDK_CONSTANT, 0, 1, 0, 8},
        {RDK_LINEAR, 0, 1, 0, 8},
        {RDK_COSINE, 0, 1, 0, 8},
        {RDK_CONSTANT, 1, 2, 0, 4},
        {RDK_CONSTANT, 1, 2, 1, 8}, /* N=2, w=1 */
        {RDK_LINEAR, 1, 2, 0, 4},
        {RDK_LINEAR, 1, 2, 1, 8},
        {RDK_COSINE, 1, 2, 1, 8},
        {RDK_CONSTANT, 3, 12, 0, 2},
        {RDK_LINEAR, 3, 12, 2, 6}, /* lr(0), lr(w-1) */
        {RDK_LINEAR, 3, 12, 3, 8},
        {RDK_COSINE, 3, 12, 3, 8}, /* lr(w) */
        {RDK_LINEAR, 3, 12, 7, 5},
        {RDK_COSINE, 3, 12, 7, 5}, /* half way */
        {RDK_LINEAR, 3, 12, 9, 3.5},
        {RDK_COSINE, 3, 12, 5, 7.121320343559642},
        {RDK_LINEAR, 3, 12, 11, 2},
        {RDK_COSINE, 3, 12, 11, 2}, /* lr(N-1) */
        {RDK_LINEAR, 3, 12, 99, 2},
        {RDK_COSINE, 3, 12, 99, 2},
        {RDK_CONSTANT, 3, 12, 99, 8},
        {RDK_LINEAR, 10, 4, 3, 32. / 11}, /* a warmup longer than the run */
    };
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        rdk_optim_config c = {
            .lr = 8, .min_lr = 2, .warmup = want[i].warmup, .schedule = want[i].kind};
        double got = rdk_schedule(&c, want[i].step, want[i].steps);
        ck_assert_msg(fabs(got - want[i].lr) < 1e-12, "row %zu: %.17g, want %.17g", i, got,
                      want[i].lr);
    }
}
END_TEST

START_TEST(schedule_is_total_and_bounded)
{
    for (int kind = RDK_CONSTANT; kind <= RDK_COSINE; kind++)
        for (uint64_t steps = 0; steps <= 8; steps++)
            for (uint64_t warmup = 0; warmup <= 8; warmup++)
                for (uint64_t step = 0; step <= 9; step++) {
                    rdk_optim_config c = {.lr = 1e-3,
                                          .min_lr = 1e-4,
                                          .warmup = warmup,
                                          .schedule = (rdk_schedule_kind)kind};
                    double lr = rdk_schedule(&c, step, steps);
                    ck_assert_msg(lr > 0 && lr <= c.lr, "%d %d/%d warmup %d: %g", kind, (int)step,
                                  (int)steps, (int)warmup, lr);
                    c.min_lr = 0;
                    lr = rdk_schedule(&c, step, steps);
                    ck_assert(lr >= 0 && lr <= c.lr);
                    ck_assert(step != 0 || lr > 0);
                    c.min_lr = c.lr; /* then flat, to the bit */
                    ck_assert(step < warmup || rdk_schedule(&c, step, steps) <= c.lr);
                }
    rdk_optim_config c = {.lr = 1, .warmup = UINT64_MAX, .schedule = RDK_COSINE};
    ck_assert(rdk_schedule(&c, UINT64_MAX, UINT64_MAX) <= 1);
    ck_assert(rdk_schedule(&c, 0, 0) > 0);
}
END_TEST

/* ---- the gradient's size --------------------------------------------------------------------- */

static void fill(rdk_tensor *x, rdk_real *where, double value)
{
    for (size_t e = 0; e < rdk_size(x); e++) where[e] = (rdk_real)value;
}

START_TEST(norm_and_clip)
{
    rdk_model_config c = small_config();
    rdk_model *m = new_model(&c);
    ck_assert(rdk_grad_norm(m) == 0);
    ck_assert(rdk_clip_factor(0, 1) == 1);
    rdk_model_param(m, 0)->tensor.grad[5] = 3;
    rdk_model_role(m, RDK_ROLE_HEAD, -1)->tensor.grad[1] = -4;
    ck_assert(rdk_grad_norm(m) == 5);
    ck_assert(rdk_clip_factor(5, 1) == 0.2);
    ck_assert(rdk_clip_factor(5, 5) == 1);
    ck_assert(rdk_clip_factor(5, 7) == 1);
    ck_assert(rdk_clip_factor(5, 0) == 1);
    rdk_real *grad = rdk_model_role(m, RDK_ROLE_WQ, 0)->tensor.grad; /* 144 elements */
    rdk_model_zero_grad(m);
    for (int e = 0; e < 128; e++) grad[e] = (rdk_real)1e19;
    ck_assert_close(rdk_grad_norm(m), 1e19 * sqrt(128), 1e-6, 0);
    ck_assert_close(rdk_clip_factor(rdk_grad_norm(m), 1), 1e-19 / sqrt(128), 1e-6, 0);
    rdk_model_free(m);
}
END_TEST

/* An oversize gradient moves the weights by lr times clip, no further. */
START_TEST(clipping_really_clips)
{
    rdk_model_config c = small_config();
    rdk_model *m = new_model(&c);
    rdk_optim_config sgd = {.kind = RDK_SGD};
    rdk_optimizer *o = new_optimizer(&sgd, m);
    rdk_tape *t = new_tape();
    double norms[64], sum = 0;
    loss_of(m, t, NULL, NULL, true);
    for (size_t e = 0; e < rdk_model_size(m); e++) rdk_model_grads(m)[e] *= 1000;
    double norm = rdk_grad_norm(m), factor = rdk_clip_factor(norm, 0.5);
    ck_assert(norm > 100 && factor < 0.01);
    rdk_optimizer_step(o, m, 0, 0.1, factor, norms);
    for (size_t i = 0; i < rdk_model_param_count(m); i++) sum += norms[i] * norms[i];
    ck_assert_close(sqrt(sum), 0.1 * 0.5, 1e-4, 0);
    rdk_optimizer_free(o);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

START_TEST(nonfinite_gradients_are_named)
{
    rdk_model_config c = small_config();
    rdk_model *m = new_model(&c);
    size_t at = 0;
    ck_assert_ptr_null(rdk_grad_first_nonfinite(m, &at));
    const double bad[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        rdk_param *p = rdk_model_param(m, i);
        size_t e = rdk_size(&p->tensor) - 1;
        p->tensor.grad[e] = (rdk_real)bad[i % 3];
        ck_assert(!isfinite(rdk_grad_norm(m)));
        ck_assert_ptr_eq(rdk_grad_first_nonfinite(m, &at), p);
        ck_assert_uint_eq(at, e);
        p->tensor.grad[e] = 0;
    }
    rdk_model_free(m);
}
END_TEST

/* ---- updates --------------------------------------------------------------------------------- */

/* With zero gradients only the tensors of the decay list move, and each to 0.9 of itself. */
START_TEST(decay_reaches_its_list_alone)
{
    const char *const decayed[] = {
        "attention.wq.weight", "attention.wk.weight", "attention.wv.weight", "attention.wo.weight",
        "mlp.in.weight",       "mlp.gate.weight",     "mlp.out.weight",      "head.weight"};
    rdk_model_config c = small_config();
    c.mlp = RDK_MLP_SWIGLU, c.bias = true, c.qk_norm = RDK_QK_RMS, c.tie = _i / 2;
    rdk_model *m = new_model(&c);
    rdk_optim_config oc = _i % 2 ? sgd_config : adamw_config;
    rdk_optimizer *o = new_optimizer(&oc, m);
    shake(m, 0.1);
    size_t bytes = rdk_model_size(m) * sizeof(rdk_real);
    rdk_real *before = malloc(bytes);
    memcpy(before, rdk_model_values(m), bytes);
    rdk_optimizer_step(o, m, 0, 1, 1, NULL);
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        rdk_param *p = rdk_model_param(m, i);
        bool listed = c.tie && strcmp(p->name, "tokens.weight") == 0;
        for (int j = 0; j < 8; j++) listed = listed || strstr(p->name, decayed[j]);
        for (size_t e = 0; e < rdk_size(&p->tensor); e++)
            ck_assert_msg(fabs(p->tensor.data[e] - (listed ? 0.9 : 1) * before[p->offset + e]) <
                              1e-6,
                          "%s", p->name);
    }
    for (size_t e = 0; e < rdk_model_size(m); e++) /* and the padding stayed zero */
        ck_assert(before[e] != 0 || rdk_model_values(m)[e] == 0);
    free(before);
    rdk_optimizer_free(o);
    rdk_model_free(m);
}
END_TEST

/* One element's trajectory in double, written from the papers and nothing of the library. */
typedef struct element {
    double w, m, v;
} element;

static double reference_step(const rdk_optim_config *c, element *x, double g, int t, double lr,
                             double decay)
{
    double before = x->w;
    if (c->kind == RDK_ADAMW) {
        x->m = c->beta1 * x->m + (1 - c->beta1) * g;
        x->v = c->beta2 * x->v + (1 - c->beta2) * g * g;
        double m_hat = x->m / (1 - pow(c->beta1, t)), v_hat = x->v / (1 - pow(c->beta2, t));
        x->w = x->w - lr * (m_hat / (sqrt(v_hat) + c->eps) + decay * x->w);
    } else {
        x->m = c->momentum * x->m + g + decay * x->w;
        x->w = x->w - lr * x->m;
    }
    return x->w - before;
}

START_TEST(ten_updates_against_the_reference)
{
    enum { WATCHED = 40, UPDATES = 10 };
    rdk_model_config mc = small_config();
    mc.bias = true;
    rdk_model *m = new_model(&mc);
    rdk_optim_config c = _i ? sgd_config : adamw_config;
    rdk_optimizer *o = new_optimizer(&c, m);
    rdk_tape *t = new_tape();
    element x[64][WATCHED] = {0};
    double norms[64];
    ck_assert(rdk_model_param_count(m) <= 64);
    for (int step = 0; step < UPDATES; step++) {
        loss_of(m, t, NULL, NULL, true);
        double factor = rdk_clip_factor(rdk_grad_norm(m), 0.7), lr = 0.01 * (step + 1);
        double expected[64] = {0};
        for (size_t i = 0; i < rdk_model_param_count(m); i++) {
            rdk_param *p = rdk_model_param(m, i);
            for (size_t e = 0; e < rdk_size(&p->tensor) && e < WATCHED; e++) {
                x[i][e].w = step ? x[i][e].w : p->tensor.data[e];
                double change = reference_step(&c, &x[i][e], factor * p->tensor.grad[e], step + 1,
                                               lr, p->decay ? c.weight_decay : 0);
                expected[i] += change * change;
            }
        }
        rdk_optimizer_step(o, m, (uint64_t)step, lr, factor, norms);
        for (size_t i = 0; i < rdk_model_param_count(m); i++) {
            rdk_param *p = rdk_model_param(m, i);
            for (size_t e = 0; e < rdk_size(&p->tensor) && e < WATCHED; e++)
                ck_assert_msg(fabs(p->tensor.data[e] - x[i][e].w) < 2e-6, "%s[%zu] step %d: %g, %g",
                              p->name, e, step, p->tensor.data[e], x[i][e].w);
            if (rdk_size(&p->tensor) <= WATCHED)
                ck_assert_msg(fabs(norms[i] - sqrt(expected[i])) < 1e-5, "%s", p->name);
        }
    }
    rdk_optimizer_free(o);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

/* t = 1 at the first update: without eps and decay every weight moves by lr, whatever its
 * gradient. */
START_TEST(the_first_adam_step_is_lr)
{
    rdk_model_config mc = small_config();
    rdk_model *m = new_model(&mc);
    rdk_optim_config c = {.kind = RDK_ADAMW, .beta1 = 0.9, .beta2 = 0.95};
    rdk_optimizer *o = new_optimizer(&c, m);
    rdk_tensor *w = &rdk_model_role(m, RDK_ROLE_WV, 1)->tensor;
    double before[3] = {w->data[0], w->data[1], w->data[2]};
    fill(w, w->grad, 1e-4);
    w->grad[1] = (rdk_real)-3e3;
    rdk_optimizer_step(o, m, 0, 1e-2, 1, NULL);
    ck_assert_close(w->data[0] - before[0], -1e-2, 1e-4, 0);
    ck_assert_close(w->data[1] - before[1], 1e-2, 1e-4, 0);
    ck_assert_close(w->data[2] - before[2], -1e-2, 1e-4, 0);
    rdk_optimizer_free(o);
    rdk_model_free(m);
}
END_TEST

START_TEST(a_fixed_gain_is_never_touched)
{
    rdk_model_config mc = small_config();
    qk_rms_fixed(&mc);
    rdk_model *m = new_model(&mc);
    rdk_optim_config c = _i ? sgd_config : adamw_config;
    rdk_optimizer *o = new_optimizer(&c, m);
    double norms[64];
    rdk_param *gain = rdk_model_role(m, RDK_ROLE_QK_GAIN, 0);
    for (size_t e = 0; e < rdk_model_size(m); e++) rdk_model_grads(m)[e] = 1;
    gain->tensor.grad[0] = INFINITY; /* and it neither spoils the norm nor is it blamed */
    ck_assert(isfinite(rdk_grad_norm(m)));
    ck_assert_ptr_null(rdk_grad_first_nonfinite(m, NULL));
    rdk_optimizer_step(o, m, 0, 0.1, 1, norms);
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        rdk_param *p = rdk_model_param(m, i);
        ck_assert_msg(p->role == RDK_ROLE_QK_GAIN ? norms[i] == 0 : norms[i] > 0, "%s", p->name);
        for (size_t e = 0; p->role == RDK_ROLE_QK_GAIN && e < rdk_size(&p->tensor); e++)
            ck_assert(p->tensor.data[e] == (rdk_real)1.5);
    }
    rdk_optimizer_free(o);
    rdk_model_free(m);
}
END_TEST

/* Two updates, or one, its state carried over to a new optimizer, and another: the same bits. */
START_TEST(state_carries_over)
{
    rdk_model_config mc = small_config();
    rdk_model *a = new_model(&mc), *b = new_model(&mc);
    rdk_optim_config c = _i ? sgd_config : adamw_config;
    rdk_optimizer *whole = new_optimizer(&c, a), *first = new_optimizer(&c, b);
    rdk_optimizer *second = new_optimizer(&c, b);
    rdk_tape *t = new_tape();
    size_t bytes = rdk_model_size(a) * sizeof(rdk_real);
    for (uint64_t step = 0; step < 2; step++) {
        loss_of(a, t, NULL, NULL, true);
        rdk_optimizer_step(whole, a, step, 0.01, 1, NULL);
        loss_of(b, t, NULL, NULL, true);
        rdk_optimizer_step(step ? second : first, b, step, 0.01, 1, NULL);
        for (int i = 0; i < rdk_optimizer_state_count(first); i++)
            memcpy(rdk_optimizer_state(second, i), rdk_optimizer_state(step ? second : first, i),
                   bytes);
    }
    ck_assert_mem_eq(rdk_model_values(a), rdk_model_values(b), bytes);
    ck_assert_int_eq(rdk_optimizer_state_count(whole), _i ? 1 : 2);
    ck_assert_str_eq(rdk_optimizer_state_name(whole, 0), "optimizer.m.");
    if (!_i) ck_assert_str_eq(rdk_optimizer_state_name(whole, 1), "optimizer.v.");
    ck_assert_ptr_null(rdk_optimizer_state(whole, 2));
    rdk_optimizer_free(whole);
    rdk_optimizer_free(first);
    rdk_optimizer_free(second);
    rdk_model_free(a);
    rdk_model_free(b);
    rdk_tape_free(t);
}
END_TEST

START_TEST(bad_settings_are_refused_by_name)
{
    rdk_model_config mc = small_config();
    rdk_model *m = new_model(&mc);
    struct {
        const char *word;
        rdk_optim_config c;
    } bad[] = {
        {"--lr -1", {.lr = -1}},           {"--lr nan", {.lr = NAN}},
        {"--beta1 1", {.beta1 = 1}},       {"--beta2 1.5", {.beta2 = 1.5}},
        {"--eps inf", {.eps = INFINITY}},  {"--clip -1", {.clip = -1}},
        {"--momentum 1", {.momentum = 1}}, {"--weight-decay -0.1", {.weight_decay = -0.1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rdk_status s = {0};
        ck_assert_ptr_null(rdk_optimizer_new(&bad[i].c, m, &s));
        ck_assert_msg(strstr(s.message, bad[i].word), "%s", s.message);
    }
    rdk_optimizer_free(NULL);
    rdk_model_free(m);
}
END_TEST

/* The whole of it: a small model learns one batch by heart, in every scaling. */
START_TEST(a_batch_is_learned_by_heart)
{
    rdk_model_config mc = small_config();
    const rdk_scaling *policy = rdk_scaling_at((size_t)_i);
    strcpy(mc.scale, policy->name);
    mc.qk_norm = policy->qk_norm;
    rdk_model *m = new_model(&mc);
    rdk_optim_config c = {.kind = RDK_ADAMW, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8};
    rdk_optimizer *o = new_optimizer(&c, m);
    rdk_tape *t = new_tape();
    double start = loss_of(m, t, NULL, NULL, false);
    for (uint64_t step = 0; step < 150; step++) {
        loss_of(m, t, NULL, NULL, true);
        double factor = rdk_clip_factor(rdk_grad_norm(m), 1);
        rdk_optimizer_step(o, m, step, 1e-2, factor, NULL);
    }
    double end = loss_of(m, t, NULL, NULL, false);
    ck_assert_msg(start > 2 && end < 0.05, "%s: %g to %g", mc.scale, start, end);
    rdk_optimizer_free(o);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("optim", {
    ADD(schedule_table);
    ADD(schedule_is_total_and_bounded);
    ADD(norm_and_clip);
    ADD(clipping_really_clips);
    ADD(nonfinite_gradients_are_named);
    ADD_LOOP(decay_reaches_its_list_alone, 4);
    ADD_LOOP(ten_updates_against_the_reference, 2);
    ADD(the_first_adam_step_is_lr);
    ADD_LOOP(a_fixed_gain_is_never_touched, 2);
    ADD_LOOP(state_carries_over, 2);
    ADD(bad_settings_are_refused_by_name);
    ADD_LOOP(a_batch_is_learned_by_heart, (int)rdk_scaling_count());
})
