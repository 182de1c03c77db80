/* chaos/inject/inject_zookeeper.c: a ZooKeeper ensemble that loses its data. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "chaos/cluster/proc.h"
#include "chaos/inject/injector.h"
#include "common/base/clock.h"
#include "common/base/files.h"

enum { DIE_MS = 2000 }; /* A killed process has ended by then, unless its disk hangs. */

static enum tn_status move_data(const struct target_cluster *cluster, uint32_t server,
                                struct error *error)
{
    assert(server > 0);
    assert(cluster->wipes > 0);
    char from[2 * TARGET_PATH_MAX], folder[2 * TARGET_PATH_MAX], to[3 * TARGET_PATH_MAX];
    snprintf(from, sizeof from, "%s/zookeeper/%u/data/version-2", cluster->run_dir, server);
    snprintf(folder, sizeof folder, "%s/scratch/wiped-%u/%u/data", cluster->dir, cluster->wipes,
             server);
    snprintf(to, sizeof to, "%s/version-2", folder);
    enum tn_status status = files_make_folders(folder, error);
    if (status != TN_OK) { return status; }
    if (rename(from, to) == 0 || errno == ENOENT) { return TN_OK; }
    return files_error(error, errno, "move", from);
}

static bool all_servers_run(const struct target_cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->components[i].server > 0 && cluster->components[i].pid == 0) { return false; }
    }
    return true;
}

/* False: one of them is still alive after DIE_MS. */
static bool kill_servers(const struct target_cluster *cluster)
{
    uint64_t until_ms = clock_monotonic_ms() + DIE_MS;
    bool dead = true;
    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct component *component = &cluster->components[i];
        if (component->server > 0 && component->pid > 0) { (void)kill(component->pid, SIGKILL); }
    }
    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct component *component = &cluster->components[i];
        if (component->server == 0) { continue; }
        while (proc_state(component->pid) && clock_monotonic_ms() < until_ms) { (void)usleep(500); }
        dead = dead && !proc_state(component->pid);
    }
    return dead;
}

/* The agent is frozen meanwhile: it would restart a server on its old data before the last one is
 * dead. The data is kept for the checker. */
static enum tn_status begin_wipe(struct target_cluster *cluster, struct active_fault *fault,
                                 struct error *error)
{
    enum tn_status status = TN_OK;
    assert(cluster->remote == NULL);
    target_cluster_refresh(cluster);
    pid_t agent = cluster->components[0].pid;
    if (agent <= 0 || !all_servers_run(cluster)) {
        return error_set(error, TN_EAGAIN, "not every ZooKeeper server is running now");
    }
    if (kill(agent, SIGSTOP) != 0) { return error_set(error, TN_EAGAIN, "the agent has ended"); }
    if (!kill_servers(cluster)) {
        (void)kill(agent, SIGCONT);
        return error_set(error, TN_EIO, "a ZooKeeper server survived SIGKILL for %d ms", DIE_MS);
    }
    cluster->wipes++;
    cluster->chief[0] = '\0'; /* The chief record was in the data. */
    for (uint32_t i = 1; i <= cluster->job->zookeeper.servers && status == TN_OK; i++) {
        status = move_data(cluster, i, error);
    }
    (void)kill(agent, SIGCONT);
    fault_describe(fault, "SIGKILL to all %u ZooKeeper servers; their data was removed",
                   cluster->job->zookeeper.servers);
    return status;
}

const struct injector injector_wipe = {.begin = begin_wipe};
