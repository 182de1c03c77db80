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
    znode_watch_start(&drain->watch, WATCH_DATA, path, zk, &drain->next_op, now_ms);
}

uint32_t drain_request_handle(struct drain_request *drain, const struct zk_event *event,
                              const struct zk_port *zk, uint64_t now_ms)
{
    struct request request;
    struct error error;
    if (znode_watch_handle(&drain->watch, event, zk, &drain->next_op, now_ms) != WATCH_PRESENT) {
        return 0;
    }
    if (request_decode(event->data, event->size, &request, &error) != TN_OK) {
        log_warn("request to drain ignored: %s", error.text);
        return 0;
    }
    if (request.kind != REQUEST_DRAIN) {
        log_warn("request ignored: %s: its kind is \"%s\", expected \"drain\"", drain->watch.path,
                 request_kind_name(request.kind));
        return 0;
    }
    const struct zk_write accept = {
        .kind = ZK_DELETE, .path = drain->watch.path, .version = event->stat.version};
    zk->write(zk->ctx, ++drain->next_op, &accept, 1);
    log_info("request to drain this host from %s", request.by);
    return (uint32_t)u64_max(1, u64_min(request.step, DRAIN_MOST_MS));
}
