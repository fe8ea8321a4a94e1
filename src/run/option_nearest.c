/* SPDX-License-Identifier: MIT
 * "Did you mean": the option that an unknown name comes nearest to, and the value.
 * Invariant: it only suggests; nothing is ever accepted under another name than its own. */
#include <ctype.h>
#include <string.h>

#include "option_names.h"

/* What other trainers call it. */
static const struct {
    const char *theirs, *ours;
} other_names[] = {
    {"learning-rate", "lr"},
    {"batch-size", "batch"},
    {"block-size", "seq-len"},
    {"context", "seq-len"},
    {"context-length", "seq-len"},
    {"n-layer", "layers"},
    {"n-head", "heads"},
    {"num-heads", "heads"},
    {"n-embd", "d-model"},
    {"d-head", "d-k"},
    {"head-dim", "d-k"},
    {"max-iters", "steps"},
    {"iterations", "steps"},
    {"grad-clip", "clip"},
    {"gradient-accumulation", "accum"},
    {"dataset", "data"},
    {"attention-scale", "scale"},
    {"output", "out"},
    {"directory", "out"},
    {"temperature", "head-temperature"},
    {"soft-cap", "softcap"},
    {"logit-softcap", "softcap"},
    {"ssmax", "length-scale"},
    {"attention-sink", "sink"},
    {"hidden-size", "d-model"},
    {"decay", "weight-decay"},
    {"save-interval", "save-every"},
    {"eval-interval", "eval-every"},
    {"log-interval", "log-every"},
    {"warmup-steps", "warmup"},
    {"tokeniser", "tokenizer"},
};

enum { OTHERS = sizeof other_names / sizeof *other_names, MOST_WORDS = 256 };

static const rdk_option *option_called(const char *word)
{
    for (size_t i = 0; i < OTHERS; i++) {
        if (!strcmp(other_names[i].theirs, word)) return rdk_option_find(other_names[i].ours);
    }
    return rdk_option_find(word);
}

const rdk_option *rdk_option_nearest(const char *name)
{
    const char *words[MOST_WORDS];
    size_t n = 0, length = strlen(name);
    if (!length) return NULL;
    for (size_t i = 0; i < rdk_option_count() && n < MOST_WORDS; i++) {
        words[n++] = rdk_option_at(i)->name;
    }
    for (size_t i = 0; i < OTHERS && n < MOST_WORDS; i++) words[n++] = other_names[i].theirs;
    for (size_t i = 0; i < n; i++) {
        if (!strncmp(words[i], name, length)) return option_called(words[i]);
    }
    const char *near = rdk_nearest(name, words, n);
    return near ? option_called(near) : NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* What others call a value, in lower case. NULL as ours: there is no such thing here, however near
 * a name may look. */
static const struct {
    const char *option, *theirs, *ours;
} other_values[] = {
    {"attention", "bahdanau", "additive"},
    {"attention", "softmax", "dot"},
    {"scale", "1/sqrt(d_model)", "dmodel"},
    {"scale", "sqrt(d_model)", "dmodel"},
    {"scale", "mup", "dk"},
    {"qk-norm", "cosine", "l2"},
    {"sink", "off-by-one", "one"},
    {"sink", "on", NULL},
    {"arch", "gpt", "decoder"},
    {"arch", "causal", "decoder"},
    {"arch", "bert", "encoder"},
    {"arch", "bidirectional", "encoder"},
    {"norm", "ln", "layer"},
    {"positions", "rotary", "rope"},
    {"positions", "nope", "none"},
    {"positions", "sincos", "sinusoidal"},
    {"positions", "absolute", "learned"},
    {"mlp", "silu", "swiglu"},
    {"mlp", "swish", "swiglu"},
    {"mlp", "glu", "swiglu"},
    {"mlp", "geglu", NULL},
    {"init", "lecun", "unit"},
    {"optimizer", "momentum", "sgd"},
    {"schedule", "none", "constant"},
    {"schedule", "off", "constant"},
    {"precision", "bfloat16", "bf16"},
    {"precision", "bfloat", "bf16"},
    {"precision", "fp32", "float"},
    {"precision", "single", "float"},
    {"precision", "fp16", NULL},
    {"precision", "float16", NULL},
    {"precision", "float64", NULL},
    {"task", "addition", "modadd"},
    {"task", "induction", "recall"},
    {"task", "lm", "text"},
    {NULL, "none", "off"},
    {NULL, "off", "none"},
};

enum { VALUES = sizeof other_values / sizeof *other_values, VALUE_TEXT = 32, LEAST_PART = 2 };

static bool is_among(const char *const *names, size_t n, const char *name)
{
    size_t i = 0;
    while (i < n && strcmp(names[i], name) != 0) i++;
    return i < n;
}

/* The longest name in the value ("1/sqrt(dk)", "layernorm"), or the first that goes on where the
 * value ends ("cos"). */
static const char *part_of_other(const char *value, const char *const *names, size_t n)
{
    const char *longest = NULL;
    size_t length = strlen(value);
    for (size_t i = 0; i < n; i++) {
        if (!strstr(value, names[i]) || strlen(names[i]) < LEAST_PART) continue;
        if (!longest || strlen(names[i]) > strlen(longest)) longest = names[i];
    }
    for (size_t i = 0; !longest && length >= LEAST_PART && i < n; i++)
        if (!strncmp(names[i], value, length)) longest = names[i];
    return longest;
}

const char *rdk_option_nearest_value(const rdk_option *o, const char *value)
{
    const char *names[RDK_MOST_NAMES];
    char lower[VALUE_TEXT] = "";
    size_t n = rdk_option_names(o, names), length = strlen(value);
    if (!n || length >= sizeof lower) return NULL;
    for (size_t i = 0; i < length; i++) lower[i] = (char)tolower((unsigned char)value[i]);
    for (size_t i = 0; i < VALUES; i++) {
        const char *option = other_values[i].option, *ours = other_values[i].ours;
        if ((option && strcmp(option, o->name) != 0) || strcmp(other_values[i].theirs, lower) != 0)
            continue;
        if (!ours || is_among(names, n, ours)) return ours;
    }
    const char *part = part_of_other(lower, names, n), *near = rdk_nearest(lower, names, n);
    if (!part || !near) return part ? part : near;
    return rdk_nearest(lower, (const char *[]){part, near}, 2); /* gelu-exat holds gelu */
}
