/* SPDX-License-Identifier: MIT
 * Models as they are built: what is refused and how it is said, names, places and sizes of the
 * parameters, their first values. */
#include "model_case.h"

#include "nn/model.h"

/* Expects a refusal whose message holds both words. */
static void refused(const rdk_model_config *c, const char *option, const char *word)
{
    rdk_status s = {0}, built = {0};
    ck_assert(!rdk_model_config_check(c, &s));
    ck_assert_msg(strstr(s.message, option) && strstr(s.message, word), "message: %s", s.message);
    ck_assert_ptr_null(rdk_model_new(c, 1, &built));
    ck_assert_str_eq(s.message, built.message);
}

#define REFUSED(change, option, word)                                                              \
    do {                                                                                           \
        rdk_model_config c = small_config();                                                       \
        change;                                                                                    \
        refused(&c, option, word);                                                                 \
    } while (0)

START_TEST(bad_values_are_refused_by_name)
{
    REFUSED(c.heads = 0, "--heads 0", "1 to");
    REFUSED(c.layers = 0, "--layers 0", "1 to 1000");
    REFUSED(c.layers = 1001, "--layers 1001", "1 to 1000");
    REFUSED(c.d_model = 0, "--d-model 0", "1 to");
    REFUSED(c.d_k = 0, "--d-k 0", "1 to");
    REFUSED(c.d_ff = 0, "--d-ff 0", "1 to");
    REFUSED(c.vocab = 0, "--vocab 0", "1 to");
    REFUSED(c.max_len = SIZE_MAX, "--seq-len", "1 to");
    REFUSED((c.d_k = 5, c.positions = RDK_ROPE), "--positions rope", "--d-k 6");
    REFUSED(c.dropout = 1, "--dropout 1", "less than 1");
    REFUSED(c.dropout = -0.5, "--dropout -0.5", "0 to");
    REFUSED(c.dropout = NAN, "--dropout nan", "0 to");
    REFUSED(strcpy(c.scale, "sqr"), "--scale 'sqr'", "none, sqrt, dk, qknorm, dmodel, t5");
    REFUSED(strcpy(c.scale, ""), "--scale ''", "a number");
    REFUSED(strcpy(c.scale, "0.5x"), "--scale '0.5x'", "a number");
    REFUSED(strcpy(c.scale, "0"), "--scale 0", "1e-6 to 1e6");
    REFUSED(strcpy(c.scale, "-1"), "--scale -1", "1e-6 to 1e6");
    REFUSED(strcpy(c.scale, "1e300"), "--scale 1e300", "1e-6 to 1e6");
    REFUSED(c.qk_gain = 2, "--qk-gain 2", "--qk-norm");
    REFUSED((c.qk_gain = -1, c.qk_norm = RDK_QK_L2), "--qk-gain -1", "1e-6 to 1e6");
    REFUSED((c.qk_gain = INFINITY, c.qk_norm = RDK_QK_L2), "--qk-gain inf", "1e-6 to 1e6");
    REFUSED((c.d_k = 2, c.qk_norm = RDK_QK_LAYER), "--d-k 2", "--qk-norm layer (3 or more)");
    REFUSED((c.d_k = 1, c.qk_norm = RDK_QK_L2), "--d-k 1", "--qk-norm l2 (2 or more)");
    REFUSED(c.softcap = -1, "--softcap -1", "1e-6 to 1e6");
    REFUSED(c.softcap = NAN, "--softcap nan", "1e-6 to 1e6");
    REFUSED(c.length_gain = 2, "--length-gain 2", "--length-scale ssmax");
    REFUSED(c.length_base = 2, "--length-base 2", "--length-scale log");
    REFUSED((c.length_base = 1.005, c.length = RDK_LENGTH_LOG), "--length-base 1.005", "1.01 to");
    REFUSED(c.length = (rdk_length_scale)3, "--length-scale", "no choice number 3");
    REFUSED(c.sink = (rdk_sink)7, "--sink", "no choice number 7");
    REFUSED((c.temperature = true, c.length = RDK_LENGTH_SSMAX), "--head-temperature",
            "--length-scale ssmax");
    REFUSED((c.temperature = true, c.qk_norm = RDK_QK_L2), "--qk-norm l2", "--head-temperature");
    REFUSED((c.length = RDK_LENGTH_SSMAX, c.qk_norm = RDK_QK_L2), "--no-qk-gain-learned", "ssmax");
    REFUSED(strcpy(c.scale_layers, "2:none"), "--scale-layers", "no layer 2 (0 to 1)");
    REFUSED(strcpy(c.scale_layers, "0:none/0:dk"), "--scale-layers", "layer 0 twice");
    REFUSED(strcpy(c.scale_layers, "1:sqr"), "layer 1: 'sqr'", "none, sqrt, dk");
    REFUSED(strcpy(c.scale_layers, "1:0"), "layer 1: 0", "1e-6 to 1e6");
    REFUSED((c.d_k = 2, strcpy(c.scale_layers, "1:qknorm")), "--d-k 2", "layer (3 or more)");
    static const char *const no_lists[] = {"0",       "none", "0:",      ":none",   "/0:none",
                                           "0:none/", "x:1",  "0:none,", "-1:none", "0:none//1:dk"};
    for (size_t i = 0; i < sizeof no_lists / sizeof *no_lists; i++)
        REFUSED(strcpy(c.scale_layers, no_lists[i]), "--scale-layers", "");
    REFUSED(c.d_model = 2, "--d-model 2", "--norm layer (3 or more)");
    REFUSED(c.mlp = (rdk_mlp)9, "--mlp", "no choice number 9");
    REFUSED(c.attention = (rdk_score_kind)2, "--attention", "no choice number 2");
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        const char *name = rdk_scaling_at(i)->name;
        if (!strcmp(name, "none")) continue;
        REFUSED((additive(&c), strcpy(c.scale, name)), name, "--attention additive choose none");
    }
    REFUSED((additive(&c), c.qk_norm = RDK_QK_L2), "--qk-norm l2", "--attention additive");
    REFUSED((additive(&c), strcpy(c.scale_layers, "1:dk")), "--scale dk", "--attention additive");
    REFUSED((additive(&c), c.positions = RDK_ROPE), "--positions rope", "--attention additive");
}
END_TEST

START_TEST(too_large_models_are_refused_before_memory)
{
    REFUSED((c.layers = 1000, c.d_model = 1 << 14, c.d_ff = 1 << 16), "needs", "GB");
    REFUSED((c.d_model = 1 << 24, c.vocab = 1 << 24), "cannot be addressed", "--d-model");
    REFUSED((c.heads = 1 << 20, c.d_k = 1 << 20), "--heads 1048576", "--d-k 1048576");
    REFUSED((c.d_model = 1 << 20, c.d_k = 1 << 20), "cannot be addressed", "--layers");
    REFUSED((c.positions = RDK_SINUSOIDAL, c.max_len = 1 << 24, c.d_model = 1 << 20), "needs",
            "GB");
}
END_TEST

START_TEST(edges_that_work)
{
    rdk_tape *t = new_tape();
    rdk_model_config c = small_config();
    c.layers = 1, c.heads = 1, c.d_model = 3, c.d_k = 1, c.d_ff = 1, c.vocab = 1, c.max_len = 1;
    rdk_model *m = new_model(&c);
    const int32_t token = 0;
    rdk_tensor *y = rdk_model_logits(m, t, 1, 1, &token, NULL, NULL);
    ck_assert_msg(y && rdk_size(y) == 1, "%s", rdk_tape_status(t)->message);
    rdk_tape_reset(t);
    ck_assert_ptr_null(rdk_model_logits(m, t, 1, 2, (int32_t[]){0, 0}, NULL, NULL));
    ck_assert_ptr_nonnull(strstr(rdk_tape_status(t)->message, "2 tokens is longer"));
    rdk_tape_reset(t);
    ck_assert_ptr_null(rdk_model_logits(m, t, 1, 1, (int32_t[]){1}, NULL, NULL));
    ck_assert_int_eq(rdk_tape_status(t)->code, RDK_EVALUE);
    rdk_model_free(m);
    rdk_model_free(NULL);
    rdk_tape_free(t);
}
END_TEST

START_TEST(scale_and_gain_of_a_configuration)
{
    rdk_model_config c = small_config();
    c.d_k = 64, c.d_model = 256;
    ck_assert(rdk_config_score_scale(&c) == 0.125);
    strcpy(c.scale, "dmodel");
    ck_assert(rdk_config_score_scale(&c) == 0.0625);
    strcpy(c.scale, "0.3");
    ck_assert(rdk_config_score_scale(&c) == 0.3);
    strcpy(c.scale, "sqr");
    ck_assert(isnan(rdk_config_score_scale(&c)));
    ck_assert(rdk_config_qk_gain(&c) == 1);
    c.qk_norm = RDK_QK_L2;
    ck_assert(rdk_config_qk_gain(&c) == 8);
    c.qk_norm = RDK_QK_LAYER;
    ck_assert(rdk_config_qk_gain(&c) == 1);
    c.qk_gain = 2.5;
    ck_assert(rdk_config_qk_gain(&c) == 2.5);
}
END_TEST

/* The documented names, in order, of a configuration that has most of them. */
START_TEST(names_and_shapes)
{
    const struct {
        const char *name;
        size_t rows, cols;
        bool decay;
    } want[] = {
        {"tokens.weight", 11, 12, false},
        {"positions.weight", 9, 12, false},
        {"layers.0.norm1.gain", 12, 0, false},
        {"layers.0.norm1.bias", 12, 0, false},
        {"layers.0.attention.wq.weight", 15, 12, true},
        {"layers.0.attention.wq.bias", 15, 0, false},
        {"layers.0.attention.wk.weight", 15, 12, true},
        {"layers.0.attention.wk.bias", 15, 0, false},
        {"layers.0.attention.wv.weight", 15, 12, true},
        {"layers.0.attention.wv.bias", 15, 0, false},
        {"layers.0.attention.q_gain", 5, 0, false},
        {"layers.0.attention.k_gain", 5, 0, false},
        {"layers.0.attention.wo.weight", 12, 15, true},
        {"layers.0.attention.wo.bias", 12, 0, false},
        {"layers.0.norm2.gain", 12, 0, false},
        {"layers.0.norm2.bias", 12, 0, false},
        {"layers.0.mlp.in.weight", 20, 12, true},
        {"layers.0.mlp.in.bias", 20, 0, false},
        {"layers.0.mlp.gate.weight", 20, 12, true},
        {"layers.0.mlp.gate.bias", 20, 0, false},
        {"layers.0.mlp.out.weight", 12, 20, true},
        {"layers.0.mlp.out.bias", 12, 0, false},
        {"final_norm.gain", 12, 0, false},
        {"final_norm.bias", 12, 0, false},
        {"head.weight", 11, 12, true},
        {"head.bias", 11, 0, false},
    };
    rdk_model_config c = small_config();
    c.layers = 1, c.heads = 3, c.d_k = 5, c.bias = true, c.mlp = RDK_MLP_SWIGLU;
    c.qk_norm = RDK_QK_LAYER;
    rdk_model *m = new_model(&c);
    ck_assert_uint_eq(rdk_model_param_count(m), sizeof want / sizeof want[0]);
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        rdk_param *p = rdk_model_param(m, i);
        ck_assert_str_eq(p->name, want[i].name);
        ck_assert_str_eq(p->tensor.name, want[i].name);
        ck_assert_int_eq(p->tensor.n_dims, want[i].cols ? 2 : 1);
        ck_assert_uint_eq(p->tensor.dim[0], want[i].rows);
        if (want[i].cols) ck_assert_uint_eq(p->tensor.dim[1], want[i].cols);
        ck_assert_msg(p->decay == want[i].decay, "%s", p->name);
        ck_assert_int_eq(p->layer, strncmp(p->name, "layers.0.", 9) ? -1 : 0);
        ck_assert_ptr_eq(rdk_model_find(m, p->name), p);
    }
    ck_assert_ptr_null(rdk_model_find(m, "nobody"));
    ck_assert_ptr_null(rdk_model_role(m, RDK_ROLE_WQ, 1));
    ck_assert_str_eq(rdk_model_role(m, RDK_ROLE_HEAD, -1)->name, "head.weight");
    ck_assert_ptr_null(rdk_model_role(m, RDK_ROLE_SCORE, 0));
    rdk_model_free(m);
    c.attention = RDK_ADDITIVE;
    strcpy(c.scale, "none");
    m = new_model(&c);
    const rdk_param *w = rdk_model_role(m, RDK_ROLE_SCORE, 0);
    ck_assert_str_eq(w->name, "layers.0.attention.score.weight");
    ck_assert(w->tensor.n_dims == 2 && w->tensor.dim[0] == 3 && w->tensor.dim[1] == 5);
    ck_assert(w->decay && w->trainable);
    rdk_model_free(m);
}
END_TEST

/* nanoGPT's smallest picture by hand: V 65, T 64, 4 layers of 4 heads, d 128, d_ff 512, no biases:
 * 65*128*2 + 64*128 + 4*(4*128*128 + 2*128*512 + 2*128) + 128 */
START_TEST(parameter_count_by_hand)
{
    rdk_model_config c = small_config();
    c.vocab = 65, c.max_len = 64, c.layers = 4, c.heads = 4, c.d_model = 128, c.d_k = 32;
    c.d_ff = 512;
    rdk_model *m = new_model(&c);
    size_t count = 0;
    for (size_t i = 0; i < rdk_model_param_count(m); i++)
        count += rdk_size(&rdk_model_param(m, i)->tensor);
    ck_assert_uint_eq(count, 812416);
    rdk_model_free(m);
    c.tie = true;
    m = new_model(&c);
    ck_assert_ptr_null(rdk_model_role(m, RDK_ROLE_HEAD, -1));
    ck_assert(rdk_model_role(m, RDK_ROLE_TOKENS, -1)->decay);
    rdk_model_free(m);
}
END_TEST

START_TEST(buffers_are_aligned_and_padded_with_zero)
{
    rdk_model_config c = variant_config(_i);
    rdk_model *m = new_model(&c);
    size_t end = 0;
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        rdk_param *p = rdk_model_param(m, i);
        ck_assert_uint_eq((uintptr_t)p->tensor.data % 64, 0);
        ck_assert_uint_eq((uintptr_t)p->tensor.grad % 64, 0);
        ck_assert_ptr_eq(p->tensor.data, rdk_model_values(m) + p->offset);
        ck_assert_ptr_eq(p->tensor.grad, rdk_model_grads(m) + p->offset);
        for (; end < p->offset; end++) ck_assert(rdk_model_values(m)[end] == 0);
        ck_assert_uint_eq(end, p->offset);
        end += rdk_size(&p->tensor);
    }
    for (; end < rdk_model_size(m); end++) ck_assert(rdk_model_values(m)[end] == 0);
    ck_assert_uint_eq(end, rdk_model_size(m));
    rdk_model_free(m);
}
END_TEST

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Every drawn parameter that any model can have has a random stream of its own. */
START_TEST(no_two_names_share_a_stream)
{
    static const char *const parts[] = {"attention.wq",    "attention.wk", "attention.wv",
                                        "attention.score", "attention.wo", "mlp.in",
                                        "mlp.gate",        "mlp.out"};
    static uint64_t index[RDK_MAX_LAYERS * 8 + 3];
    size_t n = 0;
    index[n++] = rdk_nn_name_index("tokens.weight");
    index[n++] = rdk_nn_name_index("positions.weight");
    index[n++] = rdk_nn_name_index("head.weight");
    for (int layer = 0; layer < RDK_MAX_LAYERS; layer++)
        for (int i = 0; i < 8; i++) {
            char name[RDK_NAME_TEXT];
            snprintf(name, sizeof name, "layers.%d.%s.weight", layer, parts[i]);
            index[n++] = rdk_nn_name_index(name);
        }
    qsort(index, n, sizeof *index, compare);
    for (size_t i = 0; i < n; i++) ck_assert(index[i] < (uint64_t)1 << 44);
    for (size_t i = 1; i < n; i++) ck_assert(index[i - 1] != index[i]);
}
END_TEST

/* d_model 64, 2 heads of 48, d_ff 160, 2 layers; std by role as the header documents it. */
START_TEST(first_values_have_the_documented_spread)
{
    const struct {
        rdk_role role;
        double unit, gpt2, t5;
    } want[] = {
        {RDK_ROLE_TOKENS, 1, .02, 1},
        {RDK_ROLE_POSITIONS, 1, .02, 1},
        {RDK_ROLE_WQ, 0.125, .02, 0.018042195912175804}, /* 1/8, and that / sqrt(48) */
        {RDK_ROLE_WK, 0.125, .02, 0.125},
        {RDK_ROLE_WV, 0.125, .02, 0.125},
        {RDK_ROLE_WO, 0.05103103630798288, .01, 0.10206207261596577}, /* 1/sqrt(96) / 2 */
        {RDK_ROLE_MLP_IN, 0.125, .02, 0.125},
        {RDK_ROLE_MLP_OUT, 0.03952847075210474, .01, 0.07905694150420949}, /* 1/sqrt(160) / 2 */
        {RDK_ROLE_HEAD, 0.125, .02, 0.125},
    };
    rdk_model_config c = small_config();
    c.vocab = 300, c.max_len = 200, c.d_model = 64, c.d_k = 48, c.d_ff = 160;
    c.init = (rdk_init)_i;
    rdk_model *m = new_model(&c);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        int layer = rdk_model_role(m, want[i].role, 0) ? 0 : -1;
        rdk_param *p = rdk_model_role(m, want[i].role, layer);
        double std = _i == 0 ? want[i].unit : _i == 1 ? want[i].gpt2 : want[i].t5;
        double n = (double)rdk_size(&p->tensor), sum = 0;
        for (size_t e = 0; e < rdk_size(&p->tensor); e++) sum += p->tensor.data[e];
        double rms = norm_of(p->tensor.data, rdk_size(&p->tensor)) / sqrt(n);
        ck_assert_close(p->init_std, std, 1e-9, 0);
        ck_assert_close(rms, std, 4 / sqrt(2 * n), 0); /* four standard errors */
        ck_assert_msg(fabs(sum / n) < 4 * std / sqrt(n), "%s has mean %g", p->name, sum / n);
    }
    for (size_t i = 0; i < rdk_model_param_count(m); i++) {
        rdk_param *p = rdk_model_param(m, i);
        for (size_t e = 0; p->init_std == 0 && e < rdk_size(&p->tensor); e++)
            ck_assert(p->tensor.data[e] == (rdk_real)p->init_mean);
    }
    rdk_model_free(m);
    /* additive: w as a matrix from d_k to one score, and W_Q has no scale to take up */
    c.attention = RDK_ADDITIVE;
    ck_assert_close(rdk_init_std(&c, RDK_ROLE_SCORE), _i == 1 ? .02 : 1 / sqrt(48.), 1e-12, 0);
    ck_assert_close(rdk_init_std(&c, RDK_ROLE_WQ), _i == 1 ? .02 : .125, 1e-12, 0);
    c.attention = RDK_DOT;
    c.tie = true;
    ck_assert_close(rdk_init_std(&c, RDK_ROLE_TOKENS), _i == 1 ? .02 : .125, 1e-12, 0);
}
END_TEST

START_TEST(seeds_and_layers_differ)
{
    rdk_status s = {0};
    rdk_model_config c = small_config();
    rdk_model *a = rdk_model_new(&c, 1, &s), *b = rdk_model_new(&c, 2, &s);
    rdk_model *again = rdk_model_new(&c, 1, &s);
    size_t bytes = rdk_model_size(a) * sizeof(rdk_real);
    ck_assert_mem_ne(rdk_model_values(a), rdk_model_values(b), bytes);
    ck_assert_mem_eq(rdk_model_values(a), rdk_model_values(again), bytes);
    const rdk_param *q0 = rdk_model_role(a, RDK_ROLE_WQ, 0),
                    *q1 = rdk_model_role(a, RDK_ROLE_WQ, 1);
    ck_assert(q0->tensor.data[0] != q1->tensor.data[0]);
    ck_assert(q0->tensor.data[0] != q0->tensor.data[1]);
    rdk_model_free(a);
    rdk_model_free(b);
    rdk_model_free(again);
}
END_TEST

RDK_TEST_MAIN("model configuration", {
    ADD(bad_values_are_refused_by_name);
    ADD(too_large_models_are_refused_before_memory);
    ADD(edges_that_work);
    ADD(scale_and_gain_of_a_configuration);
    ADD(names_and_shapes);
    ADD(parameter_count_by_hand);
    ADD_LOOP(buffers_are_aligned_and_padded_with_zero, VARIANTS);
    ADD(no_two_names_share_a_stream);
    ADD_LOOP(first_values_have_the_documented_spread, 3);
    ADD(seeds_and_layers_differ);
})
