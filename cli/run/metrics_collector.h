/*
 * cli/run/metrics_collector.h: measures a run from outside: collects the losses of its steps from
 * the ps, or in one process from the trainer, and writes curves and events to the run's folder
 * (agent/observe/metrics_file.h), and the same for TensorBoard (agent/observe/summaries.h).
 *
 * Nothing waits for it: an agent that is slow or gone costs points, not steps.
 *
 * Threads: the main thread. Blocking: on the disk. A disk that refuses the metrics is logged once.
 */
#ifndef CLI_RUN_METRICS_COLLECTOR_H
#define CLI_RUN_METRICS_COLLECTOR_H

#include "agent/agent.h"
#include "agent/observe/metrics_file.h"
#include "agent/observe/step_poller.h"
#include "agent/observe/summaries.h"
#include "agent/observe/table_totals.h"
#include "agent/observe/training_curve.h"
#include "cli/run/time_shares.h"
#include "common/cluster/variables.h"

struct metrics_collector {
    const char *dir; /* The run's folder. Borrowed. NULL: nothing is measured. */
    uint32_t ps_count;
    struct training_curve *curve; /* Owned. NULL: out of memory, and nothing is measured. */
    double *losses;               /* [LOSSES_MAX] The newest answer of a ps. Owned. */
    struct metrics_file file;
    struct summaries summaries;
    struct time_shares times;
    json_t *changes;     /* Changed keys, to be written when training continues; or NULL. Owned. */
    uint64_t generation; /* The generation of the curve; 0: none yet. */
    bool over;           /* The run has ended. */
    bool has_tables;     /* The model has tables, whose rows are on ps. */
    bool asked_tables;   /* Their statistics were asked for. */
    uint64_t tables_at_ms;            /* When they were written last. */
    uint64_t point_step, tables_step; /* The last point, and the last one with statistics. */
    struct table_totals tables;
    bool pausing; /* Training is paused. */
    uint64_t paused_at_ms,
        paused_ms; /* The start of the present pause; the sum of the earlier ones. */
};

void metrics_collector_open(struct metrics_collector *collector, const char *dir,
                            const struct job *job, const struct variable_table *variables);

/* Collects the last answers from `steps`, which may be NULL. */
void metrics_collector_close(struct metrics_collector *collector, struct step_poller *steps);

/* The run continues as `after`, and was `before`: the keys that differ are recorded. */
void metrics_collector_change(struct metrics_collector *collector, const struct job *before,
                              const struct job *after);

/* Pass AGENT_RUN and AGENT_TICK, before `steps` is closed or replaced. It may be NULL. */
void metrics_collector_handle(struct metrics_collector *collector, const struct agent_event *event,
                              struct step_poller *steps);

/* The run's next entry of the history. */
void metrics_collector_note(struct metrics_collector *collector, const struct history_entry *entry);

/* A run in one process: training begins or continues; a step was done. */
void metrics_collector_loaded(struct metrics_collector *collector, const struct run *run);
void metrics_collector_step(struct metrics_collector *collector, uint64_t step, double loss);

#endif
