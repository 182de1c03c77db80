/* Memory that a ps shares: whether it does as the job demands it (transport.lane), and the places
 * of gradients there. */
#include <assert.h>
#include <inttypes.h>

#include "common/base/log.h"
#include "worker/worker_private.h"

/* The lane listener of a ps that is exiting or starting may not answer: dial again a few times. */
enum { WITHOUT_LANE_MAX = 20 };

bool worker_accepts_lane(struct worker *worker, uint32_t ps, bool by_lane)
{
    struct link *link = &worker->links.items[ps];
    const struct transport_port *port = &worker->ports.transport;
    assert(ps < worker->links.count);
    link->by_lane = by_lane;
    if (by_lane || worker->config.job->transport.lane != LANE_SHM) {
        log_info("connected to ps:%" PRIu32 " at %s: lane=%s", ps, link->address,
                 by_lane ? "shm" : "tcp");
        link->without_lane = 0;
        return true;
    }
    if (++link->without_lane < WITHOUT_LANE_MAX) {
        port->close(port->ctx, link->conn);
        return false;
    }
    log_error("ps:%" PRIu32 " at %s cannot be reached through shared memory, which "
              "transport.lane=shm demands: run it on this host, in the same network namespace and "
              "as the same user, or set transport.lane to auto or tcp",
              ps, link->address);
    worker_finish(worker, TN_EXIT_INVALID_INPUT);
    return false;
}

struct buffer *worker_reserve(void *worker, uint32_t ps, uint32_t line, size_t bytes)
{
    const struct worker *self = worker;
    const struct link *link = &self->links.items[ps];
    const struct transport_port *port = &self->ports.transport;
    if (port->reserve == NULL || !link->open || bytes > port->chunk_bytes) { return NULL; }
    return port->reserve(port->ctx, link->conn, line, bytes);
}
