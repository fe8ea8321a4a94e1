/* SPDX-License-Identifier: MIT
 * Where the names of reference lines stand in a panel: on their line, where no curve, no circle and
 * no other name is, else as little above it as is free.
 * Read next: curves.c. */
#include <math.h>
#include <string.h>

#include "figure.h"

static const double LETTER = 4.8, TALL = 8, CIRCLE = 2.4; /* of a name of 9.5 px; a held-out mark */
enum { LOOKS = 16 };                                      /* at a curve, over the width of a name */

/* In figure units from the upper left of the panel. */
typedef struct area {
    double left, right, top, bottom;
} area;

static area area_of(const rdk_panel *p, const rdk_level *l, const rdk_level_place *place)
{
    double width = LETTER * rdk_count(strlen(l->label));
    double left = place->anchor == RDK_AT_END     ? p->width - width
                  : place->anchor == RDK_AT_START ? 4
                                                  : (p->width - width) / 2;
    double base = p->height * (1 - rdk_axis_place(&p->y, l->y)) + place->below;
    return (area){left, left + width, base - TALL, base + 1};
}

static bool holds(const area *a, double x, double y, double around)
{
    return x >= a->left - around && x <= a->right + around && y >= a->top - around &&
           y <= a->bottom + around;
}

static double y_of(const rdk_panel *p, double y)
{
    return p->height * (1 - rdk_axis_place(&p->y, y));
}

/* The curve at x, between its points on a straight line; NAN outside of it. */
static double curve_at(const rdk_curve *c, double x)
{
    size_t k = 0;
    while (k < c->n && c->x[k] < x) k++;
    if (k == c->n || (k == 0 && c->x[0] > x)) return NAN;
    if (c->x[k] == x) return c->y[k];
    double share = (x - c->x[k - 1]) / (c->x[k] - c->x[k - 1]);
    return c->y[k - 1] + share * (c->y[k] - c->y[k - 1]);
}

static size_t line_hits(const rdk_panel *p, const area *a, const rdk_curve *c)
{
    size_t hits = 0;
    for (int i = 0; c && i <= LOOKS; i++) {
        double x = a->left + (a->right - a->left) * i / LOOKS;
        double y = curve_at(c, p->x.low + (p->x.high - p->x.low) * x / p->width);
        hits += isfinite(y) && holds(a, x, y_of(p, y), 1);
    }
    return hits;
}

static size_t circle_hits(const rdk_panel *p, const area *a, const rdk_curve *c)
{
    size_t hits = 0;
    for (size_t k = 0; c && k < c->n; k++)
        hits += holds(a, p->width * rdk_axis_place(&p->x, c->x[k]), y_of(p, c->y[k]), CIRCLE);
    return hits;
}

static size_t hits_of(const rdk_report *r, const rdk_curve_row *row, size_t panel,
                      const rdk_panel *p, const area *a)
{
    size_t hits = 0;
    for (size_t i = 0; i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        if (run->panel != panel || !run->best_rate) continue;
        hits += line_hits(p, a, row->curve(run, row->which));
        if (row->second) hits += circle_hits(p, a, row->second(run, row->which));
    }
    return hits;
}

static bool overlap(const area *a, const area *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

void rdk_level_places(const rdk_report *r, const rdk_curve_row *row, size_t panel,
                      const rdk_panel *p, const rdk_level *levels, size_t n, rdk_level_place *out)
{
    static const int below[] = {-3, 10, -11, -19, -27};
    enum { TRIES = sizeof below / sizeof *below };
    for (size_t i = 0; i < n; i++) {
        size_t fewest = SIZE_MAX;
        out[i] = (rdk_level_place){RDK_AT_END, below[0]};
        for (size_t k = 0; levels[i].series < 0 && k < 3 * TRIES && fewest; k++) {
            rdk_level_place place = {(rdk_anchor)(k % 3), below[k / 3]};
            area a = area_of(p, &levels[i], &place);
            if (a.top < 0 || a.bottom > p->height) continue;
            size_t hits = hits_of(r, row, panel, p, &a);
            for (size_t before = 0; before < i; before++) {
                area b = area_of(p, &levels[before], &out[before]);
                hits += levels[before].series < 0 && overlap(&a, &b) ? LOOKS : 0;
            }
            if (hits >= fewest) continue;
            fewest = hits;
            out[i] = place;
        }
    }
}
