/* SPDX-License-Identifier: MIT
 * The attention of one example, for pictures: maps.csv has p at the first and the last step,
 * example.csv the tokens that belong to its queries and keys.
 * Invariant: the example is the first held-out sequence, so it does not depend on the step. Read
 * next: watch.c. */
#include "trainer.h"

#include <string.h>

enum { MAPPED = 32 }; /* queries, and keys, that are shown */

size_t rdk_maps_rows_of_head(const rdk_trainer *r)
{
    size_t len = (size_t)rdk_watch_batch(r->watch)->length[0], shown = len < MAPPED ? len : MAPPED;
    return r->config.model.arch == RDK_DECODER ? shown * (shown + 1) / 2 : shown * shown;
}

static void add_row(rdk_trainer *r, uint64_t step, const rdk_head_view *v, size_t layer,
                    size_t query, double *p)
{
    size_t n = rdk_head_weights(v, 0, query, p);
    for (size_t key = 0; key < n && key < MAPPED; key++) {
        rdk_csv_uint(&r->maps, step);
        rdk_csv_uint(&r->maps, layer);
        rdk_csv_uint(&r->maps, v->head);
        rdk_csv_uint(&r->maps, query);
        rdk_csv_uint(&r->maps, key);
        rdk_csv_real(&r->maps, p[key]);
        rdk_csv_end(&r->maps);
    }
}

bool rdk_maps_rows(rdk_trainer *r, uint64_t step)
{
    const rdk_model_config *c = &r->config.model;
    double *p = rdk_alloc(r->batch.len, sizeof *p, r->status);
    bool ok = p != NULL;
    for (size_t at = 0; ok && at < c->layers * c->heads; at++) {
        rdk_head_view v = rdk_watch_head(r, at / c->heads, at % c->heads);
        for (size_t query = 0; query < v.len && query < MAPPED; query++)
            add_row(r, step, &v, at / c->heads, query, p);
        ok = rdk_csv_write(&r->maps, r->status);
    }
    rdk_free(p);
    return ok;
}

bool rdk_maps_example(const rdk_trainer *r)
{
    if (!r->watch) return true;
    const rdk_batch *b = rdk_watch_batch(r->watch);
    char path[RDK_PATH_TEXT + 64], label[RDK_TOKEN_TEXT];
    rdk_text t = {0};
    rdk_text_add(&t, "position,input,target,counted\n");
    for (size_t i = 0; i < (size_t)b->length[0]; i++) {
        bool counted = b->target[i] != RDK_IGNORE;
        rdk_text_add(&t, "%zu,", i);
        rdk_text_csv(&t, rdk_task_token_text(r->task, b->input[i], label));
        rdk_text_add(&t, ",");
        if (counted) rdk_text_csv(&t, rdk_task_token_text(r->task, b->target[i], label));
        rdk_text_add(&t, ",%d\n", counted);
    }
    rdk_rundir_file(&r->directory, "example.csv", path);
    bool ok = rdk_text_ok(&t, r->status) && rdk_file_replace(path, t.data, t.size, r->status);
    rdk_text_free(&t);
    return ok;
}
