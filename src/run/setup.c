/* SPDX-License-Identifier: MIT
 * What stands before the first step: task, resolved configuration, model, optimizer, tape, batches.
 * Nothing here touches the disk but to read. */
#include "trainer.h"

#include <math.h>
#include <string.h>

#include "sentences.h"

bool rdk_setup_task(rdk_config *c, rdk_task **task, rdk_status *s)
{
    c->task.data = c->data[0] ? c->data : NULL;
    c->task.encoder = c->model.arch == RDK_ENCODER;
    *task = rdk_task_open(&c->task, s);
    return *task && rdk_config_resolve(c, *task, s) && rdk_model_config_check(&c->model, s);
}

void rdk_config_unresolve_windows(rdk_config *c)
{
    rdk_status unreadable = {0};
    rdk_task_config t = c->task;
    if (!rdk_task_type_reads_data(t.name) || !c->data[0]) return;
    t.data = c->data;
    t.encoder = c->model.arch == RDK_ENCODER;
    rdk_task *task = rdk_task_open(&t, &unreadable);
    if (task && c->eval_size == rdk_task_eval_windows(task)) c->eval_size = 0;
    rdk_task_close(task);
}

/* A tape for every thread that a group may meet, a replica for every group but the first. */
static bool make_workers(rdk_trainer *r)
{
    rdk_status *s = r->status;
    size_t threads = (size_t)rdk_threads();
    r->groups = rdk_group_count(&r->config);
    r->workers = threads < RDK_MOST_GROUPS ? threads : RDK_MOST_GROUPS;
    r->tapes = rdk_alloc(r->workers, sizeof(rdk_tape *), s);
    r->replicas = rdk_alloc(r->groups - 1, sizeof(rdk_model *), s);
    for (size_t i = 0; rdk_ok(s) && i < r->workers; i++) {
        r->tapes[i] = rdk_tape_new(s);
        if (!r->tapes[i]) break;
        rdk_tape_products(r->tapes[i], r->config.precision);
        rdk_tape_frugal(r->tapes[i], true);
    }
    for (size_t i = 0; rdk_ok(s) && i + 1 < r->groups; i++)
        r->replicas[i] = rdk_model_replica(r->model, s);
    return rdk_ok(s);
}

static void free_workers(rdk_trainer *r)
{
    for (size_t i = 0; r->tapes && i < r->workers; i++) rdk_tape_free(r->tapes[i]);
    for (size_t i = 0; r->replicas && i + 1 < r->groups; i++) rdk_model_free(r->replicas[i]);
    rdk_free(r->tapes);
    rdk_free(r->replicas);
}

static bool make_buffers(rdk_trainer *r)
{
    const rdk_config *c = &r->config;
    rdk_status *s = r->status;
    size_t params = rdk_model_param_count(r->model), len = rdk_task_tokens(r->task);
    r->grad_norm = rdk_alloc(params, sizeof *r->grad_norm, s);
    r->weight_norm = rdk_alloc(params, sizeof *r->weight_norm, s);
    r->update_norm = rdk_alloc(params, sizeof *r->update_norm, s);
    if (c->qk_clip > 0)
        r->score_max =
            rdk_alloc(r->workers * c->model.layers * c->model.heads, sizeof *r->score_max, s);
    return rdk_ok(s) && rdk_batch_make(&r->batch, c->batch * c->accum, len, s) &&
           rdk_batch_make(&r->eval_batch, RDK_MOST_GROUPS * rdk_pass_sequences(c), len, s) &&
           (r->measure = rdk_measure_new(r, s)) != NULL &&
           (c->probe_every == 0 || (r->watch = rdk_watch_new(r, s)) != NULL);
}

/* Layers that are alike have one prediction. */
static bool predict(rdk_trainer *r)
{
    const rdk_model_config *c = &r->config.model;
    r->theory = rdk_alloc(c->layers, sizeof *r->theory, r->status);
    for (size_t i = 0; r->theory && i < c->layers; i++) {
        rdk_model_config own = rdk_config_of_layer(c, i),
                         before = rdk_config_of_layer(c, i ? i - 1 : 0);
        bool alike = i > 0 && own.qk_norm == before.qk_norm && !strcmp(own.scale, before.scale);
        r->theory[i] = alike ? r->theory[i - 1] : rdk_theory_start(c, i, rdk_task_tokens(r->task));
    }
    return r->theory != NULL;
}

/* By layer is told what --scale-layers makes differ. */
static bool tell_layers_apart(rdk_trainer *r)
{
    const rdk_model_config *c = &r->config.model;
    if (!c->scale_layers[0] || c->layers < 2) return true;
    r->layer = rdk_alloc(c->layers, sizeof *r->layer, r->status);
    for (size_t i = 0; r->layer && i < c->layers; i++)
        r->layer[i] = (rdk_layer_figures){NAN, r->theory[i].entropy_norm, NAN, NAN, NAN, NAN};
    return r->layer != NULL;
}

bool rdk_setup_trainer(rdk_trainer *r)
{
    rdk_config *c = &r->config;
    rdk_status *s = r->status;
    r->metrics.fd = r->attention.fd = r->gradients.fd = r->timing.fd = r->maps.fd = -1;
    r->tensorboard.fd = r->directory.lock = -1;
    r->best_loss = INFINITY;
    if (!rdk_setup_task(c, &r->task, s)) return false;
    if (!(r->model = rdk_model_new(&c->model, c->seed, s))) return false;
    if (!(r->optimizer = rdk_optimizer_new(&c->optim, r->model, s))) return false;
    if (!make_workers(r)) return false;
    return predict(r) && tell_layers_apart(r) && make_buffers(r);
}

rdk_theory rdk_trainer_theory(const rdk_trainer *r)
{
    rdk_theory mean = {0};
    size_t layers = r->config.model.layers;
    if (!r->config.model.scale_layers[0]) return r->theory[0];
    for (size_t i = 0; i < layers; i++) {
        mean.score_std += r->theory[i].score_std / (double)layers;
        mean.entropy += r->theory[i].entropy / (double)layers;
        mean.entropy_norm += r->theory[i].entropy_norm / (double)layers;
        mean.jacobian_trace += r->theory[i].jacobian_trace / (double)layers;
    }
    return mean;
}

void rdk_trainer_free(rdk_trainer *r)
{
    rdk_logs_close(r);
    rdk_rundir_close(&r->directory);
    rdk_measure_free(r->measure);
    rdk_watch_free(r->watch);
    rdk_batch_free(&r->batch);
    rdk_batch_free(&r->eval_batch);
    rdk_free(r->theory);
    rdk_free(r->layer);
    rdk_free(r->grad_norm);
    rdk_free(r->weight_norm);
    rdk_free(r->update_norm);
    rdk_free(r->score_max);
    free_workers(r);
    rdk_optimizer_free(r->optimizer);
    rdk_model_free(r->model);
    rdk_task_close(r->task);
}

uint64_t rdk_trainable_count(rdk_model *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < rdk_model_param_count(m); i++)
        if (rdk_model_param(m, i)->trainable) n += rdk_size(&rdk_model_param(m, i)->tensor);
    return n;
}
