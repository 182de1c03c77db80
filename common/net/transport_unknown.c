/* The bound of accepted connections whose peers have not identified themselves. */
#include <assert.h>

#include "common/net/transport_connection.h"

/* Closes the one that has waited longest, of the newest one's address if that has too many. */
void connection_bound_unknown(struct connection *all, unsigned count, struct connection *newest)
{
    assert(newest >= all && newest < all + count);
    struct connection *oldest[2] = {NULL,
                                    NULL}; /* Among all addresses; at the newest one's address. */
    uint64_t ids[2] = {UINT64_MAX, UINT64_MAX}, id, peer, newest_peer;
    unsigned counts[2] = {0, 0};
    if (!connection_is_unknown(newest, &id, &newest_peer)) { return; }
    for (unsigned i = 0; i < count; i++) {
        struct connection *connection = &all[i];
        if (!connection_is_unknown(connection, &id, &peer)) { continue; }
        for (unsigned set = 0; set < (peer == newest_peer ? 2 : 1); set++) {
            counts[set]++;
            if (id >= ids[set]) { continue; }
            ids[set] = id;
            oldest[set] = connection;
        }
    }
    if (counts[1] > TRANSPORT_UNKNOWN_HOST_MAX) {
        connection_close(oldest[1], ids[1]);
    } else if (counts[0] > TRANSPORT_UNKNOWN_MAX) {
        connection_close(oldest[0], ids[0]);
    }
}
