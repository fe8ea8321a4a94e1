/* SPDX-License-Identifier: MIT
 * The run's CSV files: see csv.h for the invariant. */
#include "csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "append.h"

static bool set_path(rdk_csv *c, const char *directory, const char *name, rdk_status *s)
{
    rdk_text path = {0};
    rdk_text_add(&path, "%s/%s", directory, name);
    *c = (rdk_csv){.fd = -1, .path = path.data};
    return rdk_text_ok(&path, s);
}

static bool open_for_append(rdk_csv *c, rdk_status *s)
{
    c->fd = rdk_append_open(c->path, s);
    return c->fd >= 0;
}

bool rdk_csv_create(rdk_csv *c, const char *directory, const char *name, const char *header,
                    rdk_status *s)
{
    if (!set_path(c, directory, name, s)) return false;
    rdk_text line = {0};
    rdk_text_add(&line, "%s\n", header);
    bool ok = rdk_text_ok(&line, s) && rdk_file_replace(c->path, line.data, line.size, s);
    rdk_text_free(&line);
    return ok && open_for_append(c, s);
}

/* The step that a line begins with, or UINT64_MAX where it does not begin with one. */
static uint64_t line_step(const char *line)
{
    char digits[24] = "";
    size_t n = strspn(line, "0123456789");
    uint64_t step;
    if (n == 0 || n >= sizeof digits || line[n] != ',') return UINT64_MAX;
    memcpy(digits, line, n);
    return rdk_parse_uint(digits, &step) ? step : UINT64_MAX;
}

/* ---- going on with an old file --------------------------------------------------------------- */

static const char OR_NEW[] = "or start a new run with --out";

static size_t columns(const char *line, const char *end)
{
    size_t n = 1;
    for (; line < end; line++) n += *line == ',';
    return n;
}

/* Is this line, number `number`, the row that should stand there? */
static bool check_line(const rdk_csv *c, const rdk_csv_old *old, const char *line, const char *end,
                       size_t number, rdk_status *s)
{
    char key[RDK_CSV_KEY];
    const char *header = old->header;
    bool whole = line_step(line) != UINT64_MAX && !memchr(line, 0, (size_t)(end - line)) &&
                 columns(line, end) == columns(header, header + strlen(header));
    if (!whole)
        return rdk_fail(s, RDK_EFORMAT, "cannot continue %s: line %zu is damaged (mend it, %s)",
                        c->path, number, OR_NEW);
    if (!old->next) return true;
    if (!old->next(old->state, key))
        return rdk_fail(s, RDK_EFORMAT,
                        "cannot continue %s: line %zu is one too many before step %" PRIu64
                        " (take it out, %s)",
                        c->path, number, old->cut, OR_NEW);
    return strncmp(line, key, strlen(key)) == 0 ||
           rdk_fail(s, RDK_EFORMAT,
                    "cannot continue %s: with the intervals of config.ini, line %zu should begin "
                    "with \"%s\" (put back what is missing, %s)",
                    c->path, number, key, OR_NEW);
}

/* *keep: length of the text up to the first line of a step >= cut, or to a last one without end. */
static bool check_rows(const rdk_csv *c, const rdk_csv_old *old, const char *text, size_t size,
                       size_t *keep, rdk_status *s)
{
    const char *at = text + strlen(old->header) + 1, *end;
    char key[RDK_CSV_KEY];
    for (size_t number = 2; (end = memchr(at, '\n', size - (size_t)(at - text))); number++) {
        uint64_t step = line_step(at);
        if (step >= old->cut && step != UINT64_MAX) break;
        if (!check_line(c, old, at, end, number, s)) return false;
        at = end + 1;
    }
    *keep = (size_t)(at - text);
    return !old->next || !old->next(old->state, key) ||
           rdk_fail(s, RDK_EFORMAT,
                    "cannot continue %s: its last rows before step %" PRIu64
                    " are missing, from \"%s\" on (put them back, %s)",
                    c->path, old->cut, key, OR_NEW);
}

/* The text of the file, checked, free with rdk_free; NULL where that failed, or where there is no
 * file and none is needed. */
static char *checked_text(const rdk_csv *c, const rdk_csv_old *old, size_t *size, size_t *keep,
                          rdk_status *s)
{
    size_t n = strlen(old->header);
    bool there = rdk_file_exists(c->path);
    if (!there && old->cut > 0)
        rdk_fail(s, RDK_EFORMAT, "cannot continue %s: it is missing (put it back, %s)", c->path,
                 OR_NEW);
    char *text = there ? rdk_file_read(c->path, size, s) : NULL;
    if (!text) return NULL;
    bool ok = strncmp(text, old->header, n) == 0 && text[n] == '\n';
    if (!ok)
        rdk_fail(s, RDK_EFORMAT, "cannot continue %s: its header is not \"%s\" (%s)", c->path,
                 old->header, OR_NEW + strlen("or "));
    if (ok && check_rows(c, old, text, *size, keep, s)) return text;
    rdk_free(text);
    return NULL;
}

bool rdk_csv_check(const rdk_csv_old *old, rdk_status *s)
{
    rdk_csv c;
    size_t size, keep;
    if (!set_path(&c, old->directory, old->name, s)) return false;
    rdk_free(checked_text(&c, old, &size, &keep, s));
    rdk_csv_close(&c);
    return rdk_ok(s);
}

bool rdk_csv_continue(rdk_csv *c, const rdk_csv_old *old, rdk_status *s)
{
    size_t size, keep;
    if (!set_path(c, old->directory, old->name, s)) return false;
    char *text = checked_text(c, old, &size, &keep, s);
    if (!text) {
        rdk_csv_close(c);
        return rdk_ok(s) && rdk_csv_create(c, old->directory, old->name, old->header, s);
    }
    bool ok = keep == size || rdk_file_replace(c->path, text, keep, s);
    rdk_free(text);
    return ok && open_for_append(c, s);
}

/* ---- rows ------------------------------------------------------------------------------------ */

void rdk_csv_close(rdk_csv *c)
{
    if (c->fd >= 0) close(c->fd);
    rdk_free(c->path);
    rdk_text_free(&c->text);
    *c = (rdk_csv){.fd = -1};
}

static void field(rdk_csv *c, const char *text)
{
    if (c->fd < 0) return;
    if (c->text.size > c->whole) rdk_text_bytes(&c->text, ",", 1);
    rdk_text_bytes(&c->text, text, strlen(text));
}

void rdk_csv_uint(rdk_csv *c, uint64_t x)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, x);
    field(c, text);
}

void rdk_csv_real(rdk_csv *c, double x)
{
    char text[RDK_NUMBER_TEXT];
    field(c, rdk_text_figure(x, text));
}

void rdk_csv_exact(rdk_csv *c, double x)
{
    char text[RDK_NUMBER_TEXT];
    field(c, rdk_text_exact(x, text));
}

void rdk_csv_word(rdk_csv *c, const char *word)
{
    field(c, word);
}

void rdk_csv_empty(rdk_csv *c)
{
    field(c, "");
}

void rdk_csv_end(rdk_csv *c)
{
    if (c->fd < 0) return;
    rdk_text_bytes(&c->text, "\n", 1);
    c->whole = c->text.size;
}

bool rdk_csv_write(rdk_csv *c, rdk_status *s)
{
    if (!rdk_text_ok(&c->text, s)) return false;
    if (!rdk_append(c->fd, c->path, c->text.data, c->whole, s)) return false;
    c->text.size = c->whole = 0;
    return true;
}

bool rdk_csv_sync(rdk_csv *c, rdk_status *s)
{
    return rdk_append_sync(c->fd, c->path, s);
}
