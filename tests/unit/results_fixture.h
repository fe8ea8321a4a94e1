/* SPDX-License-Identifier: MIT
 * An ablation in a directory of its own, whose runs a test writes by hand. */
#ifndef RDK_RESULTS_FIXTURE_H
#define RDK_RESULTS_FIXTURE_H

#include <harness.h>

#include <unistd.h>

#include "ablate/ablate.h"

static char directory[64];
static rdk_ablation a;

static void put(const char *run, const char *name, const char *text)
{
    rdk_status s = {0};
    char path[RDK_PATH_TEXT + 64];
    snprintf(path, sizeof path, "%s/%s", run, name);
    ck_assert_msg(rdk_file_replace(path, text, strlen(text), &s), "%s", s.message);
}

static void begin(const rdk_setting *settings, size_t n)
{
    rdk_status s = {0};
    strcpy(directory, "/tmp/rdk-test-results-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_msg(rdk_ablation_plan(&a, directory, settings, n, &s), "%s", s.message);
    ck_assert_msg(rdk_ablation_store(&a, settings, n, &s), "%s", s.message);
}

static void end(void)
{
    char command[128];
    rdk_ablation_free(&a);
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    ck_assert_int_eq(system(command), 0);
}

static const rdk_option *option(const char *name)
{
    return rdk_option_find(name);
}

/* Makes the directory of a point with its config.ini; path: of it. */
static void put_config(size_t point, char path[RDK_PATH_TEXT])
{
    rdk_status s = {0};
    rdk_text ini = {0};
    rdk_point_path(&a, point, path);
    ck_assert_msg(rdk_directory_make(path, &s), "%s", s.message);
    rdk_config_write(&a.resolved[point], RDK_OPT_FINDS, &ini);
    put(path, "config.ini", ini.data);
    rdk_text_free(&ini);
}

#endif
