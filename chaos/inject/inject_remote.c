/* chaos/inject/inject_remote.c: faults that need access to ZooKeeper only:
 * chaos/cluster/remote.h. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "chaos/cluster/remote.h"
#include "chaos/inject/injector.h"
#include "common/base/clock.h"

enum { LOOK_MS = 100, RESUME_TRIES = 3 };

/* The incarnations that got the signal. */
struct signalled {
    uint32_t count;
    struct member members[TASKS_MAX];
    uint64_t look_at_ms;
    uint32_t kills;
};

static enum tn_status signal_one(struct target_cluster *cluster, struct active_fault *fault,
                                 const char *name, enum kill_signal signal, struct error *error)
{
    struct signalled *signalled = fault->state;
    assert(signalled->count < TASKS_MAX);
    struct member *member = &signalled->members[signalled->count];
    char task[TASK_NAME_MAX];
    enum tn_status status = remote_find(cluster->remote, name, member, error);
    if (status == TN_OK) { status = remote_signal(cluster->remote, member, signal, error); }
    if (status != TN_OK) { return status; }
    signalled->count++;
    task_format(member->task, ':', task, sizeof task);
    struct component *component = target_cluster_component(cluster, task);
    if (component != NULL) { fault->targets.components[fault->targets.count++] = component; }
    fault_describe_item(fault, "%s (pid %" PRIu64 " on %s)", task, member->pid, member->host);
    return TN_OK;
}

/* "everything" is every node; a node that does not run now is left out. */
static enum tn_status signal_all(struct target_cluster *cluster, struct active_fault *fault,
                                 enum kill_signal signal, struct error *error)
{
    const struct signalled *signalled = fault->state;
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (!cluster->components[i].is_node) { continue; }
        enum tn_status status =
            signal_one(cluster, fault, cluster->components[i].name, signal, error);
        if (status != TN_OK && status != TN_EAGAIN) { return status; }
    }
    if (signalled->count > 0) { return TN_OK; }
    return error_set(error, TN_EAGAIN, "no node is running now");
}

static enum tn_status send_signal(struct target_cluster *cluster, struct active_fault *fault,
                                  enum kill_signal signal, const char *name, struct error *error)
{
    assert(cluster->remote != NULL);
    const char *selector = fault->injection.selector;
    struct task task;
    fault->targets.count = 0;
    fault_describe(fault, "%s to ", name);
    if (strcmp(selector, "everything") == 0) { return signal_all(cluster, fault, signal, error); }
    if (strcmp(selector, "chief") == 0 || task_parse(selector, &task)) {
        return signal_one(cluster, fault, selector, signal, error);
    }
    return error_set(error, TN_ENOTSUP, "%s is out of reach: only nodes can be signalled",
                     selector);
}

/* ------------------------------------------------------------- kill, terminate, freeze */

static enum tn_status begin_kill(struct target_cluster *cluster, struct active_fault *fault,
                                 struct error *error)
{
    return send_signal(cluster, fault, KILL_SIGKILL, "SIGKILL", error);
}

static enum tn_status begin_terminate(struct target_cluster *cluster, struct active_fault *fault,
                                      struct error *error)
{
    return send_signal(cluster, fault, KILL_SIGTERM, "SIGTERM", error);
}

static enum tn_status begin_freeze(struct target_cluster *cluster, struct active_fault *fault,
                                   struct error *error)
{
    return send_signal(cluster, fault, KILL_SIGSTOP, "SIGSTOP", error);
}

/* The request names the incarnation, so that a successor is not meant. */
static void end_freeze(struct target_cluster *cluster, struct active_fault *fault)
{
    const struct signalled *signalled = fault->state;
    struct error error;
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < signalled->count; i++) {
        accepted +=
            remote_signal(cluster->remote, &signalled->members[i], KILL_SIGCONT, &error) == TN_OK;
    }
    fault_describe(fault, "SIGCONT: %u of %u requests were accepted", accepted, signalled->count);
}

const struct injector injector_remote_kill = {.state_bytes = sizeof(struct signalled),
                                              .begin = begin_kill};
const struct injector injector_remote_terminate = {.state_bytes = sizeof(struct signalled),
                                                   .begin = begin_terminate};
const struct injector injector_remote_freeze = {
    .state_bytes = sizeof(struct signalled), .begin = begin_freeze, .end = end_freeze};

/* ------------------------------------------------------------- crash loop */

static enum tn_status begin_crash_loop(struct target_cluster *cluster, struct active_fault *fault,
                                       struct error *error)
{
    struct signalled *signalled = fault->state;
    assert(signalled->count == 0);
    signalled->kills = 1;
    return send_signal(cluster, fault, KILL_SIGKILL, "SIGKILL of each incarnation", error);
}

static void tick_crash_loop(struct target_cluster *cluster, struct active_fault *fault)
{
    struct signalled *signalled = fault->state;
    struct member *last = &signalled->members[0], now;
    struct error error;
    const uint64_t now_ms = clock_monotonic_ms();
    char task[TASK_NAME_MAX];
    assert(signalled->count > 0);
    if (now_ms < signalled->look_at_ms) { return; }
    signalled->look_at_ms = now_ms + LOOK_MS;
    task_format(last->task, ':', task, sizeof task);
    if (remote_find(cluster->remote, task, &now, &error) != TN_OK) { return; }
    if (now.incarnation == last->incarnation) { return; }
    if (remote_signal(cluster->remote, &now, KILL_SIGKILL, &error) != TN_OK) { return; }
    *last = now;
    signalled->kills++;
}

static void end_crash_loop(struct target_cluster *cluster, struct active_fault *fault)
{
    const struct signalled *signalled = fault->state;
    char task[TASK_NAME_MAX];
    (void)cluster;
    task_format(signalled->members[0].task, ':', task, sizeof task);
    fault_describe(fault, "%s was killed %u times and may run now", task, signalled->kills);
}

const struct injector injector_remote_crash_loop = {.state_bytes = sizeof(struct signalled),
                                                    .begin = begin_crash_loop,
                                                    .tick = tick_crash_loop,
                                                    .end = end_crash_loop};

/* ------------------------------------------------------------- requests */

static enum tn_status begin_resign(struct target_cluster *cluster, struct active_fault *fault,
                                   struct error *error)
{
    fault_describe(fault, "the chief is asked to resign");
    return remote_request(cluster->remote, REQUEST_RESIGN, error);
}

static enum tn_status begin_pause(struct target_cluster *cluster, struct active_fault *fault,
                                  struct error *error)
{
    fault_describe(fault, "the chief is asked to pause the workers");
    return remote_request(cluster->remote, REQUEST_PAUSE, error);
}

/* The job belongs to someone: it must not stay paused because one request failed. */
static void end_pause(struct target_cluster *cluster, struct active_fault *fault)
{
    struct error error = {0};
    enum tn_status status = TN_EAGAIN;
    for (int i = 0; i < RESUME_TRIES && status != TN_OK; i++) {
        status = remote_request(cluster->remote, REQUEST_RESUME, &error);
    }
    if (status == TN_OK) {
        fault_describe(fault, "the chief is asked to resume");
    } else {
        fault_describe(fault, "%.400s; `tanist resume` ends the pause", error.text);
    }
}

const struct injector injector_remote_resign = {.begin = begin_resign};
const struct injector injector_remote_pause = {.begin = begin_pause, .end = end_pause};
