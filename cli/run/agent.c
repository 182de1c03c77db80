/* cli/run/agent.c: `tanist agent`: some tasks of a job on this host; other hosts run the rest. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/plan/validate.h"
#include "cli/run/local_options.h"
#include "common/base/minmax.h"
#include "common/job/cluster_spec.h"
#include "common/job/strategy.h"
#include "data/job_columns.h"

enum { WAIT_S = 60, RANGE_TEXT_MAX = TASK_NAME_MAX + 16 };

struct agent_options {
    struct local_options local;
    const char *tasks, *host;
};

/* ------------------------------------------------------------- tasks */

static enum tn_status add_task(struct local_run *run, struct task task, struct error *error)
{
    assert(task.role < ROLE_COUNT);
    const uint32_t count = job_tasks(&run->job).of[task.role];
    char name[TASK_NAME_MAX];
    task_format(task, ':', name, sizeof name);
    if (task.index >= count) {
        return error_set(error, TN_EINVAL,
                         "--tasks: the job has no %s; it has %u of that role, numbered from 0",
                         name, count);
    }
    for (uint32_t i = 0; i < run->task_count; i++) {
        if (task_equal(run->tasks[i], task)) {
            return error_set(error, TN_EINVAL, "--tasks: %s is given twice", name);
        }
    }
    assert(run->task_count < TASKS_MAX);
    run->tasks[run->task_count++] = task;
    return TN_OK;
}

/* `text` is "ps:0" or "worker:2-5". */
static enum tn_status add_range(struct local_run *run, const char *text, struct error *error)
{
    char first[RANGE_TEXT_MAX];
    snprintf(first, sizeof first, "%s", text);
    char *colon = strchr(first, ':'), *dash = colon != NULL ? strchr(colon, '-') : NULL,
         *end = NULL;
    unsigned long last = 0;
    if (dash != NULL) {
        *dash = '\0';
        last = strtoul(dash + 1, &end, 10);
    }
    struct task task;
    bool good = task_parse(first, &task) && (dash == NULL || (end != dash + 1 && *end == '\0'));
    if (dash == NULL) { last = good ? task.index : 0; }
    if (!good || last < task.index || last >= TASKS_MAX) {
        return error_set(error, TN_EINVAL,
                         "--tasks: \"%s\" is not a task: give, for example, ps:0 or worker:2-5",
                         text);
    }
    enum tn_status status = TN_OK;
    for (; status == TN_OK && task.index <= last; task.index++) {
        status = add_task(run, task, error);
    }
    return status;
}

static enum tn_status read_tasks(struct local_run *run, const char *list,
                                 const struct cluster_spec *spec, struct error *error)
{
    char text[RANGE_TEXT_MAX];
    enum tn_status status = TN_OK;
    assert(run->task_count == 0);
    if (list == NULL && spec->has_task) { return add_task(run, spec->task, error); }
    for (const char *at = list != NULL ? list : ""; status == TN_OK && *at;) {
        size_t length = strcspn(at, ",");
        snprintf(text, sizeof text, "%.*s", (int)size_min(length, sizeof text), at);
        status = add_range(run, text, error);
        at += length + (at[length] == ',');
    }
    if (status == TN_OK && run->task_count == 0) {
        return error_set(error, TN_EINVAL,
                         "no tasks for this host: give --tasks ps:0,worker:1 (or set TF_CONFIG)");
    }
    return status;
}

/* ------------------------------------------------------------- the command */

static enum tn_status read_job(const struct agent_options *given, const char *path,
                               struct local_run *run, struct error *error)
{
    bool created = false;
    struct cluster_spec *spec = calloc(1, sizeof *spec);
    if (spec == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = read_job_argument(&run->job, path, error);
    if (status == TN_OK) { status = cluster_spec_read_environment(spec, error); }
    if (status == TN_OK) { status = override_keys(&run->job, &given->local.set, error); }
    if (status == TN_OK) { status = require_cluster(&run->job, error); }
    if (status == TN_OK) {
        created = local_options_use_index(&given->local, &run->job);
        status = job_columns_settle(&run->job, error);
    }
    if (status == TN_OK) { status = cluster_spec_apply(spec, &run->job, error); }
    strategy_settle(&run->job);
    if (status == TN_OK) {
        status = validate_job(&run->job, &run->variables, &run->columns, NULL, error);
    }
    if (status == TN_OK) { status = read_tasks(run, given->tasks, spec, error); }
    if (status != TN_OK && created) { local_options_drop_index(&given->local, run); }
    free(spec);
    return status;
}

static enum tn_status run_tasks(void *ctx, const char *path, struct local_run *run,
                                struct error *error)
{
    const struct agent_options *given = ctx;
    enum tn_status status = read_job(given, path, run, error);
    if (status == TN_OK) { status = local_options_read_zk(&given->local, run, error); }
    if (status != TN_OK) { return status; }
    if (!*run->connect) {
        return error_set(
            error, TN_EINVAL,
            "no ZooKeeper is given: use --zk CONNECT or --zk-config FILE (`tanist run` "
            "starts an ensemble of its own)");
    }
    run->one_of_many = true;
    if (given->host != NULL) {
        snprintf(run->listen_host, sizeof run->listen_host, "%s", given->host);
    }
    return local_options_work(&given->local, WAIT_S, true, run, error);
}

/* Returns the exit code: that of the job. */
static int conclude(void *ctx, struct local_run *run)
{
    (void)ctx;
    const struct agent_result *result = &run->agent_result;
    if (!result->job_ended) {
        output_message(LOG_INFO, "%s: %s",
                       result->signal != 0 ? "stopped by a signal" : "stopped by `tanist drain`",
                       result->drained ? "no step is lost by it"
                                       : "the nodes were killed; the steps since the last "
                                         "checkpoint are lost if one of them was a ps");
        return result->signal != 0 ? 128 + result->signal : TN_EXIT_OK;
    }
    if (result->run.phase == RUN_DONE) {
        output_message(LOG_INFO, "the job is done");
        return TN_EXIT_OK;
    }
    if (result_run_was_stopped(&result->run)) {
        output_message(LOG_INFO, "the job was " RUN_STOPPED_REASON);
        return TN_EXIT_OK;
    }
    output_message(LOG_ERROR, "the job failed: %s", result->run.reason);
    return TN_EXIT_ERROR;
}

static void add_options(struct options *options, struct agent_options *given)
{
    options_text(options, "tasks", &given->tasks, "LIST",
                 "Tasks of this host, such as ps:0,worker:2-5; default: that of TF_CONFIG.");
    options_text(options, "host", &given->host, "ADDRESS",
                 "Address of this host for the other hosts; default 127.0.0.1.");
    local_options_add(options, &given->local, "How long to wait for ZooKeeper; default 60.");
}

int command_agent(int argc, char **argv)
{
    struct agent_options given = {0};
    struct options options = {
        .command = "agent",
        .synopsis = "JOB.json --tasks LIST --zk CONNECT [OPTION]...",
        .about =
            "Run some tasks of a job on this host and restart them when they die. Give the same "
            "job file to\nthe agents of all hosts; the first of them creates the cluster. The "
            "agent "
            "exits when the job ends,\nwith the exit status of the job.",
        .examples = "  tanist agent job.json --tasks coordinator:0,ps:0,worker:0-3 --zk "
                    "h1:2181,h2:2181,h3:2181 --host 10.0.0.1\n"
                    "  tanist agent job.json --tasks coordinator:1,ps:1,worker:4-7 --zk "
                    "h1:2181,h2:2181,h3:2181 --host 10.0.0.2\n",
        .arguments_least = job_has_program() ? 0 : 1,
        .arguments_most = 1};
    add_options(&options, &given);
    return local_options_command(&options, argc, argv, &given.local, run_tasks, conclude, &given);
}
