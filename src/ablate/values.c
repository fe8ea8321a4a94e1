/* SPDX-License-Identifier: MIT
 * Lists of values: "none,sqrt", "3e-4,1e-3", "1..5".
 *
 * Invariant: values of an axis are in one order, whatever the order in which they were given, and
 * in the form in which the option writes itself: 1e-3 and 0.001 are one value.
 * Read next: grid.c. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ablate.h"

/* ---- order ----------------------------------------------------------------------------------- */

static double place_of(const rdk_option *o, const char *value)
{
    size_t n = 0;
    if (o->auto_rule && !strcmp(value, "auto")) return -1;
    if (o->form && !strcmp(value, "off")) return -1;
    if (o->type == RDK_OPT_BOOL) return !strcmp(value, "on");
    for (; o->type == RDK_OPT_CHOICE && o->choices[n]; n++)
        if (!strcmp(o->choices[n], value)) return (double)n;
    for (; o->type == RDK_OPT_NAME && n < o->name_count(); n++)
        if (!strcmp(o->name_at(n), value)) return (double)n;
    return INFINITY; /* no name: a number or a path */
}

int rdk_value_compare(const rdk_option *o, const char *a, const char *b)
{
    double p = place_of(o, a), q = place_of(o, b);
    uint64_t i, j;
    if (p != q) return p < q ? -1 : 1;
    /* whole numbers apart: a seed may have more digits than a double */
    if (rdk_parse_uint(a, &i) && rdk_parse_uint(b, &j)) return (i > j) - (i < j);
    if (o->type != RDK_OPT_TEXT && rdk_parse_double(a, &p) && rdk_parse_double(b, &q))
        return (p > q) - (p < q);
    return rdk_text_order(a, b);
}

size_t rdk_grid_axis_find(const rdk_grid_axis *axis, const char *value)
{
    size_t i = 0;
    while (i < axis->n && strcmp(axis->values[i], value) != 0) i++;
    return i;
}

static const char *keep(rdk_arena *arena, const char *text, rdk_status *s)
{
    size_t n = strlen(text) + 1;
    char *copy = rdk_arena_alloc(arena, n, 1);
    if (!copy) rdk_fail(s, RDK_ENOMEM, "no memory for the values of a grid");
    return copy ? memcpy(copy, text, n) : NULL;
}

bool rdk_grid_axis_add(rdk_grid_axis *axis, const char *value, rdk_arena *arena, rdk_status *s)
{
    size_t at = axis->n;
    if (rdk_grid_axis_find(axis, value) < axis->n) return true;
    if (axis->n == RDK_MOST_AXIS_VALUES)
        return rdk_fail(s, RDK_EVALUE, "--%s: more than %d values", axis->option->name,
                        RDK_MOST_AXIS_VALUES);
    if (!axis->values) {
        axis->values = rdk_arena_alloc(arena, RDK_MOST_AXIS_VALUES, sizeof *axis->values);
        if (!axis->values) return rdk_fail(s, RDK_ENOMEM, "no memory for the values of a grid");
    }
    const char *copy = keep(arena, value, s);
    if (!copy) return false;
    for (; at > 0 && rdk_value_compare(axis->option, axis->values[at - 1], value) > 0; at--)
        axis->values[at] = axis->values[at - 1];
    axis->values[at] = copy;
    axis->n++;
    return true;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* A list on its way into its axis. */
typedef struct reading {
    rdk_grid_axis *axis;
    const char *list;
    rdk_arena *arena;
    rdk_status *status;
} reading;

static bool refuse(const reading *r, const char *why)
{
    char quoted[RDK_QUOTE_TEXT];
    return rdk_fail(r->status, RDK_EVALUE, "--%s: %s in %s", r->axis->option->name, why,
                    rdk_quote(r->list, quoted));
}

/* As the option writes it; nothing stands twice. */
static bool take_value(const reading *r, const char *value)
{
    rdk_config c = {0};
    rdk_text text = {0};
    bool ok = rdk_option_set(&c, r->axis->option, value, r->status);
    if (ok) {
        rdk_option_text(&c, r->axis->option, &text);
        ok = rdk_text_ok(&text, r->status);
    }
    if (ok && rdk_grid_axis_find(r->axis, text.data) < r->axis->n)
        ok = refuse(r, "a value stands twice");
    ok = ok && rdk_grid_axis_add(r->axis, text.data, r->arena, r->status);
    rdk_text_free(&text);
    return ok;
}

/* FIRST..LAST of whole numbers; false, with nothing said, where the element is none. */
static bool as_range(const reading *r, char *element, uint64_t *first, uint64_t *last)
{
    char *dots = strstr(element, "..");
    if (r->axis->option->type != RDK_OPT_UINT || !dots) return false;
    *dots = '\0';
    bool range = rdk_parse_uint(element, first) && rdk_parse_uint(dots + 2, last);
    *dots = '.';
    return range;
}

static bool take_range(const reading *r, uint64_t first, uint64_t last)
{
    char number[RDK_NUMBER_TEXT];
    if (last < first) return refuse(r, "a range that runs downwards");
    if (last - first >= RDK_MOST_AXIS_VALUES) return refuse(r, "too long a range");
    for (uint64_t i = 0; i <= last - first; i++) {
        snprintf(number, sizeof number, "%" PRIu64, first + i);
        if (!take_value(r, number)) return false;
    }
    return true;
}

static bool take_element(const reading *r, const char *begin, size_t n)
{
    char element[RDK_PATH_TEXT];
    uint64_t first, last;
    if (n == 0 && r->axis->option->form) return refuse(r, "an empty value (for no list say off)");
    if (n == 0) return refuse(r, "an empty value");
    if (n >= sizeof element) return refuse(r, "too long a value");
    memcpy(element, begin, n);
    element[n] = '\0';
    if (as_range(r, element, &first, &last)) return take_range(r, first, last);
    return take_value(r, element);
}

bool rdk_grid_axis_parse(rdk_grid_axis *axis, const rdk_option *o, const char *list,
                         rdk_arena *arena, rdk_status *s)
{
    *axis = (rdk_grid_axis){.option = o};
    reading r = {axis, list, arena, s};
    for (const char *p = list;; p++) {
        size_t n = strcspn(p, ",");
        if (!take_element(&r, p, n)) return false;
        p += n;
        if (!*p) return true;
    }
}
