/* SPDX-License-Identifier: MIT
 * How an option's row reads a value into its field, and writes it as text again.
 *
 * Invariant: a text is taken whole or not at all, and rdk_option_text gives a text that
 * rdk_option_set reads back to the same value.
 * Read next: config.c. */
#include <math.h>
#include <string.h>

#include "option_names.h"

static bool refuse(const rdk_option *o, const char *value, rdk_status *s)
{
    char range[RDK_RANGE_TEXT], quoted[RDK_QUOTE_TEXT];
    if (o->type == RDK_OPT_TEXT && strlen(value) >= o->size)
        return rdk_fail(s, RDK_EVALUE, "--%s: a value of %zu bytes (at most %zu)", o->name,
                        strlen(value), o->size - 1);
    const char *near = rdk_option_nearest_value(o, value);
    bool several = strchr(value, ',') || (o->type == RDK_OPT_UINT && strstr(value, ".."));
    if (several && o->type != RDK_OPT_LIST)
        return rdk_fail(s, RDK_EVALUE,
                        "--%s: %s is not %s (several values: on the command line of ablate)",
                        o->name, rdk_quote(value, quoted), rdk_option_range(o, range));
    return rdk_fail(s, RDK_EVALUE, "--%s: %s is not %s%s%s%s", o->name, rdk_quote(value, quoted),
                    rdk_option_range(o, range), near ? " (did you mean " : "", near ? near : "",
                    near ? "?)" : "");
}

/* ---- the field ------------------------------------------------------------------------------- */

static void *field_of(void *fields, const rdk_option *o)
{
    return (char *)fields + o->offset;
}

static void store_uint(void *fields, const rdk_option *o, uint64_t x)
{
    uint32_t narrow = (uint32_t)x;
    memcpy(field_of(fields, o), o->size == sizeof x ? (void *)&x : (void *)&narrow, o->size);
}

static uint64_t load_uint(const void *fields, const rdk_option *o)
{
    uint64_t wide;
    uint32_t narrow;
    const char *field = (const char *)fields + o->offset;
    if (o->size == sizeof wide) {
        memcpy(&wide, field, sizeof wide);
        return wide;
    }
    memcpy(&narrow, field, sizeof narrow);
    return narrow;
}

static void store_text(void *fields, const rdk_option *o, const char *text)
{
    memset(field_of(fields, o), 0, o->size);
    memcpy(field_of(fields, o), text, strlen(text));
}

/* ---- one setter a type ----------------------------------------------------------------------- */

/* Digits, or the form that bounds are printed in: 1e12. Below 2^53 such a number is exact. */
static bool parse_whole(const char *value, uint64_t *x)
{
    static const double exact_below = 9007199254740992.0;
    double real;
    if (rdk_parse_uint(value, x)) return true;
    if (!strpbrk(value, "eE") || !rdk_parse_double(value, &real)) return false;
    if (!(real >= 0 && real < exact_below) || real != floor(real)) return false;
    *x = (uint64_t)real;
    return true;
}

static bool set_uint(void *fields, const rdk_option *o, const char *value)
{
    uint64_t x;
    if (!parse_whole(value, &x) || (double)x < o->low || (double)x > o->high) return false;
    store_uint(fields, o, x);
    return true;
}

static bool parse_real(const rdk_option *o, const char *value, double *x)
{
    if (!rdk_parse_double(value, x)) return false;
    if ((*x < o->low || *x > o->high) && !(o->or_zero && *x == 0)) return false;
    *x += 0.0; /* -0 becomes 0 */
    return true;
}

static bool set_real(void *fields, const rdk_option *o, const char *value)
{
    double x;
    if (!parse_real(o, value, &x)) return false;
    memcpy(field_of(fields, o), &x, sizeof x);
    return true;
}

static bool set_bool(void *fields, const rdk_option *o, const char *value)
{
    bool on = !strcmp(value, "on");
    if (!on && strcmp(value, "off") != 0) return false;
    memcpy(field_of(fields, o), &on, sizeof on);
    return true;
}

static bool set_choice(void *fields, const rdk_option *o, const char *value)
{
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], value) != 0) continue;
        memcpy(field_of(fields, o), &i, sizeof i);
        return true;
    }
    return false;
}

/* A number is kept in its shortest form, so that 0.50 and .5 are one value. */
static bool set_name(void *fields, const rdk_option *o, const char *value)
{
    const char *names[RDK_MOST_NAMES];
    size_t n = rdk_option_names(o, names);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], value) != 0) continue;
        if (strlen(value) >= o->size) return false;
        store_text(fields, o, value);
        return true;
    }
    double x;
    char number[RDK_NUMBER_TEXT];
    if (!(o->low < o->high) || !parse_real(o, value, &x)) return false;
    store_text(fields, o, rdk_text_double(x, number));
    return true;
}

/* The word for a list that is not there, which can stand among others: --scale-layers off,0:none.
 */
static const char NO_LIST[] = "off";

static bool set_text(void *fields, const rdk_option *o, const char *value)
{
    if (o->form && !strcmp(value, NO_LIST)) value = "";
    if (strlen(value) >= o->size) return false;
    for (const char *p = value; *p; p++) {
        if (rdk_is_control(*p)) return false;
    }
    store_text(fields, o, value);
    return true;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool list_add(rdk_uint_list *list, const rdk_option *o, uint64_t x)
{
    if ((double)x < o->low || (double)x > o->high || list->n == RDK_LIST_ROOM) return false;
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i] == x) return false;
    }
    list->at[list->n++] = x;
    return true;
}

/* "4096", or "1..4096": there must be a power of two. */
static bool list_add_item(rdk_uint_list *list, const rdk_option *o, char *item)
{
    uint64_t from, to;
    size_t before = list->n;
    char *dots = strstr(item, "..");
    if (!dots) return parse_whole(item, &from) && list_add(list, o, from);
    *dots = '\0';
    if (!parse_whole(item, &from) || !parse_whole(dots + 2, &to)) return false;
    if (from > to || (double)from < o->low || (double)to > o->high) return false;
    for (uint64_t x = 1; x <= to; x *= 2) {
        if (x >= from && !list_add(list, o, x)) return false;
        if (x > to / 2) break; /* the next would not fit */
    }
    return list->n > before;
}

static bool set_list(void *fields, const rdk_option *o, const char *value)
{
    rdk_uint_list list = {0};
    for (const char *p = value;; p++) {
        char item[2 * RDK_NUMBER_TEXT];
        size_t n = strcspn(p, ",");
        if (n >= sizeof item) return false;
        memcpy(item, p, n);
        item[n] = '\0';
        if (!list_add_item(&list, o, item)) return false;
        p += n;
        if (!*p) break;
    }
    memcpy(field_of(fields, o), &list, sizeof list);
    return true;
}

static void list_text(const void *fields, const rdk_option *o, rdk_text *out)
{
    rdk_uint_list list;
    memcpy(&list, (const char *)fields + o->offset, sizeof list);
    for (size_t i = 0; i < list.n; i++)
        rdk_text_add(out, "%s%llu", i ? "," : "", (unsigned long long)list.at[i]);
}

/* The number that stands for "auto": 0, or, where that is a value like others, the largest. */
static uint64_t auto_uint(const rdk_option *o)
{
    return o->low > 0 ? 0 : RDK_BY_RULE;
}

static void set_auto(void *fields, const rdk_option *o)
{
    const int none = -1;
    if (o->type == RDK_OPT_CHOICE) {
        memcpy(field_of(fields, o), &none, sizeof none);
    } else if (o->type == RDK_OPT_UINT) {
        store_uint(fields, o, auto_uint(o));
    } else {
        memset(field_of(fields, o), 0, o->size);
    }
}

bool rdk_option_set(void *fields, const rdk_option *o, const char *value, rdk_status *s)
{
    bool taken = false;
    if (o->auto_rule && !strcmp(RDK_AUTO, value)) {
        set_auto(fields, o);
        return true;
    }
    switch (o->type) {
    case RDK_OPT_UINT:
        taken = set_uint(fields, o, value);
        break;
    case RDK_OPT_REAL:
        taken = set_real(fields, o, value);
        break;
    case RDK_OPT_BOOL:
        taken = set_bool(fields, o, value);
        break;
    case RDK_OPT_CHOICE:
        taken = set_choice(fields, o, value);
        break;
    case RDK_OPT_NAME:
        taken = set_name(fields, o, value);
        break;
    case RDK_OPT_TEXT:
        taken = set_text(fields, o, value);
        break;
    case RDK_OPT_LIST:
        taken = set_list(fields, o, value);
        break;
    }
    return taken || refuse(o, value, s);
}

/* ---- as text --------------------------------------------------------------------------------- */

static void real_text(const void *fields, const rdk_option *o, rdk_text *out)
{
    double x;
    char number[RDK_NUMBER_TEXT];
    memcpy(&x, (const char *)fields + o->offset, sizeof x);
    rdk_text_add(out, "%s", o->auto_rule && x == 0 ? RDK_AUTO : rdk_text_double(x, number));
}

static void uint_text(const void *fields, const rdk_option *o, rdk_text *out)
{
    uint64_t x = load_uint(fields, o);
    if (o->auto_rule && x == auto_uint(o)) {
        rdk_text_add(out, "%s", RDK_AUTO);
    } else {
        rdk_text_add(out, "%llu", (unsigned long long)x);
    }
}

void rdk_option_text(const void *fields, const rdk_option *o, rdk_text *out)
{
    const char *field = (const char *)fields + o->offset;
    bool on;
    int choice;
    switch (o->type) {
    case RDK_OPT_UINT:
        uint_text(fields, o, out);
        break;
    case RDK_OPT_REAL:
        real_text(fields, o, out);
        break;
    case RDK_OPT_BOOL:
        memcpy(&on, field, sizeof on);
        rdk_text_add(out, "%s", on ? "on" : "off");
        break;
    case RDK_OPT_CHOICE:
        memcpy(&choice, field, sizeof choice);
        rdk_text_add(out, "%s", choice < 0 ? RDK_AUTO : o->choices[choice]);
        break;
    case RDK_OPT_NAME:
    case RDK_OPT_TEXT:
        rdk_text_add(out, "%s", *field ? field : o->auto_rule ? RDK_AUTO : o->form ? NO_LIST : "");
        break;
    case RDK_OPT_LIST:
        list_text(fields, o, out);
        break;
    }
}
