/* SPDX-License-Identifier: MIT
 * What the directory of an ablation records of its grid: ablation.ini, what all runs share, and
 * points.csv, what varies. src/ablate writes them. */
#ifndef RDK_REPORT_GRID_RECORD_H
#define RDK_REPORT_GRID_RECORD_H

#include <rootdk/run.h>

typedef struct rdk_grid_record {
    rdk_text options; /* " --scale none,sqrt --heads 1", each word as a shell takes it */
    size_t points;    /* that are recorded */
    bool product;     /* they are all combinations of their values: the options make these alone */
} rdk_grid_record;

/* False where there is no record, or none that can be read; nothing is to be freed then. */
bool rdk_grid_record_read(rdk_grid_record *g, const char *directory);
void rdk_grid_record_free(rdk_grid_record *g);

/* A quarter of the steps, at least 1: where --save-every was not given. */
uint64_t rdk_ablation_save_every(uint64_t steps);

#endif
