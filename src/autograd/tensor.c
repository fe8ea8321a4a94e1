/* SPDX-License-Identifier: MIT
 * What a tensor's shape says: sizes, and the text for messages.
 *
 * Invariant: the product of the dimensions was checked when the tensor was made, so it fits here.
 * Read next: tape.c. */
#include "tape.h"

#include <stdio.h>

size_t rdk_size(const rdk_tensor *x)
{
    size_t n = 1;
    for (int i = 0; i < x->n_dims; i++) n *= x->dim[i];
    return n;
}

size_t rdk_cols(const rdk_tensor *x)
{
    return x->n_dims > 0 ? x->dim[x->n_dims - 1] : 1;
}

size_t rdk_rows(const rdk_tensor *x)
{
    size_t n = 1;
    for (int i = 0; i + 1 < x->n_dims; i++) n *= x->dim[i];
    return n;
}

char *rdk_shape_text(const rdk_tensor *x, char buf[RDK_SHAPE_TEXT])
{
    /* Six dimensions of at most 20 digits fill 134 bytes: the name gets what is left. */
    enum { NAME_MAX_TEXT = 20 };
    size_t used = 0;
    if (x->name) {
        used = (size_t)snprintf(buf, RDK_SHAPE_TEXT, "%.*s ", NAME_MAX_TEXT, x->name);
    }
    used += (size_t)snprintf(buf + used, RDK_SHAPE_TEXT - used, "[");
    for (int i = 0; i < x->n_dims; i++) {
        const char *separator = i > 0 ? ", " : "";
        used += (size_t)snprintf(buf + used, RDK_SHAPE_TEXT - used, "%s%zu", separator, x->dim[i]);
    }
    snprintf(buf + used, RDK_SHAPE_TEXT - used, "]");
    return buf;
}

rdk_tensor *rdk_tensor_root(rdk_tensor *x)
{
    while (x->view_of) x = x->view_of;
    return x;
}
