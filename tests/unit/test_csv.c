/* SPDX-License-Identifier: MIT
 * The run's CSV files: what a killed run leaves, and what a resumed one makes of it. */
#include "harness.h"

#include <unistd.h>

#include "run/csv.h"

static const char HEADER[] = "step,split,loss";
static char directory[64], path[80];

static void make_directory(void)
{
    rdk_status s = {0};
    snprintf(directory, sizeof directory, "/tmp/rdk_test_csv_%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/m.csv", directory);
    ck_assert(rdk_directory_make(directory, &s));
}

static void remove_directory(void)
{
    unlink(path);
    rmdir(directory);
}

static void put(const char *text)
{
    rdk_status s = {0};
    ck_assert_msg(rdk_file_replace(path, text, strlen(text), &s), "%s", s.message);
}

static void expect(const char *text)
{
    rdk_status s = {0};
    char *now = rdk_file_read(path, NULL, &s);
    ck_assert_str_eq(now, text);
    rdk_free(now);
}

static void continue_at(uint64_t cut)
{
    rdk_csv c;
    rdk_status s = {0};
    ck_assert_msg(
        rdk_csv_continue(
            &c,
            &(rdk_csv_old){.directory = directory, .name = "m.csv", .header = HEADER, .cut = cut},
            &s),
        "%s", s.message);
    rdk_csv_close(&c);
}

START_TEST(fields_and_lines)
{
    rdk_csv c;
    rdk_status s = {0};
    make_directory();
    ck_assert(rdk_csv_create(&c, directory, "m.csv", HEADER, &s));
    rdk_csv_uint(&c, 18446744073709551615u);
    rdk_csv_word(&c, "train");
    rdk_csv_real(&c, 0.1);
    rdk_csv_end(&c);
    rdk_csv_uint(&c, 1);
    rdk_csv_empty(&c);
    rdk_csv_real(&c, NAN);
    rdk_csv_end(&c);
    ck_assert(rdk_csv_write(&c, &s));
    rdk_csv_uint(&c, 2);
    rdk_csv_real(&c, 1e300);
    rdk_csv_exact(&c, 0.1 + 0.2);
    rdk_csv_end(&c);
    ck_assert(rdk_csv_write(&c, &s));
    rdk_csv_exact(&c, -0.0);
    rdk_csv_real(&c, -0.0);
    rdk_csv_real(&c, -1e-60); /* -0 as a float */
    rdk_csv_end(&c);
    ck_assert(rdk_csv_write(&c, &s));
    expect("step,split,loss\n18446744073709551615,train,0.1\n1,,nan\n"
           "2,1e300,0.30000000000000004\n0,0,0\n");
    rdk_csv_close(&c);
    remove_directory();
}
END_TEST

START_TEST(rows_from_the_cut_on_go)
{
    make_directory();
    put("step,split,loss\n0,train,3\n0,eval,3\n7,train,2\n8,train,1\n");
    continue_at(9);
    expect("step,split,loss\n0,train,3\n0,eval,3\n7,train,2\n8,train,1\n");
    continue_at(8);
    expect("step,split,loss\n0,train,3\n0,eval,3\n7,train,2\n");
    continue_at(7);
    expect("step,split,loss\n0,train,3\n0,eval,3\n");
    continue_at(0);
    expect("step,split,loss\n");
    remove_directory();
}
END_TEST

START_TEST(a_line_without_its_end_goes)
{
    make_directory();
    put("step,split,loss\n0,train,3\n7,train,2");
    continue_at(100);
    expect("step,split,loss\n0,train,3\n");
    remove_directory();
}
END_TEST

static void refused_at(uint64_t cut, const char *word)
{
    rdk_csv c;
    rdk_status s = {0};
    ck_assert(!rdk_csv_continue(
        &c, &(rdk_csv_old){.directory = directory, .name = "m.csv", .header = HEADER, .cut = cut},
        &s));
    ck_assert_int_eq(s.code, RDK_EFORMAT);
    ck_assert_msg(strstr(s.message, path) && strstr(s.message, word), "%s", s.message);
    rdk_csv_close(&c);
}

START_TEST(damage_before_the_cut_is_named)
{
    static const char rubbish[] = "step,split,loss\n0,train,3\nrubbish\n7,train,2\n";
    static const char nul[] = "step,split,loss\n0,train,3\n7,tr\0in,2\n9,train,1\n";
    rdk_status s = {0};
    make_directory();
    put(rubbish);
    refused_at(100, "line 3");
    expect(rubbish);
    ck_assert(rdk_file_replace(path, nul, sizeof nul - 1, &s));
    refused_at(8, "line 3");
    /* behind the cut everything goes, damaged or not */
    put("step,split,loss\n0,train,3\n7,train,2\nrubbish\n");
    continue_at(7);
    expect("step,split,loss\n0,train,3\n");
    remove_directory();
}
END_TEST

/* A line that is whole, and no row: too few fields, or too many. */
START_TEST(a_row_of_other_columns_is_damage)
{
    make_directory();
    put("step,split,loss\n0,train,3\n7,train\n8,train,1\n");
    refused_at(100, "line 3 is damaged");
    put("step,split,loss\n0,train,3,4\n");
    refused_at(100, "line 2 is damaged");
    remove_directory();
}
END_TEST

/* ---- rows that must be there ----------------------------------------------------------------- */

/* A row of train at 0, 2, 4, ...: the next of them. */
static bool every_two(void *state, char key[RDK_CSV_KEY])
{
    uint64_t *step = state;
    if (*step >= 6) return false;
    snprintf(key, RDK_CSV_KEY, "%d,train,", (int)*step);
    *step += 2;
    return true;
}

static void checked(const char *text, const char *complaint)
{
    uint64_t step = 0;
    rdk_status s = {0};
    rdk_csv_old old = {directory, "m.csv", HEADER, 6, every_two, &step};
    put(text);
    bool fine = rdk_csv_check(&old, &s);
    ck_assert_msg(fine == !complaint, "%s: %s", text, s.message);
    if (complaint)
        ck_assert_msg(strstr(s.message, complaint) && strstr(s.message, path), "%s", s.message);
    expect(text);
}

START_TEST(a_row_that_is_gone_is_missed)
{
    static const char *const cases[][2] = {
        {"0,train,3\n2,train,2\n4,train,1\n", NULL},
        {"0,train,3\n2,train,2\n4,train,1\n6,train,9\n5,rub\n", NULL},
        {"0,train,3\n4,train,1\n", "line 3 should begin with \"2,train,\""},
        {"2,train,2\n4,train,1\n", "line 2 should begin with \"0,train,\""},
        {"0,train,3\n2,train,2\n", "are missing, from \"4,train,\" on"},
        {"0,train,3\n2,train,2\n6,train,1\n", "are missing, from \"4,train,\" on"},
        {"", "are missing, from \"0,train,\" on"},
        {"0,train,3\n2,train,2\n2,train,2\n4,train,1\n", "line 4 should begin with \"4,train,\""},
        {"0,train,3\n2,train,2\n4,train,1\n4,train,1\n", "line 5 is one too many"},
        {"0,train,3\n2,eval,2\n4,train,1\n", "line 3 should begin with \"2,train,\""},
        {"0,train,3\n4,train,1\n2,train,2\n", "line 3 should begin with \"2,train,\""},
        {"0,train,3\n2,train,2\n4,train,1", "are missing, from \"4,train,\" on"},
    };
    make_directory();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s\n%s", HEADER, cases[i][0]);
        checked(text, cases[i][1]);
    }
    remove_directory();
}
END_TEST

START_TEST(a_file_that_is_removed_is_noticed)
{
    rdk_csv c;
    rdk_status s = {0};
    make_directory();
    ck_assert(rdk_csv_create(&c, directory, "m.csv", HEADER, &s));
    rdk_csv_uint(&c, 1);
    rdk_csv_end(&c);
    ck_assert(rdk_csv_write(&c, &s));
    unlink(path);
    rdk_csv_uint(&c, 2);
    rdk_csv_end(&c);
    ck_assert(!rdk_csv_write(&c, &s));
    ck_assert_int_eq(s.code, RDK_EIO);
    ck_assert_msg(strstr(s.message, path) && strstr(s.message, "removed"), "%s", s.message);
    rdk_csv_close(&c);
    remove_directory();
}
END_TEST

START_TEST(a_missing_file_begins_anew_at_step_0_only)
{
    make_directory();
    refused_at(3, "missing");
    continue_at(0);
    expect("step,split,loss\n");
    remove_directory();
}
END_TEST

START_TEST(another_header_is_refused)
{
    rdk_csv c;
    rdk_status s = {0};
    make_directory();
    put("step,split\n0,train\n");
    ck_assert(!rdk_csv_continue(
        &c, &(rdk_csv_old){.directory = directory, .name = "m.csv", .header = HEADER, .cut = 1},
        &s));
    ck_assert_int_eq(s.code, RDK_EFORMAT);
    ck_assert_ptr_nonnull(strstr(s.message, path));
    rdk_csv_close(&c);
    expect("step,split\n0,train\n");
    remove_directory();
}
END_TEST

START_TEST(a_full_disk_is_named)
{
    rdk_status s = {0};
    char full[] = "/dev/full";
    if (access(full, W_OK) != 0) return; /* not a system that has one */
    rdk_csv c = {.fd = -1};
    make_directory();
    ck_assert(rdk_csv_create(&c, directory, "m.csv", HEADER, &s));
    FILE *f = fopen(full, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(dup2(fileno(f), c.fd), 0);
    fclose(f);
    rdk_csv_uint(&c, 1);
    rdk_csv_end(&c);
    ck_assert(!rdk_csv_write(&c, &s));
    ck_assert_int_eq(s.code, RDK_EIO);
    ck_assert_ptr_nonnull(strstr(s.message, path));
    rdk_csv_close(&c);
    remove_directory();
}
END_TEST

RDK_TEST_MAIN("csv", {
    ADD(fields_and_lines);
    ADD(rows_from_the_cut_on_go);
    ADD(a_line_without_its_end_goes);
    ADD(damage_before_the_cut_is_named);
    ADD(a_row_of_other_columns_is_damage);
    ADD(a_row_that_is_gone_is_missed);
    ADD(a_file_that_is_removed_is_noticed);
    ADD(a_missing_file_begins_anew_at_step_0_only);
    ADD(another_header_is_refused);
    ADD(a_full_disk_is_named);
})
