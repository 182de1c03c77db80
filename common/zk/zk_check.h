/*
 * common/zk/zk_check.h: which requests may be sent to ZooKeeper. Pure; private to zk.c and its
 * tests.
 *
 * A request that the client library or the server would refuse is refused here. A packet above
 * jute.maxbuffer, for example, would break the connection at each attempt.
 */
#ifndef COMMON_ZK_ZK_CHECK_H
#define COMMON_ZK_ZK_CHECK_H

#include <sys/socket.h>

#include "common/zk/zk.h"

/* ZK_REASON_NONE: may be sent. ZK_REASON_TOO_LARGE: the data of all parts exceeds ZK_DATA_MAX.
 * ZK_REASON_OTHER: no parts, too many, or a malformed path; an error of the caller. */
enum zk_reason zk_check_writes(const struct zk_write *writes, size_t count);

/* The same for the path of a read or a list. */
enum zk_reason zk_check_read(const char *path);

/* The path in the answer to these writes: of the first CREATE, else of the first part; or NULL. */
const char *zk_asked_path(const struct zk_write *writes, size_t count);

/* TN_EINVAL: the connect string or the credentials are malformed. */
MUST_CHECK enum tn_status zk_check_config(const struct zk_config *config, struct error *error);

/* "127.0.0.1:2181", "[::1]:2181", or "" if it is of another family or does not fit. */
void zk_format_address(const struct sockaddr *address, char *text, size_t size);

/* Absolute, shorter than ZK_PATH_MAX, no empty, "." or ".." component, no control character. */
bool zk_check_path(const char *path);

#endif
