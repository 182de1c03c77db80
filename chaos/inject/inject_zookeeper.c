/* chaos/inject/inject_zookeeper.c: an ensemble that loses its data. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/cluster/proc.h"
#include "chaos/cluster/targets.h"
#include "common/base/clock.h"
#include "common/base/files.h"

enum { DIE_MS = 2000 }; /* A process that is killed is gone by then, unless its disk hangs. */

static enum tn_status move_data(const struct target_cluster *cluster, uint32_t server,
                                struct error *error)
{
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

/* False: one of them is not dead yet. */
static bool kill_servers(struct target_cluster *cluster)
{
    uint64_t until_ms = clock_monotonic_ms() + DIE_MS;
    bool dead = true;
    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct place *place = &cluster->places[i];
        if (place->server && place->pid > 0) { (void)kill(place->pid, SIGKILL); }
    }
    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct place *place = &cluster->places[i];
        if (!place->server) { continue; }
        while (proc_state(place->pid) && clock_monotonic_ms() < until_ms) { (void)usleep(500); }
        dead = dead && !proc_state(place->pid);
    }
    return dead;
}

/* The agent stands still meanwhile, or a server would be started again over its data before the
 * last one is dead. What they knew is kept for the checker. */
static enum tn_status begin_wipe(struct target_cluster *cluster, struct strike *strike,
                                 struct error *error)
{
    pid_t agent = cluster->places[0].pid;
    enum tn_status status = target_cluster_resolve(cluster, strike, error);
    if (status != TN_OK) { return status; }
    target_cluster_look(cluster);
    bool whole = agent > 0;
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->places[i].server && cluster->places[i].pid == 0) { whole = false; }
    }
    if (!whole) { return error_set(error, TN_EAGAIN, "not every ZooKeeper server runs now"); }
    if (kill(agent, SIGSTOP) != 0) { return error_set(error, TN_EAGAIN, "the agent is gone"); }
    if (!kill_servers(cluster)) {
        (void)kill(agent, SIGCONT);
        return error_set(error, TN_EIO, "a ZooKeeper server survived SIGKILL for %d ms", DIE_MS);
    }
    cluster->wipes++;
    cluster->chief[0] = '\0'; /* His office is gone. */
    for (uint32_t i = 1; i <= cluster->job->zookeeper.servers && status == TN_OK; i++) {
        status = move_data(cluster, i, error);
    }
    (void)kill(agent, SIGCONT);
    snprintf(strike->text, sizeof strike->text,
             "SIGKILL to all %u ZooKeeper servers, and their data removed",
             cluster->job->zookeeper.servers);
    return status;
}

const struct injector injector_wipe = {.begin = begin_wipe};
