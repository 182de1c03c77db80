/*
 * mirror/turns.h: when a worker without ps begins the next step, whose computation holds up all
 * events: once all events that have arrived had their turn, or a number of them. A worker that
 * trains alone always has a next step. If it handled one event for each, it would learn of its new
 * slices too late, or never if more events arrive than it makes steps.
 *
 * A node gets a tick after each event while it is due, and also when no event is waiting
 * (common/node/runtime.c). So two ticks in succession show that none is.
 *
 * Threads: the owner's. Nothing fails.
 */
#ifndef MIRROR_TURNS_H
#define MIRROR_TURNS_H

#include <stdbool.h>
#include <stdint.h>

enum { TURNS_MAX = 64 /* Events between two steps. */ };

struct turns {
    bool is_after_event; /* There was no tick since. */
    uint32_t events;     /* Since the last step. */
};

/* For each event of the node, after it was handled. True: the next step may begin. */
bool turns_end(struct turns *turns, bool is_tick);

#endif
