/*
 * common/zk/zk_event.h: copies of events, for inboxes that carry them to another thread. Pure.
 */
#ifndef COMMON_ZK_ZK_EVENT_H
#define COMMON_ZK_ZK_EVENT_H

#include "common/zk/zk.h"

/* Bytes of the memory that `event` points to. */
size_t zk_event_extra_bytes(const struct zk_event *event);

/* Copy `event` to `*out`, and what it points to into `extra`, which is aligned for pointers and has
 * zk_event_extra_bytes(event) bytes. */
void zk_event_copy(const struct zk_event *event, struct zk_event *out, void *extra);

#endif
