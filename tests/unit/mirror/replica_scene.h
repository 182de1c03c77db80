/* tests/unit/mirror/replica_scene.h: a replica under test, and events for it: after handle(),
 * `actions` has what it asks for. */
#ifndef TESTS_UNIT_MIRROR_REPLICA_SCENE_H
#define TESTS_UNIT_MIRROR_REPLICA_SCENE_H

#include "mirror/replica.h"

static struct replica replica;
static struct replica_actions actions;
static struct run run;
static struct assignment assignment;
static uint16_t writers[RANGES_MAX];
static uint64_t now_ms; /* The time of all events. */

static inline void handle(struct replica_event event)
{
    event.now_ms = now_ms;
    replica_handle(&replica, &event, &actions);
}

/* `run`, as the test has changed it, under the next revision. */
static inline struct replica_event next_order(void)
{
    run.revision++;
    return (struct replica_event){.type = REPLICA_EV_RUN, .run = &run, .writers = writers};
}

/* The owners of four slices. */
static inline struct replica_event owners(uint16_t a, uint16_t b, uint16_t c, uint16_t d)
{
    assignment = (struct assignment){.slice_count = 4, .worker = {a, b, c, d}};
    return (struct replica_event){.type = REPLICA_EV_ASSIGNMENT, .assignment = &assignment};
}

#endif
