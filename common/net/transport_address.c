#include "common/net/transport_address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>

/* FNV-1a. */
uint64_t transport_hash_peer(nng_stream *stream)
{
    nng_sockaddr peer;
    const uint8_t *bytes = NULL;
    size_t size = 0;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    if (nng_stream_get_addr(stream, NNG_OPT_REMADDR, &peer) != 0) { return 0; }
    if (peer.s_family == NNG_AF_INET) {
        bytes = (const uint8_t *)&peer.s_in.sa_addr;
        size = sizeof peer.s_in.sa_addr;
    } else if (peer.s_family == NNG_AF_INET6) {
        bytes = peer.s_in6.sa_addr;
        size = sizeof peer.s_in6.sa_addr;
    }
    for (size_t i = 0; i < size; i++) { hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3); }
    return hash;
}

bool transport_format_address(const nng_sockaddr *address, char *text, size_t size)
{
    assert(address != NULL && size > 0);
    char host[INET6_ADDRSTRLEN] = "";
    if (address->s_family == NNG_AF_INET) {
        (void)inet_ntop(AF_INET, &address->s_in.sa_addr, host, sizeof host);
        (void)snprintf(text, size, "%s:%u", host, ntohs(address->s_in.sa_port));
    } else if (address->s_family == NNG_AF_INET6) {
        (void)inet_ntop(AF_INET6, address->s_in6.sa_addr, host, sizeof host);
        (void)snprintf(text, size, "[%s]:%u", host, ntohs(address->s_in6.sa_port));
    } else {
        return false;
    }
    return true;
}
