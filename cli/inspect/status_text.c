/* cli/inspect/status_text.c: the result of `tanist status` for people: lines, and tables of tasks
 * and of ZooKeeper servers. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/observe/event_text.h"
#include "cli/cluster_read.h"
#include "cli/inspect/rate_changes.h"
#include "cli/inspect/status_view.h"
#include "cli/table.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/job/strategy.h"

static void print_problem(const struct status_task *state)
{
    char task[TASK_NAME_MAX];
    if (!state->present || !*state->member.problem) { return; }
    task_format(state->task, ':', task, sizeof task);
    printf("problem: %s: %s\n", task, state->member.problem);
}

static void print_head(const struct status_view *view)
{
    const struct run *run = &view->run;
    char task[TASK_NAME_MAX], age[32], time[TIME_TEXT_MAX];
    if (view->recorded_wall_ms != 0) {
        clock_format(view->recorded_wall_ms, time);
        printf("record of %s, read from the folder of the run\n", time);
    }
    printf("%s: %s (%s), step %" PRIu64 " of %" PRIu64 ", generation %" PRIu64 ", epoch %" PRIu64
           "\n",
           view->target.cluster, status_phase(view), cluster_mode_name(&view->job), view->step,
           view->job.train.steps, run->generation, status_epoch(view));
    if (*run->reason) { printf("reason: %s\n", run->reason); }
    held_shards_print(&view->held);
    spare_hosts_print(&view->spares);
    for (uint32_t i = 0; i < view->count; i++) { print_problem(&view->tasks[i]); }
    if (status_has_chief(view)) {
        const bool recorded = view->recorded_wall_ms != 0;
        const uint64_t now_ms = recorded ? view->recorded_wall_ms : clock_wall_ms();
        task_format(view->chief.task, ':', task, sizeof task);
        event_text_duration(now_ms - u64_min(now_ms, view->chief.since_wall_ms), age, sizeof age);
        printf("chief: %s (pid %" PRIu64 ") for %s\n", task, view->chief.pid, age);
    } else if (view->count > 0) {
        printf("chief: none\n");
    }
    if (run->committed_checkpoint != 0) {
        printf("checkpoint: %" PRIu64 " of step %" PRIu64 "\n", run->committed_checkpoint,
               run->committed_step);
    } else {
        printf("checkpoint: none yet\n");
    }
    if (run->skipped_checkpoints != 0) {
        printf("skipped checkpoints: %" PRIu64 " (the disk could not follow; see the history)\n",
               run->skipped_checkpoints);
    }
    rate_changes_print(&view->job, view->step);
    if (inputs_have_data(&run->inputs)) {
        char digest[33];
        event_text_digest(run->inputs.data, digest);
        printf("data: %s\n", digest);
    }
    if (*run->inputs.fingerprint) { printf("kernels: %s\n", run->inputs.fingerprint); }
}

/* The way of frames between a ps and its workers. */
static const char *lane_name(const struct status_task *state)
{
    if (state->by_shm > 0) { return state->by_tcp > 0 ? "shm+tcp" : "shm"; }
    return state->by_tcp > 0 ? "tcp" : "-";
}

static void print_group(struct table *table, struct task task, uint32_t members)
{
    assert(members > 1);
    if (task.role != ROLE_WORKER) {
        table_cell(table, "-");
        return;
    }
    table_cell(table, "%" PRIu32 ", member %" PRIu32, task.index / members, task.index % members);
}

static bool print_tasks(const struct status_view *view)
{
    static const struct table_column all[] = {
        {"TASK", TABLE_LEFT},  {"STATE", TABLE_LEFT},   {"PID", TABLE_RIGHT},
        {"STEP", TABLE_RIGHT}, {"SLICES", TABLE_RIGHT}, {"LANE", TABLE_LEFT},
        {"HOST", TABLE_LEFT},  {"ADDRESS", TABLE_LEFT},
    };
    enum { ALWAYS = sizeof all / sizeof *all };
    struct table_column columns[ALWAYS + 3];
    struct table table;
    const uint32_t members = strategy_members(&view->job);
    const bool has_gpus = job_has_gpus(&view->job) || job_ps_has_gpu(&view->job);
    const bool has_threads = job_worker_threads(&view->job) > 1;
    size_t count = ALWAYS;
    memcpy(columns, all, sizeof all);
    if (has_gpus) { columns[count++] = (struct table_column){"GPUS", TABLE_RIGHT}; }
    if (has_threads) { columns[count++] = (struct table_column){"THREADS", TABLE_RIGHT}; }
    if (members > 1) { columns[count++] = (struct table_column){"GROUP", TABLE_LEFT}; }
    table_init(&table, columns, count);
    for (uint32_t i = 0; i < view->count; i++) {
        const struct status_task *state = &view->tasks[i];
        char task[TASK_NAME_MAX];
        task_format(state->task, ':', task, sizeof task);
        table_cell(&table, "%s", task);
        table_cell(&table, "%s", status_task_state(view, state));
        table_number(&table, state->member.pid, state->present);
        table_number(&table, state->step, state->has_step);
        table_number(&table, state->slices, state->has_slices);
        table_cell(&table, "%s", lane_name(state));
        table_cell(&table, "%s", state->present ? state->member.host : "-");
        table_cell(&table, "%s", state->present ? state->member.address : "-");
        const uint32_t gpus = status_task_gpus(view, state);
        if (has_gpus) { table_number(&table, gpus, gpus > 0); }
        const uint32_t threads = status_task_threads(view, state);
        if (has_threads) { table_number(&table, threads, threads > 0); }
        if (members > 1) { print_group(&table, state->task, members); }
    }
    return table_print(&table, stdout);
}

static bool print_servers(const struct status_view *view)
{
    static const struct table_column columns[] = {
        {"ZOOKEEPER", TABLE_LEFT},
        {"MODE", TABLE_LEFT},
        {"PID", TABLE_RIGHT},
    };
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < view->target.server_count; i++) {
        const struct target_server *server = &view->target.servers[i];
        table_cell(&table, "%s", server->address);
        table_cell(&table, "%s", status_server_mode(server));
        table_number(&table, server->pid, server->pid != 0);
    }
    return table_print(&table, stdout);
}

int status_print_text(const struct status_view *view)
{
    print_head(view);
    if (view->count == 0) { return TN_EXIT_OK; /* The run of one process. */ }
    putchar('\n');
    bool written = print_tasks(view);
    written = table_status_print(&view->tables, &view->spec.rows) && written;
    putchar('\n');
    return print_servers(view) && written ? TN_EXIT_OK : TN_EXIT_IO;
}
