/*
 * mirror/frame_codec.h: the frames between replicas (T11), as headers and as events and actions of
 * mirror/replica.h.
 *
 *   PUSH      question  sum of the gradients of slices [first, first + count), range `sequence`
 *   PULL      question  for the sum of range `sequence` at `step`; with `sequence`
 *                       REPLICA_ALL_RANGES for all values, where `step` is the asker's own, or
 *                       STEP_NONE
 *   SUM       answer    that of range `sequence` at `step`
 *   VALUES    answer    array `first` of `count`: the values, then the state of the optimizer, all
 *                       of `step`
 *   REFUSED   answer    to a question for range `sequence`; `first`: 1 + enum replica_refusal;
 *                       generation and step are the sender's
 *
 * Pure. Threads: any.
 */
#ifndef MIRROR_FRAME_CODEC_H
#define MIRROR_FRAME_CODEC_H

#include "common/cluster/placement.h"
#include "common/net/wire.h"
#include "mirror/replica.h"

/* The facts of the job that both ends know. */
struct frame_codec_shape {
    uint32_t ranges, slices;
    uint32_t arrays;                /* The values and the state of the optimizer. */
    uint64_t parameters;            /* Floats of each. */
    const struct placement *places; /* Places of the ranges. */
};

/* The reason why `header` is not a question or answer between replicas of this shape, or NULL. If
 * NULL, `out` has the event, without connection, peer and time, and `*bytes` is the size of the
 * whole body. A VALUES frame becomes an event when the last array has arrived. */
const char *frame_codec_read_question(const struct frame_codec_shape *shape,
                                      const struct frame_header *header, struct replica_event *out,
                                      uint64_t *bytes);
const char *frame_codec_read_answer(const struct frame_codec_shape *shape,
                                    const struct frame_header *header, struct replica_event *out,
                                    uint64_t *bytes);

/* The header of a PUSH or FORWARD (`node`), PULL, PULL_VALUES, ANSWER, REFUSE or SEND_VALUES
 * (`array`). */
struct frame_header frame_codec_write(const struct frame_codec_shape *shape,
                                      const struct replica_action *action, struct slice_node node,
                                      uint32_t array);

#endif
