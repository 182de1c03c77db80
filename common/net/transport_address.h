/* common/net/transport_address.h: addresses as texts and hashes. Private to transport*.c. */
#ifndef COMMON_NET_TRANSPORT_ADDRESS_H
#define COMMON_NET_TRANSPORT_ADDRESS_H

#include <nng/nng.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* "10.0.0.1:4000" or "[::1]:4000"; false: of another family. */
bool transport_format_address(const nng_sockaddr *address, char *text, size_t size);

/* "tcp://HOST:PORT" or "ipc://PATH"; nng would accept more, and guess a missing port. TN_EINVAL. */
MUST_CHECK enum tn_status transport_check_address(const char *address, struct error *error);
/* The address of a listener at `asked`, with the port that the system picked. */
void transport_bound_address(nng_stream_listener *listener, const char *asked, char *text,
                             size_t size);
/* The error of nng's that listening at the address has failed with. */
MUST_CHECK enum tn_status transport_explain_listen(int result, const char *address,
                                                   struct error *error);

/* A dialer for the address, with its options; an error of nng's, also for NULL. */
MUST_CHECK int transport_create_dialer(const char *address, nng_stream_dialer **out);

/* Whether the host of "tcp://HOST:PORT" is an IP address, which needs no name service. False for
 * NULL. */
bool transport_host_is_number(const char *address);

/* The status of a dial that has failed with this error of nng's. For a name that cannot be resolved
 * nng has the same error as for EADDRNOTAVAIL: no port is left, or no address of the family. */
MUST_CHECK enum tn_status transport_explain_dial(int result, bool host_is_number);

/* A hash of the peer's address without its port: connections of one host share it. */
uint64_t transport_hash_peer(nng_stream *stream);

#endif
