/* SPDX-License-Identifier: MIT
 * See shape.h. */
#include "shape.h"

#include <stdio.h>
#include <string.h>

rdk_tensor *rdk_refuse(rdk_tape *t, const rdk_op *op, int n, rdk_tensor *const *x, const char *rule,
                       ...)
{
    enum { SHAPES_TEXT = 330, RULE_TEXT = 150 };
    char shapes[SHAPES_TEXT] = "", why[RULE_TEXT], one[RDK_SHAPE_TEXT];
    size_t used = 0;
    while (n > 0 && !x[n - 1]) n--; /* the last that is there follows an "and" */
    for (int i = 0; i < n && used < sizeof shapes; i++) {
        if (!x[i]) continue;
        const char *link = used == 0 ? "" : i + 1 < n ? ", " : " and ";
        int added =
            snprintf(shapes + used, sizeof shapes - used, "%s%s", link, rdk_shape_text(x[i], one));
        used += (size_t)added;
    }
    va_list args;
    va_start(args, rule);
    vsnprintf(why, sizeof why, rule, args);
    va_end(args);
    return rdk_tape_fail(t, RDK_ESHAPE, "%s of %s: %s", op->name, shapes, why);
}

bool rdk_axis_of(const rdk_tensor *x, int axis, rdk_axis *a)
{
    if (axis < 0) axis += x->n_dims;
    if (axis < 0 || axis >= x->n_dims) return false;
    *a = (rdk_axis){.index = axis, .outer = 1, .len = x->dim[axis], .inner = 1};
    for (int i = 0; i < axis; i++) a->outer *= x->dim[i];
    for (int i = axis + 1; i < x->n_dims; i++) a->inner *= x->dim[i];
    return true;
}
