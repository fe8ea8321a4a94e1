/* SPDX-License-Identifier: MIT
 * Checkpoints: weights and moments in one safetensors file, all that a run needs to go on.
 *
 * Invariant: the file of a step depends on the definition of the run and the step alone; no path,
 * no time, no interval of logging is in it, so the files of two equal runs are equal byte for byte.
 * Random numbers and data have no state to save: both are functions of seed and step, which are
 * written as such. */
#include "trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <math.h>
#include <string.h>

#include "safetensors.h"

static const char FORMAT[] = "rootdk checkpoint 1";

/* Before the name of a parameter: its weights, then its moments in the optimizer's order. */
static const char *const PREFIX[] = {"", "optimizer.m.", "optimizer.v."};

/* The tensors of a checkpoint: the weights, then each moment of each. Returns a new array. */
static rdk_saved_tensor *list_tensors(rdk_trainer *r, size_t *n)
{
    size_t params = rdk_model_param_count(r->model);
    int states = rdk_optimizer_state_count(r->optimizer);
    *n = params * (size_t)(1 + states);
    rdk_saved_tensor *list = rdk_alloc(*n, sizeof *list, r->status);
    for (size_t i = 0; list && i < *n; i++) {
        const rdk_param *p = rdk_model_param(r->model, i % params);
        int state = (int)(i / params) - 1;
        list[i] = (rdk_saved_tensor){
            .prefix = PREFIX[state + 1],
            .name = p->name,
            .n_dims = p->tensor.n_dims,
            .dim = p->tensor.dim,
            .data = (state < 0 ? rdk_model_values(r->model)
                               : rdk_optimizer_state(r->optimizer, state)) +
                    p->offset,
        };
    }
    return list;
}

bool rdk_checkpoint_save(rdk_trainer *r, const char *name)
{
    char path[RDK_PATH_TEXT + 64], step[24], seed[24], tokens[24], best[RDK_NUMBER_TEXT];
    rdk_text config = {0};
    size_t n;
    bool is_best = strcmp(name, "best.safetensors") == 0;
    snprintf(step, sizeof step, "%" PRIu64, r->step);
    snprintf(seed, sizeof seed, "%" PRIu64, r->config.seed);
    snprintf(tokens, sizeof tokens, "%" PRIu64, r->tokens_seen);
    rdk_config_write(&r->config, RDK_OPT_DEFINES, &config);
    rdk_saved_tensor *list = list_tensors(r, &n);
    const rdk_saved_word words[] = {
        {"rootdk", FORMAT},
        {"step", step},
        {"random_seed", seed},
        {"data_step", step},
        {"tokens_seen", tokens},
        {"config", config.data},
        {"data", rdk_task_summary(r->task)},
        {"vocabulary", rdk_task_vocabulary(r->task)},
        {"held_out_loss", rdk_text_double(r->best_loss, best)},
    };
    size_t n_words = sizeof words / sizeof *words - !is_best;
    bool ok = list && rdk_text_ok(&config, r->status) &&
              rdk_safetensors_write(rdk_rundir_file(&r->directory, name, path), n, list, n_words,
                                    words, r->status);
    rdk_free(list);
    rdk_text_free(&config);
    return ok;
}

static bool uint_word(const rdk_safetensors *f, const char *path, const char *key, uint64_t *x,
                      rdk_status *s)
{
    const char *text = rdk_safetensors_word(f, key);
    if (text && rdk_parse_uint(text, x)) return true;
    return rdk_fail(s, RDK_EFORMAT, "%s is no checkpoint: its metadata has no number \"%s\"", path,
                    key);
}

static bool same_word(const rdk_safetensors *f, const char *path, const char *key, const char *now,
                      rdk_status *s)
{
    const char *text = rdk_safetensors_word(f, key);
    if (text && strcmp(text, now) == 0) return true;
    return rdk_fail(s, RDK_EFORMAT,
                    "cannot resume from %s: its %s is \"%.100s\", here it is \"%.100s\"", path, key,
                    text ? text : "missing", now);
}

static bool same_config(const rdk_trainer *r, const rdk_safetensors *f, const char *path)
{
    const char *text = rdk_safetensors_word(f, "config");
    const rdk_option *different;
    rdk_config saved;
    rdk_config_init(&saved);
    if (!text)
        return rdk_fail(r->status, RDK_EFORMAT, "%s is no checkpoint: it has no configuration",
                        path);
    if (!rdk_config_read(&saved, text, path, NULL, r->status)) return false;
    if (rdk_same_definition(&saved, &r->config, &different)) return true;
    return rdk_fail(r->status, RDK_EFORMAT,
                    "cannot resume from %s: it was saved with another --%s than config.ini says",
                    path, different->name);
}

static bool restore(rdk_trainer *r, const rdk_safetensors *f, const char *path)
{
    rdk_status *s = r->status;
    if (!same_word(f, path, "rootdk", FORMAT, s) || !same_config(r, f, path) ||
        !same_word(f, path, "vocabulary", rdk_task_vocabulary(r->task), s) ||
        !same_word(f, path, "data", rdk_task_summary(r->task), s) ||
        !uint_word(f, path, "step", &r->step, s) ||
        !uint_word(f, path, "tokens_seen", &r->tokens_seen, s))
        return false;
    if (r->step > r->config.steps)
        return rdk_fail(s, RDK_EFORMAT,
                        "%s is of step %" PRIu64 ", beyond the run's %" PRIu64 " steps", path,
                        r->step, r->config.steps);
    size_t n;
    rdk_saved_tensor *list = list_tensors(r, &n);
    bool ok = list != NULL;
    if (ok && n != rdk_safetensors_count(f))
        ok = rdk_fail(s, RDK_EFORMAT, "%s has %zu tensors, this model has %zu", path,
                      rdk_safetensors_count(f), n);
    for (size_t i = 0; ok && i < n; i++)
        ok = rdk_safetensors_copy(f, &list[i], (rdk_real *)list[i].data, s);
    rdk_free(list);
    return ok;
}

bool rdk_checkpoint_load(rdk_trainer *r)
{
    char path[RDK_PATH_TEXT + 64];
    if (!rdk_file_exists(rdk_rundir_file(&r->directory, "last.safetensors", path))) return true;
    rdk_safetensors *f = rdk_safetensors_read(path, r->status);
    bool ok = f && restore(r, f, path);
    rdk_safetensors_free(f);
    return ok;
}

bool rdk_checkpoint_load_best(rdk_trainer *r)
{
    char path[RDK_PATH_TEXT + 64];
    if (!rdk_file_exists(rdk_rundir_file(&r->directory, "best.safetensors", path))) return true;
    rdk_safetensors *f = rdk_safetensors_read(path, r->status);
    if (!f) return false;
    uint64_t step = 0;
    double loss = INFINITY;
    const char *text = rdk_safetensors_word(f, "held_out_loss");
    bool ok = uint_word(f, path, "step", &step, r->status);
    if (ok && !(text && rdk_parse_double(text, &loss)))
        ok = rdk_fail(r->status, RDK_EFORMAT, "%s has no held-out loss in its metadata", path);
    /* one of this step or later is made again by the visits to come */
    if (ok && step < r->step) {
        r->best_loss = loss;
        r->best_step = step;
    }
    rdk_safetensors_free(f);
    return ok;
}
