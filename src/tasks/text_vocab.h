/* SPDX-License-Identifier: MIT
 * Characters of a text: their printable forms, and the numbering of those that a file holds.
 * Read next: text_vocab.c. */
#ifndef RDK_TEXT_VOCAB_H
#define RDK_TEXT_VOCAB_H

#include "base/utf8.h"
#include "task.h"

/* A code point, or a byte that is none, as something to print on one line: "a", "\n", "\\",
 * "\u{feff}", "\xff". */
void rdk_code_point_text(uint32_t code_point, char buf[RDK_TOKEN_TEXT]);
void rdk_byte_text(uint8_t byte, char buf[RDK_TOKEN_TEXT]);

/* The distinct code points of a text in ascending order: number i stands for code_point[i]. */
typedef struct rdk_charset {
    size_t count;         /* V */
    size_t characters;    /* of the whole text */
    uint32_t *code_point; /* [count] */
    int32_t *number;      /* [RDK_CODE_POINTS]; needed to number a text, then given back */
} rdk_charset;

/* Zero *set before. path is for messages: RDK_EFORMAT names it and the byte that is no text. */
bool rdk_charset_read(rdk_charset *set, const uint8_t *bytes, size_t n, const char *path,
                      rdk_status *s);
void rdk_charset_free(rdk_charset *set);

#endif
