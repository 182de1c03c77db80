/* The requests of operators, the oldest first: each is read, decided and deleted. A request that
 * cannot be read or deleted is passed over until /requests changes: the later ones do not wait for
 * it. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "coordinator/coordinator_private.h"

/* Any client can create a request of any name. One of this length fits into a path, whatever the
 * name of the cluster: /tanist/CLUSTER/requests/NAME. */
enum { REQUEST_NAME_MAX = ZK_PATH_MAX - CLUSTER_NAME_MAX - 32 };

static const char *sequence_of(const char *name)
{
    assert(strlen(name) >= SEQUENCE_DIGITS);
    return name + strlen(name) - SEQUENCE_DIGITS;
}

static bool is_before(const char *a, const char *b)
{
    const int order = strcmp(sequence_of(a), sequence_of(b));
    return order != 0 ? order < 0 : strcmp(a, b) < 0;
}

/* The child whose name ends in the lowest sequence number, after those that are passed over; NULL:
 * none. Names that are too long for a path are ignored: Tanist has not created them. */
static const char *oldest_request(const struct coordinator *c, const struct zk_event *event)
{
    assert(event->children != NULL || event->child_count == 0);
    const char *first = NULL, *passed = c->request_passed;
    for (size_t i = 0; i < event->child_count; i++) {
        const char *name = event->children[i];
        if (strlen(name) < SEQUENCE_DIGITS || strlen(name) > REQUEST_NAME_MAX) { continue; }
        if (passed[0] != '\0' && !is_before(passed, name)) { continue; }
        if (first == NULL || is_before(name, first)) { first = name; }
    }
    return first;
}

static void request_path(const struct coordinator *c, char path[static ZK_PATH_MAX])
{
    char rest[ZK_PATH_MAX + 16];
    assert(c->request_name[0] != '\0');
    snprintf(rest, sizeof rest, "requests/%s", c->request_name);
    znode_path(path, c->identity.cluster, rest);
}

static void read_request(struct coordinator *c, const char *name)
{
    char path[ZK_PATH_MAX];
    if (c->request_op != 0) { return; }
    text_set(c->request_name, sizeof c->request_name, name);
    c->request_id = strtoull(sequence_of(name), NULL, 10);
    request_path(c, path);
    c->request_drops = false;
    c->request_op = membership_next_op(&c->membership);
    c->ports->zk.read(c->ports->zk.ctx, c->request_op, path, false);
}

void requests_next(struct coordinator *c)
{
    c->request_name[0] = '\0';
    znode_watch_refresh(&c->requests, &c->ports->zk, &c->membership.next_op);
}

void requests_pass_over(struct coordinator *c, const char *why)
{
    assert(c->request_name[0] != '\0');
    log_warn("request %s ignored: %s", c->request_name, why);
    text_set(c->request_passed, sizeof c->request_passed, c->request_name);
}

static void drop_request(struct coordinator *c)
{
    char path[ZK_PATH_MAX];
    request_path(c, path);
    const struct zk_write write = {.kind = ZK_DELETE, .path = path, .version = ZK_ANY_VERSION};
    c->request_drops = true;
    c->request_op = membership_next_op(&c->membership);
    c->ports->zk.write(c->ports->zk.ctx, c->request_op, &write, 1);
}

/* A request is read just before it is granted: the listing may be older than its deletion. */
static void request_read(struct coordinator *c, const struct zk_event *event)
{
    struct request request;
    struct error error;
    if (event->outcome == ZK_REFUSED && event->reason == ZK_REASON_NO_AUTH) {
        requests_pass_over(c, "an ACL forbids reading it");
    }
    if (event->outcome != ZK_OK) {
        requests_next(c);
        return;
    }
    if (request_decode(event->data, event->size, &request, &error) != TN_OK) {
        log_warn("request deleted: %s", error.text);
        drop_request(c);
        return;
    }
    log_info("request to %s from %s", request_kind_name(request.kind), request.by);
    coordinator_decide(c, (struct chief_event){.type = CHIEF_EV_REQUEST,
                                               .request = {.id = c->request_id,
                                                           .kind = request.kind,
                                                           .by = request.by,
                                                           .step = request.step,
                                                           .path = request.path}});
}

static void request_dropped(struct coordinator *c, const struct zk_event *event)
{
    if (event->outcome == ZK_REFUSED && event->reason != ZK_REASON_NO_NODE) {
        requests_pass_over(c, "it cannot be deleted");
    }
    requests_next(c);
}

void requests_start(struct coordinator *c)
{
    char path[ZK_PATH_MAX];
    assert(c->stage == LEADERSHIP_ACTIVE);
    znode_path(path, c->identity.cluster, "requests");
    znode_watch_start(&c->requests, WATCH_CHILDREN, path, &c->ports->zk, &c->membership.next_op,
                      c->now_ms);
}

void requests_handle(struct coordinator *c, const struct zk_event *event)
{
    if (c->stage != LEADERSHIP_ACTIVE) { return; }
    if (event->type == ZK_RESULT && c->request_op != 0 && event->op == c->request_op) {
        c->request_op = 0;
        if (c->request_drops) {
            request_dropped(c, event);
        } else {
            request_read(c, event);
        }
        return;
    }
    if (event->type == ZK_CHANGED && text_equal(event->path, c->requests.path)) {
        c->request_passed[0] = '\0'; /* These may be readable now. */
    }
    enum znode_watch_update change =
        znode_watch_handle(&c->requests, event, &c->ports->zk, &c->membership.next_op, c->now_ms);
    if (change != WATCH_PRESENT || c->request_name[0] != '\0') { return; }
    const char *oldest = oldest_request(c, event);
    if (oldest != NULL) { read_request(c, oldest); }
}

void requests_tick(struct coordinator *c)
{
    if (c->stage != LEADERSHIP_ACTIVE) { return; }
    znode_watch_tick(&c->requests, &c->ports->zk, &c->membership.next_op, c->now_ms);
}

uint64_t requests_deadline_ms(const struct coordinator *c)
{
    return c->stage == LEADERSHIP_ACTIVE ? znode_watch_deadline_ms(&c->requests) : UINT64_MAX;
}
