/*
 * agent/observe/run_record.h: the last known state and the history of a run, in its folder, so that
 * they can be read after the run has ended and its ZooKeeper with it.
 *
 *   DIR/record.json     the state: /run, the chief, the members, the step; replaced as a whole
 *   DIR/history.jsonl   one event a line, as in /history; rotated, so that the newest remain
 *
 * A kill of the agent leaves the last complete state. They are not synced: after a loss of power,
 * checkpoints and ZooKeeper count, not the record.
 *
 * Threads: the owner's. Blocking: on the disk.
 */
#ifndef AGENT_OBSERVE_RUN_RECORD_H
#define AGENT_OBSERVE_RUN_RECORD_H

#include "agent/observe/observer.h"
#include "common/base/error.h"
#include "common/base/log_file.h"

/* The state of a run at the time `wall_ms`. */
struct run_record {
    uint64_t wall_ms;
    uint64_t step;
    bool has_run, has_chief;
    struct run run;
    struct chief_record chief;
    uint32_t member_count;
    struct member members[TASKS_MAX]; /* Tasks that were present. */
};

/* Replace the record of `dir` by the state that the observer has now. TN_EIO, TN_ENOMEM. */
MUST_CHECK enum tn_status run_record_write(const char *dir, const struct observer *observer,
                                           uint64_t step, struct error *error);

/* Replace the record of a run in one process, which has no members or chief. TN_EIO, TN_ENOMEM. */
MUST_CHECK enum tn_status run_record_write_run(const char *dir, const struct run *run,
                                               uint64_t step, struct error *error);

/* TN_ENOENT: `dir` has no record; TN_EIO, TN_ECORRUPT. */
MUST_CHECK enum tn_status run_record_read(const char *dir, struct run_record *out,
                                          struct error *error);

/* Appends to the history. All zero: closed. */
struct run_history {
    bool open;
    struct log_file file;
    uint64_t folder; /* Identifies the /history of the last line; 0: the file is empty. */
    int64_t number;  /* The number of its entry in that /history. */
};

/* Open the history of `dir` to continue it. TN_EINVAL, TN_EIO, TN_ENOSPC. */
MUST_CHECK enum tn_status run_history_open(struct run_history *history, const char *dir,
                                           struct error *error);

/* Append the entry that the observer has just reported, unless it is in the file already. False: it
 * is. */
bool run_history_add(struct run_history *history, const struct observer *observer);

/* Append an entry of a run in one process, after those in the file. */
void run_history_append(struct run_history *history, const struct history_entry *entry);

void run_history_close(struct run_history *history);

/* Call `entry` for each recorded event, the oldest first. Lines that cannot be read are left out.
 * TN_EIO, TN_EINVAL. */
MUST_CHECK enum tn_status run_history_read(const char *dir,
                                           void (*entry)(void *ctx,
                                                         const struct history_entry *entry),
                                           void *ctx, struct error *error);

#endif
