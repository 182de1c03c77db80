#include "ps/ps_clients.h"

#include <assert.h>

struct ps_client *ps_clients_find(struct ps_clients *clients, conn_id conn)
{
    assert(clients->count <= TRANSPORT_CONNECTIONS_MAX);
    for (uint32_t i = 0; i < clients->count; i++) {
        if (clients->items[i].conn.v == conn.v) { return &clients->items[i]; }
    }
    return NULL;
}

struct ps_client *ps_clients_find_or_add(struct ps_clients *clients, conn_id conn)
{
    assert(conn.v != 0);
    struct ps_client *client = ps_clients_find(clients, conn);
    if (client != NULL || clients->count == TRANSPORT_CONNECTIONS_MAX) { return client; }
    client = &clients->items[clients->count++];
    *client = (struct ps_client){.conn = conn};
    return client;
}

static void release(struct ps_client *client)
{
    pushed_gradient_free(client->sum);
    client->sum = NULL;
    row_sums_close(&client->rows);
}

void ps_client_keep_lookup(struct ps_client *client, struct buffer *body)
{
    buffer_release(client->lookup);
    client->lookup = body;
}

void ps_clients_remove(struct ps_clients *clients, conn_id conn)
{
    struct ps_client *client = ps_clients_find(clients, conn);
    if (client == NULL) { return; }
    release(client);
    ps_client_keep_lookup(client, NULL);
    *client = clients->items[--clients->count];
}

void ps_clients_release_push(struct ps_clients *clients, conn_id conn)
{
    struct ps_client *client = ps_clients_find(clients, conn);
    if (client != NULL) { release(client); }
}

void ps_clients_release_all(struct ps_clients *clients)
{
    for (uint32_t i = 0; i < clients->count; i++) {
        release(&clients->items[i]);
        ps_client_keep_lookup(&clients->items[i], NULL);
    }
}

uint32_t ps_clients_count_lanes(const struct ps_clients *clients)
{
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < clients->count; i++) {
        const struct ps_client *client = &clients->items[i];
        if (client->trains) { lanes += client->by_lane ? 1 : 1 << WIRE_LANES_SHIFT; }
    }
    return lanes;
}
