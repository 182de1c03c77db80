/*
 * cli/run/progress.h: what a run says while it goes on, on stderr: what happens as it happens, a
 * line of progress every 2 s, and every wait of more than 3 s with what is waited for and since
 * when.
 *
 * Threads: the owner's.
 */
#ifndef CLI_RUN_PROGRESS_H
#define CLI_RUN_PROGRESS_H

#include "agent/agent.h"
#include "agent/observe/step_poller.h"

struct progress {
    const struct job *job;
    struct step_poller *steps; /* NULL: not known how far the ps are. Borrowed. */
    bool quiet;
    uint64_t started_ms, line_at_ms, waiting_since_ms;
    uint64_t rate_step, rate_at_ms;
    bool have_phase;
    enum run_phase phase;
};

void progress_init(struct progress *progress, const struct job *job, uint64_t now_ms);
void progress_tell(struct progress *progress, const struct agent_event *event);

/* Print one line with the time since the start. */
void progress_say(const struct progress *progress, uint64_t now_ms, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
