/* SPDX-License-Identifier: MIT
 * What the sentences of the verdict share: their d_k, figures, names; see verdict.h. */
#include <math.h>
#include <stdio.h>

#include "verdict.h"

size_t rdk_verdict_panel(const rdk_report *r)
{
    size_t best = 0, most = 0;
    for (size_t p = 0; p < r->n_panels; p++) {
        size_t n = 0;
        for (size_t s = 0; s < r->n_series; s++) {
            rdk_cell c = {s, p, RDK_BEST_RATE};
            n += rdk_cell_runs(r, &c, NULL) > 0;
        }
        if (n >= most) best = p;
        if (n > most) most = n;
    }
    return best;
}

rdk_cell rdk_verdict_cell(const rdk_report *r, size_t series)
{
    return (rdk_cell){series, rdk_verdict_panel(r), RDK_BEST_RATE};
}

rdk_interval rdk_verdict_figure(rdk_report *r, size_t series, rdk_figure_of *figure)
{
    rdk_cell c = rdk_verdict_cell(r, series);
    return rdk_cell_interval(r, &c, figure);
}

void rdk_verdict_number(rdk_text *t, double x)
{
    char text[RDK_READABLE];
    if (isfinite(x) && fabs(x) >= 1e-3 && fabs(x) < 1000)
        snprintf(text, sizeof text, "%.3g", x);
    else
        rdk_readable(x, text);
    rdk_text_add(t, "%s", text);
}

void rdk_verdict_name(rdk_text *t, const rdk_report *r, size_t series)
{
    rdk_text_add(t, "<b>");
    rdk_html(t, r->series[series]);
    rdk_text_add(t, "</b>");
}

size_t rdk_verdict_most(const rdk_report *r)
{
    enum { ALL_OF = 6, ELSE = 4 };
    return r->n_series <= ALL_OF ? ALL_OF : ELSE;
}

void rdk_verdict_more(rdk_text *t, size_t more)
{
    if (more) rdk_text_add(t, " and %zu more", more);
}

bool rdk_intervals_part(rdk_interval a, rdk_interval b)
{
    return a.n > 1 && b.n > 1 && a.mean + a.half < b.mean - b.half;
}

bool rdk_verdict_stayed(rdk_report *r, size_t series)
{
    rdk_cell c = rdk_verdict_cell(r, series);
    const rdk_report_run *any = rdk_cell_example(r, &c);
    double chance = any ? any->chance_accuracy : NAN;
    double accuracy = rdk_cell_interval(r, &c, rdk_run_accuracy).mean;
    return rdk_is_near_chance(accuracy, chance);
}
