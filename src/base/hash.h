/* SPDX-License-Identifier: MIT
 * FNV-1a of 64 bits (Fowler, Noll and Vo): start with RDK_HASH_START, add a unit at a time. The
 * usual unit is a byte. Its values stand in files (a text's hash, checksums) and decide which
 * sequences are held out and what a parameter draws: they must never change. */
#ifndef RDK_HASH_H
#define RDK_HASH_H

#include <stddef.h>
#include <stdint.h>

static const uint64_t RDK_HASH_START = 0xcbf29ce484222325;

static inline uint64_t rdk_hash_add(uint64_t hash, uint64_t unit)
{
    return (hash ^ unit) * 0x100000001b3;
}

#endif
