/* SPDX-License-Identifier: MIT
 * run.json: what ran, where, how it ended. Strict JSON: a figure that is not finite is null. */
#include "trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "sentences.h"

static void string_field(rdk_text *t, const char *key, const char *value)
{
    rdk_text_add(t, "  \"%s\": ", key);
    rdk_text_json(t, value);
    rdk_text_add(t, ",\n");
}

static void number_field(rdk_text *t, const char *key, double value)
{
    char number[RDK_NUMBER_TEXT];
    rdk_text_add(t, "  \"%s\": %s,\n", key,
                 isfinite(value) ? rdk_text_exact(value, number) : "null");
}

static void integer_field(rdk_text *t, const char *key, uint64_t value)
{
    rdk_text_add(t, "  \"%s\": %" PRIu64 ",\n", key, value);
}

static void machine_fields(rdk_text *t)
{
    struct utsname u;
    if (uname(&u) == 0) {
        string_field(t, "system", u.sysname);
        string_field(t, "machine", u.machine);
    }
    integer_field(t, "threads", (uint64_t)rdk_threads());
}

/* What a loss is measured against: a uniform guess, one that knows the task's form, the floor. */
static void task_fields(rdk_text *t, const rdk_task *task)
{
    integer_field(t, "vocabulary_size", rdk_task_vocab(task));
    integer_field(t, "sequence_tokens", rdk_task_tokens(task));
    number_field(t, "chance_loss", rdk_task_chance_loss(task));
    number_field(t, "chance_accuracy", rdk_task_chance_accuracy(task));
    number_field(t, "floor_loss", rdk_task_floor_loss(task));
}

/* "0.25 0.1, 0.9 0": of each layer entropy and saturation at the start, where layers differ. */
static void layer_fields(rdk_text *t, const rdk_trainer *r)
{
    char number[RDK_NUMBER_TEXT];
    rdk_text all = {0};
    for (size_t l = 0; r->layer && l < r->config.model.layers; l++) {
        rdk_text_add(&all, "%s%s", l ? ", " : "",
                     rdk_text_exact(r->layer[l].entropy_first, number));
        rdk_text_add(&all, " %s", rdk_text_exact(r->layer[l].sat99_first, number));
    }
    if (all.failed) t->failed = true;
    if (all.size) string_field(t, "initial_by_layer", all.data);
    rdk_text_free(&all);
}

static void final_fields(rdk_text *t, const rdk_trainer *r, const rdk_finals *f)
{
    if (f->known) {
        number_field(t, "held_out_loss", f->held_out.loss);
        number_field(t, "held_out_accuracy", f->held_out.accuracy);
        number_field(t, "held_out_sequence_accuracy", f->held_out.sequence_accuracy);
    }
    /* one of a step still to come, which a killed run left, is not this state's yet */
    if (f->known && r->best_step <= r->step) {
        number_field(t, "best_held_out_loss", r->best_loss);
        integer_field(t, "best_step", r->best_step);
    }
    if (f->have_first) {
        number_field(t, "initial_loss", f->first.pass.loss);
        number_field(t, "initial_entropy_norm", f->attention_first.entropy_norm);
        number_field(t, "initial_query_value_ratio", f->ratio_first);
        number_field(t, "initial_sat99", f->attention_first.sat99);
        number_field(t, "initial_ds_median", f->attention_first.ds_median);
        number_field(t, "initial_ds_top5_share", f->attention_first.ds_top5_share);
        layer_fields(t, r);
    }
    if (!f->have_last) return;
    number_field(t, "train_loss", f->last.pass.loss);
    number_field(t, "train_accuracy", f->last.pass.accuracy);
    number_field(t, "entropy_norm", f->attention_last.entropy_norm);
    number_field(t, "sat99", f->attention_last.sat99);
    number_field(t, "query_value_ratio", f->ratio_last);
    number_field(t, "ds_median", f->attention_last.ds_median);
}

/* What no checkpoint holds and a resumed run must find unchanged: "log-every 20, ...". */
static void recorded(rdk_text *t, const rdk_config *c)
{
    for (size_t i = 0; i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        if (o->scope != RDK_OPT_RECORDS) continue;
        rdk_text_add(t, "%s%s ", t->size ? ", " : "", o->name);
        rdk_option_text(c, o, t);
    }
}

bool rdk_run_json(const rdk_trainer *r, const char *status, const rdk_finals *finals, rdk_status *s)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_text t = {0}, intervals = {0};
    if (!rdk_rundir_is_ours(&r->directory, s)) return false;
    const rdk_theory theory = rdk_trainer_theory(r);
    recorded(&intervals, &r->config);
    rdk_text_add(&t, "{\n");
    string_field(&t, "program", "rootdk");
    string_field(&t, "version", rdk_version());
    string_field(&t, "build", rdk_build_id());
    string_field(&t, "compiler", rdk_compiler());
    string_field(&t, "isa", r->isa);
    string_field(&t, "numbers", sizeof(rdk_real) == sizeof(float) ? "float32" : "float64");
    string_field(&t, "precision", r->config.precision == RDK_BF16 ? "bf16" : "float");
    machine_fields(&t);
    string_field(&t, "data", rdk_task_summary(r->task));
    string_field(&t, "recorded", intervals.data ? intervals.data : "");
    rdk_text_free(&intervals);
    task_fields(&t, r->task);
    integer_field(&t, "parameters", rdk_trainable_count(r->model));
    number_field(&t, "score_scale", rdk_model_score_scale(r->model));
    number_field(&t, "score_std_theory", theory.score_std);
    number_field(&t, "entropy_norm_theory", theory.entropy_norm);
    if (finals) final_fields(&t, r, finals);
    if (r->status->code != RDK_OK) string_field(&t, "error", r->status->message);
    if (r->saved) integer_field(&t, "saved_step", r->saved_step);
    integer_field(&t, "step", r->step);
    integer_field(&t, "steps", r->config.steps);
    integer_field(&t, "tokens_seen", r->tokens_seen);
    if (r->score_max && !r->clip_unknown) {
        integer_field(&t, "qk_clip_updates", r->clip_updates);
        integer_field(&t, "qk_clip_most_heads", r->clip_most);
    }
    number_field(&t, "seconds", rdk_seconds() - r->started);
    if (isfinite(rdk_cost_seconds(r))) number_field(&t, "measuring_seconds", rdk_cost_seconds(r));
    rdk_text_add(&t, "  \"status\": ");
    rdk_text_json(&t, status);
    rdk_text_add(&t, "\n}\n");
    bool ok = rdk_text_ok(&t, s) &&
              rdk_file_replace(rdk_rundir_file(&r->directory, "run.json", path), t.data, t.size, s);
    rdk_text_free(&t);
    return ok;
}

/* ---- reading it back ------------------------------------------------------------------------- */

bool rdk_run_json_find(const rdk_trainer *r, const char *key, rdk_text *value, bool *found,
                       rdk_status *s)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_status cause = {0};
    *found = false;
    if (!rdk_file_exists(rdk_rundir_file(&r->directory, "run.json", path))) return true;
    rdk_record *record = rdk_record_read(path, &cause);
    if (!record)
        return rdk_fail(s, cause.code, "%s%s", cause.message,
                        cause.code == RDK_EFORMAT ? " (damaged: take it away, or put it back)"
                                                  : "");
    const char *word = rdk_record_word(record, key);
    *found = word != NULL;
    if (word) rdk_text_add(value, "%s", word);
    rdk_record_free(record);
    return true;
}

/* What layer_fields wrote; layers that it does not have stay unknown. */
static void past_layers(rdk_trainer *r, const rdk_record *was)
{
    const char *word = rdk_record_word(was, "initial_by_layer");
    for (size_t l = 0; word && r->layer && l < r->config.model.layers; l++) {
        char number[2][RDK_NUMBER_TEXT];
        double x[2];
        if (sscanf(word, "%31[^ ,] %31[^ ,]", number[0], number[1]) != 2) return;
        if (!rdk_parse_double(number[0], &x[0]) || !rdk_parse_double(number[1], &x[1])) return;
        r->layer[l].entropy_first = x[0];
        r->layer[l].sat99_first = x[1];
        word = strchr(word, ',');
        word = word ? word + 2 : NULL;
    }
}

/* Those that final_fields wrote. A file without them says nothing of the start. */
void rdk_run_json_past(rdk_trainer *r, rdk_finals *f)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_status ignored = {0}; /* a damaged run.json says nothing, and is written anew */
    r->clip_unknown = true;
    rdk_record *was = rdk_record_read(rdk_rundir_file(&r->directory, "run.json", path), &ignored);
    if (!was) return;
    f->have_first = rdk_record_word(was, "initial_sat99") != NULL;
    f->first.pass.loss = rdk_record_number(was, "initial_loss");
    f->attention_first.entropy_norm = rdk_record_number(was, "initial_entropy_norm");
    f->attention_first.sat99 = rdk_record_number(was, "initial_sat99");
    f->attention_first.ds_median = rdk_record_number(was, "initial_ds_median");
    f->attention_first.ds_top5_share = rdk_record_number(was, "initial_ds_top5_share");
    f->ratio_first = rdk_record_number(was, "initial_query_value_ratio");
    past_layers(r, was);
    double updates = rdk_record_number(was, "qk_clip_updates");
    double most = rdk_record_number(was, "qk_clip_most_heads");
    double heads = (double)(r->config.model.layers * r->config.model.heads);
    r->clip_unknown = !(rdk_record_number(was, "step") == (double)r->step && updates >= 0 &&
                        updates <= (double)r->step && most >= 0 && most <= heads);
    if (!r->clip_unknown) r->clip_updates = (uint64_t)updates;
    if (!r->clip_unknown) r->clip_most = (uint64_t)most;
    rdk_record_free(was);
}

bool rdk_run_json_agrees(const rdk_trainer *r)
{
    rdk_text was = {0}, is = {0};
    bool found = false, ok = rdk_run_json_find(r, "recorded", &was, &found, r->status);
    recorded(&is, &r->config);
    ok = ok && rdk_text_ok(&is, r->status);
    if (ok && found && was.data && is.data && strcmp(was.data, is.data) != 0)
        ok = rdk_fail(
            r->status, RDK_EFORMAT,
            "cannot resume %s: config.ini was changed from %s to %s (set it back, or start "
            "a new run with --config)",
            r->directory.path, was.data, is.data);
    rdk_text_free(&was);
    rdk_text_free(&is);
    return ok;
}

/* How much of an instruction set's name tells its bits: avx512bf16 is avx512 but for products of
 * bfloat16. */
static size_t telling(const char *name, size_t n, rdk_precision precision)
{
    static const char whole[] = "avx512bf16", part[] = "avx512";
    bool alike = precision == RDK_FLOAT && n == strlen(whole) && strncmp(name, whole, n) == 0;
    return alike ? strlen(part) : n;
}

/* Does an instruction set with the bits of this call's end the list? */
static bool goes_on(const char *was, rdk_precision precision)
{
    const char *last = strrchr(was, ','), *word = last ? last + 2 : was, *now = rdk_isa();
    size_t n = telling(word, strcspn(word, " "), precision);
    return n == telling(now, strlen(now), precision) && strncmp(word, now, n) == 0;
}

bool rdk_run_json_isa(rdk_trainer *r)
{
    rdk_text was = {0};
    bool found = false, ok = r->step == 0 || rdk_run_json_find(r, "isa", &was, &found, r->status);
    if (!found || !was.data) {
        snprintf(r->isa, sizeof r->isa, "%s", rdk_isa());
    } else if (goes_on(was.data, r->config.precision)) {
        snprintf(r->isa, sizeof r->isa, "%s", was.data);
    } else {
        bool fits = was.size < sizeof r->isa / 2;
        snprintf(r->isa, sizeof r->isa, "%s, %s from step %" PRIu64, fits ? was.data : "several",
                 rdk_isa(), r->step);
    }
    rdk_text_free(&was);
    return ok;
}
