/*
 * agent/ensemble/ensemble.h: a local ZooKeeper ensemble: its files, ports and command lines, and a
 * probe of whether a server serves. The caller starts and reaps the processes.
 *
 * Threads: any; one ensemble belongs to one caller. Blocking: on the disk; ensemble_probe() on the
 * network, up to its timeout.
 */
#ifndef AGENT_ENSEMBLE_ENSEMBLE_H
#define AGENT_ENSEMBLE_ENSEMBLE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/ensemble/networks.h"
#include "agent/ensemble/port_leases.h"
#include "agent/ensemble/zoo_cfg.h"
#include "common/base/error.h"

enum {
    ENSEMBLE_SERVERS_MAX = 3,
    ENSEMBLE_ARGUMENTS_MAX = 24,
    ENSEMBLE_TEXT_MAX = 1024,
    ENSEMBLE_TICK_MS = 250, /* Sessions can be as short as 500 ms, and end at most a tick late. */
};

/* The command line of the server of one zoo.cfg. `argv` points into this struct: do not copy it. */
struct ensemble_command {
    char java[ENSEMBLE_TEXT_MAX];
    char class_path[ENSEMBLE_TEXT_MAX];
    char heap[32];
    char cfg[ENSEMBLE_TEXT_MAX];
    const char *argv[ENSEMBLE_ARGUMENTS_MAX]; /* For execv(argv[0]); NULL-terminated. */
};

/* Find Java as $JAVA_HOME/bin/java or on $PATH, and ZooKeeper in the class path of
 * $TANIST_ZOOKEEPER_CLASSPATH or in Debian's packages. TN_ENOENT: one of them is missing; the error
 * names the package to install. The server logs warnings and errors to stderr: redirect it to a
 * file. */
MUST_CHECK enum tn_status ensemble_command(const char *cfg_path, uint32_t heap_mib,
                                           struct ensemble_command *out, struct error *error);

struct ensemble_server {
    uint32_t id;
    char address[ZOO_ADDRESS_MAX];    /* For clients: "127.0.0.1:20131". */
    char log_path[ENSEMBLE_TEXT_MAX]; /* Its stdout and stderr are appended there. */
    struct ensemble_command command;
};

struct ensemble {
    size_t count;
    struct ensemble_server servers[ENSEMBLE_SERVERS_MAX];
    char connect[ENSEMBLE_SERVERS_MAX * ZOO_ADDRESS_MAX]; /* All addresses, separated by commas. */
};

/*
 * Prepare the files of `count` (1 or 3) servers under DIR/zookeeper/N: zoo.cfg, data/myid, log.
 * Data and ports of an earlier call are kept, so that the connect string survives a restart; if
 * another program has taken one of the ports since, new ones are chosen. `leases`, which are empty,
 * get the ports, so that no other run takes them before the servers listen there; the caller ends
 * them when no server is to run again. NULL: the ports are not reserved. A server accepts at most
 * `connections` (0: any number) from one address. The caller holds the lock
 * on DIR. Servers listen on 127.0.0.1; with `networks` (NULL is allowed) each on its own address.
 *
 *   TN_EINVAL  DIR has an ensemble of another size, its path is too long, or a server has no
 *              network although others have one
 *   TN_EEXIST  the ensemble of DIR is running
 *   TN_EBUSY   no free port was found
 *   TN_ENOENT  Java or ZooKeeper is not installed
 *   TN_EIO, TN_ENOSPC  a file cannot be written
 *   TN_ENOMEM  out of memory
 */
MUST_CHECK enum tn_status ensemble_prepare(const char *dir, size_t count, uint32_t connections,
                                           const struct networks *networks,
                                           struct port_leases *leases, struct ensemble *out,
                                           struct error *error);

/* ------------------------------------------------------------------ probing */

enum ensemble_mode { ENSEMBLE_STANDALONE, ENSEMBLE_LEADER, ENSEMBLE_FOLLOWER, ENSEMBLE_OBSERVER };

struct ensemble_health {
    enum ensemble_mode mode;
    uint64_t zxid; /* The last transaction it has seen. */
    uint32_t connections;
};

/*
 * Ask the server at "host:port" for its state (command "srvr").
 *
 *   TN_ECONNECT    no process listens there
 *   TN_ETIMEDOUT   no answer within `timeout_ms`
 *   TN_EUNHEALTHY  the server runs, but has no quorum
 *   TN_EPROTO      the answer is not ZooKeeper's, or the server does not allow the command
 *   TN_EINVAL      the address is malformed, or its name is unknown
 *   TN_EIO         the system refused a socket
 */
MUST_CHECK enum tn_status ensemble_probe(const char *address, uint32_t timeout_ms,
                                         struct ensemble_health *out);

/* Parse the answer to "srvr". TN_EUNHEALTHY, TN_EPROTO: as of ensemble_probe(). Pure. */
MUST_CHECK enum tn_status ensemble_parse_srvr(const char *answer, struct ensemble_health *out);

/* Probe a server, for people: the name of its mode, "no quorum", or "down". Static storage. */
const char *ensemble_probe_text(const char *address, uint32_t timeout_ms);

/* "standalone", "leader", "follower", "observer". */
const char *ensemble_mode_name(enum ensemble_mode mode);

#endif
