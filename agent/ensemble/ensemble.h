/*
 * agent/ensemble/ensemble.h: a ZooKeeper ensemble of this machine: its files, its ports, its
 * command lines, and the question whether it serves. Starting and reaping the processes is the
 * caller's.
 *
 * Threads: any; one ensemble belongs to one caller. Blocking: on the disk; ensemble_probe on the
 * network, for the time it is given.
 */
#ifndef AGENT_ENSEMBLE_ENSEMBLE_H
#define AGENT_ENSEMBLE_ENSEMBLE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/ensemble/networks.h"
#include "agent/ensemble/zoo_cfg.h"
#include "common/base/error.h"

enum {
    ENSEMBLE_SERVERS_MAX = 3,
    ENSEMBLE_ARGUMENTS_MAX = 24,
    ENSEMBLE_TEXT_MAX = 1024,
    ENSEMBLE_TICK_MS = 250, /* Sessions from 500 ms, ended at most a tick late. */
};

/* How to run the server of one zoo.cfg. `argv` points into this struct: do not copy it. */
struct ensemble_command {
    char java[ENSEMBLE_TEXT_MAX];
    char class_path[ENSEMBLE_TEXT_MAX];
    char heap[32];
    char cfg[ENSEMBLE_TEXT_MAX];
    const char *argv[ENSEMBLE_ARGUMENTS_MAX]; /* For execv(argv[0]); ends with NULL. */
};

/* Java is looked for as $JAVA_HOME/bin/java, then on $PATH; ZooKeeper is Debian's, or the class
 * path in $TANIST_ZOOKEEPER_CLASSPATH. TN_ENOENT: one is missing, with the package to install. The
 * server writes its log to stderr, warnings and worse: point that at a file. */
MUST_CHECK enum tn_status ensemble_command(const char *cfg_path, uint32_t heap_mib,
                                           struct ensemble_command *out, struct error *error);

struct ensemble_server {
    uint32_t id;
    char address[ZOO_ADDRESS_MAX];    /* For clients: "127.0.0.1:20131". */
    char log_path[ENSEMBLE_TEXT_MAX]; /* For its stdout and stderr, to append to. */
    struct ensemble_command command;
};

struct ensemble {
    size_t count;
    struct ensemble_server servers[ENSEMBLE_SERVERS_MAX];
    char connect[ENSEMBLE_SERVERS_MAX * ZOO_ADDRESS_MAX]; /* All of them, separated by commas. */
};

/*
 * Make ready `count` (1 or 3) servers under DIR/zookeeper/N: zoo.cfg, data/myid, log. What an
 * earlier call made is kept, data and ports, so that the connect string outlives a restart; ports
 * that somebody else took meanwhile are replaced. The caller keeps others out of DIR. They listen
 * on 127.0.0.1, with `networks` (which may be NULL) each at its own address.
 *
 *   TN_EINVAL  DIR holds an ensemble of another size, or its path is too long, or a server has no
 *              network where others have one
 *   TN_EBUSY   the ensemble of DIR is running
 *   TN_ENOENT  no Java, or no ZooKeeper
 *   TN_EIO, TN_ENOSPC  a file cannot be written
 */
MUST_CHECK enum tn_status ensemble_prepare(const char *dir, size_t count,
                                           const struct networks *networks, struct ensemble *out,
                                           struct error *error);

/* ------------------------------------------------------------------ probing */

enum ensemble_mode { ENSEMBLE_STANDALONE, ENSEMBLE_LEADER, ENSEMBLE_FOLLOWER, ENSEMBLE_OBSERVER };

struct ensemble_health {
    enum ensemble_mode mode;
    uint64_t zxid; /* Last transaction it has seen. */
    uint32_t connections;
};

/*
 * Ask the server at "host:port" for its state (command "srvr").
 *
 *   TN_ECONNECT    nobody listens there
 *   TN_ETIMEDOUT   no answer within `timeout_ms`
 *   TN_EUNHEALTHY  it runs, but has no quorum
 *   TN_EPROTO      what answers is no ZooKeeper, or does not allow the command
 *   TN_EINVAL      the address is malformed or its name unknown
 */
MUST_CHECK enum tn_status ensemble_probe(const char *address, uint32_t timeout_ms,
                                         struct ensemble_health *out);

/* Read the answer to "srvr". TN_EUNHEALTHY, TN_EPROTO: as above. Pure. */
MUST_CHECK enum tn_status ensemble_parse_srvr(const char *answer, struct ensemble_health *out);

/* The same for people: a mode's name, "no quorum", or "down". Static storage. */
const char *ensemble_probe_text(const char *address, uint32_t timeout_ms);

/* "standalone", "leader", "follower", "observer". */
const char *ensemble_mode_name(enum ensemble_mode mode);

#endif
