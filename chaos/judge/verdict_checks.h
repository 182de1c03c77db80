/*
 * chaos/judge/verdict_checks.h: the checks of chaos/judge/verdict.h, one by one. Each appends
 * {"name", "ok", "text"} to `checks`, with what it compared; what is missing is a check that
 * failed.
 *
 * Threads: any, but where it says otherwise.
 */
#ifndef CHAOS_JUDGE_VERDICT_CHECKS_H
#define CHAOS_JUDGE_VERDICT_CHECKS_H

#include <jansson.h>

#include "checker/judge.h"
#include "common/cluster/job.h"
#include "common/cluster/znodes.h"

void verdict_add(json_t *checks, const char *name, bool ok, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, with what `error` says. */
void verdict_add_error(json_t *checks, const char *name, const struct error *error);

/* ----------------------------------------- chaos/judge/verdict_results.c: pure */

/* The checks of a verdict that failed, in words: "epochs: ...; recovery: ..."; "": none. */
void verdict_list_broken(const json_t *verdict, char *text, size_t size);

/* "ended": the run's exit code, and the status in its result. */
void verdict_check_ended(json_t *checks, int exit_code, const json_t *result);
/* "digest" of a sync run: the same as the calm one's; "accuracy" of an async one: within 0.01. */
void verdict_check_result(json_t *checks, enum train_mode mode, const json_t *calm,
                          const json_t *result);
void verdict_check_orders(json_t *checks, const struct judgement *judgement, uint32_t lives);
/* "checkpoints": `verified` is what `tanist checkpoints verify -o json` printed, `history` tells
 * how many may be damaged. */
void verdict_check_checkpoints(json_t *checks, const json_t *verified, const json_t *history);
/* "znodes": what can grow is within its own bound, the others are those of the calm run. */
void verdict_check_znodes(json_t *checks, const struct judgement *judgement, const struct job *job,
                          const json_t *calm);

/* ----------------------------------------- chaos/judge/verdict_history.c: pure */

/*
 * "recovery": while no fault is under way, training never stands still for longer than the bound;
 * and each fault that lasts was undone. A fault, and the run's own absence, begin the count anew.
 */
void verdict_check_recovery(json_t *checks, const json_t *history, uint64_t within_ms);

/* "refusals": whatever must be refused (a second holder of a task, another job) was. */
void verdict_check_refusals(json_t *checks, const json_t *history);

/* ----------------------------------------- chaos/judge/verdict_usage.c: pure */

/* "memory", "descriptors", "threads": each place at the end of the round against itself in its
 * first life, once training had begun. */
void verdict_check_resources(json_t *checks, const json_t *history);

/* ------------------ chaos/judge/verdict_folder.c: reads folders and /proc */

/* "disk": no more checkpoints than are to be kept, nothing half written that should be gone. */
void verdict_check_disk(json_t *checks, const char *run_dir, uint32_t keep);
/* "nothing-left": no process with the mark, no socket in the run's folder, no mount below `dir`.
 * Looks again for up to `patience_ms`. */
void verdict_check_nothing_left(json_t *checks, const char *mark, const char *dir,
                                const char *run_dir, uint64_t patience_ms);

/* ----------------------------------------- chaos/judge/verdict_logs.c: reads logs */

/* "crashes": no process of the run ended by a signal that nobody sent, failed an assertion, or has
 * something to say of a sanitizer. A restart would heal it, and nobody would know. */
void verdict_check_crashes(json_t *checks, const char *run_log, const char *run_dir);

#endif
