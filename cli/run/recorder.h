/*
 * cli/run/recorder.h: keeps the record of a run in its folder (agent/observe/run_record.h) up to
 * date: at once when the phase, the chief or a task changes, otherwise every RECORDER_MS; and its
 * metrics (cli/run/metrics_collector.h).
 *
 * Threads: the main thread. Blocking: on the disk. A disk that refuses the record is logged once.
 */
#ifndef CLI_RUN_RECORDER_H
#define CLI_RUN_RECORDER_H

#include "agent/agent.h"
#include "agent/observe/run_record.h"
#include "agent/observe/step_poller.h"
#include "cli/run/metrics_collector.h"

enum { RECORDER_MS = 2000 };

struct recorder {
    const char *dir; /* Borrowed. */
    struct run_history history;
    struct metrics_collector collector;
    bool failed;            /* The failure was logged. */
    uint64_t written_at_ms; /* 0: never. */
    /* The state in the last record: */
    bool has_run;
    enum run_phase phase;
    uint64_t epoch;
    uint32_t present;
};

void recorder_open(struct recorder *recorder, const char *dir, const struct job *job,
                   const struct variable_table *variables);
void recorder_close(struct recorder *recorder, struct step_poller *steps);

/* Pass every event of the agent. `steps` may be NULL. */
void recorder_handle(struct recorder *recorder, const struct agent_event *event,
                     struct step_poller *steps);

/* For a run in one process: training begins or continues. */
void recorder_loaded(struct recorder *recorder, const struct run *run);

/* A step was done, with this loss. */
void recorder_step(struct recorder *recorder, const struct run *run, uint64_t step, double loss,
                   uint64_t now_ms);

/* `entry` has just happened. */
void recorder_note(struct recorder *recorder, const struct run *run,
                   const struct history_entry *entry, uint64_t now_ms);

#endif
