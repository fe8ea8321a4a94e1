/* SPDX-License-Identifier: MIT
 * A trainer of a size, and one step of it as a run takes it. */
#ifndef ROOTDK_BENCH_TRAINING_H
#define ROOTDK_BENCH_TRAINING_H

#include "bench.h"

#include "run/trainer.h"

enum { BENCH_WORDS = 7, BENCH_NUMBERS = 6, BENCH_SETTINGS = BENCH_WORDS + BENCH_NUMBERS };

typedef struct bench_setting {
    const char *option;
    char value[RDK_NUMBER_TEXT];
} bench_setting;

/* Random tokens; what these do not say is as in a run. */
static inline void bench_settings(const bench_size *b, bench_setting out[BENCH_SETTINGS])
{
    static const bench_setting words[BENCH_WORDS] = {
        {"task", "random"}, {"init", "gpt2"}, {"bias", "on"}, {"tie", "on"},
        {"lr", "1e-3"},     {"clip", "1"},    {"seed", "1"}};
    static const char *const names[BENCH_NUMBERS] = {"layers",  "heads", "d-model",
                                                     "seq-len", "batch", "vocab"};
    const size_t numbers[BENCH_NUMBERS] = {b->layers, b->heads, b->d_model,
                                           b->len,    b->batch, b->vocab};
    memcpy(out, words, sizeof words);
    for (size_t i = 0; i < BENCH_NUMBERS; i++) {
        out[BENCH_WORDS + i].option = names[i];
        snprintf(out[BENCH_WORDS + i].value, sizeof out->value, "%zu", numbers[i]);
    }
}

static inline bool bench_configure(rdk_config *c, const bench_size *b, uint64_t probe_every,
                                   rdk_status *s)
{
    bench_setting all[BENCH_SETTINGS];
    bench_settings(b, all);
    rdk_config_init(c);
    bool ok = true;
    for (size_t i = 0; i < BENCH_SETTINGS; i++)
        ok = ok && rdk_option_set(c, rdk_option_find(all[i].option), all[i].value, s);
    c->probe_every = probe_every; /* 0: nothing is */
    return ok;
}

/* probed: with all that a probed step of a run does, its rows among it where the logs are open. */
static inline bool bench_step(rdk_trainer *r, bool probed, double *loss)
{
    rdk_step_report report;
    uint64_t number = r->step;
    if (!rdk_step_gradients(r, probed, &report)) return false;
    if (probed) rdk_logs_keep_norms(r);
    if (probed && !rdk_watch_before(r)) return false;
    rdk_step_update(r, &report);
    *loss = report.pass.loss;
    return !probed || (rdk_watch_after(r) && rdk_logs_attention_rows(r, number, true) &&
                       rdk_logs_gradient_rows(r, number, true));
}

#endif
