/* SPDX-License-Identifier: MIT
 * The gradient of whole models against central differences, in every scaling and every option, and
 * the identities that the scaling of attention must satisfy exactly. */
#include "model_case.h"

static const double TOLERANCE = 1e-7;

/* ---- central differences --------------------------------------------------------------------- */

typedef struct probe_point {
    rdk_model *model;
    rdk_tape *tape;
    const int32_t *lengths;
    double h;
} probe_point;

/* Moves the weights by `by` along direction (NULL: element at alone), takes the loss, moves
 * back. */
static double loss_at(const probe_point *pp, const double *direction, size_t at, double by)
{
    rdk_real *w = rdk_model_values(pp->model);
    size_t n = rdk_model_size(pp->model), bytes = n * sizeof *w;
    rdk_real *kept = malloc(bytes);
    memcpy(kept, w, bytes);
    if (!direction) w[at] += by;
    for (size_t e = 0; direction && e < n; e++) w[e] += by * direction[e];
    double loss = loss_of(pp->model, pp->tape, pp->lengths, NULL, false);
    memcpy(w, kept, bytes);
    free(kept);
    return loss;
}

/* Fourth order: the error is h^4, so that h may be large and rounding small. */
static double slope(const probe_point *pp, const double *direction, size_t at)
{
    double h = pp->h;
    double near = loss_at(pp, direction, at, h) - loss_at(pp, direction, at, -h);
    double far = loss_at(pp, direction, at, 2 * h) - loss_at(pp, direction, at, -2 * h);
    return (8 * near - far) / (12 * h);
}

/* A few elements of every parameter, relative to the largest of that parameter's gradient, or to a
 * thousandth of the model's largest. */
static void check_elements(const probe_point *pp, const rdk_real *g, const char *what)
{
    enum { PER_PARAM = 3 };
    double largest = 0;
    for (size_t e = 0; e < rdk_model_size(pp->model); e++) largest = fmax(largest, fabs(g[e]));
    for (size_t i = 0; i < rdk_model_param_count(pp->model); i++) {
        rdk_param *p = rdk_model_param(pp->model, i);
        size_t n = rdk_size(&p->tensor);
        double scale = largest / 1000;
        if (!p->trainable) continue;
        for (size_t e = 0; e < n; e++) scale = fmax(scale, fabs(g[p->offset + e]));
        for (size_t j = 0; j < PER_PARAM && j < n; j++) {
            size_t at = p->offset + (j * (n - 1) / (PER_PARAM - 1)) % n;
            double numeric = slope(pp, NULL, at);
            ck_assert_msg(fabs(g[at] - numeric) <= TOLERANCE * scale,
                          "%s: %s[%zu]: gradient %.12g, differences %.12g (relative %.2g)", what,
                          p->name, at - p->offset, g[at], numeric, fabs(g[at] - numeric) / scale);
        }
    }
}

/* Every element at once: one random direction of unit length over the trainable parameters. */
static void check_direction(const probe_point *pp, const rdk_real *g, const char *what)
{
    size_t size = rdk_model_size(pp->model);
    double *d = calloc(size, sizeof *d), squares = 0, along = 0;
    rdk_draws draws = rdk_draws_at((rdk_stream){.seed = 3, .purpose = RDK_FOR_TEST}, 1);
    for (size_t i = 0; i < rdk_model_param_count(pp->model); i++) {
        rdk_param *p = rdk_model_param(pp->model, i);
        for (size_t e = 0; p->trainable && e < rdk_size(&p->tensor); e++)
            squares += pow(d[p->offset + e] = rdk_draw_normal(&draws), 2);
    }
    for (size_t e = 0; e < size; e++) along += (d[e] /= sqrt(squares)) * g[e];
    double numeric = slope(pp, d, 0);
    ck_assert_msg(fabs(along - numeric) <= TOLERANCE * fmax(fabs(along), 1e-3 * norm_of(g, size)),
                  "%s: along a direction %.12g, differences %.12g", what, along, numeric);
    free(d);
}

static void check_model(const rdk_model_config *c, const int32_t *lengths, bool elements,
                        const char *what)
{
    rdk_model *m = new_model(c);
    shake(m, 0.1);
    /* a relu must not be carried over its kink */
    probe_point pp = {m, new_tape(), lengths, c->mlp == RDK_MLP_RELU ? 2e-6 : 1e-4};
    size_t bytes = rdk_model_size(m) * sizeof(rdk_real);
    rdk_real *g = malloc(bytes);
    loss_of(m, pp.tape, lengths, NULL, true);
    memcpy(g, rdk_model_grads(m), bytes);
    rdk_tape_frugal(pp.tape, true);
    loss_of(m, pp.tape, lengths, NULL, true);
    ck_assert_msg(memcmp(g, rdk_model_grads(m), bytes) == 0, "%s: a frugal tape differs", what);
    check_direction(&pp, g, what);
    if (elements) check_elements(&pp, g, what);
    free(g);
    rdk_tape_free(pp.tape);
    rdk_model_free(m);
}

static const int32_t some_lengths[BATCH] = {LEN, 4, 0};

START_TEST(every_variant)
{
    rdk_model_config c = variant_config(_i);
    check_model(&c, NULL, true, variants[_i].name);
    check_model(&c, some_lengths, false, variants[_i].name);
    c.arch = c.arch == RDK_DECODER ? RDK_ENCODER : RDK_DECODER;
    check_model(&c, some_lengths, true, variants[_i].name);
}
END_TEST

START_TEST(every_policy_with_every_qk_norm)
{
    rdk_model_config c = small_config();
    char what[160];
    strcpy(c.scale, rdk_scaling_at((size_t)_i / QK_NORMS)->name);
    c.qk_norm = (rdk_qk_norm)(_i % QK_NORMS);
    for (int arch = 0; arch < 2; arch++)
        for (int place = 0; place < 2; place++)
            for (int bias = 0; bias < 2; bias++) {
                c.arch = (rdk_arch)arch, c.norm_place = (rdk_norm_place)place, c.bias = bias;
                snprintf(what, sizeof what, "%s, qk-norm %d, arch %d, place %d, bias %d", c.scale,
                         (int)c.qk_norm, arch, place, bias);
                check_model(&c, arch ? some_lengths : NULL, !place && !bias, what);
            }
}
END_TEST

/* ---- identities ------------------------------------------------------------------------------ */

enum { HEADS = 2, LAYERS = 2, ROWS = LAYERS * BATCH * HEADS * LEN };

/* <W, dW> over the rows of one head, and (as cosine's denominator) |W| |dW| there. */
static double head_product(rdk_model *m, rdk_role role, int layer, size_t head, double *bound)
{
    const rdk_model_config *c = rdk_model_config_of(m);
    const rdk_tensor *w = &rdk_model_role(m, role, layer)->tensor;
    size_t n = c->d_k * c->d_model, from = head * n;
    double sum = 0;
    for (size_t e = from; e < from + n; e++) sum += w->data[e] * w->grad[e];
    *bound = norm_of(w->data + from, n) * norm_of(w->grad + from, n);
    return sum;
}

static double sum_s_ds(const rdk_attention_row *rows, int layer, size_t head)
{
    double sum = 0;
    for (size_t b = 0; b < BATCH; b++)
        for (size_t i = 0; i < LEN; i++)
            sum += rows[(((size_t)layer * BATCH + b) * HEADS + head) * LEN + i].s_ds;
    return sum;
}

static rdk_model_config identity_config(size_t policy, bool encode, bool turn)
{
    rdk_model_config c = small_config();
    strcpy(c.scale, rdk_scaling_at(policy)->name);
    c.qk_norm = rdk_scaling_at(policy)->qk_norm;
    if (encode) c.arch = RDK_ENCODER;
    if (turn) c.positions = RDK_ROPE;
    return c;
}

/* <W_Q, dW_Q> = <W_K, dW_K> = sum s ds, per head; with QK-norm both are 0 (up to its eps). */
START_TEST(weight_times_gradient)
{
    rdk_attention_row rows[ROWS];
    rdk_model_probe probe = {.rows = rows};
    rdk_tape *t = new_tape();
    for (int i = 0; i < 4; i++) {
        rdk_model_config c = identity_config((size_t)_i, i % 2, i / 2);
        rdk_model *m = new_model(&c);
        shake(m, 0.1);
        loss_of(m, t, i % 2 ? some_lengths : NULL, &probe, true);
        for (int layer = 0; layer < LAYERS; layer++)
            for (size_t h = 0; h < HEADS; h++) {
                double q_bound, k_bound, want = sum_s_ds(rows, layer, h);
                double q = head_product(m, RDK_ROLE_WQ, layer, h, &q_bound);
                double k = head_product(m, RDK_ROLE_WK, layer, h, &k_bound);
                ck_assert(q_bound > 1e-6 && k_bound > 1e-6);
                bool normed = c.qk_norm != RDK_QK_OFF;
                double allowed = normed ? 1e-5 : 1e-12;
                ck_assert_msg(fabs(q - (normed ? 0 : want)) <= allowed * q_bound,
                              "%s: <W_Q, dW_Q> %.12g, sum s ds %.12g", c.scale, q, want);
                ck_assert_msg(fabs(k - (normed ? 0 : want)) <= allowed * k_bound,
                              "%s: <W_K, dW_K> %.12g, sum s ds %.12g", c.scale, k, want);
            }
        rdk_model_free(m);
    }
    rdk_tape_free(t);
}
END_TEST

/* A gain g of a head makes its scores g cos(q, k): g dL/dg = sum s ds. */
START_TEST(gain_times_gradient)
{
    rdk_attention_row rows[ROWS];
    rdk_model_probe probe = {.rows = rows};
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    c.qk_norm = RDK_QK_L2;
    rdk_model *m = new_model(&c);
    shake(m, 0.1);
    loss_of(m, t, NULL, &probe, true);
    for (int layer = 0; layer < LAYERS; layer++) {
        const rdk_tensor *gain = &rdk_model_role(m, RDK_ROLE_QK_GAIN, layer)->tensor;
        ck_assert_uint_eq(rdk_size(gain), HEADS);
        for (size_t h = 0; h < HEADS; h++) {
            double want = sum_s_ds(rows, layer, h);
            ck_assert(fabs(want) > 1e-9);
            ck_assert_close(gain->data[h] * gain->grad[h], want, 1e-10, 0);
        }
    }
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

START_TEST(key_bias_has_no_gradient)
{
    rdk_tape *t = new_tape();
    for (int turn = 0; turn < 2; turn++) {
        rdk_model_config c = identity_config((size_t)_i, false, turn);
        c.bias = true;
        rdk_model *m = new_model(&c);
        shake(m, 0.1);
        loss_of(m, t, NULL, NULL, true);
        for (int layer = 0; layer < LAYERS; layer++) {
            char name[RDK_NAME_TEXT];
            snprintf(name, sizeof name, "layers.%d.attention.wk.bias", layer);
            rdk_param *key = rdk_model_find(m, name);
            snprintf(name, sizeof name, "layers.%d.attention.wq.bias", layer);
            rdk_param *query = rdk_model_find(m, name);
            double k = norm_of(key->tensor.grad, 12), q = norm_of(query->tensor.grad, 12);
            ck_assert(q > 1e-6);
            if (gradient_is_zero(&c, key))
                ck_assert_msg(k <= 1e-12 * q, "%s: key bias %g, query bias %g", c.scale, k, q);
            else
                ck_assert_msg(k > 1e-6 * q, "%s: key bias %g, query bias %g", c.scale, k, q);
        }
        rdk_model_free(m);
    }
    rdk_tape_free(t);
}
END_TEST

/* With QK-norm the model does not see the size of W_Q and W_K (up to the norm's eps). */
START_TEST(qk_norm_ignores_the_size_of_its_weights)
{
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    c.qk_norm = (rdk_qk_norm)(_i + 1);
    rdk_model *m = new_model(&c);
    double before = loss_of(m, t, NULL, NULL, false);
    rdk_tensor *wq = &rdk_model_role(m, RDK_ROLE_WQ, 0)->tensor;
    for (size_t e = 0; e < rdk_size(wq); e++) wq->data[e] *= 8;
    ck_assert_close(loss_of(m, t, NULL, NULL, false), before, 1e-5, 0);
    for (size_t e = 0; e < rdk_size(wq); e++) wq->data[e] = 0; /* finite, also at q = 0 */
    ck_assert(isfinite(loss_of(m, t, NULL, NULL, true)));
    ck_assert(isfinite(rdk_grad_norm(m)));
    rdk_model_free(m);
    rdk_tape_free(t);
}
END_TEST

/* A tied table's gradient is the sum of what the table and the head would get apart. */
START_TEST(tied_gradient_is_the_sum)
{
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    rdk_model *apart = new_model(&c);
    c.tie = true;
    rdk_model *tied_model = new_model(&c);
    for (size_t i = 0; i < rdk_model_param_count(apart); i++) {
        rdk_param *p = rdk_model_param(apart, i);
        rdk_param *q =
            rdk_model_find(tied_model, p->role == RDK_ROLE_HEAD ? "tokens.weight" : p->name);
        memcpy(p->tensor.data, q->tensor.data, rdk_size(&p->tensor) * sizeof(rdk_real));
    }
    ck_assert_close(loss_of(tied_model, t, NULL, NULL, true), loss_of(apart, t, NULL, NULL, true),
                    1e-14, 0);
    const rdk_tensor *sum = &rdk_model_role(tied_model, RDK_ROLE_TOKENS, -1)->tensor;
    const rdk_tensor *table = &rdk_model_role(apart, RDK_ROLE_TOKENS, -1)->tensor;
    const rdk_tensor *head = &rdk_model_role(apart, RDK_ROLE_HEAD, -1)->tensor;
    for (size_t e = 0; e < rdk_size(sum); e++)
        ck_assert_close(sum->grad[e], table->grad[e] + head->grad[e], 1e-12, 1e-3);
    rdk_model_free(apart);
    rdk_model_free(tied_model);
    rdk_tape_free(t);
}
END_TEST

RDK_TEST_MAIN("model gradients", {
    ADD_LOOP(every_variant, VARIANTS);
    ADD_LOOP(every_policy_with_every_qk_norm, (int)rdk_scaling_count() * QK_NORMS);
    ADD_LOOP(weight_times_gradient, (int)rdk_scaling_count());
    ADD(gain_times_gradient);
    ADD_LOOP(key_bias_has_no_gradient, (int)rdk_scaling_count());
    ADD_LOOP(qk_norm_ignores_the_size_of_its_weights, 3);
    ADD(tied_gradient_is_the_sum);
})
