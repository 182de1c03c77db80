/*
 * agent/ensemble/port_leases.h: reservations of ports of this host, by which runs that start at the
 * same time choose different ones: a server listens on its port only some time after the port was
 * chosen. A lease is an abstract Unix socket named after the port. Like a port, it belongs to a
 * network namespace, and it ends with the process at the latest. Other programs ignore it.
 *
 * Threads: one owner. Blocking: no.
 */
#ifndef AGENT_ENSEMBLE_PORT_LEASES_H
#define AGENT_ENSEMBLE_PORT_LEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PORT_LEASES_MAX = 16 };

/* All zero: no leases. */
struct port_leases {
    size_t count;
    int sockets[PORT_LEASES_MAX];
};

/* False: a run has the port, or all leases are in use. True without a lease: this process may not
 * open such sockets, and runs cannot exclude each other. */
bool port_leases_take(struct port_leases *leases, uint16_t port);

/* Gives all leases back. */
void port_leases_end(struct port_leases *leases);

#endif
