/*
 * common/zk/zk_inbox.h: carries ZooKeeper's events from the library's thread to the owner's, which
 * polls one file descriptor.
 *
 * Threads: zk_inbox_sink() on any thread; everything else on the owner's.
 */
#ifndef COMMON_ZK_ZK_INBOX_H
#define COMMON_ZK_ZK_INBOX_H

#include "common/zk/zk.h"

struct zk_inbox;

/* NULL: out of memory or of file descriptors. */
struct zk_inbox *zk_inbox_create(void);
/* The sink must no longer be called (zk_close()). NULL is allowed. */
void zk_inbox_destroy(struct zk_inbox *inbox);

/* The `sink` for zk_open(), with the inbox as `sink_ctx`. */
void zk_inbox_sink(void *inbox, const struct zk_event *event);

/* Readable while there may be events. */
int zk_inbox_fd(const struct zk_inbox *inbox);

/* The oldest event, or NULL. Valid until the next call of this function. */
const struct zk_event *zk_inbox_take(struct zk_inbox *inbox);

#endif
