/* SPDX-License-Identifier: MIT
 * The verb show: curves and summary of runs in the terminal. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

enum { USUAL_WIDTH = 80, WIDEST = 400 };

typedef struct show_options {
    char metric[RDK_PATH_TEXT];
} show_options;

static const rdk_option rows[] = {
    {"metric", "show", RDK_OPT_TEXT, RDK_OPT_RUNS, offsetof(show_options, metric),
     sizeof(((show_options *)0)->metric), "loss,accuracy,entropy_norm", .value_name = "NAME,...",
     .help = "what to draw"},
};

const rdk_grammar rdk_show_grammar = {
    .own = rows,
    .n_own = sizeof rows / sizeof *rows,
    .without_runs = "show is about runs that are there",
    .operand = "a run's directory",
    .notes = "A metric is a column of metrics.csv (training rows) or of attention.csv (mean over\n"
             "layers and heads), eval_loss, eval_accuracy, or ratio (|dW_Q| / |dW_V|).\n"
             "Several DIR are drawn over each other. Width: COLUMNS, else the terminal's, else "
             "80.\n",
};

/* Does the locale that the environment asks for say UTF-8? */
static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (!value || !*value) continue;
        char lower[64] = "";
        for (size_t k = 0; value[k] && k + 1 < sizeof lower; k++)
            lower[k] = (char)tolower((unsigned char)value[k]);
        return strstr(lower, "utf-8") || strstr(lower, "utf8");
    }
    return false;
}

static size_t terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size = {0};
    int64_t n = 0;
    if (!columns || !rdk_parse_int(columns, &n)) n = 0;
    if (n <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) n = size.ws_col;
    if (n <= 0) n = USUAL_WIDTH;
    return n > WIDEST ? WIDEST : (size_t)n;
}

/* https://no-color.org: set and not empty means none. */
static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && *no) && terminal && strcmp(terminal, "dumb") != 0;
}

static bool show(const rdk_words *w, const show_options *o, rdk_status *s)
{
    if (!w->n_operands)
        return rdk_fail(s, RDK_EVALUE, "show takes the directories of one or more runs");
    rdk_show_options all = {
        .directories = w->operands,
        .n_directories = w->n_operands,
        .metrics = rdk_words_value(w, "metric") ? o->metric : NULL,
        .width = terminal_width(),
        .unicode = locale_is_utf8(),
        .colour = wants_colour(),
    };
    return rdk_show(&all, stdout, stderr, s);
}

int rdk_cli_show(int argc, char **argv)
{
    rdk_status s = {0};
    rdk_words w;
    show_options options;
    int status = RDK_EXIT_DONE;
    bool read = rdk_words_read(&w, &rdk_show_grammar, argc, argv, &s);
    if (read && rdk_is_beside(w.action))
        status = rdk_cli_beside(w.action, w.help_about, &rdk_show_grammar);
    else if (!read || !rdk_words_set_own(&w, &rdk_show_grammar, &options, &s) ||
             !show(&w, &options, &s))
        status = rdk_cli_failed(&s);
    rdk_words_free(&w);
    return status;
}
