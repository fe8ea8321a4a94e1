/* SPDX-License-Identifier: MIT
 * The verdict on one run in words: one set of sentences for the terminal and for the report. */
#ifndef RDK_RUN_SENTENCES_H
#define RDK_RUN_SENTENCES_H

#include <rootdk/base.h>

/* Of one layer, likewise. */
typedef struct rdk_layer_figures {
    double entropy_first, entropy_theory, sat99_first;
    double entropy_last, score_std_last, score_absmax_last;
} rdk_layer_figures;

/* The figures that the sentences are made from; NAN: not measured, and nothing is said of it.
 * First: before the first update. Means over layers and heads, but for the largest score. */
typedef struct rdk_verdict_figures {
    uint64_t step;
    double loss, accuracy;    /* held out, at that step */
    double sequence_accuracy; /* NAN where the task has no whole sequences */
    double chance_accuracy, floor_loss;
    double best_loss; /* the lowest held out, */
    uint64_t best_step;
    double entropy_first, entropy_theory, sat99_first, top5_first;
    double entropy_last, score_std_last, score_absmax_last;
    double ratio_first, ratio_last; /* |dW_Q| / |dW_V| */
    double scale;                   /* c, which the ratio carries; NAN: several */
    double qk_clip;                 /* its limit; 0: none */
    double clip_updates, clip_most; /* in which it shrank a head; heads in one. NAN: not known */
    size_t all_heads;               /* of all layers */
    const rdk_layer_figures *layer; /* [layers] where layers have a scaling of their own; or NULL */
    size_t layers;
    /* attention and gradients were measured then: what is NAN could not be formed */
    bool started, ended;
} rdk_verdict_figures;

/* One line a sentence (or two that belong together). */
void rdk_verdict_sentences(const rdk_verdict_figures *f, rdk_text *out);

#endif
