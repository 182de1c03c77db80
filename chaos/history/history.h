/*
 * chaos/history/history.h: the history of a round: what happened, in order, as lines of JSON in
 * DIR/history.jsonl. Lines are written and flushed as things happen, so that a killed harness loses
 * at most the last one. Reports, `tanist chaos replay` and `shrink` read them.
 *
 * Every line has "t_ms" (a real number, since the round began) and "kind":
 *
 * - begin: version 2, command (of the user), round, seed, plan (all of it), job (all of it),
 *   program (version), started (UTC), "baseline" (the result of the baseline run, with steps_per_s,
 *   digest, znodes, used {memory, descriptors, threads: {role: MiB or number}}), machine {need:
 * true or why not}, components
 *   ["agent", "zookeeper:1", "ps:0", ...]
 * - planned: id, fault, "selector", trigger {type: "time"|"step"|"phase"|"point", and the members
 * of that type among at_ms, step, phase, point, count}, for_ms, value: the schedule, for replay
 * - fault: id, fault, "selector", targets [component], step, phase, point?, text: a fault was
 * injected
 * - undo: id, fault, targets, text: it was undone
 * - skipped: id, fault, "selector", lacks?, text: it was not injected; the text has the reason,
 * "lacks" the need of the fault that this machine does not satisfy
 * - component: component, state "up" | "down" | "frozen" | "thawed", pid: seen by the harness
 * - chief: component, pid, epoch, took_ms: it became chief; the line has the time of its own record
 * - event: event (as in `tanist watch -o jsonl`: an object with "event", "epoch", "task", ...),
 * text
 * - step: step, generation, phase: sampled about 10 times a second while ZooKeeper answers
 * - resources: component, rss_kib, descriptors, threads: sampled about four times a second
 * - run: state "started" | "again" | "ended", exit (if ended): the first process of the run
 * - end: exit, result (the output of the run; null: none), seconds
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

/* Create the file; `started_us` is CLOCK_MONOTONIC at the begin of the round. TN_EIO, TN_ENOSPC,
 * TN_ENOMEM. */
MUST_CHECK enum tn_status history_file_create(const char *path, uint64_t started_us,
                                              struct history_file **out, struct error *error);
/* Append one line: "t_ms", "kind", and the members of `object`. Takes the reference of `object`;
 * NULL is remembered as out of memory. */
void history_file_add(struct history_file *file, const char *kind, json_t *object);
/* Append a line for an earlier moment: `at_us` of CLOCK_MONOTONIC. */
void history_file_add_at(struct history_file *file, uint64_t at_us, const char *kind,
                         json_t *object);
/* NULL is allowed. TN_EIO, TN_ENOSPC, TN_ENOMEM: a line could not be written; the file is named. */
MUST_CHECK enum tn_status history_file_close(struct history_file *file, struct error *error);

/*
 * All lines of a file: an array of objects, a new reference. A last line that is cut off is
 * ignored.
 *
 *   TN_ENOENT  the file does not exist
 *   TN_EINVAL  it is not a history; the error names the line
 *   TN_EIO, TN_ENOMEM
 */
MUST_CHECK enum tn_status history_read(const char *path, json_t **out, struct error *error);

/* The members of a "planned" line, and back. NULL: out of memory. TN_EINVAL: a member is missing or
 * wrong; the error names it. */
json_t *injection_to_json(const struct injection *injection);
MUST_CHECK enum tn_status injection_from_json(const json_t *object, struct injection *out,
                                              struct error *error);

/* The schedule in the "planned" lines of `lines` (history_read()); free with schedule_free().
 * TN_EINVAL: a line is wrong; TN_ENOMEM. */
MUST_CHECK enum tn_status history_schedule(const json_t *lines, struct schedule *out,
                                           struct error *error);

#endif
