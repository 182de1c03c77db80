/*
 * ps/push_place.h: whether a ps collects one push of each step in the memory of its next values,
 * where the update replaces each block of the gradient by the new values. Without that, a ps has
 * memory for both.
 *
 * The previous values, whose memory it is, must no longer be needed: see P4. Small pushes stay in
 * the slots of a lane, which hold them without a copy.
 *
 * Threads: pure functions.
 */
#ifndef PS_PUSH_PLACE_H
#define PS_PUSH_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/variables.h"
#include "common/job/job.h"
#include "common/net/slots.h"

/* Smaller pushes fit the slots of a lane. */
enum { PUSH_PLACE_CHUNKS = SLOTS };

/* Whether a ps with `count` parameters does that: they must have more than `chunks` chunks of
 * `chunk_bytes`. */
bool push_place_exists(const struct job *job, const struct variable_table *variables,
                       uint64_t count, uint32_t chunks, uint32_t chunk_bytes);

#endif
