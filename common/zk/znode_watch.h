/*
 * common/zk/znode_watch.h: follows a znode's data or children: reads them again whenever they
 * change. A watch of ZooKeeper fires once, coalesces changes and arrives late, and its answer can
 * get lost (Z4). A znode_watch hides that: each read sets ZooKeeper's watch again, and any doubt
 * causes a read. Pure but for the port.
 *
 * Threads: the owner's.
 */
#ifndef COMMON_ZK_ZNODE_WATCH_H
#define COMMON_ZK_ZNODE_WATCH_H

#include "common/zk/zk.h"

enum znode_watch_kind { WATCH_DATA, WATCH_CHILDREN };

enum znode_watch_update {
    WATCH_NOTHING,
    WATCH_PRESENT, /* The event is a new answer: use its data, stat or children. */
    WATCH_ABSENT,  /* The znode does not exist at present. */
};

enum { WATCH_RETRY_MS = 50 };

struct znode_watch {
    enum znode_watch_kind kind;
    enum { WATCH_NOT_STARTED, WATCH_READING, WATCH_SET, WATCH_RETRYING } state;
    bool stale;  /* Changed while being read: read again. */
    uint64_t op; /* The read in flight. */
    uint64_t retry_at_ms;
    char path[ZK_PATH_MAX];
};

/* Start reading `path` (copied). `next_op` is the owner's counter of request numbers, which all its
 * requests share. */
void znode_watch_start(struct znode_watch *watch, enum znode_watch_kind kind, const char *path,
                       const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms);
/* Read now, whatever the state; does nothing before the start. */
void znode_watch_refresh(struct znode_watch *watch, const struct zk_port *zk, uint64_t *next_op);
/* Read again after WATCH_RETRY_MS, unless the znode is being read now; does nothing before the
 * start. */
void znode_watch_retry(struct znode_watch *watch, uint64_t now_ms);

/* Call it with every ZooKeeper event. ZK_CONNECTED makes the watch read again. */
enum znode_watch_update znode_watch_handle(struct znode_watch *watch, const struct zk_event *event,
                                           const struct zk_port *zk, uint64_t *next_op,
                                           uint64_t now_ms);
/* Call it when znode_watch_deadline_ms() has passed. */
void znode_watch_tick(struct znode_watch *watch, const struct zk_port *zk, uint64_t *next_op,
                      uint64_t now_ms);
uint64_t znode_watch_deadline_ms(const struct znode_watch *watch); /* UINT64_MAX: none. */

#endif
