/* The checkpoint client when the store and ZooKeeper succeed, fail, are busy or answer nonsense:
 * listing, loads and saves. */
#include "tests/unit/ps/checkpoint_scene.h"

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

/* A load uses the manifest on the disk and does not read ZooKeeper, but publishes it there: another
 * disk may lack it. */
static void test_load_uses_the_manifest_on_disk(void **state)
{
    (void)state;
    struct manifest manifest = manifest_of(9);
    listed(&manifest);
    checkpoint_client_load(&client, 9);
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_int_equal(store.last, STORE_READ);
    assert_int_equal(fake.request_count, 1);
    assert_int_equal(fake.requests[0].writes[0].kind, ZK_CREATE);
    assert_string_equal(fake.requests[0].writes[0].path, "/tanist/test/checkpoints/0000000009");
    assert_int_equal(answer_store(TN_OK), CHECKPOINT_LOADED);
    assert_int_equal(client.metadata.optimizer_steps, 40);
}

/* The chief creates the folder of manifests again if another program has deleted it. */
static void test_publication_of_a_load_awaits_the_folder(void **state)
{
    (void)state;
    struct manifest manifest = manifest_of(9);
    listed(&manifest);
    client.publication.done = true;
    membership.run = (struct run){.phase = RUN_LOADING, .load_checkpoint = 9};
    checkpoint_client_load(&client, 9);
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    answer_zk((struct zk_event){.outcome = ZK_REFUSED, .reason = ZK_REASON_NO_NODE});
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_int_equal(fake.request_count, 2);
    answer_zk((struct zk_event){.outcome = ZK_REFUSED, .reason = ZK_REASON_NO_NODE});
    membership.run.phase = RUN_RUNNING; /* The chief may have deleted it since. */
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_int_equal(fake.request_count, 2);
    membership.run.phase = RUN_LOADING;
    client.publication.retry_at_ms = client.now_ms;
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    answer_zk((struct zk_event){.outcome = ZK_REFUSED, .reason = ZK_REASON_NODE_EXISTS});
    assert_true(checkpoint_client_deadline_ms(&client) == UINT64_MAX);
    assert_int_equal(answer_store(TN_OK), CHECKPOINT_LOADED);
}

static enum checkpoint_event answer_no_manifest(void)
{
    return answer_zk((struct zk_event){.outcome = ZK_REFUSED, .reason = ZK_REASON_NO_NODE});
}

/* A manifest that another program deleted may be published again; the load waits for it, but not
 * forever. */
static void test_load_awaits_a_lost_manifest(void **state)
{
    (void)state;
    listed(NULL);
    checkpoint_client_load(&client, 9);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
        assert_int_equal(answer_no_manifest(), CHECKPOINT_NO_EVENT);
    }
    assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
    assert_int_equal(answer_manifest(9), CHECKPOINT_NO_EVENT);
    assert_int_equal(answer_store(TN_OK), CHECKPOINT_LOADED);
    checkpoint_client_load(&client, 8);
    const uint64_t end_ms = client.now_ms + CHECKPOINT_MANIFEST_WAIT_MS;
    enum checkpoint_event event = CHECKPOINT_NO_EVENT;
    while (event == CHECKPOINT_NO_EVENT) {
        assert_in_range(client.now_ms, 0, end_ms);
        assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
        event = answer_no_manifest();
    }
    assert_int_equal(event, CHECKPOINT_LOAD_FAILED);
    assert_int_equal(client.load_missing, MISSING_FILES);
    assert_true(client.now_ms >= end_ms);
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
    assert_int_equal(client.load_missing, MISSING_NOTHING);
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

/* A disk to which the checkpoint was saved lacks nothing but the manifest, if the disk was listed
 * without an error. */
static void test_lost_manifest_differs_from_missing_files(void **state)
{
    (void)state;
    struct manifest manifest = manifest_of(8); /* The disk has checkpoint 9, too. */
    listed(&manifest);
    const struct {
        uint64_t checkpoint;
        bool listed_all;
        enum load_missing expected;
    } cases[] = {{9, true, MISSING_MANIFEST}, {9, false, MISSING_FILES}, {10, true, MISSING_FILES}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        client.listed_all = cases[i].listed_all;
        checkpoint_client_load(&client, cases[i].checkpoint);
        assert_int_equal(tick(), CHECKPOINT_NO_EVENT);
        client.load.lost_since_ms = 1; /* Long ago. */
        client.now_ms += CHECKPOINT_MANIFEST_WAIT_MS;
        assert_int_equal(answer_no_manifest(), CHECKPOINT_LOAD_FAILED);
        assert_int_equal(client.load_missing, cases[i].expected);
    }
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

/* A save is hurried once, and only while it is in progress; a small one is not spread. */
static void test_a_save_is_hurried(void **state)
{
    (void)state;
    listed(NULL);
    assert_true(shard_adopt(&shard, 0));
    checkpoint_client_hurry(&client);
    assert_int_equal(store.hurries, 0);
    assert_true(
        checkpoint_client_save(&client, &(struct checkpoint_save){.checkpoint = 4, .step = 7}));
    assert_int_equal(store.spread_ms, 0);
    checkpoint_client_hurry(&client);
    checkpoint_client_hurry(&client);
    assert_int_equal(store.hurries, 1);
    assert_int_equal(answer_store(TN_OK), CHECKPOINT_SAVED);
    checkpoint_client_hurry(&client);
    assert_int_equal(store.hurries, 1);
    assert_true(
        checkpoint_client_save(&client, &(struct checkpoint_save){.checkpoint = 5, .step = 8}));
    checkpoint_client_hurry(&client);
    assert_int_equal(store.hurries, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCENE(test_first_listing_sets_manifests),
        IN_SCENE(test_load_uses_the_manifest_on_disk),
        IN_SCENE(test_publication_of_a_load_awaits_the_folder),
        IN_SCENE(test_load_awaits_a_lost_manifest),
        IN_SCENE(test_lost_manifest_differs_from_missing_files),
        IN_SCENE(test_other_optimizer_is_refused),
        IN_SCENE(test_load_retries),
        IN_SCENE(test_load_fails_without_a_valid_manifest),
        IN_SCENE(test_save_reports_its_result),
        IN_SCENE(test_a_wiped_zookeeper_gets_the_newest_manifest),
        IN_SCENE(test_a_save_is_hurried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
