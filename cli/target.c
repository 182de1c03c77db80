#include "cli/target.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run_folder.h"
#include "common/base/clock.h"
#include "common/cluster/bootstrap.h"

enum { WAIT_S = 5, POLL_MS = 50 };

void target_options_add(struct options *options, struct target_options *target)
{
    options_folder(options, &target->dir, false,
                   "Folder of a local run; the same as the argument DIR.");
    zk_options_add(options, &target->zk);
    options_text(options, "cluster", &target->cluster, "NAME",
                 "Name of the cluster; default: the only one in ZooKeeper.");
    options_seconds(options, "wait", &target->wait, 1,
                    "How long to wait for ZooKeeper; default 5.");
}

/* ------------------------------------------------------------- a local run */

enum tn_status target_enter_network(const struct run_note *note, struct error *error)
{
    char path[64];
    struct stat ours, theirs;
    if (note->network == 0 || stat("/proc/self/ns/net", &ours) != 0) { return TN_OK; }
    if (ours.st_ino == note->network) { return TN_OK; }
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/ns/net", note->agent_pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ESRCH)) { return TN_OK; }
    /* Another process may have the agent's pid by now. */
    bool gone = fd >= 0 && fstat(fd, &theirs) == 0 && theirs.st_ino != note->network;
    bool entered = fd >= 0 && !gone && setns(fd, CLONE_NEWNET) == 0;
    int reason = errno;
    if (fd >= 0) { close(fd); }
    if (entered || gone) { return TN_OK; }
    return error_set(error, TN_ECONNECT,
                     "cannot enter the network namespace of the run, which `tanist chaos` gave it: "
                     "%s; try again as root",
                     strerror(reason));
}

/* The servers in the connect string, for `status` and `top`. */
static void list_servers(struct target *target)
{
    const char *at = target->connect;
    target->server_count = 0;
    while (*at && *at != '/' && target->server_count < ZOO_SERVERS_MAX) {
        size_t length = strcspn(at, ",/");
        struct target_server *server = &target->servers[target->server_count++];
        snprintf(server->address, sizeof server->address, "%.*s", (int)length, at);
        server->pid = 0;
        at += length + (at[length] == ',');
    }
}

void target_use_note(struct target *target, const struct run_note *note)
{
    assert(target->dir != NULL);
    assert(note->server_count <= ENSEMBLE_SERVERS_MAX);
    memcpy(target->connect, note->connect, sizeof target->connect);
    memcpy(target->cluster, note->cluster, sizeof target->cluster);
    target->server_count = note->server_count;
    for (size_t i = 0; i < note->server_count; i++) {
        memcpy(target->servers[i].address, note->servers[i], sizeof note->servers[i]);
        target->servers[i].pid = run_server_pid(target->dir, note->server_ids[i]);
    }
    /* The run has no servers of its own. */
    if (note->server_count == 0) { list_servers(target); }
}

static enum tn_status find_local(const char *dir, struct target *out, struct error *error)
{
    struct run_note note;
    assert(dir != NULL);
    if (run_folder_is_local(dir)) {
        return error_set(error, TN_EUNHEALTHY,
                         "the run in %s is in one process (--local), without ZooKeeper: `tanist "
                         "status` and `tanist checkpoints` show it; to stop it, send its process "
                         "SIGINT",
                         dir);
    }
    enum tn_status status = run_note_read(dir, &note, error);
    if (status == TN_OK) { status = target_enter_network(&note, error); }
    if (status != TN_OK) { return status; }
    out->dir = dir;
    target_use_note(out, &note);
    if (run_folder_in_use(dir) || note.server_count == 0) { return TN_OK; }
    if (run_folder_has_result(dir)) {
        return error_set(error, TN_EUNHEALTHY,
                         "the run in %s has ended, and its ZooKeeper with it: see %s/result.json, "
                         "%s/logs and `tanist checkpoints list --dir %s`",
                         dir, dir, dir, dir);
    }
    return error_set(error, TN_EUNHEALTHY,
                     "the run in %s is not active, and neither is its ZooKeeper: continue it with "
                     "`tanist run JOB.json --dir %s`",
                     dir, dir);
}

/* ------------------------------------------------------------- any cluster */

enum tn_status target_find(const struct target_options *options, struct target *out,
                           struct error *error)
{
    const struct zk_options *zk = &options->zk;
    memset(out, 0, sizeof *out);
    out->wait_ms = (options->wait.given ? (uint32_t)options->wait.value : WAIT_S) * 1000;
    enum tn_status status = zk_options_credentials(zk, out->credentials, error);
    if (status != TN_OK) { return status; }
    if (options->dir != NULL && zk->connect == NULL && zk->config == NULL) {
        return find_local(options->dir, out, error);
    }
    status = zk_options_connect(zk, out->connect, error);
    if (status != TN_OK) { return status; }
    if (!*out->connect) {
        return error_set(error, TN_EINVAL,
                         "no cluster is given: use --dir DIR for a local run, or --zk CONNECT and "
                         "--cluster NAME");
    }
    if (options->cluster != NULL) {
        status = cluster_name_check(options->cluster, error);
        if (status != TN_OK) { return error_context(error, "--cluster"); }
        snprintf(out->cluster, sizeof out->cluster, "%s", options->cluster);
    }
    list_servers(out);
    return TN_OK;
}

/* ------------------------------------------------------------- connecting */

static void join_names(char **names, size_t count, char *text, size_t size)
{
    size_t length = 0;
    assert(size > 0);
    snprintf(text, size, "none");
    for (size_t i = 0; i < count && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "", names[i]);
    }
}

/* Choose the only cluster in ZooKeeper. An error lists the clusters that exist. */
static enum tn_status choose_cluster(struct target *target, struct zk_sync *sync,
                                     struct error *error)
{
    struct zk_sync_list found = {0};
    char list[256];
    assert(sync != NULL);
    enum tn_status status = zk_sync_list(sync, "/tanist", &found, error);
    if (status != TN_OK && status != TN_ENOENT) { return status; }
    join_names(found.names, found.count, list, sizeof list);
    bool none = found.count == 0, only = !*target->cluster && found.count == 1;
    if (only) { snprintf(target->cluster, sizeof target->cluster, "%s", found.names[0]); }
    zk_sync_list_free(&found);
    if (only) { return TN_OK; }
    if (*target->cluster) {
        return error_set(error, TN_EUNHEALTHY,
                         "ZooKeeper at %s has no cluster \"%s\" (existing clusters: %s): start it "
                         "with `tanist run` or `tanist agent`, or name another",
                         target->connect, target->cluster, list);
    }
    return error_set(error, none ? TN_EUNHEALTHY : TN_EINVAL,
                     "no cluster is given: use --cluster NAME (clusters at %s: %s)",
                     target->connect, list);
}

static enum tn_status read_spec(struct target *target, struct zk_sync *sync, struct spec *spec,
                                struct job *job, struct error *error)
{
    assert(*target->cluster != '\0');
    enum tn_status status = bootstrap_read_spec(sync, target->cluster, spec, error);
    if (status == TN_ENOENT) { return choose_cluster(target, sync, error); }
    if (status != TN_OK) { return status; }
    if (spec->coordinators > COORDINATORS_MAX || spec->ps > PS_MAX || spec->workers > WORKERS_MAX) {
        return error_set(error, TN_ECORRUPT,
                         "/spec of %s has %u coordinators, %u ps and %u workers; this program "
                         "supports at most %d, %d and %d",
                         target->cluster, spec->coordinators, spec->ps, spec->workers,
                         COORDINATORS_MAX, PS_MAX, WORKERS_MAX);
    }
    if (job == NULL) { return TN_OK; }
    job_init(job);
    if (spec->job_json == NULL) { return TN_OK; }
    return job_read_text(job, spec->job_json, strlen(spec->job_json), "/spec", error);
}

/* A `tanist run` that has just begun creates its cluster a moment after its ZooKeeper serves. */
static enum tn_status wait_for_spec(struct target *target, struct zk_sync *sync, struct spec *spec,
                                    struct job *job, struct error *error)
{
    const uint64_t until_ms = clock_monotonic_ms() + target->wait_ms;
    enum tn_status status = read_spec(target, sync, spec, job, error);
    while (status == TN_EUNHEALTHY && target->dir != NULL && run_folder_in_use(target->dir) &&
           clock_monotonic_ms() < until_ms) {
        (void)poll(NULL, 0, POLL_MS);
        status = read_spec(target, sync, spec, job, error);
    }
    return status;
}

enum tn_status target_open(struct target *target, struct zk_sync **sync, struct spec *spec,
                           struct job *job, struct error *error)
{
    *spec = (struct spec){0};
    enum tn_status status =
        zk_options_open(target->connect, target->credentials, target->wait_ms, sync, error);
    if (status != TN_OK) { return status; }
    if (!*target->cluster) { status = choose_cluster(target, *sync, error); }
    if (status == TN_OK) { status = wait_for_spec(target, *sync, spec, job, error); }
    free(spec->job_json);
    spec->job_json = NULL;
    if (status == TN_OK) { return TN_OK; }
    /* Access was denied: other credentials are needed. */
    if (status == TN_EREFUSED) { status = error->status = TN_EINVAL; }
    zk_sync_close(*sync);
    *sync = NULL;
    return status;
}

bool target_agent_is_gone(const struct target *target)
{
    return target->dir != NULL && !run_folder_in_use(target->dir);
}

bool target_reads_again(const struct target *target, enum tn_status status)
{
    return status == TN_ETIMEDOUT && !target_agent_is_gone(target);
}
