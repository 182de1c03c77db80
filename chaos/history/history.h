/*
 * chaos/history/history.h: what happened in a round, in order, as lines of JSON in
 * DIR/history.jsonl: written while it happens (each line flushed, so that a killed harness leaves
 * all but the last), read by reports, `tanist chaos replay` and `shrink`.
 *
 * Every line has "t_ms" (since the round began, a real number) and "kind":
 *
 * - begin: version 1, command (as it was given), round, seed, plan (the whole plan), job (the
 *   whole job), program (version), started (UTC), calm (the calm run's result, with steps_per_s,
 *   digest, znodes), machine {need: true or why not}, places ["agent", "zookeeper:1", "ps:0", ...]
 * - planned: id, fault, whom, trigger {type: "time"|"step"|"phase"|"point", and of at_ms, step,
 *   phase, point, count those that matter}, for_ms, value: the schedule; read back by replay
 * - fault: id, fault, whom, targets [place], step, phase, point?, text: it was done
 * - undo: id, fault, targets, text: it was undone
 * - skipped: id, fault, whom, text: it was not done, and why
 * - place: place, state "up" | "down" | "frozen" | "thawed", pid: seen by the harness
 * - chief: place, pid, epoch, took_ms: took office, at the time that it says itself
 * - event: event (as `tanist watch -o jsonl`: an object with "event", "epoch", "task", ...), text
 * - step: step, generation, phase: sampled about 10 times a second while it can be asked
 * - resources: place, rss_kib, descriptors, threads: sampled about four times a second
 * - run: state "started" | "again" | "ended", exit (of ended): the run's own first process
 * - end: exit, result (what the run printed; null: none), seconds
 * - verdict: ok, checks [{name, ok, text}]
 *
 * Threads: one owner. Blocking: on the disk.
 */
#ifndef CHAOS_HISTORY_HISTORY_H
#define CHAOS_HISTORY_HISTORY_H

#include <jansson.h>
#include <stdint.h>

#include "chaos/plan/fault.h"
#include "common/base/error.h"

struct history_file;

/* A new file; `started_us`: CLOCK_MONOTONIC of the round's beginning. TN_EIO, TN_ENOSPC. */
MUST_CHECK enum tn_status history_file_create(const char *path, uint64_t started_us,
                                              struct history_file **out, struct error *error);
/* Append one line, "t_ms" and "kind" first; takes the reference of `object` (NULL: out of memory,
 * which is remembered as a failure). */
void history_file_add(struct history_file *file, const char *kind, json_t *object);
/* The same, at a moment that has passed: `at_us` of CLOCK_MONOTONIC. */
void history_file_add_at(struct history_file *file, uint64_t at_us, const char *kind,
                         json_t *object);
/* NULL is allowed. TN_EIO, TN_ENOSPC, TN_ENOMEM: a line could not be written. */
MUST_CHECK enum tn_status history_file_close(struct history_file *file, struct error *error);

/* All lines of a file: an array of objects, a new reference. A last line that is cut off is left
 * out. TN_ENOENT: there is no such file; TN_EIO; TN_EINVAL: it is no history; the line is named. */
MUST_CHECK enum tn_status history_read(const char *path, json_t **out, struct error *error);

/* {"id":...} of a "planned" line, and back. NULL: out of memory. TN_EINVAL: the field is named. */
json_t *injection_to_json(const struct injection *injection);
MUST_CHECK enum tn_status injection_from_json(const json_t *object, struct injection *out,
                                              struct error *error);

/* What the "planned" lines of `lines` (history_read()) say, in their order; free with
 * schedule_free(). TN_EINVAL: a line is wrong; TN_ENOMEM. */
MUST_CHECK enum tn_status history_schedule(const json_t *lines, struct schedule *out,
                                           struct error *error);

#endif
