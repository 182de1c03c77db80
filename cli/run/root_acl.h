/*
 * cli/run/root_acl.h: the permissions of the znodes above /tanist, in an ensemble that serves one
 * run only. Once the cluster exists, no client creates or deletes a znode there.
 *
 * Without credentials no client can undo that, so /tanist must exist before: root_acl_hold(), then
 * create the cluster, then root_acl_close(). With credentials this client can still create it, and
 * root_acl_close() is enough. The same again after the ensemble lost its data. TN_OK also when the
 * znodes are closed already.
 *
 * Threads: those of zk_sync. Blocking: both calls, for a bounded time. Errors: TN_ETIMEDOUT,
 * TN_EEXPIRED.
 */
#ifndef CLI_RUN_ROOT_ACL_H
#define CLI_RUN_ROOT_ACL_H

#include "common/zk/zk_sync.h"

/* From now on /tanist can be created, and not deleted. */
MUST_CHECK enum tn_status root_acl_hold(struct zk_sync *sync, struct error *error);

MUST_CHECK enum tn_status root_acl_close(struct zk_sync *sync, struct error *error);

#endif
