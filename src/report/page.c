/* SPDX-License-Identifier: MIT
 * The page: head, sections in order, data and script. One file that needs nothing beside it.
 *
 * Invariant: without the script the page is whole; with it nothing is fetched.
 * Read next: page.css, page_draw.js (built into the program as strings), sec_verdict.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page.h"

static const char *const STYLE[] = {
#include "page_css.h"
};
static const char *const SCRIPT[] = {
#include "page_draw_js.h"
#include "page_read_js.h"
};

static const struct part {
    const char *id, *title;
    rdk_section *write;
} PARTS[] = {
    {"verdict", "Verdict", rdk_section_verdict},
    {"table", "Table", rdk_section_table},
    {"curves", "Loss and accuracy", rdk_section_curves},
    {"attention", "Entropy and score deviation", rdk_section_attention},
    {"gradients", "Gradients", rdk_section_gradients},
    {"maps", "Saturation and attention maps", rdk_section_maps},
    {"rates", "Loss against learning rate", rdk_section_rates},
    {"trajectory", "Entropy against loss", rdk_section_trajectory},
    {"metrics", "Definitions", rdk_section_metrics}, /* the last: one for all groups */
};
enum { N_PARTS = sizeof PARTS / sizeof *PARTS, METRICS = N_PARTS - 1 };

static void add_lines(rdk_text *t, const char *const *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) rdk_text_bytes(t, lines[i], strlen(lines[i]));
}

static void append(rdk_text *t, const rdk_text *part)
{
    rdk_text_bytes(t, part->data ? part->data : "", part->size);
    if (part->failed) t->failed = true;
}

/* ---- what stands above ----------------------------------------------------------------------- */

static void head(rdk_report *r, rdk_text *t)
{
    rdk_text_add(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                    "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>");
    rdk_html(t, r->path);
    rdk_text_add(t, " - rootdk</title>\n<style id=\"style\">\n");
    add_lines(t, STYLE, sizeof STYLE / sizeof *STYLE);
    rdk_text_add(t, "</style>\n</head>\n<body>\n<header>\n<h1>");
    rdk_html(t, r->path);
    rdk_text_add(t, "</h1>\n");
}

/* "An ablation of copy: 12 runs, varied in scale (2), seed (6)." */
static void group_words(rdk_report *g, rdk_text *t)
{
    rdk_text_add(t, "<p>%s of <b>", g->ablation ? "An ablation" : "A run");
    rdk_html(t, g->name);
    rdk_text_add(t, "</b>");
    if (g->ablation) {
        rdk_text_add(t, ": %zu run%s", g->n_runs, g->n_runs > 1 ? "s" : "");
        for (size_t v = 0; v < g->n_varied; v++)
            rdk_text_add(t, "%s %s (%zu)", v ? "," : ", varied in", g->varied[v].option->name,
                         g->varied[v].count);
    }
    rdk_text_add(t, ".</p>\n");
}

static void navigation(const rdk_report *g, size_t parts, rdk_text *t)
{
    rdk_text_add(t, "<nav>");
    for (size_t i = 0; i < parts; i++)
        rdk_text_add(t, "<a href=\"#%s%s\">%zu&nbsp;%s</a> ", i < METRICS ? g->prefix : "",
                     PARTS[i].id, i, PARTS[i].title);
    rdk_text_add(t, "</nav>\n");
}

/* Where there are several groups: that there are, and why nothing is said across them. */
static void groups_words(const rdk_report *r, rdk_text *t)
{
    rdk_text_add(t,
                 "<p>%zu runs of %zu tasks. Losses and accuracies of different tasks or data "
                 "cannot be compared, so each has a part of its own with its own verdict, and "
                 "nothing is said across them.</p>\n<nav>",
                 r->n_runs, r->n_groups);
    for (size_t k = 0; k < r->n_groups; k++) {
        rdk_text_add(t, "<a href=\"#%sgroup\">", r->groups[k].prefix);
        rdk_html(t, r->groups[k].name);
        rdk_text_add(t, "&nbsp;(%zu)</a> ", r->groups[k].n_runs);
    }
    rdk_text_add(t, "<a href=\"#%s\">%s</a></nav>\n", PARTS[METRICS].id, PARTS[METRICS].title);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* What the script must know of the runs. */
static void runs_json(rdk_report *r, rdk_text *t)
{
    rdk_text_add(t, "<script type=\"application/json\" id=\"%sruns\">{\"series\":[", r->prefix);
    for (size_t s = 0; s < r->n_series; s++) {
        rdk_text_add(t, s ? "," : "");
        rdk_page_json(t, r->series[s]);
    }
    rdk_text_add(t, "],\"colour\":[");
    for (size_t s = 0; s < r->n_series; s++) rdk_text_add(t, "%s%d", s ? "," : "", r->colour[s]);
    rdk_text_add(t, "],\"dash\":[");
    for (size_t s = 0; s < r->n_series; s++) rdk_text_add(t, "%s%d", s ? "," : "", r->dash[s]);
    rdk_text_add(t, "],\"options\":[");
    for (size_t v = 0; v < r->n_varied; v++) {
        rdk_text_add(t, "%s{\"name\":\"%s\",\"values\":[", v ? "," : "", r->varied[v].option->name);
        for (size_t k = 0; k < r->varied[v].count; k++) {
            rdk_text_add(t, k ? "," : "");
            rdk_page_json(t, *r->varied[v].values[k] ? r->varied[v].values[k] : "empty");
        }
        rdk_text_add(t, "]}");
    }
    rdk_text_add(t, "],\"runs\":[\n");
    for (size_t i = 0; i < r->n_runs; i++) {
        const rdk_report_run *run = &r->runs[i];
        rdk_text_add(t, "%s{\"name\":", i ? ",\n" : "");
        rdk_page_json(t, run->name);
        rdk_text_add(t,
                     ",\"s\":%zu,\"best\":%d,\"rate\":%zu,\"diverged\":%d,\"died\":", run->series,
                     run->best_rate, run->rate, run->diverged);
        rdk_page_number(t, run->died_step);
        rdk_text_add(t, ",\"v\":[");
        for (size_t v = 0; v < r->n_varied; v++)
            rdk_text_add(t, "%s%zu", v ? "," : "", run->value[v]);
        rdk_text_add(t, "]}");
    }
    rdk_text_add(t, "],\"t\":[0");
    for (size_t df = 1; df <= 40; df++) rdk_text_add(t, ",%.4f", rdk_student_t(0.95, df));
    rdk_text_add(t, "]}</script>\n");
}

static void section(rdk_report *g, size_t part, rdk_text *t)
{
    rdk_text_add(t, "<section id=\"%s%s\">\n<h2>%zu&ensp;%s</h2>\n",
                 part < METRICS ? g->prefix : "", PARTS[part].id, part, PARTS[part].title);
    PARTS[part].write(g, t);
    rdk_text_add(t, "</section>\n");
}

/* All but the definitions. The script reads and filters each group by itself. */
static void write_group(rdk_report *g, rdk_text *t)
{
    rdk_text body = {0}, part = {0};
    for (size_t i = METRICS; i-- > 1;) { /* the verdict last: it shows the notes of all others */
        section(g, i, &part);
        append(&part, &body);
        rdk_text_free(&body);
        body = part;
        part = (rdk_text){0};
    }
    rdk_text_add(t, "<div id=\"%schips\" class=\"chips\"></div>\n", g->prefix);
    section(g, 0, t);
    append(t, &body);
    rdk_text_free(&body);
    runs_json(g, t);
}

static void write_page(rdk_report *r, rdk_text *t)
{
    bool several = r->n_groups > 1;
    head(r, t);
    if (several) {
        groups_words(r, t);
        if (r->notes.size) rdk_text_add(t, "<ul class=\"notes\">\n%s</ul>\n", r->notes.data);
    } else {
        group_words(r, t);
        navigation(r, N_PARTS, t);
    }
    rdk_text_add(t, "</header>\n<main>\n");
    for (size_t k = 0; k < r->n_groups; k++) {
        rdk_report *g = &r->groups[k];
        rdk_text_add(t, "<div class=\"group\" data-prefix=\"%s\">\n", g->prefix);
        if (several) {
            rdk_text_add(t, "<header id=\"%sgroup\"><h1>", g->prefix);
            rdk_html(t, g->name);
            rdk_text_add(t, "</h1>\n");
            group_words(g, t);
            navigation(g, METRICS, t);
            rdk_text_add(t, "</header>\n");
        }
        write_group(g, t);
        rdk_text_add(t, "</div>\n");
    }
    section(r, METRICS, t);
    rdk_text_add(t, "</main>\n<div id=\"tip\" hidden=\"hidden\"></div>\n<script>\n"
                    "document.querySelectorAll(\".group\").forEach(function (root) {\n"
                    "\"use strict\";\n");
    add_lines(t, SCRIPT, sizeof SCRIPT / sizeof *SCRIPT);
    rdk_text_add(t, "});\n</script>\n</body>\n</html>\n");
}

bool rdk_report_write(const char *directory, const char *path, rdk_status *s)
{
    rdk_report r;
    rdk_text t = {0};
    bool ok = rdk_report_collect(&r, directory, s);
    if (ok) {
        write_page(&r, &t);
        ok = rdk_ok(s) && rdk_text_ok(&t, s) && rdk_file_replace(path, t.data, t.size, s);
    }
    rdk_text_free(&t);
    rdk_report_free(&r);
    return ok;
}
