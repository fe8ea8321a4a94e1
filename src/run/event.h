/* SPDX-License-Identifier: MIT
 * What TensorBoard reads, as bytes: the protocol buffers Event, Summary and HistogramProto of
 * TensorFlow (event.proto, summary.proto), and the records of TFRecord that hold one Event each.
 *
 * A record is its length (8 bytes, little-endian), the masked checksum of those 8 bytes, the data,
 * their masked checksum; the checksum is CRC-32C.
 * Invariant: functions of their arguments alone; all numbers are little-endian on any machine.
 * Read next: tensorboard.c, what is written when. */
#ifndef RDK_RUN_EVENT_H
#define RDK_RUN_EVENT_H

#include <rootdk/base.h>

/* ---- a summary: values under tags, appended to *summary -------------------------------------- */

void rdk_summary_scalar(rdk_text *summary, const char *tag, double x);
/* Of n numbers, n >= 1, all finite: 30 buckets of equal width from the least to the largest, or one
 * where they are the same. A number on a bound belongs to the bucket below it. */
void rdk_summary_histogram(rdk_text *summary, const char *tag, const double *x, size_t n);

/* ---- events, appended to *event -------------------------------------------------------------- */

/* wall_time: seconds since 1970. */
void rdk_event_version(rdk_text *event, double wall_time); /* the first of a file */
void rdk_event_summary(rdk_text *event, double wall_time, uint64_t step, const rdk_text *summary);
/* The step of an event, 0 where it has none; false where the bytes are no event. */
bool rdk_event_step(const char *event, size_t n, uint64_t *step);

/* ---- records --------------------------------------------------------------------------------- */

uint32_t rdk_crc32c(const void *bytes, size_t n);
void rdk_tfrecord_add(rdk_text *file, const rdk_text *data);
/* The record at the beginning of the n bytes of `file`: its data. Returns the length of the record,
 * 0 where no whole and undamaged one stands there. */
size_t rdk_tfrecord_read(const char *file, size_t n, const char **data, size_t *size);
/* Is nothing there, or the beginning of a record whose end was never written? */
bool rdk_tfrecord_torn(const char *file, size_t n);

#endif
