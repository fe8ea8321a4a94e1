/* SPDX-License-Identifier: MIT
 * Sigma-reparametrisation: where it starts, what power iteration finds, and what the size of W
 * does. */
#include "model_case.h"

static rdk_tensor *tensor(rdk_model *m, const char *name)
{
    rdk_param *p = rdk_model_find(m, name);
    return p ? &p->tensor : NULL;
}

static const char *const linears[] = {"layers.0.attention.wq",
                                      "layers.0.attention.wk",
                                      "layers.0.attention.wv",
                                      "layers.1.attention.wo",
                                      "layers.0.mlp.in",
                                      "layers.1.mlp.out",
                                      "head"};
enum { LINEARS = sizeof linears / sizeof *linears };

static rdk_tensor *part(rdk_model *m, const char *linear, const char *kind)
{
    char name[RDK_NAME_TEXT];
    snprintf(name, sizeof name, "%s.%s", linear, kind);
    return tensor(m, name);
}

/* The largest singular value of w, by squaring W^T W until one direction is left. */
static double largest_singular_value(const rdk_tensor *w)
{
    size_t out = w->dim[0], in = w->dim[1];
    double x[32], y[32], norm = 0;
    for (size_t j = 0; j < in; j++) x[j] = 1 + 0.1 * (double)j;
    for (int step = 0; step < 20000; step++) {
        double squares = 0;
        memset(y, 0, sizeof y);
        for (size_t i = 0; i < out; i++) {
            double dot = 0;
            for (size_t j = 0; j < in; j++) dot += w->data[i * in + j] * x[j];
            for (size_t j = 0; j < in; j++) y[j] += dot * w->data[i * in + j];
        }
        for (size_t j = 0; j < in; j++) squares += y[j] * y[j];
        norm = sqrt(squares);
        for (size_t j = 0; j < in; j++) x[j] = y[j] / norm;
    }
    return sqrt(norm);
}

/* gamma = sigma(W), so the model starts as it would without; with the same bits in float too:
 * tests/unit/test_scaling.c. */
START_TEST(starts_as_without)
{
    rdk_model_config c = small_config();
    rdk_tape *t = new_tape();
    rdk_model *plain = new_model(&c);
    c.sigma_reparam = true;
    rdk_model *m = new_model(&c);
    double loss = loss_of(plain, t, NULL, NULL, true);
    ck_assert_close(loss_of(m, t, NULL, NULL, true), loss, 1e-14, 0);
    for (int i = 0; i < LINEARS; i++) {
        const rdk_tensor *w = part(m, linears[i], "weight"), *v = part(plain, linears[i], "weight");
        ck_assert_mem_eq(w->data, v->data, rdk_size(w) * sizeof(rdk_real));
        ck_assert_close(part(m, linears[i], "gamma")->data[0], largest_singular_value(w), 1e-3, 0);
        ck_assert_close(norm_of(part(m, linears[i], "u")->data, w->dim[0]), 1, 1e-12, 0);
        ck_assert_close(norm_of(part(m, linears[i], "v")->data, w->dim[1]), 1, 1e-12, 0);
    }
    rdk_model_free(plain);
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

/* Whatever W has become, steps bring u^T W v to its norm from below. */
START_TEST(power_steps_find_the_norm)
{
    rdk_model_config c = small_config();
    c.sigma_reparam = true;
    rdk_model *m = new_model(&c);
    const rdk_tensor *w = part(m, linears[_i], "weight"), *u = part(m, linears[_i], "u"),
                     *v = part(m, linears[_i], "v");
    rdk_draws d = rdk_draws_at((rdk_stream){.seed = 4, .purpose = RDK_FOR_TEST}, 0);
    for (size_t e = 0; e < rdk_size(w); e++) w->data[e] += 0.5 * rdk_draw_normal(&d);
    double want = largest_singular_value(w), before = 0, sigma = 0;
    for (int step = 0; step < 3000; step++) {
        rdk_model_power_step(m);
        sigma = 0;
        for (size_t i = 0; i < w->dim[0]; i++)
            for (size_t j = 0; j < w->dim[1]; j++)
                sigma += u->data[i] * w->data[i * w->dim[1] + j] * v->data[j];
        ck_assert(sigma >= before * (1 - 1e-12) && sigma <= want * (1 + 1e-9));
        before = sigma;
    }
    ck_assert_close(sigma, want, 1e-6, 0);
    rdk_model_free(m);
}
END_TEST

/* W times a constant: the function stays, and so does u^T W v at work. */
START_TEST(the_size_of_a_matrix_does_not_matter)
{
    rdk_model_config c = small_config();
    c.sigma_reparam = true;
    rdk_model *m = new_model(&c);
    rdk_tape *t = new_tape();
    shake(m, 0.05);
    double loss = loss_of(m, t, NULL, NULL, false);
    for (int i = 0; i < LINEARS; i++) {
        rdk_tensor *w = part(m, linears[i], "weight");
        for (size_t e = 0; e < rdk_size(w); e++) w->data[e] *= 3;
        ck_assert_close(loss_of(m, t, NULL, NULL, false), loss, 1e-12, 0);
        rdk_tensor *gamma = part(m, linears[i], "gamma"); /* that is what does */
        gamma->data[0] *= 1.1;
        ck_assert(fabs(loss_of(m, t, NULL, NULL, false) - loss) > 1e-7);
        gamma->data[0] /= 1.1;
    }
    /* <W, dL/dW> = 0 */
    loss_of(m, t, NULL, NULL, true);
    for (int i = 0; i < LINEARS; i++) {
        const rdk_tensor *w = part(m, linears[i], "weight");
        double along = 0, bound = norm_of(w->data, rdk_size(w)) * norm_of(w->grad, rdk_size(w));
        for (size_t e = 0; e < rdk_size(w); e++) along += w->data[e] * w->grad[e];
        ck_assert(bound > 0 && fabs(along) < 1e-12 * bound);
    }
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

START_TEST(which_layers_have_it)
{
    rdk_model_config c = small_config();
    c.sigma_reparam = true;
    c.tie = true;
    c.qk_norm = RDK_QK_RMS;
    strcpy(c.scale_layers, "1:sqrt");
    rdk_model *m = new_model(&c);
    static const char *const with[] = {"layers.0.attention.wv", "layers.0.attention.wo",
                                       "layers.1.attention.wq", "layers.1.attention.wk"};
    static const char *const without[] = {"head", "tokens", "layers.0.attention.wq",
                                          "layers.0.attention.wk"};
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_nonnull(part(m, with[i], "gamma"));
        ck_assert_ptr_null(part(m, without[i], "gamma"));
    }
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        const rdk_param *p = rdk_model_param(m, i);
        if (p->role == RDK_ROLE_POWER) ck_assert(!p->trainable && !p->decay);
        if (p->role == RDK_ROLE_SIGMA) ck_assert(p->trainable && !p->decay);
    }
    rdk_model_free(m);
}
END_TEST

RDK_TEST_MAIN("sigma-reparametrisation", {
    ADD(starts_as_without);
    ADD_LOOP(power_steps_find_the_norm, LINEARS);
    ADD(the_size_of_a_matrix_does_not_matter);
    ADD(which_layers_have_it);
})
