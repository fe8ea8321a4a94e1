/* SPDX-License-Identifier: MIT
 * Section 4: gradients. At the start against d_k, where d_k was varied; then over the steps.
 * Read next: widths.c, sec_maps.c. */
#include "widths.h"

static double raw_dq(const rdk_report_run *run)
{
    return run->start.dq;
}

static double dq_over_scale(const rdk_report_run *run)
{
    return run->start.dq / run->score_scale;
}

static double ds_p10(const rdk_report_run *run)
{
    return run->start.ds_p10;
}

static double ds_p90(const rdk_report_run *run)
{
    return run->start.ds_p90;
}

static void starts_figure(rdk_report *r, rdk_text *t)
{
    static const rdk_width_panel panels[] = {
        {.title = "Raw |dW_Q|",
         .metric = "ratio",
         .label = "|dW_Q|",
         .column = "dW_Q",
         .figure = raw_dq,
         .geometric = true},
        {.title = "|dW_Q| / c",
         .metric = "ratio",
         .label = "|dW_Q| / c",
         .column = "dW_Q_over_c",
         .figure = dq_over_scale,
         .geometric = true},
        {.title = "|dW_Q| / |dW_V|",
         .metric = "ratio",
         .label = "ratio",
         .column = "dW_Q_over_dW_V",
         .figure = rdk_run_ratio,
         .geometric = true},
        {.title = "Rows of dL/ds",
         .metric = "ds_median",
         .label = "norm of a row",
         .column = "ds_median",
         .figure = rdk_run_ds_median,
         .low = ds_p10,
         .high = ds_p90,
         .low_column = "ds_p10",
         .high_column = "ds_p90",
         .geometric = true},
        {.column = "ds_top5_share", .figure = rdk_run_ds_top5},
    };
    static const rdk_width_figure figure = {
        .id = "fig-start-gradients",
        .says = "Gradients at the start against d_k",
        .caption =
            "Before the first update, mean over layers, geometric mean over seeds. <b>Raw |dW_Q| "
            "misleads</b>: the chain rule puts the factor c in front of it, so it is largest where "
            "attention is most saturated. |dW_Q| / |dW_V| keeps it, since |dW_V| has no such "
            "factor. "
            "|dW_Q| / c is without it: what still parts scalings there is what their rows pass on, "
            "and saturated rows pass little. Saturation itself shows in the "
            "<a class=\"metric\" href=\"#m-ds_median\">rows of the score gradient</a>: point, "
            "median row; bar, from the 10&nbsp;% to the 90&nbsp;% row (from the median where the "
            "run has no ds_p10).",
        .panels = panels,
        .n_panels = sizeof panels / sizeof *panels - 1,
        .n_more = 1,
        .apart = 1.08, /* about the width of a dot, so that the bars of series can be told apart */
    };
    rdk_width_draw(r, t, &figure);
}

/* ---- over the steps -------------------------------------------------------------------------- */

static const rdk_curve *ratio(const rdk_report_run *run, size_t which)
{
    (void)which;
    return &run->ratio;
}

static const rdk_curve *ds_median(const rdk_report_run *run, size_t which)
{
    (void)which;
    return &run->ds_median;
}

void rdk_section_gradients(rdk_report *r, rdk_text *t)
{
    static const rdk_curve_row rows[] = {
        {"ratio", "|dW_Q| / |dW_V|", "ratio", ratio, NULL, 0, true, false, NULL},
        {"ds_median", "Median row of dL/ds", "norm", ds_median, NULL, 0, true, false, NULL},
    };
    if (!r->layers) {
        rdk_text_add(t, "<p class=\"none\">Gradients were not looked at: train with --probe-every "
                        "N.</p>\n");
        return;
    }
    if (r->n_panels > 1)
        starts_figure(r, t);
    else
        rdk_text_add(t, "<p class=\"none\">One d_k: no figure against d_k. Raw |dW_Q| would "
                        "mislead: the chain rule puts the factor c in front of it, so it is "
                        "largest where attention is most saturated.</p>\n");
    rdk_curve_figure(r, t, rdk_report_id(r, "fig-gradients"), rows, 2, 10000,
                     "<a class=\"metric\" href=\"#m-ratio\">|dW_Q| / |dW_V|</a>, mean over layers, "
                     "and the <a class=\"metric\" href=\"#m-ds_median\">median row</a> of the "
                     "gradient at the scores, mean over layers and heads, over the steps; their "
                     "mean and interval over seeds are of the logarithms. A solved "
                     "task has no gradient left either: read these beside the loss.");
}
