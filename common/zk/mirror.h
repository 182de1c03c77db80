/*
 * common/zk/mirror.h: a znode's data or children, read again whenever they change. Watches fire
 * once, coalesce and arrive late; answers get lost. A mirror hides that: it sets the watch again by
 * reading again, and reads again in any doubt. Pure but for the port.
 *
 * Threads: the owner's.
 */
#ifndef COMMON_ZK_MIRROR_H
#define COMMON_ZK_MIRROR_H

#include "common/zk/zk.h"

enum mirror_kind { MIRROR_DATA, MIRROR_CHILDREN };

enum mirror_update {
    MIRROR_NOTHING,
    MIRROR_PRESENT, /* The event is a new answer: use its data, stat or children. */
    MIRROR_ABSENT,  /* The znode does not exist at present. */
};

enum { MIRROR_RETRY_MS = 50 };

struct mirror {
    enum mirror_kind kind;
    enum { MIRROR_STOPPED, MIRROR_READING, MIRROR_WATCHING, MIRROR_RETRYING } state;
    bool stale;  /* Changed while being read: read again. */
    uint64_t op; /* The read in flight. */
    uint64_t retry_at_ms;
    char path[ZK_PATH_MAX];
};

/* Start reading `path` (copied). `next_op` is the owner's counter of request numbers, which all its
 * requests share. */
void mirror_start(struct mirror *mirror, enum mirror_kind kind, const char *path,
                  const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms);
/* Later events are ignored. */
void mirror_stop(struct mirror *mirror);
/* Read now, whatever the state; does nothing when stopped. */
void mirror_refresh(struct mirror *mirror, const struct zk_port *zk, uint64_t *next_op);

/* Call it with every ZooKeeper event. ZK_CONNECTED makes the mirror read again. */
enum mirror_update mirror_handle(struct mirror *mirror, const struct zk_event *event,
                                 const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms);
/* Call it when mirror_deadline_ms() has passed. */
void mirror_tick(struct mirror *mirror, const struct zk_port *zk, uint64_t *next_op,
                 uint64_t now_ms);
uint64_t mirror_deadline_ms(const struct mirror *mirror); /* UINT64_MAX: none. */

#endif
