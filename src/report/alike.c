/* SPDX-License-Identifier: MIT
 * Which runs may stand beside each other: those that learn the same task from the same data. A loss
 * says nothing about one of another task; see figures.h. */
#include <string.h>

#include "figures.h"

/* The vocabulary of a file follows what it holds. */
bool rdk_same_task(const rdk_config *a, const rdk_config *b)
{
    return !strcmp(a->task.name, b->task.name) && !strcmp(a->data, b->data) &&
           a->task.length == b->task.length && (a->data[0] || a->task.vocab == b->task.vocab) &&
           a->task.tokenizer == b->task.tokenizer && a->model.arch == b->model.arch &&
           a->task.val_fraction == b->task.val_fraction;
}

bool rdk_same_data(const rdk_record *a, const rdk_record *b)
{
    const char *x = rdk_record_word(a, "data"), *y = rdk_record_word(b, "data");
    return !x || !y || !strcmp(x, y);
}
