/* SPDX-License-Identifier: MIT
 * Section 5, second half: attention maps of one fixed example, with its tokens, at the first and
 * the last step that a run kept (maps.csv and example.csv). Read next: sec_rates.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page.h"
#include "shade.h"

enum {
    MOST_TOKENS = 32,
    MOST_HEADS = 4,
    COLUMNS = 4,
    SIDE = 196,
    LEFT = 34,
    TOP = 24,
    BOTTOM = 42
};

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
            chosen[n++] = (head_id){(double)(k / m->run->heads), (double)(k % m->run->heads)};
        return n;
    }
    for (size_t end = 0; end < 2 && end < m->run->layers; end++) {
        double layer = end ? (double)(m->run->layers - 1) : 0, best = -1;
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

static void labels(rdk_text *t, const maps *m, double x, double y, double side)
{
    int input = rdk_table_column(m->example, "input");
    int counted = rdk_table_column(m->example, "counted");
    for (size_t k = 0; k < m->tokens && k < m->example->rows; k++) {
        const char *word = rdk_table_word(m->example, k, input);
        bool asked = !strcmp(rdk_table_word(m->example, k, counted), "1");
        double at = side * ((double)k + 0.5);
        rdk_svg_text(t, x - 3, y + at + 2.2, asked ? "token end asked" : "token end", word);
        rdk_text_add(t, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">", x + at + 2.2,
                     y + side * (double)m->tokens + 3);
        rdk_svg_text(t, 0, 0, "token end", word);
        rdk_text_add(t, "</g>");
    }
}

static void draw_map(rdk_text *t, const maps *m, head_id h, double step, double x, double y)
{
    rdk_shades shades = {0};
    double side = (double)SIDE / (double)m->tokens;
    for (size_t i = 0; i < m->table->rows; i++) {
        if (m->step[i] != step || m->layer[i] != h.layer || m->head[i] != h.head) continue;
        if (!(m->query[i] >= 0) || !(m->key[i] >= 0) || m->query[i] >= (double)m->tokens ||
            m->key[i] >= (double)m->tokens)
            continue;
        rdk_shade_cell(&shades, sqrt(fmax(m->p[i], 0)), x + side * m->key[i],
                       y + side * m->query[i], side, side);
    }
    rdk_shade_write(t, &shades);
    rdk_text_add(t, "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>", x,
                 y, SIDE, SIDE);
    labels(t, m, x, y, side);
}

/* Two maps a head, at the first and the last step; returns how many were placed. */
static size_t draw_run(rdk_report *r, rdk_text *t, const maps *m, size_t place)
{
    head_id heads[MOST_HEADS];
    size_t n = choose_heads(r, m, heads);
    for (size_t k = 0; k < n; k++) {
        for (int end = 0; end < 2; end++, place++) {
            double step = end ? m->last_step : 0;
            double x = (double)(place % COLUMNS) * (double)RDK_FIGURE_WIDTH / COLUMNS + LEFT;
            double y = 20 + (double)(place / COLUMNS) * (SIDE + TOP + BOTTOM) + TOP;
            rdk_text title = {0};
            rdk_text_add(&title, "%s, head %.0f.%.0f, step %.0f", r->series[m->run->series],
                         heads[k].layer, heads[k].head, step);
            rdk_svg_text(t, x, y - 7, "title small", title.data ? title.data : "");
            rdk_text_free(&title);
            draw_map(t, m, heads[k], step, x, y);
        }
    }
    return place;
}

void rdk_attention_maps(rdk_report *r, rdk_text *t)
{
    rdk_text drawn = {0};
    size_t place = 0;
    for (size_t s = 0; s < r->n_series; s++) {
        rdk_cell c = {s, r->n_panels - 1, RDK_BEST_RATE};
        const rdk_report_run *run = rdk_cell_example(r, &c);
        maps m;
        if (!run || !open_maps(r, &m, run)) continue;
        place = draw_run(r, &drawn, &m, place);
        close_maps(&m);
    }
    if (!place) {
        rdk_text_add(t, "<p class=\"none\">No attention maps: these runs have no maps.csv. A run "
                        "writes one for its first held-out sequence where attention is looked at "
                        "(--probe-every).</p>\n");
        return;
    }
    double lines = (double)((place + COLUMNS - 1) / COLUMNS);
    rdk_figure_open(t, "fig-maps", "marks", false, 20 + lines * (SIDE + TOP + BOTTOM),
                    "Attention maps of one example");
    rdk_shade_key(t, LEFT, 2, "0", "1: p, by its square root");
    if (drawn.failed) t->failed = true;
    rdk_text_bytes(t, drawn.data ? drawn.data : "", drawn.size);
    rdk_text_free(&drawn);
    rdk_figure_close(t,
                     "Attention of one fixed example at d_k as large as there is: a row a query, "
                     "a column a key, before the first update and at the end. Queries in bold "
                     "have a counted target. Of several heads the sharpest of the first and of "
                     "the last layer; of a run alone the first four.");
}
