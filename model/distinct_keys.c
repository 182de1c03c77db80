#include "model/distinct_keys.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/minmax.h"
#include "kernels/sparse/rows.h"

enum { LEAST_ROOM = 256 };

/* The keys of a table; the first `unique` are different and sorted. */
struct key_list {
    struct sparse_place *places, *spare;
    uint64_t count, room, unique;
};

struct distinct_keys {
    struct row_sink sink;
    uint32_t tables;
    struct key_list lists[]; /* [tables] */
};

static void remove_repeated(struct key_list *list)
{
    if (list->count == list->unique) { return; }
    struct sparse_place *sorted = sparse_sort(list->count, list->places, list->spare);
    uint64_t unique = 0;
    for (uint64_t i = 0; i < list->count; i++) {
        if (unique > 0 && sorted[unique - 1].key == sorted[i].key) { continue; }
        sorted[unique++] = sorted[i];
    }
    if (sorted != list->places) {
        list->spare = list->places;
        list->places = sorted;
    }
    list->count = list->unique = unique;
}

/* False: out of memory. */
static bool make_room(struct key_list *list)
{
    if (list->count < list->room) { return true; }
    if (list->room > 0) { remove_repeated(list); }
    if (list->count < list->room / 2) { return true; }
    const uint64_t larger = u64_max(2 * list->room, LEAST_ROOM);
    struct sparse_place *places = realloc(list->places, larger * sizeof *places);
    if (places != NULL) { list->places = places; }
    struct sparse_place *spare = realloc(list->spare, larger * sizeof *spare);
    if (spare != NULL) { list->spare = spare; }
    if (places == NULL || spare == NULL) { return false; }
    list->room = larger;
    return true;
}

static enum tn_status add(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count,
                          struct error *error)
{
    struct distinct_keys *distinct = ctx;
    assert(table < distinct->tables);
    struct key_list *list = &distinct->lists[table];
    for (uint64_t i = 0; i < count; i++) {
        if (keys[i] == SPARSE_KEY_NONE) { continue; }
        if (!make_room(list)) { return error_set(error, TN_ENOMEM, "out of memory for keys"); }
        list->places[list->count++] = (struct sparse_place){.key = keys[i]};
    }
    return TN_OK;
}

struct distinct_keys *distinct_keys_open(uint32_t tables)
{
    struct distinct_keys *keys = calloc(1, sizeof *keys + tables * sizeof keys->lists[0]);
    if (keys == NULL) { return NULL; }
    keys->tables = tables;
    keys->sink = (struct row_sink){.add = add, .ctx = keys};
    return keys;
}

void distinct_keys_close(struct distinct_keys *keys)
{
    if (keys == NULL) { return; }
    for (uint32_t t = 0; t < keys->tables; t++) {
        free(keys->lists[t].places);
        free(keys->lists[t].spare);
    }
    free(keys);
}

const struct row_sink *distinct_keys_sink(const struct distinct_keys *keys)
{
    return &keys->sink;
}

uint64_t distinct_keys_count(struct distinct_keys *keys, uint32_t table)
{
    assert(table < keys->tables);
    remove_repeated(&keys->lists[table]);
    return keys->lists[table].count;
}
