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

/* What was typed counts, or it is refused: an option that does nothing hides a mistake. A file says
 * everything, so nothing in it is one; a resumed run says itself what contradicts it. */
static bool all_count(const rdk_config *c, const rdk_words *w, rdk_status *s)
{
    for (size_t i = 0; i < w->n_set && !c->resume[0]; i++) {
        if (strcmp(w->set[i].value, "auto") != 0 && !rdk_option_counts(c, w->set[i].option, s))
            return false;
    }
    return true;
}

bool rdk_words_change_data(const rdk_words *w)
{
    static const char *const names[] = {"task", "data", "seq-len", "tokenizer", "val-fraction"};
    bool any = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        any = any || rdk_words_value(w, names[i]);
    return any;
}

static bool warmup_fits(const rdk_config *c, const rdk_words *w, rdk_status *s)
{
    return !rdk_words_value(w, "warmup") || c->resume[0] || rdk_config_warmup_fits(c, s);
}

/* A task that was typed over that of a file leaves behind what the file's task read. */
static void drop_data_of_file(rdk_config *c, const rdk_words *w)
{
    if (rdk_words_value(w, "task") && !rdk_words_value(w, "data") &&
        !rdk_task_type_reads_data(c->task.name))
        c->data[0] = '\0';
}

static bool apply(rdk_arguments *a, const rdk_words *w, rdk_status *s)
{
    rdk_config_init(&a->config);
    if (a->config_path && !rdk_config_load(&a->config, a->config_path, a->given, s)) return false;
    if (a->config_path && !rdk_words_value(w, "resume")) {
        rdk_config_unresolve(&a->config);
        if (rdk_words_change_data(w)) rdk_config_unresolve_windows(&a->config);
    }
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
    drop_data_of_file(&a->config, w);
    return all_count(&a->config, w, s) && warmup_fits(&a->config, w, s);
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
