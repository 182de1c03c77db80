/*
 * cli/zk_options.h: how a command reaches ZooKeeper: the options --zk, --zk-config and
 * --zk-credentials, and the connection.
 *
 * Threads: any. Blocking: on the disk, and zk_options_open() on the network.
 */
#ifndef CLI_ZK_OPTIONS_H
#define CLI_ZK_OPTIONS_H

#include "cli/options.h"
#include "common/base/error.h"
#include "common/zk/zk_sync.h"

enum { CONNECT_MAX = 1024, CREDENTIALS_MAX = 256 };

struct zk_options {
    const char *connect, *config, *credentials; /* NULL: not given. */
};

/* Add the three options to a command. */
void zk_options_add(struct options *options, struct zk_options *zk);

/* The connect string of --zk, of the zoo.cfg that --zk-config names, or of the environment
 * (TANIST_ZK); "" when none is given. TN_EINVAL: both are given, or the string is malformed. */
MUST_CHECK enum tn_status zk_options_connect(const struct zk_options *zk,
                                             char connect[static CONNECT_MAX], struct error *error);

/* "user:password" from the file of --zk-credentials, or from the environment; "" when there are no
 * credentials. TN_EINVAL: the file is missing or empty, or the text has another form or is too
 * long. TN_EIO. */
MUST_CHECK enum tn_status zk_options_credentials(const struct zk_options *zk,
                                                 char credentials[static CREDENTIALS_MAX],
                                                 struct error *error);

/* "" becomes NULL, which libraries take for "none". */
const char *text_or_null(const char *text);

/* Connect within `timeout_ms`. A wait of more than 3 s is reported on stderr. `credentials` may be
 * "". Errors are those of zk_sync_open(). */
MUST_CHECK enum tn_status zk_options_open(const char *connect, const char *credentials,
                                          uint32_t timeout_ms, struct zk_sync **out,
                                          struct error *error);

#endif
