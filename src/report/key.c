/* SPDX-License-Identifier: MIT
 * The key of a figure: its series, each with its colour and dashes, and below them what every other
 * mark of the figure stands for.
 *
 * Invariant: a pattern has one meaning. Long dashes tell series apart; round dots are theory; short
 * grey dashes are a reference that has its name on it; circles are held-out.
 * Read next: curves.c. */
#include <string.h>

#include "figure.h"
#include "svg.h"

enum { LINE = 20, SAMPLE = 28, BEHIND = 34, LETTER = 7, APART = 16 };

static size_t key_columns(const rdk_report *r, bool half)
{
    size_t longest = 0;
    for (size_t s = 0; s < r->n_series; s++)
        if (strlen(r->series[s]) > longest) longest = strlen(r->series[s]);
    size_t columns = (size_t)(RDK_FIGURE_WIDTH / (half ? 2 : 1) - RDK_FIGURE_LEFT) /
                     (BEHIND + APART + LETTER * longest);
    return columns ? columns : 1;
}

static double series_height(const rdk_report *r, bool half)
{
    size_t columns = key_columns(r, half);
    return LINE * rdk_count((r->n_series + columns - 1) / columns);
}

double rdk_key_height(const rdk_report *r, bool half, unsigned marks)
{
    return series_height(r, half) + (marks ? LINE : 0);
}

static void sample(rdk_text *t, const char *classes, double x, double y, const char *path)
{
    rdk_text_add(t, "<path class=\"%s\" d=\"M", classes);
    rdk_coordinate(t, x);
    rdk_text_add(t, " ");
    rdk_coordinate(t, y);
    rdk_text_add(t, "%s\"/>", path);
}

static const struct mark {
    unsigned mark;
    const char *classes, *path, *says;
} MARKS[] = {
    {RDK_KEY_SEED, "run", "h28", "one seed"},
    {RDK_KEY_BAND, "band", "m0-5h28v10h-28z", "95 % interval of the mean"},
    {RDK_KEY_HELD, "held", "m11.6 0a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0-4.8 0", "held-out"},
    {RDK_KEY_THEORY, "theory", "h28", "theory, for the start"},
    {RDK_KEY_LEVEL, "level", "h28", "reference, named on it"},
    {RDK_KEY_DIAGONAL, "level", "h28", "where they agree"},
    {RDK_KEY_DEATH, "death", "m10-4l8 8m0-8l-8 8", "became non-finite"},
};

/* In the colour of the text: they are said of all series. */
static void draw_marks(rdk_text *t, unsigned marks, double y)
{
    double x = RDK_FIGURE_LEFT;
    rdk_text_add(t, "<g class=\"marks\">");
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++) {
        const struct mark *m = &MARKS[i];
        if (!(marks & m->mark)) continue;
        sample(t, m->classes, x, y - 4, m->path);
        rdk_svg_text(t, x + BEHIND, y, "label soft", m->says);
        x += BEHIND + APART + 5.2 * rdk_count(strlen(m->says));
    }
    rdk_text_add(t, "</g>\n");
}

void rdk_figure_key(rdk_text *t, const rdk_report *r, bool half, unsigned marks)
{
    size_t columns = key_columns(r, half), longest = 0;
    for (size_t s = 0; s < r->n_series; s++)
        if (strlen(r->series[s]) > longest) longest = strlen(r->series[s]);
    double step = BEHIND + APART + LETTER * rdk_count(longest);
    for (size_t s = 0; s < r->n_series; s++) {
        double x = RDK_FIGURE_LEFT + step * rdk_count(s % columns);
        double y = 12 + LINE * rdk_count(s / columns);
        char classes[32];
        snprintf(classes, sizeof classes, "mean c%d d%d", r->colour[s], r->dash[s]);
        rdk_text_add(t, "<g class=\"key\" data-s=\"%zu\">", s);
        if (marks & RDK_KEY_POINTS) {
            snprintf(classes, sizeof classes, "dot c%d", r->colour[s]);
            sample(t, classes, x, y - 4, "m10.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z");
        } else {
            sample(t, classes, x, y - 4, "h28");
        }
        rdk_svg_text(t, x + BEHIND, y, "label", r->series[s]);
        rdk_text_add(t, "</g>\n");
    }
    if (marks) draw_marks(t, marks, 12 + series_height(r, half));
}
