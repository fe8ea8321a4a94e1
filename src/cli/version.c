/* SPDX-License-Identifier: MIT
 * --version: everything about this build and machine that a report of a fault should name. */
#include "cli.h"

void rdk_print_version(FILE *out)
{
    const char *reason;
    rdk_status s = {0};
    int threads = rdk_choose_threads(0, &reason, &s);
    fprintf(out, "rootdk %s\n", rdk_version());
    fprintf(out, "build            %s\n", rdk_build_id());
    fprintf(out, "compiler         %s\n", rdk_compiler());
    fprintf(out, "instruction set  %s\n", rdk_isa());
    if (threads)
        fprintf(out, "threads          %d (%s)\n", threads, reason);
    else
        fprintf(out, "threads          none: %s\n", s.message);
    fprintf(out, "numbers          %s\n", sizeof(rdk_real) == sizeof(float) ? "float" : "double");
    fprintf(out, "libraries        none beyond the C library%s\n",
#ifdef _OPENMP
            " and OpenMP"
#else
            ""
#endif
    );
}
