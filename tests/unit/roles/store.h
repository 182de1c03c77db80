/* tests/unit/roles/store.h: a checkpoint store in memory, which survives restarts of its ps. */
#ifndef TESTS_UNIT_ROLES_STORE_H
#define TESTS_UNIT_ROLES_STORE_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ps/store/store_port.h"
#include "tests/unit/roles/stopwatch.h"

enum { ROLES_SHARDS_MAX = 16, ROLES_FLOATS_MAX = 256 };

struct roles_shard {
    uint64_t id, updates, count;
    uint32_t arrays;
    float values[3][ROLES_FLOATS_MAX];
    uint8_t blob[STORE_BLOB_MAX];
    size_t blob_bytes;
};

/* One answer, which the world delivers later. */
struct roles_store_answer {
    struct store_event event;
    struct store_metadata metadata;
    size_t manifest_count;
    struct manifest *manifests; /* Owned; freed by the world. */
};

struct roles_store {
    uint32_t count;
    struct roles_shard shards[ROLES_SHARDS_MAX];
    uint32_t manifest_count;
    struct manifest manifests[4];
    bool broken; /* Reads fail. */
    uint32_t collections, hurries;
    uint64_t kept[8], below; /* Arguments of the last collection. */
    size_t kept_count;
    void (*answer)(void *world, uint32_t node,
                   struct roles_store_answer *answer); /* Takes ownership. */
    void *world;
    uint32_t node;
};

static inline struct roles_store_answer *roles_answer(uint64_t op, enum store_request request)
{
    struct roles_store_answer *answer = calloc(1, sizeof *answer);
    assert(answer != NULL);
    answer->event = (struct store_event){.op = op, .request = request, .text = ""};
    return answer;
}

static inline enum tn_status roles_write(void *ctx, uint64_t op,
                                         const struct store_write_request *request)
{
    struct roles_store *store = ctx;
    assert(store->count < ROLES_SHARDS_MAX && request->count <= ROLES_FLOATS_MAX);
    struct roles_shard *shard = &store->shards[store->count++];
    shard->id = request->id;
    shard->updates = request->optimizer_steps;
    shard->count = request->count;
    shard->arrays = request->state_arrays;
    for (uint32_t a = 0; a < request->state_arrays; a++) {
        memcpy(shard->values[a], request->arrays[a].buffer->data, request->count * sizeof(float));
    }
    shard->blob_bytes = request->blob_bytes;
    if (request->blob_bytes > 0) { memcpy(shard->blob, request->blob, request->blob_bytes); }
    struct roles_store_answer *answer = roles_answer(op, STORE_WRITE);
    answer->event.bytes = 1000 + request->id;
    store->answer(store->world, store->node, answer);
    return TN_OK;
}

/* Reads require the same number of ps as the writes. */
static inline enum tn_status roles_read(void *ctx, uint64_t op,
                                        const struct store_read_request *request)
{
    struct roles_store *store = ctx;
    struct roles_store_answer *answer = roles_answer(op, STORE_READ);
    answer->event.status = TN_ENOENT;
    answer->event.text = "no such shard";
    for (uint32_t i = 0; i < store->count && !store->broken; i++) {
        const struct roles_shard *shard = &store->shards[i];
        if (shard->id != request->manifest->id) { continue; }
        assert(shard->count == request->count);
        for (uint32_t a = 0; a < shard->arrays; a++) {
            memcpy(request->arrays[a].buffer->data, shard->values[a], shard->count * sizeof(float));
        }
        answer->metadata.optimizer_steps = shard->updates;
        answer->metadata.blob_bytes = shard->blob_bytes;
        memcpy(answer->metadata.blob, shard->blob, shard->blob_bytes);
        answer->event.status = TN_OK;
    }
    store->answer(store->world, store->node, answer);
    return TN_OK;
}

static inline enum tn_status roles_list_store(void *ctx, uint64_t op)
{
    struct roles_store *store = ctx;
    struct roles_store_answer *answer = roles_answer(op, STORE_LIST);
    answer->manifests = calloc(4, sizeof *answer->manifests);
    assert(answer->manifests != NULL);
    answer->manifest_count = store->manifest_count;
    memcpy(answer->manifests, store->manifests, sizeof store->manifests);
    store->answer(store->world, store->node, answer);
    return TN_OK;
}

static inline enum tn_status roles_put(void *ctx, uint64_t op, const struct manifest *manifest)
{
    struct roles_store *store = ctx;
    assert(store->manifest_count < 4);
    store->manifests[store->manifest_count++] = *manifest;
    store->answer(store->world, store->node, roles_answer(op, STORE_PUT_MANIFEST));
    return TN_OK;
}

static inline enum tn_status roles_collect(void *ctx, uint64_t op, const uint64_t *keep,
                                           size_t count, uint64_t below_id)
{
    struct roles_store *store = ctx;
    store->collections++;
    store->below = below_id;
    store->kept_count = count;
    for (size_t i = 0; i < count && i < 8; i++) { store->kept[i] = keep[i]; }
    store->answer(store->world, store->node, roles_answer(op, STORE_COLLECT));
    return TN_OK;
}

static inline void roles_hurry(void *ctx)
{
    struct roles_store *store = ctx;
    store->hurries++;
}

static inline struct store_port roles_store_port(struct roles_store *store)
{
    return (struct store_port){.ctx = store,
                               .write = roles_write,
                               .read = roles_read,
                               .list = roles_list_store,
                               .put_manifest = roles_put,
                               .collect = roles_collect,
                               .hurry = roles_hurry};
}

#endif
