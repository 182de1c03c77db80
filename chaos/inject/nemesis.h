/*
 * chaos/inject/nemesis.h: carries a schedule out: begins each fault when it is due, ends it when
 * its time is over, and writes both down. What cannot be done is tried again for a while, then
 * skipped, which is written down as well.
 *
 * Threads: the main thread. Blocking: as the injectors do.
 */
#ifndef CHAOS_INJECT_NEMESIS_H
#define CHAOS_INJECT_NEMESIS_H

#include "chaos/cluster/targets.h"
#include "chaos/cluster/watcher.h"
#include "chaos/history/history.h"
#include "chaos/inject/probe.h"

struct nemesis;

struct nemesis_config {
    struct target_cluster *cluster;
    struct watcher *watcher;
    struct history_file *history;
    const struct schedule *schedule;
    const struct probe *probe;
    /* Told what is done, for people; may be NULL. */
    void (*say)(void *ctx, const char *text);
    void *ctx;
};

/* Borrows all of it. NULL: out of memory. */
struct nemesis *nemesis_create(const struct nemesis_config *config);
/* After nemesis_finish(), or before anything was begun: it ends nothing. NULL is allowed. */
void nemesis_destroy(struct nemesis *nemesis);

/* Do what is due at `now_ms` (monotonic). */
void nemesis_step(struct nemesis *nemesis, uint64_t now_ms);

/* The run is over: end what lasts, skip what never was due. */
void nemesis_finish(struct nemesis *nemesis);

struct nemesis_counts {
    uint32_t done, skipped, waiting, lasting;
    uint64_t busy_until_ms; /* Latest end of a lasting fault; 0: none lasts. */
};
struct nemesis_counts nemesis_counts(const struct nemesis *nemesis);

#endif
