/*
 * agent/ensemble/zoo_ports.h: whether a ZooKeeper server that is about to start can listen at the
 * addresses of its zoo.cfg. A server that cannot ends a second later with an exception in its log.
 *
 * Threads: any. Blocking: no; host names are not resolved, so their ports are tried at all
 * addresses of this host.
 */
#ifndef AGENT_ENSEMBLE_ZOO_PORTS_H
#define AGENT_ENSEMBLE_ZOO_PORTS_H

#include "agent/ensemble/zoo_server.h"

/*
 * The server is not running. The error names the file, the key, its value and the remedy.
 *
 *   TN_EEXIST  another program listens on a port for clients, followers or elections
 *   TN_EINVAL  the address for clients is not one of this host
 */
MUST_CHECK enum tn_status zoo_ports_check(const struct zoo_server_files *server,
                                          struct error *error);

#endif
