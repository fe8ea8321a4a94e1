/* SPDX-License-Identifier: MIT
 * A flat JSON object read back, such as run.json; see run.h.
 * Read next: run_json.c, which writes one. */
#include <math.h>
#include <string.h>

#include <rootdk/run.h>

#include "json.h"

enum { MOST_FIELDS = 4096 };

static size_t line_of(const char *start, const char *at)
{
    size_t line = 1;
    for (; start < at; start++) line += *start == '\n';
    return line;
}

/* As rdk_json_scalar, but null as nothing. */
static bool take_value(rdk_json *j, rdk_text *out)
{
    bool string = rdk_json_next_is(j, '"');
    if (!rdk_json_scalar(j, out)) return false;
    if (!string && out->data && !strcmp(out->data, "null")) *out->data = '\0';
    return true;
}

static bool take_field(rdk_json *j, rdk_record *r)
{
    if (r->count == MOST_FIELDS) return rdk_json_fail(j, "too many keys");
    rdk_text key = {0}, value = {0};
    bool ok = rdk_json_string(j, &key) && rdk_json_take(j, ':') && take_value(j, &value);
    if (ok && (key.failed || value.failed)) ok = rdk_json_fail(j, "out of memory");
    if (ok && rdk_record_word(r, key.data)) ok = rdk_json_fail(j, "a key stands twice");
    if (!ok) {
        rdk_text_free(&key);
        rdk_text_free(&value);
        return false;
    }
    r->fields[r->count].key = key.data;
    r->fields[r->count++].value = value.data;
    return true;
}

static bool take_object(rdk_json *j, rdk_record *r)
{
    if (!rdk_json_take(j, '{')) return false;
    if (rdk_json_next_is(j, '}')) return rdk_json_take(j, '}') && rdk_json_finished(j);
    do {
        if (!take_field(j, r)) return false;
    } while (rdk_json_next_is(j, ',') && rdk_json_take(j, ','));
    return rdk_json_take(j, '}') && rdk_json_finished(j);
}

rdk_record *rdk_record_read(const char *path, rdk_status *s)
{
    size_t size;
    rdk_text name = {0};
    rdk_record *r = rdk_alloc(1, sizeof *r, s);
    if (!r) return NULL;
    rdk_text_add(&name, "%s", path);
    r->path = name.data;
    r->fields = rdk_alloc(MOST_FIELDS, sizeof *r->fields, s);
    char *text = r->fields && rdk_text_ok(&name, s) ? rdk_file_read(path, &size, s) : NULL;
    bool ok = text != NULL;
    if (text) {
        rdk_json j = rdk_json_open(text, size);
        ok = take_object(&j, r) ||
             rdk_fail(s, RDK_EFORMAT, "%s:%zu: %s", path, line_of(j.start, j.error_at), j.error);
    }
    rdk_free(text);
    if (ok) return r;
    rdk_record_free(r);
    return NULL;
}

void rdk_record_free(rdk_record *r)
{
    if (!r) return;
    for (size_t i = 0; r->fields && i < r->count; i++) {
        rdk_text_free(&(rdk_text){.data = r->fields[i].key});
        rdk_text_free(&(rdk_text){.data = r->fields[i].value});
    }
    rdk_text_free(&(rdk_text){.data = r->path});
    rdk_free(r->fields);
    rdk_free(r);
}

const char *rdk_record_word(const rdk_record *r, const char *key)
{
    for (size_t i = 0; i < r->count; i++)
        if (!strcmp(r->fields[i].key, key)) return r->fields[i].value;
    return NULL;
}

double rdk_record_number(const rdk_record *r, const char *key)
{
    const char *word = rdk_record_word(r, key);
    double x;
    return word && rdk_parse_double(word, &x) ? x : NAN;
}
