/* SPDX-License-Identifier: MIT
 * The words of train as a configuration: defaults, then the --config file wherever it stands, then
 * the options.
 * Read next: words.c, how words are read; train.c. */
#include <string.h>

#include "cli.h"

const rdk_grammar rdk_train_grammar = {
    .runs = true,
    .switches = 1u << RDK_ACTION_CONFIG | 1u << RDK_ACTION_DESCRIBE | 1u << RDK_ACTION_SHOW_BATCH,
};

static bool read_file(rdk_arguments *a, rdk_status *s)
{
    size_t size;
    char *text = rdk_file_read(a->config_path, &size, s);
    if (!text) return false;
    bool read =
        strlen(text) == size
            ? rdk_config_read(&a->config, text, a->config_path, a->given, s)
            : rdk_fail(s, RDK_EFORMAT, "%s is not a text: it holds a zero byte", a->config_path);
    rdk_free(text);
    return read;
}

static bool apply(rdk_arguments *a, const rdk_words *w, rdk_status *s)
{
    rdk_config_init(&a->config);
    if (a->config_path && !read_file(a, s)) return false;
    if (a->config_path && !rdk_words_value(w, "resume")) rdk_config_unresolve(&a->config);
    for (size_t i = 0; i < w->n_set; i++) {
        const rdk_option *o = w->set[i].option;
        if (!rdk_option_set(&a->config, o, w->set[i].value, s)) return false;
        a->given[o - rdk_option_at(0)] = true;
    }
    if (a->config.resume[0] && a->config.force) {
        return rdk_fail(s, RDK_EVALUE,
                        "--resume goes on with a run, --force replaces one (keep one)");
    }
    if (a->config.resume[0] && a->config.out[0]) {
        return rdk_fail(s, RDK_EVALUE, "--resume goes on in its own directory (drop --out %s)",
                        a->config.out);
    }
    return true;
}

bool rdk_arguments_read(rdk_arguments *a, int argc, char **argv, rdk_status *s)
{
    rdk_words w;
    memset(a, 0, sizeof *a);
    bool read = rdk_words_read(&w, &rdk_train_grammar, argc, argv, s);
    a->action = w.action;
    a->config_path = w.config_path;
    a->help_about = w.help_about;
    if (read && !rdk_is_beside(w.action)) {
        a->given = rdk_alloc(rdk_option_count(), sizeof *a->given, s);
        read = a->given && apply(a, &w, s);
    }
    rdk_words_free(&w);
    return read;
}

void rdk_arguments_free(rdk_arguments *a)
{
    rdk_free(a->given);
    a->given = NULL;
}
