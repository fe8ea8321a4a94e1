/* SPDX-License-Identifier: MIT
 * A strict reader of JSON text, a value at a time, for files that we wrote ourselves or that a peer
 * wrote: objects, arrays, strings, numbers. Anything else is an error, never a guess.
 * Errors are sticky: after the first, every call returns false and *error stays. */
#ifndef RDK_RUN_JSON_H
#define RDK_RUN_JSON_H

#include <rootdk/base.h>

typedef struct rdk_json {
    const char *at, *start, *end;
    const char *error; /* what was wrong, or NULL */
    const char *error_at;
} rdk_json;

rdk_json rdk_json_open(const char *text, size_t size);
/* Skips blanks; takes the character c, or fails. */
bool rdk_json_take(rdk_json *j, char c);
/* Is the next character c? (nothing is taken) */
bool rdk_json_next_is(rdk_json *j, char c);
/* A string, unescaped, appended to out (NUL behind it). */
bool rdk_json_string(rdk_json *j, rdk_text *out);
bool rdk_json_uint(rdk_json *j, uint64_t *x);
/* A string as rdk_json_string, or a number, true, false or null as it stands; appended to out. */
bool rdk_json_scalar(rdk_json *j, rdk_text *out);
/* Nothing but blanks is left. */
bool rdk_json_finished(rdk_json *j);
bool rdk_json_fail(rdk_json *j, const char *error);

#endif
