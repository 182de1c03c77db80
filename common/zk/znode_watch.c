/*
 * The states and their transitions:
 *
 *   STOPPED                      znode_watch_start -> READING
 *   READING   an op in flight    answered -> SET; no answer or no watch -> RETRYING
 *   SET       ZooKeeper watches  it fires, or a new connection -> READING;
 *                                znode_watch_retry -> RETRYING
 *   RETRYING  until retry_at_ms  znode_watch_tick, or a new connection -> READING
 */
#include "common/zk/znode_watch.h"

#include <assert.h>

#include "common/base/text.h"

static void read_now(struct znode_watch *watch, const struct zk_port *zk, uint64_t *next_op)
{
    assert(zk != NULL && next_op != NULL);
    watch->state = WATCH_READING;
    watch->stale = false;
    watch->op = ++*next_op; /* An answer to an older read is ignored. */
    if (watch->kind == WATCH_DATA) {
        zk->read(zk->ctx, watch->op, watch->path, true);
    } else {
        zk->list(zk->ctx, watch->op, watch->path, true);
    }
}

static void retry_later(struct znode_watch *watch, uint64_t now_ms)
{
    watch->state = WATCH_RETRYING;
    watch->retry_at_ms = now_ms + WATCH_RETRY_MS;
}

void znode_watch_start(struct znode_watch *watch, enum znode_watch_kind kind, const char *path,
                       const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms)
{
    *watch = (struct znode_watch){.kind = kind, .retry_at_ms = now_ms};
    text_set(watch->path, sizeof watch->path, path);
    assert(text_equal(watch->path, path));
    read_now(watch, zk, next_op);
}

void znode_watch_refresh(struct znode_watch *watch, const struct zk_port *zk, uint64_t *next_op)
{
    if (watch->state != WATCH_NOT_STARTED) { read_now(watch, zk, next_op); }
}

void znode_watch_retry(struct znode_watch *watch, uint64_t now_ms)
{
    assert(watch != NULL);
    if (watch->state == WATCH_SET) { retry_later(watch, now_ms); }
}

static enum znode_watch_update answered(struct znode_watch *watch, const struct zk_event *event,
                                        const struct zk_port *zk, uint64_t *next_op,
                                        uint64_t now_ms)
{
    assert(watch->state == WATCH_READING);
    bool absent = event->outcome == ZK_REFUSED && event->reason == ZK_REASON_NO_NODE;
    bool watched = event->outcome == ZK_OK || (absent && watch->kind == WATCH_DATA);
    if (!watched) {
        retry_later(watch, now_ms);
    } else if (watch->stale) {
        read_now(watch, zk, next_op);
    } else {
        watch->state = WATCH_SET;
    }
    if (event->outcome == ZK_OK) { return WATCH_PRESENT; }
    return absent ? WATCH_ABSENT : WATCH_NOTHING;
}

enum znode_watch_update znode_watch_handle(struct znode_watch *watch, const struct zk_event *event,
                                           const struct zk_port *zk, uint64_t *next_op,
                                           uint64_t now_ms)
{
    assert(event != NULL);
    if (watch->state == WATCH_NOT_STARTED) { return WATCH_NOTHING; }
    switch (event->type) {
    case ZK_CONNECTED: read_now(watch, zk, next_op); break;
    case ZK_CHANGED:
        if (watch->state == WATCH_RETRYING || !text_equal(event->path, watch->path)) { break; }
        /* The read in flight may be older than the change. */
        if (watch->state == WATCH_READING) { watch->stale = true; }
        if (watch->state == WATCH_SET) { read_now(watch, zk, next_op); }
        break;
    case ZK_RESULT:
        if (watch->state != WATCH_READING || event->op != watch->op) { break; }
        return answered(watch, event, zk, next_op, now_ms);
    case ZK_DISCONNECTED:
    case ZK_EXPIRED: break;
    }
    return WATCH_NOTHING;
}

void znode_watch_tick(struct znode_watch *watch, const struct zk_port *zk, uint64_t *next_op,
                      uint64_t now_ms)
{
    if (now_ms >= znode_watch_deadline_ms(watch)) { read_now(watch, zk, next_op); }
}

uint64_t znode_watch_deadline_ms(const struct znode_watch *watch)
{
    return watch->state == WATCH_RETRYING ? watch->retry_at_ms : UINT64_MAX;
}
