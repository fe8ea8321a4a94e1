/* SPDX-License-Identifier: MIT
 * The instruction sets of the library that a test is linked with. */
#ifndef RDK_TEST_ISA_H
#define RDK_TEST_ISA_H

#include "kernels/kernels.h"

/* The one that every processor has which this build is for: "base", or "neon" on aarch64. */
static inline const char *plainest_isa(void)
{
    int last = 0;
    while (rdk_kernels_at(last + 1)) last++;
    return rdk_kernels_at(last)->isa;
}

#endif
