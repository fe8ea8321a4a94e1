/* SPDX-License-Identifier: MIT
 * What the tests of whole models share: a small configuration, its variants (every value of every
 * option at least once), a fixed batch, and the loss of a model on it. */
#ifndef RDK_TEST_MODEL_CASE_H
#define RDK_TEST_MODEL_CASE_H

#include "harness.h"

#include <rootdk/optim.h>

enum { BATCH = 3, LEN = 7, VOCAB = 11 };

static inline rdk_model_config small_config(void)
{
    return (rdk_model_config){.arch = RDK_DECODER,
                              .vocab = VOCAB,
                              .max_len = LEN + 2,
                              .layers = 2,
                              .heads = 2,
                              .d_model = 12,
                              .d_k = 6,
                              .d_ff = 20,
                              .scale = "sqrt",
                              .qk_gain_learned = true};
}

static void scale_number(rdk_model_config *c)
{
    strcpy(c->scale, "0.7");
}
static void qk_l2(rdk_model_config *c)
{
    c->qk_norm = RDK_QK_L2;
}
static void qk_layer(rdk_model_config *c)
{
    c->qk_norm = RDK_QK_LAYER;
}
static void qk_rms(rdk_model_config *c)
{
    c->qk_norm = RDK_QK_RMS;
}
static void qk_rms_fixed(rdk_model_config *c)
{
    c->qk_norm = RDK_QK_RMS;
    c->qk_gain = 1.5;
    c->qk_gain_learned = false;
}
static void qk_l2_fixed(rdk_model_config *c)
{
    c->qk_norm = RDK_QK_L2;
    c->qk_gain = 4;
    c->qk_gain_learned = false;
}
static void encoder(rdk_model_config *c)
{
    c->arch = RDK_ENCODER;
}
static void post_norm(rdk_model_config *c)
{
    c->norm_place = RDK_POST_NORM;
}
static void rms_norm(rdk_model_config *c)
{
    c->norm = RDK_RMS_NORM;
}
static void sinusoidal(rdk_model_config *c)
{
    c->positions = RDK_SINUSOIDAL;
}
static void rope(rdk_model_config *c)
{
    c->positions = RDK_ROPE;
}
static void no_positions(rdk_model_config *c)
{
    c->positions = RDK_NO_POSITIONS;
}
static void mlp_relu(rdk_model_config *c)
{
    c->mlp = RDK_MLP_RELU;
}
static void mlp_gelu_exact(rdk_model_config *c)
{
    c->mlp = RDK_MLP_GELU_EXACT;
}
static void mlp_swiglu(rdk_model_config *c)
{
    c->mlp = RDK_MLP_SWIGLU;
}
static void mlp_none(rdk_model_config *c)
{
    c->mlp = RDK_MLP_NONE;
}
static void biased(rdk_model_config *c)
{
    c->bias = true;
}
static void tied(rdk_model_config *c)
{
    c->tie = true;
}
static void init_gpt2(rdk_model_config *c)
{
    c->init = RDK_INIT_GPT2;
}
static void init_t5(rdk_model_config *c)
{
    c->init = RDK_INIT_T5;
}
static void narrow_heads(rdk_model_config *c)
{
    c->heads = 3;
    c->d_k = 5;
}
static void temperature(rdk_model_config *c)
{
    c->temperature = true;
}
static void length_ssmax(rdk_model_config *c)
{
    c->length = RDK_LENGTH_SSMAX;
}
static void length_log(rdk_model_config *c)
{
    c->length = RDK_LENGTH_LOG;
    c->length_base = 3;
}
static void softcap(rdk_model_config *c)
{
    c->softcap = 0.6;
}
static void sink_one(rdk_model_config *c)
{
    c->sink = RDK_SINK_ONE;
}
static void sink_learned(rdk_model_config *c)
{
    c->sink = RDK_SINK_LEARNED;
}
static void scale_layers(rdk_model_config *c)
{
    strcpy(c->scale_layers, "1:qknorm/0:1.7");
}
static void sigma_reparam(rdk_model_config *c)
{
    c->sigma_reparam = true;
    c->mlp = RDK_MLP_SWIGLU;
}
static void all_at_once(rdk_model_config *c)
{
    strcpy(c->scale, "none");
    strcpy(c->scale_layers, "1:dk");
    c->temperature = true;
    c->length = RDK_LENGTH_LOG;
    c->softcap = 1.5;
    c->sink = RDK_SINK_LEARNED;
    c->qk_norm = RDK_QK_RMS;
    c->positions = RDK_ROPE;
    c->bias = true;
    c->sigma_reparam = true;
    c->tie = true;
}
static void llama_like(rdk_model_config *c)
{
    c->norm = RDK_RMS_NORM;
    c->positions = RDK_ROPE;
    c->mlp = RDK_MLP_SWIGLU;
    c->qk_norm = RDK_QK_RMS;
    c->tie = true;
}
static void bert_like(rdk_model_config *c)
{
    c->arch = RDK_ENCODER;
    c->norm_place = RDK_POST_NORM;
    c->bias = true;
    c->tie = true;
    c->positions = RDK_ROPE;
    c->qk_norm = RDK_QK_L2;
}

static void additive(rdk_model_config *c)
{
    c->attention = RDK_ADDITIVE;
    strcpy(c->scale, "none");
}
static void additive_normed(rdk_model_config *c)
{
    c->attention = RDK_ADDITIVE;
    strcpy(c->scale, "1.7");
    c->qk_norm = RDK_QK_RMS;
    c->bias = true;
    c->init = RDK_INIT_T5;
}

static void additive_policies(rdk_model_config *c)
{
    additive(c);
    c->length = RDK_LENGTH_SSMAX;
    c->softcap = 2;
    c->sink = RDK_SINK_LEARNED;
}

static const struct variant {
    const char *name;
    void (*apply)(rdk_model_config *c);
} variants[] = {
    {"scale 0.7", scale_number},
    {"qk-norm l2", qk_l2},
    {"qk-norm layer", qk_layer},
    {"qk-norm rms", qk_rms},
    {"qk-norm rms, gain 1.5 fixed", qk_rms_fixed},
    {"qk-norm l2, gain 4 fixed", qk_l2_fixed},
    {"encoder", encoder},
    {"post-norm", post_norm},
    {"norm rms", rms_norm},
    {"sinusoidal", sinusoidal},
    {"rope", rope},
    {"no positions", no_positions},
    {"relu", mlp_relu},
    {"mlp gelu-exact", mlp_gelu_exact},
    {"swiglu", mlp_swiglu},
    {"no mlp", mlp_none},
    {"bias", biased},
    {"tied", tied},
    {"init gpt2", init_gpt2},
    {"init t5", init_t5},
    {"3 heads of 5", narrow_heads},
    {"temperature", temperature},
    {"length ssmax", length_ssmax},
    {"length log", length_log},
    {"softcap", softcap},
    {"sink one", sink_one},
    {"sink learned", sink_learned},
    {"scale by layer", scale_layers},
    {"sigma-reparam, swiglu", sigma_reparam},
    {"all at once", all_at_once},
    {"rms, rope, swiglu, tied", llama_like},
    {"encoder, post, bias, l2", bert_like},
    {"additive", additive},
    {"additive, c 1.7, rms, bias, t5", additive_normed},
    {"additive, capped, ssmax, sink", additive_policies},
};
enum { VARIANTS = sizeof variants / sizeof variants[0], QK_NORMS = 4 };

static inline rdk_model_config variant_config(int i)
{
    rdk_model_config c = small_config();
    variants[i].apply(&c);
    return c;
}

static inline rdk_model *new_model(const rdk_model_config *c)
{
    rdk_status s = {0};
    rdk_model *m = rdk_model_new(c, 42, &s);
    ck_assert_msg(m != NULL, "%s", s.message);
    return m;
}

static inline rdk_tape *new_tape(void)
{
    rdk_status s = {0};
    rdk_tape *t = rdk_tape_new(&s);
    ck_assert_msg(t != NULL, "%s", s.message);
    return t;
}

/* Moves every parameter off its start, so that gains of 1 and biases of 0 hide nothing. */
static inline void shake(rdk_model *m, double by)
{
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        rdk_param *p = rdk_model_param(m, i);
        rdk_draws d = rdk_draws_at((rdk_stream){.seed = 9, .purpose = RDK_FOR_TEST, .step = i}, 0);
        for (size_t e = 0; e < rdk_size(&p->tensor); e++)
            p->tensor.data[e] += (rdk_real)(by * rdk_draw_normal(&d));
    }
}

/* Tokens and targets of [batch, len]; every fifth target is not counted. */
static inline void fixed_batch(size_t n, int32_t *tokens, int32_t *targets)
{
    rdk_draws d = rdk_draws_at((rdk_stream){.seed = 5, .purpose = RDK_FOR_TEST}, 0);
    for (size_t i = 0; i < n; i++) {
        tokens[i] = (int32_t)rdk_draw_below(&d, VOCAB);
        targets[i] = i % 5 == 4 ? RDK_IGNORE : (int32_t)rdk_draw_below(&d, VOCAB);
    }
}

/* The mean loss of the fixed batch; leaves gradients in the model where backward. */
static inline double loss_of(rdk_model *m, rdk_tape *t, const int32_t *lengths,
                             const rdk_model_probe *probe, bool backward)
{
    int32_t tokens[BATCH * LEN], targets[BATCH * LEN];
    double counted = 0;
    fixed_batch(BATCH * LEN, tokens, targets);
    for (int i = 0; i < BATCH * LEN; i++) counted += targets[i] != RDK_IGNORE;
    rdk_tape_reset(t);
    rdk_tape_recording(t, backward);
    rdk_tensor *logits = rdk_model_logits(m, t, BATCH, LEN, tokens, lengths, probe);
    rdk_tensor *loss = rdk_cross_entropy(t, logits, targets, counted, NULL, NULL);
    ck_assert_msg(loss != NULL, "%s", rdk_tape_status(t)->message);
    if (backward) {
        rdk_model_zero_grad(m);
        ck_assert_msg(rdk_tape_backward(t, loss), "%s", rdk_tape_status(t)->message);
    }
    return (double)loss->data[0];
}

static inline double norm_of(const rdk_real *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

/* Of products, without QK-norm and RoPE: a key bias shifts all scores of a row alike: its gradient
 * is 0. */
static inline bool gradient_is_zero(const rdk_model_config *c, const rdk_param *p)
{
    return strstr(p->name, "attention.wk.bias") && c->qk_norm == RDK_QK_OFF &&
           c->positions != RDK_ROPE && c->softcap == 0 && c->sink == RDK_SINK_OFF &&
           c->attention == RDK_DOT;
}

/* What such a configuration adds does nothing yet at the start: there are parameters for it. */
static inline bool starts_alike(const rdk_model_config *c)
{
    return c->bias || c->temperature || c->sigma_reparam;
}

/* small_config under policy i of the table. */
static inline rdk_model_config policy_config(size_t i)
{
    rdk_model_config c = small_config();
    const rdk_scaling *p = rdk_scaling_at(i);
    snprintf(c.scale, sizeof c.scale, "%s", p->name);
    c.qk_norm = p->qk_norm;
    return c;
}

static inline void expect_distinct(const double *loss, int n, const char *what)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            ck_assert_msg(fabs(loss[i] - loss[j]) > 1e-6, "%s %d and %d have one loss: %.9g", what,
                          i, j, loss[i]);
}

#endif
