/*
 * agent/ensemble/zoo_ports.h: whether a ZooKeeper server that is about to start can listen at the
 * addresses of its zoo.cfg. A server that cannot ends a second later with an exception in its log.
 * By the addresses a file that is the same on all hosts shows the server of this host.
 *
 * Threads: any. Blocking: no; host names are not resolved, so their ports are tried at all
 * addresses of this host.
 */
#ifndef AGENT_ENSEMBLE_ZOO_PORTS_H
#define AGENT_ENSEMBLE_ZOO_PORTS_H

#include "agent/ensemble/zoo_cfg.h"
#include "common/base/error.h"

struct zoo_server_files;

/*
 * The server is not running. The error names the file, the key, its value and the remedy.
 *
 *   TN_EEXIST  another program listens on a port for clients, followers or elections
 *   TN_EINVAL  the address for clients is not one of this host
 */
MUST_CHECK enum tn_status zoo_ports_check(const struct zoo_server_files *server,
                                          struct error *error);

/* The only server of `cfg` whose address (server.N=ADDRESS:...) is one of this host, written in
 * numbers. NULL: none, or several. */
const struct zoo_server *zoo_ports_server_of_host(const struct zoo_cfg *cfg);

#endif
