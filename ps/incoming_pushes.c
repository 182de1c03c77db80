#include "ps/incoming_pushes.h"

#include <assert.h>
#include <stdlib.h>

struct pushed_gradient *pushed_gradient_create(uint32_t capacity)
{
    assert(capacity >= 1);
    struct pushed_gradient *pushed = malloc(sizeof *pushed + capacity * sizeof pushed->chunks[0]);
    if (pushed == NULL) { return NULL; }
    pushed->count = 0;
    pushed->capacity = capacity;
    return pushed;
}

void pushed_gradient_add(struct pushed_gradient *pushed, struct buffer *chunk)
{
    assert(chunk != NULL);
    assert(pushed->count < pushed->capacity);
    pushed->chunks[pushed->capacity - ++pushed->count] = chunk;
}

void pushed_gradient_free(struct pushed_gradient *pushed)
{
    if (pushed == NULL) { return; }
    for (uint32_t i = 1; i <= pushed->count; i++) {
        buffer_release(pushed->chunks[pushed->capacity - i]);
    }
    free(pushed);
}

struct incoming_push *incoming_pushes_find(struct incoming_pushes *pushes, conn_id conn)
{
    assert(pushes->count <= TRANSPORT_CONNECTIONS_MAX);
    for (uint32_t i = 0; i < pushes->count; i++) {
        if (pushes->items[i].conn.v == conn.v) { return &pushes->items[i]; }
    }
    return NULL;
}

struct incoming_push *incoming_pushes_get(struct incoming_pushes *pushes, conn_id conn)
{
    assert(conn.v != 0);
    struct incoming_push *incoming = incoming_pushes_find(pushes, conn);
    if (incoming != NULL || pushes->count == TRANSPORT_CONNECTIONS_MAX) { return incoming; }
    incoming = &pushes->items[pushes->count++];
    *incoming = (struct incoming_push){.conn = conn};
    return incoming;
}

static void release(struct incoming_push *incoming)
{
    pushed_gradient_free(incoming->sum);
    incoming->sum = NULL;
    row_sums_close(&incoming->rows);
}

void incoming_push_keep_lookup(struct incoming_push *incoming, struct buffer *body)
{
    buffer_release(incoming->lookup);
    incoming->lookup = body;
}

void incoming_pushes_remove(struct incoming_pushes *pushes, conn_id conn)
{
    struct incoming_push *incoming = incoming_pushes_find(pushes, conn);
    if (incoming == NULL) { return; }
    release(incoming);
    incoming_push_keep_lookup(incoming, NULL);
    *incoming = pushes->items[--pushes->count];
}

void incoming_pushes_release(struct incoming_pushes *pushes, conn_id conn)
{
    struct incoming_push *incoming = incoming_pushes_find(pushes, conn);
    if (incoming != NULL) { release(incoming); }
}

void incoming_pushes_release_all(struct incoming_pushes *pushes)
{
    for (uint32_t i = 0; i < pushes->count; i++) {
        release(&pushes->items[i]);
        incoming_push_keep_lookup(&pushes->items[i], NULL);
    }
}

uint32_t incoming_pushes_lanes(const struct incoming_pushes *pushes)
{
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < pushes->count; i++) {
        const struct incoming_push *incoming = &pushes->items[i];
        if (incoming->trains) { lanes += incoming->by_lane ? 1 : 1 << WIRE_LANES_SHIFT; }
    }
    return lanes;
}
