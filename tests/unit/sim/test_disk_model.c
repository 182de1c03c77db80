/* tests/sim/disk_model.h has the contract of ps/store/store_port.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/disk_model.h"

enum { EVENTS_MAX = 64, COUNT = 8, SECOND_US = 1000000 };

struct answer {
    struct store_event event;
    struct store_metadata metadata;
    uint64_t ids[STORE_LIST_MAX];
};

struct user {
    struct disk_user *disk;
    struct store_port port;
    struct answer answers[EVENTS_MAX];
    size_t count;
};

struct fixture {
    struct world world;
    struct disk_model *disk;
    struct buffer_pool *pool;
    struct user users[2];
};

static void on_event(void *ctx, const struct store_event *event)
{
    struct user *user = ctx;
    assert_true(user->count < EVENTS_MAX);
    struct answer *answer = &user->answers[user->count++];
    answer->event = *event;
    if (event->metadata != NULL) { answer->metadata = *event->metadata; }
    for (size_t i = 0; i < event->count && event->request == STORE_LIST; i++) {
        answer->ids[i] = event->manifests[i].id;
    }
}

static void begin(struct fixture *f, uint32_t fail_per_mille)
{
    memset(f, 0, sizeof *f);
    const struct disk_config config = {.write_ms = 5, .fail_per_mille = fail_per_mille};
    world_init(&f->world, 1, false);
    f->disk = disk_model_create(&f->world, &config);
    f->pool = buffer_pool_create(0);
    for (int i = 0; i < 2; i++) {
        f->users[i].disk = disk_user_open(f->disk, on_event, &f->users[i]);
        f->users[i].port = disk_user_port(f->users[i].disk);
    }
}

static void end(struct fixture *f)
{
    disk_model_free(f->disk);
    world_free(&f->world);
    buffer_pool_destroy(f->pool); /* Asserts that every array has been released. */
}

static void pass(struct fixture *f, uint64_t us)
{
    uint64_t until_us = f->world.now_us + us;
    while (world_step(&f->world, until_us)) {}
}

/* The last answer, after all requests are done. */
static const struct answer *last(struct fixture *f, int user)
{
    pass(f, SECOND_US);
    assert_true(f->users[user].count > 0);
    return &f->users[user].answers[f->users[user].count - 1];
}

/* Writes shard `shard` of two of checkpoint `id`: values from `value`, and the note "n". */
static enum tn_status write_shard(struct fixture *f, int user, uint64_t id, uint32_t shard,
                                  float value)
{
    struct buffer *buffer = buffer_acquire(f->pool, COUNT * sizeof value);
    buffer->size = COUNT * sizeof value;
    for (uint32_t i = 0; i < COUNT; i++) { ((float *)buffer->data)[i] = value + (float)i; }
    struct store_write_request request = {.id = id,
                                          .generation = 1,
                                          .step = 10 * id,
                                          .optimizer_steps = 10 * id + shard,
                                          .first = (uint64_t)shard * COUNT,
                                          .count = COUNT,
                                          .shard = shard,
                                          .shards = 2,
                                          .state_arrays = 1,
                                          .arrays = {{.buffer = buffer}},
                                          .blob = "n",
                                          .blob_bytes = 2};
    enum tn_status status =
        f->users[user].port.write(f->users[user].port.ctx, 100 * id + shard, &request);
    buffer_release(buffer); /* An accepted request keeps its own reference. */
    return status;
}

/* Writes both shards and commits them with a manifest like the chief's. */
static struct manifest commit(struct fixture *f, uint64_t id, float value)
{
    struct manifest manifest = {.id = id,
                                .step = 10 * id,
                                .epoch = id,
                                .state_arrays = 1,
                                .shard_count = 2,
                                .parameter_count = 2 * COUNT};
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(write_shard(f, 0, id, i, value + (float)(i * COUNT)), TN_OK);
        const struct answer *answer = last(f, 0);
        assert_int_equal(answer->event.status, TN_OK);
        assert_int_equal(answer->event.op, 100 * id + i);
        manifest.shards[i] = (struct manifest_shard){.first = (uint64_t)i * COUNT,
                                                     .count = COUNT,
                                                     .bytes = answer->event.bytes,
                                                     .digest = answer->event.digest};
    }
    struct store_port *port = &f->users[0].port;
    assert_int_equal(port->put_manifest(port->ctx, 1, &manifest), TN_OK);
    assert_int_equal(last(f, 0)->event.status, TN_OK);
    return manifest;
}

static struct buffer *read_range(struct fixture *f, int user, const struct manifest *manifest,
                                 uint64_t first, uint64_t count)
{
    struct buffer *buffer = buffer_acquire(f->pool, 2 * COUNT * sizeof(float));
    struct store_read_request request = {
        .manifest = manifest, .first = first, .count = count, .arrays = {{.buffer = buffer}}};
    struct store_port *port = &f->users[user].port;
    assert_int_equal(port->read(port->ctx, 5, &request), TN_OK);
    return buffer;
}

/* Every process can read a checkpoint: a shard with its metadata, any other range without. */
static void checkpoint_is_read_back(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 0);
    struct manifest manifest = commit(&f, 1, 100);
    struct buffer *buffer = read_range(&f, 1, &manifest, COUNT, COUNT);
    const struct answer *answer = last(&f, 1);
    assert_int_equal(answer->event.status, TN_OK);
    assert_true(((float *)buffer->data)[3] == 111);
    assert_int_equal(answer->metadata.optimizer_steps, 11);
    assert_int_equal(answer->metadata.blob_bytes, 2);
    assert_string_equal((const char *)answer->metadata.blob, "n");
    buffer_release(buffer);
    buffer = read_range(&f, 1, &manifest, COUNT - 2, 4);
    answer = last(&f, 1);
    assert_int_equal(answer->event.status, TN_OK);
    for (int i = 0; i < 4; i++) { assert_true(((float *)buffer->data)[i] == (float)(106 + i)); }
    assert_int_equal(answer->metadata.optimizer_steps, 11);
    assert_int_equal(answer->metadata.blob_bytes, 0);
    buffer_release(buffer);
    end(&f);
}

/* Requests are executed one at a time, in order; too many are refused without an effect. */
static void queue_is_bounded_and_in_order(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 0);
    struct user *user = &f.users[0];
    for (uint64_t i = 0; i < STORE_QUEUE_MAX; i++) {
        assert_int_equal(write_shard(&f, 0, i + 1, 0, 0), TN_OK);
    }
    assert_int_equal(write_shard(&f, 0, 77, 0, 0), TN_EREFUSED);
    assert_int_equal(user->port.list(user->port.ctx, 78), TN_EREFUSED);
    assert_int_equal(user->count, 0);
    pass(&f, SECOND_US);
    assert_int_equal(user->count, STORE_QUEUE_MAX);
    for (size_t i = 0; i < user->count; i++) {
        assert_int_equal(user->answers[i].event.op, 100 * (i + 1));
        assert_int_equal(user->answers[i].event.request, STORE_WRITE);
    }
    assert_int_equal(user->port.list(user->port.ctx, 79), TN_OK);
    end(&f);
}

/* Only a checkpoint with a manifest is listed; the newest is first. */
static void committed_checkpoints_are_listed(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 0);
    struct store_port *port = &f.users[1].port;
    commit(&f, 2, 0);
    commit(&f, 5, 0);
    commit(&f, 3, 0);
    assert_int_equal(write_shard(&f, 0, 9, 0, 0), TN_OK);
    port->list(port->ctx, 8);
    const struct answer *answer = last(&f, 1);
    assert_int_equal(answer->event.count, 3);
    assert_true(answer->ids[0] == 5 && answer->ids[1] == 3 && answer->ids[2] == 2);
    assert_int_equal(disk_model_highest_epoch(f.disk), 5);
    end(&f);
}

/* A collection removes checkpoints below the id that are not kept, and counts the committed
 * ones. */
static void collection_keeps_the_listed_checkpoints(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 0);
    struct store_port *port = &f.users[1].port;
    struct manifest kept = commit(&f, 1, 0), gone = commit(&f, 2, 0), above = commit(&f, 4, 0);
    assert_int_equal(write_shard(&f, 0, 3, 0, 0), TN_OK);
    pass(&f, SECOND_US);
    port->collect(port->ctx, 8, (const uint64_t[]){1}, 1, 4);
    assert_int_equal(last(&f, 1)->event.count, 1);
    bool flipped;
    assert_true(disk_model_holds(f.disk, &kept, 0, &flipped));
    assert_true(disk_model_holds(f.disk, &above, 1, &flipped));
    assert_false(disk_model_holds(f.disk, &gone, 0, &flipped));
    port->verify(port->ctx, 9, &gone, STORE_ALL_SHARDS);
    assert_int_equal(last(&f, 1)->event.status, TN_ENOENT);
    port->list(port->ctx, 10);
    assert_int_equal(last(&f, 1)->event.count, 2);
    end(&f);
}

/* A shard can be written twice; over a committed one only the same bytes are accepted. */
static void committed_shard_is_not_overwritten(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 0);
    struct manifest manifest = commit(&f, 1, 0);
    assert_int_equal(write_shard(&f, 1, 1, 0, 0), TN_OK);
    assert_int_equal(last(&f, 1)->event.status, TN_OK);
    assert_int_equal(write_shard(&f, 1, 1, 0, 5), TN_OK);
    assert_int_equal(last(&f, 1)->event.status, TN_EEXIST);
    bool flipped;
    assert_true(disk_model_holds(f.disk, &manifest, 0, &flipped));
    struct store_port *port = &f.users[1].port;
    port->discard(port->ctx, 9, 1);
    assert_int_equal(last(&f, 1)->event.status, TN_EEXIST);
    assert_int_equal(write_shard(&f, 0, 2, 0, 0), TN_OK);
    assert_int_equal(write_shard(&f, 0, 2, 0, 5), TN_OK);
    assert_int_equal(last(&f, 0)->event.status, TN_OK);
    port->discard(port->ctx, 10, 2);
    assert_int_equal(last(&f, 1)->event.status, TN_OK);
    end(&f);
}

/* Reading and verifying find a flipped bit, and only in its shard. */
static void damage_is_found(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 0);
    assert_false(disk_model_damage(f.disk, 3));
    struct manifest manifest = commit(&f, 1, 0);
    assert_true(disk_model_damage(f.disk, 1));
    struct store_port *port = &f.users[1].port;
    port->verify(port->ctx, 8, &manifest, 0);
    assert_int_equal(last(&f, 1)->event.status, TN_OK);
    port->verify(port->ctx, 9, &manifest, STORE_ALL_SHARDS);
    assert_int_equal(last(&f, 1)->event.status, TN_ECORRUPT);
    buffer_release(read_range(&f, 1, &manifest, COUNT, COUNT));
    assert_int_equal(last(&f, 1)->event.status, TN_ECORRUPT);
    assert_true(strlen(last(&f, 1)->event.text) > 0);
    bool flipped;
    assert_false(disk_model_holds(f.disk, &manifest, 1, &flipped));
    assert_true(flipped);
    end(&f);
}

/* A write in progress when its process dies has no effect; a dead process receives nothing. */
static void write_of_a_dead_process_has_no_effect(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 0);
    struct manifest manifest = commit(&f, 1, 0);
    size_t heard = f.users[0].count;
    manifest.id = 2;
    assert_int_equal(write_shard(&f, 0, 2, 0, 0), TN_OK);
    assert_true(disk_model_writing(f.disk));
    disk_user_kill(f.users[0].disk);
    assert_false(disk_model_writing(f.disk));
    pass(&f, SECOND_US);
    assert_int_equal(f.users[0].count, heard);
    bool flipped;
    assert_false(disk_model_holds(f.disk, &manifest, 0, &flipped));
    end(&f);
}

/* A frozen process receives its answer after the thaw. */
static void freeze_only_delays(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 0);
    assert_int_equal(write_shard(&f, 0, 1, 0, 0), TN_OK);
    disk_user_freeze(f.users[0].disk, true);
    pass(&f, SECOND_US);
    assert_int_equal(f.users[0].count, 0);
    disk_user_freeze(f.users[0].disk, false);
    pass(&f, SECOND_US);
    assert_int_equal(f.users[0].count, 1);
    end(&f);
}

/* A failed write has an error and no effect; after healing the disk works again. */
static void failed_write_has_no_effect(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, 1000);
    assert_int_equal(write_shard(&f, 0, 1, 0, 0), TN_OK);
    enum tn_status status = last(&f, 0)->event.status;
    assert_true(status == TN_EIO || status == TN_ENOSPC);
    assert_false(disk_model_damage(f.disk, 0));
    disk_model_heal(f.disk);
    assert_int_equal(write_shard(&f, 0, 1, 0, 0), TN_OK);
    assert_int_equal(last(&f, 0)->event.status, TN_OK);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoint_is_read_back),
        cmocka_unit_test(queue_is_bounded_and_in_order),
        cmocka_unit_test(committed_checkpoints_are_listed),
        cmocka_unit_test(collection_keeps_the_listed_checkpoints),
        cmocka_unit_test(committed_shard_is_not_overwritten),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(write_of_a_dead_process_has_no_effect),
        cmocka_unit_test(freeze_only_delays),
        cmocka_unit_test(failed_write_has_no_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
