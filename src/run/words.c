/* SPDX-License-Identifier: MIT
 * A run in words: the lines of its header. Names of choices come from the option table. */
#include "words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void rdk_words_option(rdk_text *t, const rdk_config *c, const char *name)
{
    const rdk_option *o = rdk_option_find(name);
    if (o) rdk_option_text(c, o, t);
}

void rdk_words_count(rdk_text *t, uint64_t n)
{
    if (n >= 1000) {
        rdk_words_count(t, n / 1000);
        rdk_text_add(t, ",%03" PRIu64, n % 1000);
    } else {
        rdk_text_add(t, "%" PRIu64, n);
    }
}

void rdk_words_task(rdk_text *t, const rdk_trainer *r)
{
    double chance = rdk_task_chance_accuracy(r->task), loss = rdk_task_chance_loss(r->task);
    size_t tokens = rdk_task_tokens(r->task);
    rdk_text_add(t, "%s; T = %zu token%s, V = %zu", rdk_task_summary(r->task), tokens,
                 tokens == 1 ? "" : "s", rdk_task_vocab(r->task));
    if (chance >= 1) {
        rdk_text_add(t, "; nothing to learn: there is one possible answer");
        return;
    }
    if (isfinite(loss)) rdk_text_add(t, "; a guess among the possible answers: loss %.3f", loss);
    if (isfinite(chance)) rdk_text_add(t, ", accuracy %.1f%%", 100 * chance);
}

void rdk_words_model(rdk_text *t, const rdk_trainer *r)
{
    const rdk_model_config *m = &r->config.model;
    rdk_words_option(t, &r->config, "arch");
    rdk_text_add(t, ", %zu layer%s, %zu head%s of d_k %zu, d_model %zu, d_ff %zu, ", m->layers,
                 m->layers == 1 ? "" : "s", m->heads, m->heads == 1 ? "" : "s", m->d_k, m->d_model,
                 m->d_ff);
    rdk_words_option(t, &r->config, "norm-place");
    rdk_text_add(t, "-norm, init ");
    rdk_words_option(t, &r->config, "init");
    if (m->sigma_reparam) rdk_text_add(t, ", sigma-reparametrised");
    rdk_text_add(t, "; ");
    rdk_words_count(t, rdk_trainable_count(r->model));
    rdk_text_add(t, " parameters");
}

/* What else is done to scores. */
static void words_scores(rdk_text *t, const rdk_model_config *m)
{
    if (m->scale_layers[0]) rdk_text_add(t, "; layers of their own: %s", m->scale_layers);
    if (m->temperature) rdk_text_add(t, "; times a learned factor a head");
    if (m->length == RDK_LENGTH_SSMAX)
        rdk_text_add(t, "; times s ln n, s learned from %.4g", rdk_config_length_gain(m));
    if (m->length == RDK_LENGTH_LOG)
        rdk_text_add(t, "; times ln n / ln %g", rdk_config_length_base(m));
    if (m->softcap > 0) rdk_text_add(t, "; soft cap %g", m->softcap);
    if (m->sink != RDK_SINK_OFF)
        rdk_text_add(t, m->sink == RDK_SINK_ONE ? "; a sink of score 0" : "; a learned sink");
}

void rdk_words_scale(rdk_text *t, const rdk_trainer *r)
{
    const rdk_model_config *m = &r->config.model;
    const rdk_scaling *policy = rdk_scaling_find(m->scale);
    rdk_text_add(t, "%s", m->scale);
    if (m->attention == RDK_ADDITIVE)
        rdk_text_add(t, ": additive score = %sw.tanh(q + k)", policy ? "" : "c ");
    else if (policy)
        rdk_text_add(t, ": score = %s", policy->formula);
    rdk_text_add(t, "; c = %.6g", rdk_model_score_scale(r->model));
    if (m->qk_norm != RDK_QK_OFF) {
        rdk_text_add(t, ", QK-norm ");
        rdk_words_option(t, &r->config, "qk-norm");
        rdk_text_add(t, m->qk_gain_learned ? ", gain learned" : ", gain fixed");
    }
    words_scores(t, m);
}

void rdk_words_training(rdk_text *t, const rdk_trainer *r)
{
    const rdk_config *c = &r->config;
    rdk_words_option(t, c, "optimizer");
    rdk_text_add(t, ", lr %g ", c->optim.lr);
    rdk_words_option(t, c, "schedule");
    rdk_text_add(t, " after %" PRIu64 " of warmup, %" PRIu64 " steps of %zu sequences",
                 c->optim.warmup, c->steps, c->batch * c->accum);
    if (c->accum > 1) rdk_text_add(t, " (%zu x %zu)", c->accum, c->batch);
    if (c->precision == RDK_BF16) rdk_text_add(t, ", products of bfloat16");
    rdk_text_add(t, ", seed %" PRIu64, c->seed);
    if (c->qk_clip > 0) rdk_text_add(t, ", QK-clip at %g", c->qk_clip);
}

void rdk_words_machine(rdk_text *t, const rdk_trainer *r)
{
    rdk_text_add(t, "%d thread%s (%s), %s kernels, rdk %s %s", rdk_threads(),
                 rdk_threads() == 1 ? "" : "s",
                 r->io->threads_reason ? r->io->threads_reason : "as set by the caller", rdk_isa(),
                 rdk_version(), rdk_build_id());
}

void rdk_words_command(rdk_text *t, const rdk_trainer *r, const char *option, const char *below)
{
    rdk_text path = {0};
    rdk_text_add(&path, "%s%s", r->directory.path, below);
    rdk_text_shell(t, r->io->command ? r->io->command : "rootdk");
    rdk_text_add(t, " %s ", option);
    rdk_text_shell(t, path.data ? path.data : "");
    rdk_text_free(&path);
}
