/* SPDX-License-Identifier: MIT
 * Checksums of what a checkpoint holds: FNV-1a of 64 bits (Fowler, Noll and Vo), in which one
 * changed byte always changes the sum. Against damage, not against malice.
 * Invariant: functions of the content alone, the same on any machine. */
#ifndef RDK_RUN_CHECKSUM_H
#define RDK_RUN_CHECKSUM_H

#include "safetensors.h"

enum { RDK_CHECKSUM_TEXT = 17 }; /* 16 hexadecimal digits, NUL */

/* Over every key and value, in this order; buf returned. */
char *rdk_checksum_words(size_t n, const rdk_saved_word *words, char buf[RDK_CHECKSUM_TEXT]);
/* Over the numbers of every tensor, as their little-endian bytes. */
char *rdk_checksum_tensors(size_t n, const rdk_saved_tensor *tensors, char buf[RDK_CHECKSUM_TEXT]);

#endif
