/*
 * chaos/striker.h: carries a schedule out: begins each fault when it is due, ends it when its time
 * is over, and writes both down. What cannot be done is tried again for a while, then skipped,
 * which is written down as well.
 *
 * Threads: the main thread. Blocking: as the injectors do.
 */
#ifndef CHAOS_STRIKER_H
#define CHAOS_STRIKER_H

#include "chaos/arena.h"
#include "chaos/history.h"
#include "chaos/probe.h"
#include "chaos/watcher.h"

struct striker;

struct striker_config {
    struct arena *arena;
    struct watcher *watcher;
    struct history_file *history;
    const struct schedule *schedule;
    const struct probe *probe;
    /* Told what is done, for people; may be NULL. */
    void (*say)(void *ctx, const char *text);
    void *ctx;
};

/* Borrows all of it. NULL: out of memory. */
struct striker *striker_create(const struct striker_config *config);
/* After striker_finish(), or before anything was begun: it ends nothing. NULL is allowed. */
void striker_destroy(struct striker *striker);

/* Do what is due at `now_ms` (monotonic). */
void striker_step(struct striker *striker, uint64_t now_ms);

/* The run is over: end what lasts, skip what never was due. */
void striker_finish(struct striker *striker);

struct striker_counts {
    uint32_t done, skipped, waiting, lasting;
    uint64_t busy_until_ms; /* Latest end of a lasting fault; 0: none lasts. */
};
struct striker_counts striker_counts(const struct striker *striker);

#endif
