/* SPDX-License-Identifier: MIT
 * Section 1: the table of means and intervals over seeds.
 * Read next: sec_curves.c. */
#include <math.h>
#include <stdio.h>

#include "page.h"

/* One line of the table and what it is compared with. */
static void cell(rdk_text *t, rdk_interval v, double factor, bool best)
{
    v.mean *= factor;
    v.half *= factor;
    rdk_text_add(t, "<td class=\"n\">%s", best ? "<b>" : "");
    rdk_interval_words(t, v);
    rdk_text_add(t, "%s</td>", best ? "</b>" : "");
}

/* Does every other series at this d_k, at its best rate, have an interval that lies above? */
static bool is_best(rdk_report *r, size_t series, size_t panel, rdk_figure_of *figure, double sign)
{
    rdk_cell own = {series, panel, RDK_BEST_RATE};
    rdk_interval a = rdk_cell_interval(r, &own, figure);
    size_t others = 0;
    if (a.n < 2) return false;
    for (size_t s = 0; s < r->n_series; s++) {
        rdk_cell c = {s, panel, RDK_BEST_RATE};
        if (s == series || !rdk_cell_runs(r, &c, NULL)) continue;
        rdk_interval b = rdk_cell_interval(r, &c, figure);
        others++;
        if (b.n == 0) continue; /* all of its runs diverged */
        if (b.n < 2 || sign * a.mean + a.half >= sign * b.mean - b.half) return false;
    }
    return others > 0;
}

static void header(const rdk_report *r, rdk_text *t, bool sensitivity)
{
    rdk_text_add(t, "<table><thead><tr><th>d_k</th><th>series</th><th>lr</th><th>runs</th><th>");
    rdk_metric_link(t, "loss", "held-out loss");
    rdk_text_add(t, "</th><th>");
    rdk_metric_link(t, "accuracy", "accuracy, %");
    rdk_text_add(t, "</th><th>");
    rdk_metric_link(t, "solved", "solved at step");
    rdk_text_add(t, "</th><th>");
    rdk_metric_link(t, "entropy_norm", "H/ln n at start");
    rdk_text_add(t, "</th><th>");
    rdk_metric_link(t, "entropy_norm", "at end");
    rdk_text_add(t, "</th><th>diverged</th>");
    if (sensitivity && r->n_rates > 1) {
        rdk_text_add(t, "<th>");
        rdk_metric_link(t, "sensitivity", "LR&nbsp;sensitivity, l0&nbsp;=&nbsp;chance");
        rdk_text_add(t, "</th><th>");
        rdk_metric_link(t, "sensitivity", "LR&nbsp;sensitivity, l0&nbsp;=&nbsp;start");
        rdk_text_add(t, "</th>");
    }
    rdk_text_add(t, "</tr></thead><tbody>\n");
}

static const char *rate_of(const rdk_report *r, const rdk_cell *c)
{
    for (size_t i = 0; i < r->n_runs; i++)
        if (rdk_cell_has(c, &r->runs[i])) return r->rate[r->runs[i].rate];
    return "";
}

static void line(rdk_report *r, rdk_text *t, rdk_cell c)
{
    size_t diverged, all = rdk_cell_runs(r, &c, &diverged);
    bool compared = c.rate == RDK_BEST_RATE;
    rdk_solved solved = rdk_cell_solved(r, &c);
    size_t n = solved.runs; /* that are not finished are in none of these figures */
    if (!all) return;
    rdk_text_add(
        t, "<tr><td class=\"n\">%zu</td><td class=\"series\"><span class=\"swatch c%d\"></span>",
        r->d_k[c.panel], r->colour[c.series]);
    rdk_html(t, r->series[c.series]);
    rdk_text_add(t, "</td><td class=\"n\">%s</td><td class=\"n\">%zu</td>", rate_of(r, &c), n);
    cell(t, rdk_cell_interval(r, &c, rdk_run_loss), 1,
         compared && is_best(r, c.series, c.panel, rdk_run_loss, 1));
    cell(t, rdk_cell_interval(r, &c, rdk_run_accuracy), 100,
         compared && is_best(r, c.series, c.panel, rdk_run_accuracy, -1));
    rdk_text_add(t, "<td class=\"n\">");
    rdk_text_add(t, isnan(solved.median) ? "- " : "%.0f ", solved.median);
    rdk_text_add(t, "<span class=\"small\">%zu/%zu</span></td>", solved.solved, solved.runs);
    cell(t, rdk_cell_interval(r, &c, rdk_run_entropy_start), 1, false);
    cell(t, rdk_cell_interval(r, &c, rdk_run_entropy_end), 1, false);
    rdk_text_add(t, "<td class=\"n%s\">%zu/%zu</td>", diverged ? " bad" : "", diverged, n);
    if (compared && r->n_rates > 1) {
        cell(t, rdk_rate_sensitivity(r, c.series, c.panel, false), 1, false);
        cell(t, rdk_rate_sensitivity(r, c.series, c.panel, true), 1, false);
    }
    rdk_text_add(t, "</tr>\n");
}

static void all_rates(rdk_report *r, rdk_text *t)
{
    if (r->n_rates < 2) return;
    rdk_text_add(t, "<details><summary>All learning rates</summary>\n<div class=\"wide\">");
    header(r, t, false);
    for (size_t p = 0; p < r->n_panels; p++)
        for (size_t s = 0; s < r->n_series; s++)
            for (size_t rate = 0; rate < r->n_rates; rate++)
                line(r, t, (rdk_cell){s, p, (int)rate});
    rdk_text_add(t, "</tbody></table></div></details>\n");
}

void rdk_section_table(rdk_report *r, rdk_text *t)
{
    rdk_text_add(t, "<div class=\"wide\">");
    header(r, t, true);
    for (size_t p = 0; p < r->n_panels; p++)
        for (size_t s = 0; s < r->n_series; s++) line(r, t, (rdk_cell){s, p, RDK_BEST_RATE});
    rdk_text_add(t, "</tbody></table></div>\n<p class=\"small\">");
    if (r->n_seeds > 1)
        rdk_text_add(t, "Mean over seeds and half of the 95&nbsp;%% t-interval. Bold: best at its "
                        "d_k, and its interval overlaps with no other. ");
    else
        rdk_text_add(t, "One seed: no intervals, so nothing is marked as best. ");
    if (r->n_rates > 1)
        rdk_text_add(
            t,
            "Each series at its best learning rate of %zu tried: that at which the fewest runs "
            "diverged, and of those the lowest mean loss. A sensitivity of 0 is the best "
            "there is; what never learns has 0 too. ",
            r->n_rates);
    rdk_text_add(
        t, "Diverged runs are counted, not averaged. \"Solved\" is the first evaluation "
           "with 99&nbsp;%% of targets right: the median over runs, those that never got there "
           "last; the fraction is how many did.</p>\n");
    all_rates(r, t);
}
