/* SPDX-License-Identifier: MIT
 * The run's CSV files: see csv.h for the invariant. */
#include "csv.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static bool csv_fail(const rdk_csv *c, const char *what, rdk_status *s)
{
    return rdk_fail(s, RDK_EIO, "cannot %s %s: %s", what, c->path, strerror(errno));
}

static bool set_path(rdk_csv *c, const char *directory, const char *name, rdk_status *s)
{
    rdk_text path = {0};
    rdk_text_add(&path, "%s/%s", directory, name);
    *c = (rdk_csv){.fd = -1, .path = path.data};
    return rdk_text_ok(&path, s);
}

static bool open_for_append(rdk_csv *c, rdk_status *s)
{
    c->fd = open(c->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return c->fd >= 0 || csv_fail(c, "open", s);
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

/* The length of text up to the first line of a step >= cut, or the last without an end. A line
 * before that which begins with no step is damage: *line is its number, counted from 1; else 0. */
static size_t kept_bytes(const char *text, size_t size, size_t header_bytes, uint64_t cut,
                         size_t *line)
{
    const char *at = text + header_bytes, *end;
    size_t number = 1; /* the header's */
    *line = 0;
    while ((end = memchr(at, '\n', size - (size_t)(at - text))) != NULL) {
        uint64_t step = line_step(at);
        number++;
        if (step == UINT64_MAX || memchr(at, 0, (size_t)(end - at))) {
            *line = number;
            break;
        }
        if (step >= cut) break;
        at = end + 1;
    }
    return (size_t)(at - text);
}

static bool cut_rows(const rdk_csv *c, const char *text, size_t size, size_t header_bytes,
                     uint64_t cut, rdk_status *s)
{
    size_t line, keep = kept_bytes(text, size, header_bytes, cut, &line);
    if (line)
        return rdk_fail(s, RDK_EFORMAT,
                        "cannot continue %s: line %zu is damaged (mend it, or start a new run with "
                        "--out)",
                        c->path, line);
    return keep == size || rdk_file_replace(c->path, text, keep, s);
}

static bool continue_missing(rdk_csv *c, const char *directory, const char *name,
                             const char *header, uint64_t cut, rdk_status *s)
{
    if (cut > 0)
        return rdk_fail(s, RDK_EFORMAT,
                        "cannot continue %s: it is missing (put it back, or start a new run with "
                        "--out)",
                        c->path);
    rdk_csv_close(c);
    return rdk_csv_create(c, directory, name, header, s);
}

bool rdk_csv_continue(rdk_csv *c, const char *directory, const char *name, const char *header,
                      uint64_t cut, rdk_status *s)
{
    if (!set_path(c, directory, name, s)) return false;
    if (!rdk_file_exists(c->path)) return continue_missing(c, directory, name, header, cut, s);
    size_t size, n = strlen(header);
    char *text = rdk_file_read(c->path, &size, s);
    if (!text) return false;
    bool ok = true;
    if (strncmp(text, header, n) != 0 || text[n] != '\n')
        ok = rdk_fail(s, RDK_EFORMAT,
                      "cannot continue %s: its header is not \"%s\" (start a new "
                      "run with --out)",
                      c->path, header);
    ok = ok && cut_rows(c, text, size, n + 1, cut, s);
    rdk_free(text);
    return ok && open_for_append(c, s);
}

void rdk_csv_close(rdk_csv *c)
{
    if (c->fd >= 0) close(c->fd);
    rdk_free(c->path);
    rdk_text_free(&c->line);
    *c = (rdk_csv){.fd = -1};
}

static void field(rdk_csv *c, const char *text)
{
    if (c->fd < 0) return;
    rdk_text_add(&c->line, "%s%s", c->line.size ? "," : "", text);
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
    bool beyond = isfinite(x) && fabs(x) > FLT_MAX;
    field(c, beyond ? rdk_text_double(x, text) : rdk_text_float((float)x, text));
}

void rdk_csv_exact(rdk_csv *c, double x)
{
    char text[RDK_NUMBER_TEXT];
    field(c, rdk_text_double(x, text));
}

void rdk_csv_word(rdk_csv *c, const char *word)
{
    field(c, word);
}

void rdk_csv_empty(rdk_csv *c)
{
    field(c, "");
}

bool rdk_csv_end(rdk_csv *c, rdk_status *s)
{
    if (c->fd < 0) return true;
    rdk_text_add(&c->line, "\n");
    if (!rdk_text_ok(&c->line, s)) return false;
    for (size_t done = 0; done < c->line.size;) {
        ssize_t n = write(c->fd, c->line.data + done, c->line.size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return csv_fail(c, "write", s);
        done += (size_t)n;
    }
    c->line.size = 0;
    return true;
}

bool rdk_csv_sync(rdk_csv *c, rdk_status *s)
{
    int result;
    if (c->fd < 0) return true;
    do result = fsync(c->fd);
    while (result != 0 && errno == EINTR);
    return result == 0 || csv_fail(c, "sync", s);
}
