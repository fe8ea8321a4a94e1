/* SPDX-License-Identifier: MIT
 * QK-clip (Kimi Team 2025, "MuonClip"): after the optimizer's step, a head whose largest score S
 * has passed tau has its queries and keys made smaller, so that the same vectors would score tau.
 *
 *     eta = tau / S where S > tau, else 1;   W_Q *= eta^alpha;   W_K *= eta^(1 - alpha)
 *
 * Invariant: the forward pass is not touched, and the moments are not; a head whose scores are all
 * below tau, all negative ones too, keeps its bits. Under QK-norm, which takes the size of W_Q and
 * W_K out again, the function does not change: tests/double/test_qk_clip.c.
 * Read next: optimizer.c. */
#include <math.h>
#include <stdio.h>

#include <rootdk/optim.h>

static void scale_part(rdk_param *p, size_t head, size_t heads, double factor)
{
    if (!p) return;
    size_t n = rdk_size(&p->tensor) / heads;
    for (size_t e = head * n; e < (head + 1) * n; e++)
        p->tensor.data[e] = (rdk_real)((double)p->tensor.data[e] * factor);
}

/* The rows of one head: x W^T + b is scaled as a whole. */
static void scale_projection(rdk_model *m, const char *part, size_t layer, size_t head,
                             double factor)
{
    static const char *const kinds[] = {"weight", "bias"};
    char name[RDK_NAME_TEXT];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "layers.%zu.attention.%s.%s", layer, part, kinds[i]);
        scale_part(rdk_model_find(m, name), head, rdk_model_config_of(m)->heads, factor);
    }
}

size_t rdk_qk_clip_count(const rdk_model *m, const rdk_real *score_max, double tau)
{
    const rdk_model_config *c = rdk_model_config_of(m);
    size_t n = 0;
    for (size_t i = 0; i < c->layers * c->heads; i++) n += (double)score_max[i] > tau;
    return n;
}

void rdk_qk_clip(rdk_model *m, const rdk_real *score_max, double tau, double alpha)
{
    const rdk_model_config *c = rdk_model_config_of(m);
    for (size_t i = 0; i < c->layers * c->heads; i++) {
        double most = (double)score_max[i];
        if (!(most > tau)) continue; /* nan too */
        double eta = tau / most;
        scale_projection(m, "wq", i / c->heads, i % c->heads, pow(eta, alpha));
        scale_projection(m, "wk", i / c->heads, i % c->heads, pow(eta, 1 - alpha));
    }
}
