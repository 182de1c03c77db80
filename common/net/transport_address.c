#include "common/net/transport_address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/transport.h"

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

enum tn_status transport_check_address(const char *address, struct error *error)
{
    assert(address != NULL);
    if (strlen(address) >= TRANSPORT_ADDRESS_MAX) {
        return error_set(error, TN_EINVAL, "address %.40s... is longer than %d characters", address,
                         TRANSPORT_ADDRESS_MAX - 1);
    }
    if (strncmp(address, "ipc://", 6) == 0 && address[6] != '\0') { return TN_OK; }
    const char *port = strrchr(address, ':');
    if (strncmp(address, "tcp://", 6) == 0 && port >= address + 6) {
        size_t digits = strspn(port + 1, "0123456789");
        bool number = digits > 0 && digits < 6 && port[1 + digits] == '\0';
        if (number && strtol(port + 1, NULL, 10) <= UINT16_MAX) { return TN_OK; }
    }
    return error_set(error, TN_EINVAL,
                     "address \"%s\" is malformed: give HOST:PORT, with a port from 0 to 65535",
                     address);
}

enum tn_status transport_explain_listen(int result, const char *address, struct error *error)
{
    assert(result != 0);
    switch (result) {
    case NNG_ENOMEM: return error_set(error, TN_ENOMEM, "listen on %s: out of memory", address);
    case NNG_EADDRINUSE:
        return error_set(error, TN_EBUSY,
                         "listen on %s: the port is in use by another process; stop it, or give "
                         "another port (0 picks a free one)",
                         address);
    case NNG_EADDRINVAL:
        return error_set(error, TN_EINVAL,
                         "listen on %s: not an address of this host; give one of its own, or "
                         "0.0.0.0 for all",
                         address);
    default: return error_set(error, TN_EIO, "listen on %s: %s", address, nng_strerror(result));
    }
}

int transport_create_dialer(const char *address, nng_stream_dialer **out)
{
    assert(out != NULL);
    if (address == NULL) { return NNG_EADDRINVAL; }
    const int result = nng_stream_dialer_alloc(out, address);
    if (result != 0) { return result; }
    /* An ipc:// dialer has neither option and needs none. */
    (void)nng_stream_dialer_set_bool(*out, NNG_OPT_TCP_NODELAY, true);
    (void)nng_stream_dialer_set_bool(*out, NNG_OPT_TCP_KEEPALIVE, true);
    return 0;
}

bool transport_host_is_number(const char *address)
{
    static const char scheme[] = "tcp://";
    struct in6_addr number; /* Has space for an in_addr. */
    char text[INET6_ADDRSTRLEN] = "";
    if (address == NULL || strncmp(address, scheme, sizeof scheme - 1) != 0) { return false; }
    const char *host = address + sizeof scheme - 1;
    const bool is_ipv6 = *host == '[';
    host += is_ipv6;
    const size_t length = strcspn(host, is_ipv6 ? "%]" : ":");
    if (length >= sizeof text) { return false; }
    memcpy(text, host, length);
    return inet_pton(is_ipv6 ? AF_INET6 : AF_INET, text, &number) == 1;
}

enum tn_status transport_explain_dial(int result, bool host_is_number)
{
    assert(result != 0);
    const bool may_be_name = result == NNG_EADDRINVAL || result == NNG_EAGAIN;
    return may_be_name && !host_is_number ? TN_ENOENT : TN_ECONNECT;
}

void transport_bound_address(nng_stream_listener *listener, const char *asked, char *text,
                             size_t size)
{
    nng_sockaddr bound;
    char host_port[TRANSPORT_ADDRESS_MAX];
    if (nng_stream_listener_get_addr(listener, NNG_OPT_LOCADDR, &bound) == 0 &&
        transport_format_address(&bound, host_port, sizeof host_port)) {
        (void)snprintf(text, size, "tcp://%.*s", TRANSPORT_ADDRESS_MAX - 7, host_port);
    } else {
        (void)snprintf(text, size, "%s", asked);
    }
}
