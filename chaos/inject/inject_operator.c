/* chaos/inject/inject_operator.c: mistakes of operators, which the cluster must refuse: the same
 * task twice, the same cluster twice, a node with another job. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "chaos/cluster/proc.h"
#include "chaos/cluster/subprocess.h"
#include "chaos/inject/injector.h"
#include "common/base/clock.h"

enum {
    ATTEMPTS_MAX = 2,
    ARGUMENTS_MAX = 64,
    COMMAND_LINE_MAX = 8192,
    PATIENCE_MS = 180000, /* A refusal can wait for a session timeout and more. */
    PATH_BYTES = TARGET_PATH_MAX + 64,
};

/* A command that must end with exit code `wanted`. */
struct attempt {
    const char *what; /* Static. */
    int wanted;
    bool withdrawn;
    struct subprocess command;
};

struct mistake {
    uint64_t began_ms;
    const struct component *component; /* It is a mistake while `pid` runs this component. */
    pid_t pid;                         /* The process of the component. */
    uint32_t count;
    struct attempt attempts[ATTEMPTS_MAX];
};

/* ------------------------------------------------------------- the attempts */

/* Run `arguments` in the network of `component`; NULL: in the harness's. */
static enum tn_status start_attempt(const struct target_cluster *cluster,
                                    struct active_fault *fault, const char *what, int wanted,
                                    const struct component *component, const char *const *arguments,
                                    struct error *error)
{
    char name[64];
    struct mistake *mistake = fault->state;
    assert(mistake->count < ATTEMPTS_MAX);
    struct attempt *attempt = &mistake->attempts[mistake->count];
    *attempt = (struct attempt){.what = what, .wanted = wanted};
    snprintf(name, sizeof name, "%s-%u-%s", fault_descriptor(fault->injection.fault)->name,
             fault->injection.id, what);
    for (char *at = name; *at != '\0'; at++) {
        if (*at == ' ' || *at == '/') { *at = '-'; }
    }
    enum tn_status status = subprocess_start(cluster, component != NULL ? component->name : NULL,
                                             name, arguments, &attempt->command, error);
    if (status == TN_OK) { mistake->count++; }
    return status;
}

/* The arguments of a process as an operator would type them, without those that only an agent
 * gives. `text` holds them. TN_EAGAIN: it has ended. */
static enum tn_status copy_arguments(pid_t pid, char text[static COMMAND_LINE_MAX],
                                     const char *arguments[static ARGUMENTS_MAX],
                                     struct error *error)
{
    size_t count = 0;
    ssize_t size = proc_read(pid, "cmdline", text, COMMAND_LINE_MAX);
    if (size <= 0) { return error_set(error, TN_EAGAIN, "process %ld has ended", (long)pid); }
    for (char *at = text; at < text + size && count < ARGUMENTS_MAX - 1; at += strlen(at) + 1) {
        if (strcmp(at, "--incarnation") == 0 || strcmp(at, "--session-file") == 0) {
            at += strlen(at) + 1; /* Skip the value, too. */
        } else {
            arguments[count++] = at;
        }
    }
    arguments[count] = NULL;
    return TN_OK;
}

static enum tn_status begin_twice(struct target_cluster *cluster, struct active_fault *fault,
                                  const struct component *component, struct error *error)
{
    char text[COMMAND_LINE_MAX];
    const char *arguments[ARGUMENTS_MAX];
    struct mistake *mistake = fault->state;
    if (component->pid <= 0) {
        return error_set(error, TN_EAGAIN, "%s is not running", component->name);
    }
    enum tn_status status = copy_arguments(component->pid, text, arguments, error);
    if (status != TN_OK) { return status; }
    mistake->component = component;
    fault_describe(fault, "%s, running as pid %ld, was started again by hand", component->name,
                   (long)component->pid);
    return start_attempt(cluster, fault, "its second process", TN_EXIT_TASK_TAKEN, component,
                         arguments, error);
}

static enum tn_status begin_two_clusters(struct target_cluster *cluster, struct active_fault *fault,
                                         struct error *error)
{
    char job[PATH_BYTES], other[PATH_BYTES];
    snprintf(job, sizeof job, "%s/job.json", cluster->run_dir);
    snprintf(other, sizeof other, "%s/scratch/second-%u", cluster->dir, fault->injection.id);
    const char *const same_folder[] = {"tanist", "run", job, "--dir", cluster->run_dir, "-q", NULL};
    const char *const same_name[] = {"tanist",         "run", job, "--dir", other, "--zk",
                                     cluster->connect, "-q",  NULL};
    enum tn_status status = start_attempt(cluster, fault, "a run in the same folder",
                                          TN_EXIT_INVALID_INPUT, NULL, same_folder, error);
    if (status != TN_OK) { return status; }
    fault_describe(fault, "`tanist run` was started again, in the same folder and in another one");
    return start_attempt(cluster, fault, "a run of the same name", TN_EXIT_INVALID_INPUT, NULL,
                         same_name, error);
}

static enum tn_status begin_mixed_jobs(struct target_cluster *cluster, struct active_fault *fault,
                                       const struct component *component, struct error *error)
{
    char job[PATH_BYTES], other[PATH_BYTES], seed[40], index[16];
    snprintf(job, sizeof job, "%s/job.json", cluster->run_dir);
    snprintf(other, sizeof other, "%s/scratch/mixed-%u", cluster->dir, fault->injection.id);
    snprintf(seed, sizeof seed, "seed=%" PRIu64, cluster->job->seed + 1);
    snprintf(index, sizeof index, "%u", component->task.index);
    const char *const arguments[] = {"tanist",    role_name(component->task.role),
                                     "--index",   index,
                                     "--job",     job,
                                     "--set",     seed,
                                     "--cluster", cluster->job->name,
                                     "--zk",      cluster->connect,
                                     "--dir",     other,
                                     NULL};
    fault_describe(fault, "another %s was started by hand, with %s", component->name, seed);
    return start_attempt(cluster, fault, "a node with another job", TN_EXIT_INVALID_INPUT,
                         component, arguments, error);
}

/* ------------------------------------------------------------- the judgement */

static bool was_refused(const struct attempt *attempt)
{
    return attempt->command.signal == 0 && attempt->command.exit_code == attempt->wanted;
}

/* ZooKeeper was down, the run was over, or another fault of the round (a failpoint) killed the
 * process that was started by hand. */
static bool is_inconclusive(const struct attempt *attempt)
{
    const struct subprocess *command = &attempt->command;
    return attempt->withdrawn || command->signal == SIGKILL ||
           (command->signal == 0 && (command->exit_code == TN_EXIT_CANNOT_CONNECT ||
                                     command->exit_code == TN_EXIT_UNHEALTHY ||
                                     command->exit_code == TN_EXIT_SESSION_EXPIRED));
}

static void judge(struct active_fault *fault)
{
    const struct mistake *mistake = fault->state;
    assert(mistake->count > 0);
    bool wrong = false;
    for (uint32_t i = 0; i < mistake->count; i++) {
        const struct attempt *attempt = &mistake->attempts[i];
        wrong = wrong || (!was_refused(attempt) && !is_inconclusive(attempt));
    }
    fault_describe(fault, "%s", wrong ? "WRONG: " : "");
    for (uint32_t i = 0; i < mistake->count; i++) {
        char end[200];
        const struct attempt *attempt = &mistake->attempts[i];
        subprocess_describe(&attempt->command, end, sizeof end);
        if (attempt->withdrawn) {
            snprintf(end, sizeof end, "withdrawn, because %s died", mistake->component->name);
        }
        fault_describe_item(fault, "%s: %s%s", attempt->what,
                            was_refused(attempt) ? "refused, " : "", end);
    }
}

static void withdraw(struct mistake *mistake)
{
    for (uint32_t i = 0; i < mistake->count; i++) {
        struct attempt *attempt = &mistake->attempts[i];
        if (subprocess_has_ended(&attempt->command)) { continue; }
        subprocess_stop(&attempt->command);
        attempt->withdrawn = true;
    }
}

static bool all_ended(struct mistake *mistake)
{
    bool ended = true;
    for (uint32_t i = 0; i < mistake->count; i++) {
        ended = subprocess_has_ended(&mistake->attempts[i].command) && ended;
    }
    return ended;
}

/* ------------------------------------------------------------- the injector */

static enum tn_status begin_attempts(struct target_cluster *cluster, struct active_fault *fault,
                                     struct error *error)
{
    assert(fault->targets.count > 0);
    const struct component *component = fault->targets.components[0];
    if (fault->injection.fault == FAULT_TWO_CLUSTERS) {
        return begin_two_clusters(cluster, fault, error);
    }
    if (!component->is_node) {
        return error_set(error, TN_EINVAL, "%s is not a node", component->name);
    }
    return fault->injection.fault == FAULT_TWICE
               ? begin_twice(cluster, fault, component, error)
               : begin_mixed_jobs(cluster, fault, component, error);
}

static enum tn_status begin_mistake(struct target_cluster *cluster, struct active_fault *fault,
                                    struct error *error)
{
    struct mistake *mistake = fault->state;
    const struct component *agent = &cluster->components[0];
    /* On an ensemble that has just lost its data, the first cluster to register becomes the owner:
     * that may rightly be the second one. */
    if (*cluster->chief == '\0') { return error_set(error, TN_EAGAIN, "no chief is known now"); }
    if (fault->injection.fault != FAULT_TWICE) {
        if (agent->pid <= 0) { return error_set(error, TN_EAGAIN, "the agent is not running"); }
        if (*cluster->connect == '\0') {
            return error_set(error, TN_EAGAIN, "the address of ZooKeeper is not known yet");
        }
    }
    mistake->component = agent;
    enum tn_status status = begin_attempts(cluster, fault, error);
    if (status != TN_OK) {
        withdraw(mistake);
        return status;
    }
    mistake->pid = mistake->component->pid;
    mistake->began_ms = clock_monotonic_ms();
    fault->injection.for_ms = PATIENCE_MS; /* tick_mistake() ends it earlier. */
    return TN_OK;
}

static bool component_died(const struct mistake *mistake)
{
    assert(mistake->component != NULL && mistake->pid > 0);
    return mistake->component->pid != mistake->pid ||
           (kill(mistake->pid, 0) != 0 && errno == ESRCH);
}

/* When the component's own process dies, the attempt may rightly succeed: it is withdrawn at once,
 * or has succeeded before the death was noticed. */
static void withdraw_successor(struct mistake *mistake)
{
    withdraw(mistake);
    for (uint32_t i = 0; i < mistake->count; i++) {
        struct attempt *attempt = &mistake->attempts[i];
        if (!was_refused(attempt)) { attempt->withdrawn = true; }
    }
}

static void tick_mistake(struct target_cluster *cluster, struct active_fault *fault)
{
    struct mistake *mistake = fault->state;
    (void)cluster;
    if (component_died(mistake)) { withdraw_successor(mistake); }
    if (all_ended(mistake)) { fault->injection.for_ms = 1; /* It is over. */ }
}

static void end_mistake(struct target_cluster *cluster, struct active_fault *fault)
{
    struct mistake *mistake = fault->state;
    bool in_time = clock_monotonic_ms() < mistake->began_ms + PATIENCE_MS;
    (void)cluster;
    if (component_died(mistake)) {
        withdraw_successor(mistake);
    } else if (in_time) {
        withdraw(mistake); /* The round ended before the attempts did. */
    }
    for (uint32_t i = 0; i < mistake->count; i++) {
        subprocess_stop(&mistake->attempts[i].command);
    }
    judge(fault);
}

const struct injector injector_operator = {.state_bytes = sizeof(struct mistake),
                                           .begin = begin_mistake,
                                           .tick = tick_mistake,
                                           .end = end_mistake};
