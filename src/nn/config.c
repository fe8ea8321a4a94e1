/* SPDX-License-Identifier: MIT
 * What a model may be: every rule, checked before anything is allocated; those about scores are in
 * scores.c.
 *
 * Invariant: a configuration that passes can be built and run, memory allowing, and none of its
 * parameters is dead by construction. Messages name the option, the value and the rule.
 * Read next: scores.c, params.c. */
#include "nn/model.h"

static const double GIGABYTE = 1e9;

static bool check_sizes(const rdk_model_config *c, rdk_status *s)
{
    const struct {
        const char *option;
        size_t value, most;
    } sizes[] = {
        {"--layers", c->layers, RDK_MAX_LAYERS},  {"--heads", c->heads, RDK_MAX_WIDTH},
        {"--d-model", c->d_model, RDK_MAX_WIDTH}, {"--d-k", c->d_k, RDK_MAX_WIDTH},
        {"--d-ff", c->d_ff, RDK_MAX_WIDTH},       {"--vocab", c->vocab, RDK_MAX_WIDTH},
        {"--seq-len", c->max_len, RDK_MAX_WIDTH},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].value < 1 || sizes[i].value > sizes[i].most)
            return rdk_fail(s, RDK_EVALUE, "%s %zu is out of range (1 to %zu)", sizes[i].option,
                            sizes[i].value, sizes[i].most);
    size_t inner;
    if (!rdk_size_mul(c->heads, c->d_k, &inner) || inner > RDK_MAX_WIDTH)
        return rdk_fail(s, RDK_EVALUE, "--heads %zu times --d-k %zu is out of range (1 to %d)",
                        c->heads, c->d_k, RDK_MAX_WIDTH);
    return true;
}

static bool check_choices(const rdk_model_config *c, rdk_status *s)
{
    const struct {
        const char *option;
        unsigned value, last;
    } choices[] = {
        {"the architecture", c->arch, RDK_ENCODER}, {"--norm-place", c->norm_place, RDK_POST_NORM},
        {"--norm", c->norm, RDK_RMS_NORM},          {"--positions", c->positions, RDK_NO_POSITIONS},
        {"--mlp", c->mlp, RDK_MLP_GELU_EXACT},      {"--init", c->init, RDK_INIT_T5},
        {"--qk-norm", c->qk_norm, RDK_QK_RMS},      {"--attention", c->attention, RDK_ADDITIVE},
        {"--sink", c->sink, RDK_SINK_LEARNED},      {"--length-scale", c->length, RDK_LENGTH_LOG},
    };
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        if (choices[i].value > choices[i].last)
            return rdk_fail(s, RDK_EVALUE, "%s has no choice number %u (0 to %u)",
                            choices[i].option, choices[i].value, choices[i].last);
    return true;
}

/* A norm over too few numbers leaves only their signs: what feeds it would never get a gradient. */
static bool check_norm_widths(const rdk_model_config *c, rdk_status *s)
{
    size_t least = c->norm == RDK_LAYER_NORM ? 3 : 2;
    if (c->d_model < least)
        return rdk_fail(s, RDK_EVALUE, "--d-model %zu is too narrow for --norm %s (%zu or more)",
                        c->d_model, c->norm == RDK_LAYER_NORM ? "layer" : "rms", least);
    for (size_t i = 0; i < c->layers; i++) {
        rdk_qk_norm kind = rdk_config_of_layer(c, i).qk_norm;
        least = kind == RDK_QK_LAYER ? 3 : kind == RDK_QK_OFF ? 1 : 2;
        if (c->d_k < least)
            return rdk_fail(s, RDK_EVALUE, "--d-k %zu is too narrow for --qk-norm %s (%zu or more)",
                            c->d_k,
                            kind == RDK_QK_LAYER ? "layer"
                            : kind == RDK_QK_L2  ? "l2"
                                                 : "rms",
                            least);
    }
    return true;
}

static bool check_numbers(const rdk_model_config *c, rdk_status *s)
{
    char text[RDK_NUMBER_TEXT];
    if (c->positions == RDK_ROPE && c->d_k % 2 != 0)
        return rdk_fail(s, RDK_EVALUE,
                        "--positions rope turns pairs and needs an even --d-k, not "
                        "%zu (choose --d-k %zu)",
                        c->d_k, c->d_k + 1);
    if (!(c->dropout >= 0 && c->dropout < 1))
        return rdk_fail(s, RDK_EVALUE, "--dropout %s is out of range (0 to less than 1)",
                        rdk_text_double(c->dropout, text));
    if (c->qk_gain != 0 && !rdk_nn_factor_fits(c->qk_gain))
        return rdk_fail(s, RDK_EVALUE,
                        "--qk-gain %s is out of range (1e-6 to 1e6, or 0 for its usual start)",
                        rdk_text_double(c->qk_gain, text));
    if (c->qk_gain != 0 && c->qk_norm == RDK_QK_OFF)
        return rdk_fail(s, RDK_EVALUE,
                        "--qk-gain %s does nothing without QK-norm (give --qk-gain auto, or "
                        "choose --qk-norm l2, layer or rms)",
                        rdk_text_double(c->qk_gain, text));
    return true;
}

static bool check_memory(const rdk_model_config *c, rdk_status *s)
{
    size_t n_params, size, table = 0, all;
    bool fits = rdk_nn_measure(c, &n_params, &size) &&
                (c->positions != RDK_SINUSOIDAL || rdk_size_mul(c->max_len, c->d_model, &table)) &&
                rdk_size_mul(size, 2, &size) && rdk_size_add(size, table, &all) &&
                rdk_size_mul(all, sizeof(rdk_real), &all);
    if (!fits)
        return rdk_fail(s, RDK_ENOMEM,
                        "a model of this size cannot be addressed (lower --layers, "
                        "--d-model, --d-ff, --d-k or --vocab)");
    double memory = rdk_machine_memory();
    if ((double)all > memory)
        return rdk_fail(s, RDK_ENOMEM,
                        "the model needs %.0f GB for its parameters and their "
                        "gradients, this machine has %.0f GB (lower --layers, --d-model, --d-ff, "
                        "--d-k or --vocab)",
                        (double)all / GIGABYTE, memory / GIGABYTE);
    return true;
}

bool rdk_model_config_check(const rdk_model_config *c, rdk_status *s)
{
    return check_sizes(c, s) && check_choices(c, s) && check_norm_widths(c, s) &&
           check_numbers(c, s) && rdk_nn_check_scores(c, s) && check_memory(c, s);
}
