/* SPDX-License-Identifier: MIT
 * Section 8: what every figure of the page means. docs/metrics.md says more.
 * Read next: page.c. */
#include "page.h"

static const struct definition {
    const char *id, *name, *text;
} DEFINITIONS[] = {
    {"loss", "loss",
     "Mean over counted targets of -ln p(target), in nats. Training: the batch of "
     "the step, before its update. Held-out: the evaluation sequences. ln V is "
     "the loss of a uniform guess over all tokens, chance that of one who knows "
     "only the form of the task, the floor what no model can go below."},
    {"accuracy", "accuracy", "Share of counted targets that are the most probable token."},
    {"solved", "solved at step",
     "The first evaluation with an accuracy of at least 0.99; of several "
     "runs the median, where those that never got there come last."},
    {"entropy_norm", "H / ln n",
     "For each row of scores with n &ge; 2 visible keys: the entropy H "
     "= -&Sigma; p ln p over ln n; the mean over rows. 1 is uniform, "
     "0 one key. Theory: its expectation for scores that are "
     "independent N(0, &sigma;&sup2;), &sigma;&sup2; from the initial "
     "weights."},
    {"score_std", "std of the scores",
     "Root of the mean over rows of the variance of the scores "
     "within the row, after the scale c."},
    {"sat99", "saturated: sat99",
     "Share of rows (of 8 keys or more) whose largest p exceeds 0.99; sat90: 0.9."},
    {"map", "attention map",
     "p of each query (row) and key (column): the softmax over the keys that the query sees, "
     "without "
     "dropout. head l.h: layer l, head h, from 0."},
    {"ds_median", "rows of dL/ds",
     "Norm of the loss gradient at the scores of one row; median, "
     "10&nbsp;% and 90&nbsp;% quantile over rows, and the share of "
     "the sum of squares that the largest 5&nbsp;% hold. It shrinks "
     "as the batch grows."},
    {"ratio", "|dW_Q| / |dW_V|",
     "Frobenius norms of the gradients of the query and value weights "
     "before clipping, their ratio, mean over layers. The ratio takes "
     "out depth and loss scale; it still carries the factor c."},
    {"sensitivity", "LR sensitivity",
     "Mean over the learning rates of min(final loss, l0), less "
     "the best of them (Wortsman et al. 2023), for each seed. Diverged runs "
     "count as l0: the loss at chance, which is ln of the possible answers, or "
     "the loss at the start, held out before the first update. A model that never leaves l0 scores "
     "0: read "
     "it beside the losses."},
    {"interval", "&plusmn;",
     "Half of the 95&nbsp;% t-interval of the mean over seeds: it holds "
     "where seeds are independent and roughly normal."},
};

void rdk_section_metrics(rdk_report *r, rdk_text *t)
{
    (void)r;
    rdk_text_add(t, "<dl>\n");
    for (size_t i = 0; i < sizeof DEFINITIONS / sizeof *DEFINITIONS; i++)
        rdk_text_add(t, "<dt id=\"m-%s\">%s</dt><dd>%s</dd>\n", DEFINITIONS[i].id,
                     DEFINITIONS[i].name, DEFINITIONS[i].text);
    rdk_text_add(t, "</dl>\n<p class=\"small\">Every column of a run's files is defined in "
                    "docs/metrics.md.</p>\n");
}
