/* SPDX-License-Identifier: MIT
 * --completion: a bash function that completes options and their names, from the same tables.
 *
 *     eval "$(rootdk --completion)"
 */
#include <string.h>

#include "cli.h"

static void print_words(FILE *out)
{
    for (size_t i = 0; i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        fprintf(out, " --%s", o->name);
        if (o->type == RDK_OPT_BOOL) fprintf(out, " --no-%s", o->name);
    }
    for (size_t i = 0; i < rdk_switch_count(); i++) {
        fprintf(out, " --%s", rdk_switch_at(i)->name);
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

static void print_files(FILE *out)
{
    fprintf(out, "    --config");
    for (size_t i = 0; i < rdk_option_count(); i++) {
        if (rdk_option_at(i)->type == RDK_OPT_TEXT) fprintf(out, "|--%s", rdk_option_at(i)->name);
    }
    fprintf(out, ") mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n");
}

void rdk_print_completion(FILE *out)
{
    fprintf(out, "# bash completion of rootdk and its launcher\n"
                 "_rootdk() {\n"
                 "  local current=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n"
                 "  case \"${COMP_WORDS[COMP_CWORD-1]}\" in\n");
    for (size_t i = 0; i < rdk_option_count(); i++) print_names(out, rdk_option_at(i));
    print_files(out);
    fprintf(out, "    *) words=\"");
    for (size_t i = 0; i < rdk_verb_count(); i++) fprintf(out, "%s ", rdk_verb_at(i)->name);
    print_words(out);
    fprintf(out, "\" ;;\n"
                 "  esac\n"
                 "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                 "}\n"
                 "complete -F _rootdk rootdk train\n");
}
