/* Gradients on their way to the ps: whole, or part by part while they are computed. */
#include <assert.h>

#include "common/base/minmax.h"
#include "common/faults/failpoint.h"
#include "kernels/finite.h"
#include "worker/ps_frames.h"
#include "worker/worker_private.h"

enum { PARTS_MAX = 256 /* The gradients of a step have at most as many, and one each. */ };

/* Send the floats [first, end) of a shard's gradient. */
static void send_part(struct worker *worker, const struct loop_action *action, uint32_t node,
                      uint32_t ps, uint64_t first, uint64_t end)
{
    assert(worker->core.ps[ps].up);
    struct frame_header header = ps_frames_push(&worker->core, action, node);
    header.loss = worker->losses[node];
    header.offset = first * sizeof(float);
    FAILPOINT("worker.before_push");
    worker_rows_push(worker, ps, node, &header);
    struct buffer *part = gradients_part(&worker->gradients, node, ps, first, end);
    if (part == NULL) {
        worker_out_of_memory(worker);
        return;
    }
    worker_send(worker, ps, header, part);
}

void worker_push(struct worker *worker, const struct loop_action *action)
{
    uint32_t end = action->first_node + action->node_count;
    assert(end <= worker->core.node_count);
    for (uint32_t node = action->first_node; node < end; node++) {
        send_part(worker, action, node, action->ps, 0, worker->places[action->ps].count);
    }
}

void worker_push_ahead_begin(struct worker *worker, const struct loop_action *action, uint32_t node,
                             const float *sum)
{
    worker->ahead = (struct push_ahead){.action = action, .node = node, .sum = sum};
    for (uint32_t p = 0; p < worker->config.job->cluster.ps; p++) {
        worker->ahead.unsent[p] = worker->places[p].count;
    }
}

/* Send the elements of a shard's gradient that became final: whole chunks, the last ones first
 * (T9). Parts are not too small, because the number of frames that may wait for a connection is
 * limited. */
static void send_final(struct worker *worker, uint32_t ps, uint64_t final_from)
{
    const struct placement *shard = &worker->places[ps];
    const uint64_t chunk = worker->ports.transport.chunk_bytes / sizeof(float);
    uint64_t *unsent = &worker->ahead.unsent[ps];
    uint64_t first = final_from > shard->first ? final_from - shard->first : 0;
    first = (first + chunk - 1) / chunk * chunk;
    if (first >= *unsent) { return; }
    const uint64_t least = shard->count / PARTS_MAX * worker->ahead.action->node_count;
    if (first > 0 && *unsent - first < least) { return; }
    send_part(worker, worker->ahead.action, worker->ahead.node, ps, first, *unsent);
    *unsent = first;
}

void worker_push_ahead(void *user, uint64_t first, uint64_t end)
{
    struct worker *worker = user;
    struct push_ahead *ahead = &worker->ahead;
    assert(first < end);
    worker->losses[ahead->node] = compute_node_loss(&worker->compute);
    if (!all_finite(ahead->sum + first, end - first)) { ahead->diverged = true; }
    if (ahead->diverged) { return; }
    for (uint32_t p = 0; p < worker->config.job->cluster.ps && !worker->finished; p++) {
        if ((ahead->action->push_to >> p & 1) != 0) { send_final(worker, p, first); }
    }
}
