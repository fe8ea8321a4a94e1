/* SPDX-License-Identifier: MIT
 * How an option's row reads a value into its field, and writes it as text again.
 *
 * Invariant: a text is taken whole or not at all, and rdk_option_text gives a text that
 * rdk_option_set reads back to the same value.
 * Read next: config.c. */
#include <string.h>

#include <rootdk/run.h>

enum { MOST_NAMES = 64 };
static const char by_rule[] = "auto";

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

char *rdk_quote(const char *word, char buf[RDK_QUOTE_TEXT])
{
    enum { ROOM = RDK_QUOTE_TEXT - 6 }; /* two quotes, "...", NUL */
    size_t n = 0;
    buf[n++] = '\'';
    for (; *word && n <= ROOM; word++) buf[n++] = is_control(*word) ? '?' : *word;
    strcpy(buf + n, *word ? "...'" : "'");
    return buf;
}

/* The names that a CHOICE or NAME takes. */
static size_t names_of(const rdk_option *o, const char *names[MOST_NAMES])
{
    size_t n = 0;
    if (o->type == RDK_OPT_CHOICE) {
        for (; n < MOST_NAMES && o->choices[n]; n++) names[n] = o->choices[n];
    } else if (o->type == RDK_OPT_NAME) {
        for (; n < o->name_count() && n < MOST_NAMES; n++) names[n] = o->name_at(n);
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
    if (o->type != RDK_OPT_UINT) {
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
    append(buf, o->type == RDK_OPT_UINT ? "a whole number from " : "a number from ");
    append_bound(buf, o, o->low);
    append(buf, " to ");
    append_bound(buf, o, o->high);
}

static void append_names(char buf[RDK_RANGE_TEXT], const rdk_option *o)
{
    const char *names[MOST_NAMES];
    size_t n = names_of(o, names);
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
        snprintf(buf, RDK_RANGE_TEXT, "a path of at most %zu bytes without control characters",
                 o->size - 1);
        break;
    }
    if (o->auto_rule) {
        append(buf, ", or ");
        append(buf, by_rule);
    }
    return buf;
}

static bool refuse(const rdk_option *o, const char *value, rdk_status *s)
{
    char range[RDK_RANGE_TEXT], quoted[RDK_QUOTE_TEXT];
    const char *names[MOST_NAMES];
    size_t n = names_of(o, names);
    const char *near = n ? rdk_nearest(value, names, n) : NULL;
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

static bool set_uint(void *fields, const rdk_option *o, const char *value)
{
    uint64_t x;
    if (!rdk_parse_uint(value, &x) || (double)x < o->low || (double)x > o->high) return false;
    store_uint(fields, o, x);
    return true;
}

static bool parse_real(const rdk_option *o, const char *value, double *x)
{
    if (!rdk_parse_double(value, x) || *x < o->low || *x > o->high) return false;
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
    const char *names[MOST_NAMES];
    size_t n = names_of(o, names);
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

static bool set_text(void *fields, const rdk_option *o, const char *value)
{
    if (strlen(value) >= o->size) return false;
    for (const char *p = value; *p; p++) {
        if (is_control(*p)) return false;
    }
    store_text(fields, o, value);
    return true;
}

static void set_auto(void *fields, const rdk_option *o)
{
    const int none = -1;
    if (o->type == RDK_OPT_CHOICE) {
        memcpy(field_of(fields, o), &none, sizeof none);
    } else {
        memset(field_of(fields, o), 0, o->size);
    }
}

bool rdk_option_set(void *fields, const rdk_option *o, const char *value, rdk_status *s)
{
    bool taken = false;
    if (o->auto_rule && !strcmp(by_rule, value)) {
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
    }
    return taken || refuse(o, value, s);
}

/* ---- as text --------------------------------------------------------------------------------- */

static void real_text(const void *fields, const rdk_option *o, rdk_text *out)
{
    double x;
    char number[RDK_NUMBER_TEXT];
    memcpy(&x, (const char *)fields + o->offset, sizeof x);
    rdk_text_add(out, "%s", o->auto_rule && x == 0 ? by_rule : rdk_text_double(x, number));
}

static void uint_text(const void *fields, const rdk_option *o, rdk_text *out)
{
    uint64_t x = load_uint(fields, o);
    if (o->auto_rule && x == 0) {
        rdk_text_add(out, "%s", by_rule);
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
        rdk_text_add(out, "%s", choice < 0 ? by_rule : o->choices[choice]);
        break;
    case RDK_OPT_NAME:
    case RDK_OPT_TEXT:
        rdk_text_add(out, "%s", field);
        break;
    }
}
