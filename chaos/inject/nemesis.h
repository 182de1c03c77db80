/*
 * chaos/inject/nemesis.h: carries out a schedule: begins each fault when it is due, ends it when
 * its time is over, and writes both into the history. A fault that cannot be injected is tried
 * again for a while, then skipped; that is in the history as well.
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
    /* Gets a line of text for each fault that begins, ends or is skipped; may be NULL. */
    void (*report)(void *ctx, const char *text);
    void *ctx;
};

/* Borrows everything in `config`. NULL: out of memory. */
struct nemesis *nemesis_create(const struct nemesis_config *config);
/* Ends no fault: call nemesis_finish() before. NULL is allowed. */
void nemesis_destroy(struct nemesis *nemesis);

/* Begin and end the faults that are due at `now_ms` (monotonic). */
void nemesis_step(struct nemesis *nemesis, uint64_t now_ms);

/* End active faults, and skip those that were never due, for `reason`. */
void nemesis_finish(struct nemesis *nemesis, const char *reason);

struct nemesis_counts {
    uint32_t done, skipped, waiting, active; /* An active fault is done, too. */
};
struct nemesis_counts nemesis_counts(const struct nemesis *nemesis);

#endif
