/* cli/operate/drain.c: `tanist drain`: the nodes of one host leave without the loss of a step. */
#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cluster_read.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/target.h"
#include "cli/wait_notice.h"
#include "common/base/clock.h"

enum {
    DEADLINE_S = 25,
    ACCEPT_MS = 4000,  /* An agent accepts the request in milliseconds. */
    KILLED_MS = 10000, /* From the deadline until the last node has left. */
    POLL_MS = 20
};

/* The nodes of a host. */
struct host {
    const char *name;
    char address[TRANSPORT_ADDRESS_MAX]; /* As the agent's --host; "": no node was found. */
    uint32_t count;
    struct member members[TASKS_MAX];
};

/* The host of "tcp://10.0.0.1:4000". */
static void host_of(const char *address, char out[static TRANSPORT_ADDRESS_MAX])
{
    const char *first = strstr(address, "://");
    first = first != NULL ? first + strlen("://") : address;
    const char *last = strrchr(first, ':');
    size_t length = last != NULL ? (size_t)(last - first) : strlen(first);
    snprintf(out, TRANSPORT_ADDRESS_MAX, "%.*s", (int)length, first);
}

static enum tn_status add_members(struct zk_sync *sync, const char *cluster, enum role role,
                                  uint32_t count, struct host *host, struct error *error)
{
    assert(role < ROLE_COUNT);
    for (uint32_t i = 0; i < count; i++) {
        char address[TRANSPORT_ADDRESS_MAX];
        struct member member;
        const struct task task = {.role = role, .index = i};
        enum tn_status status = cluster_read_member(sync, cluster, task, &member, error);
        if (status == TN_ENOENT) { continue; }
        if (status != TN_OK) { return status; }
        host_of(member.address, address);
        if (strcmp(host->name, address) != 0 && strcmp(host->name, member.host) != 0) { continue; }
        if (*host->address && strcmp(host->address, address) != 0) {
            return error_set(
                error, TN_EINVAL,
                "--host: %s has agents with the addresses %s and %s: give one of these", host->name,
                host->address, address);
        }
        memcpy(host->address, address, sizeof address);
        host->members[host->count++] = member;
    }
    return TN_OK;
}

static enum tn_status find_host(struct zk_sync *sync, const char *cluster, const struct spec *spec,
                                struct host *host, struct error *error)
{
    const struct task_counts counts = spec_tasks(spec);
    for (int role = 0; role < ROLE_COUNT; role++) {
        enum tn_status status =
            add_members(sync, cluster, (enum role)role, counts.of[role], host, error);
        if (status != TN_OK) { return status; }
    }
    if (host->count > 0) { return TN_OK; }
    return error_set(error, TN_EUNHEALTHY,
                     "no node of %s runs on %s: `tanist status` lists the hosts", cluster,
                     host->name);
}

/* TN_OK: the agent has accepted the request. */
static enum tn_status ask_agent(struct zk_sync *sync, const char *cluster, const struct host *host,
                                uint64_t within_ms, struct error *error)
{
    char path[ZK_PATH_MAX], text[ZNODE_JSON_MAX];
    struct request request = {.kind = REQUEST_DRAIN, .wall_ms = clock_wall_ms(), .step = within_ms};
    snprintf(request.by, sizeof request.by, "pid %ld", (long)getpid());
    znode_drain_path(path, cluster, host->address);
    const struct zk_write ask = {.kind = ZK_CREATE,
                                 .path = path,
                                 .data = text,
                                 .size = request_encode(&request, text),
                                 .flags = ZK_EPHEMERAL};
    enum tn_status status = zk_sync_write(sync, &ask, 1, error);
    if (status != TN_OK && status != TN_EEXIST) { return status; }
    for (uint64_t end_ms = clock_monotonic_ms() + ACCEPT_MS; clock_monotonic_ms() < end_ms;) {
        struct zk_sync_data data;
        status = zk_sync_read(sync, path, &data, error);
        if (status == TN_ENOENT) { return TN_OK; }
        if (status != TN_OK) { return status; }
        free(data.data);
        (void)poll(NULL, 0, POLL_MS);
    }
    const struct zk_write withdraw = {.kind = ZK_DELETE, .path = path, .version = ZK_ANY_VERSION};
    status = zk_sync_write(sync, &withdraw, 1, error);
    if (status == TN_ENOENT) { return TN_OK; /* Accepted at the last moment. */ }
    if (status != TN_OK) { return status; }
    return error_set(
        error, TN_EUNHEALTHY,
        "no agent with the address %s accepts the request: stop the nodes of that host "
        "by SIGTERM, ps first",
        host->address);
}

/* True: the node has left. */
static enum tn_status has_left(struct zk_sync *sync, const char *cluster,
                               const struct member *member, bool *left, struct error *error)
{
    struct member now;
    enum tn_status status = cluster_read_member(sync, cluster, member->task, &now, error);
    *left = status == TN_ENOENT || (status == TN_OK && now.incarnation != member->incarnation);
    return status == TN_ENOENT ? TN_OK : status;
}

/* The servers of a local run end with its nodes: then all have left. */
static bool ended_with_nodes(const struct target *target, enum tn_status status)
{
    return (status == TN_ETIMEDOUT || status == TN_EEXPIRED) && target_agent_is_gone(target);
}

/* The agent of a local run shows by its end that all have left, even if our session has expired. */
static bool reads_again(const struct target *target, enum tn_status status)
{
    return target_reads_again(target, status) || (status == TN_EEXPIRED && target->dir != NULL);
}

static enum tn_status wait_empty(struct zk_sync *sync, const struct target *target,
                                 const struct host *host, uint64_t within_ms, struct error *error)
{
    struct wait_notice notice = wait_notice_start(clock_monotonic_ms());
    for (uint32_t i = 0; i < host->count;) {
        bool left = false;
        char name[TASK_NAME_MAX];
        enum tn_status status = has_left(sync, target->cluster, &host->members[i], &left, error);
        if (ended_with_nodes(target, status)) { return TN_OK; }
        const uint64_t now_ms = clock_monotonic_ms();
        const bool over = now_ms - notice.start_ms >= within_ms;
        if (status != TN_OK && (over || !reads_again(target, status))) { return status; }
        i += left;
        if (left) { continue; }
        task_format(host->members[i].task, ':', name, sizeof name);
        if (over) {
            return error_set(error, TN_EUNHEALTHY, "%s has not left %s: see the log of its agent",
                             name, host->name);
        }
        if (wait_notice_due(&notice, now_ms)) {
            (void)fprintf(stderr, "still waiting after %" PRIu64 " s (%s has not left %s)\n",
                          wait_notice_seconds(&notice, now_ms), name, host->name);
        }
        (void)poll(NULL, 0, POLL_MS);
    }
    return TN_OK;
}

static enum tn_status drain(struct target *target, struct host *host, uint64_t within_ms,
                            struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec;
    const uint64_t start_ms = clock_monotonic_ms();
    enum tn_status status = target_open(target, &sync, &spec, NULL, error);
    if (status != TN_OK) { return status; }
    status = find_host(sync, target->cluster, &spec, host, error);
    if (status == TN_OK) { status = ask_agent(sync, target->cluster, host, within_ms, error); }
    if (status == TN_OK) { status = wait_empty(sync, target, host, within_ms + KILLED_MS, error); }
    zk_sync_close(sync);
    if (status == TN_OK && clock_monotonic_ms() - start_ms >= within_ms) {
        return error_set(error, TN_EUNHEALTHY,
                         "the nodes of %s did not leave within %" PRIu64
                         " s and were killed; steps since the last checkpoint may be lost",
                         host->name, within_ms / 1000);
    }
    return status;
}

static int print_done(const char *cluster, const struct host *host, bool json)
{
    if (!json) {
        fprintf(stderr, "%s: all nodes of %s have left\n", cluster, host->name);
        return TN_EXIT_OK;
    }
    json_t *tasks = json_array();
    for (uint32_t i = 0; i < host->count; i++) {
        char task[TASK_NAME_MAX];
        task_format(host->members[i].task, ':', task, sizeof task);
        json_array_append_new(tasks, json_string(task));
    }
    return output_json(json_pack("{s:i, s:s, s:s, s:s, s:o}", "version", 1, "cluster", cluster,
                                 "host", host->name, "address", host->address, "tasks", tasks),
                       JSON_INDENT(2));
}

int command_drain(int argc, char **argv)
{
    struct target_options given = {0};
    struct option_number deadline_s = {.value = DEADLINE_S};
    const char *name = NULL, *output = NULL;
    int exit_code = 0;
    struct options options = {
        .command = "drain",
        .synopsis = "--host HOST " TARGET_SYNOPSIS,
        .about = "Stop all nodes of one host without losing a step, as SIGTERM to its agent does. "
                 "If the host has a ps,\ntraining stops at a checkpoint; otherwise it continues, "
                 "and slices move to other workers. The agent\nexits; start it again to bring the "
                 "tasks back.",
        .examples = "  tanist drain --host 10.0.0.2 --zk h1:2181,h2:2181 --cluster NAME\n"};
    target_options_add(&options, &given);
    options_text(&options, "host", &name, "HOST", "Address (--host of the agent) or name.");
    options_range(&options, "deadline", &deadline_s, "SECONDS", 1, DRAIN_MOST_MS / 1000,
                  "When to kill nodes that still run; 1 to 55, default 25.");
    output_option_text(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct target target;
    struct error error = {0};
    struct host *host = calloc(1, sizeof *host);
    enum tn_status status = TN_OK;
    if (host == NULL) {
        status = error_set(&error, TN_ENOMEM, "out of memory");
    } else if (name == NULL) {
        status = error_set(&error, TN_EINVAL, "--host is missing: give the host to drain");
    }
    if (status == TN_OK) { status = target_find(&given, &target, &error); }
    if (status == TN_OK) {
        host->name = name;
        status = drain(&target, host, deadline_s.value * 1000, &error);
    }
    exit_code = status == TN_OK ? print_done(target.cluster, host, output_is_json(output))
                                : command_failed(&error);
    free(host);
    return exit_code;
}
