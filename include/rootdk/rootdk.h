/* SPDX-License-Identifier: MIT
 * All of rootdk. Floors, the ground first: base, autograd, ops, nn, optim, tasks, probe, run,
 * report. */
#ifndef ROOTDK_ROOTDK_H
#define ROOTDK_ROOTDK_H

#include <rootdk/report.h>

#endif
