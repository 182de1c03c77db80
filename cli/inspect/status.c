/* cli/inspect/status.c: `tanist status`: a cluster as it is now. */
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/ensemble/ensemble.h"
#include "agent/observe/event_text.h"
#include "agent/observe/step_poller.h"
#include "cli/commands.h"
#include "cli/target.h"
#include "common/base/clock.h"

enum { PROBE_MS = 500, STEPS_MS = 300, STEPS_LOOK_MS = 2 };

struct seat {
    struct task task;
    bool present, has_step;
    struct member member;
    uint64_t step;
};

struct view {
    struct target target;
    struct spec spec;
    struct job job;
    bool has_run, has_chief;
    struct run run;
    struct chief_record chief;
    uint32_t count;
    struct seat seats[TASKS_MAX];
    bool has_step;
    uint64_t step;
};

/* ------------------------------------------------------------- looking */

static enum tn_status read_run(struct zk_sync *sync, struct view *view, struct error *error)
{
    char path[256];
    struct zk_sync_data data;
    znode_path(path, view->target.cluster, "run");
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status == TN_ENOENT) { return TN_OK; }
    if (status != TN_OK) { return status; }
    status = run_decode(data.data, data.size, &view->run, error);
    view->has_run = status == TN_OK;
    free(data.data);
    return status;
}

static enum tn_status read_office(struct zk_sync *sync, struct view *view, struct error *error)
{
    char path[256];
    struct zk_sync_data data;
    znode_path(path, view->target.cluster, "chief");
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status == TN_ENOENT) { return TN_OK; }
    if (status != TN_OK) { return status; }
    if (data.size > 0) {
        status = chief_record_decode(data.data, data.size, &view->chief, error);
        view->has_chief = status == TN_OK;
    }
    free(data.data);
    return status;
}

static enum tn_status read_seat(struct zk_sync *sync, const char *cluster, struct seat *seat,
                                struct error *error)
{
    char path[256];
    struct zk_sync_data data;
    znode_member_path(path, cluster, seat->task);
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status == TN_ENOENT) { return TN_OK; }
    if (status != TN_OK) { return status; }
    status = member_decode(data.data, data.size, &seat->member, error);
    seat->present = status == TN_OK;
    free(data.data);
    return status;
}

static enum tn_status read_seats(struct zk_sync *sync, struct view *view, struct error *error)
{
    const uint32_t counts[ROLE_COUNT] = {view->spec.coordinators, view->spec.ps,
                                         view->spec.workers};
    enum tn_status status = TN_OK;
    for (int role = 0; role < ROLE_COUNT; role++) {
        for (uint32_t i = 0; status == TN_OK && i < counts[role]; i++) {
            struct seat *seat = &view->seats[view->count++];
            seat->task = (struct task){.role = (enum role)role, .index = i};
            status = read_seat(sync, view->target.cluster, seat, error);
        }
    }
    return status;
}

static bool steps_whole(struct step_poller *steps, const struct view *view)
{
    uint32_t present = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        present += view->seats[i].task.role == ROLE_PS && view->seats[i].present;
    }
    return step_poller_answered(steps, view->spec.ps) >= present;
}

/* Each ps says how far it is; the cluster is as far as the last of them. */
static void ask_steps(struct view *view)
{
    struct step_poller *steps = NULL;
    if (step_poller_open(view->spec.key, &steps, NULL) != TN_OK) { return; }
    for (uint32_t i = 0; i < view->count; i++) {
        if (view->seats[i].task.role == ROLE_PS && view->seats[i].present) {
            step_poller_ask(steps, view->seats[i].task.index, view->seats[i].member.address,
                            view->seats[i].member.incarnation);
        }
    }
    uint64_t until_ms = clock_monotonic_ms() + STEPS_MS;
    while (!steps_whole(steps, view) && clock_monotonic_ms() < until_ms) {
        (void)poll(NULL, 0, STEPS_LOOK_MS);
    }
    uint64_t least = UINT64_MAX, generation = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        struct seat *seat = &view->seats[i];
        if (seat->task.role != ROLE_PS) { continue; }
        seat->has_step = step_poller_get(steps, seat->task.index, &generation, &seat->step);
        if (seat->has_step && seat->step < least) { least = seat->step; }
    }
    step_poller_close(steps);
    if (least != UINT64_MAX) {
        view->has_step = true;
        view->step = least;
    }
}

/* Where nobody can be asked, what ZooKeeper knows. */
static void settle_step(struct view *view)
{
    const struct run *run = &view->run;
    if (!view->has_run || view->has_step) { return; }
    view->step = run->committed_step;
    if (run->evaluation.step != STEP_NONE && run->evaluation.step > view->step) {
        view->step = run->evaluation.step;
    }
    view->has_step = true;
}

static enum tn_status look(struct view *view, struct error *error)
{
    struct zk_sync *sync = NULL;
    enum tn_status status = target_open(&view->target, &sync, &view->spec, &view->job, error);
    if (status != TN_OK) { return status; }
    status = read_run(sync, view, error);
    if (status == TN_OK) { status = read_office(sync, view, error); }
    if (status == TN_OK) { status = read_seats(sync, view, error); }
    zk_sync_close(sync);
    free(view->spec.job_json);
    if (status != TN_OK) { return status; }
    ask_steps(view);
    settle_step(view);
    return TN_OK;
}

/* ------------------------------------------------------------- showing */

static bool is_chief(const struct view *view, const struct seat *seat)
{
    return view->has_chief && seat->present && task_equal(view->chief.task, seat->task) &&
           view->chief.incarnation == seat->member.incarnation;
}

static const char *state_of(const struct view *view, const struct seat *seat)
{
    if (!seat->present) { return "missing"; }
    if (seat->task.role != ROLE_COORDINATOR) { return "up"; }
    return is_chief(view, seat) ? "chief" : "candidate";
}

static bool chief_lives(const struct view *view)
{
    for (uint32_t i = 0; i < view->count; i++) {
        if (is_chief(view, &view->seats[i])) { return true; }
    }
    return false;
}

static json_t *chief_json(const struct view *view)
{
    char task[TASK_NAME_MAX], since[TIME_TEXT_MAX];
    if (!view->has_chief || !chief_lives(view)) { return json_null(); }
    task_format(view->chief.task, ':', task, sizeof task);
    clock_format(view->chief.since_wall_ms, since);
    return json_pack("{s:s, s:I, s:s, s:s, s:s}", "task", task, "pid", (json_int_t)view->chief.pid,
                     "host", view->chief.host, "address", view->chief.address, "since", since);
}

static json_t *seat_json(const struct view *view, const struct seat *seat)
{
    json_t *object =
        json_pack("{s:s, s:i}", "role", role_name(seat->task.role), "index", (int)seat->task.index);
    if (object == NULL) { return NULL; }
    bool there = seat->present;
    json_object_set_new(object, "pid",
                        there ? json_integer((json_int_t)seat->member.pid) : json_null());
    json_object_set_new(object, "host", there ? json_string(seat->member.host) : json_null());
    json_object_set_new(object, "address", there ? json_string(seat->member.address) : json_null());
    json_object_set_new(object, "state", json_string(state_of(view, seat)));
    json_object_set_new(object, "incarnation",
                        there ? json_integer((json_int_t)seat->member.incarnation) : json_null());
    json_object_set_new(object, "step",
                        seat->has_step ? json_integer((json_int_t)seat->step) : json_null());
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

static int print_json(const struct view *view)
{
    const struct run *run = &view->run;
    json_t *tasks = json_array();
    for (uint32_t i = 0; i < view->count; i++) {
        json_array_append_new(tasks, seat_json(view, &view->seats[i]));
    }
    json_t *root =
        json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:{s:I, s:I}, s:{s:o}}", "version",
                  1, "cluster", view->target.cluster, "phase",
                  view->has_run ? run_phase_name(run->phase) : "forming", "mode",
                  view->job.train.mode == TRAIN_SYNC ? "sync" : "async", "generation",
                  (json_int_t)run->generation, "epoch",
                  (json_int_t)(view->has_chief ? view->chief.epoch : run->epoch), "step",
                  (json_int_t)view->step, "chief", chief_json(view), "tasks", tasks, "checkpoint",
                  "id", (json_int_t)run->committed_checkpoint, "step",
                  (json_int_t)run->committed_step, "zookeeper", "servers", servers_json(view));
    bool good =
        root != NULL && json_dumpf(root, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF;
    json_decref(root);
    return good ? TN_EXIT_OK : TN_EXIT_IO;
}

static void print_chief(const struct view *view)
{
    char task[TASK_NAME_MAX], since[32];
    if (!view->has_chief || !chief_lives(view)) {
        printf("chief: none at present\n");
        return;
    }
    uint64_t now_ms = clock_wall_ms(), from_ms = view->chief.since_wall_ms;
    task_format(view->chief.task, ':', task, sizeof task);
    event_text_duration(now_ms > from_ms ? now_ms - from_ms : 0, since, sizeof since);
    printf("chief: %s (pid %" PRIu64 ") for %s\n", task, view->chief.pid, since);
}

static int print_table(const struct view *view)
{
    const struct run *run = &view->run;
    printf("%s: %s (%s), step %" PRIu64 " of %" PRIu64 ", generation %" PRIu64 ", epoch %" PRIu64
           "\n",
           view->target.cluster, view->has_run ? run_phase_name(run->phase) : "forming",
           view->job.train.mode == TRAIN_SYNC ? "sync" : "async", view->step, view->job.train.steps,
           run->generation, view->has_chief ? view->chief.epoch : 0);
    if (*run->reason) { printf("because: %s\n", run->reason); }
    print_chief(view);
    printf("checkpoint: %" PRIu64 " of step %" PRIu64 "\n\n", run->committed_checkpoint,
           run->committed_step);
    printf("%-16s %-10s %8s %10s  %s\n", "TASK", "STATE", "PID", "STEP", "ADDRESS");
    for (uint32_t i = 0; i < view->count; i++) {
        const struct seat *seat = &view->seats[i];
        char task[TASK_NAME_MAX], step[24] = "-", pid[24] = "-";
        task_format(seat->task, ':', task, sizeof task);
        if (seat->has_step) { snprintf(step, sizeof step, "%" PRIu64, seat->step); }
        if (seat->present) { snprintf(pid, sizeof pid, "%" PRIu64, seat->member.pid); }
        printf("%-16s %-10s %8s %10s  %s%s%s\n", task, state_of(view, seat), pid, step,
               seat->present ? seat->member.host : "-", seat->present ? " " : "",
               seat->present ? seat->member.address : "");
    }
    printf("\n%-24s %-10s %8s\n", "ZOOKEEPER", "MODE", "PID");
    for (size_t i = 0; i < view->target.server_count; i++) {
        printf("%-24s %-10s %8" PRIu64 "\n", view->target.servers[i].address,
               server_mode(&view->target.servers[i]), view->target.servers[i].pid);
    }
    return TN_EXIT_OK;
}

int command_status(int argc, char **argv)
{
    static const char *const outputs[] = {"table", "json", NULL};
    struct target_options given = {0};
    const char *output = "table";
    struct option rows[TARGET_OPTIONS + 1];
    int exit_code = 0;
    target_options(&given, rows);
    rows[TARGET_OPTIONS] = (struct option){"output",     'o',     OPTION_CHOICE,         &output,
                                           "table|json", outputs, "Form; default table."};
    struct options options = {
        .command = "status",
        .synopsis = "--dir DIR | --zk CONNECT [--cluster NAME] [OPTION]...",
        .about = "Show a cluster: phase, step, chief, tasks, newest checkpoint, ZooKeeper servers.",
        .examples =
            "  tanist status --dir runs/fashion-mnist\n"
            "  tanist status --zk h1:2181,h2:2181,h3:2181 --cluster fashion-mnist -o json\n",
        .list = rows,
        .count = TARGET_OPTIONS + 1};
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct view *view = calloc(1, sizeof *view);
    struct error error = {0};
    if (view == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = target_find(&given, &view->target, &error);
    if (status == TN_OK) { status = look(view, &error); }
    if (status != TN_OK) {
        exit_code = command_failed(&error);
    } else {
        exit_code = strcmp(output, "json") == 0 ? print_json(view) : print_table(view);
    }
    free(view);
    return exit_code;
}
