/* chaos/inject_zookeeper.c: outages of an ensemble, and one that loses its data. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/arena.h"
#include "common/clock.h"
#include "common/files.h"

enum { DIE_MS = 2000 }; /* A process that is killed is gone by then, unless its disk hangs. */

/* ------------------------------------------------------------- outage */

/* Servers that stand still serve nobody, and their agent sees no death: it lasts as long as wanted.
 */
static enum tn_status begin_outage(struct arena *arena, struct strike *strike, struct error *error)
{
    enum tn_status status = injector_freeze.begin(arena, strike, error);
    if (status == TN_OK && strike->injection.for_ms == 0) strike->injection.for_ms = 1;
    return status;
}

static void end_outage(struct arena *arena, struct strike *strike)
{
    injector_freeze.end(arena, strike);
}

const struct injector injector_outage = {.begin = begin_outage, .end = end_outage};

/* ------------------------------------------------------------- wipe */

static enum tn_status move_data(const struct arena *arena, uint32_t server, struct error *error)
{
    char from[2 * ARENA_PATH_MAX], folder[2 * ARENA_PATH_MAX], to[3 * ARENA_PATH_MAX];
    snprintf(from, sizeof from, "%s/zookeeper/%u/data/version-2", arena->run_dir, server);
    snprintf(folder, sizeof folder, "%s/scratch/wiped-%u/%u/data", arena->dir, arena->wipes,
             server);
    snprintf(to, sizeof to, "%s/version-2", folder);
    enum tn_status status = files_make_folders(folder, error);
    if (status != TN_OK) return status;
    if (rename(from, to) == 0 || errno == ENOENT) return TN_OK;
    return files_error(error, errno, "move", from);
}

/* False: one of them is not dead yet. */
static bool kill_servers(struct arena *arena)
{
    uint64_t until_ms = clock_monotonic_ms() + DIE_MS;
    bool dead = true;
    for (uint32_t i = 0; i < arena->count; i++) {
        const struct place *place = &arena->places[i];
        if (place->server && place->pid > 0) (void)kill(place->pid, SIGKILL);
    }
    for (uint32_t i = 0; i < arena->count; i++) {
        const struct place *place = &arena->places[i];
        if (!place->server) continue;
        while (arena_process_state(place->pid) && clock_monotonic_ms() < until_ms)
            (void)usleep(500);
        dead = dead && !arena_process_state(place->pid);
    }
    return dead;
}

/* The agent stands still meanwhile, or a server would be started again over its data before the
 * last one is dead. What they knew is kept for the checker. */
static enum tn_status begin_wipe(struct arena *arena, struct strike *strike, struct error *error)
{
    pid_t agent = arena->places[0].pid;
    enum tn_status status = arena_resolve(arena, strike, error);
    if (status != TN_OK) return status;
    arena_look(arena);
    bool whole = agent > 0;
    for (uint32_t i = 0; i < arena->count; i++)
        if (arena->places[i].server && arena->places[i].pid == 0) whole = false;
    if (!whole) return error_set(error, TN_EAGAIN, "not every ZooKeeper server runs now");
    if (kill(agent, SIGSTOP) != 0) return error_set(error, TN_EAGAIN, "the agent is gone");
    if (!kill_servers(arena)) {
        (void)kill(agent, SIGCONT);
        return error_set(error, TN_EIO, "a ZooKeeper server survived SIGKILL for %d ms", DIE_MS);
    }
    arena->wipes++;
    arena->chief[0] = '\0'; /* His office is gone. */
    for (uint32_t i = 1; i <= arena->job->zookeeper.servers && status == TN_OK; i++)
        status = move_data(arena, i, error);
    (void)kill(agent, SIGCONT);
    snprintf(strike->text, sizeof strike->text,
             "SIGKILL to all %u ZooKeeper servers, and their data removed",
             arena->job->zookeeper.servers);
    return status;
}

const struct injector injector_wipe = {.begin = begin_wipe};
