/* The store under a loss of power (rules P6 and P7): in every state that the disk may be left in,
 * each committed checkpoint is found and verified. */
#include "tests/contract/crash_states.h"

enum { PARAMETERS = 300, SHARDS = 2, CHECKPOINTS = 3 };

/* The state of a checkpoint when the power failed. */
static struct promise {
    struct manifest manifest;
    bool written;   /* Every shard: the chief commits it. */
    bool copied;    /* The manifest, too. */
    bool collected; /* It may have been removed. */
} promises[CHECKPOINTS + 1];

static void check_promise(const char *crashed, const struct promise *promise)
{
    struct manifest copy;
    struct error error = {.text = ""};
    const int id = (int)promise->manifest.id;
    enum tn_status shards =
        store_verify(crashed, &promise->manifest, STORE_ALL_SHARDS, NULL, &error);
    if (promise->written && !promise->collected && shards != TN_OK) {
        fail_msg("checkpoint %d was written, and is not intact: %s", id, error.text);
    }
    enum tn_status found = store_get_manifest(crashed, promise->manifest.id, &copy, &error);
    if (promise->copied && !promise->collected && found != TN_OK) {
        fail_msg("the manifest of checkpoint %d was copied, and is lost: %s", id, error.text);
    }
    if (found == TN_OK && shards != TN_OK) {
        fail_msg("checkpoint %d has a manifest, and is not intact", id);
    }
    if (found != TN_OK && found != TN_ENOENT) {
        fail_msg("the manifest of checkpoint %d is damaged: %s", id, error.text);
    }
}

static void check_promises(const char *crashed)
{
    for (size_t i = 1; i <= CHECKPOINTS; i++) {
        /* Without digests no shard can be intact: nothing was written yet. */
        if (promises[i].manifest.id != 0) { check_promise(crashed, &promises[i]); }
    }
}

static void write_all(uint64_t id)
{
    struct promise *promise = &promises[id];
    struct error error = {.text = ""};
    struct manifest manifest = manifest_make(id, PARAMETERS, SHARDS);
    for (uint32_t i = 0; i < SHARDS; i++) {
        if (write_shard(&manifest, i, &error) != TN_OK) { fail_msg("%s", error.text); }
    }
    promise->manifest = manifest;
    promise->written = true;
    crash_check_all();
}

static void copy_manifest(uint64_t id)
{
    struct error error = {.text = ""};
    if (store_put_manifest(dir, &promises[id].manifest, &error) != TN_OK) {
        fail_msg("%s", error.text);
    }
    promises[id].copied = true;
    crash_check_all();
}

static void collect_below(uint64_t id)
{
    size_t removed;
    for (uint64_t i = 1; i < id; i++) { promises[i].collected = true; }
    assert_int_equal(store_collect(dir, NULL, 0, id, &removed, NULL), TN_OK);
    assert_int_equal(removed, 1);
    crash_check_all();
}

static int end_and_remove(void **state)
{
    crash_end();
    return remove_dir(state);
}

/* Three checkpoints are written and committed, and the older ones collected. */
static void committed_checkpoint_survives_every_crash_state(void **state)
{
    (void)state;
    memset(promises, 0, sizeof promises);
    crash_record(dir, check_promises);
    for (uint64_t id = 1; id <= CHECKPOINTS; id++) {
        write_all(id);
        copy_manifest(id);
        if (id > 1) { collect_below(id); }
    }
    print_message("%zu crash states were checked\n", recording.states);
    assert_true(recording.states > 200);
}

/* A shard that is written a second time, after a restart of its ps, replaces the first
 * atomically. */
static void rewritten_shard_survives_every_crash_state(void **state)
{
    struct error error = {.text = ""};
    (void)state;
    memset(promises, 0, sizeof promises);
    crash_record(dir, check_promises);
    write_all(1);
    struct manifest again = promises[1].manifest;
    if (write_shard(&again, 0, &error) != TN_OK) { fail_msg("%s", error.text); }
    crash_check_all();
    copy_manifest(1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, end_and_remove)
    const struct CMUnitTest tests[] = {
        TEST(committed_checkpoint_survives_every_crash_state),
        TEST(rewritten_shard_survives_every_crash_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
