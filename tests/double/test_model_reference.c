/* SPDX-License-Identifier: MIT
 * Small models against an independent implementation: plain loops over plain double arrays, T x T
 * attention, nothing of the library but the parameters' values by name. */
#include "model_case.h"

enum { D_MODEL = 12, MOST_INNER = 15, D_FF = 20, MOST_ROWS = BATCH * LEN };

static const double *param(rdk_model *m, int layer, const char *name)
{
    char full[RDK_NAME_TEXT];
    if (layer < 0)
        snprintf(full, sizeof full, "%s", name);
    else
        snprintf(full, sizeof full, "layers.%d.%s", layer, name);
    rdk_param *p = rdk_model_find(m, full);
    return p ? p->tensor.data : NULL;
}

/* gamma / (u^T W v), or 1. */
static double spectral_factor(rdk_model *m, int layer, const char *name, size_t out, size_t in,
                              const double *w)
{
    char part[RDK_NAME_TEXT];
    const double *of[3];
    static const char *const kinds[] = {"gamma", "u", "v"};
    double sigma = 0;
    for (int i = 0; i < 3; i++) {
        snprintf(part, sizeof part, "%s.%s", name, kinds[i]);
        of[i] = param(m, layer, part);
    }
    if (!of[0]) return 1;
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++) sigma += of[1][o] * w[o * in + i] * of[2][i];
    return of[0][0] / sigma;
}

/* y = W x + b for one token. */
static void affine(rdk_model *m, int layer, const char *name, size_t out, size_t in,
                   const double *x, double *y)
{
    char part[RDK_NAME_TEXT];
    snprintf(part, sizeof part, "%s.weight", name);
    const double *w = param(m, layer, part);
    snprintf(part, sizeof part, "%s.bias", name);
    const double *b = param(m, layer, part);
    double factor = spectral_factor(m, layer, name, out, in, w);
    for (size_t o = 0; o < out; o++) {
        y[o] = b ? b[o] : 0;
        for (size_t i = 0; i < in; i++) y[o] += factor * w[o * in + i] * x[i];
    }
}

/* Layer or RMS norm of n numbers, in place. */
static void normalise(double *x, size_t n, bool layer_norm, double eps, const double *gain,
                      const double *bias)
{
    double mean = 0, square = 0;
    for (size_t i = 0; layer_norm && i < n; i++) mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) square += pow(x[i] - mean, 2) / (double)n;
    for (size_t i = 0; i < n; i++) {
        x[i] = (x[i] - mean) / sqrt(square + eps) * (gain ? gain[i] : 1) + (bias ? bias[i] : 0);
    }
}

static void model_norm(rdk_model *m, int layer, const char *name, double *x)
{
    char part[RDK_NAME_TEXT];
    snprintf(part, sizeof part, "%s.gain", name);
    const double *gain = param(m, layer, part);
    snprintf(part, sizeof part, "%s.bias", name);
    normalise(x, D_MODEL, rdk_model_config_of(m)->norm == RDK_LAYER_NORM, 1e-5, gain,
              param(m, layer, part));
}

/* The configuration of a layer, by hand for the lists of tests/model_case.h. */
static rdk_model_config of_layer(rdk_model *m, int layer)
{
    rdk_model_config c = *rdk_model_config_of(m);
    const char *list = c.scale_layers;
    if (strcmp(list, "1:qknorm/0:1.7") == 0) {
        strcpy(c.scale, layer ? "qknorm" : "1.7");
        c.qk_norm = layer ? RDK_QK_LAYER : RDK_QK_OFF;
    } else if (strcmp(list, "1:dk") == 0 && layer == 1) {
        strcpy(c.scale, "dk");
        c.qk_norm = RDK_QK_OFF;
    } else if (strcmp(list, "1:dk") != 0) {
        ck_assert_str_eq(list, "");
    }
    return c;
}

static void normalise_head(rdk_model *m, int layer, size_t h, bool query, double *x)
{
    const rdk_model_config of = of_layer(m, layer), *c = &of;
    const double *gain = param(m, layer, query ? "attention.q_gain" : "attention.k_gain");
    if (c->qk_norm == RDK_QK_LAYER || c->qk_norm == RDK_QK_RMS) {
        normalise(x, c->d_k, c->qk_norm == RDK_QK_LAYER, 1e-6, gain, NULL);
    } else if (c->qk_norm == RDK_QK_L2) {
        double square = 1e-6;
        for (size_t i = 0; i < c->d_k; i++) square += x[i] * x[i];
        for (size_t i = 0; i < c->d_k; i++) x[i] *= (gain ? gain[h] : 1) / sqrt(square);
    }
}

static void turn(const rdk_model_config *c, size_t position, double *x)
{
    for (size_t i = 0; c->positions == RDK_ROPE && i < c->d_k; i += 2) {
        double angle = (double)position * pow(10000, -(double)i / (double)c->d_k);
        double a = x[i], b = x[i + 1];
        x[i] = a * cos(angle) - b * sin(angle);
        x[i + 1] = a * sin(angle) + b * cos(angle);
    }
}

static double multiplier(const rdk_model_config *c)
{
    if (strcmp(c->scale, "sqrt") == 0 || strcmp(c->scale, "qknorm") == 0)
        return 1 / sqrt((double)c->d_k);
    if (strcmp(c->scale, "dk") == 0) return 1 / (double)c->d_k;
    if (strcmp(c->scale, "dmodel") == 0) return 1 / sqrt((double)D_MODEL);
    if (strcmp(c->scale, "none") == 0 || strcmp(c->scale, "t5") == 0) return 1;
    double number;
    if (rdk_parse_double(c->scale, &number)) return number;
    /* another: its c is pinned by hand in tests/unit/test_scaling.c */
    return rdk_scaling_find(c->scale)->multiplier(c->d_k, D_MODEL);
}

/* c q.k, or w.tanh(q + k), of a row that sees n keys to the number that enters the softmax. */
static double score_of(rdk_model *m, int layer, size_t h, size_t n, double product)
{
    const rdk_model_config c = of_layer(m, layer);
    double z = multiplier(&c) * product;
    if (c.temperature) z *= exp(param(m, layer, "attention.log_gain")[h]);
    if (c.length == RDK_LENGTH_SSMAX)
        z *= param(m, layer, "attention.length_gain")[h] * log((double)n);
    if (c.length == RDK_LENGTH_LOG)
        z *= log((double)n) / log(c.length_base ? c.length_base : (double)c.max_len);
    return c.softcap > 0 ? c.softcap * tanh(z / c.softcap) : z;
}

/* One head of one sequence of n real tokens: o[i] = sum_j p_j v_j over visible j. */
static void attend(rdk_model *m, int layer, size_t h, size_t n, double q[][MOST_INNER],
                   double k[][MOST_INNER], double v[][MOST_INNER], double o[][MOST_INNER])
{
    const rdk_model_config *c = rdk_model_config_of(m);
    const double *w = param(m, layer, "attention.score.weight");
    size_t from = h * c->d_k;
    for (size_t i = 0; i < LEN; i++) {
        size_t visible = i >= n ? 0 : c->arch == RDK_DECODER ? i + 1 : n; /* padding sees none */
        double p[LEN], most = -INFINITY, sum = 0;
        for (size_t j = 0; j < visible; j++) {
            p[j] = 0;
            for (size_t e = from; e < from + c->d_k; e++)
                p[j] += w ? w[e] * tanh(q[i][e] + k[j][e]) : q[i][e] * k[j][e];
            p[j] = score_of(m, layer, h, visible, p[j]);
            most = fmax(most, p[j]);
        }
        if (c->sink == RDK_SINK_ONE) sum = exp(0 - most);
        if (c->sink == RDK_SINK_LEARNED) sum = exp(param(m, layer, "attention.sink")[h] - most);
        for (size_t j = 0; j < visible; j++) sum += p[j] = exp(p[j] - most);
        for (size_t e = from; e < from + c->d_k; e++) o[i][e] = 0;
        for (size_t j = 0; j < visible; j++)
            for (size_t e = from; e < from + c->d_k; e++) o[i][e] += p[j] / sum * v[j][e];
    }
}

static void attention(rdk_model *m, int layer, size_t n, double x[LEN][D_MODEL],
                      double y[LEN][D_MODEL])
{
    const rdk_model_config *c = rdk_model_config_of(m);
    size_t inner = c->heads * c->d_k;
    double q[LEN][MOST_INNER], k[LEN][MOST_INNER], v[LEN][MOST_INNER], o[LEN][MOST_INNER];
    for (size_t t = 0; t < LEN; t++) {
        affine(m, layer, "attention.wq", inner, D_MODEL, x[t], q[t]);
        affine(m, layer, "attention.wk", inner, D_MODEL, x[t], k[t]);
        affine(m, layer, "attention.wv", inner, D_MODEL, x[t], v[t]);
        for (size_t h = 0; h < c->heads; h++) {
            normalise_head(m, layer, h, true, q[t] + h * c->d_k);
            normalise_head(m, layer, h, false, k[t] + h * c->d_k);
            turn(c, t, q[t] + h * c->d_k);
            turn(c, t, k[t] + h * c->d_k);
        }
    }
    for (size_t h = 0; h < c->heads; h++) attend(m, layer, h, n, q, k, v, o);
    for (size_t t = 0; t < LEN; t++) affine(m, layer, "attention.wo", D_MODEL, inner, o[t], y[t]);
}

static void mlp(rdk_model *m, int layer, double *x, double *y)
{
    const rdk_model_config *c = rdk_model_config_of(m);
    double h[D_FF], gate[D_FF];
    affine(m, layer, "mlp.in", D_FF, D_MODEL, x, h);
    if (c->mlp == RDK_MLP_SWIGLU) affine(m, layer, "mlp.gate", D_FF, D_MODEL, x, gate);
    for (int i = 0; i < D_FF; i++) {
        double z = h[i];
        if (c->mlp == RDK_MLP_SWIGLU) h[i] = gate[i] / (1 + exp(-gate[i])) * z;
        if (c->mlp == RDK_MLP_RELU) h[i] = z > 0 ? z : 0;
        if (c->mlp == RDK_MLP_GELU_EXACT) h[i] = z / 2 * (1 + erf(z / sqrt(2)));
        if (c->mlp == RDK_MLP_GELU)
            h[i] = z / 2 * (1 + tanh(0.7978845608028654 * (z + 0.044715 * z * z * z)));
    }
    affine(m, layer, "mlp.out", D_MODEL, D_FF, h, y);
}

/* x += branch, with its norm on the side that the configuration says. */
static void branch(rdk_model *m, int layer, size_t n, bool is_mlp, double x[LEN][D_MODEL])
{
    bool pre = rdk_model_config_of(m)->norm_place == RDK_PRE_NORM;
    const char *norm = is_mlp ? "norm2" : "norm1";
    double in[LEN][D_MODEL], y[LEN][D_MODEL];
    memcpy(in, x, sizeof in);
    for (size_t t = 0; pre && t < LEN; t++) model_norm(m, layer, norm, in[t]);
    if (!is_mlp) attention(m, layer, n, in, y);
    for (size_t t = 0; is_mlp && t < LEN; t++) mlp(m, layer, in[t], y[t]);
    for (size_t t = 0; t < LEN; t++)
        for (size_t i = 0; i < D_MODEL; i++) x[t][i] += y[t][i];
    for (size_t t = 0; !pre && t < LEN; t++) model_norm(m, layer, norm, x[t]);
}

static void embed(rdk_model *m, const int32_t *tokens, double x[LEN][D_MODEL])
{
    const double *table = param(m, -1, "tokens.weight"), *at = param(m, -1, "positions.weight");
    for (size_t t = 0; t < LEN; t++)
        for (size_t i = 0; i < D_MODEL; i++) {
            x[t][i] = table[(size_t)tokens[t] * D_MODEL + i] + (at ? at[t * D_MODEL + i] : 0);
            double angle = (double)t / pow(10000, (double)(i / 2 * 2) / D_MODEL);
            if (rdk_model_config_of(m)->positions == RDK_SINUSOIDAL)
                x[t][i] += i % 2 ? cos(angle) : sin(angle);
        }
}

/* logits [LEN, VOCAB] of one sequence of which n tokens are real. */
static void reference_logits(rdk_model *m, const int32_t *tokens, size_t n, double *logits)
{
    const rdk_model_config *c = rdk_model_config_of(m);
    double x[LEN][D_MODEL];
    embed(m, tokens, x);
    for (int layer = 0; layer < (int)c->layers; layer++) {
        branch(m, layer, n, false, x);
        if (c->mlp != RDK_MLP_NONE) branch(m, layer, n, true, x);
    }
    const double *head = param(m, -1, c->tie ? "tokens.weight" : "head.weight");
    const double *bias = param(m, -1, "head.bias");
    double factor = spectral_factor(m, -1, "head", VOCAB, D_MODEL, head);
    for (size_t t = 0; t < LEN; t++) {
        if (c->norm_place == RDK_PRE_NORM) model_norm(m, -1, "final_norm", x[t]);
        for (size_t o = 0; o < VOCAB; o++) {
            double *y = &logits[t * VOCAB + o];
            *y = bias ? bias[o] : 0;
            for (size_t i = 0; i < D_MODEL; i++) *y += factor * head[o * D_MODEL + i] * x[t][i];
        }
    }
}

static double reference_loss(const double *logits, const int32_t *targets)
{
    double sum = 0, counted = 0;
    for (size_t r = 0; r < MOST_ROWS; r++) {
        double z = 0;
        if (targets[r] < 0) continue;
        for (size_t o = 0; o < VOCAB; o++) z += exp(logits[r * VOCAB + o]);
        sum += log(z) - logits[r * VOCAB + (size_t)targets[r]];
        counted++;
    }
    return sum / counted;
}

static void compare(const rdk_model_config *c, const int32_t *lengths, const char *what)
{
    int32_t tokens[MOST_ROWS], targets[MOST_ROWS];
    double want[MOST_ROWS * VOCAB];
    fixed_batch(MOST_ROWS, tokens, targets);
    rdk_model *m = new_model(c);
    rdk_tape *t = new_tape();
    shake(m, 0.3);
    for (size_t b = 0; b < BATCH; b++)
        reference_logits(m, tokens + b * LEN, lengths ? (size_t)lengths[b] : LEN,
                         want + b * LEN * VOCAB);
    rdk_tensor *got = rdk_model_logits(m, t, BATCH, LEN, tokens, lengths, NULL);
    ck_assert_msg(got != NULL, "%s", rdk_tape_status(t)->message);
    for (size_t r = 0; r < MOST_ROWS * VOCAB; r++)
        ck_assert_msg(fabs(got->data[r] - want[r]) < 1e-11, "%s: logit %zu is %.15g, want %.15g",
                      what, r, got->data[r], want[r]);
    ck_assert_close(loss_of(m, t, lengths, NULL, false), reference_loss(want, targets), 1e-12, 0);
    rdk_model_free(m);
    rdk_tape_free(t);
}

static const int32_t some_lengths[BATCH] = {LEN, 4, 1};

START_TEST(every_policy)
{
    const rdk_scaling *policy = rdk_scaling_at((size_t)_i);
    rdk_model_config c = small_config();
    strcpy(c.scale, policy->name);
    c.qk_norm = policy->qk_norm;
    compare(&c, NULL, c.scale);
    c.bias = true;
    compare(&c, some_lengths, c.scale);
    c.arch = RDK_ENCODER;
    compare(&c, some_lengths, c.scale);
}
END_TEST

START_TEST(every_variant)
{
    rdk_model_config c = variant_config(_i);
    if (_i == 0) return; /* the scale as a number: test_scaling.c */
    compare(&c, NULL, variants[_i].name);
    compare(&c, some_lengths, variants[_i].name);
}
END_TEST

RDK_TEST_MAIN("model against a reference", {
    ADD_LOOP(every_policy, (int)rdk_scaling_count());
    ADD_LOOP(every_variant, VARIANTS);
})
