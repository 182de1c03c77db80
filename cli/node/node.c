#include "cli/node/node.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/log_options.h"
#include "cli/node/cluster_create.h"
#include "cli/plan/validate.h"
#include "cli/wait_notice.h"
#include "common/base/clock.h"
#include "common/base/fault_signals.h"
#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/base/text.h"
#include "common/base/time_spent.h"
#include "common/cluster/bootstrap.h"
#include "common/cluster/report.h"
#include "common/faults/failpoint.h"
#include "common/job/cluster_spec.h"
#include "common/job/job_strategy.h"
#include "common/job/strategy.h"
#include "common/job/table_rules.h"
#include "common/job/variable_rules.h"
#include "ps/norms.h"

enum { WAIT_S = 60, POLL_MS = 200 };

struct node_options {
    struct zk_options zk;
    const char *job, *cluster, *dir, *listen, *session_file, *log_file;
    const char *job_name, *task_index, *ps_hosts, *worker_hosts;
    struct log_options log;
    struct option_texts set;
    struct option_number index, incarnation, wait, log_bytes, memory, workers;
};

static void add_options(struct options *options, enum role role, struct node_options *o)
{
    options_text(options, "job", &o->job, "FILE", "The job file.");
    options_settings(options, &o->set);
    options_number(options, "index", &o->index, "I",
                   "Index of the task among those of its role, from 0.");
    if (role == ROLE_WORKER) {
        options_number(options, "workers", &o->workers, "N",
                       "Run N workers in this process, the indexes I to I + N - 1; default 1.");
    }
    zk_options_add(options, &o->zk);
    options_text(options, "cluster", &o->cluster, "NAME",
                 "Name of the cluster; default: the name of the job.");
    options_text(options, "dir", &o->dir, "DIR",
                 "Folder for checkpoints; default: the name of the job.");
    options_text(
        options, "listen", &o->listen, "ADDRESS",
        "Address where other nodes reach this one; default tcp://127.0.0.1:0 (any port). A "
        "worker opens no port: the address names its host.");
    options_text(options, "job_name", &o->job_name, "ROLE", "The role, as in TensorFlow.");
    options_text(options, "task_index", &o->task_index, "I", "As in TensorFlow; same as --index.");
    options_text(options, "ps_hosts", &o->ps_hosts, "H:P,...", "All ps, as in TensorFlow.");
    options_text(options, "worker_hosts", &o->worker_hosts, "H:P,...",
                 "All workers, as in TensorFlow.");
    options_seconds(options, "wait", &o->wait, 1,
                    "How long to wait for ZooKeeper and for the cluster; default 60.");
    log_options_add(options, &o->log, "Lowest level of messages that are logged; default info.");
    options_number(options, "incarnation", &o->incarnation, "N", NULL);
    options_text(options, "session-file", &o->session_file, "FILE", NULL);
    options_text(options, "log-file", &o->log_file, "FILE", NULL);
    options_number(options, "memory", &o->memory, "FD", NULL);
    options_number(options, "log-max-size", &o->log_bytes, "BYTES", NULL);
}

/* Which task this node is: TF_CONFIG and the other variables of the environment, then flags. */
static enum tn_status resolve_task(const struct node_options *o, enum role role,
                                   struct cluster_spec *spec, struct error *error)
{
    char index[24];
    assert(role < ROLE_COUNT);
    cluster_spec_init(spec);
    /* An agent has applied the environment to the job file and gives all other values as flags. */
    enum tn_status status =
        o->session_file != NULL ? TN_OK : cluster_spec_read_environment(spec, error);
    if (status == TN_OK && o->ps_hosts != NULL) {
        status = cluster_spec_set_hosts(spec, ROLE_PS, o->ps_hosts, error);
    }
    if (status == TN_OK && o->worker_hosts != NULL) {
        status = cluster_spec_set_hosts(spec, ROLE_WORKER, o->worker_hosts, error);
    }
    if (status == TN_OK && o->task_index != NULL) {
        const char *name = spec->has_task ? NULL : role_name(role);
        status = cluster_spec_set_task(spec, name, o->task_index, error);
    }
    if (status == TN_OK && o->job_name != NULL) {
        status = cluster_spec_set_task(spec, o->job_name, NULL, error);
    }
    if (status == TN_OK && o->index.given) {
        snprintf(index, sizeof index, "%" PRIu64, o->index.value);
        status = cluster_spec_set_task(spec, role_name(role), index, error);
    }
    if (status != TN_OK) { return status; }
    if (spec->has_task && spec->task.role != role && o->job_name == NULL) {
        char name[TASK_NAME_MAX];
        task_format(spec->task, ':', name, sizeof name);
        return error_set(error, TN_EINVAL,
                         "TF_CONFIG (or JOB_NAME) is of task %s, but the command is \"%s\": run "
                         "`tanist %s`, or give --index",
                         name, role_name(role), role_name(spec->task.role));
    }
    if (!spec->has_task) {
        return error_set(error, TN_EINVAL,
                         "the index of this %s is not given: use --index I (or TF_CONFIG)",
                         role_name(role));
    }
    if (spec->task.role == role) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "--job_name is \"%s\", but the command is \"%s\": omit --job_name",
                     o->job_name, role_name(role));
}

static enum tn_status resolve_job(const struct node_options *o, enum role role,
                                  struct node_setup *setup, struct error *error)
{
    struct cluster_spec *spec = calloc(1, sizeof *spec);
    if (spec == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    job_init(&setup->job);
    enum tn_status status = TN_OK;
    if (o->job != NULL) {
        status = job_read_file(&setup->job, o->job, error);
    } else if (!job_has_program()) {
        status = error_set(error, TN_EINVAL, "--job is missing: give the job file of the cluster");
    }
    if (status == TN_OK) { status = resolve_task(o, role, spec, error); }
    if (status == TN_OK) { status = override_job(&setup->job, &o->set, error); }
    if (status == TN_OK) { status = cluster_spec_apply(spec, &setup->job, error); }
    if (status == TN_OK && o->cluster != NULL) {
        snprintf(setup->job.name, sizeof setup->job.name, "%s", o->cluster);
    }
    if (status == TN_OK) { status = require_cluster(&setup->job, error); }
    strategy_settle(&setup->job);
    if (status == TN_OK) { status = job_check(&setup->job, error); }
    setup->task = spec->task;
    if (o->listen != NULL) {
        snprintf(setup->listen, sizeof setup->listen, "%s", o->listen);
    } else if (!cluster_spec_listen(spec, setup->listen)) {
        snprintf(setup->listen, sizeof setup->listen, "tcp://127.0.0.1:0");
    }
    free(spec);
    return status;
}

/* Only workers with ps share a process: the others have a store or a part of a model each. */
static enum tn_status check_nodes(const struct node_setup *setup, struct error *error)
{
    const struct job *job = &setup->job;
    if (setup->nodes == 1) { return TN_OK; }
    if (setup->nodes == 0 || setup->nodes > NODE_HOST_NODES_MAX ||
        setup->task.index + setup->nodes > job->cluster.workers) {
        return error_set(error, TN_EINVAL,
                         "--workers is %" PRIu32 " from worker:%" PRIu32
                         " on, but cluster.workers is %" PRIu32 ": give at least 1, and fewer",
                         setup->nodes, setup->task.index, job->cluster.workers);
    }
    struct job grouped = *job;
    grouped.cluster.workers_per_process = setup->nodes;
    return job_check_workers_per_process(&grouped, error);
}

static enum tn_status resolve(const struct node_options *o, enum role role,
                              struct node_setup *setup, struct error *error)
{
    setup->dir = o->dir;
    setup->session_file = o->session_file;
    setup->under_agent = o->session_file != NULL;
    setup->memory = o->memory.given && o->memory.value <= INT_MAX ? (int)o->memory.value : -1;
    setup->nodes = o->workers.given ? (uint32_t)u64_min(o->workers.value, UINT32_MAX) : 1;
    setup->wait_ms = (uint32_t)(o->wait.given ? o->wait.value : WAIT_S) * 1000;
    setup->identity.incarnation =
        o->incarnation.given ? o->incarnation.value : clock_new_incarnation();
    enum tn_status status = resolve_job(o, role, setup, error);
    if (status == TN_OK) { status = check_nodes(setup, error); }
    if (status == TN_OK) { status = zk_options_connect(&o->zk, setup->connect, error); }
    if (status == TN_OK && !*setup->connect) {
        status = error_set(error, TN_EINVAL,
                           "no ZooKeeper is given: use --zk CONNECT or --zk-config FILE");
    }
    if (status == TN_OK) { status = zk_options_credentials(&o->zk, setup->credentials, error); }
    if (status != TN_OK) { return status; }
    if (setup->dir == NULL) { setup->dir = setup->job.name; }
    status = model_open(&setup->job, &setup->model, error);
    if (status == TN_OK) { setup->variables = setup->model->table; }
    if (status == TN_OK) { status = variable_rules_check(&setup->job, &setup->variables, error); }
    if (status == TN_OK) { status = table_rules_check(&setup->job, &setup->variables, error); }
    if (status != TN_OK) { return status; }
    return variable_table_check_ps(&setup->variables, strategy_shards(&setup->job), error);
}

/* ------------------------------------------------------------- the cluster */

/* Take the key of the cluster and the hash of its graph from the agent, which has checked the rest.
 * The model may have changed since then. `*taken`: they were given. */
static enum tn_status take_key_of_agent(struct node_setup *setup, bool *taken, struct error *error)
{
    char *end = NULL;
    struct spec spec = {0};
    const char *text = getenv(CLUSTER_KEY_VARIABLE);
    *taken = false;
    if (!setup->under_agent || text == NULL || !*text) { return TN_OK; }
    setup->cluster_key = strtoull(text, &end, 16);
    if (*end == ':') { spec.graph_hash = strtoull(end + 1, NULL, 16); }
    *taken = setup->cluster_key != 0;
    return bootstrap_check_graph(setup->job.name, &spec, setup->variables.graph_hash, error);
}

static uint32_t declared(const struct spec *spec, enum role role)
{
    const uint32_t counts[ROLE_COUNT] = {spec->coordinators, spec->ps, spec->workers,
                                         spec->evaluators};
    assert(role < ROLE_COUNT);
    return counts[role];
}

static enum tn_status check_declared(const struct node_setup *setup, const struct spec *spec,
                                     struct error *error)
{
    const enum role role = setup->task.role;
    const uint32_t count = declared(spec, role);
    if (setup->task.index + setup->nodes <= count) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "%s:%" PRIu32 " is not declared: the cluster \"%s\" was started with %" PRIu32
                     " task%s of that role (cluster.%s): use a lower index, or stop the cluster "
                     "and start its coordinators with a larger number",
                     role_name(role), setup->task.index, setup->job.name, count, text_plural(count),
                     role == ROLE_PS          ? "ps"
                     : role == ROLE_WORKER    ? "workers"
                     : role == ROLE_EVALUATOR ? "evaluators"
                                              : "coordinators");
}

static enum tn_status check_spec(struct node_setup *setup, const struct spec *spec,
                                 struct error *error)
{
    struct job existing;
    char difference[JOB_DIFFERENCE_MAX];
    setup->cluster_key = spec->key;
    if (spec->job_hash == job_hash(&setup->job)) {
        enum tn_status status =
            bootstrap_check_graph(setup->job.name, spec, setup->variables.graph_hash, error);
        return status == TN_OK ? check_declared(setup, spec, error) : status;
    }
    job_init_existing(&existing);
    bool found =
        spec->job_json != NULL &&
        job_read_text(&existing, spec->job_json, strlen(spec->job_json), "spec", NULL) == TN_OK &&
        job_difference(&existing, &setup->job, difference);
    return error_set(
        error, TN_EINVAL,
        "the cluster \"%s\" was created for another job: %s; give the same job file to "
        "every node, or another --cluster",
        setup->job.name, found ? difference : "its hash differs");
}

/* Whether no coordinator runs: then the one that starts next may declare another number of
 * tasks. */
static bool may_be_declared(struct node_setup *setup, struct zk_sync *sync)
{
    char path[ZK_PATH_MAX];
    struct zk_sync_list found = {0};
    znode_path(path, setup->job.name, "election");
    if (zk_sync_list(sync, path, &found, NULL) != TN_OK) { return false; }
    bool none = found.count == 0;
    zk_sync_list_free(&found);
    return none;
}

static enum tn_status look_for_spec(struct node_setup *setup, struct zk_sync *sync,
                                    struct spec *spec, struct error *error)
{
    enum tn_status status = bootstrap_read_spec(sync, setup->job.name, spec, error);
    if (status != TN_OK || setup->task.index < declared(spec, setup->task.role) ||
        !may_be_declared(setup, sync)) {
        return status;
    }
    free(spec->job_json);
    spec->job_json = NULL;
    return TN_ENOENT;
}

/* Wait until an agent or a coordinator has created the cluster. */
static enum tn_status wait_for_spec(struct node_setup *setup, struct zk_sync *sync,
                                    struct spec *spec, struct error *error)
{
    struct wait_notice notice = wait_notice_start(clock_monotonic_ms());
    enum tn_status status;
    while ((status = look_for_spec(setup, sync, spec, error)) == TN_ENOENT) {
        const uint64_t now_ms = clock_monotonic_ms();
        if (now_ms - notice.start_ms > setup->wait_ms) {
            return error_set(error, TN_EUNHEALTHY,
                             "ZooKeeper at %s has no cluster \"%s\": start a coordinator first",
                             setup->connect, setup->job.name);
        }
        if (wait_notice_due(&notice, now_ms)) {
            log_info("still waiting for a coordinator to create the cluster \"%s\" after %" PRIu64
                     " s",
                     setup->job.name, wait_notice_seconds(&notice, now_ms));
        }
        (void)poll(NULL, 0, POLL_MS);
    }
    return status;
}

static enum tn_status find_cluster(struct node_setup *setup, enum role role, struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    assert(setup->runtime == NULL);
    bool taken = false;
    enum tn_status status = take_key_of_agent(setup, &taken, error);
    if (status != TN_OK || taken) { return status; }
    status = zk_options_open(setup->connect, setup->credentials, setup->wait_ms, &sync, error);
    if (status == TN_OK && role == ROLE_COORDINATOR) {
        status = cluster_create_chroot(setup->connect, setup->wait_ms, error);
    }
    if (status != TN_OK) {
        zk_sync_close(sync);
        return status;
    }
    if (role == ROLE_COORDINATOR) { /* The first coordinator creates the cluster. */
        status = cluster_create(sync, &setup->job, &setup->variables, 0, &spec, error);
        if (status == TN_OK) { status = cluster_declare(sync, &setup->job, true, &spec, error); }
    } else {
        status = wait_for_spec(setup, sync, &spec, error);
    }
    if (status == TN_OK) { status = check_spec(setup, &spec, error); }
    if (status == TN_OK) {
        status = cluster_check_reach(sync, setup->job.name, "--listen", setup->listen, error);
    }
    free(spec.job_json);
    zk_sync_close(sync);
    return status;
}

/* ------------------------------------------------------------- running */

/* The largest body of a frame that a node of this role receives: coordinators get reports, ps
 * chunks of gradients of their shard and parts of norms, workers chunks of the values of one, or
 * without ps of all. */
static uint32_t largest_body(const struct node_setup *setup)
{
    const struct job *job = &setup->job;
    if (setup->task.role == ROLE_COORDINATOR) { return REPORT_BYTES; }
    /* Frames with rows of tables, or between members of a group, have the size of a chunk. */
    const bool is_member = setup->task.role == ROLE_WORKER && strategy_members(job) > 1;
    if (setup->variables.row_table_count > 0 || is_member) { return WIRE_CHUNK_BYTES; }
    uint64_t largest = 0, copies = job->train.ema > 0 ? 2 : 1; /* With the average. */
    for (uint32_t i = 0; i < strategy_shards(job); i++) {
        largest = u64_max(largest,
                          variable_table_shard(&setup->variables, strategy_shards(job), i).count);
    }
    return (uint32_t)u64_min(u64_max(largest * copies * sizeof(float), NORM_PART_BYTES_MAX),
                             WIRE_CHUNK_BYTES);
}

/* Workers of a run without ps ask each other; those of a group exchange values. */
static bool dials_only(const struct node_setup *setup)
{
    const enum role role = setup->task.role;
    return (role == ROLE_WORKER && strategy_of_job(&setup->job)->has_ps &&
            strategy_members(&setup->job) == 1) ||
           role == ROLE_EVALUATOR;
}

enum tn_status node_open_runtime(const struct node_setup *setup, struct node_host *host,
                                 uint32_t place, struct node_identity *identity,
                                 struct runtime **out, struct error *error)
{
    assert(place < setup->nodes);
    identity->incarnation = node_incarnation(setup->identity.incarnation, place);
    const struct runtime_config config = {.host = host,
                                          .place = place,
                                          .zk_connect = setup->connect,
                                          .zk_credentials = text_or_null(setup->credentials),
                                          .session_timeout_ms =
                                              setup->job.zookeeper.session_timeout_ms,
                                          .listen = setup->listen,
                                          .dial_only = dials_only(setup),
                                          .cluster_key = setup->cluster_key,
                                          .incarnation = identity->incarnation,
                                          .lanes = setup->job.transport.lane != LANE_TCP,
                                          .loans = setup->loans,
                                          .body_max = largest_body(setup),
                                          .session_file = setup->session_file};
    identity->task = setup->task;
    identity->task.index += place;
    identity->pid = (uint64_t)getpid();
    identity->session_timeout_ms = setup->job.zookeeper.session_timeout_ms;
    snprintf(identity->cluster, sizeof identity->cluster, "%s", setup->job.name);
    machine_identity(identity->machine);
    if (gethostname(identity->host, sizeof identity->host - 1) != 0) { identity->host[0] = '\0'; }
    enum tn_status status = runtime_open(&config, out, error);
    if (status == TN_OK) { runtime_address(*out, identity->address, sizeof identity->address); }
    return status;
}

/* The agent that started the node and keeps curves has made the folder. */
static void share_times(const struct node_setup *setup)
{
    char name[TASK_NAME_MAX], path[PATH_MAX];
    struct error error;
    task_format_range(setup->task, setup->nodes, '-', name, sizeof name);
    snprintf(path, sizeof path, "%s/times", setup->dir);
    if (setup->task.role == ROLE_COORDINATOR || setup->session_file == NULL) { return; }
    if (access(path, W_OK) != 0) { return; }
    snprintf(path, sizeof path, "%s/times/%s", setup->dir, name);
    if (time_spent_share(path, &error) != TN_OK) {
        log_warn("the curves lack the time of this node: %s", error.text);
    }
}

static int run_node(const struct node_role *role, struct node_setup *setup)
{
    struct error error = {0};
    void *opened = NULL;
    int exit_code = TN_EXIT_OK;
    assert(setup->runtime == NULL);
    enum tn_status status = role->open(setup, &opened, &error);
    if (status == TN_OK) { status = find_cluster(setup, role->role, &error); }
    if (status == TN_OK && setup->nodes == 1) {
        status = node_open_runtime(setup, NULL, 0, &setup->identity, &setup->runtime, &error);
    }
    if (status == TN_OK) { status = role->run(setup, opened, &exit_code, &error); }
    runtime_close(setup->runtime);
    role->close(opened);
    if (status == TN_OK) { return exit_code; }
    log_error("%s", error.text);
    return tanist_exit_code(status);
}

int node_command(const struct node_role *role, int argc, char **argv)
{
    struct node_options given = {0};
    int exit_code = 0;
    char name[TASK_NAME_MAX];
    assert(role->open != NULL);
    assert(role->run != NULL);
    assert(role->close != NULL);
    fault_signals_handle();
    struct options options = {.command = role_name(role->role),
                              .synopsis = "--job JOB.json --index I --zk CONNECT [OPTION]...",
                              .about = role->about,
                              .examples = role->examples};
    add_options(&options, role->role, &given);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct node_setup *setup = calloc(1, sizeof *setup);
    struct error error = {0};
    if (setup == NULL) { return TN_EXIT_ERROR; }
    log_options_start(&given.log, LOG_INFO, role_name(role->role)); /* For errors until then. */
    if (given.log_file != NULL && given.log_bytes.value > 0) {
        log_rotate_stderr(given.log_file, given.log_bytes.value);
    }
    enum tn_status status = resolve(&given, role->role, setup, &error);
    if (status == TN_OK) {
        task_format_range(setup->task, setup->nodes, ':', name, sizeof name);
        log_options_start(&given.log, LOG_INFO, name);
        (void)prctl(PR_SET_NAME, "tanist");
        task_format(setup->task, ':', name, sizeof name);
        failpoint_init(name);
        share_times(setup);
        exit_code = run_node(role, setup);
    } else {
        exit_code = command_failed(&error);
    }
    model_close(setup->model);
    free(setup);
    return exit_code;
}
