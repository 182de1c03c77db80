/* tests/unit/ps/checkpoint_scene.h: a checkpoint client whose store and ZooKeeper are answered by
 * the test. */
#ifndef TESTS_UNIT_PS_CHECKPOINT_SCENE_H
#define TESTS_UNIT_PS_CHECKPOINT_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cluster/manifest.h"
#include "ps/checkpoint_client.h"
#include "tests/unit/support/fake_ports.h"

enum { COUNT = 100 };

static struct fake_ports fake;
static struct node_ports ports;
static struct membership membership;
static struct buffer_pool *pool;
static struct shard shard;
static struct checkpoint_client client;

/* The store: its last request, and whether it accepts requests. */
static struct {
    bool busy;
    enum store_request last;
    uint64_t op;
    uint64_t kept[STORE_KEEP_MAX], below;
    size_t kept_count;
    uint64_t spread_ms;
    uint32_t hurries;
} store;

static inline enum tn_status accept(uint64_t op, enum store_request request)
{
    if (store.busy) { return TN_EREFUSED; }
    store.last = request;
    store.op = op;
    return TN_OK;
}

static inline enum tn_status write_shard(void *ctx, uint64_t op,
                                         const struct store_write_request *request)
{
    (void)ctx;
    assert_int_equal(request->count, COUNT);
    store.spread_ms = request->spread_ms;
    return accept(op, STORE_WRITE);
}

static inline enum tn_status read_shard(void *ctx, uint64_t op,
                                        const struct store_read_request *request)
{
    (void)ctx;
    assert_non_null(request->arrays[0].buffer);
    return accept(op, STORE_READ);
}

static inline enum tn_status list(void *ctx, uint64_t op)
{
    (void)ctx;
    return accept(op, STORE_LIST);
}

static inline enum tn_status put_manifest(void *ctx, uint64_t op, const struct manifest *manifest)
{
    (void)ctx;
    (void)manifest;
    return accept(op, STORE_PUT_MANIFEST);
}

static inline enum tn_status collect(void *ctx, uint64_t op, const uint64_t *keep, size_t count,
                                     uint64_t below_id)
{
    (void)ctx;
    memcpy(store.kept, keep, count * sizeof *keep);
    store.kept_count = count;
    store.below = below_id;
    return accept(op, STORE_COLLECT);
}

static inline void hurry(void *ctx)
{
    (void)ctx;
    store.hurries++;
}

static inline struct manifest manifest_of(uint64_t id)
{
    struct manifest manifest = {.id = id,
                                .generation = 3,
                                .step = 40,
                                .epoch = 5,
                                .variables_hash = 77,
                                .parameter_count = COUNT,
                                .slices = 4,
                                .state_arrays = 1,
                                .shard_count = 1,
                                .optimizer = "sgd",
                                .mode = "sync",
                                .kernels = "reference"};
    manifest.shards[0] = (struct manifest_shard){.count = COUNT, .bytes = 400, .place = "here:dir"};
    return manifest;
}

/* A client whose first listing contains `manifest`, or nothing if it is NULL. */
static inline void listed(const struct manifest *manifest)
{
    checkpoint_client_start(&client, 10);
    assert_int_equal(store.last, STORE_LIST);
    struct store_event event = {.op = store.op,
                                .request = STORE_LIST,
                                .text = "",
                                .manifests = manifest,
                                .count = manifest != NULL,
                                .highest_id = manifest != NULL ? manifest->id + 1 : 0};
    assert_int_equal(checkpoint_client_handle_store(&client, &event), CHECKPOINT_LISTED);
    assert_true(client.listed);
}

static inline int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    memset(&store, 0, sizeof store);
    memset(&membership, 0, sizeof membership);
    pool = buffer_pool_create(0);
    ports = fake_node_ports(&fake, pool);
    strcpy(membership.identity.cluster, "test");
    struct shard_config shard_config = {.kernels = kernels_reference(),
                                        .optimizer = {.kind = OPTIMIZER_SGD, .arrays = 1},
                                        .pool = pool,
                                        .count = COUNT,
                                        .slices = 4,
                                        .chunk_bytes = WIRE_CHUNK_BYTES};
    assert_int_equal(shard_open(&shard, &shard_config, NULL), TN_OK);
    assert_true(shard_begin_load(&shard));
    static struct shard_rows no_rows;
    struct checkpoint_client_config config = {
        .store = {NULL, write_shard, read_shard, NULL, list, put_manifest, collect, NULL, hurry},
        .membership = &membership,
        .ports = &ports,
        .shard = &shard,
        .rows = &no_rows,
        .variables_hash = 77,
        .parameters = COUNT,
        .shards = 1,
        .keep = 2};
    assert_int_equal(checkpoint_client_open(&client, &config, NULL), TN_OK);
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    checkpoint_client_close(&client);
    shard_close(&shard);
    buffer_pool_destroy(pool);
    return 0;
}

static inline enum checkpoint_event answer_store(enum tn_status status)
{
    static const struct store_metadata metadata = {.optimizer_steps = 40};
    struct store_event event = {.op = store.op,
                                .request = store.last,
                                .status = status,
                                .text = status == TN_OK ? "" : "the disk failed",
                                .metadata = &metadata,
                                .bytes = 400};
    return checkpoint_client_handle_store(&client, &event);
}

/* ZooKeeper answers the last read or list. */
static inline enum checkpoint_event answer_zk(struct zk_event event)
{
    assert_true(fake.request_count > 0);
    event.type = ZK_RESULT;
    event.op = fake.requests[fake.request_count - 1].op;
    return checkpoint_client_handle_zk(&client, &event);
}

static inline enum checkpoint_event answer_encoded(const struct manifest *manifest)
{
    char *text;
    size_t size;
    assert_int_equal(manifest_encode(manifest, &text, &size, NULL), TN_OK);
    enum checkpoint_event event = answer_zk((struct zk_event){.data = text, .size = size});
    free(text);
    return event;
}

static inline enum checkpoint_event answer_manifest(uint64_t id)
{
    const struct manifest manifest = manifest_of(id);
    return answer_encoded(&manifest);
}

/* Let the time pass until the deadline. */
static inline enum checkpoint_event tick(void)
{
    assert_true(checkpoint_client_deadline_ms(&client) != UINT64_MAX);
    return checkpoint_client_tick(&client, checkpoint_client_deadline_ms(&client));
}

#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
