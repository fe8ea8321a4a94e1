/* SPDX-License-Identifier: MIT
 * Writing safetensors files: see safetensors.h for the format.
 * Invariant: the bytes are a function of the tensors and words handed in, on any machine. */
#include "safetensors.h"

#include <string.h>

enum { LENGTH_BYTES = 8, ALIGN = 8 };

static size_t elements(const rdk_saved_tensor *t)
{
    size_t n = 1;
    for (int i = 0; i < t->n_dims; i++) n *= t->dim[i];
    return n;
}

static void add_entry(rdk_text *out, const rdk_saved_tensor *t, size_t from)
{
    rdk_text name = {0};
    rdk_text_add(&name, "%s%s", t->prefix, t->name);
    rdk_text_add(out, ",");
    rdk_text_json(out, name.data ? name.data : "");
    rdk_text_add(out, ":{\"dtype\":\"%s\",\"shape\":[", rdk_safetensors_dtype());
    for (int i = 0; i < t->n_dims; i++) rdk_text_add(out, "%s%zu", i ? "," : "", t->dim[i]);
    rdk_text_add(out, "],\"data_offsets\":[%zu,%zu]}", from, from + elements(t) * sizeof(rdk_real));
    out->failed |= name.failed;
    rdk_text_free(&name);
}

static void add_header(rdk_text *out, size_t n, const rdk_saved_tensor *tensors, size_t n_words,
                       const rdk_saved_word *words)
{
    rdk_text_add(out, "{\"__metadata__\":{\"format\":\"pt\"");
    for (size_t i = 0; i < n_words; i++) {
        rdk_text_add(out, ",");
        rdk_text_json(out, words[i].key);
        rdk_text_add(out, ":");
        rdk_text_json(out, words[i].value);
    }
    rdk_text_add(out, "}");
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        add_entry(out, &tensors[i], from);
        from += elements(&tensors[i]) * sizeof(rdk_real);
    }
    rdk_text_add(out, "}");
    while (out->size % ALIGN) rdk_text_bytes(out, " ", 1);
}

static void add_little_endian(rdk_text *out, uint64_t x, size_t bytes)
{
    char b[8];
    for (size_t i = 0; i < bytes; i++) b[i] = (char)(x >> (8 * i) & 0xFF);
    rdk_text_bytes(out, b, bytes);
}

static bool host_is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* The bytes of a tensor as the file has them: its own, or in `turned`. */
static rdk_part data_of(const rdk_saved_tensor *t, rdk_text *turned)
{
    size_t n = elements(t);
    if (host_is_little_endian()) return (rdk_part){t->data, n * sizeof(rdk_real)};
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        uint32_t half;
        memcpy(sizeof(rdk_real) == 8 ? (void *)&bits : (void *)&half, &t->data[i],
               sizeof(rdk_real));
        add_little_endian(turned, sizeof(rdk_real) == 8 ? bits : half, sizeof(rdk_real));
    }
    return (rdk_part){turned->data, turned->size};
}

/* Tensors go to the file from where they lie: a model that just fits memory can be saved. */
bool rdk_safetensors_write(const char *path, size_t n, const rdk_saved_tensor *tensors,
                           size_t n_words, const rdk_saved_word *words, rdk_status *s)
{
    rdk_text header = {0}, length = {0};
    rdk_part *part = rdk_alloc(2 + n, sizeof *part, s);
    rdk_text *turned = rdk_alloc(n, sizeof *turned, s);
    add_header(&header, n, tensors, n_words, words);
    add_little_endian(&length, header.size, LENGTH_BYTES);
    bool ok = part && turned && rdk_text_ok(&header, s) && rdk_text_ok(&length, s);
    if (ok) {
        part[0] = (rdk_part){length.data, length.size};
        part[1] = (rdk_part){header.data, header.size};
    }
    for (size_t i = 0; i < n && ok; i++) {
        part[2 + i] = data_of(&tensors[i], &turned[i]);
        ok = rdk_text_ok(&turned[i], s);
    }
    ok = ok && rdk_file_replace_parts(path, 2 + n, part, s);
    for (size_t i = 0; i < n && turned; i++) rdk_text_free(&turned[i]);
    rdk_free(turned);
    rdk_free(part);
    rdk_text_free(&header);
    rdk_text_free(&length);
    return ok;
}
