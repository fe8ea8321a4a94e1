/* SPDX-License-Identifier: MIT
 * --describe and --show-batch: what would be trained, and on what. Nothing is written. */
#include "trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "words.h"

static void shape_cell(const rdk_tensor *x, char *buf, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < x->n_dims; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%zu", i ? " x " : "", x->dim[i]);
}

static void parameter_table(const rdk_trainer *r, FILE *out)
{
    fprintf(out, "\n%-34s %-14s %12s %6s %10s\n", "tensor", "shape", "parameters", "decay",
            "init std");
    for (size_t i = 0; i < rdk_model_param_count(r->model); i++) {
        const rdk_param *p = rdk_model_param(r->model, i);
        char shape[64] = "";
        rdk_text n = {0};
        shape_cell(&p->tensor, shape, sizeof shape);
        rdk_words_count(&n, rdk_size(&p->tensor));
        fprintf(out, "%-34s %-14s %12s %6s %10.4g%s\n", p->name, shape, n.data ? n.data : "",
                p->decay ? "yes" : "no", p->init_std, p->trainable ? "" : "  fixed");
        rdk_text_free(&n);
    }
}

/* How much of the column "decay" above; the names stand there. */
static void decay_line(const rdk_trainer *r, FILE *out)
{
    size_t all = rdk_model_param_count(r->model), n = 0;
    for (size_t i = 0; i < all; i++) n += rdk_model_param(r->model, i)->decay;
    fprintf(out, "decay    %g on %zu of %zu tensors: those with yes in the table\n",
            r->config.optim.weight_decay, n, all);
}

static void describe(rdk_trainer *r)
{
    FILE *out = r->io->out;
    rdk_text t = {0};
    rdk_words_task(&t, r);
    rdk_text_add(&t, "\nmodel    ");
    rdk_words_model(&t, r);
    rdk_text_add(&t, "\nscale    ");
    rdk_words_scale(&t, r);
    rdk_text_add(&t, "\ntraining ");
    rdk_words_training(&t, r);
    rdk_text_add(&t, "\nmachine  ");
    rdk_words_machine(&t, r);
    const rdk_theory theory = rdk_trainer_theory(r);
    fprintf(out, "task     %s\npredicted at initialisation: score std %.4g, entropy/ln n ",
            t.data ? t.data : "", theory.score_std);
    if (isfinite(theory.entropy_norm))
        fprintf(out, "%.3f\n", theory.entropy_norm);
    else
        fprintf(out, "without a formula\n");
    parameter_table(r, out);
    rdk_speed_lines(r, out);
    decay_line(r, out);
    t.size = 0;
    rdk_config_write(&r->config, RDK_OPT_FINDS, &t);
    fprintf(out, "\n%s", t.data ? t.data : "");
    rdk_text_free(&t);
}

bool rdk_describe(rdk_config *c, const bool *given, const rdk_run_io *io, rdk_status *s)
{
    if (c->resume[0] && !rdk_resume_config(c, given, s)) return false;
    rdk_trainer *r = rdk_alloc(1, sizeof *r, s);
    if (!r) return false;
    *r = (rdk_trainer){.config = *c, .io = io, .status = s};
    bool ok = rdk_setup_trainer(r);
    if (ok) describe(r);
    rdk_trainer_free(r);
    rdk_free(r);
    return ok;
}

/* One sequence as a table: what is read, what is asked, and whether it counts. */
static void show_sequence(const rdk_task *task, const rdk_batch *b, size_t i, FILE *out)
{
    char in[RDK_TOKEN_TEXT], target[RDK_TOKEN_TEXT];
    fprintf(out, "sequence %zu, %d tokens\n  %8s  %-14s %-14s %s\n", i, b->length[i], "position",
            "input", "target", "counted");
    for (size_t t = 0; t < b->len; t++) {
        int32_t wanted = b->target[i * b->len + t];
        bool counted = wanted != RDK_IGNORE;
        fprintf(out, "  %8zu  %-14s %-14s %s\n", t,
                (int32_t)t < b->length[i] ? rdk_task_token_text(task, b->input[i * b->len + t], in)
                                          : ".",
                counted ? rdk_task_token_text(task, wanted, target) : ".", counted ? "yes" : "no");
    }
}

bool rdk_show_batch(rdk_config *c, const bool *given, const rdk_run_io *io, rdk_status *s)
{
    if (c->resume[0] && !rdk_resume_config(c, given, s)) return false;
    enum { SHOWN = 2 };
    rdk_task *task = NULL;
    rdk_batch b = {0};
    bool ok = rdk_setup_task(c, &task, s) && rdk_batch_make(&b, SHOWN, rdk_task_tokens(task), s);
    if (ok) {
        rdk_batch_train(&b, task, c->seed, 0);
        fprintf(io->out, "%s: the first sequences of step 0, seed %" PRIu64 "\n",
                rdk_task_summary(task), c->seed);
        for (size_t i = 0; i < SHOWN; i++) show_sequence(task, &b, i, io->out);
    }
    rdk_batch_free(&b);
    rdk_task_close(task);
    return ok;
}
