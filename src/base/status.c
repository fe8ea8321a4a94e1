/* SPDX-License-Identifier: MIT
 * The sticky error: the first failure is kept, later ones are its consequences.
 *
 * Invariant: a status with a code other than RDK_OK is never overwritten here.
 * Read next: alloc.c. */
#include <stdio.h>
#include <string.h>

#include <rootdk/base.h>

bool rdk_vfail(rdk_status *s, rdk_code code, const char *format, va_list args)
{
    if (!s || s->code != RDK_OK) return false;
    s->code = code;
    int length = vsnprintf(s->message, sizeof s->message, format, args);
    if (length >= (int)sizeof s->message) {
        static const char cut[] = "...";
        memcpy(s->message + sizeof s->message - sizeof cut, cut, sizeof cut);
    }
    return false;
}

bool rdk_fail(rdk_status *s, rdk_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rdk_vfail(s, code, format, args);
    va_end(args);
    return false;
}
