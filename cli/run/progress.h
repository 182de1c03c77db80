/*
 * cli/run/progress.h: the progress of a run on stderr: events as they happen, a line of progress
 * every 2 s (without a terminal every minute), and every wait of more than 3 s with its reason and
 * its duration. Committed and skipped checkpoints, of which a fast run has hundreds a second, get a
 * line at the first and then one line per interval with their number. In a JSON log, all of them
 * are entries of level info.
 *
 * Threads: the owner's.
 */
#ifndef CLI_RUN_PROGRESS_H
#define CLI_RUN_PROGRESS_H

#include "agent/agent.h"
#include "agent/observe/step_poller.h"

enum { PROGRESS_TERMINAL_MS = 2000, PROGRESS_LOG_MS = 60000 };

/* Events of one kind that share lines. */
struct progress_group {
    uint64_t count, line_ms;   /* Since the last line about them; when that was, 0: never. */
    struct history_entry last; /* With a count. */
};

struct progress {
    const struct job *job;
    struct step_poller *steps; /* Borrowed. NULL: the steps of the ps are unknown. */
    bool quiet;
    uint64_t line_ms; /* Between two lines of progress: PROGRESS_TERMINAL_MS or PROGRESS_LOG_MS. */
    uint64_t started_ms, line_at_ms, waiting_since_ms;
    uint64_t waiting_line_ms; /* The last line of this wait; 0: none. */
    uint64_t rate_step, rate_at_ms;
    struct progress_group committed, skipped; /* Checkpoints. */
    bool have_phase, waits;
    enum run_phase phase;
};

/* For a terminal; `line_ms` may be changed. */
void progress_init(struct progress *progress, const struct job *job, uint64_t now_ms);
void progress_handle(struct progress *progress, const struct agent_event *event);

/* A new entry of the history. */
void progress_history(struct progress *progress, const struct history_entry *entry,
                      uint64_t now_ms);

/* A run in one process has done `step`. Call it after each one. */
void progress_step(struct progress *progress, const struct run *run, uint64_t step,
                   uint64_t now_ms);

/* Print one line with the time since the start. */
void progress_print(const struct progress *progress, uint64_t now_ms, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
