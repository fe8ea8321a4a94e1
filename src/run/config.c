/* SPDX-License-Identifier: MIT
 * A configuration as text: defaults, config.ini read and written.
 *
 *     # a comment, on a line of its own or after a value
 *     lr = 0.001
 *     data = "a path # with what would begin a comment"
 *
 * Invariant: writing what was read from a written text gives the same bytes.
 * Read next: resolve.c. */
#include <string.h>

#include <rootdk/run.h>

enum { VALUE_TEXT = 2 * RDK_PATH_TEXT + 3 }; /* every byte escaped, two quotes, NUL */

void rdk_config_init(rdk_config *c)
{
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < rdk_option_count(); i++) {
        rdk_option_set(c, rdk_option_at(i), rdk_option_at(i)->initial, NULL);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Where in which text we are. */
typedef struct reader {
    const char *name; /* of the file */
    size_t line;
    rdk_status *status;
    bool *seen; /* [option_count] */
} reader;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip_blank(const char *p, const char *end)
{
    while (p < end && is_blank(*p)) p++;
    return p;
}

static const char *trim_end(const char *p, const char *end)
{
    while (end > p && is_blank(end[-1])) end--;
    return end;
}

static bool fail_here(const reader *r, const char *what, const char *word)
{
    char quoted[RDK_QUOTE_TEXT];
    return rdk_fail(r->status, RDK_EVALUE, "%s:%zu: %s%s%s", r->name, r->line, what,
                    word ? " " : "", word ? rdk_quote(word, quoted) : "");
}

/* A quoted value from behind its first quote; nothing but a comment may follow the last. */
static bool read_quoted(const reader *r, const char *p, const char *end, char value[VALUE_TEXT])
{
    size_t n = 0;
    for (; p < end && *p != '"'; p++) {
        if (*p == '\\' && p + 1 < end) p++;
        if (n + 1 < VALUE_TEXT) value[n++] = *p;
    }
    value[n] = '\0';
    if (p == end) return fail_here(r, "a quoted value without its closing quote", NULL);
    p = skip_blank(p + 1, end);
    return p == end || *p == '#' || fail_here(r, "something follows the quoted value", value);
}

static bool read_plain(const reader *r, const char *p, const char *end, char value[VALUE_TEXT])
{
    const char *stop = p;
    while (stop < end && !(*stop == '#' && (stop == p || is_blank(stop[-1])))) stop++;
    stop = trim_end(p, stop);
    size_t n = (size_t)(stop - p);
    if (n >= VALUE_TEXT) return fail_here(r, "this value is too long", NULL);
    memcpy(value, p, n);
    value[n] = '\0';
    return true;
}

static const rdk_option *read_key(const reader *r, const char *key, const char *end)
{
    char name[RDK_QUOTE_TEXT] = "", quoted[RDK_QUOTE_TEXT];
    size_t n = (size_t)(end - key);
    memcpy(name, key, n < sizeof name ? n : sizeof name - 1);
    const rdk_option *o = rdk_option_find(name);
    if (o) return o;
    const rdk_option *near = rdk_option_nearest(name);
    rdk_fail(r->status, RDK_EVALUE, "%s:%zu: unknown key %s%s%s%s", r->name, r->line,
             rdk_quote(name, quoted), near ? " (did you mean " : "", near ? near->name : "",
             near ? "?)" : "");
    return NULL;
}

static bool read_pair(const reader *r, rdk_config *c, const char *p, const char *end)
{
    const char *equals = memchr(p, '=', (size_t)(end - p));
    char value[VALUE_TEXT];
    if (!equals) {
        bool told = read_plain(r, p, end, value);
        return told && fail_here(r, "not of the form key = value:", value);
    }
    const rdk_option *o = read_key(r, p, trim_end(p, equals));
    if (!o) return false;
    bool *seen = &r->seen[o - rdk_option_at(0)];
    if (*seen) return fail_here(r, "a second value for", o->name);
    *seen = true;
    p = skip_blank(equals + 1, end);
    bool quoted = p < end && *p == '"';
    if (!(quoted ? read_quoted(r, p + 1, end, value) : read_plain(r, p, end, value))) return false;
    rdk_status cause = {0};
    return rdk_option_set(c, o, value, &cause) || fail_here(r, cause.message, NULL);
}

static bool read_lines(reader *r, rdk_config *c, const char *text)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    if (!strncmp(text, byte_order_mark, 3)) text += 3;
    for (r->line = 1; *text; r->line++) {
        const char *end = strchr(text, '\n');
        if (!end) end = text + strlen(text);
        const char *p = skip_blank(text, end);
        if (p < end && *p != '#' && !read_pair(r, c, p, end)) return false;
        text = *end ? end + 1 : end;
    }
    return true;
}

bool rdk_config_read(rdk_config *c, const char *text, const char *name, bool *given, rdk_status *s)
{
    rdk_status first = {0};
    bool *seen = rdk_alloc(rdk_option_count(), sizeof *seen, s);
    if (!seen) return false;
    reader r = {.name = name, .status = &first, .seen = seen};
    bool read = read_lines(&r, c, text);
    for (size_t i = 0; given && i < rdk_option_count(); i++) given[i] = given[i] || seen[i];
    rdk_free(seen);
    return read || rdk_fail(s, first.code, "%s", first.message);
}

bool rdk_config_load(rdk_config *c, const char *path, bool *given, rdk_status *s)
{
    size_t size;
    char *text = rdk_file_read(path, &size, s);
    if (!text) return false;
    bool read = strlen(text) == size
                    ? rdk_config_read(c, text, path, given, s)
                    : rdk_fail(s, RDK_EFORMAT, "%s is not a text: it holds a zero byte", path);
    rdk_free(text);
    return read;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool needs_quotes(const char *value)
{
    size_t n = strlen(value);
    return n && (value[0] == ' ' || value[n - 1] == ' ' || strpbrk(value, "#\""));
}

static void write_quoted(const char *value, rdk_text *out)
{
    rdk_text_add(out, "\"");
    for (; *value; value++) {
        if (*value == '"' || *value == '\\') rdk_text_add(out, "\\");
        rdk_text_bytes(out, value, 1);
    }
    rdk_text_add(out, "\"");
}

void rdk_config_write(const rdk_config *c, rdk_option_scope last_scope, rdk_text *out)
{
    const char *group = NULL;
    for (size_t i = 0; i < rdk_option_count(); i++) {
        const rdk_option *o = rdk_option_at(i);
        if (o->scope > last_scope) continue;
        if (!group || strcmp(group, o->group) != 0) {
            rdk_text_add(out, "%s# %s\n", group ? "\n" : "", o->group);
            group = o->group;
        }
        const char *text = o->type == RDK_OPT_TEXT ? (const char *)c + o->offset : "";
        bool empty = o->type == RDK_OPT_TEXT && !o->form && !*text;
        rdk_text_add(out, "%s =%s", o->name, empty ? "" : " ");
        if (needs_quotes(text)) {
            write_quoted(text, out);
        } else {
            rdk_option_text(c, o, out);
        }
        rdk_text_add(out, "\n");
    }
}
