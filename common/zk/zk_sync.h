/*
 * common/zk/zk_sync.h: ZooKeeper for commands: each call waits for its answer, at most
 * `timeout_ms`. Nodes do not use it.
 *
 * Threads: one at a time. Blocking: every call.
 */
#ifndef COMMON_ZK_ZK_SYNC_H
#define COMMON_ZK_ZK_SYNC_H

#include <inttypes.h>

#include "common/base/error.h"
#include "common/zk/zk.h"

/* The text of TN_ECONNECT; its values are the connect string, and the milliseconds (uint32_t). */
#define ZK_SYNC_NO_ANSWER                                                                          \
    "no ZooKeeper server of \"%s\" answered within %" PRIu32 " ms: is one running there?"

struct zk_sync;

/*
 * Connect. `credentials` may be NULL. On failure `*out` is NULL.
 *
 *   TN_EINVAL   the connect string is malformed
 *   TN_ECONNECT no server answered within `timeout_ms`; the error names the string and the remedy
 *   TN_ENOMEM
 */
MUST_CHECK enum tn_status zk_sync_open(const char *connect, const char *credentials,
                                       uint32_t timeout_ms, struct zk_sync **out,
                                       struct error *error);
void zk_sync_close(struct zk_sync *sync); /* NULL is allowed. */

/*
 * Errors of all calls below: TN_ENOENT: no such znode or parent; TN_EEXIST; TN_EREFUSED: the
 * version, the children or the permissions do not allow it; TN_ETIMEDOUT: no answer, a write may
 * have been applied; TN_EEXPIRED. The error names the path.
 */
MUST_CHECK enum tn_status zk_sync_write(struct zk_sync *sync, const struct zk_write *writes,
                                        size_t count, struct error *error);

/* As zk_set_permissions(). It is repeated until it is answered, so that TN_EREFUSED may be the
 * answer after it was applied. */
MUST_CHECK enum tn_status zk_sync_set_permissions(struct zk_sync *sync, const char *path,
                                                  unsigned others, struct error *error);

struct zk_sync_data {
    char *data; /* malloc'ed, with a NUL after it; free(). */
    size_t size;
    struct zk_stat stat;
};
MUST_CHECK enum tn_status zk_sync_read(struct zk_sync *sync, const char *path,
                                       struct zk_sync_data *out, struct error *error);

struct zk_sync_list {
    char **names; /* Sorted. */
    size_t count;
};
MUST_CHECK enum tn_status zk_sync_list(struct zk_sync *sync, const char *path,
                                       struct zk_sync_list *out, struct error *error);
void zk_sync_list_free(struct zk_sync_list *list);

#endif
