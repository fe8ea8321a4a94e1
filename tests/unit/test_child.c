/* SPDX-License-Identifier: MIT
 * The log of a point: its last lines, whatever bytes the run has left there. */
#include <harness.h>

#include <unistd.h>

#include "ablate/child.h"

static void check_lines(const char *log, size_t size, const char *want)
{
    char path[] = "/tmp/rdk-test-child-XXXXXX";
    rdk_status s = {0};
    rdk_text t = {0};
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_msg(rdk_file_replace(path, log, size, &s), "%s", s.message);
    rdk_child_last_lines(path, &t);
    ck_assert_str_eq(t.data ? t.data : "", want);
    rdk_text_free(&t);
    unlink(path);
}

#define CHECK(log, want) check_lines(log, sizeof log - 1, want)

START_TEST(last_lines_of_a_log)
{
    CHECK("", "");
    CHECK("\n\n", "");
    CHECK("one", "  | one\n");
    CHECK("1\n2\n3\n4\n5\n6\n\n", "  | 2\n  | 3\n  | 4\n  | 5\n  | 6\n");
    CHECK("1\n\n3\n", "  | 1\n  | \n  | 3\n");
}
END_TEST

/* A NUL, as a disk that was full leaves it, is a byte like others. */
START_TEST(a_log_with_nul_bytes)
{
    CHECK("a\0b\nc\n", "  | a?b\n  | c\n");
    CHECK("a\n\0\0", "  | a\n  | ??\n");
    CHECK("\0\nlast", "  | ?\n  | last\n");
}
END_TEST

RDK_TEST_MAIN("child", {
    ADD(last_lines_of_a_log);
    ADD(a_log_with_nul_bytes);
})
