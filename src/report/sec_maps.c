/* SPDX-License-Identifier: MIT
 * Section 5, first half: which heads are saturated when. Then the maps of attmaps.c.
 * Read next: attmaps.c. */
#include <math.h>
#include <stdio.h>

#include "page.h"
#include "shade.h"

enum { MOST_STEPS = 40, MOST_ROWS = 32, LEFT = 54, GAP = 14, LABELS = 20, BOTTOM = 34 };

/* ---- layer.head x step ----------------------------------------------------------------------- */

/* Cells reach under their right neighbour, so that rounding leaves no line between them. */
static const double SEAM = 0.4;

typedef struct box {
    double x, y, width, height;
} box;

/* What is drawn and saved of a head's curve: of each stretch of steps its first one and its largest
 * value. */
typedef struct stretch {
    double step, most;
    size_t end; /* the place behind it */
} stretch;

static bool has_stretches(const rdk_curve *c)
{
    return c->n > MOST_STEPS;
}

/* The next one; false at the end. Begin with a stretch of zeros. */
static bool next_stretch(const rdk_curve *c, stretch *s)
{
    size_t begin = s->end, length = (c->n + MOST_STEPS - 1) / MOST_STEPS;
    if (begin >= c->n) return false;
    *s = (stretch){c->x[begin], NAN, begin};
    for (; s->end < begin + length && s->end < c->n; s->end++)
        s->most = fmax(s->most, c->y[s->end]);
    return true;
}

static void shade_row(rdk_shades *s, const rdk_curve *c, double last, const box *b)
{
    stretch v = {0};
    while (next_stretch(c, &v)) {
        double from = b->width * v.step / last;
        double to = v.end < c->n ? b->width * c->x[v.end] / last : b->width;
        if (to - from < 0.1) to = from + b->width / MOST_STEPS; /* the last row of a run */
        to += SEAM;
        rdk_shade_cell(s, v.most, b->x + from, b->y, fmin(to, b->width) - fmin(from, b->width - 1),
                       b->height);
    }
}

static bool draw_map(rdk_text *t, const rdk_report_run *run, const box *b, const char *title)
{
    rdk_shades shades = {0};
    size_t rows = run->layers * run->heads;
    char word[64];
    bool thinned = false;
    if (rows > MOST_ROWS) rows = MOST_ROWS;
    double tall = b->height / (double)rows, last = fmax(run->step, 1);
    rdk_text_add(t, "<a href=\"#m-sat99\">");
    rdk_svg_title(t, b->x, b->y - 7, &(rdk_room){b->x - LEFT + 6, b->x + b->width + GAP - 6}, false,
                  title);
    rdk_text_add(t, "</a>");
    for (size_t k = 0; k < rows; k++) {
        box row = {b->x, b->y + tall * (double)k, b->width, tall};
        shade_row(&shades, &run->saturation[k], last, &row);
        thinned |= has_stretches(&run->saturation[k]);
        snprintf(word, sizeof word, "%zu.%zu", k / run->heads, k % run->heads);
        if (tall >= 7) rdk_svg_text(t, b->x - 5, row.y + tall / 2 + 3.5, "number end", word);
    }
    rdk_shade_write(t, &shades);
    rdk_text_add(t, "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                 b->x, b->y, b->width, b->height);
    rdk_svg_text(t, b->x, b->y + b->height + 14, "number", "0");
    snprintf(word, sizeof word, "step %.0f", last);
    rdk_svg_text(t, b->x + b->width, b->y + b->height + 14, "number end", word);
    return thinned;
}

static void saturation_rows(rdk_report *r, rdk_text *t)
{
    rdk_text csv = {0};
    rdk_text_add(&csv, "series,d_k,layer,head,step,sat99\n");
    for (size_t s = 0; s < r->n_series; s++) {
        for (size_t p = 0; p < r->n_panels; p++) {
            rdk_cell c = {s, p, RDK_BEST_RATE};
            const rdk_report_run *run = rdk_cell_example(r, &c);
            for (size_t k = 0; run && k < run->layers * run->heads && k < MOST_ROWS; k++) {
                stretch v = {0};
                while (next_stretch(&run->saturation[k], &v)) {
                    rdk_figure_field(&csv, r->series[s]);
                    rdk_figure_value(&csv, (double)r->d_k[p]);
                    rdk_figure_value(&csv, rdk_count(k / run->heads));
                    rdk_figure_value(&csv, (double)(k % run->heads));
                    rdk_figure_value(&csv, v.step);
                    rdk_figure_value(&csv, v.most);
                    rdk_text_add(&csv, "\n");
                }
            }
        }
    }
    rdk_figure_csv(t, rdk_report_id(r, "fig-saturation"), &csv);
    rdk_text_free(&csv);
}

static size_t most_rows(const rdk_report *r)
{
    size_t most = 1;
    for (size_t i = 0; i < r->n_runs; i++) {
        size_t rows = r->runs[i].layers * r->runs[i].heads;
        if (rows > most) most = rows;
    }
    return most < MOST_ROWS ? most : MOST_ROWS;
}

/* One map of each series and d_k; side by side the series, under each other the d_k. */
static void saturation_figure(rdk_report *r, rdk_text *t)
{
    size_t columns = r->n_series < 4 ? r->n_series : 4;
    if (columns < 2) columns = 2;
    size_t lines = (r->n_series + columns - 1) / columns;
    double cell = (double)RDK_FIGURE_WIDTH / (double)columns;
    double tall = fmin(fmax(14 * (double)most_rows(r), 48), 220), line = tall + LABELS + BOTTOM;
    bool thinned = false;
    rdk_figure_open(t, rdk_report_id(r, "fig-saturation"), "marks", false,
                    22 + line * (double)(lines * r->n_panels), "Saturated rows by head and step");
    rdk_shade_key(t, LEFT, 4, "0", "1: share of rows with p > 0.99");
    for (size_t p = 0; p < r->n_panels; p++) {
        for (size_t s = 0; s < r->n_series; s++) {
            rdk_cell c = {s, p, RDK_BEST_RATE};
            const rdk_report_run *run = rdk_cell_example(r, &c);
            if (!run || !run->layers) continue;
            rdk_text title = {0};
            rdk_text_add(&title, "%s", r->series[s]);
            if (r->n_panels > 1) rdk_text_add(&title, ", d_k = %zu", r->d_k[p]);
            box b = {cell * (double)(s % columns) + LEFT,
                     22 + LABELS + line * rdk_count(p * lines + s / columns), cell - LEFT - GAP,
                     tall};
            thinned |= draw_map(t, run, &b, title.data ? title.data : "");
            rdk_text_free(&title);
        }
    }
    rdk_text caption = {0};
    rdk_metric_link(&caption, "sat99", "Share of rows");
    rdk_text_add(&caption, " whose largest p exceeds 0.99, a row a layer.head, over the steps");
    if (r->n_runs > r->n_series * r->n_panels)
        rdk_text_add(&caption, "; one run of each (the first that did not diverge)");
    if (thinned) rdk_text_add(&caption, "; the largest of each of %d stretches", MOST_STEPS);
    rdk_text_add(&caption, ".");
    rdk_figure_close(t, caption.data ? caption.data : "");
    rdk_text_free(&caption);
    saturation_rows(r, t);
}

void rdk_section_maps(rdk_report *r, rdk_text *t)
{
    if (!r->layers) {
        rdk_text_add(t, "<p class=\"none\">Attention was not looked at: train with --probe-every "
                        "N.</p>\n");
        return;
    }
    saturation_figure(r, t);
    rdk_attention_maps(r, t);
}
