/*
 * agent/request_watch.h: follows the znode of a request to an agent: it is reported once, and its
 * deletion is repeated until ZooKeeper confirms it, however often it is refused or its answer is
 * lost. Pure but for the port and the log.
 *
 * Threads: the owner's.
 */
#ifndef AGENT_REQUEST_WATCH_H
#define AGENT_REQUEST_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/zk/znode_watch.h"

struct request_watch {
    struct znode_watch watch;
    uint64_t delete_op; /* In flight; 0: none. */
    /* The accepted request: the transaction that created it, and its text. After a wipe of the
     * servers, the numbers of transactions begin again. */
    uint64_t accepted_zxid;
    size_t accepted_size;
    uint32_t accepted_crc;
    bool refusal_logged; /* The refusal of its deletion. */
};

/* Follow the znode `path`; call it again for a new session, in which an accepted request is still
 * known. `watch` is zeroed before the first call; `next_op` is the owner's counter of request
 * numbers. */
void request_watch_start(struct request_watch *watch, const char *path, const struct zk_port *zk,
                         uint64_t *next_op, uint64_t now_ms);

/* Pass every ZooKeeper event. True: it has the text of a request. The owner ignores the request or
 * calls request_watch_accept(). */
bool request_watch_handle(struct request_watch *watch, const struct zk_event *event,
                          const struct zk_port *zk, uint64_t *next_op, uint64_t now_ms);

/* Delete the request that `event` has: its author waits for that. False: it was accepted before, is
 * still there, and is only deleted again. */
MUST_CHECK bool request_watch_accept(struct request_watch *watch, const struct zk_event *event,
                                     const struct zk_port *zk, uint64_t *next_op);

#endif
