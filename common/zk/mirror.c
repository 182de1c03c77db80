/*
 * The states and their transitions:
 *
 *   STOPPED                      mirror_start -> READING
 *   READING   an op in flight    answered -> WATCHING; no answer or no watch -> RETRYING
 *   WATCHING  a watch is set     it fires, or a new connection -> READING
 *   RETRYING  until retry_at_ms  mirror_tick, or a new connection -> READING
 */
#include "common/zk/mirror.h"

#include <assert.h>

#include "common/base/text.h"

static void read_now(struct mirror *mirror, const struct zk_port *zk, uint64_t *next_op)
{
    assert(zk != NULL && next_op != NULL);
    mirror->state = MIRROR_READING;
    mirror->stale = false;
    mirror->op = ++*next_op; /* An answer to an older read is ignored. */
    if (mirror->kind == MIRROR_DATA) {
        zk->read(zk->ctx, mirror->op, mirror->path, true);
    } else {
        zk->list(zk->ctx, mirror->op, mirror->path, true);
    }
}

static void retry_later(struct mirror *mirror, uint64_t now_ms)
{
    mirror->state = MIRROR_RETRYING;
    mirror->retry_at_ms = now_ms + MIRROR_RETRY_MS;
}

void mirror_start(struct mirror *mirror, enum mirror_kind kind, const char *path,
                  const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms)
{
    *mirror = (struct mirror){.kind = kind, .retry_at_ms = now_ms};
    text_set(mirror->path, sizeof mirror->path, path);
    assert(text_equal(mirror->path, path));
    read_now(mirror, zk, next_op);
}

void mirror_stop(struct mirror *mirror)
{
    mirror->state = MIRROR_STOPPED;
}

void mirror_refresh(struct mirror *mirror, const struct zk_port *zk, uint64_t *next_op)
{
    if (mirror->state != MIRROR_STOPPED) { read_now(mirror, zk, next_op); }
}

static enum mirror_update answered(struct mirror *mirror, const struct zk_event *event,
                                   const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms)
{
    assert(mirror->state == MIRROR_READING);
    bool absent = event->outcome == ZK_REFUSED && event->reason == ZK_REASON_NO_NODE;
    bool watched = event->outcome == ZK_OK || (absent && mirror->kind == MIRROR_DATA);
    if (!watched) {
        retry_later(mirror, now_ms);
    } else if (mirror->stale) {
        read_now(mirror, zk, next_op);
    } else {
        mirror->state = MIRROR_WATCHING;
    }
    if (event->outcome == ZK_OK) { return MIRROR_PRESENT; }
    return absent ? MIRROR_ABSENT : MIRROR_NOTHING;
}

enum mirror_update mirror_handle(struct mirror *mirror, const struct zk_event *event,
                                 const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms)
{
    assert(event != NULL);
    if (mirror->state == MIRROR_STOPPED) { return MIRROR_NOTHING; }
    switch (event->type) {
    case ZK_CONNECTED: read_now(mirror, zk, next_op); break;
    case ZK_CHANGED:
        if (mirror->state == MIRROR_RETRYING || !text_equal(event->path, mirror->path)) { break; }
        /* The read in flight may be older than the change. */
        if (mirror->state == MIRROR_READING) { mirror->stale = true; }
        if (mirror->state == MIRROR_WATCHING) { read_now(mirror, zk, next_op); }
        break;
    case ZK_RESULT:
        if (mirror->state != MIRROR_READING || event->op != mirror->op) { break; }
        return answered(mirror, event, zk, next_op, now_ms);
    case ZK_DISCONNECTED:
    case ZK_EXPIRED: break;
    }
    return MIRROR_NOTHING;
}

void mirror_tick(struct mirror *mirror, const struct zk_port *zk, uint64_t *next_op,
                 uint64_t now_ms)
{
    if (now_ms >= mirror_deadline_ms(mirror)) { read_now(mirror, zk, next_op); }
}

uint64_t mirror_deadline_ms(const struct mirror *mirror)
{
    return mirror->state == MIRROR_RETRYING ? mirror->retry_at_ms : UINT64_MAX;
}
