/* SPDX-License-Identifier: MIT
 * Section 5, second half: attention maps of one fixed example, with its tokens, at the first and
 * the last step that a run kept (maps.csv and example.csv).
 * Read next: sec_rates.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page.h"
#include "shade.h"

enum { MOST_TOKENS = 32, MOST_HEADS = 4, COLUMNS = 4, SIDE = 196, LEFT = 34 };
enum { TOP = 24, BOTTOM = 28, LINE = SIDE + TOP + 14 };

/* The maps of one run. */
typedef struct maps {
    const rdk_report_run *run;
    rdk_table *table, *example;
    const double *step, *layer, *head, *query, *key, *p;
    double last_step;
    size_t tokens;
} maps;

typedef struct head_id {
    double layer, head;
} head_id;

static void close_maps(maps *m)
{
    rdk_table_free(m->table);
    rdk_table_free(m->example);
    *m = (maps){0};
}

/* False where there are none, or they are damaged (a note says so). */
static bool open_maps(rdk_report *r, maps *m, const rdk_report_run *run)
{
    char path[RDK_PATH_TEXT + 64];
    rdk_status s = {0};
    *m = (maps){.run = run};
    snprintf(path, sizeof path, "%s/maps.csv", run->saved.path);
    if (!rdk_file_exists(path)) return false;
    m->table = rdk_saved_run_table(&run->saved, "maps.csv", &s);
    m->example = m->table ? rdk_saved_run_table(&run->saved, "example.csv", &s) : NULL;
    const rdk_table *t = m->table;
    bool ok = m->example && (m->step = rdk_table_numbers(t, "step", &s)) &&
              (m->layer = rdk_table_numbers(t, "layer", &s)) &&
              (m->head = rdk_table_numbers(t, "head", &s)) &&
              (m->query = rdk_table_numbers(t, "query", &s)) &&
              (m->key = rdk_table_numbers(t, "key", &s)) && (m->p = rdk_table_numbers(t, "p", &s));
    for (size_t i = 0; ok && i < t->rows; i++) {
        m->last_step = fmax(m->last_step, m->step[i]);
        if (m->query[i] >= 0 && m->query[i] < MOST_TOKENS && (size_t)m->query[i] >= m->tokens)
            m->tokens = (size_t)m->query[i] + 1;
    }
    if (ok && m->tokens) return true;
    if (!ok) rdk_report_note(r, run->name, s.message);
    close_maps(m);
    return false;
}

/* Mean over queries of the largest p at the last step: how sharp a head is. */
static double sharpness(const maps *m, head_id h)
{
    double most[MOST_TOKENS] = {0}, sum = 0;
    for (size_t i = 0; i < m->table->rows; i++) {
        bool ours = m->step[i] == m->last_step && m->layer[i] == h.layer && m->head[i] == h.head;
        if (!ours || !(m->query[i] >= 1) || m->query[i] >= MOST_TOKENS) continue;
        size_t q = (size_t)m->query[i];
        most[q] = fmax(most[q], m->p[i]);
    }
    for (size_t q = 0; q < MOST_TOKENS; q++) sum += most[q];
    return sum;
}

/* Which heads are shown: of a run alone the first ones; of several, the sharpest of the first and
 * of the last layer. */
static size_t choose_heads(const rdk_report *r, const maps *m, head_id chosen[MOST_HEADS])
{
    size_t n = 0;
    if (!r->ablation) {
        for (size_t k = 0; k < m->run->layers * m->run->heads && n < MOST_HEADS; k++)
            chosen[n++] = (head_id){rdk_count(k / m->run->heads), (double)(k % m->run->heads)};
        return n;
    }
    for (size_t end = 0; end < 2 && end < m->run->layers; end++) {
        double layer = end ? (double)(m->run->layers - 1) : 0, best = -1;
        chosen[n] = (head_id){layer, 0};
        for (size_t head = 0; head < m->run->heads; head++) {
            head_id h = {layer, (double)head};
            double sharp = sharpness(m, h);
            if (sharp > best) chosen[n] = h;
            best = fmax(best, sharp);
        }
        n++;
    }
    return n;
}

/* As large as their lines allow. */
static void labels_open(rdk_text *t, double side)
{
    rdk_text_add(t, "<g style=\"font-size:%.1fpx\">", fmin(fmax(0.92 * side, 5.5), 9));
}

/* The tokens of the example: beside the rows, or below the columns. */
static void row_labels(rdk_text *t, const maps *m, double x, double y, double side)
{
    int input = rdk_table_column(m->example, "input");
    int counted = rdk_table_column(m->example, "counted");
    labels_open(t, side);
    for (size_t k = 0; k < m->tokens && k < m->example->rows; k++) {
        bool asked = !strcmp(rdk_table_word(m->example, k, counted), "1");
        rdk_svg_text(t, x - 3, y + side * ((double)k + 0.5) + 2.2,
                     asked ? "token end asked" : "token end", rdk_table_word(m->example, k, input));
    }
    rdk_text_add(t, "</g>\n");
}

static void column_labels(rdk_text *t, const maps *m, double x, double y, double side)
{
    int input = rdk_table_column(m->example, "input");
    labels_open(t, side);
    for (size_t k = 0; k < m->tokens && k < m->example->rows; k++) {
        rdk_text_add(t, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">",
                     x + side * ((double)k + 0.5) + 2.2, y + SIDE + 3);
        rdk_svg_text(t, 0, 0, "token end", rdk_table_word(m->example, k, input));
        rdk_text_add(t, "</g>");
    }
    rdk_text_add(t, "</g>\n");
}

/* The figure while it is drawn. */
typedef struct sketch {
    rdk_report *r;
    rdk_text svg, csv;
    size_t placed;
    bool alike; /* all runs have the same example: labels at the first column and line are enough */
} sketch;

static double line_height(const sketch *k)
{
    return LINE + (k->alike ? 0 : BOTTOM);
}

/* The weights of a map, [query, key]; NAN where there is none. */
static void take_map(const maps *m, head_id h, double step, double p[MOST_TOKENS][MOST_TOKENS])
{
    for (size_t q = 0; q < MOST_TOKENS; q++)
        for (size_t k = 0; k < MOST_TOKENS; k++) p[q][k] = NAN;
    for (size_t i = 0; i < m->table->rows; i++) {
        if (m->step[i] != step || m->layer[i] != h.layer || m->head[i] != h.head) continue;
        bool inside = m->query[i] >= 0 && m->query[i] < MOST_TOKENS && m->key[i] >= 0 &&
                      m->key[i] < MOST_TOKENS;
        if (inside) p[(size_t)m->query[i]][(size_t)m->key[i]] = m->p[i];
    }
}

static void draw_map(sketch *k, const maps *m, head_id h, double step, const char *title)
{
    double x = (double)(k->placed % COLUMNS) * (double)RDK_FIGURE_WIDTH / COLUMNS + LEFT;
    double y = 20 + TOP + rdk_count(k->placed / COLUMNS) * line_height(k);
    double side = (double)SIDE / (double)m->tokens, p[MOST_TOKENS][MOST_TOKENS];
    rdk_shades shades = {0};
    if (k->alike && k->placed >= COLUMNS) y += BOTTOM;
    take_map(m, h, step, p);
    rdk_text_add(&k->svg, "<a href=\"#m-map\">");
    rdk_room room = {x - LEFT + 6, x - LEFT + (double)RDK_FIGURE_WIDTH / COLUMNS - 6};
    rdk_svg_title(&k->svg, x, y - 7, &room, true, title);
    rdk_text_add(&k->svg, "</a>");
    for (size_t q = 0; q < m->tokens; q++) {
        rdk_figure_field(&k->csv, k->r->series[m->run->series]);
        rdk_text_add(&k->csv, ",%.0f,%.0f,%.0f,%zu", h.layer, h.head, step, q);
        for (size_t key = 0; key < MOST_TOKENS; key++) {
            double weight = key < m->tokens ? p[q][key] : NAN;
            rdk_shade_cell(&shades, sqrt(weight), (double)key, (double)q, 1, 1);
            rdk_figure_value(&k->csv, weight);
        }
        rdk_text_add(&k->csv, "\n");
    }
    rdk_text_add(&k->svg, "<g transform=\"translate(%.1f %.1f) scale(%.4f)\">", x, y, side);
    rdk_shade_write(&k->svg, &shades);
    rdk_text_add(&k->svg,
                 "</g><rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>", x,
                 y, SIDE, SIDE);
    if (!k->alike || k->placed % COLUMNS == 0) row_labels(&k->svg, m, x, y, side);
    if (!k->alike || k->placed < COLUMNS) column_labels(&k->svg, m, x, y, side);
    k->placed++;
}

/* Two maps a head, at the first and the last step. */
static void draw_run(sketch *k, const maps *m)
{
    head_id heads[MOST_HEADS];
    size_t n = choose_heads(k->r, m, heads);
    for (size_t i = 0; i < n; i++) {
        for (int end = 0; end < 2; end++) {
            double step = end ? m->last_step : 0;
            rdk_text title = {0};
            rdk_text_add(&title, "%s, head %.0f.%.0f, step %.0f", k->r->series[m->run->series],
                         heads[i].layer, heads[i].head, step);
            draw_map(k, m, heads[i], step, title.data ? title.data : "");
            rdk_text_free(&title);
        }
    }
}

static const rdk_report_run *example_of(const rdk_report *r, size_t series)
{
    rdk_cell c = {series, r->n_panels - 1, RDK_BEST_RATE};
    return rdk_cell_example(r, &c);
}

/* The example of a run is made from its seed. */
static bool examples_alike(const rdk_report *r)
{
    const rdk_report_run *first = NULL;
    for (size_t s = 0; s < r->n_series; s++) {
        const rdk_report_run *run = example_of(r, s);
        if (!run) continue;
        if (first && run->saved.config.seed != first->saved.config.seed) return false;
        first = run;
    }
    return true;
}

static void write_figure(sketch *k, rdk_text *t)
{
    double lines = rdk_count((k->placed + COLUMNS - 1) / COLUMNS);
    rdk_figure_open(t, rdk_report_id(k->r, "fig-maps"), "marks", false,
                    20 + (k->alike ? BOTTOM : 0) + lines * line_height(k),
                    "Attention maps of one example");
    rdk_shade_key(t, LEFT, 2, "0", "1: p, by its square root");
    if (k->svg.failed) t->failed = true;
    rdk_text_bytes(t, k->svg.data ? k->svg.data : "", k->svg.size);
    rdk_figure_close(t, "<a class=\"metric\" href=\"#m-map\">Attention</a> in one fixed held-out "
                        "sequence, at the largest d_k: a row a "
                        "query, a column a key, before the first update and at the end. Queries in "
                        "bold have a counted target. Of several runs the sharpest head of the "
                        "first and of the last layer; of a run alone its first four heads.");
    rdk_figure_csv(t, rdk_report_id(k->r, "fig-maps"), &k->csv);
}

void rdk_attention_maps(rdk_report *r, rdk_text *t)
{
    sketch k = {.r = r, .alike = examples_alike(r)};
    rdk_text_add(&k.csv, "series,layer,head,step,query");
    for (int key = 0; key < MOST_TOKENS; key++) rdk_text_add(&k.csv, ",p%d", key);
    rdk_text_add(&k.csv, "\n");
    for (size_t s = 0; s < r->n_series; s++) {
        const rdk_report_run *run = example_of(r, s);
        maps m;
        if (!run || !open_maps(r, &m, run)) continue;
        draw_run(&k, &m);
        close_maps(&m);
    }
    if (k.placed)
        write_figure(&k, t);
    else
        rdk_text_add(t, "<p class=\"none\">No attention maps: these runs have no maps.csv. A run "
                        "writes one for its first held-out sequence where attention is looked at "
                        "(--probe-every).</p>\n");
    rdk_text_free(&k.svg);
    rdk_text_free(&k.csv);
}
