/* SPDX-License-Identifier: MIT
 * A program compiled for one precision does not link with a library of the other: it would read
 * doubles as floats. */
#include "harness.h"

#include <unistd.h>

#include <rootdk/base.h>

static const char LIBRARY[] = "build/double/librootdk.a";

/* The exit status of compiling a small program against the library of doubles; what was said. */
static int build(const char *flags, char said[4096])
{
    static const char source[] =
        "#include <rootdk/nn.h>\nint main(void) { return rdk_ok(&(rdk_status){0}) ? 0 : 1; }\n";
    char directory[] = "/tmp/rootdk_test_XXXXXX", command[1024], path[64];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/a.c", directory);
    FILE *f = fopen(path, "w");
    ck_assert(f && fputs(source, f) >= 0 && fclose(f) == 0);
    snprintf(command, sizeof command,
             "%s -std=c11 -Iinclude %s -o %s/a %s %s -lm 2>&1 && %s/a; s=$?; rm -r %s; exit $s",
             getenv("CC") ? getenv("CC") : "cc", flags, directory, path, LIBRARY, directory,
             directory);
    FILE *out = popen(command, "r");
    ck_assert_ptr_nonnull(out);
    size_t n = fread(said, 1, 4095, out);
    said[n] = '\0';
    while (fgetc(out) != EOF) continue;
    return pclose(out);
}

START_TEST(the_other_precision_does_not_link)
{
    char said[4096];
    if (access(LIBRARY, R_OK) != 0) return; /* another mode is being tested */
    ck_assert_msg(build("-DRDK_DOUBLE", said) == 0, "%s", said);
    ck_assert_int_ne(build("", said), 0);
    ck_assert_msg(strstr(said, "rdk_built_with_float"), "%s", said);
}
END_TEST

RDK_TEST_MAIN("precision", { ADD(the_other_precision_does_not_link); })
