/*
 * mirror/member_state.h: the decisions of a worker without ps that is a member of a group (M13):
 * whether it has the values that an order of the head names, and whether the group is a worker.
 *
 * Pure. Threads: any.
 */
#ifndef MIRROR_MEMBER_STATE_H
#define MIRROR_MEMBER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "group/attempt.h"

/* The values of a replica: `generation` is that of the last order of the chief. */
struct member_values {
    bool whole; /* The member has values of `generation`, those of `step`. */
    uint64_t generation, step;
};

/* The copy of the own variables from which a member computes. It stays when the replica completes
 * the step. */
struct member_copy {
    uint64_t generation, step;
    uint64_t version; /* Grows with each copy; 0: there is none. */
};

enum member_has {
    MEMBER_HAS_NOT_YET, /* The member will reach the step, or get the values of a later one. */
    MEMBER_HAS_VALUES,  /* To be copied. */
    MEMBER_HAS_COPY,    /* Made for an earlier node of the step: the same bits (M1). */
    MEMBER_HAS_PASSED,  /* The member no longer has values of that step. */
};

/* Whether a member with `own` values and a copy has those of an order. */
enum member_has member_state_has(const struct member_values *own, const struct member_copy *copy,
                                 uint64_t generation, uint64_t step);

/* At the head: the generation of which each other member has values; 0: none, or unknown. */
struct member_holders {
    uint64_t generations[GROUP_MEMBERS_MAX];
};

/* At the head of a group of `members`: whether the group is one worker, so that it may own slices.
 * `complete`: attempt_is_complete(). Before the head has values, a complete group is one. */
bool member_state_is_worker(const struct member_holders *holders, uint32_t members, bool complete,
                            const struct member_values *own);

#endif
