/* SPDX-License-Identifier: MIT
 * Runs in the terminal: a summary line each, then curves over each other.
 *
 * Runs of different tasks or data stand under headings of their own, and their curves apart.
 * Invariant: nothing that came from a directory's name or a file reaches the terminal as a control
 * sequence; no line is wider than asked.
 * Read next: canvas.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "canvas.h"
#include "short_names.h"
#include "svg.h"
#include "terminal.h"

enum {
    LINES = 11,
    LABEL = 9,
    NARROWEST = 24,
    MOST_RUNS = RDK_SHOWN_RUNS,
    MOST_METRICS = 16,
    METRIC_TEXT = 64,
    FIGURES = 63
};

static const char USUAL[] = "loss,accuracy,entropy_norm";

/* What is shown. */
typedef struct view {
    const rdk_show_options *o;
    FILE *out, *notes;
    rdk_report *reports;             /* [o->n_directories], those that failed are empty */
    rdk_report_run *runs[MOST_RUNS]; /* those of a group stand together */
    rdk_report *of[MOST_RUNS];
    size_t n, more;
    size_t first[MOST_RUNS + 1], n_groups; /* [n_groups + 1] where each group begins */
} view;

static size_t characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static void note(const view *v, const char *message)
{
    rdk_text t = {0};
    rdk_printable(&t, message, v->o->unicode, strlen(message));
    fprintf(v->notes, "note: %s\n", t.data ? t.data : "");
    rdk_text_free(&t);
}

/* ---- the runs -------------------------------------------------------------------------------- */

static void take_runs(view *v, rdk_report *r)
{
    for (size_t i = 0; i < r->n_runs; i++) {
        if (v->n == MOST_RUNS) {
            v->more++;
            continue;
        }
        v->runs[v->n] = &r->runs[i];
        v->of[v->n++] = r;
    }
}

/* Runs of different tasks or data are not drawn over each other: brings those of one together. */
static void group_runs(view *v)
{
    v->n_groups = 0;
    for (size_t at = 0; at < v->n; v->n_groups++) {
        const rdk_saved_run *one = &v->runs[at]->saved;
        v->first[v->n_groups] = at++;
        for (size_t i = at; i < v->n; i++) {
            rdk_report_run *run = v->runs[i];
            rdk_report *of = v->of[i];
            if (!rdk_same_task(&one->config, &run->saved.config) ||
                !rdk_same_data(one->about, run->saved.about))
                continue;
            memmove(&v->runs[at + 1], &v->runs[at], (i - at) * sizeof *v->runs);
            memmove(&v->of[at + 1], &v->of[at], (i - at) * sizeof *v->of);
            v->runs[at] = run;
            v->of[at++] = of;
        }
    }
    v->first[v->n_groups] = v->n;
}

/* "copy: 8 symbols of 10 kinds, ...", in one line. */
static void group_heading(const view *v, size_t group)
{
    const rdk_saved_run *run = &v->runs[v->first[group]]->saved;
    const char *data = rdk_record_word(run->about, "data");
    rdk_text t = {0};
    if (!data) data = run->config.task.name;
    bool cut = characters(data) > v->o->width;
    rdk_printable(&t, data, v->o->unicode, cut ? v->o->width - 2 : v->o->width);
    if (cut) rdk_text_add(&t, "%s", v->o->unicode ? "\xE2\x80\xA6" : "..");
    fprintf(v->out, "\n%s\n", t.data ? t.data : "");
    rdk_text_free(&t);
}

/* What a shell makes of a star names the plain files of an ablation as well: nobody means those. */
static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* A directory that cannot be read is told beside others, and is the failure where it is alone. */
static bool open_all(view *v, rdk_status *s)
{
    rdk_status first = {0};
    v->reports = rdk_alloc(v->o->n_directories, sizeof *v->reports, s);
    if (!v->reports) return false;
    for (size_t i = 0; i < v->o->n_directories; i++) {
        rdk_status cause = {0};
        if (v->o->n_directories > 1 && is_file(v->o->directories[i])) continue;
        if (rdk_report_collect(&v->reports[i], v->o->directories[i], &cause)) {
            take_runs(v, &v->reports[i]);
            continue;
        }
        rdk_fail(&first, cause.code, "%s", cause.message);
        if (v->o->n_directories == 1) continue;
        rdk_text t = {0};
        rdk_printable(&t, cause.message, v->o->unicode, sizeof cause.message);
        fprintf(v->out, "left out: %s\n", t.data ? t.data : "");
        rdk_text_free(&t);
    }
    group_runs(v);
    if (v->n) return true;
    return first.code ? rdk_fail(s, first.code, "%s", first.message)
                      : rdk_fail(s, RDK_EVALUE, "these are plain files: show takes directories");
}

/* The end of a name that is too long, behind a mark of the cut. */
static void run_name(rdk_text *t, const view *v, const char *name, size_t most)
{
    size_t n = characters(name), mark = v->o->unicode ? 1 : 2;
    if (n > most) {
        rdk_text_add(t, "%s", v->o->unicode ? "\xE2\x80\xA6" : "..");
        most -= mark;
    }
    for (; n > most; n--) {
        do name++;
        while (((unsigned char)*name & 0xC0) == 0x80);
    }
    rdk_printable(t, name, v->o->unicode, most);
    for (; n < most; n++) rdk_text_add(t, " ");
}

/* Names that were cut may differ in what is gone: each stands once more on a line of its own. */
static void full_names(const view *v, size_t column)
{
    bool any = false;
    for (size_t i = 0; i < v->n; i++) any = any || characters(v->runs[i]->name) > column;
    for (size_t i = 0; any && i < v->n; i++) {
        size_t n = characters(v->runs[i]->name), room = v->o->width - 2;
        rdk_text name = {0};
        run_name(&name, v, v->runs[i]->name, n < room ? n : room);
        fprintf(v->out, "%s%c %s\n", i ? "" : "\n", (char)('a' + i), name.data ? name.data : "");
        rdk_text_free(&name);
    }
}

static void summary_row(const view *v, size_t i, const char *called, int names)
{
    const rdk_report_run *run = v->runs[i];
    char loss[RDK_READABLE], right[16] = "-", solved[24] = "-", entropy[64];
    rdk_text name = {0};
    run_name(&name, v, called, (size_t)names);
    if (isfinite(run->figures.accuracy))
        snprintf(right, sizeof right, "%.2f%%", 100 * run->figures.accuracy);
    if (isfinite(run->figures.solved_at))
        snprintf(solved, sizeof solved, "%.0f", run->figures.solved_at);
    snprintf(entropy, sizeof entropy, "%.3f -> %.3f", run->figures.entropy_first,
             run->figures.entropy_last);
    if (isnan(run->figures.entropy_last))
        snprintf(entropy, sizeof entropy, "%.3f -> -", run->figures.entropy_first);
    if (isnan(run->figures.entropy_first)) snprintf(entropy, sizeof entropy, "-");
    fprintf(v->out, "%s%c%s %s %-11.11s %7.0f %9s %7s %7s %14s\n",
            v->o->colour ? rdk_canvas_colour((unsigned char)(i + 1)) : "", (char)('a' + i),
            v->o->colour ? "\033[0m" : "", name.data ? name.data : "", run->status, run->step,
            rdk_readable(run->figures.loss, loss), right, solved, entropy);
    rdk_text_free(&name);
}

/* Bytes of the directory that all names begin with, its slash included. */
static size_t common_directory(const view *v)
{
    if (!v->n) return 0;
    const char *first = v->runs[0]->name, *slash = strrchr(first, '/');
    size_t n = slash ? (size_t)(slash - first) + 1 : 0;
    for (size_t i = 1; i < v->n; i++)
        if (strncmp(v->runs[i]->name, first, n) != 0) return 0;
    return n;
}

/* What the column of names has: whole names where they fit, else what differs in them, headed by
 * its options. True: `differ` and `head` are to be freed. */
static bool short_names(const view *v, size_t column, const char **called, rdk_text *differ,
                        rdk_text *head)
{
    const char *below[MOST_RUNS];
    size_t directory = common_directory(v);
    bool fit = true;
    for (size_t i = 0; i < v->n; i++) {
        called[i] = v->runs[i]->name;
        below[i] = called[i] + directory;
        fit = fit && characters(called[i]) <= column;
    }
    if (fit || !rdk_short_names(below, v->n, differ, head)) return false;
    for (size_t i = 0; i < v->n; i++) called[i] = differ[i].data;
    return true;
}

static void summary(const view *v)
{
    size_t room = v->o->width > FIGURES + 8 ? v->o->width - FIGURES : 8;
    int names = room < 40 ? (int)room : 40;
    const char *called[MOST_RUNS];
    rdk_text differ[MOST_RUNS], head = {0};
    bool shortened = short_names(v, (size_t)names, called, differ, &head);
    bool headed = shortened && head.size <= (size_t)names;
    fprintf(v->out, "  %-*s %-11s %7s %9s %7s %7s %14s\n", names, headed ? head.data : "run",
            "status", "step", "held-out", "right", "solved", "H/ln n");
    for (size_t g = 0; g < v->n_groups; g++) {
        if (v->n_groups > 1) group_heading(v, g);
        for (size_t i = v->first[g]; i < v->first[g + 1]; i++) summary_row(v, i, called[i], names);
    }
    for (size_t i = 0; shortened && i < v->n; i++) rdk_text_free(&differ[i]);
    if (shortened) rdk_text_free(&head);
    if (v->more) fprintf(v->out, "  and %zu more, not shown\n", v->more);
    full_names(v, (size_t)names);
    for (size_t g = 0; g < v->n_groups; g++) {
        size_t from = v->first[g];
        rdk_print_differing(v->out, (const rdk_report_run *const *)&v->runs[from],
                            v->first[g + 1] - from, (char)('a' + from), v->o->width, v->o->unicode);
    }
}

/* ---- curves ---------------------------------------------------------------------------------- */

static void x_line(const view *v, const rdk_axis *x, size_t columns)
{
    char low[RDK_READABLE], high[RDK_READABLE];
    rdk_readable(x->low, low);
    rdk_readable(x->high, high);
    fprintf(v->out, "%*s%s", LABEL, "", v->o->unicode ? "\xE2\x94\x94" : "+");
    for (size_t i = 0; i < columns; i++) fputs(v->o->unicode ? "\xE2\x94\x80" : "-", v->out);
    fprintf(v->out, "\n%*s %s%*s\n", LABEL, "", low, (int)(columns - strlen(low)), high);
}

/* The curves of one group over each other. */
static void plot(const view *v, size_t group, const char *metric, const rdk_curve *curves)
{
    rdk_axis x = rdk_axis_new("step", false), y = rdk_axis_new(metric, false);
    size_t columns = v->o->width - LABEL - 1, first = v->first[group], end = v->first[group + 1];
    char word[RDK_READABLE];
    for (size_t i = first; i < end; i++) {
        for (size_t k = 0; k < curves[i].n; k++) {
            rdk_axis_take(&x, curves[i].x[k]);
            rdk_axis_take(&y, curves[i].y[k]);
        }
    }
    if (!(x.low < x.high)) x.high = x.low + 1;
    if (isinf(x.low)) x = (rdk_axis){.high = 1, .label = "step"};
    if (isinf(y.low)) y = (rdk_axis){.high = 1, .label = metric};
    if (!(y.low < y.high)) y.high = y.low + 1;
    bool braille = v->o->unicode && (v->o->colour || end - first == 1);
    rdk_canvas c = rdk_canvas_new(v->of[0]->arena, columns, LINES, braille);
    if (!c.dots || !c.owner) return;
    for (size_t i = first; i < end; i++)
        rdk_canvas_curve(&c, &x, &y, &curves[i], (unsigned char)(i + 1));
    fprintf(v->out, "\n%s\n", metric);
    for (size_t k = 0; k < LINES; k++) {
        rdk_text line = {0};
        bool labelled = k == 0 || k == LINES - 1 || k == LINES / 2;
        rdk_readable(y.high - (y.high - y.low) * (double)k / (LINES - 1), word);
        rdk_canvas_line(&c, k, v->o->colour, &line);
        fprintf(v->out, "%*s%s%s\n", LABEL, labelled ? word : "",
                v->o->unicode ? "\xE2\x94\x82" : "|", line.data ? line.data : "");
        rdk_text_free(&line);
    }
    x_line(v, &x, columns);
}

/* "loss,accuracy" cut at its commas. */
typedef struct metric {
    char name[METRIC_TEXT];
    rdk_curve curves[MOST_RUNS];
} metric;

static size_t cut(const char *text, metric *metrics)
{
    size_t n = 0;
    while (n < MOST_METRICS && *text) {
        size_t k = strcspn(text, ",");
        memcpy(metrics[n++].name, text, k < METRIC_TEXT ? k : METRIC_TEXT - 1);
        text += k;
        if (*text) text++;
    }
    return n;
}

/* Usual: it was not asked for by name, so it may be missing. */
static bool take_metric(const view *v, metric *m, bool usual, rdk_status *s)
{
    char quoted[RDK_QUOTE_TEXT], message[2 * RDK_QUOTE_TEXT];
    bool any = false;
    for (size_t i = 0; i < v->n; i++) {
        m->curves[i] = rdk_report_metric(v->of[i], v->runs[i], m->name);
        any = any || m->curves[i].n;
    }
    if (!any && usual) {
        snprintf(message, sizeof message, "no run here has %s: it is not drawn",
                 rdk_quote(m->name, quoted));
        note(v, message);
        return true;
    }
    return any || rdk_fail(s, RDK_EVALUE,
                           "--metric: no run here has %s (a column of metrics.csv or "
                           "attention.csv, eval_loss, eval_accuracy, or ratio)",
                           rdk_quote(m->name, quoted));
}

/* The tables that the runs should have and that cannot be read, each by its name. */
static void note_unreadable(const view *v)
{
    static const char *const names[] = {"attention.csv", "gradients.csv"};
    for (size_t i = 0; i < v->n; i++) {
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            rdk_status cause = {0};
            rdk_table *t = rdk_saved_run_table(&v->runs[i]->saved, names[k], &cause);
            if (!t) note(v, cause.message);
            rdk_table_free(t);
        }
    }
}

static bool is_drawn(const view *v, size_t group, const metric *m)
{
    bool any = false;
    for (size_t i = v->first[group]; i < v->first[group + 1]; i++) any = any || m->curves[i].n;
    return any;
}

/* All that were asked for, or nothing where one is missing. */
static bool show_all(const view *v, rdk_status *s)
{
    metric *metrics = rdk_alloc(MOST_METRICS, sizeof *metrics, s);
    size_t n = metrics ? cut(v->o->metrics ? v->o->metrics : USUAL, metrics) : 0;
    bool ok = metrics != NULL;
    note_unreadable(v);
    for (size_t i = 0; ok && i < n; i++) ok = take_metric(v, &metrics[i], !v->o->metrics, s);
    if (ok) summary(v);
    for (size_t g = 0; ok && g < v->n_groups; g++) {
        if (v->n_groups > 1) group_heading(v, g);
        for (size_t i = 0; i < n; i++)
            if (is_drawn(v, g, &metrics[i])) plot(v, g, metrics[i].name, metrics[i].curves);
    }
    rdk_free(metrics);
    return ok;
}

bool rdk_show(const rdk_show_options *options, FILE *out, FILE *notes, rdk_status *s)
{
    rdk_show_options o = *options;
    view v = {.o = &o, .out = out, .notes = notes};
    if (o.width < NARROWEST) o.width = NARROWEST;
    bool ok = open_all(&v, s) && show_all(&v, s);
    for (size_t i = 0; v.reports && i < o.n_directories; i++) rdk_report_free(&v.reports[i]);
    rdk_free(v.reports);
    return ok;
}
