/*
 * common/zk/zk_inflight.h: the requests that wait for ZooKeeper, each answered exactly once.
 * Private to zk.c; knows nothing of the client library.
 *
 * A request is answered by whoever comes first: the library (zk_inflight_finish) or the deadline.
 * Its memory is the library's until the library has called back, however late: an entry whose
 * deadline passed stays, silent, until then or until the end.
 *
 * Threads: any, but zk_inflight_start and _stop once each. The sink is called by one thread at a
 * time: the library's, or the one in here that watches deadlines.
 */
#ifndef COMMON_ZK_ZK_INFLIGHT_H
#define COMMON_ZK_ZK_INFLIGHT_H

#include <pthread.h>
#include <sys/queue.h>

#include "common/zk/zk.h"

/* First member of a malloc'ed request; freed in here. Its fields are private to zk_inflight.c. */
struct zk_entry {
    TAILQ_ENTRY(zk_entry) link;
    struct zk_entry_list *list;
    uint64_t op;
    uint64_t deadline_ms;    /* Monotonic. */
    enum zk_outcome outcome; /* Of our own answer. */
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
    struct zk_entry_list refused; /* To be answered at once by our own thread. */
    struct zk_entry_list parked;  /* The same, but after a pause, earliest first. */
    struct zk_entry_list late;    /* Answered; the library still holds them. */
};

/* Start the thread that watches deadlines. TN_ENOMEM: no thread could be made; nothing is left. */
MUST_CHECK enum tn_status zk_inflight_start(struct zk_inflight *inflight, zk_sink sink,
                                            void *sink_ctx, uint32_t deadline_ms);

/* No event after it returns. Not to be called from the sink. */
void zk_inflight_mute(struct zk_inflight *inflight);

/* End the thread and free all entries. The library must not call back any more. */
void zk_inflight_stop(struct zk_inflight *inflight);

/* Take over `entry`: its deadline runs from now. `path` is cut to what fits. */
void zk_inflight_add(struct zk_inflight *inflight, struct zk_entry *entry, uint64_t op,
                     const char *path);

/* The library is not to be asked, or refused at once: answer with this from our own thread, and
 * free. `entry` is gone. */
void zk_inflight_refuse(struct zk_inflight *inflight, struct zk_entry *entry,
                        enum zk_outcome outcome, enum zk_reason reason);

/* No connection: answer UNKNOWN after a pause of at most ZK_PARKED_MS, so that a caller that asks
 * again at once does not spin while ZooKeeper is away. `entry` is gone. */
enum { ZK_PARKED_MS = 20 };
void zk_inflight_park(struct zk_inflight *inflight, struct zk_entry *entry);

/* Connected: answer now what was parked. */
void zk_inflight_unpark(struct zk_inflight *inflight);

/* The library has answered and holds `entry` no longer: deliver, unless the deadline did, and free.
 * `answer` needs outcome and reason; op, path if NULL, and type are filled in here. */
void zk_inflight_finish(struct zk_inflight *inflight, struct zk_entry *entry,
                        const struct zk_event *answer);

/* Has the deadline answered it already? */
bool zk_inflight_is_late(struct zk_inflight *inflight, const struct zk_entry *entry);

/* Any other event. */
void zk_inflight_deliver(struct zk_inflight *inflight, const struct zk_event *event);

#endif
