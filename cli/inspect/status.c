/* cli/inspect/status.c: `tanist status`: the present state of a cluster. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/ensemble/ensemble.h"
#include "agent/observe/event_text.h"
#include "agent/observe/step_poller.h"
#include "cli/cluster_read.h"
#include "cli/commands.h"
#include "cli/inspect/held_shards.h"
#include "cli/inspect/rate_changes.h"
#include "cli/inspect/recorded.h"
#include "cli/inspect/spare_hosts.h"
#include "cli/inspect/table_status.h"
#include "cli/output.h"
#include "cli/run_folder.h"
#include "cli/table.h"
#include "cli/target.h"
#include "common/base/clock.h"
#include "common/base/json_codec.h"
#include "common/base/minmax.h"
#include "common/job/strategy.h"

enum { PROBE_MS = 500, STEPS_MS = 300, POLL_MS = 2 };

/* A task of the job, and the node that holds it. */
struct task_state {
    struct task task;
    bool present, has_step, has_slices, late;
    struct member member;    /* If present. */
    uint64_t step;           /* If has_step; only a ps has one. */
    uint32_t by_shm, by_tcp; /* Likewise: its connections with workers. */
    uint64_t slices;         /* If has_slices: the number that a worker owns. */
};

struct view {
    struct target target;
    struct spec spec;
    struct job job;
    bool has_run, has_chief;
    struct run run;
    struct held_shards held;
    struct spare_hosts spares;
    struct chief_record chief; /* The chief record; its node may be dead by now. */
    uint32_t count;
    struct task_state tasks[TASKS_MAX];
    uint64_t step; /* The least step of all ps; without an answer the last recorded one. */
    struct table_totals tables;
    uint64_t recorded_wall_ms; /* 0: this is the present state; else that of the record. */
};

/* ------------------------------------------------------------- reading */

/* A znode that does not exist is not an error. `*found`: it exists. */
static enum tn_status if_found(enum tn_status status, bool *found)
{
    *found = status == TN_OK;
    return status == TN_ENOENT ? TN_OK : status;
}

/* The tasks of the job, all missing. */
static void list_tasks(struct view *view, const uint32_t counts[static ROLE_COUNT])
{
    assert(view->count == 0);
    for (int role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; i < counts[role] && view->count < TASKS_MAX; i++) {
            view->tasks[view->count++].task = (struct task){.role = (enum role)role, .index = i};
        }
    }
}

static enum tn_status read_tasks(struct zk_sync *sync, struct view *view, struct error *error)
{
    enum tn_status status = TN_OK;
    const struct spec *spec = &view->spec;
    list_tasks(view, (const uint32_t[ROLE_COUNT]){spec->coordinators, spec->ps, spec->workers,
                                                  spec->evaluators});
    for (uint32_t i = 0; status == TN_OK && i < view->count; i++) {
        struct task_state *state = &view->tasks[i];
        status = if_found(
            cluster_read_member(sync, view->target.cluster, state->task, &state->member, error),
            &state->present);
    }
    return status;
}

static void read_slices(struct zk_sync *sync, struct view *view)
{
    uint32_t owned[WORKERS_MAX];
    bool late[WORKERS_MAX];
    if (cluster_read_slices(sync, view->target.cluster, owned, late, NULL) != TN_OK) { return; }
    for (struct task_state *state = view->tasks; state < view->tasks + view->count; state++) {
        state->has_slices = state->task.role == ROLE_WORKER;
        if (!state->has_slices) { continue; }
        state->slices = owned[state->task.index];
        state->late = late[state->task.index];
    }
}

static bool all_answered(struct step_poller *steps, const struct view *view)
{
    uint32_t present = 0;
    const enum role holders = role_of_holders(view->spec.ps);
    assert(steps != NULL);
    for (uint32_t i = 0; i < view->count; i++) {
        present += view->tasks[i].task.role == holders && view->tasks[i].present;
    }
    const uint32_t count = view->spec.ps > 0 ? view->spec.ps : view->spec.workers;
    return step_poller_answered(steps, count) >= present &&
           (view->spec.ps == 0 || step_poller_answered_tables(steps, count) >= present);
}

/* Ask each ps for its step and its tables. The step of the cluster is the least of them; if no ps
 * answers, it does not change. */
static void ask_steps(struct view *view)
{
    struct step_poller *steps = NULL;
    const enum role holders = role_of_holders(view->spec.ps);
    if (step_poller_open(view->spec.key, &steps, NULL) != TN_OK) { return; }
    for (uint32_t i = 0; i < view->count; i++) {
        if (view->tasks[i].task.role == holders && view->tasks[i].present) {
            step_poller_ask(steps, view->tasks[i].task.index, view->tasks[i].member.address,
                            view->tasks[i].member.incarnation);
        }
    }
    if (view->spec.ps > 0) { step_poller_ask_tables(steps); }
    uint64_t until_ms = clock_monotonic_ms() + STEPS_MS;
    while (!all_answered(steps, view) && clock_monotonic_ms() < until_ms) {
        (void)poll(NULL, 0, POLL_MS);
    }
    uint64_t least = UINT64_MAX, generation = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        struct task_state *state = &view->tasks[i];
        if (state->task.role != holders) { continue; }
        state->has_step = step_poller_get(steps, state->task.index, &generation, &state->step);
        step_poller_lanes(steps, state->task.index, &state->by_shm, &state->by_tcp);
        /* A ps that has not loaded its shard has made no step of this generation. */
        if (state->has_step && generation == view->run.generation) {
            const bool is_ps = holders == ROLE_PS; /* Else one holder is enough. */
            least = is_ps || least == UINT64_MAX ? u64_min(least, state->step)
                                                 : u64_max(least, state->step);
        }
    }
    table_totals_read(&view->tables, steps, view->spec.ps, view->run.generation);
    step_poller_close(steps);
    if (least != UINT64_MAX) { view->step = least; }
}

static enum tn_status read_view(struct view *view, struct error *error)
{
    struct zk_sync *sync = NULL;
    const char *cluster = view->target.cluster;
    enum tn_status status = target_open(&view->target, &sync, &view->spec, &view->job, error);
    if (status != TN_OK) { return status; }
    status = if_found(cluster_read_run(sync, cluster, &view->run, error), &view->has_run);
    if (status == TN_OK) {
        status = if_found(cluster_read_chief(sync, cluster, &view->chief, error), &view->has_chief);
    }
    if (status == TN_OK) { status = read_tasks(sync, view, error); }
    if (status == TN_OK) { read_slices(sync, view); }
    if (status == TN_OK) {
        held_shards_read(&view->held, sync, cluster, &view->run, view->spec.ps, &view->spec.rows);
    }
    if (status == TN_OK) { status = spare_hosts_read(&view->spares, sync, cluster, error); }
    zk_sync_close(sync);
    if (status != TN_OK) { return status; }
    if (view->has_run) { view->step = cluster_recorded_step(&view->run); }
    ask_steps(view);
    return TN_OK;
}

/* The state in the folder of a run that is not active. */
static enum tn_status view_record(struct view *view, const struct target_options *given,
                                  enum tn_status status, struct error *error)
{
    char path[RUN_PATH_MAX];
    struct run_record *record = calloc(1, sizeof *record);
    if (record == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    status = recorded_read(given, status, record, error);
    if (status == TN_OK) {
        snprintf(path, sizeof path, "%s/job.json", given->dir);
        job_init(&view->job);
        status = job_read_file(&view->job, path, error);
    }
    if (status == TN_OK) {
        view->recorded_wall_ms = record->wall_ms;
        view->has_run = record->has_run;
        view->run = record->run;
        view->held = (struct held_shards){.run = &view->run}; /* Their places are unknown. */
        view->has_chief = record->has_chief;
        view->chief = record->chief;
        view->step = record->step;
        view->count = 0;
        const struct job *job = &view->job;
        const uint32_t counts[ROLE_COUNT] = {job->cluster.coordinators, job->cluster.ps,
                                             job->cluster.workers, job->cluster.evaluators};
        if (!run_folder_is_local(given->dir)) { list_tasks(view, counts); }
        snprintf(view->target.cluster, sizeof view->target.cluster, "%s", view->job.name);
    }
    for (uint32_t i = 0; status == TN_OK && i < record->member_count; i++) {
        for (uint32_t j = 0; j < view->count; j++) {
            if (!task_equal(view->tasks[j].task, record->members[i].task)) { continue; }
            view->tasks[j].present = true;
            view->tasks[j].member = record->members[i];
        }
    }
    free(record);
    return status;
}

/* ------------------------------------------------------------- printing */

static const char *phase_of(const struct view *view)
{
    return run_phase_name(view->has_run ? view->run.phase : RUN_FORMING);
}

static bool is_chief(const struct view *view, const struct task_state *state)
{
    return view->has_chief && state->present && task_equal(view->chief.task, state->task) &&
           view->chief.incarnation == state->member.incarnation;
}

static const char *state_name(const struct view *view, const struct task_state *state)
{
    const bool unwanted = state->task.role == ROLE_WORKER && view->has_run &&
                          !run_wants_worker(&view->run, state->task.index);
    if (unwanted) { return state->present ? "leaving" : "off"; }
    if (!state->present) { return "missing"; }
    if (state->task.role != ROLE_COORDINATOR) { return state->late ? "late" : "up"; }
    return is_chief(view, state) ? "chief" : "candidate";
}

static bool chief_is_present(const struct view *view)
{
    for (uint32_t i = 0; i < view->count; i++) {
        if (is_chief(view, &view->tasks[i])) { return true; }
    }
    return false;
}

static json_t *chief_json(const struct view *view)
{
    char task[TASK_NAME_MAX], since[TIME_TEXT_MAX];
    if (!chief_is_present(view)) { return json_null(); }
    task_format(view->chief.task, ':', task, sizeof task);
    clock_format(view->chief.since_wall_ms, since);
    return json_pack("{s:s, s:I, s:s, s:s, s:s}", "task", task, "pid", (json_int_t)view->chief.pid,
                     "host", view->chief.host, "address", view->chief.address, "since", since);
}

static json_t *task_json(const struct view *view, const struct task_state *state)
{
    json_t *object = json_pack("{s:s, s:i}", "role", role_name(state->task.role), "index",
                               (int)state->task.index);
    if (object == NULL) { return NULL; }
    const struct member *member = &state->member;
    const bool known = state->present;
    json_object_set_new(object, "pid", known ? json_integer((json_int_t)member->pid) : json_null());
    json_object_set_new(object, "host", known ? json_string(member->host) : json_null());
    json_object_set_new(object, "address", known ? json_string(member->address) : json_null());
    json_object_set_new(object, "state", json_string(state_name(view, state)));
    json_object_set_new(object, "incarnation",
                        known ? json_integer((json_int_t)member->incarnation) : json_null());
    if (known && *member->problem) {
        json_object_set_new(object, "problem", json_string(member->problem));
    }
    json_object_set_new(object, "step",
                        state->has_step ? json_integer((json_int_t)state->step) : json_null());
    json_object_set_new(object, "lanes",
                        state->has_step ? json_pack("{s:i, s:i}", "shm", (int)state->by_shm, "tcp",
                                                    (int)state->by_tcp)
                                        : json_null());
    const uint32_t members = strategy_members(&view->job);
    if (members > 1 && state->task.role == ROLE_WORKER) {
        json_object_set_new(object, "group", json_integer(state->task.index / members));
        json_object_set_new(object, "member", json_integer(state->task.index % members));
    }
    json_object_set_new(object, "slices",
                        state->has_slices ? json_integer((json_int_t)state->slices) : json_null());
    return object;
}

static const char *server_mode(const struct target_server *server)
{
    return ensemble_probe_text(server->address, PROBE_MS);
}

static json_t *servers_json(const struct view *view)
{
    json_t *list = json_array();
    for (size_t i = 0; i < view->target.server_count; i++) {
        const struct target_server *server = &view->target.servers[i];
        json_t *pid = server->pid ? json_integer((json_int_t)server->pid) : json_null();
        json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "address", server->address, "pid",
                                              pid, "mode", server_mode(server)));
    }
    return list;
}

static void add_inputs(json_t *root, const struct inputs *inputs)
{
    char digest[33];
    event_text_digest(inputs->data, digest);
    json_object_set_new(root, "fingerprint",
                        *inputs->fingerprint ? json_text(inputs->fingerprint) : json_null());
    json_object_set_new(root, "data_digest",
                        inputs_have_data(inputs) ? json_string(digest) : json_null());
}

static int print_json(const struct view *view)
{
    const struct run *run = &view->run;
    json_t *tasks = json_array();
    for (uint32_t i = 0; i < view->count; i++) {
        json_array_append_new(tasks, task_json(view, &view->tasks[i]));
    }
    json_t *root =
        json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:{s:I, s:I}, s:{s:o}}", "version",
                  1, "cluster", view->target.cluster, "phase", phase_of(view), "mode",
                  cluster_mode_name(&view->job), "generation", (json_int_t)run->generation, "epoch",
                  (json_int_t)(view->has_chief ? view->chief.epoch : run->epoch), "step",
                  (json_int_t)view->step, "chief", chief_json(view), "tasks", tasks, "checkpoint",
                  "id", (json_int_t)run->committed_checkpoint, "step",
                  (json_int_t)run->committed_step, "zookeeper", "servers", servers_json(view));
    json_object_set_new(root, "skipped_checkpoints",
                        json_integer((json_int_t)run->skipped_checkpoints));
    rate_changes_add(root, &view->job, view->step);
    add_inputs(root, &run->inputs);
    json_object_set_new(root, "held", held_shards_json(&view->held));
    json_object_set_new(root, "spares", spare_hosts_json(&view->spares));
    table_status_add(root, &view->tables, &view->spec.rows);
    if (view->recorded_wall_ms != 0) {
        char time[TIME_TEXT_MAX];
        clock_format(view->recorded_wall_ms, time);
        json_object_set_new(root, "recorded_at", json_string(time));
    }
    return output_json(root, JSON_INDENT(2));
}

static void print_problem(const struct task_state *state)
{
    char task[TASK_NAME_MAX];
    if (!state->present || !*state->member.problem) { return; }
    task_format(state->task, ':', task, sizeof task);
    printf("problem: %s: %s\n", task, state->member.problem);
}

static void print_head(const struct view *view)
{
    const struct run *run = &view->run;
    char task[TASK_NAME_MAX], age[32], time[TIME_TEXT_MAX];
    if (view->recorded_wall_ms != 0) {
        clock_format(view->recorded_wall_ms, time);
        printf("record of %s, read from the folder of the run\n", time);
    }
    printf("%s: %s (%s), step %" PRIu64 " of %" PRIu64 ", generation %" PRIu64 ", epoch %" PRIu64
           "\n",
           view->target.cluster, phase_of(view), cluster_mode_name(&view->job), view->step,
           view->job.train.steps, run->generation, view->has_chief ? view->chief.epoch : 0);
    if (*run->reason) { printf("reason: %s\n", run->reason); }
    held_shards_print(&view->held);
    spare_hosts_print(&view->spares);
    for (uint32_t i = 0; i < view->count; i++) { print_problem(&view->tasks[i]); }
    if (chief_is_present(view)) {
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
static const char *lane_name(const struct task_state *state)
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

static bool print_tasks(const struct view *view)
{
    static const struct table_column columns[] = {
        {"TASK", TABLE_LEFT},  {"STATE", TABLE_LEFT},   {"PID", TABLE_RIGHT},
        {"STEP", TABLE_RIGHT}, {"SLICES", TABLE_RIGHT}, {"LANE", TABLE_LEFT},
        {"HOST", TABLE_LEFT},  {"ADDRESS", TABLE_LEFT}, {"GROUP", TABLE_LEFT},
    };
    struct table table;
    const uint32_t members = strategy_members(&view->job);
    table_init(&table, columns, sizeof columns / sizeof *columns - (members == 1));
    for (uint32_t i = 0; i < view->count; i++) {
        const struct task_state *state = &view->tasks[i];
        char task[TASK_NAME_MAX];
        task_format(state->task, ':', task, sizeof task);
        table_cell(&table, "%s", task);
        table_cell(&table, "%s", state_name(view, state));
        table_number(&table, state->member.pid, state->present);
        table_number(&table, state->step, state->has_step);
        table_number(&table, state->slices, state->has_slices);
        table_cell(&table, "%s", lane_name(state));
        table_cell(&table, "%s", state->present ? state->member.host : "-");
        table_cell(&table, "%s", state->present ? state->member.address : "-");
        if (members > 1) { print_group(&table, state->task, members); }
    }
    return table_print(&table, stdout);
}

static bool print_servers(const struct view *view)
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
        table_cell(&table, "%s", server_mode(server));
        table_number(&table, server->pid, server->pid != 0);
    }
    return table_print(&table, stdout);
}

static int print_tables(const struct view *view)
{
    print_head(view);
    if (view->count == 0) { return TN_EXIT_OK; /* The run of one process. */ }
    putchar('\n');
    bool written = print_tasks(view);
    written = table_status_print(&view->tables, &view->spec.rows) && written;
    putchar('\n');
    return print_servers(view) && written ? TN_EXIT_OK : TN_EXIT_IO;
}

int command_status(int argc, char **argv)
{
    struct target_options given = {0};
    const char *output = NULL;
    int exit_code = 0;
    struct options options = {
        .command = "status",
        .synopsis = TARGET_SYNOPSIS,
        .about = "Show a cluster: phase, step, chief, tasks, newest checkpoint, ZooKeeper servers. "
                 "After a run,\n--dir shows the record of its last state.",
        .examples =
            "  tanist status --dir runs/fashion-mnist\n"
            "  tanist status --zk h1:2181,h2:2181,h3:2181 --cluster fashion-mnist -o json\n"};
    target_options_add(&options, &given);
    output_option_table(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct view *view = calloc(1, sizeof *view);
    struct error error = {0};
    if (view == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = target_find(&given, &view->target, &error);
    if (status == TN_OK) { status = read_view(view, &error); }
    if (status != TN_OK) { status = view_record(view, &given, status, &error); }
    if (status != TN_OK) {
        exit_code = command_failed(&error);
    } else {
        exit_code = output_is_json(output) ? print_json(view) : print_tables(view);
    }
    table_totals_free(&view->tables);
    free(view);
    return exit_code;
}
