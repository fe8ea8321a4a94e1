/* SPDX-License-Identifier: MIT
 * What this library was built from. build_id.h is written by the Makefile.
 *
 * Invariant: the build id changes where the sources change, and only this file is rebuilt for it.
 * Read next: nothing; this leads nowhere. */
#include <rootdk/base.h>

#include "build_id.h"

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

const char RDK_BUILT_WITH = 1; /* see base.h */

const char *rdk_version(void)
{
    return "0.1.0";
}

const char *rdk_build_id(void)
{
    return RDK_BUILD_ID;
}

const char *rdk_compiler(void)
{
#if defined(__clang__)
    return "clang " TEXT(__clang_major__) "." TEXT(__clang_minor__) "." TEXT(__clang_patchlevel__);
#elif defined(__GNUC__)
    return "gcc " TEXT(__GNUC__) "." TEXT(__GNUC_MINOR__) "." TEXT(__GNUC_PATCHLEVEL__);
#else
    return "unknown compiler";
#endif
}
