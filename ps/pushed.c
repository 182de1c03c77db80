#include "ps/pushed.h"

#include <assert.h>
#include <stdlib.h>

struct pushed *pushed_create(uint32_t capacity)
{
    assert(capacity >= 1);
    struct pushed *pushed = malloc(sizeof *pushed + capacity * sizeof pushed->chunks[0]);
    if (pushed == NULL) { return NULL; }
    pushed->count = 0;
    pushed->capacity = capacity;
    return pushed;
}

void pushed_add(struct pushed *pushed, struct buffer *chunk)
{
    assert(chunk != NULL);
    assert(pushed->count < pushed->capacity);
    pushed->chunks[pushed->capacity - ++pushed->count] = chunk;
}

void pushed_free(struct pushed *pushed)
{
    if (pushed == NULL) { return; }
    for (uint32_t i = 1; i <= pushed->count; i++) {
        buffer_release(pushed->chunks[pushed->capacity - i]);
    }
    free(pushed);
}

struct push_begun *pushes_find(struct pushes_begun *pushes, conn_id conn)
{
    assert(pushes->count <= TRANSPORT_CONNECTIONS_MAX);
    for (uint32_t i = 0; i < pushes->count; i++) {
        if (pushes->items[i].conn.v == conn.v) { return &pushes->items[i]; }
    }
    return NULL;
}

struct push_begun *pushes_get(struct pushes_begun *pushes, conn_id conn)
{
    assert(conn.v != 0);
    struct push_begun *begun = pushes_find(pushes, conn);
    if (begun != NULL || pushes->count == TRANSPORT_CONNECTIONS_MAX) { return begun; }
    begun = &pushes->items[pushes->count++];
    *begun = (struct push_begun){.conn = conn};
    return begun;
}

static void release(struct push_begun *begun)
{
    pushed_free(begun->sum);
    begun->sum = NULL;
    row_sums_close(&begun->rows);
}

void pushes_remove(struct pushes_begun *pushes, conn_id conn)
{
    struct push_begun *begun = pushes_find(pushes, conn);
    if (begun == NULL) { return; }
    release(begun);
    *begun = pushes->items[--pushes->count];
}

void pushes_release(struct pushes_begun *pushes, conn_id conn)
{
    struct push_begun *begun = pushes_find(pushes, conn);
    if (begun != NULL) { release(begun); }
}

void pushes_release_all(struct pushes_begun *pushes)
{
    for (uint32_t i = 0; i < pushes->count; i++) { release(&pushes->items[i]); }
}

uint32_t pushes_lanes(const struct pushes_begun *pushes)
{
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < pushes->count; i++) {
        const struct push_begun *begun = &pushes->items[i];
        if (begun->trains) { lanes += begun->by_lane ? 1 : 1 << WIRE_LANES_SHIFT; }
    }
    return lanes;
}
