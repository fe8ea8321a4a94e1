/* SPDX-License-Identifier: MIT
 * fork and exec of the program itself.
 *
 * A child is of this process's group, so ^Z and fg reach it; but ^C and a hang-up are for the
 * parent, which tells its children once (src/cli/signals.c: a second signal would end them
 * unsaved). Invariant: this process has no second thread (pool.c), and what the child calls between
 * fork and exec takes no memory and no lock: the names of the program are looked up before. */
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"

enum { NOT_STARTED = 127 };

/* The file that runs here, also where a build has replaced it in the meantime. */
static const char self[] = "/proc/self/exe";

/* What the child execs where the system does not tell what runs here: the word itself where it
 * holds a slash, else the first file of that name in PATH that can be run. */
static void find_program(const char *word, rdk_text *found)
{
    const char *path = strchr(word, '/') ? NULL : getenv("PATH");
    for (size_t n; path; path = path[n] ? path + n + 1 : NULL) {
        n = strcspn(path, ":");
        found->size = 0;
        rdk_text_add(found, "%.*s/%s", n ? (int)n : 1, n ? path : ".", word);
        if (found->failed || access(found->data, X_OK) == 0) return;
    }
    found->size = 0;
    rdk_text_add(found, "%s", word);
}

static void become_child(char *const *words, const char *program, int log, int nothing, int lock,
                         pid_t parent)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    if (getppid() != parent) return; /* it died before it could be asked for */
    if (dup2(nothing, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0 || fcntl(lock, F_SETFD, 0) != 0)
        return;
    execv(self, words);
    execv(program, words);
}

static bool write_command(int log, char *const *words, rdk_status *s)
{
    rdk_text t = {0};
    rdk_text_add(&t, "$");
    for (; *words; words++) {
        rdk_text_add(&t, " ");
        rdk_text_shell_word(&t, *words);
    }
    rdk_text_add(&t, "\n");
    bool ok = rdk_text_ok(&t, s) &&
              (write(log, t.data, t.size) == (ssize_t)t.size ||
               rdk_fail(s, RDK_EIO, "cannot write the log of a point: %s", strerror(errno)));
    rdk_text_free(&t);
    return ok;
}

pid_t rdk_child_start(char *const *words, const char *log, int lock, rdk_status *s)
{
    pid_t child = -1, parent = getpid();
    rdk_text program = {0};
    find_program(words[0], &program);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (out < 0 || nothing < 0) {
        rdk_fail(s, RDK_EIO, "cannot open %s: %s", out < 0 ? log : "/dev/null", strerror(errno));
    } else if (rdk_text_ok(&program, s) && write_command(out, words, s)) {
        child = fork();
        if (child == 0) {
            become_child(words, program.data, out, nothing, lock, parent);
            _exit(NOT_STARTED);
        }
        if (child < 0) rdk_fail(s, RDK_EIO, "cannot start a process: %s", strerror(errno));
    }
    if (out >= 0) close(out);
    if (nothing >= 0) close(nothing);
    rdk_text_free(&program);
    return child;
}

void rdk_child_last_lines(const char *log, rdk_text *out)
{
    enum { LINES = 5 };
    rdk_status ignored = {0};
    size_t size = 0, lines = 0;
    char *text = rdk_file_read(log, &size, &ignored);
    if (!text) return;
    while (size > 0 && text[size - 1] == '\n') text[--size] = '\0';
    size_t begin = size;
    for (; begin > 0; begin--)
        if (text[begin - 1] == '\n' && ++lines == LINES) break;
    for (const char *p = text + begin, *end; p < text + size; p = end + 1) {
        end = memchr(p, '\n', (size_t)(text + size - p));
        if (!end) end = text + size;
        rdk_text_add(out, "  | ");
        for (; p < end; p++) rdk_text_bytes(out, *p ? p : "?", 1); /* a NUL would end the text */
        rdk_text_add(out, "\n");
    }
    rdk_free(text);
}
