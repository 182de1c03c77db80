#include "agent/request_watch.h"

#include <assert.h>

#include "common/base/crc32c.h"
#include "common/base/log.h"

void request_watch_start(struct request_watch *watch, const char *path, const struct zk_port *zk,
                         uint64_t *next_op, uint64_t now_ms)
{
    assert(path != NULL);
    watch->delete_op = 0;
    znode_watch_start(&watch->watch, WATCH_DATA, path, zk, next_op, now_ms);
}

/* Nothing changes the znode, and so fires the watch, when its deletion failed: it is read again,
 * and if it still exists, deleted again. */
static void deletion_answered(struct request_watch *watch, const struct zk_event *event,
                              uint64_t now_ms)
{
    assert(watch->delete_op == event->op);
    watch->delete_op = 0;
    if (event->outcome == ZK_OK) { return; }
    if (event->outcome == ZK_REFUSED && event->reason == ZK_REASON_NO_NODE) { return; }
    znode_watch_retry(&watch->watch, now_ms);
    if (event->outcome == ZK_UNKNOWN || event->reason == ZK_REASON_BAD_VERSION) { return; }
    if (watch->refusal_logged) { return; }
    watch->refusal_logged = true;
    log_warn("request cannot be deleted: %s: reason %d%s; its deletion is tried again",
             watch->watch.path, (int)event->reason,
             event->reason == ZK_REASON_NO_AUTH ? ", an ACL forbids it" : "");
}

bool request_watch_handle(struct request_watch *watch, const struct zk_event *event,
                          const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms)
{
    assert(event != NULL);
    if (event->type == ZK_RESULT && watch->delete_op != 0 && event->op == watch->delete_op) {
        deletion_answered(watch, event, now_ms);
        return false;
    }
    return znode_watch_handle(&watch->watch, event, zk, next_op, now_ms) == WATCH_PRESENT;
}

bool request_watch_accept(struct request_watch *watch, const struct zk_event *event,
                          const struct zk_port *zk, uint64_t *next_op)
{
    assert(watch->watch.path[0] != '\0');
    const uint32_t crc = crc32c_of(event->data, event->size);
    const bool is_new = watch->accepted_zxid != event->stat.created_zxid ||
                        watch->accepted_size != event->size || watch->accepted_crc != crc;
    const struct zk_write write = {
        .kind = ZK_DELETE, .path = watch->watch.path, .version = event->stat.version};
    if (is_new) { watch->refusal_logged = false; }
    watch->accepted_zxid = event->stat.created_zxid;
    watch->accepted_size = event->size;
    watch->accepted_crc = crc;
    watch->delete_op = ++*next_op;
    zk->write(zk->ctx, watch->delete_op, &write, 1);
    return is_new;
}
