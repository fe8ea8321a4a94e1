/* SPDX-License-Identifier: MIT
 * Every column of attention.csv, gradients.csv and metrics.csv as a run writes it, beside the same
 * figure from T x T arrays in double: causal or not, padded, rows of one key, under QK-norm, and at
 * scores so large that rows are one-hot. A column without a reference fails by its name. */
#include "columns_reference.h"
#include "columns_settings.h"

#include <unistd.h>

static const double RELATIVE = 1e-5;

static rdk_status status;
static rdk_run_io io;

static void set(rdk_trainer *r, const char *name, const char *value)
{
    ck_assert_msg(rdk_option_set(&r->config, rdk_option_find(name), value, &status), "%s",
                  status.message);
}

static rdk_trainer *new_trainer(const struct setting *s)
{
    static const char *const base[][2] = {{"task", "random"}, {"seq-len", "70"}, {"vocab", "12"},
                                          {"d-model", "24"},  {"heads", "2"},    {"batch", "2"},
                                          {"eval-size", "4"}, {"steps", "100"},  {"lr", "0.05"},
                                          {"warmup", "0"},    {"layers", "2"},   {"clip", "0.3"}};
    rdk_trainer *r = rdk_alloc(1, sizeof *r, &status);
    ck_assert_ptr_nonnull(r);
    r->io = &io;
    r->status = &status;
    rdk_config_init(&r->config);
    for (size_t i = 0; i < sizeof base / sizeof *base; i++) set(r, base[i][0], base[i][1]);
    for (size_t i = 0; i < 8 && s->options[i][0]; i++) set(r, s->options[i][0], s->options[i][1]);
    ck_assert_msg(rdk_setup_trainer(r), "%s", status.message);
    move_learned(r->model);
    snprintf(r->directory.path, sizeof r->directory.path, "/tmp/rdk_test_columns_%ld",
             (long)getpid());
    ck_assert(rdk_directory_make(r->directory.path, &status));
    ck_assert_msg(rdk_logs_open(r, false), "%s", status.message);
    /* the tape then holds the whole update */
    ck_assert_uint_eq(rdk_pass_sequences(&r->config), r->config.batch);
    rdk_tape_keep_gradients(r->tapes[0], true); /* that of the output of attention is looked at */
    return r;
}

static void remove_run(rdk_trainer *r)
{
    static const char *const names[] = {"metrics.csv", "attention.csv", "gradients.csv",
                                        "timing.csv", "maps.csv"};
    char path[RDK_PATH_TEXT + 64];
    for (int i = 0; i < 5; i++) unlink(rdk_rundir_file(&r->directory, names[i], path));
    ck_assert_int_eq(rmdir(r->directory.path), 0);
    rdk_trainer_free(r);
    rdk_free(r);
}

/* ---- a row and its header -------------------------------------------------------------------- */

/* All columns of the header, each with its field of the row. */
static void check_row(const struct setting *s, const char *file, const char *header,
                      const char *row, const wants *w)
{
    char *names = strdup(header), *fields = strdup(row), *name_at = names, *field_at = fields;
    while (*name_at) {
        const char *name = next_field(&name_at), *field = next_field(&field_at);
        size_t i = 0;
        while (i < w->n && strcmp(w->column[i].name, name) != 0) i++;
        ck_assert_msg(i < w->n, "%s: column %s has no reference in tests/unit/test_columns.c", file,
                      name);
        const want *c = &w->column[i];
        if (isinf(c->size)) continue;                       /* no number */
        double got = *field ? strtod(field, NULL) : -1e300; /* empty: see ABSENT */
        double relative = fmax(RELATIVE, 4e-7 * c->scores);
        double allowed = relative * fmax(fabs(c->value), c->size);
        bool close = isnan(c->value) ? isnan(got) : fabs(got - c->value) <= allowed;
        ck_assert_msg(close, "%s, %s: %s is %s, want %.9g (relative error %.2g)", s->name, file,
                      name, field, c->value, fabs(got - c->value) / fmax(fabs(c->value), c->size));
    }
    ck_assert_msg(!*field_at, "%s has more fields than names: %s", file, row);
    free(names);
    free(fields);
}

static char *read_file(const rdk_trainer *r, const char *name)
{
    char path[RDK_PATH_TEXT + 64];
    char *text = rdk_file_read(rdk_rundir_file(&r->directory, name, path), NULL, &status);
    ck_assert_msg(text != NULL, "%s", status.message);
    return text;
}

static const char *line_after(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* ---- what a row must hold -------------------------------------------------------------------- */

static void own_pass(rdk_trainer *r, passes *w, int pass)
{
    rdk_tensor *q[MOST_LAYERS], *k[MOST_LAYERS];
    rdk_model_probe probe = {.q_used = q, .k_used = k};
    const rdk_batch *b = rdk_watch_batch(r->watch);
    rdk_tape *t = r->tapes[0];
    rdk_evaluate_begin(t, true);
    ck_assert(rdk_model_logits(r->model, t, b->n, b->len, b->input, b->length, &probe) != NULL);
    for (size_t l = 0; l < r->config.model.layers; l++) {
        w->q[pass][l] = copy_of(q[l]->data, rdk_size(q[l]));
        w->k[pass][l] = copy_of(k[l]->data, rdk_size(k[l]));
        for (size_t h = 0; h < r->config.model.heads; h++)
            w->gain[pass][l][h] = rdk_model_head_gain(r->model, l, h);
    }
}

static void expect_head(wants *w, const layer_case *c, size_t layer, size_t h, double change)
{
    const rdk_trainer *r = c->r;
    head_sums *a = rdk_alloc(1, sizeof *a, NULL);
    size_t longest = 0;
    a->max = -INFINITY;
    for (size_t b = 0; b < r->batch.n; b++)
        if ((size_t)r->batch.length[b] > longest) longest = (size_t)r->batch.length[b];
    for (size_t b = 0; b < r->batch.n; b++)
        for (size_t i = 0; i < (size_t)r->batch.length[b]; i++)
            add_row(a, c, b, i, h, visible(r, (size_t)r->batch.length[b], i), longest >= 8 ? 8 : 2);
    expect(w, "step", 0, 0);
    expect(w, "layer", (double)layer, 0);
    expect(w, "head", (double)h, 0);
    const rdk_model_config own = rdk_config_of_layer(&r->config.model, layer);
    expect(w, "scale", rdk_config_score_scale(&own), 0);
    expect(w, "score_std", sqrt(a->variance / a->two), 0);
    expect(w, "score_absmax", a->abs_max, 0);
    expect(w, "score_max", a->max, 0);
    expect(w, "score_mean", a->mean / a->rows, a->mean_size / a->rows);
    expect(w, "score_peak", a->peak, a->abs_max * 1e-2);
    expect(w, "entropy", a->entropy / a->rows, 0);
    expect(w, "entropy_norm", a->norm / a->choice, 0);
    expect(w, "p_max", a->p_max / a->many, 0);
    expect(w, "sat90", a->sat90 / a->many, 0);
    expect(w, "sat99", a->sat99 / a->many, 0);
    expect(w, "jacobian_trace", a->trace / a->rows, 0);
    expect(w, "jacobian_frob", sqrt(a->frob2 / a->rows), 0);
    expect(w, "theta", a->theta / a->rows, 0);
    expect_of_one(w, "jacobian_trace_median", quantile(a->traces, (size_t)a->rows, 50), a->abs_max);
    expect_of_one(w, "jacobian_frob_median", quantile(a->frobs, (size_t)a->rows, 50), a->abs_max);
    expect(w, "q_rms", rms(r, c->q_raw, h), 0);
    expect(w, "k_rms", rms(r, c->k_raw, h), 0);
    bool product = r->config.model.attention == RDK_DOT;
    expect(w, "q_k_cosine", product ? a->cosine / a->pairs : NAN, a->cosine_size / a->pairs);
    expect(w, "q_k_cosine_rms", product ? sqrt(a->cosine2 / a->pairs) : NAN, 0);
    expect(w, "score_change", change, 0);
    expect_gradient(w, a);
    expect_theory(w, r, layer);
    expect(w, "score_absmax_uncapped", a->uncapped, 0);
    expect(w, "score_gain", c->gain[h], 0);
    expect(w, "sink", c->sink[h], 0);
    rdk_free(a);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* What a micro-batch of step.c does, with sequences that end early; the last sees nothing. */
static void padded_pass(rdk_trainer *r, rdk_step_report *report)
{
    static const int32_t lengths[] = {MOST_T, 23, 1, 0};
    rdk_batch *b = &r->batch;
    rdk_batch_train(b, r->task, r->config.seed, r->step);
    for (size_t i = 0; i < b->n; i++) {
        b->length[i] = lengths[i];
        for (size_t t = (size_t)lengths[i]; t < b->len; t++) {
            b->input[i * b->len + t] = 0;
            b->target[i * b->len + t] = RDK_IGNORE;
        }
    }
    rdk_model_zero_grad(r->model);
    rdk_tape_reset(r->tapes[0]);
    rdk_tensor *logits = rdk_model_logits(r->model, r->tapes[0], b->n, b->len, b->input, b->length,
                                          rdk_measure_probe(r->measure, 0, 0));
    rdk_tensor *loss = rdk_cross_entropy(r->tapes[0], logits, b->target,
                                         (double)rdk_batch_counted(b), b->nll, b->best);
    ck_assert(rdk_tape_backward(r->tapes[0], loss));
    rdk_measure_take(r->measure, 0, 0, b->n);
    rdk_measure_finish(r->measure);
    *report = (rdk_step_report){.pass = rdk_batch_score(b),
                                .lr = rdk_schedule(&r->config.optim, r->step, r->config.steps),
                                .grad_norm = rdk_grad_norm(r->model),
                                .score_absmax = rdk_measure_score_absmax(r->measure)};
    report->clip_factor = rdk_clip_factor(report->grad_norm, r->config.optim.clip);
}

/* From the tape of the pass: its attention, layer after layer. */
static void take_cases(rdk_trainer *r, layer_case *c)
{
    size_t layer = 0;
    const rdk_model_probe *probe = rdk_measure_probe(r->measure, 0, 0);
    for (size_t i = 0; i < rdk_tape_length(r->tapes[0]); i++) {
        const rdk_node *n = rdk_tape_node(r->tapes[0], i);
        if (!strstr(n->op->name, "attention")) continue;
        size_t size = rdk_size(n->out);
        c[layer] =
            (layer_case){r,
                         copy_of(n->in[0]->data, size),
                         copy_of(n->in[1]->data, size),
                         copy_of(n->in[2]->data, size),
                         copy_of(n->out->grad, size),
                         copy_of(probe->q[layer]->data, size),
                         copy_of(probe->k[layer]->data, size),
                         .w = n->n_in == 6 ? copy_of(n->in[5]->data, rdk_size(n->in[5])) : NULL,
                         .layer = layer};
        take_learned(&c[layer]);
        layer++;
    }
    ck_assert_uint_eq(layer, r->config.model.layers);
}

/* ---- gradients.csv --------------------------------------------------------------------------- */

static void check_gradients(const struct setting *s, rdk_trainer *r, const rdk_real *before)
{
    char *text = read_file(r, "gradients.csv");
    const char *line = line_after(text);
    char header[1024];
    snprintf(header, sizeof header, "%.*s", (int)(line - text), text);
    for (size_t i = 0; i < rdk_model_param_count(r->model); i++, line = line_after(line)) {
        const rdk_param *p = rdk_model_param(r->model, i);
        wants w = {0};
        char row[1024];
        snprintf(row, sizeof row, "%.*s", (int)(line_after(line) - line), line);
        expect_tensor(&w, r, p, before + p->offset);
        check_row(s, "gradients.csv", header, row, &w);
    }
    rdk_free(text);
}

/* ---- metrics.csv ----------------------------------------------------------------------------- */

static void expect_metrics(wants *w, rdk_trainer *r, const rdk_real *logits, double abs_max,
                           double clipped)
{
    const rdk_batch *b = &r->batch;
    size_t v = rdk_task_vocab(r->task);
    double loss = 0, right = 0, counted = 0, sequences = 0, whole = 0, norm2 = 0;
    for (size_t i = 0; i < b->n; i++) {
        double counted_here = 0, right_here = 0;
        for (size_t t = 0; t < b->len; t++) {
            const rdk_real *x = logits + (i * b->len + t) * v;
            int32_t target = b->target[i * b->len + t];
            double z = 0;
            size_t best = 0;
            if (target == RDK_IGNORE) continue;
            for (size_t e = 0; e < v; e++) z += exp((double)x[e]);
            for (size_t e = 0; e < v; e++)
                if (x[e] > x[best]) best = e;
            loss += log(z) - (double)x[target];
            counted_here += 1, right_here += best == (size_t)target;
        }
        counted += counted_here, right += right_here;
        sequences += counted_here > 0, whole += counted_here > 0 && counted_here == right_here;
    }
    for (size_t i = 0; i < rdk_model_param_count(r->model); i++) {
        const rdk_param *p = rdk_model_param(r->model, i);
        norm2 += p->trainable ? pow(norm(rdk_size(&p->tensor), p->tensor.grad), 2) : 0;
    }
    expect(w, "step", 0, 0);
    expect(w, "split", 0, INFINITY);
    expect(w, "loss", loss / counted, 0);
    expect(w, "accuracy", right / counted, 0);
    expect(w, "lr", 0.05, 0);
    expect(w, "grad_norm", sqrt(norm2), 0);
    expect(w, "clip_factor", fmin(1, 0.3 / sqrt(norm2)), 0);
    expect(w, "score_absmax", abs_max, 0);
    expect(w, "tokens", counted, 0);
    expect(w, "sequence_accuracy", whole / sequences, 0);
    expect(w, "tokens_seen", 0, 0);
    expect(w, "heads_clipped", clipped, 0);
}

/* ---- the test -------------------------------------------------------------------------------- */

static double value_of(const wants *w, const char *column)
{
    size_t i = 0;
    while (strcmp(w->column[i].name, column) != 0) i++;
    return w->column[i].value;
}

static void check_attention(const struct setting *s, rdk_trainer *r, const layer_case *c,
                            const passes *w, double *abs_max, double *clipped)
{
    char *text = read_file(r, "attention.csv"), header[2048], row[2048];
    const char *line = line_after(text);
    snprintf(header, sizeof header, "%.*s", (int)(line - text), text);
    for (size_t l = 0; l < r->config.model.layers; l++)
        for (size_t h = 0; h < r->config.model.heads; h++, line = line_after(line)) {
            wants all = {0};
            expect_head(&all, &c[l], l, h, change_of(r, w, l, h));
            *abs_max = fmax(*abs_max, value_of(&all, "score_absmax"));
            *clipped += value_of(&all, "score_max") > r->config.qk_clip;
            snprintf(row, sizeof row, "%.*s", (int)(line_after(line) - line), line);
            check_row(s, "attention.csv", header, row, &all);
        }
    rdk_free(text);
}

START_TEST(every_column)
{
    const struct setting *s = &settings[_i];
    rdk_trainer *r = new_trainer(s);
    rdk_step_report report;
    layer_case c[MOST_LAYERS];
    passes w;
    if (s->padded)
        padded_pass(r, &report);
    else
        ck_assert_msg(rdk_step_gradients(r, true, &report), "%s", status.message);
    take_cases(r, c);
    const rdk_node *last = rdk_tape_node(r->tapes[0], rdk_tape_length(r->tapes[0]) - 1);
    rdk_real *logits = copy_of(last->in[0]->data, rdk_size(last->in[0]));
    rdk_real *before = copy_of(rdk_model_values(r->model), rdk_model_size(r->model));
    ck_assert(rdk_logs_train_row(r, &report));
    rdk_logs_keep_norms(r);
    own_pass(r, &w, 0);
    w.w[0] = before, w.w[1] = rdk_model_values(r->model);
    ck_assert(rdk_watch_before(r));
    rdk_step_update(r, &report);
    own_pass(r, &w, 1);
    ck_assert(rdk_watch_after(r));
    ck_assert(rdk_logs_attention_rows(r, 0, true) && rdk_logs_gradient_rows(r, 0, true));

    double abs_max = 0, clipped = 0;
    wants all = {0};
    check_attention(s, r, c, &w, &abs_max, &clipped);
    check_gradients(s, r, before);
    expect_metrics(&all, r, logits, abs_max, clipped);
    for (size_t i = 0; i < all.n; i++) /* the row was written before the update */
        if (!strcmp(all.column[i].name, "tokens_seen")) all.column[i].value = 0;
    char *text = read_file(r, "metrics.csv"), header[1024];
    snprintf(header, sizeof header, "%.*s", (int)(line_after(text) - text), text);
    check_row(s, "metrics.csv", header, line_after(text), &all);
    rdk_free(text);
    for (size_t l = 0; l < r->config.model.layers; l++) {
        free_case(&c[l]);
        for (int pass = 0; pass < 2; pass++) rdk_free(w.q[pass][l]), rdk_free(w.k[pass][l]);
    }
    rdk_free(logits);
    rdk_free(before);
    remove_run(r);
}
END_TEST

RDK_TEST_MAIN("columns", { ADD_LOOP(every_column, SETTINGS); })
