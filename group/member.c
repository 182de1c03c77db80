#include "group/member.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/base/text.h"
#include "common/job/strategy.h"
#include "common/net/assembly.h"
#include "group/member_message.h"
#include "worker/worker.h"

/* The way to another member. */
struct link {
    char address[TRANSPORT_ADDRESS_MAX]; /* "": unknown. */
    conn_id conn;                        /* 0: none. */
    bool is_open;
    struct assembly assembly;
    uint64_t dial_at_ms;
};

struct group_member {
    struct member_config config;
    struct attempt attempt;
    struct computation *computation;
    struct computation_order order; /* The last one. */
    bool waits;                     /* An order waits for values: */
    struct member_frame waiting;
    struct order_progress progress; /* At the head. */
    struct link links[GROUP_MEMBERS_MAX];
    uint64_t now_ms;
    struct error *error; /* The caller's, while an event is handled. */
};

/* Takes the reference of `body`, which may be NULL. */
static void send_message(struct group_member *member, uint32_t to,
                         const struct member_frame *message, struct buffer *body)
{
    const struct transport_port *port = &member->config.transport;
    const struct frame_header header = member_frame_write(message);
    if (member->links[to].conn.v == 0) {
        buffer_release(body);
        return;
    }
    port->send(port->ctx, member->links[to].conn, &header, body);
}

/* ------------------------------------------------------------------- attempts */

static void forget(struct group_member *member)
{
    computation_reset(member->computation);
    member->progress = (struct order_progress){.is_active = false};
    member->waits = false;
    member->config.calls.reset(member->config.calls.ctx);
}

static void handle_attempt(struct group_member *member, const struct attempt_event *event)
{
    bool was_ready = attempt_is_ready(&member->attempt);
    static const enum member_frame_kind kinds[] = {
        [ATTEMPT_DO_BEGIN] = MEMBER_FRAME_BEGIN,
        [ATTEMPT_DO_READY] = MEMBER_FRAME_READY,
        [ATTEMPT_DO_BROKEN] = MEMBER_FRAME_BROKEN,
    };
    struct attempt_actions actions;
    attempt_handle(&member->attempt, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct attempt_action *action = &actions.items[i];
        if (action->type == ATTEMPT_DO_RESET) {
            was_ready = false;
            forget(member);
            continue;
        }
        send_message(member, action->member,
                     &(struct member_frame){.kind = kinds[action->type], .attempt = action->number},
                     NULL);
    }
    if (!was_ready && attempt_is_ready(&member->attempt)) {
        member->config.calls.ready(member->config.calls.ctx);
    }
}

static void link_changed(struct group_member *member, uint32_t peer, bool up)
{
    const struct attempt_event event = {.type = up ? ATTEMPT_EV_LINK_UP : ATTEMPT_EV_LINK_DOWN,
                                        .member = peer};
    handle_attempt(member, &event);
}

/* Close the connection: its peer, or this member, is faulty, and a new attempt begins. */
static void refuse(struct group_member *member, uint32_t peer, const char *why)
{
    const struct transport_port *port = &member->config.transport;
    struct link *link = &member->links[peer];
    log_warn("closing the connection to member %" PRIu32 " of the group: %s", peer, why);
    link->assembly.order.invalid = true;
    port->close(port->ctx, link->conn);
}

/* --------------------------------------------------------------------- orders */

/* At the head: a member has carried out the present order. */
static void take_done(struct group_member *member, uint32_t peer)
{
    if (!order_progress_done(&member->progress, member->config.members, peer)) { return; }
    const struct computation_order *order = &member->order;
    const struct schedule_label label = {order->generation, order->step, order->node.first};
    member->config.calls.done(member->config.calls.ctx, &label);
}

static enum tn_status advance(struct group_member *member)
{
    bool done;
    const struct member_calls *calls = &member->config.calls;
    enum tn_status status = computation_advance(member->computation, &done, member->error);
    if (status != TN_OK || !done) { return status; }
    calls->computed(calls->ctx, &member->order, computation_loss(member->computation));
    if (member->config.member == 0) {
        take_done(member, 0);
        return TN_OK;
    }
    const struct member_frame message = {.kind = MEMBER_FRAME_DONE,
                                         .attempt = member->attempt.number};
    send_message(member, 0, &message, NULL);
    return TN_OK;
}

static enum tn_status begin_order(struct group_member *member, const struct member_frame *message)
{
    const struct member_calls *calls = &member->config.calls;
    struct computation_order order = {
        .generation = message->label.generation,
        .step = message->label.step,
        .node = {message->label.slice, message->number},
    };
    const bool is_free = !member->waits && computation_is_idle(member->computation);
    const enum member_answer answer = is_free ? calls->prepare(calls->ctx, &order) : MEMBER_REFUSES;
    member->waits = member->waits || answer == MEMBER_WAITS;
    if (answer == MEMBER_WAITS) {
        assert(member->config.member != 0);
        member->waiting = *message;
        return TN_OK;
    }
    if (answer == MEMBER_REFUSES || !computation_order(member->computation, &order)) {
        const uint32_t peer = member->config.member == 0 ? 1 : 0;
        refuse(member, peer, "an order cannot be carried out");
        return TN_OK;
    }
    member->order = order;
    return advance(member);
}

enum tn_status member_resume(struct group_member *member, struct error *error)
{
    if (!member->waits) { return TN_OK; }
    const struct member_frame message = member->waiting;
    member->error = error;
    member->waits = false;
    return begin_order(member, &message);
}

bool member_is_ready(const struct group_member *member)
{
    return attempt_is_ready(&member->attempt);
}

bool member_is_connected(const struct group_member *member, uint32_t peer)
{
    assert(peer < member->config.members);
    return peer == member->config.member || member->links[peer].is_open;
}

void member_send(struct group_member *member, uint32_t to, struct member_frame message,
                 struct buffer *body)
{
    assert(member_is_ready(member) && to != member->config.member);
    message.attempt = member->attempt.number;
    send_message(member, to, &message, body);
}

void member_fail(struct group_member *member, const char *why)
{
    refuse(member, member->config.member == 0 ? 1 : 0, why);
}

bool member_is_complete(const struct group_member *member)
{
    return attempt_is_complete(&member->attempt);
}

enum tn_status member_order(struct group_member *member, uint64_t generation, uint64_t step,
                            struct slice_node node, struct error *error)
{
    assert(member_is_complete(member));
    const struct member_frame message = {
        .kind = MEMBER_FRAME_ORDER,
        .attempt = member->attempt.number,
        .label = {generation, step, node.first},
        .number = node.count,
    };
    for (uint32_t m = 1; m < member->config.members; m++) {
        send_message(member, m, &message, NULL);
    }
    order_progress_begin(&member->progress);
    member->error = error;
    return begin_order(member, &message);
}

/* --------------------------------------------------------------------- frames */

static void send_value(void *ctx, uint32_t to, const struct schedule_label *label, uint32_t edge,
                       struct buffer *value)
{
    struct group_member *member = ctx;
    const struct member_frame message = {
        .kind = MEMBER_FRAME_TENSOR,
        .attempt = member->attempt.number,
        .label = *label,
        .number = edge,
    };
    send_message(member, to, &message, buffer_retain(value));
}

static enum tn_status fill(void *ctx, const struct schedule_label *label, const char *field,
                           struct tn_view view, struct error *error)
{
    const struct group_member *member = ctx;
    const struct member_calls *calls = &member->config.calls;
    return calls->fill(calls->ctx, label, field, view, error);
}

/* A message that is the owner's. */
static void deliver(struct group_member *member, uint32_t peer, const struct member_frame *message,
                    struct buffer *body)
{
    const struct member_calls *calls = &member->config.calls;
    const char *fault = calls->message(calls->ctx, peer, message, body);
    if (fault != NULL) { refuse(member, peer, fault); }
}

static enum tn_status tensor(struct group_member *member, uint32_t peer,
                             const struct member_frame *message,
                             const struct transport_event *event, bool is_present)
{
    struct link *link = &member->links[peer];
    struct buffer *whole = NULL;
    const char *fault = NULL;
    enum tn_status status = TN_OK;
    const struct member_calls *calls = &member->config.calls;
    const bool is_owners = message->kind != MEMBER_FRAME_TENSOR;
    const uint64_t bytes =
        is_owners ? calls->expects(calls->ctx, peer, message)
                  : computation_expects(member->computation, message->label.slice, message->number);
    if (bytes == 0) {
        refuse(member, peer, "a value is not for this member");
        return TN_OK;
    }
    switch (assembly_add(&link->assembly, member->config.pool, &event->header, event->body, bytes,
                         member->config.transport.chunk_bytes, &whole, &fault)) {
    case ASSEMBLY_INVALID: refuse(member, peer, fault); break;
    case ASSEMBLY_NO_MEMORY:
        status = error_set(member->error, TN_ENOMEM, "out of memory for a value of a member");
        break;
    case ASSEMBLY_MORE: break;
    case ASSEMBLY_COMPLETE:
        if (!is_present) { break; }
        if (is_owners) {
            deliver(member, peer, message, whole);
        } else if (computation_arrived(member->computation, &message->label, message->number,
                                       whole)) {
            status = advance(member);
        } else {
            refuse(member, peer, "a value is not for the present slice or the next one");
        }
        break;
    }
    buffer_release(whole);
    return status;
}

static enum tn_status frame(struct group_member *member, uint32_t peer,
                            const struct transport_event *event)
{
    static const enum attempt_event_type types[] = {
        [MEMBER_FRAME_BEGIN] = ATTEMPT_EV_BEGIN,
        [MEMBER_FRAME_READY] = ATTEMPT_EV_READY,
        [MEMBER_FRAME_BROKEN] = ATTEMPT_EV_BROKEN,
    };
    struct member_frame message;
    if (member->links[peer].assembly.order.invalid) { return TN_OK; }
    if (!member_frame_read(&event->header, member->config.slices, &message)) {
        refuse(member, peer, "a frame is not a message of this group");
        return TN_OK;
    }
    switch (member_message_action(&member->attempt, peer, &message)) {
    case MESSAGE_DROP: break;
    case MESSAGE_ATTEMPT:
        handle_attempt(member, &(struct attempt_event){types[message.kind], peer, message.attempt});
        break;
    case MESSAGE_VALUE: return tensor(member, peer, &message, event, true);
    case MESSAGE_LATE_VALUE: return tensor(member, peer, &message, event, false);
    case MESSAGE_ORDER: return begin_order(member, &message);
    case MESSAGE_DONE: take_done(member, peer); break;
    case MESSAGE_DELIVER: deliver(member, peer, &message, event->body); break;
    }
    return TN_OK;
}

/* ---------------------------------------------------------------- connections */

static bool dials(const struct group_member *member, uint32_t peer)
{
    return peer < member->config.member;
}

/* The other end of a connection. False: it is not one of the present ones. */
static bool find_peer(const struct group_member *member, conn_id conn, uint32_t *peer)
{
    for (*peer = 0; *peer < member->config.members; (*peer)++) {
        if (member->links[*peer].conn.v == conn.v) { return true; }
    }
    return false;
}

static void use(struct group_member *member, uint32_t peer, conn_id conn)
{
    struct link *link = &member->links[peer];
    const struct transport_port *port = &member->config.transport;
    const conn_id before = link->conn;
    assembly_reset(&link->assembly);
    link->conn = conn;
    link->is_open = true;
    if (before.v != 0 && before.v != conn.v) { port->close(port->ctx, before); }
    link_changed(member, peer, true);
}

static void opened(struct group_member *member, uint32_t peer)
{
    const struct member_frame hello = {.kind = MEMBER_FRAME_HELLO, .number = member->config.member};
    send_message(member, peer, &hello, NULL);
    use(member, peer, member->links[peer].conn);
}

static void closed(struct group_member *member, uint32_t peer)
{
    struct link *link = &member->links[peer];
    const bool was_open = link->is_open;
    assembly_reset(&link->assembly);
    link->conn = (conn_id){0};
    link->is_open = false;
    link->dial_at_ms = member->now_ms + MEMBER_DIAL_MS;
    if (was_open) { link_changed(member, peer, false); }
}

/* The first frame of a member that dialed us has its number. */
static bool greeted(struct group_member *member, const struct transport_event *event)
{
    struct member_frame hello;
    const bool is_hello = member_frame_read(&event->header, member->config.slices, &hello) &&
                          hello.kind == MEMBER_FRAME_HELLO;
    if (!is_hello || hello.number >= member->config.members) { return false; }
    if (hello.number <= member->config.member) { return false; }
    use(member, hello.number, event->conn);
    return true;
}

enum tn_status member_handle(struct group_member *member, const struct transport_event *event,
                             uint64_t now_ms, bool *taken, struct error *error)
{
    uint32_t peer;
    enum tn_status status = TN_OK;
    member->now_ms = now_ms;
    member->error = error;
    *taken = find_peer(member, event->conn, &peer);
    if (!*taken) {
        *taken = event->type == TRANSPORT_FRAME && greeted(member, event);
    } else {
        switch (event->type) {
        case TRANSPORT_OPENED: opened(member, peer); break;
        case TRANSPORT_FRAME: status = frame(member, peer, event); break;
        case TRANSPORT_CLOSED: closed(member, peer); break;
        }
    }
    if (*taken && event->type == TRANSPORT_FRAME) { buffer_release(event->body); }
    return status;
}

void member_locate(struct group_member *member, uint32_t peer, const char *address)
{
    struct link *link = &member->links[peer];
    assert(peer < member->config.members && peer != member->config.member);
    if (address != NULL && strcmp(link->address, address) == 0) { return; }
    text_set(link->address, sizeof link->address, address != NULL ? address : "");
    link->dial_at_ms = 0;
    if (!dials(member, peer) || link->conn.v == 0) { return; }
    const struct transport_port *port = &member->config.transport;
    port->close(port->ctx, link->conn); /* Its process has ended. */
}

static bool must_dial(const struct group_member *member, uint32_t peer)
{
    const struct link *link = &member->links[peer];
    return dials(member, peer) && link->conn.v == 0 && link->address[0] != '\0';
}

void member_tick(struct group_member *member, uint64_t now_ms)
{
    const struct transport_port *port = &member->config.transport;
    member->now_ms = now_ms;
    for (uint32_t m = 0; m < member->config.members; m++) {
        struct link *link = &member->links[m];
        if (!must_dial(member, m) || now_ms < link->dial_at_ms) { continue; }
        link->conn = port->dial(port->ctx, link->address);
    }
}

uint64_t member_deadline_ms(const struct group_member *member)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t m = 0; m < member->config.members; m++) {
        if (must_dial(member, m)) { first = u64_min(first, member->links[m].dial_at_ms); }
    }
    return first;
}

/* ------------------------------------------------------------ create, destroy */

struct member_config member_config_of(const struct worker_config *config,
                                      const struct training_cut *cut,
                                      const struct member_calls *calls)
{
    const uint32_t members = strategy_members(config->job);
    return (struct member_config){
        .cut = cut,
        .member = config->identity.task.index % members,
        .members = members,
        .slices = config->job->train.slices,
        .batch = config->job->train.batch,
        .seed = config->job->seed,
        .kernels = config->programs,
        .pool = config->ports->buffers,
        .transport = config->ports->transport,
        .first_attempt = attempt_first(config->identity.incarnation),
        .calls = *calls,
    };
}

enum tn_status member_create(const struct member_config *config, struct group_member **out,
                             struct error *error)
{
    assert(config->members >= 1 && config->members <= GROUP_MEMBERS_MAX);
    assert(config->member < config->members && config->members == config->cut->tasks);
    *out = NULL;
    struct group_member *member = calloc(1, sizeof *member);
    if (member == NULL) { return error_set(error, TN_ENOMEM, "out of memory for a member"); }
    member->config = *config;
    attempt_init(&member->attempt, config->member, config->members, config->first_attempt);
    const struct computation_config computation = {
        .cut = config->cut,
        .task = config->member,
        .slices = config->slices,
        .batch = config->batch,
        .seed = config->seed,
        .kernels = config->kernels,
        .pool = config->pool,
        .fill = fill,
        .send = send_value,
        .ctx = member,
    };
    enum tn_status status = computation_create(&computation, &member->computation, error);
    if (status == TN_OK) {
        *out = member;
    } else {
        member_destroy(member);
    }
    return status;
}

void member_destroy(struct group_member *member)
{
    if (member == NULL) { return; }
    for (uint32_t m = 0; m < GROUP_MEMBERS_MAX; m++) { assembly_reset(&member->links[m].assembly); }
    computation_destroy(member->computation);
    free(member);
}
