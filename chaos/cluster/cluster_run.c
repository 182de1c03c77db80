#include "chaos/cluster/cluster_run.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chaos/cluster/proc.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"

enum { ARGUMENTS = 12, KILL_RETRY_MS = 20, KILL_MS = 5000 };

static bool is_replaced(const struct cluster_run *run, const char *entry)
{
    for (int i = 0; i < CLUSTER_RUN_VARIABLES; i++) {
        size_t length = strcspn(run->variables[i], "=");
        if (length > 0 && strncmp(entry, run->variables[i], length + 1) == 0) { return true; }
    }
    return false;
}

static enum tn_status make_environment(struct cluster_run *run, struct error *error)
{
    size_t count = 0, kept = 0;
    assert(run->environment == NULL);
    while (environ[count] != NULL) { count++; }
    run->environment = calloc(count + CLUSTER_RUN_VARIABLES + 1, sizeof *run->environment);
    if (run->environment == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (size_t i = 0; i < count; i++) {
        if (!is_replaced(run, environ[i])) { run->environment[kept++] = environ[i]; }
    }
    for (int i = 0; i < CLUSTER_RUN_VARIABLES; i++) {
        if (*run->variables[i]) { run->environment[kept++] = run->variables[i]; }
    }
    run->cluster->environment = run->environment;
    return TN_OK;
}

enum tn_status cluster_run_init(struct cluster_run *run, struct target_cluster *cluster,
                                const char *networks, const char *shim, const char *faults,
                                struct error *error)
{
    assert(cluster != NULL);
    assert(faults != NULL);
    *run = (struct cluster_run){.cluster = cluster, .networks = networks};
    snprintf(run->mark, sizeof run->mark, MARK_VARIABLE "=%016" PRIx64 "%016" PRIx64,
             clock_new_incarnation(), clock_new_incarnation());
    snprintf(run->variables[0], CLUSTER_RUN_TEXT_MAX, "%s", run->mark);
    snprintf(run->variables[1], CLUSTER_RUN_TEXT_MAX, FAULTS_VARIABLE "=%s", faults);
    snprintf(run->variables[2], CLUSTER_RUN_TEXT_MAX, "TMPDIR=%s/scratch", cluster->dir);
    if (shim != NULL) { snprintf(run->variables[3], CLUSTER_RUN_TEXT_MAX, "LD_PRELOAD=%s", shim); }
    return make_environment(run, error);
}

void cluster_run_free(struct cluster_run *run)
{
    int exit_code;
    if (run->process.pid > 0) {
        cluster_run_kill(run, KILL_MS);
        (void)cluster_run_ended(run, &exit_code);
    }
    free(run->environment);
    run->environment = NULL;
}

enum tn_status cluster_run_start(struct cluster_run *run, struct error *error)
{
    struct target_cluster *cluster = run->cluster;
    char log[2 * TARGET_PATH_MAX];
    const char *arguments[ARGUMENTS] = {"tanist", "run", cluster->job_file, "--dir",
                                        cluster->run_dir};
    size_t count = 5;
    assert(run->process.pid == 0);
    if (run->networks != NULL) {
        arguments[count++] = "--networks";
        arguments[count++] = run->networks;
    }
    if (run->starts > 0) { arguments[count++] = "--resume"; }
    snprintf(log, sizeof log, "%s/run.log", cluster->dir);
    const struct process_config config = {.program = cluster->program,
                                          .arguments = arguments,
                                          .environment = run->environment,
                                          .log_path = log};
    enum tn_status status = process_start(&config, &run->process, error);
    if (status != TN_OK) { return status; }
    run->starts++;
    cluster->components[0].pid = run->process.pid;
    cluster->agent_killed = false;
    return TN_OK;
}

bool cluster_run_ended(struct cluster_run *run, int *exit_code)
{
    int code = 0, signal_number = 0;
    if (run->process.pid <= 0) { return false; }
    if (!process_wait(&run->process, 0, &code, &signal_number)) { return false; }
    *exit_code = signal_number ? 128 + signal_number : code;
    run->cluster->components[0].pid = 0;
    return true;
}

void cluster_run_kill(struct cluster_run *run, uint32_t limit_ms)
{
    pid_t pids[PROC_MARKED_MAX];
    assert(run->mark[0] != '\0');
    uint64_t until_ms = clock_monotonic_ms() + limit_ms;
    for (;;) {
        size_t count = proc_find_marked(run->mark, pids, PROC_MARKED_MAX);
        const size_t found = size_min(count, PROC_MARKED_MAX);
        for (size_t i = 0; i < found; i++) { (void)kill(pids[i], SIGKILL); }
        if (count == 0 || clock_monotonic_ms() >= until_ms) { return; }
        (void)poll(NULL, 0, KILL_RETRY_MS);
    }
}

json_t *cluster_run_result(const struct cluster_run *run)
{
    char path[2 * TARGET_PATH_MAX];
    snprintf(path, sizeof path, "%s/result.json", run->cluster->run_dir);
    return json_load_file(path, 0, NULL);
}
