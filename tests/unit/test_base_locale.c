/* SPDX-License-Identifier: MIT
 * Numbers as text where the host program has set a locale with a decimal comma.
 *
 * Few machines have such a locale installed, so this program brings its own: it replaces the C
 * library's conversions, for itself and for the library it is linked to, by ones that write and
 * read a comma. (A real locale is tried as well where there is one.) */
#include "harness.h"

#include <locale.h>
#include <stdarg.h>

#include <rootdk/base.h>

static bool comma; /* off until a test has begun: Check itself writes numbers */

int snprintf(char *out, size_t room, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(out, room, format, args);
    va_end(args);
    /* only conversions of doubles meet the locale, and the library uses no other dots */
    if (comma && (strchr(format, 'e') || strchr(format, 'f') || strchr(format, 'g')))
        for (char *at = out; length > 0 && *at; at++)
            if (*at == '.') *at = ',';
    return length;
}

/* What strtod does in a locale with a comma: a dot ends the number. */
static void take_number(const char *text, char out[2000])
{
    size_t i = 0;
    for (; text[i] && i < 1999; i++) {
        if (comma && text[i] == '.') break;
        out[i] = comma && text[i] == ',' ? '.' : text[i];
    }
    out[i] = '\0';
}

double strtod(const char *text, char **end)
{
    char plain[2000];
    double x = 0;
    take_number(text, plain);
    ck_assert_msg(!end, "the library asks for no end");
    sscanf(plain, "%lf", &x);
    return x;
}

float strtof(const char *text, char **end)
{
    char plain[2000];
    float x = 0;
    take_number(text, plain);
    ck_assert_msg(!end, "the library asks for no end");
    sscanf(plain, "%f", &x);
    return x;
}

static void check_numbers(void)
{
    char text[RDK_NUMBER_TEXT];
    double x = 0;
    ck_assert_str_eq(rdk_text_double(0.1, text), "0.1");
    ck_assert_str_eq(rdk_text_double(-1234.5, text), "-1234.5");
    ck_assert_str_eq(rdk_text_double(0x1p-44, text), "5.684341886080802e-14");
    ck_assert_str_eq(rdk_text_float(1.0f / 3, text), "0.33333334");
    ck_assert(rdk_parse_double("1.25e-3", &x) && x == 1.25e-3);
    ck_assert(rdk_parse_double("17", &x) && x == 17);
    ck_assert(!rdk_parse_double("1,25", &x));
}

START_TEST(own_comma)
{
    char sample[16];
    comma = true;
    snprintf(sample, sizeof sample, "%.1f", 1.5);
    ck_assert_str_eq(sample, "1,5"); /* the replacement is in place */
    ck_assert(strtod("1.5", NULL) == 1 && strtod("1,5", NULL) == 1.5);
    check_numbers();
    comma = false;
}
END_TEST

START_TEST(locales_of_this_machine)
{
    static const char *const names[] = {"C",           "de_DE.UTF-8", "de_DE",
                                        "fr_FR.UTF-8", "ru_RU.UTF-8", "ps_AF.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (setlocale(LC_ALL, names[i])) check_numbers();
    setlocale(LC_ALL, "C");
}
END_TEST

RDK_TEST_MAIN("base locale", {
    ADD(own_comma);
    ADD(locales_of_this_machine);
})
