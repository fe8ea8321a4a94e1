/* SPDX-License-Identifier: MIT
 * Section 3, where d_k was varied: score deviation and entropy before the first update against d_k,
 * beside what theory predicts.
 * Read next: widths.c, sec_gradients.c. */
#include "widths.h"

void rdk_start_figure(rdk_report *r, rdk_text *t)
{
    static const rdk_width_panel panels[] = {
        {.title = "Score deviation at the start",
         .metric = "score_std",
         .label = "std of the scores",
         .column = "score_std",
         .figure = rdk_run_std_start,
         .theory = rdk_run_std_theory},
        {.title = "Entropy at the start",
         .metric = "entropy_norm",
         .label = "H / ln n",
         .column = "entropy_norm",
         .figure = rdk_run_entropy_start,
         .theory = rdk_run_entropy_theory,
         .share = true},
    };
    static const rdk_width_figure figure = {
        .id = "fig-start",
        .says = "Score deviation and entropy at the start against d_k",
        .caption = "Before the first update, against d_k: over layers and heads the root of the "
                   "mean square of the deviation and the mean of the entropy, then the mean over "
                   "seeds; bars are 95&nbsp;% t-intervals of three seeds or more. Dotted: what "
                   "theory predicts from the initial weights, averaged in the same way.",
        .panels = panels,
        .n_panels = sizeof panels / sizeof *panels,
        .marks = RDK_KEY_THEORY,
        .apart = 1, /* so that what is measured stands over what is predicted */
    };
    if (r->n_panels > 1) rdk_width_draw(r, t, &figure);
}
