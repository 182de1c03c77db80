/* checker/checker_private.h: shared by the checker*.c files; no other file includes it. */
#ifndef CHECKER_CHECKER_PRIVATE_H
#define CHECKER_CHECKER_PRIVATE_H

#include "checker/checker.h"

/* A line of the trace. */
void checker_log(const struct checker *checker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A guarantee is broken. */
void checker_fail(const struct checker *checker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* checker_chief.c: I1. /chief was written. */
void checker_on_chief(struct checker *checker, const struct zk_change *change);

/* Where the disks can be seen: a restore is ordered; the checkpoints that must not be collected. */
void checker_check_restore(const struct checker *checker, const struct run *run);
void checker_check_kept(const struct checker *checker);

/* checker_results.c: I17. A result of the evaluator is in the history; the evaluation in `run`, a
 * new /run, is checked; a chief restored /run from what it had read last. */
void checker_on_result(struct checker *checker, const struct history_entry *entry);
void checker_restore_results(struct checker *checker, const struct run *run);
void checker_check_result(const struct checker *checker, const struct run *run);

#endif
