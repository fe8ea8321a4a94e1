/* SPDX-License-Identifier: MIT
 * The verdict on a run alone: the sentences that the terminal had, from the figures that its files
 * have, and what one run cannot say.
 * Read next: src/run/sentences.c. */
#include <math.h>
#include <string.h>

#include "run/sentences.h"
#include "verdict.h"

static double first_of(const rdk_curve *c)
{
    return c->n && c->x[0] == 0 ? c->y[0] : NAN;
}

static double sat99_first(const rdk_report_run *run, size_t layer)
{
    double sum = 0;
    for (size_t h = 0; h < run->heads; h++)
        sum += first_of(&run->saturation[layer * run->heads + h]);
    return sum / (double)run->heads;
}

/* [layers], or NULL where all have one scaling. */
static const rdk_layer_figures *layers_of(rdk_report *r, const rdk_report_run *run)
{
    if (!run->saved.config.model.scale_layers[0] || run->layers < 2) return NULL;
    rdk_layer_figures *all = rdk_report_alloc(r, run->layers, sizeof *all);
    for (size_t l = 0; all && l < run->layers; l++) {
        const rdk_curve *e = &run->entropy[l];
        all[l] = (rdk_layer_figures){.entropy_first = first_of(e),
                                     .entropy_theory = run->entropy_theory[l],
                                     .sat99_first = sat99_first(run, l),
                                     .entropy_last = e->n ? e->y[e->n - 1] : NAN,
                                     .score_std_last = run->layer_std[l],
                                     .score_absmax_last = run->layer_absmax[l]};
    }
    return all;
}

static rdk_verdict_figures figures_of(const rdk_report_run *run)
{
    const rdk_run_figures *f = &run->figures;
    bool whole = rdk_task_type_whole_sequences(run->saved.config.task.name);
    return (rdk_verdict_figures){
        .step = (uint64_t)run->step,
        .loss = f->loss,
        .accuracy = f->accuracy,
        .sequence_accuracy = whole ? f->sequence_accuracy : NAN,
        .chance_accuracy = run->chance_accuracy,
        .floor_loss = run->floor_loss,
        .best_loss = f->best_loss,
        .best_step = f->best_step >= 0 ? (uint64_t)f->best_step : 0,
        .entropy_first = f->entropy_first,
        .entropy_theory = rdk_run_entropy_theory(run),
        .sat99_first = f->sat99_first,
        .top5_first = run->start.ds_top5,
        .entropy_last = f->entropy_last,
        .score_std_last = run->score_std_last,
        .score_absmax_last = run->score_absmax_last,
        .ratio_first = f->ratio_first,
        .ratio_last = f->ratio_last,
        .scale = run->saved.config.model.scale_layers[0] ? NAN : run->score_scale,
        .qk_clip = run->saved.config.qk_clip,
        .clip_updates = rdk_record_number(run->saved.about, "qk_clip_updates"),
        .clip_most = rdk_record_number(run->saved.about, "qk_clip_most_heads"),
        .all_heads = run->saved.config.model.layers * run->saved.config.model.heads,
        .started = run->layers > 0,
        .ended = run->layers > 0 && !run->diverged,
    };
}

void rdk_verdict_alone(rdk_report *r, rdk_text *t)
{
    const rdk_report_run *run = &r->runs[0];
    rdk_verdict_figures figures = figures_of(run);
    figures.layer = layers_of(r, run);
    figures.layers = figures.layer ? run->layers : 0;
    static const char once[] =
        "One run shows what happened once; what the scaling changed needs an "
        "ablation with several seeds.";
    rdk_text lines = {0};
    if (run->diverged)
        rdk_text_add(t,
                     "<li>The run diverged at step %.0f: a loss or a gradient was not "
                     "finite.</li>\n",
                     run->died_step);
    else if (!isfinite(run->figures.loss))
        rdk_text_add(t, "<li>There is no evaluation yet.</li>\n");
    rdk_verdict_sentences(&figures, &lines);
    for (char *line = lines.data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (*line >= 'a' && *line <= 'z') *line = (char)(*line - 'a' + 'A');
        rdk_text_add(t, "<li>");
        rdk_html(t, line);
        if (!end[1]) rdk_text_add(t, " %s", once);
        rdk_text_add(t, "</li>\n");
    }
    if (!lines.size) rdk_text_add(t, "<li>%s</li>\n", once);
    if (lines.failed) t->failed = true;
    rdk_text_free(&lines);
}
