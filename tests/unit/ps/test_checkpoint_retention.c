/* Copies of manifests, and which checkpoints stay on the disk. */
#include "ps/checkpoint_retention.h"

#include "tests/unit/ps/checkpoint_scene.h"

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

/* The manifest of a newer commit may name a best checkpoint that was superseded meanwhile: nothing
 * is removed before it is read. */
static void test_best_of_a_newer_commit_stays(void **state)
{
    (void)state;
    struct manifest manifest = manifest_of(8);
    listed(&manifest);
    const char *const children[] = {"0000000009", "0000000010"};
    struct run run = {.phase = RUN_RUNNING, .committed_checkpoint = 9};
    run.best_checkpoint.checkpoint = 8;
    checkpoint_client_follow(&client, &run);
    answer_manifest(9);
    answer_store(TN_OK);
    run.committed_checkpoint = 10; /* Its manifest names 8; then 9 is found to be better. */
    run.best_checkpoint.checkpoint = 9;
    checkpoint_client_follow(&client, &run);
    answer_zk((struct zk_event){.children = children, .child_count = 2});
    assert_int_equal(client.retention.state, RETENTION_READ);
    manifest = manifest_of(10);
    manifest.best = (struct best){.checkpoint = 8, .step = 1, .metric = BEST_LOSS, .value = 0.5};
    answer_encoded(&manifest);
    answer_store(TN_OK);
    answer_zk((struct zk_event){.children = children, .child_count = 2});
    assert_int_equal(store.last, STORE_COLLECT);
    assert_int_equal(store.kept_count, 3);
    assert_int_equal(store.kept[0], 9);
    assert_int_equal(store.kept[1], 10);
    assert_int_equal(store.kept[2], 8);
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

/* The ids of the checkpoints that are kept, after the commit of 19 over 15 to 18. */
static void expect_kept(const struct run *run, const uint64_t *ids, size_t count)
{
    listed(NULL);
    for (uint64_t id = 15; id <= 18; id++) {
        const struct manifest manifest = manifest_of(id);
        checkpoint_client_add_manifest(&client, &manifest);
    }
    checkpoint_client_follow(&client, run);
    answer_manifest(19);
    answer_store(TN_OK);
    const char *const children[] = {"0000000019"};
    answer_zk((struct zk_event){.children = children, .child_count = 1});
    assert_int_equal(store.last, STORE_COLLECT);
    assert_int_equal(store.kept_count, count);
    for (size_t i = 0; i < count; i++) { assert_int_equal(store.kept[i], ids[i]); }
}

/* With tables, the newest one of an earlier block of 16 ids stays: it shares no file with
 * others. */
static void test_one_of_an_earlier_chain_stays(void **state)
{
    static struct variable_table variables;
    static struct shard_rows rows = {.variables = &variables};
    (void)state;
    client.rows = &rows;
    expect_kept(&(struct run){.phase = RUN_RUNNING, .committed_checkpoint = 19},
                (const uint64_t[]){15, 19, 18}, 3);
}

/* Those that could not be loaded stay, and do not count: the chief counts likewise. */
static void test_unloadable_ones_do_not_count(void **state)
{
    (void)state;
    expect_kept(&(struct run){.phase = RUN_RUNNING,
                              .committed_checkpoint = 19,
                              .unloadable_count = 1,
                              .unloadable = {18}},
                (const uint64_t[]){19, 17, 18}, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SCENE(test_commit_copies_and_collects),
        IN_SCENE(test_manifests_on_disk_count_as_committed),
        IN_SCENE(test_newer_commit_is_handled_next),
        IN_SCENE(test_gaps_are_filled),
        IN_SCENE(test_a_commit_precedes_gaps),
        IN_SCENE(test_best_of_a_newer_commit_stays),
        IN_SCENE(test_names_alone_delete_nothing),
        IN_SCENE(test_a_failed_copy_is_repeated),
        IN_SCENE(test_one_of_an_earlier_chain_stays),
        IN_SCENE(test_unloadable_ones_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
