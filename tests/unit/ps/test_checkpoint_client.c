/* The checkpoint client when the store and ZooKeeper succeed, fail, are busy or answer nonsense. */
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

/* The store: its last request, and whether it accepts requests. */
static struct {
    bool busy;
    enum store_request last;
    uint64_t op;
    uint64_t kept[STORE_KEEP_MAX], below;
    size_t kept_count;
} store;

static enum tn_status accept(uint64_t op, enum store_request request)
{
    if (store.busy) { return TN_EREFUSED; }
    store.last = request;
    store.op = op;
    return TN_OK;
}

static enum tn_status write_shard(void *ctx, uint64_t op, const struct store_write_request *request)
{
    (void)ctx;
    assert_int_equal(request->count, COUNT);
    return accept(op, STORE_WRITE);
}

static enum tn_status read_shard(void *ctx, uint64_t op, const struct store_read_request *request)
{
    (void)ctx;
    assert_non_null(request->arrays[0].buffer);
    return accept(op, STORE_READ);
}

static enum tn_status list(void *ctx, uint64_t op)
{
    (void)ctx;
    return accept(op, STORE_LIST);
}

static enum tn_status put_manifest(void *ctx, uint64_t op, const struct manifest *manifest)
{
    (void)ctx;
    (void)manifest;
    return accept(op, STORE_PUT_MANIFEST);
}

static enum tn_status collect(void *ctx, uint64_t op, const uint64_t *keep, size_t count,
                              uint64_t below_id)
{
    (void)ctx;
    memcpy(store.kept, keep, count * sizeof *keep);
    store.kept_count = count;
    store.below = below_id;
    return accept(op, STORE_COLLECT);
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

/* A client whose first listing contains `manifest`, or nothing if it is NULL. */
static void listed(const struct manifest *manifest)
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
                                        .optimizer = {.kind = OPTIMIZER_SGD, .arrays = 1},
                                        .pool = pool,
                                        .count = COUNT,
                                        .slices = 4,
                                        .chunk_bytes = WIRE_CHUNK_BYTES};
    assert_int_equal(shard_open(&shard, &shard_config, NULL), TN_OK);
    assert_true(shard_begin_load(&shard));
    static struct shard_rows no_rows;
    struct checkpoint_client_config config = {
        .store = {NULL, write_shard, read_shard, NULL, list, put_manifest, collect, NULL},
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
                                .text = status == TN_OK ? "" : "the disk failed",
                                .metadata = &metadata,
                                .bytes = 400};
    return checkpoint_client_handle_store(&client, &event);
}

/* ZooKeeper answers the last read or list. */
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
    enum checkpoint_event event = answer_zk((struct zk_event){.data = text, .size = size});
    free(text);
    return event;
}

/* Let the time pass until the deadline. */
static enum checkpoint_event tick(void)
{
    assert_true(checkpoint_client_deadline_ms(&client) != UINT64_MAX);
    return checkpoint_client_tick(&client, checkpoint_client_deadline_ms(&client));
}

/* The first listing sets the manifests, and the highest epoch, generation and id. */
static void test_first_listing_sets_manifests(void **state)
{
    (void)state;
    struct manifest manifest = manifest_of(9);
    listed(&manifest);
    assert_int_equal(client.manifests[0].id, 9);
    assert_int_equal(client.highest_epoch, 5);
    assert_int_equal(client.highest_generation, 3);
    assert_int_equal(client.highest_id, 10); /* A checkpoint without a manifest. */
}

/* A load uses the manifest on the disk and does not read ZooKeeper. */
static void test_load_uses_the_manifest_on_disk(void **state)
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

/* A checkpoint of another optimizer is not loaded: its shards are not even read. */
static void test_other_optimizer_is_refused(void **state)
{
    (void)state;
    struct manifest manifest = manifest_of(9);
    strcpy(manifest.optimizer, "momentum");
    listed(&manifest);
    checkpoint_client_load(&client, 9);
    assert_int_equal(tick(), CHECKPOINT_LOAD_FAILED);
    assert_int_equal(store.last, STORE_LIST);
    assert_false(client.load_missing);
}

/* Without a copy the manifest is read from ZooKeeper. Unknown outcomes and a busy store are
 * retried. */
static void test_load_retries(void **state)
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

/* The load fails if the manifest is missing, of another checkpoint, damaged or of another model. */
static void test_load_fails_without_a_valid_manifest(void **state)
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

/* A save reports the size of the durable shard, a full disk, or a busy store. */
static void test_save_reports_its_result(void **state)
{
    (void)state;
    listed(NULL);
    assert_true(shard_adopt(&shard, 0));
    assert_true(
        checkpoint_client_save(&client, &(struct checkpoint_save){.checkpoint = 4, .step = 7}));
    assert_false(checkpoint_client_idle(&client));
    assert_int_equal(client.highest_id, 4); /* From now on its shard may be on the disk. */
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

/* After a commit the manifest is copied and old checkpoints are collected. A checkpoint that is
 * known only by the name of a znode stays: its name does not prove that another is superseded. */
static void test_commit_copies_and_collects(void **state)
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
    assert_int_equal(store.kept_count, 3);
    assert_int_equal(store.kept[0], 9);
    assert_int_equal(store.kept[1], 3);
    assert_int_equal(store.kept[2], 7);
    assert_int_equal(store.below, 9);
    answer_store(TN_OK);
    answer_zk((struct zk_event){.outcome = ZK_REFUSED, .reason = ZK_REASON_NO_NODE}); /* 3 */
    answer_zk((struct zk_event){.outcome = ZK_REFUSED, .reason = ZK_REASON_NO_NODE}); /* 7 */
    assert_true(checkpoint_client_idle(&client));
}

/* Manifests that this disk lacks, because commits followed fast or because a file was damaged, are
 * copied once nothing newer is due; then the copies beyond `keep` are collected. Each is tried
 * once. */
static void test_gaps_are_filled(void **state)
{
    (void)state;
    struct manifest manifest = manifest_of(6);
    listed(&manifest);
    const struct run run = {.phase = RUN_RUNNING, .committed_checkpoint = 9};
    const char *const children[] = {"0000000006", "0000000007", "0000000008", "0000000009"};
    checkpoint_client_follow(&client, &run);
    answer_manifest(9);
    answer_store(TN_OK);
    answer_zk((struct zk_event){.children = children, .child_count = 4});
    assert_int_equal(store.last, STORE_COLLECT);
    answer_store(TN_OK);
    assert_false(checkpoint_client_idle(&client));
    answer_zk((struct zk_event){.data = "{}", .size = 2}); /* The manifest of 7 is not valid. */
    answer_manifest(8);
    assert_int_equal(store.last, STORE_PUT_MANIFEST);
    answer_store(TN_OK);
    assert_int_equal(client.manifest_count, 3);
    assert_int_equal(client.manifests[1].id, 8);
    assert_int_equal(client.retention.state, RETENTION_LIST);
    answer_zk((struct zk_event){.children = children, .child_count = 4});
    assert_int_equal(store.last, STORE_COLLECT);
    assert_int_equal(store.below, 9);
    answer_store(TN_OK);
    assert_true(checkpoint_client_idle(&client));
}

/* A newer commit is handled before the gaps; a gap whose copy fails is not tried again. */
static void test_a_commit_precedes_gaps(void **state)
{
    (void)state;
    listed(NULL);
    struct run run = {.phase = RUN_RUNNING, .committed_checkpoint = 9};
    const char *const children[] = {"0000000008", "0000000009"};
    checkpoint_client_follow(&client, &run);
    answer_manifest(9);
    answer_store(TN_OK);
    answer_zk((struct zk_event){.children = children, .child_count = 2});
    run.committed_checkpoint = 10;
    checkpoint_client_follow(&client, &run);
    answer_store(TN_OK);
    answer_manifest(10);
    answer_store(TN_OK);
    assert_int_equal(client.manifests[0].id, 10);
    answer_zk((struct zk_event){.children = children, .child_count = 2});
    answer_store(TN_OK);
    answer_manifest(8);
    answer_store(TN_ENOSPC);
    assert_true(checkpoint_client_idle(&client));
}

/* A committed checkpoint that a wiped ZooKeeper has lost is still kept. */
static void test_manifests_on_disk_count_as_committed(void **state)
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

/* A newer commit is handled next. The checkpoint of an ordered load is not removed. */
static void test_newer_commit_is_handled_next(void **state)
{
    (void)state;
    listed(NULL);
    checkpoint_client_follow(&client,
                             &(struct run){.phase = RUN_RUNNING, .committed_checkpoint = 9});
    checkpoint_client_follow(
        &client,
        &(struct run){.phase = RUN_LOADING, .committed_checkpoint = 10, .load_checkpoint = 2});
    answer_manifest(9);
    answer_store(TN_OK);
    const char *const children[] = {"0000000009"};
    answer_zk((struct zk_event){.children = children, .child_count = 1});
    assert_int_equal(store.kept_count, 2);
    assert_int_equal(store.kept[0], 2);
    answer_store(TN_OK);
    assert_false(checkpoint_client_idle(&client));
    answer_zk((struct zk_event){.outcome = ZK_REFUSED});
    answer_zk((struct zk_event){.outcome = ZK_REFUSED, .reason = ZK_REASON_NO_NODE}); /* 2 */
    assert_true(checkpoint_client_idle(&client));
}

/* Invented names under /checkpoints delete nothing, and what could not be loaded stays. */
static void test_names_alone_delete_nothing(void **state)
{
    (void)state;
    struct manifest manifest = manifest_of(8);
    listed(&manifest);
    checkpoint_client_follow(&client, &(struct run){.phase = RUN_RUNNING,
                                                    .committed_checkpoint = 9,
                                                    .unloadable_count = 1,
                                                    .unloadable = {4}});
    answer_manifest(9);
    answer_store(TN_OK);
    const char *const children[] = {"9999999995", "9999999996", "9999999997", "9999999998",
                                    "0000000009"};
    answer_zk((struct zk_event){.children = children, .child_count = 5});
    assert_int_equal(store.kept_count, 3);
    assert_int_equal(store.kept[0], 9);
    assert_int_equal(store.kept[1], 8);
    assert_int_equal(store.kept[2], 4);
}

/* A copy of a manifest that failed is made before anything is collected. */
static void test_a_failed_copy_is_repeated(void **state)
{
    (void)state;
    listed(NULL);
    checkpoint_client_follow(&client,
                             &(struct run){.phase = RUN_RUNNING, .committed_checkpoint = 9});
    answer_manifest(9);
    answer_store(TN_ENOSPC);
    assert_int_equal(client.retention.state, RETENTION_PUT);
    assert_int_equal(checkpoint_client_deadline_ms(&client),
                     client.now_ms + RETENTION_COPY_RETRY_MS);
    (void)checkpoint_client_tick(&client, checkpoint_client_deadline_ms(&client));
    assert_int_equal(store.last, STORE_PUT_MANIFEST);
    answer_store(TN_OK);
    assert_int_equal(client.retention.state, RETENTION_LIST);
    assert_int_equal(client.manifests[0].id, 9);
}

/* After a wipe the newest manifest of the disk is published before the first report. */
static void test_a_wiped_zookeeper_gets_the_newest_manifest(void **state)
{
    (void)state;
    const struct run wiped = {.phase = RUN_FORMING};
    struct manifest manifest = manifest_of(8);
    listed(&manifest);
    assert_false(checkpoint_client_ready(&client, &wiped));
    answer_zk((struct zk_event){.outcome = ZK_UNKNOWN});
    assert_false(checkpoint_client_ready(&client, &wiped));
    tick();
    answer_zk((struct zk_event){.outcome = ZK_REFUSED, .reason = ZK_REASON_NODE_EXISTS});
    assert_true(checkpoint_client_ready(&client, &wiped));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_listing_sets_manifests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_load_uses_the_manifest_on_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_optimizer_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_load_retries, setup, teardown),
        cmocka_unit_test_setup_teardown(test_load_fails_without_a_valid_manifest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_save_reports_its_result, setup, teardown),
        cmocka_unit_test_setup_teardown(test_commit_copies_and_collects, setup, teardown),
        cmocka_unit_test_setup_teardown(test_manifests_on_disk_count_as_committed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newer_commit_is_handled_next, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gaps_are_filled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_commit_precedes_gaps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_alone_delete_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_failed_copy_is_repeated, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_wiped_zookeeper_gets_the_newest_manifest, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
