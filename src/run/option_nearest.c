/* SPDX-License-Identifier: MIT
 * "Did you mean": the option that an unknown name comes nearest to.
 * Invariant: it only suggests; nothing is ever accepted under another name than its own. */
#include <string.h>

#include <rootdk/run.h>

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
