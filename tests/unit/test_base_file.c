/* SPDX-License-Identifier: MIT
 * Files: read whole, replaced all or nothing, and what is said where that fails. */
#include "harness.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rootdk/base.h>

static char directory[] = "/tmp/rootdk_test_XXXXXX";

static void enter(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(chdir(directory), 0);
}

static void leave(void)
{
    char command[128];
    ck_assert_int_eq(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
}

static int entries(const char *path)
{
    DIR *d = opendir(path);
    ck_assert_ptr_nonnull(d);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void expect_content(const char *path, const char *want)
{
    rdk_status s = {0};
    size_t n = 99;
    char *got = rdk_file_read(path, &n, &s);
    ck_assert_msg(got, "%s", s.message);
    ck_assert_uint_eq(n, strlen(want));
    ck_assert_str_eq(got, want);
    rdk_free(got);
}

static bool replace(const char *path, const char *content, rdk_status *s)
{
    *s = (rdk_status){0};
    return rdk_file_replace(path, content, strlen(content), s);
}

START_TEST(replace_and_read)
{
    rdk_status s;
    ck_assert_msg(replace("a", "one", &s), "%s", s.message);
    expect_content("a", "one");
    ck_assert(replace("./a", "", &s));
    expect_content("a", "");
    ck_assert(rdk_directory_make("x/y/z", &s));
    ck_assert(rdk_directory_make("x/y/z/", &s)); /* again, with a slash behind */
    ck_assert(replace("x/y/z/b", "two", &s));
    expect_content("x/y/z/b", "two");
    ck_assert_int_eq(entries("."), 2);
    ck_assert_int_eq(entries("x/y/z"), 1);
    ck_assert(rdk_file_exists("a") && rdk_file_exists("x/y") && !rdk_file_exists("nothing"));
}
END_TEST

/* Sizes about those of the read buffer, every byte value. */
START_TEST(large_files)
{
    static const size_t sizes[] = {1, 65535, 65536, 65537, 3000001};
    size_t n = sizes[_i], got = 0;
    rdk_status s = {0};
    unsigned char *bytes = rdk_alloc(n, 1, &s);
    for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)(i * 7 + i / 256);
    ck_assert(rdk_file_replace("large", bytes, n, &s));
    char *back = rdk_file_read("large", &got, &s);
    ck_assert_uint_eq(got, n);
    ck_assert_mem_eq(back, bytes, n);
    ck_assert_int_eq(back[n], 0);
    rdk_free(back);
    rdk_free(bytes);
}
END_TEST

START_TEST(parts_one_behind_the_other)
{
    rdk_status s = {0};
    const rdk_part parts[] = {{"one", 3}, {NULL, 0}, {" two", 4}};
    ck_assert(rdk_file_replace_parts("parts", 3, parts, &s));
    char *back = rdk_file_read("parts", NULL, &s);
    ck_assert_str_eq(back, "one two");
    rdk_free(back);
    ck_assert(rdk_file_replace_parts("parts", 0, parts, &s));
    back = rdk_file_read("parts", NULL, &s);
    ck_assert_str_eq(back, "");
    rdk_free(back);
}
END_TEST

START_TEST(read_of_what_has_no_size)
{
    rdk_status s = {0};
    size_t n = 0;
    ck_assert_int_eq(system("mkfifo pipe && (head -c 200000 /dev/zero | tr '\\0' x > pipe &)"), 0);
    char *got = rdk_file_read("pipe", &n, &s);
    ck_assert_msg(got, "%s", s.message);
    ck_assert_uint_eq(n, 200000);
    ck_assert_uint_eq(strspn(got, "x"), 200000);
    rdk_free(got);
}
END_TEST

START_TEST(read_names_path_and_cause)
{
    rdk_status s = {0};
    ck_assert_ptr_null(rdk_file_read("no/such", NULL, &s));
    ck_assert_int_eq(s.code, RDK_EIO);
    ck_assert_str_eq(s.message, "cannot open no/such: No such file or directory");
    s = (rdk_status){0};
    ck_assert_ptr_null(rdk_file_read(".", NULL, &s));
    ck_assert_str_eq(s.message, "cannot read .: Is a directory");
}
END_TEST

START_TEST(permissions_are_kept)
{
    rdk_status s;
    struct stat info;
    umask(022);
    ck_assert(replace("a", "one", &s));
    ck_assert(stat("a", &info) == 0 && (info.st_mode & 0777) == 0644);
    ck_assert_int_eq(chmod("a", 0600), 0);
    ck_assert(replace("a", "two", &s));
    ck_assert(stat("a", &info) == 0 && (info.st_mode & 0777) == 0600);
}
END_TEST

/* A file that may grow to 10 bytes only stands for a full disk. */
START_TEST(full_disk_keeps_the_old_file)
{
    rdk_status s;
    ck_assert(replace("a", "old", &s));
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){10, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool done = replace("a", "twenty bytes, and new", &s);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert(!done);
    ck_assert_int_eq(s.code, RDK_EIO);
    ck_assert_str_eq(s.message, "cannot write a: File too large");
    expect_content("a", "old");
    ck_assert_int_eq(entries("."), 1);
}
END_TEST

START_TEST(no_directory)
{
    rdk_status s;
    ck_assert(!replace("no/such/file", "x", &s));
    ck_assert_int_eq(s.code, RDK_EIO);
    ck_assert_ptr_nonnull(strstr(s.message, "no/such/file: No such file or directory"));
    ck_assert_int_eq(entries("."), 0);
}
END_TEST

START_TEST(read_only_directory)
{
    rdk_status s;
    if (geteuid() == 0) ck_assert_int_eq(setegid(65534) | seteuid(65534), 0);
    if (geteuid() == 65534) {
        /* the directory belongs to root, and others may look and not write */
        seteuid(0);
        ck_assert(replace("a", "old", &s));
        ck_assert_int_eq(chmod(".", 0755), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    } else {
        ck_assert(replace("a", "old", &s));
        ck_assert_int_eq(chmod(".", 0555), 0);
    }
    ck_assert(!replace("a", "new", &s));
    ck_assert_ptr_nonnull(strstr(s.message, "Permission denied"));
    expect_content("a", "old");
    ck_assert_int_eq(entries("."), 1);
    if (geteuid() == 65534) seteuid(0);
    ck_assert_int_eq(chmod(".", 0755), 0);
}
END_TEST

/* Renaming over a device or a directory would destroy it, or fail late. */
START_TEST(only_files_are_replaced)
{
    rdk_status s;
    ck_assert(!replace("/dev/full", "x", &s));
    ck_assert_str_eq(s.message, "cannot replace /dev/full: not a regular file");
    ck_assert(rdk_directory_make("d", &s));
    ck_assert(!replace("d", "x", &s));
    ck_assert_str_eq(s.message, "cannot replace d: not a regular file");
    ck_assert_int_eq(entries("."), 1);
}
END_TEST

START_TEST(directories)
{
    rdk_status s = {0};
    ck_assert(replace("a", "file", &s));
    ck_assert(!rdk_directory_make("a", &s));
    ck_assert_str_eq(s.message, "cannot make directory a: File exists");
    s = (rdk_status){0};
    ck_assert(!rdk_directory_make("a/b", &s));
    ck_assert_ptr_nonnull(strstr(s.message, "cannot make directory a"));
    s = (rdk_status){0};
    ck_assert(!rdk_directory_make("", &s));
    ck_assert_int_eq(s.code, RDK_EIO);
    s = (rdk_status){0};
    ck_assert(rdk_directory_make(directory, &s)); /* an absolute path that exists */
    ck_assert(rdk_directory_make("/", &s));
}
END_TEST

/* A loop of links, a directory that may not be searched: whoever opens the file is told so. */
START_TEST(what_cannot_be_reached_is_not_missing)
{
    rdk_status s = {0};
    ck_assert_int_eq(symlink("loop", "loop") | symlink("nothing", "dangling"), 0);
    ck_assert(rdk_file_exists("loop"));
    ck_assert_ptr_null(rdk_file_read("loop", NULL, &s));
    ck_assert_msg(strstr(s.message, "loop: Too many levels"), "%s", s.message);
    ck_assert(!rdk_file_exists("dangling"));
    ck_assert(replace("a", "file", &s));
    ck_assert(!rdk_file_exists("a/b"));
    if (geteuid() == 0) return; /* who may search every directory */
    ck_assert(rdk_directory_make("d", &s) && replace("d/a", "x", &s));
    ck_assert_int_eq(chmod("d", 0), 0);
    ck_assert(rdk_file_exists("d/a"));
    ck_assert_int_eq(chmod("d", 0700), 0);
}
END_TEST

START_TEST(what_has_no_end_is_refused)
{
    rdk_status s = {0};
    ck_assert_ptr_null(rdk_file_read("/dev/zero", NULL, &s));
    ck_assert_int_eq(s.code, RDK_EIO);
    ck_assert_msg(strstr(s.message, "/dev/zero: it does not end within"), "%s", s.message);
    s = (rdk_status){0};
    ck_assert_int_eq(mkfifo("pipe", 0600), 0);
    ck_assert(!rdk_file_is_regular("pipe", &s));
    ck_assert_msg(strstr(s.message, "pipe: it is a pipe"), "%s", s.message);
    s = (rdk_status){0};
    ck_assert_ptr_null(rdk_file_read("pipe", NULL, &s)); /* nobody will ever write */
    ck_assert_msg(strstr(s.message, "cannot read pipe: it is a pipe, and nothing"), "%s",
                  s.message);
    s = (rdk_status){0};
    ck_assert(!rdk_file_is_regular("/dev/zero", &s) && strstr(s.message, "a device"));
    s = (rdk_status){0};
    ck_assert(!rdk_file_is_regular("nothing", &s) && strstr(s.message, "No such file"));
    ck_assert(replace("a", "x", &s) && rdk_file_is_regular("a", &s));
}
END_TEST

/* Larger than the memory of any machine, and without a block on the disk. */
START_TEST(more_than_the_memory_is_refused)
{
    rdk_status s = {0};
    ck_assert(replace("a", "x", &s));
    if (truncate("a", (off_t)1 << 43) != 0) return; /* not on this file system */
    ck_assert_ptr_null(rdk_file_read("a", NULL, &s));
    ck_assert_int_eq(s.code, RDK_ENOMEM);
    ck_assert_msg(strstr(s.message, "cannot read a: it has 8796.1 GB"), "%s", s.message);
}
END_TEST

START_TEST(names_of_unfinished_files)
{
    static const char *const ours[] = {"m.csv.1-2-3.tmp", "m.csv.ab12-3f-0.tmp"};
    static const char *const others[] = {"m.csv",           "m.csv.tmp",         "m.csv.mine.tmp",
                                         "m.csv.1-2.tmp",   "m.csv.1-2-3",       "m.csv.1-2-3.tmp~",
                                         "m.csv1-2-3.tmp",  "m.csv.1-2-3-4.tmp", "n.csv.1-2-3.tmp",
                                         "m.csv.1--3.tmp",  "m.csv.1-2-3tmp",    "m.csv.1-2-G.tmp",
                                         ".m.csv.1-2-3.tmp"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        ck_assert_msg(rdk_file_is_unfinished(ours[i], "m.csv"), "%s", ours[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!rdk_file_is_unfinished(others[i], "m.csv"), "%s", others[i]);
}
END_TEST

RDK_TEST_MAIN("base file", {
    tcase_add_checked_fixture(tc, enter, leave);
    ADD(replace_and_read);
    ADD_LOOP(large_files, 5);
    ADD(parts_one_behind_the_other);
    ADD(read_of_what_has_no_size);
    ADD(read_names_path_and_cause);
    ADD(permissions_are_kept);
    ADD(full_disk_keeps_the_old_file);
    ADD(no_directory);
    ADD(read_only_directory);
    ADD(only_files_are_replaced);
    ADD(directories);
    ADD(what_cannot_be_reached_is_not_missing);
    ADD(what_has_no_end_is_refused);
    ADD(more_than_the_memory_is_refused);
    ADD(names_of_unfinished_files);
})
