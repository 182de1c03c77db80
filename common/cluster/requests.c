#include "common/cluster/requests.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"

enum { POLL_MS = 20 };

/* "pid 123 on alpha" */
static void describe_sender(char text[static HOST_NAME_MAX_BYTES])
{
    char host[HOST_NAME_MAX_BYTES] = "";
    (void)gethostname(host, sizeof host - 1);
    snprintf(text, HOST_NAME_MAX_BYTES, "pid %ld on %.40s", (long)getpid(), host);
}

enum tn_status request_send(struct zk_sync *sync, const char *cluster, const struct request *wanted,
                            struct sent_request *sent, struct error *error)
{
    assert(wanted->kind < REQUEST_KINDS);
    char path[ZK_PATH_MAX], rest[64], text[ZNODE_JSON_MAX];
    struct request request = *wanted;
    request.wall_ms = clock_wall_ms();
    describe_sender(request.by);
    snprintf(sent->prefix, sizeof sent->prefix, "n-%016" PRIx64 "-", clock_new_incarnation());
    snprintf(rest, sizeof rest, "requests/%s", sent->prefix);
    znode_path(path, cluster, rest);
    const struct zk_write write = {.kind = ZK_CREATE,
                                   .path = path,
                                   .data = text,
                                   .size = request_encode(&request, text),
                                   .flags = ZK_EPHEMERAL | ZK_SEQUENTIAL};
    return zk_sync_write(sync, &write, 1, error);
}

/* Whether a child of /requests is the request. */
static bool is_sent(const struct sent_request *sent, const char *name)
{
    assert(sent->prefix[0] != '\0');
    return strncmp(name, sent->prefix, strlen(sent->prefix)) == 0;
}

enum tn_status request_find(struct zk_sync *sync, const char *cluster,
                            const struct sent_request *sent, struct error *error)
{
    char path[ZK_PATH_MAX];
    struct zk_sync_list found = {0};
    znode_path(path, cluster, "requests");
    enum tn_status status = zk_sync_list(sync, path, &found, error);
    if (status != TN_OK) { return status; }
    status = TN_ENOENT;
    for (size_t i = 0; i < found.count; i++) {
        if (is_sent(sent, found.names[i])) { status = TN_OK; }
    }
    zk_sync_list_free(&found);
    return status;
}

enum tn_status request_withdraw(struct zk_sync *sync, const char *cluster,
                                const struct sent_request *sent, struct error *error)
{
    char path[ZK_PATH_MAX], rest[ZK_PATH_MAX];
    struct zk_sync_list found = {0};
    znode_path(path, cluster, "requests");
    enum tn_status status = zk_sync_list(sync, path, &found, error);
    if (status != TN_OK) { return status; }
    status = TN_ENOENT;
    for (size_t i = 0; i < found.count; i++) {
        if (!is_sent(sent, found.names[i])) { continue; }
        snprintf(rest, sizeof rest, "requests/%.100s", found.names[i]);
        znode_path(path, cluster, rest);
        const struct zk_write write = {.kind = ZK_DELETE, .path = path, .version = ZK_ANY_VERSION};
        status = zk_sync_write(sync, &write, 1, error);
    }
    zk_sync_list_free(&found);
    return status;
}

/* ------------------------------------------------------------------- kill */

static enum tn_status read_chief(struct zk_sync *sync, const char *cluster,
                                 struct chief_record *out, struct error *error)
{
    char path[ZK_PATH_MAX];
    struct zk_sync_data data;
    znode_path(path, cluster, "chief");
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status != TN_OK) { return status; }
    if (data.size == 0) {
        status = error_set(error, TN_EAGAIN, "%s has no chief yet", cluster);
    } else {
        status = chief_record_decode(data.data, data.size, out, error);
    }
    free(data.data);
    return status;
}

enum tn_status request_find_member(struct zk_sync *sync, const char *cluster, const char *task,
                                   struct member *out, struct error *error)
{
    assert(task != NULL && out != NULL);
    char path[ZK_PATH_MAX];
    struct zk_sync_data data;
    struct chief_record record = {0};
    const bool chief = strcmp(task, "chief") == 0;
    struct task wanted;
    if (chief) {
        enum tn_status status = read_chief(sync, cluster, &record, error);
        if (status != TN_OK) { return status; }
        wanted = record.task;
    } else if (!task_parse(task, &wanted)) {
        return error_set(error, TN_EINVAL, "\"%s\" is not a task: give ps:1, worker:0, or chief",
                         task);
    }
    znode_member_path(path, cluster, wanted);
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status == TN_ENOENT) {
        return error_set(error, TN_EAGAIN,
                         "%s of %s is not running now: `tanist status` lists the tasks", task,
                         cluster);
    }
    if (status != TN_OK) { return status; }
    status = member_decode(data.data, data.size, out, error);
    free(data.data);
    if (status == TN_OK && chief && out->incarnation != record.incarnation) {
        status = error_set(error, TN_EAGAIN, "%s has no chief now", cluster);
    }
    return status;
}

static enum tn_status create_request(struct zk_sync *sync, const char *path,
                                     const struct kill_request *request, struct error *error)
{
    assert(request->signal < KILL_SIGNALS);
    char text[ZNODE_JSON_MAX];
    const struct zk_write write = {
        .kind = ZK_CREATE, .path = path, .data = text, .size = kill_request_encode(request, text)};
    return zk_sync_write(sync, &write, 1, error);
}

/* TN_OK: the request waits; TN_ENOENT: it was taken. */
static enum tn_status read_request(struct zk_sync *sync, const char *path, struct error *error)
{
    struct zk_sync_data data;
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status == TN_OK) { free(data.data); }
    return status;
}

/* Another operator's request may be waiting: try again until `until_ms`. */
static enum tn_status create_in_turn(struct zk_sync *sync, const char *path,
                                     const struct kill_request *request, uint64_t until_ms,
                                     struct error *error)
{
    enum tn_status status = create_request(sync, path, request, error);
    while (status == TN_EEXIST && clock_monotonic_ms() < until_ms) {
        (void)poll(NULL, 0, POLL_MS);
        status = create_request(sync, path, request, error);
    }
    return status;
}

enum tn_status request_kill(struct zk_sync *sync, const char *cluster, const struct member *member,
                            enum kill_signal signal, uint32_t wait_ms, struct error *error)
{
    assert(signal < KILL_SIGNALS);
    char path[ZK_PATH_MAX], task[TASK_NAME_MAX];
    struct kill_request request = {
        .incarnation = member->incarnation, .signal = signal, .wall_ms = clock_wall_ms()};
    const uint64_t until_ms = clock_monotonic_ms() + wait_ms;
    describe_sender(request.by);
    task_format(member->task, ':', task, sizeof task);
    znode_kill_path(path, cluster, member->task);
    enum tn_status status = create_in_turn(sync, path, &request, until_ms, error);
    if (status != TN_OK && status != TN_EEXIST && status != TN_ENOENT) { return status; }
    while (status == TN_OK && clock_monotonic_ms() < until_ms) {
        (void)poll(NULL, 0, POLL_MS);
        status = read_request(sync, path, error);
        if (status == TN_ENOENT) { return TN_OK; }
    }
    if (status != TN_OK && status != TN_EEXIST && status != TN_ENOENT) { return status; }
    const struct zk_write withdraw = {.kind = ZK_DELETE, .path = path, .version = ZK_ANY_VERSION};
    const bool created = status == TN_OK;
    status = zk_sync_write(sync, &withdraw, 1, error);
    if (created && status == TN_ENOENT) { return TN_OK; /* Taken at the last moment. */ }
    if (status != TN_OK && status != TN_ENOENT) {
        return error_context(error, "%s may still be killed: the request was not withdrawn", task);
    }
    return error_set(error, TN_EUNHEALTHY,
                     "no agent that allows faults runs %s: start its agent with --allow-chaos",
                     task);
}
