/* SPDX-License-Identifier: MIT
 * UTF-8 (RFC 3629): no overlong form, no surrogate, nothing past U+10FFFF. */
#ifndef RDK_UTF8_H
#define RDK_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { RDK_UTF8_MAX = 4, RDK_CODE_POINTS = 0x110000 };

/* The character at the head of n >= 1 bytes: its length, or 0 where they begin with none. */
size_t rdk_utf8_decode(const uint8_t *bytes, size_t n, uint32_t *code_point);
/* Writes it, without a NUL; returns its length. */
size_t rdk_utf8_encode(uint32_t code_point, char out[RDK_UTF8_MAX]);

#endif
