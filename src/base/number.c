/* SPDX-License-Identifier: MIT
 * Numbers to text and back, the same in every locale.
 *
 * Invariant: rdk_parse_* of what rdk_text_* wrote gives the same bits. The C library's conversions
 * use the decimal point of the locale, which the host program may have set: so digits and exponent
 * are taken from its text, and the point is put in here.
 * Read next: text.c. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shortest.h"

#include <rootdk/base.h>

enum {
    MOST_DIGITS = 17,      /* always enough for a double */
    MOST_DIGITS_FLOAT = 9, /* and for a float */
    PLAIN_FROM = -4,       /* decimal exponents written without "e" */
    PLAIN_BELOW = 16,
    SCRATCH = 48,          /* "-d.(16 digits)e-308" with a decimal point of any length in use */
    EXPONENT_TEXT = 6,     /* "e-324" and the end */
    LONGEST_NUMBER = 1100, /* the longest exact double has fewer digits */
};

/* A precision: how many digits to try and how to read them back. */
typedef struct format {
    int sure; /* every decimal of so many digits survives: the shortest is found there at least */
    int most; /* every value survives so many */
    double smallest_normal;
    double (*read)(const char *text);
} format;

static double read_double(const char *text)
{
    return strtod(text, NULL);
}

static double read_float(const char *text)
{
    return (double)strtof(text, NULL);
}

static const format AS_DOUBLE = {DBL_DIG, MOST_DIGITS, DBL_MIN, read_double};
static const format AS_FLOAT = {FLT_DIG, MOST_DIGITS_FLOAT, (double)FLT_MIN, read_float};

/* Adds one unit in the last digit of "d.ddde+XX"; false where a carry leaves the first digit. */
static bool increment(char *text)
{
    for (char *at = strchr(text, 'e') - 1; at >= text; at--) {
        if (*at < '0' || *at > '9') continue;
        if (*at != '9') {
            ++*at;
            return true;
        }
        *at = '0';
    }
    return false;
}

/* Writes x > 0 as the shortest "d.ddde+XX" that reads back. At a power of two the values below are
 * twice as dense as those above, so there the decimal just above may do where the nearest does
 * not. */
static void shortest(double x, const format *f, char text[SCRATCH])
{
    int first = x < f->smallest_normal ? 1 : f->sure;
    for (int digits = first; digits <= f->most; digits++) {
        snprintf(text, SCRATCH, "%.*e", digits - 1, x);
        if (f->read(text) == x) return;
        int exponent;
        if (frexp(x, &exponent) == 0.5 && increment(text) && f->read(text) == x) return;
    }
}

/* Splits "d.ddde+XX" into its digits, without zeros at the end, and the exponent. */
static void split(const char *text, rdk_decimal *d)
{
    d->n = 0;
    for (; *text != 'e'; text++)
        if (*text >= '0' && *text <= '9') d->digits[d->n++] = *text;
    d->exponent = (int)strtol(text + 1, NULL, 10);
    while (d->n > 1 && d->digits[d->n - 1] == '0') d->n--;
}

static void lay_out(const rdk_decimal *d, char *out)
{
    const char *digits = d->digits;
    const int n = d->n, exponent = d->exponent;
    if (exponent >= PLAIN_BELOW || exponent < PLAIN_FROM) {
        *out++ = digits[0];
        if (n > 1) *out++ = '.';
        memcpy(out, digits + 1, (size_t)(n - 1));
        snprintf(out + n - 1, EXPONENT_TEXT, "e%d", exponent);
        return;
    }
    int before = exponent + 1; /* digits before the point */
    if (before <= 0) {
        *out++ = '0';
        *out++ = '.';
        while (before++ < 0) *out++ = '0';
        memcpy(out, digits, (size_t)n);
        out[n] = '\0';
        return;
    }
    for (int i = 0; i < n || i < before; i++) {
        if (i == before) *out++ = '.';
        *out++ = i < n ? digits[i] : '0';
    }
    *out = '\0';
}

static char *write_number(double x, const format *f, char buf[RDK_NUMBER_TEXT])
{
    if (isnan(x)) return strcpy(buf, "nan");
    char *out = buf;
    if (signbit(x)) *out++ = '-';
    x = fabs(x);
    if (isinf(x) || x == 0) {
        strcpy(out, x == 0 ? "0" : "inf");
        return buf;
    }
    rdk_decimal d = {.digits = "0", .n = 1};
    if (f != &AS_FLOAT || !rdk_shortest_float((float)x, &d)) {
        char text[SCRATCH];
        shortest(x, f, text);
        split(text, &d);
    }
    lay_out(&d, out);
    return buf;
}

char *rdk_text_double(double x, char buf[RDK_NUMBER_TEXT])
{
    return write_number(x, &AS_DOUBLE, buf);
}

char *rdk_text_float(float x, char buf[RDK_NUMBER_TEXT])
{
    return write_number((double)x, &AS_FLOAT, buf);
}

char *rdk_text_real(rdk_real x, char buf[RDK_NUMBER_TEXT])
{
#ifdef RDK_DOUBLE
    return rdk_text_double(x, buf);
#else
    return rdk_text_float(x, buf);
#endif
}

/* -0 + 0 is 0. */
char *rdk_text_exact(double x, char buf[RDK_NUMBER_TEXT])
{
    return rdk_text_double(x + 0.0, buf);
}

char *rdk_text_figure(double x, char buf[RDK_NUMBER_TEXT])
{
    bool beyond = isfinite(x) && fabs(x) > FLT_MAX;
    return beyond ? rdk_text_double(x, buf) : rdk_text_float((float)x + 0.0F, buf);
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9') at++;
    return at;
}

/* -?(d+.?d* | .d+)([eE][+-]?d+)? to the end of the text. */
static bool is_number(const char *text)
{
    if (*text == '-') text++;
    const char *end = skip_digits(text);
    size_t digits = (size_t)(end - text);
    if (*end == '.') {
        text = end + 1;
        end = skip_digits(text);
        digits += (size_t)(end - text);
    }
    if (digits == 0) return false;
    if (*end == 'e' || *end == 'E') {
        text = end + 1;
        if (*text == '+' || *text == '-') text++;
        end = skip_digits(text);
        if (end == text) return false;
    }
    return *end == '\0';
}

/* Copies text with the locale's decimal point in place of '.'. */
static bool localise(const char *text, char out[LONGEST_NUMBER])
{
    char sample[SCRATCH]; /* "1<point>5" */
    int length = snprintf(sample, sizeof sample, "%.1f", 1.5);
    if (length < 3 || length >= (int)sizeof sample) return false;
    sample[length - 1] = '\0';
    const char *dot = strchr(text, '.');
    int whole = dot ? (int)(dot - text) : (int)strlen(text);
    int written = snprintf(out, LONGEST_NUMBER, "%.*s%s%s", whole, text, dot ? sample + 1 : "",
                           dot ? dot + 1 : "");
    return written > 0 && written < LONGEST_NUMBER;
}

bool rdk_parse_double(const char *text, double *x)
{
    char local[LONGEST_NUMBER];
    if (!is_number(text) || strlen(text) >= LONGEST_NUMBER || !localise(text, local)) return false;
    double value = strtod(local, NULL);
    if (!isfinite(value)) return false;
    *x = value;
    return true;
}

bool rdk_parse_uint(const char *text, uint64_t *x)
{
    uint64_t value = 0;
    if (*text == '\0') return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        unsigned digit = (unsigned)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *x = value;
    return true;
}

bool rdk_parse_int(const char *text, int64_t *x)
{
    bool negative = *text == '-';
    uint64_t size, most = (uint64_t)INT64_MAX + negative;
    if (!rdk_parse_uint(text + negative, &size) || size > most) return false;
    *x = negative ? -(int64_t)(size - (size != 0)) - (size != 0) : (int64_t)size;
    return true;
}
