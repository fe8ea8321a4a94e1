/* SPDX-License-Identifier: MIT
 * Sections 2 and 3: loss and accuracy; entropy by layer, and score deviations beside theory.
 * Read next: sec_start.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page.h"

enum { MOST_LAYERS = 6 };

static const rdk_curve *train_loss(const rdk_report_run *run, size_t which)
{
    (void)which;
    return &run->train_loss;
}

static const rdk_curve *eval_loss(const rdk_report_run *run, size_t which)
{
    (void)which;
    return &run->eval_loss;
}

static const rdk_curve *train_accuracy(const rdk_report_run *run, size_t which)
{
    (void)which;
    return &run->train_accuracy;
}

static const rdk_curve *eval_accuracy(const rdk_report_run *run, size_t which)
{
    (void)which;
    return &run->eval_accuracy;
}

static const rdk_curve *entropy(const rdk_report_run *run, size_t which)
{
    return which < run->layers ? &run->entropy[which] : NULL;
}

/* ---- 2 --------------------------------------------------------------------------------------- */

static size_t loss_levels(rdk_report *r, size_t panel, size_t which, rdk_level *out)
{
    size_t n = 0;
    (void)which;
    for (size_t i = 0; i < r->n_runs && !n; i++) {
        const rdk_report_run *run = &r->runs[i];
        if (run->panel != panel) continue;
        if (run->vocabulary > 1) out[n++] = (rdk_level){log(run->vocabulary), -1, "ln V"};
        if (isfinite(run->figures.chance_loss) && run->figures.chance_loss < log(run->vocabulary))
            out[n++] = (rdk_level){run->figures.chance_loss, -1, "chance"};
        if (isfinite(run->floor_loss)) out[n++] = (rdk_level){run->floor_loss, -1, "floor"};
    }
    return n;
}

static size_t accuracy_levels(rdk_report *r, size_t panel, size_t which, rdk_level *out)
{
    (void)which;
    for (size_t i = 0; i < r->n_runs; i++) {
        if (r->runs[i].panel != panel || !isfinite(r->runs[i].chance_accuracy)) continue;
        out[0] = (rdk_level){r->runs[i].chance_accuracy, -1, "chance"};
        return 1;
    }
    return 0;
}

void rdk_section_curves(rdk_report *r, rdk_text *t)
{
    static const rdk_curve_row rows[] = {
        {"loss", "Loss", "loss (nats)", train_loss, eval_loss, 0, false, false, loss_levels},
        {"accuracy", "Accuracy", "targets right", train_accuracy, eval_accuracy, 0, false, true,
         accuracy_levels},
    };
    rdk_text caption = {0};
    rdk_metric_link(&caption, "loss", "Loss");
    rdk_text_add(&caption, " and ");
    rdk_metric_link(&caption, "accuracy", "accuracy");
    rdk_text_add(&caption, " of the training batches");
    if (r->n_runs <= 8) rdk_text_add(&caption, "; circles: held-out");
    if (r->n_seeds > 1)
        rdk_text_add(&caption,
                     ". Thin: one seed; thick: mean over seeds, as far as all of them go");
    if (r->n_seeds > 2) rdk_text_add(&caption, "; band: 95&nbsp;%% t-interval of that mean");
    if (r->n_rates > 1)
        rdk_text_add(&caption, ". Each series at its best learning rate%s",
                     "<span class=\"js\">; the chips above show others</span>");
    rdk_text_add(&caption, ". <span class=\"bad\">&times;</span>: a number became non-finite.");
    rdk_curve_figure(r, t, rdk_report_id(r, "fig-loss"), rows, 2, 32000,
                     caption.data ? caption.data : "");
    rdk_text_free(&caption);
}

/* ---- 3: entropy ------------------------------------------------------------------------------ */

static size_t entropy_levels(rdk_report *r, size_t panel, size_t which, rdk_level *out)
{
    size_t n = 0;
    for (size_t s = 0; s < r->n_series && n < RDK_MOST_LEVELS; s++) {
        rdk_cell c = {s, panel, RDK_BEST_RATE};
        const rdk_report_run *run = rdk_cell_example(r, &c);
        double theory = run && which < run->layers ? run->entropy_theory[which] : NAN;
        if (isfinite(theory)) out[n++] = (rdk_level){theory, (int)s, "theory at the start"};
    }
    return n;
}

/* The k-th of n layers drawn out of all. */
static size_t layer_at(const rdk_report *r, size_t k, size_t n)
{
    return n == r->layers ? k : k * (r->layers - 1) / (n - 1);
}

static void entropy_figure(rdk_report *r, rdk_text *t)
{
    rdk_curve_row rows[MOST_LAYERS];
    char titles[MOST_LAYERS][48];
    size_t n = r->layers < MOST_LAYERS ? r->layers : MOST_LAYERS;
    for (size_t k = 0; k < n; k++) {
        size_t layer = layer_at(r, k, n);
        snprintf(titles[k], sizeof titles[k], "Entropy / ln n, layer %zu", layer);
        rows[k] = (rdk_curve_row){"entropy_norm", titles[k], "H / ln n", entropy,       NULL,
                                  layer,          false,     true,       entropy_levels};
    }
    rdk_text caption = {0};
    rdk_metric_link(&caption, "entropy_norm", "Entropy");
    rdk_text_add(&caption, " of attention over ln(visible keys), mean over heads. Dotted: what "
                           "theory predicts for the start at that d_k and scale");
    if (n < r->layers) rdk_text_add(&caption, ". %zu of %zu layers", n, r->layers);
    rdk_text_add(&caption, ". Low entropy is no failure by itself: see section 7.");
    rdk_curve_figure(r, t, rdk_report_id(r, "fig-entropy"), rows, n, 10000,
                     caption.data ? caption.data : "");
    rdk_text_free(&caption);
}

/* ---- 3: predicted against measured ----------------------------------------------------------- */

static void point(rdk_report *r, rdk_text *t, const rdk_panel *p, const rdk_report_run *run,
                  size_t layer)
{
    char classes[24], a[RDK_READABLE], b[RDK_READABLE];
    rdk_text says = {0};
    double predicted = run->std_theory[layer], measured = run->std_start[layer];
    snprintf(classes, sizeof classes, "dot c%d", r->colour[run->series]);
    rdk_text_add(&says, "%s, layer %zu: predicted %s, measured %s", run->name, layer,
                 rdk_readable(predicted, a), rdk_readable(measured, b));
    rdk_panel_dot(t, p, predicted, measured, (int)(layer % 4), classes, says.data);
    rdk_text_free(&says);
}

static void deviation_figure(rdk_report *r, rdk_text *t)
{
    double height;
    rdk_text csv = {0};
    rdk_axis both = rdk_axis_new("", true);
    rdk_text_add(&csv, "run,series,d_k,layer,score_std_theory,score_std\n");
    for (size_t i = 0; i < r->n_runs; i++) {
        for (size_t l = 0; l < r->runs[i].layers; l++) {
            rdk_axis_take(&both, r->runs[i].std_theory[l]);
            rdk_axis_take(&both, r->runs[i].std_start[l]);
        }
    }
    rdk_axis_finish(&both);
    rdk_panel p = rdk_panel_at(0, 1, 2, rdk_key_height(r, true, RDK_KEY_DIAGONAL), &height);
    p.title = "Score deviation before the first update";
    p.metric = "score_std";
    p.x = p.y = both;
    p.x.label = "predicted std of the scores";
    p.y.label = "measured";
    rdk_figure_open(t, rdk_report_id(r, "fig-std"), "marks", true, height, p.title);
    rdk_figure_key(t, r, true, RDK_KEY_DIAGONAL);
    rdk_panel_open(t, &p, rdk_report_id(r, "fig-std"), 0);
    rdk_panel_clip(t, &p, rdk_report_id(r, "fig-std"), 0);
    double ends[] = {both.low, both.high};
    rdk_panel_line(t, &p, &(rdk_curve){2, ends, ends}, "class=\"level\"");
    rdk_panel_unclip(t);
    for (size_t i = 0; i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        for (size_t l = 0; l < run->layers; l++) {
            if (!(run->std_theory[l] > 0) || !(run->std_start[l] > 0)) continue;
            point(r, t, &p, run, l);
            rdk_figure_field(&csv, run->name);
            rdk_figure_field(&csv, r->series[run->series]);
            rdk_figure_value(&csv, (double)r->d_k[run->panel]);
            rdk_figure_value(&csv, (double)l);
            rdk_figure_value(&csv, run->std_theory[l]);
            rdk_figure_value(&csv, run->std_start[l]);
            rdk_text_add(&csv, "\n");
        }
    }
    rdk_panel_close(t);
    rdk_figure_close(t, "<a class=\"metric\" href=\"#m-score_std\">Standard deviation</a> of the "
                        "scores in a row at step 0, one mark a run and layer (disc, square, "
                        "triangle, diamond: layer 0, 1, 2, 3), against the prediction from the "
                        "initial weights. On the grey line they agree; below it, inputs share a "
                        "common part, which a row does not see.");
    rdk_figure_csv(t, rdk_report_id(r, "fig-std"), &csv);
    rdk_text_free(&csv);
}

void rdk_section_attention(rdk_report *r, rdk_text *t)
{
    if (!r->layers) {
        rdk_text_add(t, "<p class=\"none\">Attention was not looked at: train with --probe-every "
                        "N.</p>\n");
        return;
    }
    entropy_figure(r, t);
    rdk_start_figure(r, t);
    deviation_figure(r, t);
}
