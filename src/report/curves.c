/* SPDX-License-Identifier: MIT
 * Figures of curves over the steps: small multiples, one panel for each d_k; seeds as thin lines,
 * their mean as a thick one, its interval as a band.
 *
 * Beside the drawing, the numbers stand in the page for the script, as the CSV files have them.
 * Read next: page_draw.js, which draws the same anew when the reader zooms or filters. */
#include <math.h>
#include <stdio.h>

#include "figure.h"
#include "svg.h"

enum { MOST_POINTS_A_CURVE = 480, FEWEST_POINTS_A_CURVE = 40 };
enum { MOST_COLUMNS = 4, BOTH_UP_TO = 8, ALONE_COLUMNS = 2 };

/* What one figure is drawn from. */
typedef struct drawing {
    rdk_report *r;
    rdk_text *t;
    const char *id;
    const rdk_curve_row *rows;
    size_t n_rows, most;
    unsigned marks; /* of its key */
    double height;
    rdk_text steps; /* JSON: the lists of steps, each once */
    const double **step_list;
    size_t *step_count, n_lists;
    bool thinned;
} drawing;

/* ---- which curves ---------------------------------------------------------------------------- */

/* Points that a curve may have. */
static size_t points_allowed(const rdk_report *r, size_t n_rows, size_t budget)
{
    size_t fair = budget / (n_rows * r->n_runs);
    if (fair > MOST_POINTS_A_CURVE) return MOST_POINTS_A_CURVE;
    return fair < FEWEST_POINTS_A_CURVE ? FEWEST_POINTS_A_CURVE : fair;
}

static rdk_curve thin(drawing *d, const rdk_curve *c)
{
    rdk_curve finite = rdk_curve_finite(d->r, c), thinned = rdk_curve_thin(d->r, &finite, d->most);
    d->thinned = d->thinned || thinned.n < finite.n;
    return thinned;
}

static const rdk_curve *curve_of(const rdk_curve_row *row, const rdk_report_run *run, bool second)
{
    rdk_curve_of *pick = second ? row->second : row->curve;
    return pick ? pick(run, row->which) : NULL;
}

/* Curves of a run in a panel: training alone, or held-out beside it. */
static int splits_of(const drawing *d, const rdk_curve_row *row)
{
    return row->second && d->r->n_runs <= BOTH_UP_TO ? 2 : 1;
}

/* ---- axes ------------------------------------------------------------------------------------ */

static rdk_axis y_axis(const drawing *d, const rdk_curve_row *row)
{
    rdk_axis a = rdk_axis_new(row->unit, row->log);
    rdk_level levels[RDK_MOST_LEVELS];
    if (row->share) return (rdk_axis){.low = 0, .high = 1.02, .label = row->unit};
    double first = 0;
    for (size_t i = 0; i < d->r->n_runs; i++) {
        const rdk_curve *c = curve_of(row, &d->r->runs[i], false);
        if (c && c->n && isfinite(c->y[0])) first = fmax(first, c->y[0]);
    }
    for (size_t p = 0; row->levels && p < d->r->n_panels; p++) {
        size_t n = row->levels(d->r, p, row->which, levels);
        for (size_t i = 0; i < n; i++) {
            first = fmax(first, levels[i].y);
            rdk_axis_take(&a, levels[i].y);
        }
    }
    for (size_t i = 0; i < d->r->n_runs; i++) {
        for (int second = 0; second < splits_of(d, row); second++) {
            const rdk_curve *c = curve_of(row, &d->r->runs[i], second);
            for (size_t k = 0; c && k < c->n; k++)
                if (row->log || c->y[k] <= 3 * first) rdk_axis_take(&a, c->y[k]);
        }
    }
    rdk_axis_finish(&a);
    return a;
}

static rdk_axis x_axis(const drawing *d)
{
    rdk_axis a = rdk_axis_new("step", false);
    rdk_axis_take(&a, 0);
    for (size_t i = 0; i < d->r->n_runs; i++) rdk_axis_take(&a, d->r->runs[i].step);
    if (!(a.low < a.high)) a.high = 1;
    a.low = 0;
    return a;
}

/* ---- the numbers for the script -------------------------------------------------------------- */

/* The number of this list of steps; written where it is new. */
static size_t steps_of(drawing *d, const rdk_curve *c)
{
    for (size_t i = 0; i < d->n_lists; i++) {
        size_t k = 0;
        if (d->step_count[i] != c->n) continue;
        while (k < c->n && d->step_list[i][k] == c->x[k]) k++;
        if (k == c->n) return i;
    }
    rdk_text_add(&d->steps, "%s[", d->n_lists ? "," : "");
    for (size_t k = 0; k < c->n; k++) rdk_text_add(&d->steps, "%s%.0f", k ? "," : "", c->x[k]);
    rdk_text_add(&d->steps, "]");
    d->step_list[d->n_lists] = c->x;
    d->step_count[d->n_lists] = c->n;
    return d->n_lists++;
}

static void curve_json(drawing *d, size_t run, const rdk_curve *c, bool second, bool first)
{
    rdk_text_add(d->t, "%s{\"r\":%zu,\"x\":%zu,%s\"y\":[", first ? "" : ",\n", run, steps_of(d, c),
                 second ? "\"h\":1," : "");
    for (size_t k = 0; k < c->n; k++) {
        if (k) rdk_text_add(d->t, ",");
        rdk_page_number(d->t, c->y[k]);
    }
    rdk_text_add(d->t, "]}");
}

static void panel_json(drawing *d, const rdk_curve_row *row, size_t panel, const rdk_panel *p)
{
    rdk_level levels[RDK_MOST_LEVELS];
    rdk_level_place places[RDK_MOST_LEVELS];
    rdk_report *r = d->r;
    rdk_text_add(d->t, "{\"box\":[%.2f,%.2f,%.2f,%.2f],\"x\":[", p->left, p->top, p->width,
                 p->height);
    rdk_page_number(d->t, p->x.low);
    rdk_text_add(d->t, ",");
    rdk_page_number(d->t, p->x.high);
    rdk_text_add(d->t, "],\"y\":[");
    rdk_page_number(d->t, p->y.low);
    rdk_text_add(d->t, ",");
    rdk_page_number(d->t, p->y.high);
    rdk_text_add(d->t, "],\"log\":%d,\"row\":%zu,\"d_k\":%zu,\"metric\":", row->log,
                 (size_t)(row - d->rows), r->d_k[panel]);
    rdk_page_json(d->t, row->title);
    rdk_text_add(d->t, ",\"levels\":[");
    size_t n = row->levels ? row->levels(r, panel, row->which, levels) : 0;
    rdk_level_places(r, row, panel, p, levels, n, places);
    for (size_t i = 0; i < n; i++) {
        rdk_text_add(d->t, "%s[", i ? "," : "");
        rdk_page_number(d->t, levels[i].y);
        rdk_text_add(d->t, ",%d,", levels[i].series);
        rdk_page_json(d->t, levels[i].label);
        rdk_text_add(d->t, ",%d,%d]", (int)places[i].anchor, places[i].below);
    }
    rdk_text_add(d->t, "],\"curves\":[");
    bool first = true;
    for (size_t i = 0; i < r->n_runs; i++) {
        for (int second = 0; second < splits_of(d, row); second++) {
            const rdk_curve *c = curve_of(row, &r->runs[i], second);
            if (r->runs[i].panel != panel || !c || !c->n) continue;
            rdk_curve thinned = thin(d, c);
            curve_json(d, i, &thinned, second, first);
            first = false;
        }
    }
    rdk_text_add(d->t, "]}");
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void draw_levels(drawing *d, const rdk_curve_row *row, size_t panel, const rdk_panel *p)
{
    rdk_level levels[RDK_MOST_LEVELS];
    char classes[32];
    size_t n = row->levels ? row->levels(d->r, panel, row->which, levels) : 0;
    for (size_t i = 0; i < n; i++) {
        if (levels[i].series < 0)
            snprintf(classes, sizeof classes, "level");
        else
            snprintf(classes, sizeof classes, "theory c%d", d->r->colour[levels[i].series]);
        rdk_panel_level(d->t, p, levels[i].y, classes);
    }
}

static void draw_words(drawing *d, const rdk_curve_row *row, size_t panel, const rdk_panel *p)
{
    rdk_level levels[RDK_MOST_LEVELS];
    rdk_level_place places[RDK_MOST_LEVELS];
    size_t n = row->levels ? row->levels(d->r, panel, row->which, levels) : 0;
    rdk_level_places(d->r, row, panel, p, levels, n, places);
    for (size_t i = 0; i < n; i++)
        if (levels[i].series < 0 && levels[i].y <= p->y.high)
            rdk_panel_name(d->t, p, &levels[i], &places[i]);
}

/* The runs of a series, then their mean. A run alone is its own mean. */
static void draw_series(drawing *d, const rdk_curve_row *row, size_t panel, size_t series,
                        const rdk_panel *p, bool second)
{
    rdk_report *r = d->r;
    rdk_cell best = {series, panel, RDK_BEST_RATE};
    rdk_band band =
        rdk_cell_band(r, &best, second ? row->second : row->curve, row->which, row->log);
    char attributes[64];
    int colour = r->colour[series];
    if (band.runs > 2) {
        snprintf(attributes, sizeof attributes, "class=\"band c%d\"", colour);
        rdk_panel_band(d->t, p, &band, attributes);
    }
    for (size_t i = 0; i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        const rdk_curve *c = curve_of(row, run, second);
        if (run->series != series || run->panel != panel || !c || !c->n) continue;
        if (run->best_rate && band.runs == 1 && !run->diverged) continue;
        rdk_curve thinned = thin(d, c);
        snprintf(attributes, sizeof attributes, "class=\"run c%d%s\"", colour,
                 run->best_rate ? "" : " alt");
        rdk_panel_line(d->t, p, &thinned, attributes);
    }
    rdk_curve mean = thin(d, &band.mean);
    snprintf(attributes, sizeof attributes,
             second ? "class=\"held c%d\"" : "class=\"mean c%d d%d\"", colour, r->dash[series]);
    if (mean.n && second) rdk_panel_circles(d->t, p, &mean, attributes);
    if (mean.n && !second) rdk_panel_line(d->t, p, &mean, attributes);
}

/* What the figure shows, so that its key says so. */
static unsigned marks_of(drawing *d)
{
    unsigned marks = d->r->n_seeds > 1 ? RDK_KEY_SEED : 0;
    rdk_level levels[RDK_MOST_LEVELS];
    if (d->r->n_seeds > 2) marks |= RDK_KEY_BAND;
    for (size_t row = 0; row < d->n_rows; row++) {
        const rdk_curve_row *c = &d->rows[row];
        if (splits_of(d, c) > 1) marks |= RDK_KEY_HELD;
        for (size_t p = 0; c->levels && p < d->r->n_panels; p++) {
            size_t n = c->levels(d->r, p, c->which, levels);
            for (size_t i = 0; i < n; i++)
                marks |= levels[i].series < 0 ? RDK_KEY_LEVEL : RDK_KEY_THEORY;
        }
    }
    for (size_t i = 0; i < d->r->n_runs; i++)
        if (!isnan(d->r->runs[i].died_step)) marks |= RDK_KEY_DEATH;
    return marks;
}

static void draw_deaths(drawing *d, const rdk_curve_row *row, size_t panel, const rdk_panel *p)
{
    char classes[64];
    for (size_t i = 0; i < d->r->n_runs; i++) {
        const rdk_report_run *run = &d->r->runs[i];
        const rdk_curve *c = curve_of(row, run, false);
        if (run->panel != panel || !c || isnan(run->died_step)) continue;
        double y = NAN;
        for (size_t k = 0; k < c->n; k++)
            if (isfinite(c->y[k])) y = c->y[k];
        snprintf(classes, sizeof classes, "death%s", run->best_rate ? "" : " alt");
        if (isfinite(y)) rdk_panel_cross(d->t, p, run->died_step, y, classes);
    }
}

static void draw_panel(drawing *d, const rdk_curve_row *row, size_t panel, rdk_panel p, size_t k)
{
    char title[160];
    if (d->r->n_panels > 1)
        snprintf(title, sizeof title, "%s, d_k = %zu", row->title, d->r->d_k[panel]);
    else
        snprintf(title, sizeof title, "%s", row->title);
    p.title = title;
    p.metric = row->metric;
    rdk_panel_open(d->t, &p, d->id, k);
    rdk_panel_clip(d->t, &p, d->id, k);
    draw_levels(d, row, panel, &p);
    for (size_t s = 0; s < d->r->n_series; s++) {
        draw_series(d, row, panel, s, &p, false);
        if (splits_of(d, row) > 1) draw_series(d, row, panel, s, &p, true);
    }
    rdk_panel_unclip(d->t);
    draw_words(d, row, panel, &p);
    draw_deaths(d, row, panel, &p);
    rdk_panel_close(d->t);
}

/* Where the k-th panel stands: rows of panels under each other, or, with one d_k, side by side. */
static rdk_panel place_panel(drawing *d, size_t row, size_t panel, const rdk_axis *x,
                             const rdk_axis *y)
{
    size_t n = d->r->n_panels, columns, k;
    if (n <= 1) {
        columns = d->n_rows == 3 || d->n_rows > 4 ? 3 : ALONE_COLUMNS;
        k = row;
        n = d->n_rows;
    } else {
        columns = n < MOST_COLUMNS ? n : MOST_COLUMNS;
        size_t lines = (n + columns - 1) / columns;
        k = row * lines * columns + panel;
        n = d->n_rows * lines * columns;
    }
    rdk_panel p = rdk_panel_at(k, n, columns, rdk_key_height(d->r, false, d->marks), &d->height);
    p.x = *x;
    p.y = *y;
    return p;
}

static void figure_json(drawing *d, const rdk_axis *x)
{
    rdk_text_add(d->t,
                 "<script type=\"application/json\" class=\"curves\" data-of=\"%s\">"
                 "{\"panels\":[\n",
                 d->id);
    for (size_t row = 0; row < d->n_rows; row++) {
        rdk_axis y = y_axis(d, &d->rows[row]);
        for (size_t panel = 0; panel < d->r->n_panels; panel++) {
            rdk_panel p = place_panel(d, row, panel, x, &y);
            rdk_text_add(d->t, row || panel ? ",\n" : "");
            panel_json(d, &d->rows[row], panel, &p);
        }
    }
    rdk_text_add(d->t, "],\n\"steps\":[%s],\"thinned\":%d}</script>\n",
                 d->steps.data ? d->steps.data : "", d->thinned);
    if (d->steps.failed) d->t->failed = true;
}

void rdk_curve_figure(rdk_report *r, rdk_text *t, const char *id, const rdk_curve_row *rows,
                      size_t n_rows, size_t budget, const char *caption)
{
    drawing d = {.r = r, .t = t, .id = id, .rows = rows, .n_rows = n_rows};
    size_t lists = 2 * r->n_runs * n_rows + 1;
    rdk_axis x = x_axis(&d), unused = {.high = 1};
    rdk_text words = {0};
    d.most = points_allowed(r, n_rows, budget);
    d.step_list = rdk_report_alloc(r, lists, sizeof *d.step_list);
    d.step_count = rdk_report_alloc(r, lists, sizeof *d.step_count);
    if (!d.step_list || !d.step_count) return;
    d.marks = marks_of(&d);
    place_panel(&d, 0, 0, &x, &unused);
    rdk_figure_open(t, id, "curves", false, d.height, rows[0].title);
    rdk_figure_key(t, r, false, d.marks);
    for (size_t row = 0; row < n_rows; row++) {
        rdk_axis y = y_axis(&d, &rows[row]);
        for (size_t panel = 0; panel < r->n_panels; panel++)
            draw_panel(&d, &rows[row], panel, place_panel(&d, row, panel, &x, &y),
                       row * r->n_panels + panel);
    }
    rdk_text_add(&words, "%s", caption);
    if (d.thinned)
        rdk_text_add(&words,
                     " Thinned to at most %zu points a curve: of each stretch its lowest and its "
                     "highest stay.",
                     d.most);
    rdk_figure_close(t, words.data ? words.data : "");
    rdk_text_free(&words);
    figure_json(&d, &x);
    rdk_text_free(&d.steps);
}
