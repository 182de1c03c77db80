#include "agent/ensemble/port_leases.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool port_leases_take(struct port_leases *leases, uint16_t port)
{
    assert(leases->count <= PORT_LEASES_MAX);
    if (leases->count == PORT_LEASES_MAX) { return false; }
    struct sockaddr_un address = {.sun_family = AF_UNIX}; /* Abstract: its path begins with 0. */
    char *name = address.sun_path + 1;
    const int length =
        snprintf(name, sizeof address.sun_path - 1, "tanist-port-%u", (unsigned)port);
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) { return true; }
    if (bind(fd, (const struct sockaddr *)(const void *)&address, size) != 0) {
        const bool is_taken = errno == EADDRINUSE;
        close(fd);
        return !is_taken;
    }
    leases->sockets[leases->count++] = fd;
    return true;
}

void port_leases_end(struct port_leases *leases)
{
    assert(leases->count <= PORT_LEASES_MAX);
    for (size_t i = 0; i < leases->count; i++) { close(leases->sockets[i]); }
    leases->count = 0;
}
