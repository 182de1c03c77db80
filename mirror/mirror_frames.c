/* The frames of peers and observers. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "kernels/finite.h"
#include "mirror/mirror_private.h"

void mirror_send(struct mirror_worker *worker, conn_id conn, struct frame_header header,
                 struct buffer *body)
{
    header.epoch = u64_max(worker->membership.chief.epoch, worker->membership.run.epoch);
    worker->ports.transport.send(worker->ports.transport.ctx, conn, &header, body);
}

static void refuse_frame(struct mirror_worker *worker, const struct transport_event *event,
                         const char *fault)
{
    const struct frame_header *header = &event->header;
    log_warn("closing the connection of incarnation %016" PRIx64 ": invalid frame: %s; type=%u "
             "first=%" PRIu32 " count=%" PRIu32 " bytes=%" PRIu32 " offset=%" PRIu64,
             header->sender, fault, header->type, header->first, header->count, header->body_bytes,
             header->offset);
    worker->ports.transport.close(worker->ports.transport.ctx, event->conn);
}

/* ----------------------------------------------------------------- observers */

static uint32_t count_lanes(const struct mirror_worker *worker)
{
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < worker->asker_count; i++) {
        const struct asker *asker = &worker->askers[i];
        if (asker->trains) { lanes += asker->by_lane ? 1 : 1 << WIRE_LANES_SHIFT; }
    }
    return lanes;
}

/* No worker is of this generation: the sender wants the refusal, which has our step. */
static void answer_probe(struct mirror_worker *worker, conn_id conn)
{
    const struct frame_header header = {
        .type = FRAME_REFUSED,
        .generation = worker->core.whole ? worker->core.generation : 0,
        .step = worker->core.step,
        .first = 1 + REPLICA_NOT_HERE,
        .count = count_lanes(worker),
    };
    mirror_send(worker, conn, header, NULL);
}

static void answer_losses(struct mirror_worker *worker, const struct transport_event *event)
{
    const struct losses_request request = {
        .generation = worker->core.generation,
        .from = event->header.step,
        .until = worker->core.step,
        .now_ms = worker->now_ms,
        .batch = worker->config.job->train.batch,
    };
    struct buffer *body = buffer_acquire(worker->ports.buffers, sizeof(double) * LOSSES_MAX);
    if (body == NULL) { return; }
    const struct frame_header header =
        losses_answer(&worker->losses, &worker->observer, &request, body);
    mirror_send(worker, event->conn, header, body);
}

/* ----------------------------------------------------------------- questions */

static struct asker *find_asker(struct mirror_worker *worker, conn_id conn)
{
    for (uint32_t i = 0; i < worker->asker_count; i++) {
        if (worker->askers[i].conn.v == conn.v) { return &worker->askers[i]; }
    }
    return NULL;
}

static void opened(struct mirror_worker *worker, const struct transport_event *event)
{
    assert(event->accepted);
    if (worker->asker_count == TRANSPORT_CONNECTIONS_MAX) { return; }
    worker->askers[worker->asker_count++] =
        (struct asker){.conn = event->conn, .by_lane = event->by_lane};
}

static void forget_asker(struct mirror_worker *worker, struct asker *asker)
{
    assert(worker->asker_count > 0);
    assembly_reset(&asker->body);
    *asker = worker->askers[--worker->asker_count];
}

static void closed(struct mirror_worker *worker, conn_id conn)
{
    struct asker *asker = find_asker(worker, conn);
    if (asker == NULL) { return; }
    forget_asker(worker, asker);
    mirror_feed(worker,
                (struct replica_event){.type = REPLICA_EV_CONN_CLOSED, .conn = (uint32_t)conn.v},
                (struct brought){.body = NULL});
}

/* The worker that has this incarnation; our own index if it is not known yet: then the core asks it
 * for nothing. */
static uint32_t peer_of(const struct mirror_worker *worker, uint64_t incarnation)
{
    for (uint32_t i = 0; i < worker->links.count; i++) {
        if (worker->links.items[i].incarnation == incarnation) { return i; }
    }
    return worker->core.config.index;
}

/* Finished: the frame is not a question, and has been handled. */
static bool is_of_observer(struct mirror_worker *worker, const struct transport_event *event)
{
    const struct frame_header *header = &event->header;
    if (header->type == FRAME_REPORT_ACK) { return true; /* The membership has handled it. */ }
    if (header->type == FRAME_LOSSES) {
        answer_losses(worker, event);
        return true;
    }
    if (header->type != FRAME_PULL || header->generation != UINT64_MAX) { return false; }
    answer_probe(worker, event->conn);
    return true;
}

static void question(struct mirror_worker *worker, struct asker *asker,
                     const struct transport_event *event)
{
    struct replica_event next = {.type = REPLICA_EV_TICK};
    uint64_t bytes = 0;
    struct buffer *whole = NULL;
    enum assembly_result result = ASSEMBLY_INVALID;
    if (asker->body.order.invalid) { return; }
    const char *fault = frame_codec_read_question(&worker->shape, &event->header, &next, &bytes);
    if (fault == NULL) {
        result = assembly_add(&asker->body, worker->ports.buffers, &event->header, event->body,
                              bytes, worker->ports.transport.chunk_bytes, &whole, &fault);
    }
    if (result == ASSEMBLY_COMPLETE && whole != NULL &&
        !all_finite(whole->data, whole->size / sizeof(float))) {
        fault = "it is not finite";
    }
    if (fault != NULL) {
        asker->body.order.invalid = true;
        refuse_frame(worker, event, fault);
    } else if (result == ASSEMBLY_NO_MEMORY) {
        mirror_out_of_memory(worker);
    } else if (result == ASSEMBLY_COMPLETE) {
        asker->trains = true;
        next.conn = (uint32_t)event->conn.v;
        next.peer = peer_of(worker, event->header.sender);
        mirror_feed(worker, next, (struct brought){.body = whole, .loss = event->header.loss});
        return;
    }
    buffer_release(whole);
}

/* ------------------------------------------------------------------- answers */

void mirror_drop_fetched(struct mirror_worker *worker, uint32_t peer)
{
    struct fetched *fetched = &worker->fetched[peer];
    assert(peer < worker->links.count);
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) { buffer_release(fetched->arrays[a]); }
    *fetched = (struct fetched){.count = 0};
}

/* The shard changes its arrays, but a body may lie in a slot of the lane, where it is only read
 * (T10). A body of several chunks is a copy already. NULL: out of memory. */
static struct buffer *own_array(struct mirror_worker *worker, const struct frame_header *header,
                                struct buffer *array)
{
    if (header->body_bytes < array->size) { return buffer_retain(array); }
    struct buffer *copy = buffer_acquire(worker->ports.buffers, array->size);
    if (copy == NULL) { return NULL; }
    copy->size = array->size;
    memcpy(copy->data, array->data, array->size);
    return copy;
}

/* Whether all arrays of one step have arrived. They are sent in their order. */
static bool collect(struct mirror_worker *worker, uint32_t peer, const struct frame_header *header,
                    struct buffer *array)
{
    struct fetched *fetched = &worker->fetched[peer];
    if (header->first == 0) {
        mirror_drop_fetched(worker, peer);
        fetched->generation = header->generation;
        fetched->step = header->step;
    }
    if (header->first != fetched->count || header->generation != fetched->generation ||
        header->step != fetched->step) {
        mirror_drop_fetched(worker, peer);
        return false;
    }
    fetched->arrays[fetched->count] = own_array(worker, header, array);
    if (fetched->arrays[fetched->count] == NULL) {
        mirror_out_of_memory(worker);
        return false;
    }
    fetched->count++;
    return fetched->count == worker->shape.arrays;
}

static void answer(struct mirror_worker *worker, uint32_t peer, const struct transport_event *event)
{
    struct replica_event next = {.type = REPLICA_EV_TICK};
    uint64_t bytes = 0;
    struct buffer *whole = NULL;
    enum assembly_result result = ASSEMBLY_INVALID;
    struct assembly *assembly = &worker->answers[peer];
    if (assembly->order.invalid) { return; }
    const char *fault = frame_codec_read_answer(&worker->shape, &event->header, &next, &bytes);
    if (fault == NULL) {
        result = assembly_add(assembly, worker->ports.buffers, &event->header, event->body, bytes,
                              worker->ports.transport.chunk_bytes, &whole, &fault);
    }
    if (fault != NULL) {
        assembly->order.invalid = true;
        refuse_frame(worker, event, fault);
        return;
    }
    links_confirmed(&worker->links, peer);
    next.peer = peer;
    if (result == ASSEMBLY_NO_MEMORY) {
        mirror_out_of_memory(worker);
    } else if (result == ASSEMBLY_COMPLETE &&
               (next.type != REPLICA_EV_VALUES || collect(worker, peer, &event->header, whole))) {
        mirror_feed(worker, next, (struct brought){.body = whole, .loss = event->header.loss});
        if (next.type == REPLICA_EV_VALUES) { mirror_drop_fetched(worker, peer); }
        return;
    }
    buffer_release(whole);
}

static void on_link(struct mirror_worker *worker, uint32_t peer,
                    const struct transport_event *event)
{
    const struct brought nothing = {.body = NULL};
    struct link *link = &worker->links.items[peer];
    switch (event->type) {
    case TRANSPORT_OPENED:
        link->by_lane = event->by_lane;
        log_info("connected to worker:%" PRIu32 " at %s: lane=%s", peer, link->address,
                 event->by_lane ? "shm" : "tcp");
        links_opened(&worker->links, peer);
        assembly_reset(&worker->answers[peer]);
        mirror_drop_fetched(worker, peer);
        mirror_feed(worker,
                    (struct replica_event){.type = REPLICA_EV_LINK_UP,
                                           .peer = peer,
                                           .is_near = worker_watch_is_near(&worker->watch, peer)},
                    nothing);
        break;
    case TRANSPORT_FRAME: answer(worker, peer, event); break;
    case TRANSPORT_CLOSED:
        if (!links_closed(&worker->links, peer, event->status, worker->now_ms)) { break; }
        log_info("lost the connection to worker:%" PRIu32 " at %s: %s", peer, link->address,
                 tanist_strerror(event->status));
        mirror_feed(worker, (struct replica_event){.type = REPLICA_EV_LINK_DOWN, .peer = peer},
                    nothing);
        break;
    }
}

void mirror_transport(struct mirror_worker *worker, const struct transport_event *event)
{
    const int peer = links_find(&worker->links, event->conn);
    struct asker *asker = find_asker(worker, event->conn);
    if (peer < 0 && mirror_group_transport(worker, event)) {
        if (asker != NULL) { forget_asker(worker, asker); }
        return;
    }
    if (peer >= 0) {
        on_link(worker, (uint32_t)peer, event);
    } else if (event->type == TRANSPORT_OPENED && event->accepted) {
        opened(worker, event);
    } else if (event->type == TRANSPORT_CLOSED) {
        closed(worker, event->conn);
    } else if (event->type == TRANSPORT_FRAME && asker != NULL) {
        if (!is_of_observer(worker, event)) { question(worker, asker, event); }
    }
    if (event->type == TRANSPORT_FRAME) { buffer_release(event->body); }
}
