/*
 * common/zk/session_file.h: a node's ZooKeeper session on disk. The agent reads it to close the
 * session when the node dies. One line "ID PASSWORD" in hexadecimal, readable by the owner alone.
 *
 * Threads: any. Blocking: on the disk.
 */
#ifndef COMMON_ZK_SESSION_FILE_H
#define COMMON_ZK_SESSION_FILE_H

#include "common/base/error.h"
#include "common/zk/zk.h"

/* Replace `path` by rename, mode 0600. Not synced, as a session does not survive a loss of power.
 * TN_EIO: the error names the path. */
MUST_CHECK enum tn_status session_file_write(const char *path, const struct zk_session *session,
                                             struct error *error);

/* TN_ENOENT: no such file; TN_EIO; TN_ECORRUPT: it does not contain a session. */
MUST_CHECK enum tn_status session_file_read(const char *path, struct zk_session *out,
                                            struct error *error);

#endif
