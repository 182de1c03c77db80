/* chaos/inject/inject_process.c: signals: kill, terminate, freeze, crash loops. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/cluster/proc.h"
#include "chaos/cluster/targets.h"

enum { TEXT_END = 120, ZOMBIE_WALKS_MS = 100 };

/* Add words to what was done; cut when there is no more room. */
static void tell(struct strike *strike, const char *name, pid_t pid)
{
    size_t used = strlen(strike->text);
    if (used + TEXT_END < sizeof strike->text) {
        snprintf(strike->text + used, sizeof strike->text - used, "%s%s (pid %ld)",
                 strike->text[used - 1] == ' ' ? "" : ", ", name, (long)pid);
    }
}

/* Signal all targets that live, the agent first of all, so that it starts nothing again. How many
 * there were. */
static uint32_t signal_targets(struct target_cluster *cluster, struct strike *strike, int number)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < strike->target_count; i++) {
        struct place *place = target_cluster_place(cluster, strike->targets[i]);
        if (place->pid <= 0 || kill(place->pid, number) != 0) { continue; }
        if (strcmp(place->name, "agent") == 0 && number != SIGSTOP && number != SIGCONT) {
            cluster->agent_struck = true;
        }
        tell(strike, place->name, place->pid);
        count++;
    }
    return count;
}

static enum tn_status strike_with(struct target_cluster *cluster, struct strike *strike, int number,
                                  const char *name, struct error *error)
{
    enum tn_status status = target_cluster_resolve(cluster, strike, error);
    if (status != TN_OK) { return status; }
    snprintf(strike->text, sizeof strike->text, "%s to ", name);
    if (signal_targets(cluster, strike, number) > 0) { return TN_OK; }
    return error_set(error, TN_EAGAIN, "%s is not running now", strike->injection.whom);
}

static enum tn_status begin_kill(struct target_cluster *cluster, struct strike *strike,
                                 struct error *error)
{
    return strike_with(cluster, strike, SIGKILL, "SIGKILL", error);
}

static enum tn_status begin_terminate(struct target_cluster *cluster, struct strike *strike,
                                      struct error *error)
{
    return strike_with(cluster, strike, SIGTERM, "SIGTERM", error);
}

const struct injector injector_kill = {.begin = begin_kill};
const struct injector injector_terminate = {.begin = begin_terminate};

/* ------------------------------------------------------------- freeze */

/* Who was frozen: another process may have the place when it thaws. */
struct frozen {
    uint32_t count;
    pid_t pids[TARGETS_MAX];
};

static enum tn_status begin_freeze(struct target_cluster *cluster, struct strike *strike,
                                   struct error *error)
{
    struct frozen *frozen = calloc(1, sizeof *frozen);
    if (frozen == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = strike_with(cluster, strike, SIGSTOP, "SIGSTOP", error);
    if (status != TN_OK) {
        free(frozen);
        return status;
    }
    for (uint32_t i = 0; i < strike->target_count; i++) {
        struct place *place = target_cluster_place(cluster, strike->targets[i]);
        if (place->pid > 0) { frozen->pids[frozen->count++] = place->pid; }
    }
    strike->state = frozen;
    return TN_OK;
}

static void end_freeze(struct target_cluster *cluster, struct strike *strike)
{
    struct frozen *frozen = strike->state;
    uint32_t woken = 0;
    (void)cluster;
    for (uint32_t i = 0; i < frozen->count; i++) {
        bool stands = proc_state(frozen->pids[i]) == 'T';
        if (stands && kill(frozen->pids[i], SIGCONT) == 0) { woken++; }
    }
    snprintf(strike->text, sizeof strike->text, "SIGCONT: %u of %u were there still, and woke",
             woken, frozen->count);
    free(frozen);
    strike->state = NULL;
}

const struct injector injector_freeze = {.begin = begin_freeze, .end = end_freeze};

/* ------------------------------------------------------------- zombie */

/* An agent kills a child whose session has timed out. One that stands still itself does not: so its
 * child wakes after a successor has taken its place, and does what it had begun. */
static enum tn_status begin_zombie(struct target_cluster *cluster, struct strike *strike,
                                   struct error *error)
{
    enum tn_status status = begin_freeze(cluster, strike, error);
    if (status != TN_OK) { return status; }
    pid_t agent = cluster->places[0].pid;
    if (agent > 0 && kill(agent, SIGSTOP) == 0) { tell(strike, "agent", agent); }
    return TN_OK;
}

static void end_zombie(struct target_cluster *cluster, struct strike *strike)
{
    pid_t agent = cluster->places[0].pid;
    end_freeze(cluster, strike);
    (void)poll(NULL, 0, ZOMBIE_WALKS_MS);
    if (agent > 0) { (void)kill(agent, SIGCONT); }
}

const struct injector injector_zombie = {.begin = begin_zombie, .end = end_zombie};

/* ------------------------------------------------------------- crash loop */

struct crash_loop {
    pid_t last;
    uint32_t kills;
};

static enum tn_status begin_crash_loop(struct target_cluster *cluster, struct strike *strike,
                                       struct error *error)
{
    struct crash_loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = strike_with(cluster, strike, SIGKILL, "SIGKILL of each life", error);
    if (status != TN_OK) {
        free(loop);
        return status;
    }
    loop->last = target_cluster_place(cluster, strike->targets[0])->pid;
    loop->kills = 1;
    strike->state = loop;
    return TN_OK;
}

static void tick_crash_loop(struct target_cluster *cluster, struct strike *strike)
{
    struct crash_loop *loop = strike->state;
    const struct place *place = target_cluster_place(cluster, strike->targets[0]);
    if (place->pid <= 0 || place->pid == loop->last || kill(place->pid, SIGKILL) != 0) { return; }
    loop->last = place->pid;
    loop->kills++;
}

static void end_crash_loop(struct target_cluster *cluster, struct strike *strike)
{
    struct crash_loop *loop = strike->state;
    (void)cluster;
    snprintf(strike->text, sizeof strike->text, "%s was killed %u times; it may live now",
             strike->targets[0], loop->kills);
    free(loop);
    strike->state = NULL;
}

const struct injector injector_crash_loop = {
    .begin = begin_crash_loop, .tick = tick_crash_loop, .end = end_crash_loop};
