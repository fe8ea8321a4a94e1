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

static void add_data(rdk_text *out, const rdk_saved_tensor *t)
{
    size_t n = elements(t);
    if (host_is_little_endian()) {
        rdk_text_bytes(out, t->data, n * sizeof(rdk_real));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        uint32_t half;
        memcpy(sizeof(rdk_real) == 8 ? (void *)&bits : (void *)&half, &t->data[i],
               sizeof(rdk_real));
        add_little_endian(out, sizeof(rdk_real) == 8 ? bits : half, sizeof(rdk_real));
    }
}

bool rdk_safetensors_write(const char *path, size_t n, const rdk_saved_tensor *tensors,
                           size_t n_words, const rdk_saved_word *words, rdk_status *s)
{
    rdk_text header = {0}, file = {0};
    add_header(&header, n, tensors, n_words, words);
    bool ok = rdk_text_ok(&header, s);
    if (ok) {
        add_little_endian(&file, header.size, LENGTH_BYTES);
        rdk_text_bytes(&file, header.data, header.size);
        for (size_t i = 0; i < n; i++) add_data(&file, &tensors[i]);
        ok = rdk_text_ok(&file, s) && rdk_file_replace(path, file.data, file.size, s);
    }
    rdk_text_free(&header);
    rdk_text_free(&file);
    return ok;
}
