#include "cli/run/node.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/run/cluster_create.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/cluster/bootstrap.h"
#include "common/cluster/cluster_spec.h"
#include "common/faults/failpoint.h"
#include "worker/models/model.h"

enum { NODE_WAIT_S = 60, SAY_MS = 3000, FRAME_EXTRA_BYTES = 64 * 1024, LOOK_AGAIN_MS = 200 };

struct node_options {
    const char *job, *zk, *zk_config, *credentials, *cluster, *dir, *listen, *session_file;
    const char *job_name, *task_index, *ps_hosts, *worker_hosts, *log_format, *log_level;
    struct option_texts set;
    struct option_number index, incarnation, wait;
};

static const char *const log_formats[] = {"text", "json", NULL};
static const char *const log_levels[] = {"debug", "info", "warn", "error", NULL};

enum { NODE_OPTIONS = 18 };

static void fill_options(struct node_options *o, struct option rows[static NODE_OPTIONS])
{
    const struct option all[NODE_OPTIONS] = {
        {"job", 0, OPTION_TEXT, &o->job, "FILE", NULL, "The job file."},
        {"set", 0, OPTION_TEXTS, &o->set, "KEY=VALUE", NULL, "Override a key of the job file."},
        {"index", 0, OPTION_COUNT, &o->index, "I", NULL, "Which task of its role; from 0."},
        {"zk", 0, OPTION_TEXT, &o->zk, "CONNECT", NULL,
         "ZooKeeper: h1:2181,h2:2181/chroot (or TANIST_ZK)."},
        {"zk-config", 0, OPTION_TEXT, &o->zk_config, "FILE", NULL, "ZooKeeper by its zoo.cfg."},
        {"zk-credentials", 0, OPTION_TEXT, &o->credentials, "FILE", NULL,
         "File with user:password."},
        {"cluster", 0, OPTION_TEXT, &o->cluster, "NAME", NULL, "Default: the job's name."},
        {"dir", 0, OPTION_TEXT, &o->dir, "DIR", NULL, "Where checkpoints go; default: NAME."},
        {"listen", 0, OPTION_TEXT, &o->listen, "ADDRESS", NULL,
         "tcp://HOST:PORT that others can dial; port 0: any. Default tcp://127.0.0.1:0."},
        {"job_name", 0, OPTION_TEXT, &o->job_name, "ROLE", NULL, "As in TensorFlow."},
        {"task_index", 0, OPTION_TEXT, &o->task_index, "I", NULL, "As in TensorFlow: --index."},
        {"ps_hosts", 0, OPTION_TEXT, &o->ps_hosts, "H:P,...", NULL, "As in TensorFlow."},
        {"worker_hosts", 0, OPTION_TEXT, &o->worker_hosts, "H:P,...", NULL, "As in TensorFlow."},
        {"wait", 0, OPTION_COUNT, &o->wait, "SECONDS", NULL,
         "How long to wait for ZooKeeper and the cluster; default 60."},
        {"log-format", 0, OPTION_CHOICE, &o->log_format, "text|json", log_formats, "Log lines."},
        {"log-level", 0, OPTION_CHOICE, &o->log_level, "LEVEL", log_levels,
         "debug, info, warn or error."},
        {"incarnation", 0, OPTION_COUNT, &o->incarnation, "N", NULL, NULL},
        {"session-file", 0, OPTION_TEXT, &o->session_file, "FILE", NULL, NULL},
    };
    memcpy(rows, all, sizeof all);
}

static enum log_level level_of(const char *name)
{
    for (int i = 0; name != NULL && log_levels[i] != NULL; i++) {
        if (strcmp(log_levels[i], name) == 0) { return (enum log_level)i; }
    }
    return LOG_INFO;
}

/* Who we are: TF_CONFIG, its relatives in the environment, then flags. */
static enum tn_status settle_task(const struct node_options *o, enum role role,
                                  struct cluster_spec *spec, struct error *error)
{
    char index[24];
    cluster_spec_init(spec);
    enum tn_status status = cluster_spec_read_environment(spec, error);
    if (status == TN_OK && o->ps_hosts != NULL) {
        status = cluster_spec_set_hosts(spec, ROLE_PS, o->ps_hosts, error);
    }
    if (status == TN_OK && o->worker_hosts != NULL) {
        status = cluster_spec_set_hosts(spec, ROLE_WORKER, o->worker_hosts, error);
    }
    if (status == TN_OK && o->task_index != NULL) {
        status = cluster_spec_set_task(spec, NULL, o->task_index, error);
    }
    if (status == TN_OK && o->job_name != NULL) {
        status = cluster_spec_set_task(spec, o->job_name, NULL, error);
    }
    if (status == TN_OK && o->index.given) {
        snprintf(index, sizeof index, "%llu", (unsigned long long)o->index.value);
        status = cluster_spec_set_task(spec, role_name(role), index, error);
    }
    if (status != TN_OK) { return status; }
    if (spec->has_task && spec->task.role != role && o->job_name == NULL) {
        spec->has_task = false;
    }
    if (!spec->has_task) {
        return error_set(error, TN_EINVAL, "which %s? Give --index I (or TF_CONFIG)",
                         role_name(role));
    }
    if (spec->task.role == role) { return TN_OK; }
    return error_set(error, TN_EINVAL, "--job_name is not \"%s\", the command: give one of the two",
                     role_name(role));
}

static enum tn_status settle_job(const struct node_options *o, enum role role,
                                 struct node_setup *setup, struct error *error)
{
    struct cluster_spec *spec = calloc(1, sizeof *spec);
    if (spec == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    job_init(&setup->job);
    enum tn_status status = TN_OK;
    if (o->job != NULL) { status = job_read_file(&setup->job, o->job, error); }
    if (status == TN_OK) { status = settle_task(o, role, spec, error); }
    if (status == TN_OK) { status = cluster_spec_apply(spec, &setup->job, error); }
    for (size_t i = 0; status == TN_OK && i < o->set.count; i++) {
        status = job_set(&setup->job, o->set.items[i], error);
        if (status != TN_OK) { (void)error_context(error, "--set"); }
    }
    if (status == TN_OK && o->cluster != NULL) {
        snprintf(setup->job.name, sizeof setup->job.name, "%s", o->cluster);
    }
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

static enum tn_status settle(const struct node_options *o, enum role role, struct node_setup *setup,
                             struct error *error)
{
    setup->dir = o->dir;
    setup->session_file = o->session_file;
    setup->under_agent = o->session_file != NULL;
    setup->wait_ms = (uint32_t)(o->wait.given ? o->wait.value : NODE_WAIT_S) * 1000;
    setup->identity.incarnation =
        o->incarnation.given ? o->incarnation.value : clock_new_incarnation();
    enum tn_status status = settle_job(o, role, setup, error);
    if (status == TN_OK) { status = target_connect(o->zk, o->zk_config, setup->connect, error); }
    if (status == TN_OK && !*setup->connect) {
        status = error_set(error, TN_EINVAL, "which ZooKeeper? Give --zk CONNECT or --zk-config");
    }
    if (status == TN_OK) { status = target_credentials(o->credentials, setup->credentials, error); }
    if (status != TN_OK) { return status; }
    if (setup->dir == NULL) { setup->dir = setup->job.name; }
    const struct model_config model = model_config_of_job(&setup->job);
    status = model_describe(&model, &setup->variables, error);
    if (status != TN_OK) { return status; }
    return variable_table_check_ps(&setup->variables, setup->job.cluster.ps, error);
}

/* ------------------------------------------------------------- the cluster */

/* The key from the agent, which has checked the rest. */
static bool key_from_agent(struct node_setup *setup)
{
    const char *text = getenv(CLUSTER_KEY_VARIABLE);
    if (!setup->under_agent || text == NULL || !*text) { return false; }
    setup->cluster_key = strtoull(text, NULL, 16);
    return setup->cluster_key != 0;
}

static enum tn_status check_spec(struct node_setup *setup, const struct spec *spec,
                                 struct error *error)
{
    struct job there;
    char difference[256];
    setup->cluster_key = spec->key;
    if (spec->job_hash == job_hash(&setup->job)) { return TN_OK; }
    job_init(&there);
    bool told =
        spec->job_json != NULL &&
        job_read_text(&there, spec->job_json, strlen(spec->job_json), "spec", NULL) == TN_OK &&
        job_difference(&there, &setup->job, difference, sizeof difference);
    return error_set(error, TN_EINVAL,
                     "the cluster \"%s\" was made for another job: %s; give the same job file to "
                     "every node, or another --cluster",
                     setup->job.name, told ? difference : "its hash differs");
}

/* Wait for the cluster to be made (by an agent or a coordinator), saying so. */
static enum tn_status read_spec(struct node_setup *setup, struct zk_sync *sync, struct spec *spec,
                                struct error *error)
{
    uint64_t start_ms = clock_monotonic_ms(), said_ms = start_ms;
    enum tn_status status;
    while ((status = bootstrap_read_spec(sync, setup->job.name, spec, error)) == TN_ENOENT) {
        uint64_t now_ms = clock_monotonic_ms();
        if (now_ms - start_ms > setup->wait_ms) {
            return error_set(error, TN_EUNHEALTHY,
                             "no cluster \"%s\" in ZooKeeper at %s: start a coordinator first",
                             setup->job.name, setup->connect);
        }
        if (now_ms - said_ms > SAY_MS) {
            log_info("waiting for the cluster \"%s\" to be made, since %llu s", setup->job.name,
                     (unsigned long long)(now_ms - start_ms) / 1000);
            said_ms = now_ms;
        }
        (void)poll(NULL, 0, LOOK_AGAIN_MS);
    }
    return status;
}

static enum tn_status find_cluster(struct node_setup *setup, enum role role, struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    if (key_from_agent(setup)) { return TN_OK; }
    const char *credentials = *setup->credentials ? setup->credentials : NULL;
    enum tn_status status =
        target_connect_sync(setup->connect, credentials, setup->wait_ms, &sync, error);
    if (status == TN_OK && role == ROLE_COORDINATOR) {
        status = cluster_create_chroot(setup->connect, setup->wait_ms, error);
    }
    if (status != TN_OK) {
        zk_sync_close(sync);
        return status;
    }
    if (role == ROLE_COORDINATOR) { /* Whoever comes first makes it. */
        status = cluster_create(sync, &setup->job, &setup->variables, 0, &spec, error);
    } else {
        status = read_spec(setup, sync, &spec, error);
    }
    if (status == TN_OK) { status = check_spec(setup, &spec, error); }
    free(spec.job_json);
    zk_sync_close(sync);
    return status;
}

/* ------------------------------------------------------------- running */

static enum tn_status open_runtime(struct node_setup *setup, struct error *error)
{
    struct node_identity *identity = &setup->identity;
    uint64_t body_max = setup->variables.parameter_count * sizeof(float) + FRAME_EXTRA_BYTES;
    if (body_max > WIRE_BODY_MAX) { body_max = WIRE_BODY_MAX; }
    const struct runtime_config config = {
        .zk_connect = setup->connect,
        .zk_credentials = *setup->credentials ? setup->credentials : NULL,
        .session_timeout_ms = setup->job.zookeeper.session_timeout_ms,
        .listen = setup->listen,
        .cluster_key = setup->cluster_key,
        .incarnation = identity->incarnation,
        .body_max = (uint32_t)body_max,
        .session_file = setup->session_file};
    identity->task = setup->task;
    identity->pid = (uint64_t)getpid();
    identity->session_timeout_ms = setup->job.zookeeper.session_timeout_ms;
    snprintf(identity->cluster, sizeof identity->cluster, "%s", setup->job.name);
    if (gethostname(identity->host, sizeof identity->host - 1) != 0) { identity->host[0] = '\0'; }
    enum tn_status status = runtime_open(&config, &setup->runtime, error);
    if (status == TN_OK) {
        runtime_address(setup->runtime, identity->address, sizeof identity->address);
    }
    return status;
}

static int run_node(const struct node_role *role, struct node_setup *setup)
{
    struct error error = {0};
    void *opened = NULL;
    int exit_code = TN_EXIT_OK;
    enum tn_status status = role->open(setup, &opened, &error);
    if (status == TN_OK) { status = find_cluster(setup, role->role, &error); }
    if (status == TN_OK) { status = open_runtime(setup, &error); }
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
    struct option rows[NODE_OPTIONS];
    int exit_code = 0;
    char name[TASK_NAME_MAX], command[16];
    fill_options(&given, rows);
    snprintf(command, sizeof command, "%s", role_name(role->role));
    struct options options = {.command = command,
                              .synopsis = "--job JOB.json --index I --zk CONNECT [OPTION]...",
                              .about = role->about,
                              .examples = role->examples,
                              .list = rows,
                              .count = NODE_OPTIONS};
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct node_setup *setup = calloc(1, sizeof *setup);
    struct error error = {0};
    if (setup == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = settle(&given, role->role, setup, &error);
    if (status == TN_OK) {
        task_format(setup->task, ':', name, sizeof name);
        log_init(level_of(given.log_level),
                 given.log_format != NULL && strcmp(given.log_format, "json") == 0 ? LOG_JSON
                                                                                   : LOG_TEXT,
                 name);
        (void)prctl(PR_SET_NAME, "tanist");
        failpoint_init(name);
        exit_code = run_node(role, setup);
    } else {
        exit_code = command_failed(&error);
    }
    free(setup);
    return exit_code;
}
