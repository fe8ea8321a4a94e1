/* SPDX-License-Identifier: MIT
 * --tensorboard: the figures of the logs once more, as events that TensorBoard reads. */
#ifndef RDK_RUN_TENSORBOARD_H
#define RDK_RUN_TENSORBOARD_H

#include <rootdk/run.h>

#define RDK_EVENTS_FILE "events.out.tfevents.rootdk"

typedef struct rdk_tensorboard {
    int fd; /* -1: not open; then everything is a no-op */
    char *path;
    rdk_text summary, event, record; /* of the event that is being made */
    double *values;                  /* [sequences * len], what a histogram is made of */
} rdk_tensorboard;

#endif
