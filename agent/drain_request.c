#include "agent/drain_request.h"

#include <assert.h>

#include "common/base/log.h"
#include "common/base/minmax.h"

void drain_request_start(struct drain_request *drain, const char *cluster, const char *host,
                         uint64_t next_op, const struct zk_port *zk, uint64_t now_ms)
{
    char path[ZK_PATH_MAX];
    assert(host != NULL);
    drain->next_op = next_op;
    znode_drain_path(path, cluster, host);
    request_watch_start(&drain->watch, path, zk, &drain->next_op, now_ms);
}

uint32_t drain_request_handle(struct drain_request *drain, const struct zk_event *event,
                              const struct zk_port *zk, uint64_t now_ms)
{
    struct request request;
    struct error error;
    if (!request_watch_handle(&drain->watch, event, zk, &drain->next_op, now_ms)) { return 0; }
    if (request_decode(event->data, event->size, &request, &error) != TN_OK) {
        log_warn("request to drain ignored: %s", error.text);
        return 0;
    }
    if (request.kind != REQUEST_DRAIN) {
        log_warn("request ignored: %s: its kind is \"%s\", expected \"drain\"",
                 drain->watch.watch.path, request_kind_name(request.kind));
        return 0;
    }
    if (!request_watch_accept(&drain->watch, event, zk, &drain->next_op)) { return 0; }
    log_info("request to drain this host from %s", request.by);
    return (uint32_t)u64_max(1, u64_min(request.step, DRAIN_MOST_MS));
}

void drain_request_tick(struct drain_request *drain, const struct zk_port *zk, uint64_t now_ms)
{
    znode_watch_tick(&drain->watch.watch, zk, &drain->next_op, now_ms);
}

uint64_t drain_request_deadline_ms(const struct drain_request *drain)
{
    return znode_watch_deadline_ms(&drain->watch.watch);
}
