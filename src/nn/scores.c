/* SPDX-License-Identifier: MIT
 * What is done to a score beside the scaling policy: per layer, by temperature, by length, by a cap
 * and a sink. What each means as a number, and which of them go together.
 *
 * Invariant: every rule stands here once; the model, theory and the options use these functions. Of
 * two learned factors on the same scores only the product counts, so such pairs are refused.
 * Read next: scaling.c, block.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/model.h"

/* Outside these a score scale or a gain has left what float can multiply with sense. A negative
 * scale is refused as well: it is the positive one with -W_Q, and rather a slip of the hand. */
static const double MIN_FACTOR = 1e-6, MAX_FACTOR = 1e6;
/* Nearer to 1 the logarithm of the base is 0 or nearly. */
static const double MIN_BASE = 1.01, MAX_BASE = 1e9;

bool rdk_nn_factor_fits(double x)
{
    return x >= MIN_FACTOR && x <= MAX_FACTOR; /* false for nan */
}

double rdk_config_score_scale(const rdk_model_config *c)
{
    const rdk_scaling *policy = rdk_scaling_find(c->scale);
    double number;
    if (policy) return policy->multiplier(c->d_k, c->d_model);
    return rdk_parse_double(c->scale, &number) ? number : NAN;
}

double rdk_config_qk_gain(const rdk_model_config *c)
{
    if (c->qk_norm == RDK_QK_OFF) return 1;
    if (c->qk_gain != 0) return c->qk_gain;
    return c->qk_norm == RDK_QK_L2 ? sqrt((double)c->d_k) : 1;
}

/* ---- by length ------------------------------------------------------------------------------- */

/* 1 / mean of ln n over the rows of a sequence: n = 1 .. T where it is causal, whose mean is
 * ln(T!) / T. So the scores start, on the whole, as large as without. */
double rdk_config_length_gain(const rdk_model_config *c)
{
    double len = (double)c->max_len;
    if (c->length != RDK_LENGTH_SSMAX) return 1;
    if (c->length_gain != 0) return c->length_gain;
    double mean = c->arch == RDK_DECODER ? lgamma(len + 1) / len : log(len);
    return mean > 0 ? 1 / mean : 1;
}

double rdk_config_length_base(const rdk_model_config *c)
{
    static const double e = 2.718281828459045235360;
    if (c->length == RDK_LENGTH_OFF) return 0;
    if (c->length == RDK_LENGTH_SSMAX) return e;
    if (c->length_base != 0) return c->length_base;
    return c->max_len > 1 ? (double)c->max_len : 2;
}

/* ---- by layer -------------------------------------------------------------------------------- */

/* The next "LAYER:SCALE" of a list; false where it is none, or too long. *list moves behind it. */
static bool next_layer(const char **list, uint64_t *layer, char scale[RDK_NAME_TEXT])
{
    char number[RDK_NUMBER_TEXT];
    size_t digits = strcspn(*list, ":/"), length = strcspn(*list + digits, "/");
    if ((*list)[digits] != ':' || digits >= sizeof number || length < 2 || length > RDK_NAME_TEXT)
        return false;
    memcpy(number, *list, digits);
    number[digits] = '\0';
    memcpy(scale, *list + digits + 1, length - 1);
    scale[length - 1] = '\0';
    *list += digits + length;
    if (**list == '/' && (*list)[1]) ++*list; /* else a last '/' stays, and is no entry */
    return rdk_parse_uint(number, layer);
}

rdk_model_config rdk_config_of_layer(const rdk_model_config *c, size_t layer)
{
    rdk_model_config of = *c;
    char scale[RDK_NAME_TEXT];
    uint64_t at;
    for (const char *list = c->scale_layers; *list && next_layer(&list, &at, scale);) {
        if (at != layer) continue;
        const rdk_scaling *policy = rdk_scaling_find(scale);
        memcpy(of.scale, scale, strlen(scale) + 1);
        of.qk_norm = policy ? policy->qk_norm : RDK_QK_OFF;
        of.qk_gain = of.qk_norm == c->qk_norm ? c->qk_gain : 0;
        break;
    }
    return of;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static bool check_scale(const char *option, const char *scale, rdk_status *s)
{
    double number;
    if (rdk_scaling_find(scale)) return true;
    if (rdk_parse_double(scale, &number)) {
        if (rdk_nn_factor_fits(number)) return true;
        return rdk_fail(s, RDK_EVALUE, "%s %s is out of range (1e-6 to 1e6, or a name)", option,
                        scale);
    }
    char names[200] = "";
    for (size_t i = 0; i < rdk_scaling_count(); i++) {
        strncat(names, rdk_scaling_at(i)->name, sizeof names - strlen(names) - 1);
        strncat(names, ", ", sizeof names - strlen(names) - 1);
    }
    return rdk_fail(s, RDK_EVALUE, "%s '%s' is unknown (choose %sor a number)", option, scale,
                    names);
}

static bool check_layers(const rdk_model_config *c, rdk_status *s)
{
    bool seen[RDK_MAX_LAYERS] = {false};
    for (const char *list = c->scale_layers; *list;) {
        char scale[RDK_NAME_TEXT], option[64];
        uint64_t layer;
        if (!next_layer(&list, &layer, scale))
            return rdk_fail(s, RDK_EVALUE,
                            "--scale-layers '%s' is no list LAYER:SCALE/LAYER:SCALE (as in "
                            "0:none/3:0.5, or off)",
                            c->scale_layers);
        if (layer >= c->layers)
            return rdk_fail(s, RDK_EVALUE, "--scale-layers: there is no layer %llu (0 to %zu)",
                            (unsigned long long)layer, c->layers - 1);
        if (seen[layer])
            return rdk_fail(s, RDK_EVALUE, "--scale-layers names layer %llu twice (keep one)",
                            (unsigned long long)layer);
        seen[layer] = true;
        snprintf(option, sizeof option, "--scale-layers, layer %llu:", (unsigned long long)layer);
        if (!check_scale(option, scale, s)) return false;
    }
    return true;
}

/* A number that is neither left to rule nor right, or that nothing reads. */
static bool check_number(const char *option, double x, bool fits, const char *range, bool counts,
                         const char *with, rdk_status *s)
{
    char text[RDK_NUMBER_TEXT];
    if (x != 0 && !fits)
        return rdk_fail(s, RDK_EVALUE, "%s %s is out of range (%s)", option,
                        rdk_text_double(x, text), range);
    if (x != 0 && !counts)
        return rdk_fail(s, RDK_EVALUE, "%s %s does nothing without %s (add that, or drop it)",
                        option, rdk_text_double(x, text), with);
    return true;
}

static bool check_numbers(const rdk_model_config *c, rdk_status *s)
{
    bool base_fits = c->length_base >= MIN_BASE && c->length_base <= MAX_BASE;
    return check_number("--softcap", c->softcap, rdk_nn_factor_fits(c->softcap),
                        "1e-6 to 1e6, or 0: none", true, "", s) &&
           check_number("--length-gain", c->length_gain, rdk_nn_factor_fits(c->length_gain),
                        "1e-6 to 1e6, or 0: by rule", c->length == RDK_LENGTH_SSMAX,
                        "--length-scale ssmax", s) &&
           check_number("--length-base", c->length_base, base_fits,
                        "1.01 to 1e9, or 0: the length of a sequence", c->length == RDK_LENGTH_LOG,
                        "--length-scale log", s);
}

/* Does some layer learn one factor a head already? */
static bool learns_cosine_gain(const rdk_model_config *c)
{
    for (size_t i = 0; i < c->layers; i++)
        if (rdk_config_of_layer(c, i).qk_norm == RDK_QK_L2 && c->qk_gain_learned) return true;
    return false;
}

static bool check_learned_factors(const rdk_model_config *c, rdk_status *s)
{
    bool ssmax = c->length == RDK_LENGTH_SSMAX;
    if (c->temperature && ssmax)
        return rdk_fail(s, RDK_EVALUE,
                        "--head-temperature and --length-scale ssmax learn one factor a head each, "
                        "of which only the product counts (drop one of the two)");
    if ((c->temperature || ssmax) && learns_cosine_gain(c))
        return rdk_fail(s, RDK_EVALUE,
                        "--qk-norm l2 and %s learn one factor a head each, of which only the "
                        "product counts (add --no-qk-gain-learned, or drop one of the two)",
                        ssmax ? "--length-scale ssmax" : "--head-temperature");
    return true;
}

/* What belongs to a product does not belong to a tanh: the policies answer to Var(q.k) = d_k, l2
 * makes of the product a cosine, and turned pairs make it a function of the distance. */
static bool check_additive_layer(const rdk_model_config *c, rdk_status *s)
{
    if (rdk_scaling_find(c->scale) && strcmp(c->scale, "none") != 0)
        return rdk_fail(s, RDK_EVALUE,
                        "--scale %s answers to the variance of q.k, which grows with d_k: with "
                        "--attention additive choose none or a number",
                        c->scale);
    return c->qk_norm != RDK_QK_L2 ||
           rdk_fail(s, RDK_EVALUE,
                    "--qk-norm l2 makes a cosine of q.k: with --attention additive choose off, "
                    "layer or rms");
}

static bool check_additive(const rdk_model_config *c, rdk_status *s)
{
    if (c->attention != RDK_ADDITIVE) return true;
    if (c->positions == RDK_ROPE)
        return rdk_fail(s, RDK_EVALUE,
                        "--positions rope turns q and k for their product: with --attention "
                        "additive choose learned, sinusoidal or none");
    for (size_t i = 0; i < c->layers; i++) {
        rdk_model_config own = rdk_config_of_layer(c, i);
        if (!check_additive_layer(&own, s)) return false;
    }
    return true;
}

bool rdk_nn_check_scores(const rdk_model_config *c, rdk_status *s)
{
    return check_scale("--scale", c->scale, s) && check_layers(c, s) && check_numbers(c, s) &&
           check_learned_factors(c, s) && check_additive(c, s);
}
