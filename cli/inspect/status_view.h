/*
 * cli/inspect/status_view.h: the state of a cluster that `tanist status` shows: as its znodes and
 * its nodes give it now, or as the folder of a run that is not active has recorded it.
 *
 * Threads: the main thread. Blocking: on ZooKeeper, on nodes that do not answer for 300 ms, and on
 * the disk.
 */
#ifndef CLI_INSPECT_STATUS_VIEW_H
#define CLI_INSPECT_STATUS_VIEW_H

#include "cli/inspect/held_shards.h"
#include "cli/inspect/spare_hosts.h"
#include "cli/inspect/table_status.h"
#include "cli/target.h"
#include "common/cluster/znodes.h"
#include "common/job/job.h"

/* A task of the job, and the node that holds it. */
struct status_task {
    struct task task;
    bool present, has_step, has_slices, late;
    struct member member;    /* If present. */
    uint64_t step;           /* If has_step; only a ps has one. */
    uint32_t by_shm, by_tcp; /* Its connections with workers, through shared memory and over TCP. */
    uint64_t slices;         /* If has_slices: the number that a worker owns. */
};

struct status_view {
    struct target target;
    struct spec spec;
    struct job job;
    bool has_run, has_chief;
    struct run run;
    struct held_shards held;
    struct spare_hosts spares;
    struct chief_record chief; /* The chief record; its node may be dead by now. */
    uint32_t count;
    struct status_task tasks[TASKS_MAX];
    uint64_t step; /* The least step of all ps; without an answer the last recorded one. */
    struct table_totals tables;
    uint64_t recorded_wall_ms; /* 0: this is the present state; else that of the record. */
};

/* Read the cluster of `view->target`, which target_find() has set; the rest of `view` is zero.
 * Free `view->tables` afterwards, also after an error: those of target_open() and zk_sync. */
MUST_CHECK enum tn_status status_view_read(struct status_view *view, struct error *error);

/* Read the record in the folder of a run instead, after `status`: recorded_read(). */
MUST_CHECK enum tn_status status_view_record(struct status_view *view,
                                             const struct target_options *given,
                                             enum tn_status status, struct error *error);

/* The names for people and programs of the phase, of the state of a task ("up", "missing"), and of
 * the mode of a ZooKeeper server, which is asked. Static storage. */
const char *status_phase(const struct status_view *view);
const char *status_task_state(const struct status_view *view, const struct status_task *state);
const char *status_server_mode(const struct target_server *server);

/* The epoch of the chief, or of the orders in a run without one, such as a run in one process. */
uint64_t status_epoch(const struct status_view *view);

/* The node of the chief record still holds its task. */
bool status_has_chief(const struct status_view *view);

/* How many GPUs the task computes with, as the job gives it; 0: it computes on CPUs. */
uint32_t status_task_gpus(const struct status_view *view, const struct status_task *state);
/* On how many threads the task computes, as the job gives it; 0: it is not a worker, or on one. */
uint32_t status_task_threads(const struct status_view *view, const struct status_task *state);

/* Print the view on stdout. Both ask the ZooKeeper servers. They return the exit code. */
int status_print_json(const struct status_view *view);
int status_print_text(const struct status_view *view);

#endif
