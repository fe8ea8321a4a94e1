/* SPDX-License-Identifier: MIT
 * Checkpoints: weights and moments in one safetensors file, all that a run needs to go on.
 *
 * Invariant: the file of a step depends on the definition of the run and the step alone; no path,
 * no time, no interval of logging is in it, so the files of two equal runs are equal byte for byte.
 * Random numbers and data have no state to save: both are functions of seed and step, which are
 * written as such. Nothing that is inf or nan is ever written, nothing that is damaged is read: the
 * words of the metadata carry the checksum of the tensors, and one of their own.
 * Read next: safetensors.h, the format below it. */
#include "trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <math.h>
#include <string.h>

#include "checksum.h"

static const char FORMAT[] = "rootdk checkpoint 1";
static const char WORDS_CHECKSUM[] = "words_checksum";

/* The words in the order in which their checksum takes them. "held_out_loss" is of best alone. */
static const char *const KEYS[] = {
    "rootdk", "step", "random_seed", "data_step",        "tokens_seen",
    "config", "data", "vocabulary",  "tensors_checksum", "held_out_loss",
};
enum { N_KEYS = sizeof KEYS / sizeof *KEYS };

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
            .prefix = state < 0 ? "" : rdk_optimizer_state_name(r->optimizer, state),
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

static bool all_finite(const rdk_trainer *r, const rdk_saved_tensor *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t elements = 1;
        for (int k = 0; k < list[i].n_dims; k++) elements *= list[i].dim[k];
        for (size_t k = 0; k < elements; k++) {
            if (isfinite(list[i].data[k])) continue;
            return rdk_fail(r->status, RDK_ENONFINITE,
                            "step %" PRIu64 ": %s%s is not finite, element %zu; nothing was saved "
                            "(try a smaller --lr, or --clip)",
                            r->step, list[i].prefix, list[i].name, k);
        }
    }
    return true;
}

/* A state as a file holds it, beside what the configuration says. */
typedef struct state {
    rdk_saved_tensor *list;
    size_t n;
    uint64_t step, tokens_seen;
    double best_loss;
} state;

static bool write_words(rdk_trainer *r, const char *name, const state *x, const char *config)
{
    char path[RDK_PATH_TEXT + 64], step[24], seed[24], tokens[24], best[RDK_NUMBER_TEXT];
    char of_tensors[RDK_CHECKSUM_TEXT], of_words[RDK_CHECKSUM_TEXT];
    size_t n_words = N_KEYS - (strcmp(name, "best.safetensors") != 0);
    snprintf(step, sizeof step, "%" PRIu64, x->step);
    snprintf(seed, sizeof seed, "%" PRIu64, r->config.seed);
    snprintf(tokens, sizeof tokens, "%" PRIu64, x->tokens_seen);
    const char *const values[N_KEYS] = {
        FORMAT,
        step,
        seed,
        step,
        tokens,
        config,
        rdk_task_summary(r->task),
        rdk_task_vocabulary(r->task),
        rdk_checksum_tensors(x->n, x->list, of_tensors),
        rdk_text_double(x->best_loss, best),
    };
    rdk_saved_word words[N_KEYS + 1];
    for (size_t i = 0; i < n_words; i++) words[i] = (rdk_saved_word){KEYS[i], values[i]};
    rdk_checksum_words(n_words, words, of_words);
    words[n_words] = (rdk_saved_word){WORDS_CHECKSUM, of_words};
    return rdk_safetensors_write(rdk_rundir_file(&r->directory, name, path), x->n, x->list,
                                 n_words + 1, words, r->status);
}

static bool write_file(rdk_trainer *r, const char *name, const state *x)
{
    rdk_text config = {0};
    rdk_config_write(&r->config, RDK_OPT_DEFINES, &config);
    bool ok = rdk_text_ok(&config, r->status) && rdk_rundir_is_ours(&r->directory, r->status) &&
              write_words(r, name, x, config.data);
    rdk_text_free(&config);
    return ok;
}

bool rdk_checkpoint_save(rdk_trainer *r, const char *name)
{
    state x = {.step = r->step, .tokens_seen = r->tokens_seen, .best_loss = r->best_loss};
    x.list = list_tensors(r, &x.n);
    bool ok = x.list && all_finite(r, x.list, x.n) && write_file(r, name, &x);
    rdk_free(x.list);
    return ok;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool same_checksum(const rdk_safetensors *f, const char *path, const char *key,
                          const char *now, const char *of, rdk_status *s)
{
    const char *text = rdk_safetensors_word(f, key);
    if (text && strcmp(text, now) == 0) return true;
    return rdk_fail(s, RDK_EFORMAT,
                    "%s is damaged: the checksum of its %s is %s, the file says %.20s", path, of,
                    now, text ? text : "nothing");
}

/* Is this a checkpoint of ours, with its words as they were written? */
static bool check_words(const rdk_safetensors *f, const char *path, rdk_status *s)
{
    rdk_saved_word words[N_KEYS];
    char sum[RDK_CHECKSUM_TEXT];
    size_t n = 0;
    const char *format = rdk_safetensors_word(f, KEYS[0]);
    if (!format)
        return rdk_fail(s, RDK_EFORMAT, "%s is no checkpoint: no \"%s\" in its metadata", path,
                        KEYS[0]);
    for (size_t i = 0; i < N_KEYS; i++) {
        const char *value = rdk_safetensors_word(f, KEYS[i]);
        if (value) words[n++] = (rdk_saved_word){KEYS[i], value};
    }
    return same_checksum(f, path, WORDS_CHECKSUM, rdk_checksum_words(n, words, sum), "metadata", s);
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
                    "cannot resume from %s: its %s is \"%.150s\", here it is \"%.150s\"%s", path,
                    key, text ? text : "missing", now,
                    strcmp(key, "data") ? "" : " (--data FILE says where the old one is)");
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
    /* The vocabulary of a text is no choice: the text is another one, and its own word says so. */
    if (different == rdk_option_find("vocab") && rdk_task_type_reads_data(saved.task.name))
        return true;
    return rdk_fail(r->status, RDK_EFORMAT,
                    "cannot resume from %s: it was saved with another --%s than config.ini says",
                    path, different->name);
}

static bool restore(rdk_trainer *r, const rdk_safetensors *f, const char *path)
{
    rdk_status *s = r->status;
    char sum[RDK_CHECKSUM_TEXT];
    if (!check_words(f, path, s) || !same_word(f, path, "rootdk", FORMAT, s) ||
        !same_config(r, f, path) || !same_word(f, path, "data", rdk_task_summary(r->task), s) ||
        !same_word(f, path, "vocabulary", rdk_task_vocabulary(r->task), s) ||
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
    ok = ok && same_checksum(f, path, "tensors_checksum", rdk_checksum_tensors(n, list, sum),
                             "tensors", s);
    rdk_free(list);
    return ok;
}

/* A run without a checkpoint starts anew; but not where one was saved, and went, nor on other data
 * than it began with. */
static bool load_nothing(const rdk_trainer *r, const char *path)
{
    rdk_text saved = {0}, data = {0}, again = {0};
    bool was_saved = false, had_data = false;
    rdk_status *s = r->status;
    rdk_text_add(&again, "%s/config.ini", r->directory.path);
    bool ok = rdk_run_json_find(r, "saved_step", &saved, &was_saved, s) &&
              rdk_run_json_find(r, "data", &data, &had_data, s) && rdk_text_ok(&again, s);
    rdk_text option = {0};
    rdk_text_shell(&option, again.data ? again.data : "");
    if (ok && was_saved)
        ok = rdk_fail(s, RDK_EIO,
                      "cannot resume %s: %s is missing, though run.json says that a step was saved "
                      "(put it back, or start a new run with --config %s)",
                      r->directory.path, path, option.data ? option.data : "");
    if (ok && had_data && strcmp(data.data, rdk_task_summary(r->task)) != 0)
        ok =
            rdk_fail(s, RDK_EFORMAT,
                     "cannot resume %s: its data is \"%.150s\", here it is \"%.150s\" (--data FILE "
                     "says where the old one is)",
                     r->directory.path, data.data, rdk_task_summary(r->task));
    rdk_text_free(&saved);
    rdk_text_free(&data);
    rdk_text_free(&again);
    rdk_text_free(&option);
    return ok;
}

bool rdk_checkpoint_load(rdk_trainer *r)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_rundir_file(&r->directory, "last.safetensors", path);
    if (!rdk_file_exists(path)) return load_nothing(r, path);
    rdk_safetensors *f = rdk_safetensors_read(path, r->status);
    bool ok = f && restore(r, f, path);
    rdk_safetensors_free(f);
    r->saved = ok;
    r->saved_step = r->step;
    return ok;
}

bool rdk_checkpoint_best_words(rdk_trainer *r, const char *name, rdk_best_words *words)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_safetensors *f =
        rdk_safetensors_read(rdk_rundir_file(&r->directory, name, path), r->status);
    if (!f) return false;
    const char *text = rdk_safetensors_word(f, "held_out_loss");
    const char *config = rdk_safetensors_word(f, "config");
    rdk_text now = {0};
    rdk_config_write(&r->config, RDK_OPT_DEFINES, &now);
    bool ok = check_words(f, path, r->status) && same_config(r, f, path) &&
              uint_word(f, path, "step", &words->step, r->status) && rdk_text_ok(&now, r->status);
    if (ok && !(text && rdk_parse_double(text, &words->loss)))
        ok = rdk_fail(r->status, RDK_EFORMAT, "%s has no held-out loss in its metadata", path);
    words->current = ok && config && strcmp(config, now.data) == 0;
    rdk_text_free(&now);
    rdk_safetensors_free(f);
    return ok;
}

/* Reads the tensors of f into a buffer of their own, which the list then points to. */
static rdk_real *read_aside(rdk_trainer *r, const rdk_safetensors *f, state *x)
{
    size_t model = rdk_model_size(r->model), all, at = 0;
    rdk_real *buffer = NULL;
    size_t arrays = 1 + (size_t)rdk_optimizer_state_count(r->optimizer);
    x->list = list_tensors(r, &x->n);
    if (!rdk_size_mul(model, arrays, &all))
        rdk_fail(r->status, RDK_ENOMEM, "a state of %zu times %zu numbers is too large", arrays,
                 model);
    else if (x->list)
        buffer = rdk_alloc(all, sizeof *buffer, r->status);
    for (size_t i = 0; buffer && i < x->n; i++) {
        size_t size = 1;
        for (int k = 0; k < x->list[i].n_dims; k++) size *= x->list[i].dim[k];
        x->list[i].data = buffer + at;
        if (!rdk_safetensors_copy(f, &x->list[i], buffer + at, r->status)) break;
        at += size;
    }
    return buffer;
}

bool rdk_checkpoint_rewrite(rdk_trainer *r, const char *name)
{
    char path[RDK_PATH_TEXT + 64], sum[RDK_CHECKSUM_TEXT];
    rdk_status *s = r->status;
    rdk_best_words words = {0};
    if (!rdk_checkpoint_best_words(r, name, &words)) return false;
    rdk_safetensors *f = rdk_safetensors_read(rdk_rundir_file(&r->directory, name, path), s);
    state x = {.step = words.step, .best_loss = words.loss};
    rdk_real *buffer =
        f && uint_word(f, path, "tokens_seen", &x.tokens_seen, s) ? read_aside(r, f, &x) : NULL;
    bool ok = buffer && rdk_ok(s) &&
              same_checksum(f, path, "tensors_checksum", rdk_checksum_tensors(x.n, x.list, sum),
                            "tensors", s) &&
              write_file(r, name, &x);
    rdk_free(buffer);
    rdk_free(x.list);
    rdk_safetensors_free(f);
    return ok;
}
