/* cli/inspect/status_json.c: the result of `tanist status -o json`. */
#include <jansson.h>

#include "agent/observe/event_text.h"
#include "cli/cluster_read.h"
#include "cli/inspect/rate_changes.h"
#include "cli/inspect/status_view.h"
#include "cli/output.h"
#include "common/base/clock.h"
#include "common/base/json_codec.h"
#include "common/job/strategy.h"

static json_t *chief_json(const struct status_view *view)
{
    char task[TASK_NAME_MAX], since[TIME_TEXT_MAX];
    if (!status_has_chief(view)) { return json_null(); }
    task_format(view->chief.task, ':', task, sizeof task);
    clock_format(view->chief.since_wall_ms, since);
    return json_pack("{s:s, s:I, s:s, s:s, s:s}", "task", task, "pid", (json_int_t)view->chief.pid,
                     "host", view->chief.host, "address", view->chief.address, "since", since);
}

static json_t *task_json(const struct status_view *view, const struct status_task *state)
{
    json_t *object = json_pack("{s:s, s:i}", "role", role_name(state->task.role), "index",
                               (int)state->task.index);
    if (object == NULL) { return NULL; }
    const struct member *member = &state->member;
    const bool known = state->present;
    json_object_set_new(object, "pid", known ? json_integer((json_int_t)member->pid) : json_null());
    json_object_set_new(object, "host", known ? json_string(member->host) : json_null());
    json_object_set_new(object, "address", known ? json_string(member->address) : json_null());
    json_object_set_new(object, "state", json_string(status_task_state(view, state)));
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
    const uint32_t gpus = status_task_gpus(view, state);
    if (gpus > 0) { json_object_set_new(object, "gpus", json_integer(gpus)); }
    const uint32_t threads = status_task_threads(view, state);
    if (threads > 0) { json_object_set_new(object, "threads", json_integer(threads)); }
    const uint32_t members = strategy_members(&view->job);
    if (members > 1 && state->task.role == ROLE_WORKER) {
        json_object_set_new(object, "group", json_integer(state->task.index / members));
        json_object_set_new(object, "member", json_integer(state->task.index % members));
    }
    json_object_set_new(object, "slices",
                        state->has_slices ? json_integer((json_int_t)state->slices) : json_null());
    return object;
}

static json_t *servers_json(const struct status_view *view)
{
    json_t *list = json_array();
    for (size_t i = 0; i < view->target.server_count; i++) {
        const struct target_server *server = &view->target.servers[i];
        json_t *pid = server->pid ? json_integer((json_int_t)server->pid) : json_null();
        json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "address", server->address, "pid",
                                              pid, "mode", status_server_mode(server)));
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

int status_print_json(const struct status_view *view)
{
    const struct run *run = &view->run;
    json_t *tasks = json_array();
    for (uint32_t i = 0; i < view->count; i++) {
        json_array_append_new(tasks, task_json(view, &view->tasks[i]));
    }
    json_t *root = json_pack(
        "{s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:{s:I, s:I}, s:{s:o}}", "version", 1,
        "cluster", view->target.cluster, "phase", status_phase(view), "mode",
        cluster_mode_name(&view->job), "generation", (json_int_t)run->generation, "epoch",
        (json_int_t)status_epoch(view), "step", (json_int_t)view->step, "chief", chief_json(view),
        "tasks", tasks, "checkpoint", "id", (json_int_t)run->committed_checkpoint, "step",
        (json_int_t)run->committed_step, "zookeeper", "servers", servers_json(view));
    json_object_set_new(root, "reason", *run->reason ? json_text(run->reason) : json_null());
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
