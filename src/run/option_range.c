/* SPDX-License-Identifier: MIT
 * What an option may be given, in words: for messages and help.
 * Read next: option_value.c. */
#include <stdio.h>
#include <string.h>

#include "option_names.h"

/* ---- words ----------------------------------------------------------------------------------- */

char *rdk_quote(const char *word, char buf[RDK_QUOTE_TEXT])
{
    enum { ROOM = RDK_QUOTE_TEXT - 6 }; /* two quotes, "...", NUL */
    size_t n = 0;
    buf[n++] = '\'';
    for (; *word && n <= ROOM; word++) buf[n++] = rdk_is_control(*word) ? '?' : *word;
    strcpy(buf + n, *word ? "...'" : "'");
    return buf;
}

size_t rdk_option_names(const rdk_option *o, const char *names[RDK_MOST_NAMES])
{
    size_t n = 0;
    if (o->type == RDK_OPT_CHOICE) {
        for (; n < RDK_MOST_NAMES && o->choices[n]; n++) names[n] = o->choices[n];
    } else if (o->type == RDK_OPT_NAME) {
        for (; n < o->name_count() && n < RDK_MOST_NAMES; n++) names[n] = o->name_at(n);
    }
    return n;
}

/* ---- what may be given ----------------------------------------------------------------------- */

static void append(char buf[RDK_RANGE_TEXT], const char *text)
{
    size_t used = strlen(buf);
    snprintf(buf + used, RDK_RANGE_TEXT - used, "%s", text);
}

static void append_bound(char buf[RDK_RANGE_TEXT], const rdk_option *o, double x)
{
    static const double two_to_64 = 18446744073709551616.0;
    char number[RDK_NUMBER_TEXT];
    if (o->type != RDK_OPT_UINT && o->type != RDK_OPT_LIST) {
        append(buf, rdk_text_double(x, number));
    } else if (x >= two_to_64) {
        append(buf, "18446744073709551615");
    } else {
        snprintf(number, sizeof number, "%.0f", x);
        append(buf, number);
    }
}

static void append_interval(char buf[RDK_RANGE_TEXT], const rdk_option *o)
{
    bool whole = o->type == RDK_OPT_UINT || o->type == RDK_OPT_LIST;
    append(buf, whole ? "a whole number from " : "a number from ");
    append_bound(buf, o, o->low);
    append(buf, " to ");
    append_bound(buf, o, o->high);
    if (o->or_zero) append(buf, ", or 0");
}

static void append_names(char buf[RDK_RANGE_TEXT], const rdk_option *o)
{
    const char *names[RDK_MOST_NAMES];
    size_t n = rdk_option_names(o, names);
    append(buf, "one of ");
    for (size_t i = 0; i < n; i++) {
        if (i) append(buf, ", ");
        append(buf, names[i]);
    }
}

char *rdk_option_range(const rdk_option *o, char buf[RDK_RANGE_TEXT])
{
    buf[0] = '\0';
    switch (o->type) {
    case RDK_OPT_LIST:
        append(buf, "a list A,B,.. or A..B (the powers of two there), each ");
        append_interval(buf, o);
        break;
    case RDK_OPT_UINT:
    case RDK_OPT_REAL:
        append_interval(buf, o);
        break;
    case RDK_OPT_BOOL:
        append(buf, "on or off");
        break;
    case RDK_OPT_CHOICE:
        append_names(buf, o);
        break;
    case RDK_OPT_NAME:
        append_names(buf, o);
        if (o->low < o->high) {
            append(buf, ", or ");
            append_interval(buf, o);
        }
        break;
    case RDK_OPT_TEXT:
        if (o->form)
            append(buf, o->form);
        else
            snprintf(buf, RDK_RANGE_TEXT, "a path of at most %zu bytes without control characters",
                     o->size - 1);
        break;
    }
    if (o->auto_rule) {
        append(buf, ", or ");
        append(buf, RDK_AUTO);
    }
    return buf;
}
