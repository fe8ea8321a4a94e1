/* SPDX-License-Identifier: MIT
 * Numbers as text: shortest, exact, and strict when read. */
#include "harness.h"

#include "base/shortest.h"

#include <rootdk/base.h>

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float float_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void round_trip_double(double x)
{
    char text[RDK_NUMBER_TEXT];
    double back = 0;
    rdk_text_double(x, text);
    ck_assert_uint_lt(strlen(text), RDK_NUMBER_TEXT);
    ck_assert_msg(rdk_parse_double(text, &back), "%s does not parse (%a)", text, x);
    ck_assert_msg(memcmp(&back, &x, sizeof x) == 0, "%s reads as %a, was %a", text, back, x);
}

static void round_trip_float(float x)
{
    char text[RDK_NUMBER_TEXT];
    double back = 0;
    rdk_text_float(x, text);
    ck_assert_msg(rdk_parse_double(text, &back), "%s does not parse", text);
    float single = strtof(text, NULL);
    ck_assert_msg(memcmp(&single, &x, sizeof x) == 0, "%s reads as %a, was %a", text,
                  (double)single, (double)x);
}

START_TEST(texts)
{
    static const struct {
        double x;
        const char *text;
    } want[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1, "-1"},
        {0.1, "0.1"},
        {1.5, "1.5"},
        {100, "100"},
        {123456, "123456"},
        {1234.5678, "1234.5678"},
        {1e-3, "0.001"},
        {1e-4, "0.0001"},
        {3e-5, "3e-5"},
        {1.25e-7, "1.25e-7"},
        {1e15, "1000000000000000"},
        {1e16, "1e16"},
        {-1.5e300, "-1.5e300"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {9007199254740993.0, "9007199254740992"},
        {5e-324, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {0x1p-44, "5.684341886080802e-14"}, /* the nearest 16 digits, ...801, do not read back */
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
    };
    char text[RDK_NUMBER_TEXT];
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
        ck_assert_str_eq(rdk_text_double(want[i].x, text), want[i].text);
    ck_assert_str_eq(rdk_text_double(NAN, text), "nan");
    ck_assert_str_eq(rdk_text_double(-NAN, text), "nan");
}
END_TEST

/* The shortest "%.*e" that reads back, as the C library has it. */
static void plain_shortest(float x, char text[32])
{
    int digits = 1;
    do snprintf(text, 32, "%.*e", digits - 1, (double)x);
    while (strtof(text, NULL) != x && ++digits <= 9);
}

/* False where nothing is said. */
static bool expect_shortest(float x)
{
    rdk_decimal d;
    char want[32], text[64];
    if (!rdk_shortest_float(x, &d)) return false;
    plain_shortest(x, want);
    snprintf(text, sizeof text, "%c%s%.*se%c%02d", d.digits[0], d.n > 1 ? "." : "", d.n - 1,
             d.digits + 1, d.exponent < 0 ? '-' : '+', abs(d.exponent));
    ck_assert_msg(strcmp(text, want) == 0, "%a is %s, not %s", (double)x, want, text);
    return true;
}

START_TEST(shortest_floats_without_the_library)
{
    size_t said = 0, tried = 0;
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += 4801) {
        float x = float_from_bits(bits);
        bool usual = x > 1e-12f && x < 1e12f;
        bool says = expect_shortest(x);
        said += usual && says;
        tried += usual;
    }
    /* of the others doubles do not tell: ties between decimals, middles, powers of two */
    ck_assert_uint_gt(said, tried / 100 * 95);
    for (int digits = 1; digits < 1000000; digits += 71) /* decimals, and what is beside them */
        for (int k = 0; k < 12; k += 3) {
            float x = (float)(digits / pow(10, k));
            expect_shortest(nextafterf(x, 0));
            expect_shortest(x);
            expect_shortest(nextafterf(x, INFINITY));
        }
    const float beyond[] = {0, 1e-30f, 1e30f, -1, 0.5f, 0x1p-20f, INFINITY, NAN};
    rdk_decimal d;
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++)
        ck_assert(!rdk_shortest_float(beyond[i], &d));
}
END_TEST

START_TEST(float_texts)
{
    char text[RDK_NUMBER_TEXT];
    ck_assert_str_eq(rdk_text_float(0.1f, text), "0.1");
    ck_assert_str_eq(rdk_text_float(3e-4f, text), "0.0003");
    ck_assert_str_eq(rdk_text_float(1.0f / 3, text), "0.33333334");
    ck_assert_str_eq(rdk_text_float(16777216.0f, text), "16777216");
    ck_assert_str_eq(rdk_text_float(1e-45f, text), "1e-45");
    ck_assert_str_eq(rdk_text_float(3.4028235e38f, text), "3.4028235e38");
    ck_assert_str_eq(rdk_text_float(-INFINITY, text), "-inf");
    ck_assert_str_eq(rdk_text_real((rdk_real)0.5, text), "0.5");
}
END_TEST

/* Floats where they hold it; zero without a sign, also one that a float rounds to. */
START_TEST(figure_texts)
{
    char text[RDK_NUMBER_TEXT];
    ck_assert_str_eq(rdk_text_figure(1.0 / 3, text), "0.33333334");
    ck_assert_str_eq(rdk_text_figure(-0.0, text), "0");
    ck_assert_str_eq(rdk_text_figure(-1e-60, text), "0");
    ck_assert_str_eq(rdk_text_figure(-1e60, text), "-1e60");
    ck_assert_str_eq(rdk_text_figure(-INFINITY, text), "-inf");
    ck_assert_str_eq(rdk_text_figure(NAN, text), "nan");
    ck_assert_str_eq(rdk_text_exact(1.0 / 3, text), "0.3333333333333333");
    ck_assert_str_eq(rdk_text_exact(-0.0, text), "0");
    ck_assert_str_eq(rdk_text_exact(-1e-60, text), "-1e-60");
    ck_assert_str_eq(rdk_text_exact(-INFINITY, text), "-inf");
}
END_TEST

/* Random bit patterns reach every exponent; the low ones are denormal. */
START_TEST(doubles_round_trip)
{
    rdk_draws d = rdk_draws_at((rdk_stream){1, RDK_FOR_TEST, 0}, 0);
    for (int k = 0; k < 20000; k++) {
        uint64_t high = rdk_draw_u32(&d), bits = high << 32 | rdk_draw_u32(&d);
        if (isfinite(from_bits(bits))) round_trip_double(from_bits(bits));
        round_trip_double(from_bits(bits >> 12));                /* denormal */
        round_trip_double(from_bits(bits & 0x7FE0000000000000)); /* a power of two */
        round_trip_double((double)(bits % 1000000) / 1000.0);    /* what people write */
    }
}
END_TEST

START_TEST(floats_round_trip)
{
    rdk_draws d = rdk_draws_at((rdk_stream){2, RDK_FOR_TEST, 0}, 0);
    for (int k = 0; k < 20000; k++) {
        uint32_t bits = rdk_draw_u32(&d);
        if (isfinite(float_from_bits(bits))) round_trip_float(float_from_bits(bits));
        round_trip_float(float_from_bits(bits >> 9));
        round_trip_float(float_from_bits(bits & 0x7F000000));
    }
}
END_TEST

/* No shorter text reads back: try them all. */
START_TEST(texts_are_shortest)
{
    rdk_draws d = rdk_draws_at((rdk_stream){3, RDK_FOR_TEST, 0}, 0);
    for (int k = 0; k < 3000; k++) {
        uint64_t high = rdk_draw_u32(&d), bits = high << 32 | rdk_draw_u32(&d);
        double x = fabs(from_bits(k % 3 ? bits : bits >> 12));
        if (!isfinite(x) || x == 0) continue;
        char text[RDK_NUMBER_TEXT], fewer[40];
        int digits = 0;
        for (char *at = rdk_text_double(x, text); *at && *at != 'e'; at++)
            if (*at >= '0' && *at <= '9' && (digits || *at != '0')) digits++;
        if (!strchr(text, 'e')) continue; /* zeros of a plain number are no digits */
        if (digits < 2) continue;
        snprintf(fewer, sizeof fewer, "%.*e", digits - 2, x);
        ck_assert_msg(strtod(fewer, NULL) != x, "%s is shorter than %s", fewer, text);
    }
}
END_TEST

START_TEST(doubles_that_parse)
{
    static const struct {
        const char *text;
        double x;
    } good[] = {
        {"0", 0},           {"-0", -0.0},
        {"1", 1},           {"-1.5", -1.5},
        {"1e-3", 1e-3},     {"1E+3", 1000},
        {".5", 0.5},        {"5.", 5},
        {"007", 7},         {"1e-400", 0},
        {"3e-324", 5e-324}, {"123456789012345678901234567890", 1.2345678901234568e29},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double x = 99;
        ck_assert_msg(rdk_parse_double(good[i].text, &x), "%s refused", good[i].text);
        ck_assert_msg(memcmp(&x, &good[i].x, sizeof x) == 0, "%s reads as %.17g", good[i].text, x);
    }
}
END_TEST

START_TEST(doubles_that_do_not)
{
    static const char *const bad[] = {
        "",    "1e-3x", "nan", "inf", "-inf", "infinity", "0x1p-3", "0x10", " 1",  "1 ",
        "+1",  "-",     ".",   "e5",  "1e",   "1e+",      "1e400",  "--1",  "1,5", "1.2.3",
        "1_0", "1e5.5", "\t1", "1\n", "NAN",  "-.",       "1d5",    "1f",   "- 1", "1e 5",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double x = 99;
        ck_assert_msg(!rdk_parse_double(bad[i], &x), "'%s' accepted as %g", bad[i], x);
        ck_assert_msg(x == 99, "'%s' was refused and wrote", bad[i]);
    }
    char endless[5000];
    memset(endless, '1', sizeof endless);
    endless[sizeof endless - 1] = '\0';
    double x;
    ck_assert(!rdk_parse_double(endless, &x));
}
END_TEST

START_TEST(integers)
{
    int64_t i = 99;
    uint64_t u = 99;
    ck_assert(rdk_parse_int("0", &i) && i == 0);
    ck_assert(rdk_parse_int("-0", &i) && i == 0);
    ck_assert(rdk_parse_int("-17", &i) && i == -17);
    ck_assert(rdk_parse_int("9223372036854775807", &i) && i == INT64_MAX);
    ck_assert(rdk_parse_int("-9223372036854775808", &i) && i == INT64_MIN);
    ck_assert(rdk_parse_uint("18446744073709551615", &u) && u == UINT64_MAX);
    static const char *const bad[] = {"",
                                      "-",
                                      "--1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1x",
                                      "1e3",
                                      "1.",
                                      "0x1",
                                      "1.0",
                                      "- 1",
                                      "99999999999999999999"};
    i = 99;
    u = 99;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        ck_assert_msg(!rdk_parse_int(bad[k], &i), "'%s' accepted", bad[k]);
        ck_assert_msg(!rdk_parse_uint(bad[k], &u), "'%s' accepted", bad[k]);
    }
    ck_assert(!rdk_parse_int("9223372036854775808", &i));
    ck_assert(!rdk_parse_int("-9223372036854775809", &i));
    ck_assert(!rdk_parse_uint("18446744073709551616", &u));
    ck_assert(!rdk_parse_uint("-1", &u));
    ck_assert(i == 99 && u == 99);
}
END_TEST

RDK_TEST_MAIN("base number", {
    ADD(texts);
    ADD(shortest_floats_without_the_library);
    ADD(float_texts);
    ADD(figure_texts);
    ADD(doubles_round_trip);
    ADD(floats_round_trip);
    ADD(texts_are_shortest);
    ADD(doubles_that_parse);
    ADD(doubles_that_do_not);
    ADD(integers);
})
