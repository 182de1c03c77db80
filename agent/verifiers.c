#include "agent/verifiers.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"

/* Verifying must not slow down training. */
enum { NICE = 10, STOP_MS = 200 };

void verifiers_start(struct verifiers *verifiers, struct children *children, uint64_t next_op,
                     const struct zk_port *zk, uint64_t now_ms)
{
    char path[ZK_PATH_MAX];
    assert(children != NULL && verifiers->count <= VERIFIERS_MAX);
    verifiers->children = children;
    verifiers->next_op = next_op;
    znode_path(path, children->config->job->name, "verifications");
    znode_watch_start(&verifiers->watch, WATCH_CHILDREN, path, zk, &verifiers->next_op, now_ms);
}

static enum tn_status spawn(struct verifiers *verifiers, struct verifier *verifier,
                            struct error *error)
{
    const struct agent_config *config = verifiers->children->config;
    char log_path[CHILD_PATH_MAX];
    const char *const arguments[] = {"tanist",          "checkpoints", "answer",        "--request",
                                     verifier->request, "--zk",        config->connect, "--cluster",
                                     config->job->name, "--dir",       config->dir,     NULL};
    char *const *environment = children_environment(verifiers->children);
    if (environment == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    snprintf(log_path, sizeof log_path, "%s/logs/verify.log", config->dir);
    const struct process_config process = {.program = "/proc/self/exe",
                                           .arguments = arguments,
                                           .environment = environment,
                                           .log_path = log_path,
                                           .nice = children_nice(verifiers->children, NICE)};
    return process_start(&process, &verifier->process, error);
}

static bool is_listed(const struct zk_event *event, const char *request)
{
    for (size_t i = 0; i < event->child_count; i++) {
        if (strcmp(event->children[i], request) == 0) { return true; }
    }
    return false;
}

/* Forget requests that were removed. A process that runs still notices that itself. */
static void forget(struct verifiers *verifiers, const struct zk_event *event)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < verifiers->count; i++) {
        const struct verifier *verifier = &verifiers->list[i];
        if (verifier->process.pid == 0 && !is_listed(event, verifier->request)) { continue; }
        verifiers->list[kept++] = *verifier;
    }
    verifiers->count = kept;
}

static bool is_known(const struct verifiers *verifiers, const char *request)
{
    assert(verifiers->count <= VERIFIERS_MAX);
    for (uint32_t i = 0; i < verifiers->count; i++) {
        if (strcmp(verifiers->list[i].request, request) == 0) { return true; }
    }
    return false;
}

static void begin(struct verifiers *verifiers, const char *request)
{
    struct error error;
    assert(verifiers->count < VERIFIERS_MAX);
    struct verifier *verifier = &verifiers->list[verifiers->count++];
    *verifier = (struct verifier){0};
    snprintf(verifier->request, sizeof verifier->request, "%s", request);
    if (spawn(verifiers, verifier, &error) != TN_OK) {
        log_warn("verification %s cannot start: %s", request, error.text);
    }
}

void verifiers_handle(struct verifiers *verifiers, const struct zk_event *event,
                      const struct zk_port *zk, uint64_t now_ms)
{
    if (znode_watch_handle(&verifiers->watch, event, zk, &verifiers->next_op, now_ms) !=
        WATCH_PRESENT) {
        return;
    }
    forget(verifiers, event);
    for (size_t i = 0; i < event->child_count && verifiers->count < VERIFIERS_MAX; i++) {
        const char *name = event->children[i];
        if (!verification_is_request(name) || is_known(verifiers, name)) { continue; }
        begin(verifiers, name);
    }
}

void verifiers_tick(struct verifiers *verifiers, const struct zk_port *zk, uint64_t now_ms)
{
    znode_watch_tick(&verifiers->watch, zk, &verifiers->next_op, now_ms);
}

uint64_t verifiers_deadline_ms(const struct verifiers *verifiers)
{
    return znode_watch_deadline_ms(&verifiers->watch);
}

nfds_t verifiers_poll(const struct verifiers *verifiers, struct pollfd polled[static VERIFIERS_MAX])
{
    nfds_t count = 0;
    assert(verifiers->count <= VERIFIERS_MAX);
    for (uint32_t i = 0; i < verifiers->count; i++) {
        const struct process *process = &verifiers->list[i].process;
        if (process->pid == 0) { continue; }
        polled[count++] = (struct pollfd){.fd = process->pidfd, .events = POLLIN};
    }
    return count;
}

void verifiers_reap(struct verifiers *verifiers, const struct zk_port *zk)
{
    bool reaped = false;
    assert(verifiers->count <= VERIFIERS_MAX);
    for (uint32_t i = 0; i < verifiers->count; i++) {
        struct verifier *verifier = &verifiers->list[i];
        int exit_code = 0, signal_number = 0;
        char end[128];
        if (verifier->process.pid == 0 ||
            !process_wait(&verifier->process, 0, &exit_code, &signal_number)) {
            continue;
        }
        reaped = true;
        if (exit_code == 0 && signal_number == 0) { continue; }
        process_describe_end(exit_code, signal_number, end, sizeof end);
        log_warn("verification %s: %s; see %s/logs/verify.log", verifier->request, end,
                 verifiers->children->config->dir);
    }
    /* List again: a request may be waiting for a free entry. */
    if (reaped && zk != NULL) { znode_watch_refresh(&verifiers->watch, zk, &verifiers->next_op); }
}

void verifiers_stop(struct verifiers *verifiers)
{
    assert(verifiers->count <= VERIFIERS_MAX);
    for (uint32_t i = 0; i < verifiers->count; i++) {
        struct process *process = &verifiers->list[i].process;
        int exit_code = 0, signal_number = 0;
        if (process->pid == 0) { continue; }
        (void)kill(process->pid, SIGKILL);
        /* One that waits for its disk may outlive the agent. */
        (void)process_wait(process, STOP_MS, &exit_code, &signal_number);
    }
    verifiers->count = 0;
}
