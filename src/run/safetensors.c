/* SPDX-License-Identifier: MIT
 * Reading safetensors files: see safetensors.h for format and invariant. */
#include "safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

enum { LENGTH_BYTES = 8, MOST_HEADER_BYTES = 100 * 1000 * 1000, MOST_ENTRIES = 1 << 20 };

typedef struct entry {
    size_t name_at;   /* where its name begins in words.data, which moves while it grows */
    const char *name; /* set when all is read */
    int n_dims;
    size_t dim[RDK_MAX_DIMS];
    size_t from, to; /* bytes of its data */
} entry;

struct rdk_safetensors {
    char *path, *file;
    size_t size, data_at; /* bytes of the file; where the data begins */
    rdk_text words;       /* names, keys and values, each with its NUL */
    size_t *pair;         /* 2 a word: key, value in words.data */
    entry *entry;         /* sorted by name when all is read */
    size_t pairs, entries, room;
};

static uint64_t little_endian(const char *bytes, size_t n)
{
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++) x |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    return x;
}

/* Reads a JSON string into f->words; *at: where it begins. */
static bool take_word(rdk_safetensors *f, rdk_json *j, size_t *at)
{
    *at = f->words.size;
    if (!rdk_json_string(j, &f->words)) return false;
    rdk_text_bytes(&f->words, "", 1);
    if (f->words.failed) return rdk_json_fail(j, "no memory for its names");
    if (strlen(f->words.data + *at) + 1 != f->words.size - *at)
        return rdk_json_fail(j, "a name holds a NUL");
    return true;
}

static bool take_metadata(rdk_safetensors *f, rdk_json *j)
{
    if (f->pairs) return rdk_json_fail(j, "__metadata__ stands twice");
    if (!rdk_json_take(j, '{')) return false;
    while (!rdk_json_next_is(j, '}')) {
        if (f->pairs && !rdk_json_take(j, ',')) return false;
        if (f->pairs == f->room) return rdk_json_fail(j, "too many entries");
        size_t *p = f->pair + 2 * f->pairs++;
        if (!take_word(f, j, &p[0]) || !rdk_json_take(j, ':') || !take_word(f, j, &p[1]))
            return false;
    }
    return rdk_json_take(j, '}');
}

static bool take_shape(entry *e, rdk_json *j)
{
    if (!rdk_json_take(j, '[')) return false;
    while (!rdk_json_next_is(j, ']')) {
        uint64_t n;
        if (e->n_dims && !rdk_json_take(j, ',')) return false;
        if (e->n_dims == RDK_MAX_DIMS) return rdk_json_fail(j, "a tensor has too many dimensions");
        if (!rdk_json_uint(j, &n)) return false;
        if (n > SIZE_MAX) return rdk_json_fail(j, "a dimension is too large");
        e->dim[e->n_dims++] = (size_t)n;
    }
    return rdk_json_take(j, ']');
}

static bool take_offsets(const rdk_safetensors *f, entry *e, rdk_json *j)
{
    uint64_t from, to;
    if (!rdk_json_take(j, '[') || !rdk_json_uint(j, &from) || !rdk_json_take(j, ',') ||
        !rdk_json_uint(j, &to) || !rdk_json_take(j, ']'))
        return false;
    if (from > to || to > f->size - f->data_at)
        return rdk_json_fail(j, "data_offsets beyond the end of the file");
    e->from = (size_t)from;
    e->to = (size_t)to;
    return true;
}

static bool take_field(rdk_safetensors *f, entry *e, rdk_json *j, unsigned *seen)
{
    enum { SAW_DTYPE = 1, SAW_SHAPE = 2, SAW_OFFSETS = 4 };
    size_t key, dtype, mark = f->words.size;
    unsigned what = 0;
    bool ok = take_word(f, j, &key) && rdk_json_take(j, ':');
    if (!ok) return false;
    const char *name = f->words.data + key;
    if (strcmp(name, "dtype") == 0) {
        what = SAW_DTYPE;
        ok = take_word(f, j, &dtype);
        if (ok && strcmp(f->words.data + dtype, rdk_safetensors_dtype()) != 0)
            ok = rdk_json_fail(j, sizeof(rdk_real) == 4 ? "a tensor's dtype is not F32"
                                                        : "a tensor's dtype is not F64");
    } else if (strcmp(name, "shape") == 0) {
        what = SAW_SHAPE;
        ok = take_shape(e, j);
    } else if (strcmp(name, "data_offsets") == 0) {
        what = SAW_OFFSETS;
        ok = take_offsets(f, e, j);
    } else {
        ok = rdk_json_fail(j, "unknown field of a tensor");
    }
    if (ok && (*seen & what)) ok = rdk_json_fail(j, "a field of a tensor stands twice");
    *seen |= what;
    f->words.size = mark; /* field names are not kept */
    return ok;
}

static bool take_tensor(rdk_safetensors *f, rdk_json *j, size_t name)
{
    enum { SAW_ALL = 7 };
    if (f->entries == f->room) return rdk_json_fail(j, "too many entries");
    entry *e = &f->entry[f->entries];
    *e = (entry){.name_at = name};
    unsigned seen = 0;
    size_t bytes = sizeof(rdk_real);
    if (!rdk_json_take(j, '{')) return false;
    while (!rdk_json_next_is(j, '}')) {
        if (seen && !rdk_json_take(j, ',')) return false;
        if (!take_field(f, e, j, &seen)) return false;
    }
    if (!rdk_json_take(j, '}')) return false;
    if (seen != SAW_ALL) return rdk_json_fail(j, "a tensor lacks dtype, shape or data_offsets");
    for (int i = 0; i < e->n_dims; i++)
        if (!rdk_size_mul(bytes, e->dim[i], &bytes)) return rdk_json_fail(j, "a shape overflows");
    if (bytes != e->to - e->from) return rdk_json_fail(j, "data_offsets do not fit the shape");
    f->entries++;
    return true;
}

static bool take_header(rdk_safetensors *f, rdk_json *j)
{
    bool any = false;
    if (!rdk_json_take(j, '{')) return false;
    for (; !rdk_json_next_is(j, '}'); any = true) {
        size_t name;
        if (any && !rdk_json_take(j, ',')) return false;
        if (!take_word(f, j, &name) || !rdk_json_take(j, ':')) return false;
        bool metadata = strcmp(f->words.data + name, "__metadata__") == 0;
        if (!(metadata ? take_metadata(f, j) : take_tensor(f, j, name))) return false;
    }
    return rdk_json_take(j, '}') && rdk_json_finished(j);
}

static int by_data(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

static int by_name(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* The header may list tensors in any order; their data cover the rest of the file without hole or
 * overlap, and no name stands twice. */
static bool settle(rdk_safetensors *f, rdk_json *j)
{
    size_t end = 0;
    qsort(f->entry, f->entries, sizeof *f->entry, by_data);
    for (size_t i = 0; i < f->entries; i++) {
        entry *e = &f->entry[i];
        if (e->from != end) return rdk_json_fail(j, "the tensors' data overlap or leave a hole");
        end = e->to;
        e->name = f->words.data + e->name_at;
    }
    if (end != f->size - f->data_at) return rdk_json_fail(j, "bytes behind the last tensor");
    qsort(f->entry, f->entries, sizeof *f->entry, by_name);
    for (size_t i = 1; i < f->entries; i++)
        if (strcmp(f->entry[i - 1].name, f->entry[i].name) == 0)
            return rdk_json_fail(j, "two tensors have the same name");
    return true;
}

/* Entries cannot be more than the header has bytes for: a bound before anything is allocated. */
static size_t most_entries(size_t header_bytes)
{
    enum { LEAST_ENTRY_BYTES = 5 }; /* "":"" and a comma or brace */
    size_t n = header_bytes / LEAST_ENTRY_BYTES + 1;
    return n < MOST_ENTRIES ? n : MOST_ENTRIES;
}

static bool parse(rdk_safetensors *f, rdk_status *s)
{
    if (f->size < LENGTH_BYTES)
        return rdk_fail(s, RDK_EFORMAT,
                        "%s is no safetensors file: it has %zu bytes, the header alone "
                        "needs %d",
                        f->path, f->size, LENGTH_BYTES);
    uint64_t length = little_endian(f->file, LENGTH_BYTES);
    if (length > MOST_HEADER_BYTES || length > f->size - LENGTH_BYTES)
        return rdk_fail(s, RDK_EFORMAT,
                        "%s is broken: its header says %" PRIu64 " bytes, the file has "
                        "%zu (a safetensors file begins with its length, little-endian)",
                        f->path, length, f->size);
    f->data_at = LENGTH_BYTES + (size_t)length;
    f->room = most_entries((size_t)length);
    f->pair = rdk_alloc(f->room, 2 * sizeof *f->pair, s);
    f->entry = rdk_alloc(f->room, sizeof *f->entry, s);
    if (!rdk_ok(s)) return false;
    rdk_json j = rdk_json_open(f->file + LENGTH_BYTES, (size_t)length);
    if (take_header(f, &j) && settle(f, &j)) return true;
    return rdk_fail(s, RDK_EFORMAT, "%s is broken: %s, at byte %zu of its header", f->path, j.error,
                    (size_t)(j.error_at - j.start));
}

rdk_safetensors *rdk_safetensors_read(const char *path, rdk_status *s)
{
    rdk_safetensors *f = rdk_alloc(1, sizeof *f, s);
    if (!f) return NULL;
    size_t n = strlen(path) + 1;
    f->path = rdk_alloc(n, 1, s);
    if (f->path) memcpy(f->path, path, n);
    if (f->path && (f->file = rdk_file_read(path, &f->size, s)) != NULL && parse(f, s)) return f;
    rdk_safetensors_free(f);
    return NULL;
}

void rdk_safetensors_free(rdk_safetensors *f)
{
    if (!f) return;
    rdk_free(f->path);
    rdk_free(f->file);
    rdk_free(f->pair);
    rdk_free(f->entry);
    rdk_text_free(&f->words);
    rdk_free(f);
}

size_t rdk_safetensors_count(const rdk_safetensors *f)
{
    return f->entries;
}

const char *rdk_safetensors_word(const rdk_safetensors *f, const char *key)
{
    for (size_t i = 0; i < f->pairs; i++)
        if (strcmp(f->words.data + f->pair[2 * i], key) == 0)
            return f->words.data + f->pair[2 * i + 1];
    return NULL;
}

/* key: the rdk_saved_tensor that is looked for. */
static int against_name(const void *key, const void *element)
{
    const rdk_saved_tensor *like = key;
    const char *name = ((const entry *)element)->name;
    size_t prefix = strlen(like->prefix);
    int order = strncmp(like->prefix, name, prefix);
    return order ? order : strcmp(like->name, name + prefix);
}

static const entry *find_entry(const rdk_safetensors *f, const rdk_saved_tensor *like)
{
    return bsearch(like, f->entry, f->entries, sizeof *f->entry, against_name);
}

static void shape_text(rdk_text *t, int n_dims, const size_t *dim)
{
    rdk_text_add(t, "[");
    for (int i = 0; i < n_dims; i++) rdk_text_add(t, "%s%zu", i ? ", " : "", dim[i]);
    rdk_text_add(t, "]");
}

static bool fail_on_shape(const rdk_safetensors *f, const rdk_saved_tensor *like, const entry *e,
                          rdk_status *s)
{
    rdk_text t = {0};
    shape_text(&t, e->n_dims, e->dim);
    rdk_text_add(&t, ", this model needs ");
    shape_text(&t, like->n_dims, like->dim);
    rdk_fail(s, RDK_ESHAPE, "%s: %s%s has shape %s", f->path, like->prefix, like->name,
             t.data ? t.data : "?");
    rdk_text_free(&t);
    return false;
}

bool rdk_safetensors_copy(const rdk_safetensors *f, const rdk_saved_tensor *like, rdk_real *data,
                          rdk_status *s)
{
    const entry *e = find_entry(f, like);
    if (!e)
        return rdk_fail(s, RDK_EFORMAT, "%s has no tensor %s%s", f->path, like->prefix, like->name);
    bool same = e->n_dims == like->n_dims;
    for (int i = 0; same && i < e->n_dims; i++) same = e->dim[i] == like->dim[i];
    if (!same) return fail_on_shape(f, like, e, s);
    const char *from = f->file + f->data_at + e->from;
    for (size_t i = 0; i < (e->to - e->from) / sizeof *data; i++, from += sizeof *data) {
        uint64_t bits = little_endian(from, sizeof *data);
        uint32_t half = (uint32_t)bits;
        memcpy(&data[i], sizeof *data == 8 ? (void *)&bits : (void *)&half, sizeof *data);
    }
    return true;
}
