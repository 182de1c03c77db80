/*
 * chaos/judge/verdict_checks.h: the checks of chaos/judge/verdict.h, one function each. A check
 * appends {"name", "ok", "text"} to `checks`; the text states the values that were compared.
 * Missing evidence fails the check.
 *
 * Threads: any. Blocking: none, unless stated.
 */
#ifndef CHAOS_JUDGE_VERDICT_CHECKS_H
#define CHAOS_JUDGE_VERDICT_CHECKS_H

#include <jansson.h>

#include "checker/judge.h"
#include "common/cluster/znodes.h"
#include "common/job/job.h"

/* ---------------------------------------------- chaos/judge/verdict_checks.c */

void verdict_add(json_t *checks, const char *name, bool ok, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A failed check whose text is that of `error`. */
void verdict_add_error(json_t *checks, const char *name, const struct error *error);

/* {"ok", "checks"}, where "ok" means that every check passed. Takes the reference of `checks`.
 * NULL: out of memory. */
json_t *verdict_of_checks(json_t *checks);

/* The failed checks of a verdict, "digest: ...; orders: ..."; "" if all passed. Truncated to
 * `size`. */
void verdict_list_failed(const json_t *verdict, char *text, size_t size);

/* ---------------------------------------------- chaos/judge/verdict_results.c: pure */

/* "ended": the exit code is 0 and the result has the status "done". */
void verdict_check_ended(json_t *checks, int exit_code, const json_t *result);
/* "digest" of a sync run: equal to that of the baseline run. "accuracy" of an async run: within
 * 0.01 of it. */
void verdict_check_result(json_t *checks, enum train_mode mode, const json_t *baseline,
                          const json_t *result);
/* "pace": the result has each multiple of `evaluate.every_steps` once and in order; and "orders"
 * checks that every checkpoint was committed or skipped. After a wipe of ZooKeeper evaluations that
 * were not read before may be missing. */
void verdict_check_pace(json_t *checks, const struct job *job, const json_t *result, bool wiped);
/* "orders": no rule of the protocol is broken. `ensembles`: how many the transactions are of. */
void verdict_check_orders(json_t *checks, const struct judgement *judgement, uint32_t ensembles);
/* "checkpoints": `verified` is the output of `tanist checkpoints verify -o json`; no more
 * checkpoints are damaged than faults in `history` damaged. */
void verdict_check_checkpoints(json_t *checks, const json_t *verified, const json_t *history);
/* "znodes": each kind that can grow is within its bound, the others are those of the baseline
 * run. */
void verdict_check_znodes(json_t *checks, const struct judgement *judgement, const struct job *job,
                          const json_t *baseline, uint64_t unloadable);

/* ---------------------------------------------- chaos/judge/verdict_history.c: pure */

/*
 * "recovery": while no fault is active, training never stands still for longer than the bound, and
 * every lasting fault was undone. A fault, and an absence of the run's first process, restart the
 * measurement.
 */
void verdict_check_recovery(json_t *checks, const json_t *history, uint64_t within_ms);

/*
 * "faults": at least one fault was injected. A round in which none was passes only if this machine
 * lacks what all of them need, and `allowed_skips`, a set of `enum need`, has all of that.
 */
void verdict_check_faults(json_t *checks, const json_t *history, unsigned allowed_skips);

/* "refusals": every mistake that must be refused (a second process for a task, another job) was. */
void verdict_check_refusals(json_t *checks, const json_t *history);

/* ---------------------------------------------- chaos/judge/verdict_usage.c: pure */

/* "memory", "descriptors", "threads": each task's last process compared with its first one that
 * was sampled during training, and with its role in the baseline run. */
void verdict_check_resources(json_t *checks, const json_t *history);

/* {"memory": {role: MiB}, "descriptors": {role: number}, "threads": {role: number}}, the largest
 * samples of each role in a history. A new reference; NULL: out of memory. */
json_t *verdict_most_used(const json_t *history);

/* ---------------------------------------------- chaos/judge/verdict_folder.c: reads files */

/* "disk": no more checkpoints than `keep` allows, and no abandoned partial files. */
void verdict_check_disk(json_t *checks, const char *run_dir, uint32_t keep, uint64_t unloadable);
/* "nothing-left" (I11): no process with the mark, no socket in the run's folder, no mount below
 * `dir`. Retries for up to `patience_ms`. */
void verdict_check_nothing_left(json_t *checks, const char *mark, const char *dir,
                                const char *run_dir, uint64_t patience_ms);

/* ---------------------------------------------- chaos/judge/verdict_logs.c: reads files */

/* "crashes": no process ended by a signal that the harness does not send, failed an assertion or
 * was reported by a sanitizer. Restarts would hide all of these. */
void verdict_check_crashes(json_t *checks, const char *run_log, const char *run_dir);
/* "exits": each exit code of a node that the agent logged has a cause among the faults in
 * `history`. Restarts would hide the others. */
void verdict_check_exits(json_t *checks, const char *run_log, const json_t *history);

/* How many checkpoints of the round could not be loaded, at most. */
uint64_t verdict_count_unloadable(const json_t *history);

#endif
