/* chaos/inject/inject_process.c: signals: kill, terminate, freeze, zombie, crash loop. */
#include <assert.h>
#include <poll.h>
#include <signal.h>

#include "chaos/cluster/proc.h"
#include "chaos/inject/injector.h"

enum { ZOMBIE_LEAD_MS = 100 };

static enum tn_status send_signal(struct target_cluster *cluster, struct active_fault *fault,
                                  int number, const char *name, struct error *error)
{
    assert(fault->targets.count > 0);
    fault_describe(fault, "%s to ", name);
    if (fault_signal_targets(cluster, fault, number) > 0) { return TN_OK; }
    return error_set(error, TN_EAGAIN, "%s is not running now", fault->injection.selector);
}

static enum tn_status begin_kill(struct target_cluster *cluster, struct active_fault *fault,
                                 struct error *error)
{
    return send_signal(cluster, fault, SIGKILL, "SIGKILL", error);
}

static enum tn_status begin_terminate(struct target_cluster *cluster, struct active_fault *fault,
                                      struct error *error)
{
    return send_signal(cluster, fault, SIGTERM, "SIGTERM", error);
}

const struct injector injector_kill = {.begin = begin_kill};
const struct injector injector_terminate = {.begin = begin_terminate};

/* ------------------------------------------------------------- freeze */

/* At the end another process may have the component. */
struct frozen {
    uint32_t count;
    pid_t pids[COMPONENTS_MAX];
};

static enum tn_status begin_freeze(struct target_cluster *cluster, struct active_fault *fault,
                                   struct error *error)
{
    struct frozen *frozen = fault->state;
    assert(frozen->count == 0);
    enum tn_status status = send_signal(cluster, fault, SIGSTOP, "SIGSTOP", error);
    for (uint32_t i = 0; status == TN_OK && i < fault->targets.count; i++) {
        pid_t pid = fault->targets.components[i]->pid;
        if (pid > 0) { frozen->pids[frozen->count++] = pid; }
    }
    return status;
}

static void end_freeze(struct target_cluster *cluster, struct active_fault *fault)
{
    const struct frozen *frozen = fault->state;
    uint32_t continued = 0;
    (void)cluster;
    assert(frozen->count > 0);
    for (uint32_t i = 0; i < frozen->count; i++) {
        bool stopped = proc_state(frozen->pids[i]) == 'T';
        if (stopped && kill(frozen->pids[i], SIGCONT) == 0) { continued++; }
    }
    fault_describe(fault, "SIGCONT: %u of %u processes still existed and continued", continued,
                   frozen->count);
}

const struct injector injector_freeze = {
    .state_bytes = sizeof(struct frozen), .begin = begin_freeze, .end = end_freeze};

/* ------------------------------------------------------------- zombie */

/* An agent kills a child whose session has expired, but not while it is frozen itself. So the node
 * continues after a successor has taken its component, with everything it had begun. */
static enum tn_status begin_zombie(struct target_cluster *cluster, struct active_fault *fault,
                                   struct error *error)
{
    enum tn_status status = begin_freeze(cluster, fault, error);
    if (status != TN_OK) { return status; }
    pid_t agent = cluster->components[0].pid;
    if (agent > 0 && kill(agent, SIGSTOP) == 0) {
        fault_describe_item(fault, "agent (pid %ld)", (long)agent);
    }
    return TN_OK;
}

static void end_zombie(struct target_cluster *cluster, struct active_fault *fault)
{
    pid_t agent = cluster->components[0].pid;
    end_freeze(cluster, fault);
    (void)poll(NULL, 0, ZOMBIE_LEAD_MS);
    if (agent > 0) { (void)kill(agent, SIGCONT); }
}

const struct injector injector_zombie = {
    .state_bytes = sizeof(struct frozen), .begin = begin_zombie, .end = end_zombie};

/* ------------------------------------------------------------- crash loop */

struct crash_loop {
    pid_t last;
    uint32_t kills;
};

static enum tn_status begin_crash_loop(struct target_cluster *cluster, struct active_fault *fault,
                                       struct error *error)
{
    struct crash_loop *loop = fault->state;
    *loop = (struct crash_loop){.last = fault->targets.components[0]->pid, .kills = 1};
    return send_signal(cluster, fault, SIGKILL, "SIGKILL of each incarnation", error);
}

static void tick_crash_loop(struct target_cluster *cluster, struct active_fault *fault)
{
    struct crash_loop *loop = fault->state;
    const struct component *component = fault->targets.components[0];
    (void)cluster;
    assert(loop->kills > 0);
    if (component->pid <= 0 || component->pid == loop->last || kill(component->pid, SIGKILL) != 0) {
        return;
    }
    loop->last = component->pid;
    loop->kills++;
}

static void end_crash_loop(struct target_cluster *cluster, struct active_fault *fault)
{
    const struct crash_loop *loop = fault->state;
    (void)cluster;
    fault_describe(fault, "%s was killed %u times and may run now",
                   fault->targets.components[0]->name, loop->kills);
}

const struct injector injector_crash_loop = {.state_bytes = sizeof(struct crash_loop),
                                             .begin = begin_crash_loop,
                                             .tick = tick_crash_loop,
                                             .end = end_crash_loop};
