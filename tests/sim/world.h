/*
 * tests/sim/world.h: virtual time and chance. Every event is an entry in one queue ordered by
 * (time, number); every random number comes from the seed. The same program and the same seed give
 * the same run.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/random.h"

struct world;

/* Called when virtual time reaches the entry. `data` is malloc'ed or NULL, and freed after the
 * call. */
typedef void (*world_call)(struct world *world, void *target, uint64_t a, uint64_t b, void *data);

struct world_entry {
    uint64_t at_us, number;
    world_call call;
    void *target;
    uint64_t a, b;
    void *data;
};

enum { WORLD_TRACE_LINES = 64, WORLD_TRACE_BYTES = 200 };

struct world {
    uint64_t seed;
    uint64_t now_us;
    struct random random; /* For events of the run; its setup has another generator. */
    struct world_entry *queue;
    size_t count, capacity;
    uint64_t next_number;
    uint64_t handled;
    bool failed;
    bool verbose;
    bool shows_frames;
    char failure[256];
    char trace[WORLD_TRACE_LINES][WORLD_TRACE_BYTES]; /* The last lines, in a ring. */
    uint64_t trace_count;
};

void world_init(struct world *world, uint64_t seed, bool verbose);
void world_free(struct world *world);

void world_at(struct world *world, uint64_t at_us, world_call call, void *target, uint64_t a,
              uint64_t b, void *data);
void world_after(struct world *world, uint64_t delay_us, world_call call, void *target, uint64_t a,
                 uint64_t b, void *data);
/* Calls the next entry if it is due by `until_us`. False: there is none, and the time is now
 * `until_us`. Time never decreases. */
bool world_step(struct world *world, uint64_t until_us);

uint64_t world_ms(const struct world *world);
uint64_t world_below(struct world *world, uint64_t limit);
uint64_t world_between(struct world *world, uint64_t low, uint64_t high); /* Both included. */
bool world_chance(struct world *world, uint32_t per_mille);

/* Adds a line to the trace, which keeps the last WORLD_TRACE_LINES; printed as well when
 * verbose. */
void world_log(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Records that an invariant is broken. Only the first failure is kept. */
void world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void world_print_trace(const struct world *world);

#endif
