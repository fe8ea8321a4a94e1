/* SPDX-License-Identifier: MIT
 * Runs read back: CSV tables, flat JSON objects, directories; whole, unfinished and damaged. */
#include "harness.h"

#include <unistd.h>

#include <rootdk/report.h>

static char path[64];

static void put(const char *text, size_t size)
{
    rdk_status s = {0};
    snprintf(path, sizeof path, "/tmp/rdk_test_table_%ld", (long)getpid());
    ck_assert_msg(rdk_file_replace(path, text, size, &s), "%s", s.message);
}

static rdk_table *table_of(const char *text)
{
    rdk_status s = {0};
    put(text, strlen(text));
    rdk_table *t = rdk_table_read(path, &s);
    ck_assert_msg(t != NULL, "%s", s.message);
    unlink(path);
    return t;
}

/* The text is refused, with these words behind the path. */
static void refused(const char *text, size_t size, const char *words)
{
    rdk_status s = {0};
    put(text, size);
    ck_assert(rdk_table_read(path, &s) == NULL);
    unlink(path);
    ck_assert_int_eq(s.code, RDK_EFORMAT);
    ck_assert_msg(!strncmp(s.message, path, strlen(path)), "%s", s.message);
    ck_assert_str_eq(s.message + strlen(path), words);
}

START_TEST(columns_by_name)
{
    rdk_status s = {0};
    rdk_table *t = table_of("step,split,loss\n0,train,2.5\n10,eval,\n20,train,nan\n30,x,-inf\n");
    ck_assert_uint_eq(t->rows, 4);
    ck_assert_uint_eq(t->columns, 3);
    const double *step = rdk_table_numbers(t, "step", &s), *loss = rdk_table_numbers(t, "loss", &s);
    ck_assert_msg(step && loss, "%s", s.message);
    ck_assert(step[0] == 0 && step[1] == 10 && step[2] == 20 && step[3] == 30);
    ck_assert(loss[0] == 2.5 && isnan(loss[1]) && isnan(loss[2]) && loss[3] == -INFINITY);
    int split = rdk_table_column(t, "split");
    ck_assert_str_eq(rdk_table_word(t, 1, split), "eval");
    ck_assert_str_eq(rdk_table_word(t, 1, rdk_table_column(t, "loss")), "");
    ck_assert_int_eq(rdk_table_column(t, "los"), -1);
    ck_assert_str_eq(rdk_table_word(t, 1, -1), "");
    rdk_table_free(t);
}
END_TEST

START_TEST(a_word_is_no_number)
{
    rdk_status s = {0};
    rdk_table *t = table_of("step,loss\n0,1\n1,x7\n");
    ck_assert(rdk_table_numbers(t, "loss", &s) == NULL);
    ck_assert_msg(strstr(s.message, ":3: loss is no number") != NULL, "%s", s.message);
    s = (rdk_status){0};
    ck_assert(rdk_table_numbers(t, "other", &s) == NULL);
    ck_assert_msg(strstr(s.message, "no column other") != NULL, "%s", s.message);
    rdk_table_free(t);
}
END_TEST

START_TEST(the_line_being_written_is_left_out)
{
    rdk_table *t = table_of("step,loss\n0,1\n1,0.");
    ck_assert_uint_eq(t->rows, 1);
    rdk_table_free(t);
    t = table_of("step,loss\n0");
    ck_assert_uint_eq(t->rows, 0);
    rdk_table_free(t);
}
END_TEST

START_TEST(quotes_and_line_ends_of_others)
{
    rdk_table *t = table_of("\xEF\xBB\xBF"
                            "name,x\r\n\"a,\"\"b\"\"\",1\r\n\"\",\"2\"\r\n");
    ck_assert_str_eq(t->names[0], "name");
    ck_assert_str_eq(t->names[1], "x");
    ck_assert_str_eq(rdk_table_word(t, 0, 0), "a,\"b\"");
    ck_assert_str_eq(rdk_table_word(t, 0, 1), "1");
    ck_assert_str_eq(rdk_table_word(t, 1, 0), "");
    ck_assert(rdk_table_numbers(t, "x", NULL)[1] == 2);
    rdk_table_free(t);
}
END_TEST

START_TEST(damage_is_named)
{
    refused("", 0, ":1: no line of column names");
    refused("step,loss", 9, ":1: no line of column names");
    refused("a,b\n1,2\n3\n", 10, ":3: 1 fields where the header has 2");
    refused("a,b\n1,2,3\n", 10, ":2: 3 fields where the header has 2");
    refused("a,b\n\n", 5, ":2: 1 fields where the header has 2");
    refused("a,b,a\n", 6, ":1: the column a twice");
    refused("a\n\"x\n", 5, ":2: a quoted field without its closing quote");
    refused("a\n\"x\"y\n", 7, ":2: something follows a quoted field");
    refused("a,b\n1\0,2\n", 9, ":2: a NUL byte");
}
END_TEST

START_TEST(a_missing_file)
{
    rdk_status s = {0};
    ck_assert(rdk_table_read("/nowhere/metrics.csv", &s) == NULL);
    ck_assert_int_eq(s.code, RDK_EIO);
    ck_assert(strstr(s.message, "/nowhere/metrics.csv") != NULL);
}
END_TEST

static rdk_record *record_of(const char *text, rdk_status *s)
{
    put(text, strlen(text));
    rdk_record *r = rdk_record_read(path, s);
    unlink(path);
    return r;
}

START_TEST(a_flat_object)
{
    rdk_status s = {0};
    rdk_record *r = record_of("{\n \"a\": \"x\\\"\\u00e9\",\n \"b\": -1.5e-3, \"c\": null,"
                              "\"d\":7, \"e\": true\n}\n",
                              &s);
    ck_assert_msg(r != NULL, "%s", s.message);
    ck_assert_str_eq(rdk_record_word(r, "a"), "x\"\xC3\xA9");
    ck_assert(rdk_record_number(r, "b") == -1.5e-3);
    ck_assert(isnan(rdk_record_number(r, "c")) && isnan(rdk_record_number(r, "a")));
    ck_assert(rdk_record_number(r, "d") == 7);
    ck_assert_str_eq(rdk_record_word(r, "c"), "");
    ck_assert(rdk_record_word(r, "z") == NULL && isnan(rdk_record_number(r, "z")));
    rdk_record_free(r);
    r = record_of("{}", &s);
    ck_assert(r && r->count == 0);
    rdk_record_free(r);
}
END_TEST

START_TEST(a_damaged_object)
{
    static const char *const damaged[] = {"",
                                          "{",
                                          "[1]",
                                          "{\"a\": }",
                                          "{\"a\":1",
                                          "{\"a\":1,}",
                                          "{\"a\": [1]}",
                                          "{\"a\":1}}",
                                          "{\"a\":1,\"a\":2}",
                                          "{\"a\": nul}"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        rdk_status s = {0};
        ck_assert_msg(record_of(damaged[i], &s) == NULL, "%s", damaged[i]);
        ck_assert_int_eq(s.code, RDK_EFORMAT);
        ck_assert_msg(strstr(s.message, ":1: ") != NULL, "%s", s.message);
    }
}
END_TEST

START_TEST(a_directory)
{
    static const char *const files[] = {"config.ini", "run.json", "metrics.csv"};
    static const char *const texts[] = {"scale = none\nlr = 0.01\n",
                                        "{\"status\": \"done\", \"step\": 3}\n",
                                        "step,loss\n0,1\n3,0.5\n"};
    char directory[64], file[128];
    rdk_status s = {0};
    snprintf(directory, sizeof directory, "/tmp/rdk_test_saved_%ld", (long)getpid());
    ck_assert(rdk_directory_make(directory, &s));
    ck_assert(!rdk_saved_run_is(directory));
    for (size_t i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/%s", directory, files[i]);
        ck_assert(rdk_file_replace(file, texts[i], strlen(texts[i]), &s));
    }
    ck_assert(rdk_saved_run_is(directory));
    rdk_saved_run run;
    rdk_text lr = {0};
    ck_assert_msg(rdk_saved_run_open(&run, directory, &s), "%s", s.message);
    ck_assert_str_eq(rdk_saved_run_status(&run), "done");
    ck_assert_str_eq(run.config.model.scale, "none");
    rdk_saved_run_option(&run, rdk_option_find("lr"), &lr);
    ck_assert_str_eq(lr.data, "0.01");
    rdk_text_free(&lr);
    rdk_table *t = rdk_saved_run_table(&run, "metrics.csv", &s);
    ck_assert(t && t->rows == 2);
    rdk_table_free(t);
    rdk_saved_run_close(&run);
    ck_assert(rdk_file_replace(file, "", 0, &s));
    snprintf(file, sizeof file, "%s/config.ini", directory);
    ck_assert(rdk_file_replace(file, "scale = nose\n", 13, &s));
    ck_assert(!rdk_saved_run_open(&run, directory, &s));
    ck_assert_int_eq(s.code, RDK_EFORMAT);
    ck_assert_msg(strstr(s.message, "config.ini:1: ") != NULL, "%s", s.message);
    for (size_t i = 0; i < 3; i++) {
        snprintf(file, sizeof file, "%s/%s", directory, files[i]);
        unlink(file);
    }
    rmdir(directory);
}
END_TEST

RDK_TEST_MAIN("table", {
    ADD(columns_by_name);
    ADD(a_word_is_no_number);
    ADD(the_line_being_written_is_left_out);
    ADD(quotes_and_line_ends_of_others);
    ADD(damage_is_named);
    ADD(a_missing_file);
    ADD(a_flat_object);
    ADD(a_damaged_object);
    ADD(a_directory);
})
