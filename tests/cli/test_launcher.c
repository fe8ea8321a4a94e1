/* SPDX-License-Identifier: MIT
 * ./train: when it asks make, and when it does not. In a tree of its own with a make that counts
 * its calls and a program that says "ran". */
#include "run_program.h"

#include <sys/stat.h>
#include <unistd.h>

static void shell(const char *dir, const char *command)
{
    char line[4 * PROGRAM_PATH];
    int n = snprintf(line, sizeof line, "cd '%s' && { %s; } >>shell.txt 2>&1", dir, command);
    ck_assert(n > 0 && n < (int)sizeof line);
    ck_assert_msg(system(line) == 0, "%s", command);
}

/* All that the launcher looks at is old; also the program, where it is named. */
static void age(const char *dir, const char *program)
{
    char command[PROGRAM_PATH];
    snprintf(command, sizeof command,
             "touch -t 202001010000 src/* include/* src include Makefile .git/logs/HEAD %s",
             program);
    shell(dir, command);
}

/* The launcher of this tree, and sources that are old. make is called in the tree, and sources
 * ./while_building. */
static void make_tree(const char *dir)
{
    char here[PROGRAM_PATH], command[2 * PROGRAM_PATH];
    ck_assert(getcwd(here, sizeof here) != NULL);
    snprintf(command, sizeof command, "cp '%s/train' .", here);
    shell(dir, command);
    shell(dir, "mkdir src include bin .git .git/logs");
    shell(dir, "touch src/a.c src/b.c include/a.h Makefile .git/logs/HEAD calls while_building");
    program_write(dir, "program", "#!/bin/sh\necho ran\n");
    program_write(dir, "bin/make",
                  "#!/bin/sh\n"
                  "echo call >>calls\n"
                  ". ./while_building\n"
                  "[ -x build/rootdk ] || { mkdir -p build && cp program build/rootdk; }\n");
    shell(dir, "chmod +x program bin/make && cp bin/make bin/gmake");
    age(dir, "");
}

/* Calls of make by one ./train, which runs the program in any case. */
static int calls(const char *dir, const char *settings)
{
    char line[PROGRAM_PATH];
    shell(dir, ": >calls; rm -f ran");
    snprintf(line, sizeof line, "env PATH=\"$PWD/bin:$PATH\" %s ./train >ran; grep -q '^ran$' ran",
             settings);
    shell(dir, line);
    size_t n;
    free(program_file(dir, "calls", &n));
    return (int)(n / strlen("call\n"));
}

/* After a build: make once more, as what is newer than the second in which it looked may be newer
 * than the look; then no longer. */
static void settle(const char *dir)
{
    calls(dir, "");
    age(dir, "build/rootdk");
    calls(dir, "");
    ck_assert_int_eq(calls(dir, ""), 0);
}

START_TEST(make_is_asked_where_something_is_newer)
{
    static const char *const changes[] = {
        "touch src/a.c",        "rm src/b.c",         "touch include/a.h", "touch Makefile",
        "touch .git/logs/HEAD", "touch build/rootdk", "rm build/rootdk",   "rm build/looked",
    };
    char *dir = program_directory();
    make_tree(dir);
    ck_assert_int_eq(calls(dir, ""), 1);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        settle(dir);
        shell(dir, "touch -t 202001020000 build/looked");
        shell(dir, changes[i]);
        ck_assert_msg(calls(dir, "") == 1, "%s", changes[i]);
    }
    program_directory_remove(dir);
}
END_TEST

START_TEST(make_is_asked_where_settings_are_others)
{
    char *dir = program_directory();
    make_tree(dir);
    settle(dir);
    ck_assert_int_eq(calls(dir, "CFLAGS=-O0"), 1);
    ck_assert_int_eq(calls(dir, "CFLAGS=-O0"), 0);
    ck_assert_int_eq(calls(dir, ""), 1);
    ck_assert_int_eq(calls(dir, "OPENMP=0"), 1);
    ck_assert_int_eq(calls(dir, ""), 1);
    ck_assert_int_eq(calls(dir, ""), 0);
    program_directory_remove(dir);
}
END_TEST

START_TEST(what_is_saved_during_a_build_is_seen)
{
    char *dir = program_directory();
    make_tree(dir);
    settle(dir);
    shell(dir, "touch -t 202001020000 build/looked; touch src/a.c");
    program_write(dir, "while_building", "sleep 1; touch src/b.c\n");
    ck_assert_int_eq(calls(dir, ""), 1);
    program_write(dir, "while_building", "");
    ck_assert_int_eq(calls(dir, ""), 1);
    program_directory_remove(dir);
}
END_TEST

/* Make fails, or a signal comes for the launcher. */
START_TEST(a_build_that_breaks_off_leaves_nothing)
{
    static const char *const breaks[] = {"exit 1\n", "kill -INT $(cat launcher); exit 1\n",
                                         "kill -TERM $(cat launcher)\n"};
    char *dir = program_directory();
    make_tree(dir);
    settle(dir);
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        shell(dir, "touch -t 202001020000 build/looked; touch src/a.c");
        program_write(dir, "while_building", breaks[i]);
        shell(dir, "! env PATH=\"$PWD/bin:$PATH\" sh -c 'echo $$ >launcher; exec ./train' >ran");
        shell(dir, "test \"$(cd build && echo looked*)\" = looked");
    }
    program_write(dir, "while_building", "");
    ck_assert_int_eq(calls(dir, ""), 1);
    program_directory_remove(dir);
}
END_TEST

RDK_TEST_MAIN("launcher", {
    ADD(make_is_asked_where_something_is_newer);
    ADD(make_is_asked_where_settings_are_others);
    ADD(what_is_saved_during_a_build_is_seen);
    ADD(a_build_that_breaks_off_leaves_nothing);
})
