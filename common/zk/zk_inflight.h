/*
 * common/zk/zk_inflight.h: requests in flight to ZooKeeper; each is answered exactly once. Private
 * to zk.c; does not use the client library.
 *
 * A request is answered by the library (zk_inflight_finish) or by its deadline, whichever is first.
 * The library uses the memory of a request until it has called back, however late: an entry whose
 * deadline has passed is kept, without another answer, until then or until the end.
 *
 * Threads: any, but zk_inflight_start and _stop once each. The sink is called by one thread at a
 * time: the library's, or the one of this module that watches deadlines.
 */
#ifndef COMMON_ZK_ZK_INFLIGHT_H
#define COMMON_ZK_ZK_INFLIGHT_H

#include <pthread.h>
#include <sys/queue.h>

#include "common/zk/zk.h"

/* First member of a malloc'ed request; freed by this module. Its members are private to
 * zk_inflight.c. */
struct zk_entry {
    TAILQ_ENTRY(zk_entry) link;
    struct zk_entry_list *list;
    uint64_t op;
    uint64_t deadline_ms;    /* Monotonic. */
    enum zk_outcome outcome; /* The answer, if this module makes it. */
    enum zk_reason reason;
    char path[ZK_PATH_MAX];
};

TAILQ_HEAD(zk_entry_list, zk_entry);

struct zk_inflight {
    zk_sink sink;
    void *sink_ctx;
    uint32_t deadline_ms;
    pthread_t watcher;

    pthread_mutex_t delivery; /* Held while the sink runs. */
    bool muted;

    pthread_mutex_t lock; /* Guards the lists; never held while the sink runs. */
    pthread_cond_t changed;
    bool stopping;
    struct zk_entry_list waiting; /* Unanswered, earliest deadline first. */
    struct zk_entry_list refused; /* To be answered at once by the thread of this module. */
    struct zk_entry_list parked;  /* To be answered by that thread after a pause; earliest first. */
    struct zk_entry_list late;    /* Answered by the deadline; the library still uses them. */
};

/* Start the thread that watches deadlines. TN_ENOMEM: it could not be started; nothing to stop. */
MUST_CHECK enum tn_status zk_inflight_start(struct zk_inflight *inflight, zk_sink sink,
                                            void *sink_ctx, uint32_t deadline_ms);

/* No event is delivered after it returns. Do not call it from the sink. */
void zk_inflight_mute(struct zk_inflight *inflight);

/* Stop the thread and free all entries. The library must not call back afterwards. */
void zk_inflight_stop(struct zk_inflight *inflight);

/* Takes `entry`; its deadline runs from now. A `path` that is too long is cut. */
void zk_inflight_add(struct zk_inflight *inflight, struct zk_entry *entry, uint64_t op,
                     const char *path);

/* The request was not sent, or the library refused it at once: answer it from the thread of this
 * module. Takes `entry` from the caller. */
void zk_inflight_refuse(struct zk_inflight *inflight, struct zk_entry *entry,
                        enum zk_outcome outcome, enum zk_reason reason);

/* No connection: answer UNKNOWN after at most ZK_PARKED_MS, so that a caller that repeats at once
 * does not spin while ZooKeeper is unreachable. Takes `entry` from the caller. */
enum { ZK_PARKED_MS = 20 };
void zk_inflight_park(struct zk_inflight *inflight, struct zk_entry *entry);

/* Connected: answer the parked requests now. */
void zk_inflight_unpark(struct zk_inflight *inflight);

/* The library has answered and no longer uses `entry`: deliver the answer unless the deadline did,
 * and free. `answer` needs outcome and reason; type, op and a missing path are filled in. */
void zk_inflight_finish(struct zk_inflight *inflight, struct zk_entry *entry,
                        const struct zk_event *answer);

/* Whether the deadline has already answered it. */
bool zk_inflight_is_late(struct zk_inflight *inflight, const struct zk_entry *entry);

/* Any other event. */
void zk_inflight_deliver(struct zk_inflight *inflight, const struct zk_event *event);

#endif
