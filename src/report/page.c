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
    {"travel", "Entropy against loss", rdk_section_travel},
    {"metrics", "Definitions", rdk_section_metrics},
};
enum { N_PARTS = sizeof PARTS / sizeof *PARTS };

static void add_lines(rdk_text *t, const char *const *lines, size_t n)
{
    for (size_t i = 0; i < n; i++) rdk_text_bytes(t, lines[i], strlen(lines[i]));
}

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
    const char *task = r->runs[0].saved.config.task.name;
    rdk_text_add(t, "</h1>\n<p>%s of <b>", r->ablation ? "An ablation" : "A run");
    rdk_html(t, task);
    rdk_text_add(t, "</b>");
    if (r->ablation) {
        rdk_text_add(t, ": %zu runs", r->n_runs);
        for (size_t v = 0; v < r->n_varied; v++)
            rdk_text_add(t, "%s %s (%zu)", v ? "," : ", varied in", r->varied[v].option->name,
                         r->varied[v].count);
    }
    rdk_text_add(t, ".</p>\n<nav>");
    for (size_t i = 0; i < N_PARTS; i++)
        rdk_text_add(t, "<a href=\"#%s\">%zu&nbsp;%s</a> ", PARTS[i].id, i, PARTS[i].title);
    rdk_text_add(t, "</nav>\n</header>\n<div id=\"chips\"></div>\n<main>\n");
}

/* What the script must know of the runs. */
static void runs_json(rdk_report *r, rdk_text *t)
{
    rdk_text_add(t, "<script type=\"application/json\" id=\"runs\">{\"series\":[");
    for (size_t s = 0; s < r->n_series; s++) {
        rdk_text_add(t, s ? "," : "");
        rdk_page_json(t, r->series[s]);
    }
    rdk_text_add(t, "],\"colour\":[");
    for (size_t s = 0; s < r->n_series; s++) rdk_text_add(t, "%s%d", s ? "," : "", r->colour[s]);
    rdk_text_add(t, "],\"options\":[");
    for (size_t v = 0; v < r->n_varied; v++) {
        rdk_text_add(t, "%s{\"name\":\"%s\",\"values\":[", v ? "," : "", r->varied[v].option->name);
        for (size_t k = 0; k < r->varied[v].count; k++) {
            rdk_text_add(t, k ? "," : "");
            rdk_page_json(t, r->varied[v].values[k]);
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

static void write_page(rdk_report *r, rdk_text *t)
{
    rdk_text body = {0};
    for (size_t i = N_PARTS; i-- > 1;) { /* the verdict last: it shows the notes of all others */
        rdk_text part = {0};
        rdk_text_add(&part, "<section id=\"%s\">\n<h2>%zu&ensp;%s</h2>\n", PARTS[i].id, i,
                     PARTS[i].title);
        PARTS[i].write(r, &part);
        rdk_text_add(&part, "</section>\n");
        rdk_text_bytes(&part, body.data ? body.data : "", body.size);
        if (body.failed) part.failed = true;
        rdk_text_free(&body);
        body = part;
    }
    head(r, t);
    rdk_text_add(t, "<section id=\"%s\">\n<h2>0&ensp;%s</h2>\n", PARTS[0].id, PARTS[0].title);
    PARTS[0].write(r, t);
    rdk_text_add(t, "</section>\n");
    rdk_text_bytes(t, body.data ? body.data : "", body.size);
    if (body.failed) t->failed = true;
    rdk_text_free(&body);
    rdk_text_add(t, "</main>\n<div id=\"tip\" hidden=\"hidden\"></div>\n");
    runs_json(r, t);
    rdk_text_add(t, "<script>\n(function () {\n\"use strict\";\n");
    add_lines(t, SCRIPT, sizeof SCRIPT / sizeof *SCRIPT);
    rdk_text_add(t, "}());\n</script>\n</body>\n</html>\n");
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
