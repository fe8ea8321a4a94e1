/* SPDX-License-Identifier: MIT
 * The verb report: one HTML page about a run or an ablation. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

typedef struct report_options {
    char out[RDK_PATH_TEXT], figures[RDK_PATH_TEXT];
} report_options;

static const rdk_option rows[] = {
    {"out", "report", RDK_OPT_TEXT, RDK_OPT_RUNS, offsetof(report_options, out),
     sizeof(((report_options *)0)->out), "", .value_name = "FILE",
     .help = "where the page goes; it replaces an old one [DIR/report.html]"},
    {"figures", "report", RDK_OPT_TEXT, RDK_OPT_RUNS, offsetof(report_options, figures),
     sizeof(((report_options *)0)->figures), "", .value_name = "DIR",
     .help = "write the figures there as well, an SVG file each"},
};

const rdk_grammar rdk_report_grammar = {
    .own = rows,
    .n_own = sizeof rows / sizeof *rows,
    .without_runs = "a report is about runs that are there",
    .operand = "a run's directory",
    .notes = "DIR is a run, or holds the runs of an ablation as subdirectories. The page needs\n"
             "nothing beside it: open it in a browser, send it, print it.\n",
};

static bool write_report(const rdk_words *w, const report_options *o, char path[2 * RDK_PATH_TEXT],
                         rdk_status *s)
{
    if (w->n_operands != 1)
        return rdk_fail(s, RDK_EVALUE,
                        "report takes one directory, a run or an ablation (%zu given)",
                        w->n_operands);
    const char *directory = w->operands[0];
    size_t n = strlen(directory);
    if (o->out[0])
        snprintf(path, 2 * RDK_PATH_TEXT, "%s", o->out);
    else
        snprintf(path, 2 * RDK_PATH_TEXT, "%.1000s%sreport.html", directory,
                 n && directory[n - 1] == '/' ? "" : "/");
    return rdk_report_write(directory, path, s) &&
           (!o->figures[0] || rdk_report_pictures(path, o->figures, s));
}

int rdk_cli_report(int argc, char **argv)
{
    rdk_status s = {0};
    rdk_words w;
    report_options options;
    char path[2 * RDK_PATH_TEXT];
    int status = RDK_EXIT_DONE;
    bool read = rdk_words_read(&w, &rdk_report_grammar, argc, argv, &s);
    if (read && rdk_is_beside(w.action)) {
        status = rdk_cli_beside(w.action, w.help_about, &rdk_report_grammar);
    } else if (read && rdk_words_set_own(&w, &rdk_report_grammar, &options, &s) &&
               write_report(&w, &options, path, &s)) {
        printf("%s\n", path);
    } else {
        status = rdk_cli_failed(&s);
    }
    rdk_words_free(&w);
    return status;
}
