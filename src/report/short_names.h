/* SPDX-License-Identifier: MIT
 * Names of runs without what they have in common, for narrow columns. */
#ifndef RDK_REPORT_SHORT_NAMES_H
#define RDK_REPORT_SHORT_NAMES_H

#include <rootdk/base.h>

/* Of points of one ablation: "none 16 1" of scale-none_d-k-16_lr-0.01_seed-1, where all have that
 * lr; `head` has the options, "scale d-k seed". out: [n], each freed by the caller. False where the
 * names are not of one such form, or there is no memory; nothing is to be freed then. */
bool rdk_short_names(const char *const *names, size_t n, rdk_text *out, rdk_text *head);

#endif
