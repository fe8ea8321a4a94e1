/* SPDX-License-Identifier: MIT
 * The scaling policies: what --scale NAME means. The heart of rootdk, and one short table.
 *
 * A score is s = c q.k, with q and k of each head normalised first or not. With independent q and k
 * of unit variance Var(q.k) = d_k (Vaswani et al. 2017, 3.2.1, footnote 4), so c decides how far
 * apart the scores of a row lie when training starts, and with them how saturated the softmax is.
 *
 * Invariant: c is computed here and multiplies the scores in one place, the attention kernel; no
 * policy scales anywhere else. query_shrink is a start, not a scale: it is applied to W_Q once,
 * when it is drawn (init.c), and Adam does not see it again.
 *
 * To add a scaling, add its row: command line, help, logs, theory and the tests that every policy
 * must pass follow from the table.
 * Read next: block.c, where c and qk_norm are used. */
#include <math.h>
#include <string.h>

#include <rootdk/nn.h>

static double one(size_t d_k, size_t d_model)
{
    (void)d_k, (void)d_model;
    return 1;
}

static double inverse_sqrt_d_k(size_t d_k, size_t d_model)
{
    (void)d_model;
    return 1 / sqrt((double)d_k);
}

static double inverse_d_k(size_t d_k, size_t d_model)
{
    (void)d_model;
    return 1 / (double)d_k;
}

static double inverse_sqrt_d_model(size_t d_k, size_t d_model)
{
    (void)d_k;
    return 1 / sqrt((double)d_model);
}

static double shrink_sqrt_d_k(size_t d_k)
{
    return 1 / sqrt((double)d_k);
}

static const rdk_scaling policies[] = {
    {"none", "q.k", "no scale: score variance d_k at the start, a saturated softmax", one,
     RDK_QK_OFF, NULL},
    {"sqrt", "q.k / sqrt(d_k)", "Vaswani et al. 2017, 3.2.1: score variance 1 at the start",
     inverse_sqrt_d_k, RDK_QK_OFF, NULL},
    {"dk", "q.k / d_k", "Yang et al. 2021 (muP): score variance 1/d_k, uniform attention at first",
     inverse_d_k, RDK_QK_OFF, NULL},
    {"qknorm", "LN(q).LN(k) / sqrt(d_k)",
     "Dehghani et al. 2023 (ViT-22B), 2: scores bounded whatever the weights", inverse_sqrt_d_k,
     RDK_QK_LAYER, NULL},
    {"dmodel", "q.k / sqrt(d_model)",
     "control: the common mistake; with d_k = d_model/heads, scores sqrt(heads) times too small",
     inverse_sqrt_d_model, RDK_QK_OFF, NULL},
    {"t5", "q.k, W_Q drawn / sqrt(d_k)",
     "control: starts exactly as sqrt, but a step of W_Q moves the scores sqrt(d_k) times as far",
     one, RDK_QK_OFF, shrink_sqrt_d_k},
};

size_t rdk_scaling_count(void)
{
    return sizeof policies / sizeof policies[0];
}

const rdk_scaling *rdk_scaling_at(size_t i)
{
    return i < rdk_scaling_count() ? &policies[i] : NULL;
}

const rdk_scaling *rdk_scaling_find(const char *name)
{
    for (size_t i = 0; i < rdk_scaling_count(); i++)
        if (strcmp(policies[i].name, name) == 0) return &policies[i];
    return NULL;
}
