/* What a ps asks of its store and of ZooKeeper, when these fail, are busy, or answer nonsense. */
#include "ps/checkpoint_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cluster/manifest.h"
#include "tests/unit/support/fake_ports.h"

enum { COUNT = 100 };

static struct fake_ports fake;
static struct node_ports ports;
static struct membership membership;
static struct buffer_pool *pool;
static struct shard shard;
static struct checkpoint_client client;

/* The store: what was asked last, and whether it takes requests. */
static struct {
    bool busy;
    enum store_request last;
    uint64_t op;
    uint32_t asked;
    uint64_t kept[STORE_KEEP_MAX], below;
    size_t kept_count;
} store;

static enum tn_status take(uint64_t op, enum store_request request)
{
    if (store.busy) { return TN_EREFUSED; }
    store.last = request;
    store.op = op;
    store.asked++;
    return TN_OK;
}

static enum tn_status write_shard(void *ctx, uint64_t op, const struct store_write_request *request)
{
    (void)ctx;
    assert_int_equal(request->count, COUNT);
    return take(op, STORE_WRITE);
}

static enum tn_status read_shard(void *ctx, uint64_t op, const struct store_read_request *request)
{
    (void)ctx;
    assert_non_null(request->arrays[0].buffer);
    return take(op, STORE_READ);
}

static enum tn_status list(void *ctx, uint64_t op)
{
    (void)ctx;
    return take(op, STORE_LIST);
}

static enum tn_status put_manifest(void *ctx, uint64_t op, const struct manifest *manifest)
{
    (void)ctx;
    (void)manifest;
    return take(op, STORE_PUT_MANIFEST);
}

static enum tn_status collect(void *ctx, uint64_t op, const uint64_t *keep, size_t count,
                              uint64_t below_id)
{
    (void)ctx;
    memcpy(store.kept, keep, count * sizeof *keep);
    store.kept_count = count;
    store.below = below_id;
    return take(op, STORE_COLLECT);
}

static struct manifest manifest_of(uint64_t id)
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

/* An open disk whose first listing has found `manifest`, or nothing if it is NULL. */
static void listed(const struct manifest *manifest)
{
    checkpoint_client_start(&client, 10);
    assert_int_equal(store.last, STORE_LIST);
    struct store_event event = {.op = store.op,
                                .request = STORE_LIST,
                                .text = "",
                                .manifests = manifest,
                                .count = manifest != NULL};
    assert_int_equal(checkpoint_client_handle_store(&client, &event), CHECKPOINT_LISTED);
    assert_true(client.listed);
}

static int setup(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    memset(&store, 0, sizeof store);
    memset(&membership, 0, sizeof membership);
    pool = buffer_pool_create(0);
    ports = fake_node_ports(&fake, pool);
    strcpy(membership.identity.cluster, "test");
    struct shard_config shard_config = {.kernels = kernels_reference(),
                                        .optimizer = {.kind = OPTIMIZER_SGD},
                                        .pool = pool,
                                        .count = COUNT,
                                        .slices = 4};
    assert_int_equal(shard_open(&shard, &shard_config, NULL), TN_OK);
    assert_true(shard_begin_load(&shard));
    struct checkpoint_client_config config = {
        .store = {NULL, write_shard, read_shard, NULL, list, put_manifest, collect, NULL},
        .membership = &membership,
        .ports = &ports,
        .shard = &shard,
        .variables_hash = 77,
        .parameters = COUNT,
        .shards = 1,
        .keep = 2};
    assert_int_equal(checkpoint_client_open(&client, &config, NULL), TN_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    checkpoint_client_close(&client);
    shard_close(&shard);
    buffer_pool_destroy(pool);
    return 0;
}

static enum checkpoint_event answer_store(enum tn_status status)
{
    static const struct store_metadata metadata = {.optimizer_steps = 40};
    struct store_event event = {.op = store.op,
                                .request = store.last,
                                .status = status,
                                .text = status == TN_OK ? "" : "the disk says no",
                                .metadata = &metadata,
                                .bytes = 400};
    return checkpoint_client_handle_store(&client, &event);
}

/* ZooKeeper's answer to the last read or list. */
static enum checkpoint_event answer_zk(struct zk_event event)
{
    assert_true(fake.request_count > 0);
    event.type = ZK_RESULT;
    event.op = fake.requests[fake.request_count - 1].op;
    return checkpoint_client_handle_zk(&client, &event);
}

static enum checkpoint_event answer_manifest(uint64_t id)
{
    struct manifest manifest = manifest_of(id);
    char *text;
    size_t size;
    assert_int_equal(manifest_encode(&manifest, &text, &size, NULL), TN_OK);
    enum checkpoint_event news = answer_zk((struct zk_event){.data = text, .size = size});
    free(text);
    return news;
}

/* Let the time pass that it wants. */
static enum checkpoint_event tick(void)
{
    assert_true(checkpoint_client_deadline_ms(&client) != UINT64_MAX);
    return checkpoint_client_tick(&client, checkpoint_client_deadline_ms(&client));
}

/* What the first listing finds is known, with the highest epoch and generation. */
static void test_the_first_listing(void **state)
{
    (void)state;
    struct manifest manifest = manifest_of(9);
    listed(&manifest);
    assert_int_equal(client.manifests[0].id, 9);
    assert_int_equal(client.highest_epoch, 5);
    assert_int_equal(client.highest_generation, 3);
}

/* A load takes the manifest from the disk: ZooKeeper is not asked. */
static void test_a_load_from_the_disk_alone(void **state)
{
    (void)state;
    struct manifest manifest = manifest_of(9);
    listed(&manifest);
    checkpoint_client_load(&client, 9);
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_int_equal(store.last, STORE_READ);
    assert_int_equal(fake.request_count, 0);
    assert_int_equal(answer_store(TN_OK), CHECKPOINT_LOADED);
    assert_int_equal(client.metadata.optimizer_steps, 40);
}

/* Else from ZooKeeper, as often as that takes; a busy store is asked again. */
static void test_a_load_with_obstacles(void **state)
{
    (void)state;
    listed(NULL);
    checkpoint_client_load(&client, 9);
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_string_equal(fake.requests[0].writes[0].path, "/tanist/test/checkpoints/0000000009");
    assert_int_equal(answer_zk((struct zk_event){.outcome = ZK_UNKNOWN}), CHECKPOINT_NO_EVENT);
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_int_equal(fake.request_count, 2);
    store.busy = true;
    assert_int_equal(answer_manifest(9), CHECKPOINT_NO_EVENT);
    assert_int_equal(store.last, STORE_LIST);
    store.busy = false;
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_int_equal(store.last, STORE_READ);
    assert_int_equal(answer_store(TN_ECORRUPT), CHECKPOINT_LOAD_FAILED);
    assert_true(checkpoint_client_deadline_ms(&client) == UINT64_MAX);
}

/* No manifest, one of another checkpoint, damaged or of another model: the load has failed. */
static void test_loads_that_cannot_be(void **state)
{
    (void)state;
    listed(NULL);
    checkpoint_client_load(&client, 9);
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_int_equal(answer_zk((struct zk_event){.outcome = ZK_REFUSED}), CHECKPOINT_LOAD_FAILED);
    checkpoint_client_load(&client, 9);
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_int_equal(answer_manifest(8), CHECKPOINT_LOAD_FAILED);
    checkpoint_client_load(&client, 9);
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_int_equal(answer_zk((struct zk_event){.data = "{}", .size = 2}), CHECKPOINT_LOAD_FAILED);
    client.variables_hash = 78;
    checkpoint_client_load(&client, 9);
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_int_equal(answer_manifest(9), CHECKPOINT_LOAD_FAILED);
    assert_int_equal(store.last, STORE_LIST);
}

/* Saves: what is durable is told with its size; a busy store and a full disk are told, too. */
static void test_saves(void **state)
{
    (void)state;
    listed(NULL);
    shard_adopt(&shard, 0);
    assert_true(
        checkpoint_client_save(&client, &(struct checkpoint_save){.checkpoint = 4, .step = 7}));
    assert_false(checkpoint_client_idle(&client));
    assert_int_equal(answer_store(TN_OK), CHECKPOINT_SAVED);
    assert_int_equal(client.event_checkpoint, 4);
    assert_int_equal(client.saved_bytes, 400);
    assert_true(
        checkpoint_client_save(&client, &(struct checkpoint_save){.checkpoint = 5, .step = 8}));
    assert_int_equal(answer_store(TN_ENOSPC), CHECKPOINT_SAVE_FAILED);
    assert_int_equal(client.saved_checkpoint, 4);
    store.busy = true;
    assert_false(
        checkpoint_client_save(&client, &(struct checkpoint_save){.checkpoint = 6, .step = 9}));
    assert_true(checkpoint_client_idle(&client));
}

/* A commit: manifest copied, committed ones listed, all but the newest two collected. */
static void test_a_commit_is_kept(void **state)
{
    (void)state;
    listed(NULL);
    checkpoint_client_follow(&client,
                             &(struct run){.phase = RUN_RUNNING, .committed_checkpoint = 9});
    assert_false(checkpoint_client_idle(&client));
    assert_int_equal(answer_zk((struct zk_event){.outcome = ZK_UNKNOWN}), CHECKPOINT_NO_EVENT);
    tick();
    answer_manifest(9);
    assert_int_equal(store.last, STORE_PUT_MANIFEST);
    answer_store(TN_OK);
    assert_int_equal(client.manifests[0].id, 9);
    const char *const children[] = {"0000000003", "0000000009", "lost+found", "0000000007"};
    store.busy = true;
    answer_zk((struct zk_event){.children = children, .child_count = 4});
    store.busy = false;
    tick();
    assert_int_equal(store.last, STORE_COLLECT);
    assert_int_equal(store.kept_count, 2);
    assert_int_equal(store.kept[0], 9);
    assert_int_equal(store.kept[1], 7);
    assert_int_equal(store.below, 9);
    answer_store(TN_OK);
    assert_true(checkpoint_client_idle(&client));
}

/* What a wiped ZooKeeper has forgotten, and the disk has not, is still one of those to keep. */
static void test_what_only_the_disk_knows_is_kept(void **state)
{
    (void)state;
    struct manifest manifest = manifest_of(8);
    listed(&manifest);
    checkpoint_client_follow(&client,
                             &(struct run){.phase = RUN_RUNNING, .committed_checkpoint = 9});
    answer_manifest(9);
    answer_store(TN_OK);
    const char *const children[] = {"0000000009"};
    answer_zk((struct zk_event){.children = children, .child_count = 1});
    assert_int_equal(store.last, STORE_COLLECT);
    assert_int_equal(store.kept_count, 2);
    assert_int_equal(store.kept[0], 9);
    assert_int_equal(store.kept[1], 8);
}

/* A newer commit that comes meanwhile is next; what a load wants is not collected. */
static void test_commits_in_a_row(void **state)
{
    (void)state;
    listed(NULL);
    checkpoint_client_follow(&client,
                             &(struct run){.phase = RUN_RUNNING, .committed_checkpoint = 9});
    checkpoint_client_follow(
        &client,
        &(struct run){.phase = RUN_LOADING, .committed_checkpoint = 10, .load_checkpoint = 2});
    answer_manifest(9);
    answer_store(TN_EIO); /* No copy: said, and gone on. */
    const char *const children[] = {"0000000009"};
    answer_zk((struct zk_event){.children = children, .child_count = 1});
    assert_int_equal(store.kept_count, 2);
    assert_int_equal(store.kept[1], 2);
    answer_store(TN_OK);
    assert_false(checkpoint_client_idle(&client));
    answer_zk((struct zk_event){.outcome = ZK_REFUSED});
    assert_true(checkpoint_client_idle(&client));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_first_listing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_load_from_the_disk_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_load_with_obstacles, setup, teardown),
        cmocka_unit_test_setup_teardown(test_loads_that_cannot_be, setup, teardown),
        cmocka_unit_test_setup_teardown(test_saves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_commit_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_only_the_disk_knows_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_commits_in_a_row, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
