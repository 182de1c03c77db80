/* common/net/transport_address.h: addresses as texts and hashes. Private to transport*.c. */
#ifndef COMMON_NET_TRANSPORT_ADDRESS_H
#define COMMON_NET_TRANSPORT_ADDRESS_H

#include <nng/nng.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "10.0.0.1:4000" or "[::1]:4000"; false: of another family. */
bool transport_format_address(const nng_sockaddr *address, char *text, size_t size);

/* A hash of the peer's address without its port: connections of one host share it. */
uint64_t transport_hash_peer(nng_stream *stream);

#endif
