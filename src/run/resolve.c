/* SPDX-License-Identifier: MIT
 * What no single option can say: the values left to rule, and the checks that involve several.
 *
 * What a model may be is checked in src/nn/config.c.
 *
 * Invariant: the rules look at values only, never at which of them were given, so resolving a
 * resolved configuration changes nothing and config.ini, read back, is the same run.
 * Read next: setup.c, what is made from it. */
#include <math.h>
#include <string.h>

#include "trainer.h"

enum {
    USUAL_HEADS = 2,
    USUAL_D_K = 64,
    FF_PER_D_MODEL = 4,
    ENDLESS_EVAL_SIZE = 1024, /* sequences, where the task has no split of its own */
    LEAST_EVAL_EVERY = 100,   /* updates; the rule gives multiples of it */
    FORWARD_PARTS = 3,        /* an update costs as much as so many forward passes */
};
static const double EVAL_SHARE = 0.1; /* of the time of training, that evaluating may take */

/* ---- the model's sizes ----------------------------------------------------------------------- */

/* A head is 64 wide, until d_model or the number of heads is stated: then it is their quotient. */
static bool resolve_d_k(rdk_model_config *m, bool usual, rdk_status *s)
{
    if (m->d_k) return true;
    m->d_k = usual ? USUAL_D_K : m->d_model / m->heads;
    return usual || m->d_model % m->heads == 0 ||
           rdk_fail(s, RDK_EVALUE,
                    "--d-model %zu cannot be divided among --heads %zu: %zu is no multiple of %zu "
                    "(choose others, or state the width of a head with --d-k)",
                    m->d_model, m->heads, m->d_model, m->heads);
}

static bool resolve_sizes(rdk_model_config *m, const rdk_task *task, rdk_status *s)
{
    bool usual = !m->d_model && !m->heads;
    if (!m->d_model) m->d_model = rdk_task_width(task);
    if (!m->heads) m->heads = USUAL_HEADS;
    if (!m->d_ff) m->d_ff = FF_PER_D_MODEL * m->d_model;
    return resolve_d_k(m, usual, s);
}

/* Additive scores have no variance of q.k to answer to. */
static const char *usual_scale(const rdk_model_config *m)
{
    return m->attention == RDK_ADDITIVE ? "none" : "sqrt";
}

static void resolve_scale(rdk_model_config *m)
{
    if (!m->scale[0]) strcpy(m->scale, usual_scale(m));
}

static rdk_qk_norm usual_qk_norm(const rdk_model_config *m)
{
    const rdk_scaling *policy = rdk_scaling_find(m->scale);
    return policy ? policy->qk_norm : RDK_QK_OFF;
}

static double usual_qk_gain(const rdk_model_config *m)
{
    rdk_model_config by_rule = *m;
    by_rule.qk_gain = 0;
    return rdk_config_qk_gain(&by_rule);
}

static void resolve_qk_norm(rdk_model_config *m)
{
    if (m->qk_norm == RDK_QK_AUTO) m->qk_norm = usual_qk_norm(m);
    if (m->qk_norm != RDK_QK_OFF && m->qk_gain == 0) m->qk_gain = usual_qk_gain(m);
}

/* ---- the training ---------------------------------------------------------------------------- */

/* Evaluating all the time would cost more than training where the held-out part is large and the
 * batches are small (a whole text). A forward pass is a third of an update, so this many updates
 * lie between two evaluations where those are to take a tenth of the time. It depends on no
 * --steps, so that a run that is made longer keeps its rhythm. */
static uint64_t usual_eval_every(const rdk_config *c)
{
    double updates = (double)c->eval_size / ((double)c->batch * (double)c->accum);
    double least = updates / FORWARD_PARTS / EVAL_SHARE;
    double hundreds = ceil(least / LEAST_EVAL_EVERY);
    return hundreds < 1 ? LEAST_EVAL_EVERY : LEAST_EVAL_EVERY * (uint64_t)hundreds;
}

static void resolve_task(rdk_config *c, const rdk_task *task)
{
    size_t windows = rdk_task_eval_windows(task);
    c->task.length = rdk_task_length(task);
    c->task.vocab = rdk_task_vocab_option(task);
    c->model.vocab = rdk_task_vocab(task);
    c->model.max_len = rdk_task_tokens(task);
    if (!c->eval_size) c->eval_size = windows ? windows : ENDLESS_EVAL_SIZE;
    if (windows && c->eval_size > windows) c->eval_size = windows;
    if (c->eval_every == RDK_BY_RULE) c->eval_every = usual_eval_every(c);
}

/* The first layer that has QK-norm, or the number of layers. */
static size_t first_with_qk_norm(const rdk_model_config *m)
{
    size_t i = 0;
    while (i < m->layers && rdk_config_of_layer(m, i).qk_norm == RDK_QK_OFF) i++;
    return i;
}

/* Clipping the weights must move the scores. */
static bool check_qk_clip(const rdk_config *c, rdk_status *s)
{
    size_t layer = first_with_qk_norm(&c->model);
    if (c->qk_clip == 0) return true;
    if (c->model.attention == RDK_ADDITIVE)
        return rdk_fail(
            s, RDK_EVALUE,
            "--qk-clip makes W_Q and W_K smaller, which bounds their products: scores of "
            "--attention additive are none (drop --qk-clip)");
    if (layer < c->model.layers)
        return rdk_fail(
            s, RDK_EVALUE,
            "--qk-clip does not change the scores of layer %zu, whose QK-norm takes the "
            "size of W_Q and W_K out again (drop --qk-clip, or choose --qk-norm off; "
            "under QK-norm --qk-gain bounds them)",
            layer);
    if (c->model.sigma_reparam)
        return rdk_fail(s, RDK_EVALUE,
                        "--qk-clip beside --sigma-reparam: that takes the size of W_Q and W_K out "
                        "again, and a clipped head would change the others (drop one of the two)");
    if (c->model.softcap > 0)
        return rdk_fail(s, RDK_EVALUE,
                        "--qk-clip beside --softcap would compare capped scores with its limit "
                        "(drop one of the two)");
    return true;
}

static bool check_training(rdk_config *c, rdk_status *s)
{
    char lr[RDK_NUMBER_TEXT], min_lr[RDK_NUMBER_TEXT];
    if (c->optim.warmup > c->steps) c->optim.warmup = c->steps;
    if (c->stop_at > c->steps) {
        return rdk_fail(s, RDK_EVALUE, "--stop-at %llu lies behind the end, --steps %llu",
                        (unsigned long long)c->stop_at, (unsigned long long)c->steps);
    }
    if (c->optim.min_lr > c->optim.lr) {
        return rdk_fail(s, RDK_EVALUE, "--min-lr %s is above --lr %s (lower the first)",
                        rdk_text_double(c->optim.min_lr, min_lr), rdk_text_double(c->optim.lr, lr));
    }
    return true;
}

bool rdk_config_warmup_fits(const rdk_config *c, rdk_status *s)
{
    if (c->optim.warmup <= c->steps) return true;
    return rdk_fail(s, RDK_EVALUE,
                    "--warmup %llu is above --steps %llu: lr would never come to --lr (lower the "
                    "one, or raise the other)",
                    (unsigned long long)c->optim.warmup, (unsigned long long)c->steps);
}

/* ---- and back ------------------------------------------------------------------------------- */

/* A text's vocabulary is what the text has. How many windows it has is not known here, so that the
 * size of its evaluation stays what it is. */
static void unresolve_task(rdk_config *c)
{
    bool text = rdk_task_type_reads_data(c->task.name);
    if (c->eval_size && c->eval_every == usual_eval_every(c)) c->eval_every = RDK_BY_RULE;
    if (!text && c->eval_size == ENDLESS_EVAL_SIZE) c->eval_size = 0;
    if (c->task.length == rdk_task_type_usual_length(c->task.name)) c->task.length = 0;
    if (text || c->task.vocab == rdk_task_type_usual_vocab(c->task.name)) c->task.vocab = 0;
}

void rdk_config_unresolve(rdk_config *c)
{
    rdk_model_config *m = &c->model;
    unresolve_task(c);
    if (m->qk_gain == usual_qk_gain(m)) m->qk_gain = 0;
    if (m->qk_norm == usual_qk_norm(m)) m->qk_norm = RDK_QK_AUTO;
    if (!strcmp(m->scale, usual_scale(m))) memset(m->scale, 0, sizeof m->scale);
    if (!m->d_model) return;
    if (m->d_ff == FF_PER_D_MODEL * m->d_model) m->d_ff = 0;
    if (m->heads && m->d_k * m->heads == m->d_model) m->d_k = 0;
}

void rdk_config_unresolve_sizes(rdk_config *c)
{
    rdk_model_config *m = &c->model;
    if (m->heads != USUAL_HEADS || m->d_model != rdk_task_type_usual_width(c->task.name)) return;
    m->heads = m->d_model = 0;
    if (m->d_k == USUAL_D_K) m->d_k = 0;
}

/* ---- the size of the run --------------------------------------------------------------------- */

double rdk_matrix_elements(const rdk_model_config *m)
{
    double d = (double)m->d_model, inner = (double)m->heads * (double)m->d_k;
    double in_mlp = m->mlp == RDK_MLP_NONE ? 0 : m->mlp == RDK_MLP_SWIGLU ? 3 : 2;
    double tables = (double)m->vocab * (m->tie ? 1 : 2);
    if (m->positions == RDK_LEARNED) tables += (double)m->max_len;
    return d * tables + (double)m->layers * d * (4 * inner + in_mlp * (double)m->d_ff);
}

/* Numbers kept of one token until backward, at the very least. */
static double activation_count(const rdk_model_config *m)
{
    double inner = (double)m->heads * (double)m->d_k;
    double mlp = m->mlp == RDK_MLP_NONE ? 0 : 2 * (double)m->d_ff;
    return (double)m->layers * (2 * (double)m->d_model + 4 * inner + mlp) + 2 * (double)m->vocab;
}

/* A lower bound of the bytes that the run needs; in double, which cannot overflow. */
static double least_memory(const rdk_config *c)
{
    double copies = c->optim.kind == RDK_ADAMW ? 3 : 2; /* values, moments; gradients: */
    copies += (double)rdk_group_count(c);
    double tokens = (double)c->batch * (double)c->model.max_len;
    double batch_arrays = tokens * (double)c->accum * (3 * sizeof(int32_t) + sizeof(rdk_real));
    double attention_rows = tokens * (double)c->accum * (double)c->model.layers *
                            (double)c->model.heads * sizeof(rdk_attention_row);
    double at_once = (double)rdk_pass_sequences(c) * (double)c->model.max_len;
    return batch_arrays + attention_rows +
           sizeof(rdk_real) *
               (copies * rdk_matrix_elements(&c->model) + at_once * activation_count(&c->model));
}

static bool check_size(const rdk_config *c, rdk_status *s)
{
    static const double gigabyte = 1e9;
    const rdk_model_config *m = &c->model;
    double needed = least_memory(c), there = rdk_machine_memory();
    size_t sequences, tokens;
    bool countable = rdk_size_mul(c->batch, c->accum, &sequences) &&
                     rdk_size_mul(sequences, m->max_len, &tokens) && needed < (double)SIZE_MAX;
    if (countable && needed <= there) return true;
    return rdk_fail(s, RDK_EVALUE,
                    "--batch %zu times --accum %zu sequences of %zu tokens, --layers %zu, "
                    "--d-model %zu, --d-ff %zu, --heads %zu of --d-k %zu needs %.1f GB at least, "
                    "this machine has %.1f GB (reduce them)",
                    c->batch, c->accum, m->max_len, m->layers, m->d_model, m->d_ff, m->heads,
                    m->d_k, needed / gigabyte, there / gigabyte);
}

bool rdk_config_resolve(rdk_config *c, const rdk_task *task, rdk_status *s)
{
    resolve_task(c, task);
    if (!resolve_sizes(&c->model, task, s)) return false;
    resolve_scale(&c->model);
    resolve_qk_norm(&c->model);
    return check_training(c, s) && check_qk_clip(c, s) && check_size(c, s);
}
