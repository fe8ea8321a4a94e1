/* SPDX-License-Identifier: MIT
 * Texts in the order in which people look for them: "seed-2" before "seed-10".
 *
 * Invariant: a text is cut into numbers and single bytes in one way, whatever it is compared with,
 * so this is an order: no three texts are in a circle.
 * Read next: nothing; this leads nowhere. */
#include <math.h>
#include <string.h>

#include <rootdk/base.h>

enum { LONGEST = 64 }; /* what is longer is two numbers */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits(const char *text)
{
    size_t n = 0;
    while (is_digit(text[n])) n++;
    return n;
}

/* The length of the number that begins at text[at], 0 where none does: 12, 0.5, .5, 3e-4. A sign
 * is none here, as names have it between their parts; nor is the second point of 1.2.3 or 1..5. */
static size_t number_length(const char *text, size_t at)
{
    const char *begin = text + at;
    size_t n = digits(begin);
    bool behind = at > 0 && (text[at - 1] == '.' || is_digit(text[at - 1]));
    if (begin[n] == '.' && is_digit(begin[n + 1]) && (n || !behind)) n += 1 + digits(begin + n + 1);
    if (!n) return 0;
    size_t sign = begin[n] == 'e' || begin[n] == 'E' ? 1 : 0;
    if (sign && (begin[n + 1] == '-' || begin[n + 1] == '+')) sign = 2;
    size_t exponent = sign ? digits(begin + n + sign) : 0;
    if (exponent) n += sign + exponent;
    return n < LONGEST ? n : LONGEST - 1;
}

/* Numbers too large for a double are all infinite. */
static double number(const char *text, size_t n)
{
    char copy[LONGEST];
    double x;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return rdk_parse_double(copy, &x) ? x : INFINITY;
}

int rdk_text_order(const char *a, const char *b)
{
    size_t i = 0, j = 0;
    while (a[i] && b[j]) {
        size_t n = number_length(a, i), m = number_length(b, j);
        /* a number beside another byte stands where its first digit would */
        unsigned char x = n ? '0' : (unsigned char)a[i], y = m ? '0' : (unsigned char)b[j];
        if (x != y) return x < y ? -1 : 1;
        double p = n ? number(a + i, n) : 0, q = m ? number(b + j, m) : 0;
        if (p != q) return p < q ? -1 : 1;
        i += n ? n : 1;
        j += m ? m : 1;
    }
    if (a[i] || b[j]) return a[i] ? 1 : -1;
    return strcmp(a, b); /* 0.50 and 0.5 */
}
