/* SPDX-License-Identifier: MIT
 * Characters and bytes: UTF-8 in and out, files back from their symbols, tokens to print. */
#include "text_fixture.h"

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

START_TEST(every_code_point_round_trips)
{
    for (uint32_t c = 0; c < RDK_CODE_POINTS; c++) {
        char bytes[RDK_UTF8_MAX];
        size_t size = rdk_utf8_encode(c, bytes);
        size_t want = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        uint32_t back = ~c;
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        ck_assert_uint_eq(size, want);
        ck_assert_uint_eq(rdk_utf8_decode((uint8_t *)bytes, size, &back), surrogate ? 0 : size);
        if (!surrogate) ck_assert_uint_eq(back, c);
        for (size_t cut = 1; cut < size; cut++)
            ck_assert_uint_eq(rdk_utf8_decode((uint8_t *)bytes, cut, &back), 0);
    }
}
END_TEST

/* What is accepted is exactly what encoding makes: each valid sequence has one spelling. */
START_TEST(no_other_spelling_is_accepted)
{
    size_t accepted = 0;
    for (uint32_t word = 0; word < 0x1000000; word++) {
        uint8_t bytes[3] = {(uint8_t)(word >> 16), (uint8_t)(word >> 8), (uint8_t)word};
        uint32_t c;
        size_t size = rdk_utf8_decode(bytes, 3, &c);
        char again[RDK_UTF8_MAX];
        if (size == 0) continue;
        accepted += size == 3;
        if (rdk_utf8_encode(c, again) != size || memcmp(again, bytes, size) != 0)
            ck_abort_msg("%06x is accepted as U+%04X", (unsigned)word, (unsigned)c);
    }
    ck_assert_uint_eq(accepted, 0x10000 - 0x800 - 0x800); /* U+0800.. without the surrogates */
}
END_TEST

START_TEST(invalid_text_is_refused_at_its_byte)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *where;
    } bad[] = {{"abc\xff"
                "def",
                7, "byte offset 3, value 0xff"},
               {"\x80"
                "abc",
                4, "byte offset 0, value 0x80"},
               {"ab\xc3", 3, "byte offset 2, value 0xc3"},               /* cut off */
               {"a\xc0\x80", 3, "byte offset 1, value 0xc0"},            /* overlong NUL */
               {"a\xe0\x80\xaf", 4, "byte offset 1, value 0xe0"},        /* overlong slash */
               {"\xc3\xa9\xed\xa0\x80", 5, "byte offset 2, value 0xed"}, /* surrogate */
               {"a\xf4\x90\x80\x80", 5, "byte offset 1, value 0xf4"},    /* above U+10FFFF */
               {"a\xe2\x82"
                "b",
                4, "byte offset 1, value 0xe2"},
               {"caf\xe9 au lait", 12, "byte offset 3, value 0xe9"}, /* Latin-1 */
               {"\xff\xfe"
                "a\0b\0",
                6, "byte offset 0"}, /* UTF-16 with its mark */
               {"ab\0cd", 5, "NUL at byte offset 2"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refused(bad[i].bytes, bad[i].n, RDK_TOKENS_CHAR, bad[i].where, "--tokenizer byte");
        if (bad[i].n < 4) continue; /* two halves of a window each */
        rdk_task_close(must_open(bad[i].bytes, bad[i].n, 1, RDK_TOKENS_BYTE));
    }
}
END_TEST

START_TEST(characters_round_trip)
{
    /* one to four bytes a character, CR LF, a byte order mark, in two equal halves */
    static const char half[] = "\xef\xbb\xbf"
                               "a\r\nb\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xb1\\\"\t z\n";
    size_t n = sizeof half - 1;
    char text[2 * sizeof half], back[2 * sizeof half];
    memcpy(text, half, n);
    memcpy(text + n, half, n);
    for (size_t length = 1; length <= 7; length++) {
        rdk_task *task = must_open(text, 2 * n, length, RDK_TOKENS_CHAR);
        ck_assert_str_eq(rdk_task_vocabulary(task),
                         "\t\n\r \"\\abz\xc3\xa9\xe2\x82\xac\xef\xbb\xbf\xf0\x9f\x8c\xb1");
        ck_assert_uint_eq(rdk_task_vocab(task), 13);
        ck_assert_uint_eq(rdk_task_vocab_option(task), 13);
        int32_t symbols[sizeof half];
        size_t count = validation_part(task, symbols);
        ck_assert_uint_eq(decode(task, symbols, count, back), n);
        ck_assert_mem_eq(back, half, n);
        rdk_task_close(task);
    }
}
END_TEST

/* More than 256 kinds take the wide table. */
START_TEST(many_kinds_round_trip)
{
    enum { KINDS = 700, FIRST = 0x4e00 };
    char text[2 * KINDS * 3], back[sizeof text];
    size_t n = 0;
    for (uint32_t i = 0; i < 2 * KINDS; i++) n += rdk_utf8_encode(FIRST + i * 9 % KINDS, text + n);
    ck_assert_uint_eq(n, sizeof text);
    rdk_task *task = must_open(text, n, 9, RDK_TOKENS_CHAR);
    ck_assert_uint_eq(rdk_task_vocab(task), KINDS);
    int32_t symbols[KINDS + 1];
    size_t count = validation_part(task, symbols);
    ck_assert_uint_eq(count, KINDS);
    ck_assert_uint_eq(decode(task, symbols, count, back), n / 2);
    ck_assert_mem_eq(back, text + n / 2, n / 2);
    rdk_task_close(task);
}
END_TEST

START_TEST(kinds_at_the_border_of_a_byte)
{
    for (uint32_t kinds = 255; kinds <= 257; kinds++) {
        char text[2 * 257 * 3], back[sizeof text];
        size_t n = 0;
        for (uint32_t i = 0; i < 2 * kinds; i++) n += rdk_utf8_encode(1 + i % kinds, text + n);
        rdk_task *task = must_open(text, n, 8, RDK_TOKENS_CHAR);
        ck_assert_uint_eq(rdk_task_vocab(task), kinds);
        int32_t symbols[258];
        ck_assert_uint_eq(validation_part(task, symbols), kinds);
        ck_assert_uint_eq(decode(task, symbols, kinds, back), n / 2);
        ck_assert_mem_eq(back, text + n / 2, n / 2);
        rdk_task_close(task);
    }
}
END_TEST

START_TEST(bytes_round_trip)
{
    rdk_stream stream = {.seed = 1, .purpose = RDK_FOR_TEST};
    rdk_draws d = rdk_draws_at(stream, 0);
    uint8_t bytes[1024];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)rdk_draw_u32(&d);
    bytes[512] = 0; /* the first of the validation part */
    bytes[600] = 0xff;
    bytes[1023] = 0;
    rdk_task *task = must_open(bytes, sizeof bytes, 13, RDK_TOKENS_BYTE);
    ck_assert_uint_eq(rdk_task_vocab(task), 256);
    ck_assert_str_eq(rdk_task_vocabulary(task), "bytes");
    int32_t symbols[513];
    ck_assert_uint_eq(validation_part(task, symbols), 512);
    for (size_t i = 0; i < 512; i++) ck_assert_int_eq(symbols[i], bytes[512 + i]);
    rdk_task_close(task);
}
END_TEST

START_TEST(tokens_print_on_one_line)
{
    static const char text[] =
        "\xef\xbb\xbf\x01\t\n\r \\a~\x7f\xc2\x85\xc3\xa9\xe2\x80\xae\xf0\x9f\x8c\xb1";
    static const char *const want[] = {
        "\\u{1}", "\\t",     "\\n",     "\\r",      " ",         "\\\\",      "a",
        "~",      "\\u{7f}", "\\u{85}", "\xc3\xa9", "\\u{202e}", "\\u{feff}", "\xf0\x9f\x8c\xb1"};
    char twice[2 * sizeof text], buf[RDK_TOKEN_TEXT];
    size_t n = sizeof text - 1, kinds = sizeof want / sizeof want[0];
    memcpy(twice, text, n);
    memcpy(twice + n, text, n);
    rdk_task *task = must_open(twice, 2 * n, 1, RDK_TOKENS_CHAR);
    ck_assert_uint_eq(rdk_task_vocab(task), kinds);
    for (size_t i = 0; i < kinds; i++)
        ck_assert_str_eq(rdk_task_token_text(task, (int32_t)i, buf), want[i]);
    ck_assert_str_eq(rdk_task_token_text(task, (int32_t)kinds, buf), "?");
    ck_assert_str_eq(rdk_task_token_text(task, RDK_IGNORE, buf), "?");
    rdk_task_close(task);
    task = must_open(twice, 2 * n, 1, RDK_TOKENS_BYTE);
    ck_assert_str_eq(rdk_task_token_text(task, 0, buf), "\\x00");
    ck_assert_str_eq(rdk_task_token_text(task, 255, buf), "\\xff");
    ck_assert_str_eq(rdk_task_token_text(task, 'a', buf), "a");
    ck_assert_str_eq(rdk_task_token_text(task, '\n', buf), "\\n");
    ck_assert_str_eq(rdk_task_token_text(task, '\\', buf), "\\\\");
    rdk_code_point_text(0x10ffff, buf);
    ck_assert_str_eq(buf, "\xf4\x8f\xbf\xbf");
    rdk_task_close(task);
}
END_TEST

RDK_TEST_MAIN("text vocabulary", {
    ADD(every_code_point_round_trips);
    ADD(no_other_spelling_is_accepted);
    ADD(invalid_text_is_refused_at_its_byte);
    ADD(characters_round_trip);
    ADD(many_kinds_round_trip);
    ADD(kinds_at_the_border_of_a_byte);
    ADD(bytes_round_trip);
    ADD(tokens_print_on_one_line);
})
