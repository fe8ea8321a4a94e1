/* SPDX-License-Identifier: MIT
 * The table of tasks. A new task is one file with one constant rdk_task_type, declared in task.h,
 * and its line here; help, validation and the tests that loop over all tasks follow from it.
 *
 * Invariant: names are unique; the first task is the default one.
 * Read next: task.h. */
#include "task.h"

#include <string.h>

static const rdk_task_type *const types[] = {
    &rdk_task_recall, &rdk_task_copy,   &rdk_task_reverse, &rdk_task_sort,
    &rdk_task_modadd, &rdk_task_random, &rdk_task_text,
};
enum { TYPES = sizeof types / sizeof types[0] };

size_t rdk_task_type_count(void)
{
    return TYPES;
}

const char *rdk_task_type_name(size_t i)
{
    return i < TYPES ? types[i]->name : NULL;
}

const char *rdk_task_type_about(size_t i)
{
    return i < TYPES ? types[i]->about : NULL;
}

static const rdk_task_type *find(const char *name)
{
    for (size_t i = 0; i < TYPES; i++)
        if (strcmp(types[i]->name, name) == 0) return types[i];
    return NULL;
}

bool rdk_task_type_reads_data(const char *name)
{
    const rdk_task_type *type = find(name);
    return type && type->reads_data;
}

bool rdk_task_type_whole_sequences(const char *name)
{
    const rdk_task_type *type = find(name);
    return type && type->whole_sequences;
}

size_t rdk_task_type_usual_length(const char *name)
{
    const rdk_task_type *type = find(name);
    return type ? type->length.initial : 0;
}

size_t rdk_task_type_usual_vocab(const char *name)
{
    const rdk_task_type *type = find(name);
    return type ? type->vocab.initial : 0;
}

size_t rdk_task_type_usual_width(const char *name)
{
    enum { USUAL_WIDTH = 64 };
    const rdk_task_type *type = find(name);
    if (!type) return 0;
    return type->width ? type->width : USUAL_WIDTH;
}

static void unknown(const char *name, rdk_status *s)
{
    const char *names[TYPES];
    rdk_text all = {0};
    for (size_t i = 0; i < TYPES; i++) {
        names[i] = types[i]->name;
        rdk_text_add(&all, i ? ", %s" : "%s", names[i]);
    }
    const char *near = rdk_nearest(name, names, TYPES);
    if (rdk_text_ok(&all, s))
        rdk_fail(s, RDK_EVALUE, "unknown task '%s' (%s%s%sthe tasks are %s)", name,
                 near ? "did you mean " : "", near ? near : "", near ? "? " : "", all.data);
    rdk_text_free(&all);
}

const rdk_task_type *rdk_task_type_find(const char *name, rdk_status *s)
{
    const rdk_task_type *type = find(name);
    if (!type) unknown(name, s);
    return type;
}
