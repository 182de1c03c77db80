#include "model/distinct_keys.h"

#include <assert.h>
#include <stdlib.h>

#include "kernels/sparse/key_list.h"

struct distinct_keys {
    struct row_sink sink;
    uint32_t tables;
    struct key_list lists[]; /* [tables] */
};

static enum tn_status add(void *ctx, uint32_t table, const uint64_t *keys, uint64_t count,
                          struct error *error)
{
    struct distinct_keys *distinct = ctx;
    assert(table < distinct->tables);
    struct key_list *list = &distinct->lists[table];
    for (uint64_t i = 0; i < count; i++) {
        if (keys[i] == SPARSE_KEY_NONE) { continue; }
        if (!key_list_add(list, keys[i])) {
            return error_set(error, TN_ENOMEM, "out of memory for keys");
        }
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
    for (uint32_t t = 0; t < keys->tables; t++) { key_list_free(&keys->lists[t]); }
    free(keys);
}

const struct row_sink *distinct_keys_sink(const struct distinct_keys *keys)
{
    return &keys->sink;
}

uint64_t distinct_keys_count(struct distinct_keys *keys, uint32_t table)
{
    assert(table < keys->tables);
    key_list_sort(&keys->lists[table]);
    return keys->lists[table].count;
}
