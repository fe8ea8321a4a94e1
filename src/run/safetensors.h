/* SPDX-License-Identifier: MIT
 * The safetensors file format: 8 bytes little-endian header length, a JSON header
 * {"__metadata__": {..}, "name": {"dtype": "F32", "shape": [..], "data_offsets": [from, to]}, ..},
 * then the tensors' bytes, little-endian, without holes, ending at the file's end. The header lists
 * the tensors in any order (we: in the order of their data), each name once.
 *
 * Invariant of reading: every number of a file is checked against the size of the file before
 * anything is allocated or read by it.
 * Read next: safetensors_write.c, safetensors.c (reading), checkpoint.c (what is in the file). */
#ifndef RDK_RUN_SAFETENSORS_H
#define RDK_RUN_SAFETENSORS_H

#include <rootdk/autograd.h>

/* The dtype of this build's numbers; the only one that is read. */
static inline const char *rdk_safetensors_dtype(void)
{
    return sizeof(rdk_real) == sizeof(float) ? "F32" : "F64";
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct rdk_saved_tensor {
    const char *prefix, *name; /* the name in the file is both, one behind the other */
    int n_dims;
    const size_t *dim;
    const rdk_real *data;
} rdk_saved_tensor;

typedef struct rdk_saved_word {
    const char *key, *value;
} rdk_saved_word;

bool rdk_safetensors_write(const char *path, size_t n, const rdk_saved_tensor *tensors,
                           size_t n_words, const rdk_saved_word *words, rdk_status *s);

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct rdk_safetensors rdk_safetensors;

/* The whole file, checked. Errors (RDK_EIO, RDK_EFORMAT) name the file and what is wrong. */
rdk_safetensors *rdk_safetensors_read(const char *path, rdk_status *s);
void rdk_safetensors_free(rdk_safetensors *f);
const char *rdk_safetensors_word(const rdk_safetensors *f, const char *key); /* NULL: absent */
/* Copies the tensor of that name and shape into data, or fails naming what differs. */
bool rdk_safetensors_copy(const rdk_safetensors *f, const rdk_saved_tensor *like, rdk_real *data,
                          rdk_status *s);
size_t rdk_safetensors_count(const rdk_safetensors *f);

#endif
