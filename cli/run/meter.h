/*
 * cli/run/meter.h: measures a run from outside: collects the losses of its steps from the ps, or in
 * one process from the trainer, and writes curves and events to the run's folder
 * (agent/observe/metrics_file.h), and the same for TensorBoard (agent/observe/summaries.h).
 *
 * Nothing waits for it: an agent that is slow or gone costs points, not steps.
 *
 * Threads: the main thread. Blocking: on the disk. A disk that refuses the metrics is logged once.
 */
#ifndef CLI_RUN_METER_H
#define CLI_RUN_METER_H

#include "agent/agent.h"
#include "agent/observe/curve.h"
#include "agent/observe/metrics_file.h"
#include "agent/observe/step_poller.h"
#include "agent/observe/summaries.h"
#include "cli/run/time_shares.h"
#include "common/cluster/variables.h"

struct meter {
    const char *dir; /* The run's folder. Borrowed. NULL: nothing is measured. */
    uint32_t ps_count;
    struct curve *curve; /* Owned. NULL: out of memory, and nothing is measured. */
    double *losses;      /* [LOSSES_MAX] The newest answer of a ps. Owned. */
    struct metrics_file file;
    struct summaries summaries;
    struct time_shares times;
    json_t *changes;     /* Changed keys, to be written when training continues; or NULL. Owned. */
    uint64_t generation; /* That of the curve; 0: none yet. */
    bool over;           /* The run has ended. */
    bool pausing;        /* Training stands still ... */
    uint64_t paused_at_ms, paused_ms; /* ... since then; before that for so long. */
};

void meter_open(struct meter *meter, const char *dir, const struct job *job,
                const struct variable_table *variables);

/* Collects the last answers from `steps`, which may be NULL. */
void meter_close(struct meter *meter, struct step_poller *steps);

/* The run continues as `after`, and was `before`: the keys that differ are recorded. */
void meter_change(struct meter *meter, const struct job *before, const struct job *after);

/* Pass AGENT_RUN and AGENT_TICK, before `steps` is closed or replaced. It may be NULL. */
void meter_handle(struct meter *meter, const struct agent_event *event, struct step_poller *steps);

/* The run's next entry of the history. */
void meter_note(struct meter *meter, const struct history_entry *entry);

/* A run in one process: training begins or continues; a step was done. */
void meter_loaded(struct meter *meter, const struct run *run);
void meter_step(struct meter *meter, uint64_t step, double loss);

#endif
