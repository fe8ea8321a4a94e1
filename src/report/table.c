/* SPDX-License-Identifier: MIT
 * CSV files read back; see report.h.
 *
 * Invariant: every field points into the table's one copy of the file, where commas and line ends
 * have become NUL.
 * Read next: record.c. */
#include <math.h>
#include <string.h>

#include <rootdk/report.h>

/* Where in which file we are. */
typedef struct reader {
    rdk_table *t;
    char *at, *end; /* of the part of the text that is whole lines */
    size_t line;
    rdk_status *status;
} reader;

static bool fail_here(const reader *r, const char *what)
{
    return rdk_fail(r->status, RDK_EFORMAT, "%s:%zu: %s", r->t->path, r->line, what);
}

/* A quoted field from its first quote on, moved together over its doubled quotes. */
static char *unquote(reader *r, char *at)
{
    char *to = at;
    for (char *p = at + 1; p < r->end && *p != '\n'; p++) {
        if (*p != '"') {
            *to++ = *p;
        } else if (p + 1 < r->end && p[1] == '"') {
            *to++ = *p++;
        } else {
            *to = '\0';
            return p + 1;
        }
    }
    fail_here(r, "a quoted field without its closing quote");
    return NULL;
}

/* One field; *last: it ends its line. NULL on failure. */
static char *take_field(reader *r, bool *last)
{
    char *field = r->at, *stop = field;
    if (*field == '"') {
        stop = unquote(r, field);
        if (!stop) return NULL;
    } else {
        while (*stop != ',' && *stop != '\n' && *stop) stop++;
    }
    char *next = stop;
    if (*next == '\r' && next[1] == '\n') next++;
    if (next == r->end || (*next != ',' && *next != '\n')) {
        fail_here(r, *next ? "something follows a quoted field" : "a NUL byte");
        return NULL;
    }
    *last = *next == '\n';
    if (*last && stop > field && stop[-1] == '\r') stop[-1] = '\0';
    *next = '\0';
    *stop = '\0';
    r->at = next + 1;
    return field;
}

static size_t count_lines(const char *p, const char *end)
{
    size_t n = 0;
    for (; p < end; p++) n += *p == '\n';
    return n;
}

static size_t count_fields(const char *p)
{
    size_t n = 1;
    for (bool quoted = false; *p && *p != '\n'; p++) {
        if (*p == '"') quoted = !quoted;
        n += *p == ',' && !quoted;
    }
    return n;
}

static bool read_line(reader *r, char **fields)
{
    bool last = false;
    size_t n = 0;
    for (; !last; n++) {
        char *field = take_field(r, &last);
        if (!field) return false;
        if (n < r->t->columns) fields[n] = field;
    }
    if (n == r->t->columns) return true;
    return rdk_fail(r->status, RDK_EFORMAT, "%s:%zu: %zu fields where the header has %zu",
                    r->t->path, r->line, n, r->t->columns);
}

static bool read_header(reader *r)
{
    rdk_table *t = r->t;
    if (!read_line(r, t->names)) return false;
    for (size_t i = 0; i < t->columns; i++)
        if (rdk_table_column(t, t->names[i]) != (int)i)
            return rdk_fail(r->status, RDK_EFORMAT, "%s:1: the column %s twice", t->path,
                            t->names[i]);
    return true;
}

static bool parse_number(const char *word, double *x)
{
    if (!*word || !strcmp(word, "nan") || !strcmp(word, "-nan")) {
        *x = NAN;
        return true;
    }
    bool minus = *word == '-';
    if (!strcmp(word + minus, "inf")) {
        *x = minus ? -INFINITY : INFINITY;
        return true;
    }
    return rdk_parse_double(word, x);
}

static void read_numbers(rdk_table *t)
{
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t c = 0; c < t->columns; c++) {
            double *x = &t->numbers[c * t->rows + row];
            if (parse_number(t->words[row * t->columns + c], x)) continue;
            *x = NAN;
            if (!t->not_number[c]) t->not_number[c] = row + 2;
        }
    }
}

static bool make_room(rdk_table *t, rdk_status *s)
{
    size_t fields;
    if (!rdk_size_mul(t->rows, t->columns, &fields))
        return rdk_fail(s, RDK_ENOMEM, "%s is too large", t->path);
    return (t->names = rdk_alloc(t->columns, sizeof *t->names, s)) &&
           (t->not_number = rdk_alloc(t->columns, sizeof *t->not_number, s)) &&
           (t->words = rdk_alloc(fields, sizeof *t->words, s)) &&
           (t->numbers = rdk_alloc(fields, sizeof *t->numbers, s));
}

static bool read_text(rdk_table *t, size_t size, rdk_status *s)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    reader r = {.t = t, .at = t->text, .end = t->text + size, .status = s};
    while (r.end > r.at && r.end[-1] != '\n') r.end--;
    if (!strncmp(r.at, byte_order_mark, 3)) r.at += 3;
    size_t lines = count_lines(r.at, r.end);
    if (!lines) return rdk_fail(s, RDK_EFORMAT, "%s:1: no line of column names", t->path);
    t->rows = lines - 1;
    t->columns = count_fields(r.at);
    if (!make_room(t, s)) return false;
    r.line = 1;
    if (!read_header(&r)) return false;
    for (size_t row = 0; row < t->rows; row++) {
        r.line++;
        if (!read_line(&r, t->words + row * t->columns)) return false;
    }
    read_numbers(t);
    return true;
}

rdk_table *rdk_table_read(const char *path, rdk_status *s)
{
    size_t size;
    rdk_text name = {0};
    rdk_table *t = rdk_alloc(1, sizeof *t, s);
    if (!t) return NULL;
    rdk_text_add(&name, "%s", path);
    t->path = name.data;
    if (rdk_text_ok(&name, s) && (t->text = rdk_file_read(path, &size, s)) && read_text(t, size, s))
        return t;
    rdk_table_free(t);
    return NULL;
}

void rdk_table_free(rdk_table *t)
{
    if (!t) return;
    rdk_text_free(&(rdk_text){.data = t->path});
    rdk_free(t->text);
    rdk_free(t->names);
    rdk_free(t->words);
    rdk_free(t->numbers);
    rdk_free(t->not_number);
    rdk_free(t);
}

int rdk_table_column(const rdk_table *t, const char *name)
{
    for (size_t i = 0; i < t->columns; i++)
        if (!strcmp(t->names[i], name)) return (int)i;
    return -1;
}

const double *rdk_table_numbers(const rdk_table *t, const char *name, rdk_status *s)
{
    int c = rdk_table_column(t, name);
    if (c < 0) {
        rdk_fail(s, RDK_EFORMAT, "%s: no column %s", t->path, name);
        return NULL;
    }
    if (t->not_number[c]) {
        size_t line = t->not_number[c];
        char quoted[RDK_QUOTE_TEXT];
        rdk_fail(s, RDK_EFORMAT, "%s:%zu: %s is no number: %s", t->path, line, name,
                 rdk_quote(rdk_table_word(t, line - 2, c), quoted));
        return NULL;
    }
    return t->numbers + (size_t)c * t->rows;
}

const char *rdk_table_word(const rdk_table *t, size_t row, int column)
{
    return column < 0 ? "" : t->words[row * t->columns + (size_t)column];
}
