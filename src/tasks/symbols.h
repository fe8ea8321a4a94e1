/* SPDX-License-Identifier: MIT
 * What copy, reverse and sort share: n symbols in, n symbols out.
 * Read next: symbols.c. */
#ifndef RDK_SYMBOLS_H
#define RDK_SYMBOLS_H

#include "task.h"

bool rdk_symbols_open(rdk_task *task, const rdk_task_config *c, rdk_status *s);
void rdk_symbols_draw(const rdk_task *task, rdk_draws *d, int32_t *input, int32_t *target);
/* Where the n output symbols belong in target. */
int32_t *rdk_symbols_output(const rdk_task *task, int32_t *target);
/* With the output in its place: the rest of input and target. */
void rdk_symbols_lay_out(const rdk_task *task, int32_t *input, int32_t *target);

#endif
