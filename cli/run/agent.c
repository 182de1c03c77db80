/* cli/run/agent.c: `tanist agent`: some tasks of a job on this host, the rest on others. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/run/local_run.h"
#include "cli/run/validate.h"
#include "common/base/log.h"
#include "common/cluster/cluster_spec.h"

enum { AGENT_OPTIONS = 12, WAIT_S = 60 };

struct agent_options {
    const char *tasks, *dir, *zk, *zk_config, *credentials, *host;
    bool resume, allow_chaos, quiet, verbose;
    struct option_number wait;
    struct option_texts set;
};

static void fill_options(struct agent_options *o, struct option rows[static AGENT_OPTIONS])
{
    const struct option all[AGENT_OPTIONS] = {
        {"tasks", 0, OPTION_TEXT, &o->tasks, "LIST", NULL,
         "ps:0,worker:1 or worker:2-5; default: the task of TF_CONFIG."},
        {"zk", 0, OPTION_TEXT, &o->zk, "CONNECT", NULL,
         "ZooKeeper: h1:2181,h2:2181/chroot (or TANIST_ZK)."},
        {"zk-config", 0, OPTION_TEXT, &o->zk_config, "FILE", NULL, "ZooKeeper by its zoo.cfg."},
        {"zk-credentials", 0, OPTION_TEXT, &o->credentials, "FILE", NULL,
         "File with user:password (or TANIST_ZK_CREDENTIALS)."},
        {"host", 0, OPTION_TEXT, &o->host, "ADDRESS", NULL,
         "Our address for the other hosts; default 127.0.0.1."},
        {"dir", 0, OPTION_TEXT, &o->dir, "DIR", NULL,
         "Logs and checkpoints of this host's tasks; default runs/NAME."},
        {"set", 0, OPTION_TEXTS, &o->set, "KEY=VALUE", NULL,
         "Override a key of the job file (`tanist help job`)."},
        {"resume", 0, OPTION_FLAG, &o->resume, NULL, NULL,
         "Begin again, from its last checkpoint, also when the run is over."},
        {"wait", 0, OPTION_COUNT, &o->wait, "SECONDS", NULL,
         "How long to wait for ZooKeeper; default 60."},
        {"allow-chaos", 0, OPTION_FLAG, &o->allow_chaos, NULL, NULL,
         "Let `tanist kill` and `tanist chaos` signal the nodes, through ZooKeeper."},
        {"quiet", 'q', OPTION_FLAG, &o->quiet, NULL, NULL, "No progress on stderr."},
        {"verbose", 'v', OPTION_FLAG, &o->verbose, NULL, NULL, "More words on stderr."},
    };
    memcpy(rows, all, sizeof all);
}

/* ------------------------------------------------------------- tasks */

static enum tn_status add_task(struct local_run *run, struct task task, struct error *error)
{
    const uint32_t counts[ROLE_COUNT] = {run->job.cluster.coordinators, run->job.cluster.ps,
                                         run->job.cluster.workers};
    char name[TASK_NAME_MAX];
    task_format(task, ':', name, sizeof name);
    if (task.index >= counts[task.role]) {
        return error_set(error, TN_EINVAL,
                         "--tasks: %s is not in the job, which has %u of that role", name,
                         counts[task.role]);
    }
    for (uint32_t i = 0; i < run->task_count; i++) {
        if (task_equal(run->tasks[i], task)) {
            return error_set(error, TN_EINVAL, "--tasks: %s is named twice", name);
        }
    }
    run->tasks[run->task_count++] = task;
    return TN_OK;
}

/* "ps:0" or "worker:2-5". */
static enum tn_status add_range(struct local_run *run, const char *text, struct error *error)
{
    char first[TASK_NAME_MAX + 16];
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
        return error_set(error, TN_EINVAL, "--tasks: \"%s\" is no task: give ps:0 or worker:2-5",
                         text);
    }
    enum tn_status status = TN_OK;
    for (; status == TN_OK && task.index <= last; task.index++) {
        status = add_task(run, task, error);
    }
    return status;
}

static enum tn_status settle_tasks(struct local_run *run, const char *list,
                                   const struct cluster_spec *spec, struct error *error)
{
    char text[TASK_NAME_MAX + 16];
    enum tn_status status = TN_OK;
    if (list == NULL && spec->has_task) { return add_task(run, spec->task, error); }
    for (const char *at = list != NULL ? list : ""; status == TN_OK && *at;) {
        size_t length = strcspn(at, ",");
        snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text), at);
        status = add_range(run, text, error);
        at += length + (at[length] == ',');
    }
    if (status == TN_OK && run->task_count == 0) {
        return error_set(error, TN_EINVAL,
                         "which tasks run here? Give --tasks ps:0,worker:1 (or TF_CONFIG)");
    }
    return status;
}

/* ------------------------------------------------------------- the command */

static enum tn_status read_job(const struct agent_options *o, const char *path,
                               struct local_run *run, struct error *error)
{
    struct cluster_spec *spec = calloc(1, sizeof *spec);
    if (spec == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    job_init(&run->job);
    enum tn_status status = job_read_file(&run->job, path, error);
    if (status == TN_OK) { status = cluster_spec_read_environment(spec, error); }
    if (status == TN_OK) { status = cluster_spec_apply(spec, &run->job, error); }
    for (size_t i = 0; status == TN_OK && i < o->set.count; i++) {
        status = job_set(&run->job, o->set.items[i], error);
        if (status != TN_OK) { (void)error_context(error, "--set"); }
    }
    if (status == TN_OK) { status = validate_job(&run->job, &run->variables, error); }
    if (status == TN_OK) { status = settle_tasks(run, o->tasks, spec, error); }
    free(spec);
    return status;
}

static enum tn_status run_tasks(const struct agent_options *o, const char *path,
                                struct local_run *run, struct error *error)
{
    char dir[RUN_PATH_MAX];
    enum tn_status status = read_job(o, path, run, error);
    if (status == TN_OK) { status = target_connect(o->zk, o->zk_config, run->connect, error); }
    if (status == TN_OK && !*run->connect) {
        status = error_set(error, TN_EINVAL,
                           "which ZooKeeper? Give --zk CONNECT or --zk-config; "
                           "`tanist run` starts one of its own");
    }
    if (status == TN_OK) { status = target_credentials(o->credentials, run->credentials, error); }
    if (status != TN_OK) { return status; }
    run->one_of_many = true;
    run->begin_again = o->resume;
    run->allow_chaos = o->allow_chaos;
    run->progress.quiet = o->quiet;
    run->connect_timeout_ms = (uint32_t)(o->wait.given ? o->wait.value : WAIT_S) * 1000;
    if (o->host != NULL) { snprintf(run->listen_host, sizeof run->listen_host, "%s", o->host); }
    snprintf(dir, sizeof dir, "runs/%s", run->job.name);
    status = run_folder_open(&run->folder, o->dir != NULL ? o->dir : dir, &run->job, true, error);
    if (status != TN_OK) { return status; }
    return local_run_work(run, error);
}

/* The job's status is ours. */
static int conclude(const struct local_run *run)
{
    const struct agent_result *result = &run->agent_result;
    if (!result->job_ended) { return result->signal != 0 ? 128 + result->signal : TN_EXIT_ERROR; }
    if (result->run.phase == RUN_DONE) {
        fprintf(stderr, "the job is done\n");
        return TN_EXIT_OK;
    }
    if (result_run_was_stopped(&result->run)) {
        fprintf(stderr, "the job was " RUN_STOPPED_REASON "\n");
        return TN_EXIT_OK;
    }
    fprintf(stderr, "tanist: the job failed: %s\n", result->run.reason);
    return TN_EXIT_ERROR;
}

int command_agent(int argc, char **argv)
{
    struct agent_options given = {0};
    struct option rows[AGENT_OPTIONS];
    int exit_code = 0;
    fill_options(&given, rows);
    struct options options = {
        .command = "agent",
        .synopsis = "JOB.json --tasks LIST --zk CONNECT [OPTION]...",
        .about =
            "Run some tasks of a job on this host, as `tanist run` runs all of them: what dies is "
            "started again\nand its death told at once. The same job file on every host; the "
            "cluster is made by whoever comes\nfirst. Ends when the job ends, with its exit "
            "status.",
        .examples = "  tanist agent job.json --tasks coordinator:0,ps:0,worker:0-3 --zk "
                    "h1:2181,h2:2181,h3:2181 --host 10.0.0.1\n"
                    "  tanist agent job.json --tasks coordinator:1,ps:1,worker:4-7 --zk "
                    "h1:2181,h2:2181,h3:2181 --host 10.0.0.2\n",
        .list = rows,
        .count = AGENT_OPTIONS,
        .arguments_least = 1,
        .arguments_most = 1};
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct local_run *run = calloc(1, sizeof *run);
    struct error error = {0};
    if (run == NULL) { return TN_EXIT_ERROR; }
    log_init(given.verbose ? LOG_DEBUG : LOG_WARN, LOG_TEXT, "agent");
    local_run_init(run);
    if (run_tasks(&given, options.arguments[0], run, &error) == TN_OK) {
        exit_code = conclude(run);
    } else {
        exit_code = command_failed(&error);
    }
    local_run_free(run);
    free(run);
    return exit_code;
}
