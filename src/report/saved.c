/* SPDX-License-Identifier: MIT
 * A run's directory read back; see report.h. */
#include <stdio.h>
#include <string.h>

#include <rootdk/report.h>

#include "run/rundir.h"

enum { FILE_PATH = RDK_PATH_TEXT + 64 };

static char *file_of(const char *directory, const char *name, char buf[FILE_PATH])
{
    snprintf(buf, FILE_PATH, "%s/%s", directory, name);
    return buf;
}

bool rdk_saved_run_is(const char *path)
{
    char file[FILE_PATH];
    return strlen(path) < RDK_PATH_TEXT && rdk_file_exists(file_of(path, "config.ini", file));
}

static bool read_config(rdk_saved_run *r, rdk_status *s)
{
    char file[FILE_PATH];
    char *text = rdk_file_read(file_of(r->path, "config.ini", file), NULL, s);
    rdk_status cause = {0};
    rdk_config_init(&r->config);
    bool ok = text && rdk_config_read(&r->config, text, file, NULL, &cause);
    rdk_free(text);
    /* to the reader of a run it is a damaged file, not a mistyped option */
    return ok || rdk_fail(s, RDK_EFORMAT, "%s", cause.message);
}

bool rdk_saved_run_open(rdk_saved_run *r, const char *path, rdk_status *s)
{
    char file[FILE_PATH];
    memset(r, 0, sizeof *r);
    if (strlen(path) >= sizeof r->path)
        return rdk_fail(s, RDK_EVALUE, "the name of a directory is longer than %zu bytes",
                        sizeof r->path - 1);
    snprintf(r->path, sizeof r->path, "%s", path);
    if (!read_config(r, s)) return false;
    r->about = rdk_record_read(file_of(path, "run.json", file), s);
    return r->about != NULL;
}

void rdk_saved_run_close(rdk_saved_run *r)
{
    rdk_record_free(r->about);
    r->about = NULL;
}

const char *rdk_saved_run_status(const rdk_saved_run *r)
{
    const char *status = rdk_record_word(r->about, "status");
    if (!status) return "unknown";
    /* of a killed run it says that it is running, as nobody could correct it */
    return !strcmp(status, "running") && !rdk_rundir_is_held(r->path) ? "cut off" : status;
}

rdk_table *rdk_saved_run_table(const rdk_saved_run *r, const char *name, rdk_status *s)
{
    char file[FILE_PATH];
    return rdk_table_read(file_of(r->path, name, file), s);
}

void rdk_saved_run_option(const rdk_saved_run *r, const rdk_option *o, rdk_text *value)
{
    rdk_option_text(&r->config, o, value);
}
