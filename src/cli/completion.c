/* SPDX-License-Identifier: MIT
 * --completion: a bash function that completes options and their names, from the same tables.
 *
 *     eval "$(rootdk --completion)"
 */
#include <string.h>

#include "cli.h"

static void print_rows(FILE *out, const rdk_option *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fprintf(out, " --%s", rows[i].name);
        if (rows[i].type == RDK_OPT_BOOL) fprintf(out, " --no-%s", rows[i].name);
    }
}

static void print_words(FILE *out, const rdk_grammar *g)
{
    print_rows(out, g->own, g->n_own);
    if (g->runs) print_rows(out, rdk_option_at(0), rdk_option_count());
    for (size_t i = 0; i < rdk_switch_count(); i++) {
        if (rdk_grammar_takes(g, rdk_switch_at(i))) {
            fprintf(out, " --%s", rdk_switch_at(i)->name);
        }
    }
}

/* The names that follow an option, where it takes names. */
static void print_names(FILE *out, const rdk_option *o)
{
    if (o->type != RDK_OPT_CHOICE && o->type != RDK_OPT_NAME) return;
    fprintf(out, "    --%s) words=\"", o->name);
    for (size_t i = 0; o->type == RDK_OPT_CHOICE && o->choices[i]; i++) {
        fprintf(out, "%s ", o->choices[i]);
    }
    for (size_t i = 0; o->type == RDK_OPT_NAME && i < o->name_count(); i++) {
        fprintf(out, "%s ", o->name_at(i));
    }
    fprintf(out, "%s\" ;;\n", o->auto_rule ? "auto" : "");
}

static void print_file_rows(FILE *out, const rdk_option *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].type == RDK_OPT_TEXT && !rows[i].form) fprintf(out, "|--%s", rows[i].name);
    }
}

static void print_files(FILE *out)
{
    fprintf(out, "    --config");
    print_file_rows(out, rdk_option_at(0), rdk_option_count());
    for (size_t i = 0; i < rdk_verb_count(); i++) {
        const rdk_grammar *g = rdk_verb_at(i)->grammar;
        if (g) print_file_rows(out, g->own, g->n_own);
    }
    fprintf(out, ") mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n");
}

static void print_verb_names(FILE *out, const rdk_grammar *g)
{
    for (size_t i = 0; g && i < g->n_own; i++) print_names(out, &g->own[i]);
}

/* What may follow a verb other than train. */
static void print_verb(FILE *out, const rdk_verb *v)
{
    if (!v->grammar || v->grammar == &rdk_train_grammar) return;
    fprintf(out, "      %s) words=\"", v->name);
    print_words(out, v->grammar);
    fprintf(out, "\" ;;\n");
}

void rdk_print_completion(FILE *out)
{
    fprintf(out, "# bash completion of rootdk and its launcher\n"
                 "_rootdk() {\n"
                 "  local current=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n"
                 "  case \"${COMP_WORDS[COMP_CWORD-1]}\" in\n");
    for (size_t i = 0; i < rdk_option_count(); i++) print_names(out, rdk_option_at(i));
    for (size_t i = 0; i < rdk_verb_count(); i++) print_verb_names(out, rdk_verb_at(i)->grammar);
    print_files(out);
    fprintf(out, "    *) case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; i < rdk_verb_count(); i++) print_verb(out, rdk_verb_at(i));
    fprintf(out, "      *) words=\"");
    for (size_t i = 0; i < rdk_verb_count(); i++) fprintf(out, "%s ", rdk_verb_at(i)->name);
    print_words(out, &rdk_train_grammar);
    fprintf(out, "\" ;;\n"
                 "    esac ;;\n"
                 "  esac\n"
                 "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                 "}\n"
                 "complete -F _rootdk rootdk train\n");
}
