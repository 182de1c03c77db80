/*
 * common/zk/mirror.h: a znode's data, or a listing, read again whenever it changes. Watches fire
 * once, coalesce and arrive late; answers get lost. A mirror hides that: it re-arms by re-reading,
 * and re-reads on any doubt. Pure but for the port it is given.
 *
 * Threads: the owner's only.
 */
#ifndef COMMON_ZK_MIRROR_H
#define COMMON_ZK_MIRROR_H

#include "common/zk/zk.h"

enum mirror_kind { MIRROR_DATA, MIRROR_CHILDREN };

enum mirror_news {
    MIRROR_NOTHING,
    MIRROR_PRESENT, /* The event at hand is a fresh answer: take data, stat or children from it. */
    MIRROR_ABSENT,  /* There is no such znode at present. */
};

enum { MIRROR_RETRY_MS = 50 };

struct mirror {
    enum mirror_kind kind;
    enum { MIRROR_STOPPED, MIRROR_READING, MIRROR_WATCHING, MIRROR_RETRYING } state;
    bool stale;  /* Changed while being read: read once more. */
    uint64_t op; /* Of the read in flight. */
    uint64_t retry_at_ms;
    char path[ZK_PATH_MAX];
};

/* Begin reading `path` (copied). `next_op` is the owner's counter of request numbers, shared by all
 * that it asks. */
void mirror_start(struct mirror *mirror, enum mirror_kind kind, const char *path,
                  const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms);
/* Let go: later events are ignored. */
void mirror_stop(struct mirror *mirror);
/* Read now, whatever the state (a no-op when stopped). */
void mirror_refresh(struct mirror *mirror, const struct zk_port *zk, uint64_t *next_op);

/* Show every ZooKeeper event to every mirror. ZK_CONNECTED makes it read again. */
enum mirror_news mirror_handle(struct mirror *mirror, const struct zk_event *event,
                               const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms);
/* To be called when mirror_deadline_ms() has passed. */
void mirror_tick(struct mirror *mirror, const struct zk_port *zk, uint64_t *next_op,
                 uint64_t now_ms);
uint64_t mirror_deadline_ms(const struct mirror *mirror); /* UINT64_MAX: none. */

#endif
