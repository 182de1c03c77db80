/* The store's thread answers each accepted request once, in order. */
#include "tests/contract/store_fixture.h"

#include <pthread.h>
#include <semaphore.h>

#include "ps/store/store_thread.h"

enum { SMALL = 3000, EVENTS_MAX = 64 };

/* The answers in order of arrival; only the store's thread adds to them. */
static struct {
    sem_t came;
    sem_t gate; /* The sink waits here while `gated`. */
    bool gated;
    size_t count;
    struct store_event events[EVENTS_MAX];
    struct manifest first_listed;
    struct store_metadata metadata;
} inbox;

static struct store_thread *thread;
static struct store_port port;

static void sink(void *ctx, const struct store_event *event)
{
    (void)ctx;
    if (inbox.gated) { sem_wait(&inbox.gate); }
    if (event->manifests != NULL && event->count > 0) { inbox.first_listed = event->manifests[0]; }
    if (event->metadata != NULL) { inbox.metadata = *event->metadata; }
    inbox.events[inbox.count++] = *event;
    sem_post(&inbox.came);
}

static int start(void **state)
{
    memset(&inbox, 0, sizeof inbox);
    sem_init(&inbox.came, 0, 0);
    sem_init(&inbox.gate, 0, 0);
    if (make_dir(state) != 0) { return 1; }
    if (store_thread_start(dir, sink, NULL, &thread, NULL) != TN_OK) { return 1; }
    port = store_thread_port(thread);
    return 0;
}

static int stop(void **state)
{
    store_thread_stop(thread, false);
    thread = NULL;
    return remove_dir(state);
}

/* All answers that are under way: the thread does not add others meanwhile. */
static const struct store_event *wait_answers(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) { sem_wait(&inbox.came); }
    return &inbox.events[inbox.count - 1];
}

static const struct store_event *wait_answer(void)
{
    return wait_answers(1);
}

/* A buffer of a real pool with the expected contents of `array`. */
static struct buffer *filled_buffer(struct buffer_pool *pool, uint32_t array, uint64_t count)
{
    struct buffer *buffer = buffer_acquire(pool, count * 4);
    assert_non_null(buffer);
    for (uint64_t i = 0; i < count; i++) {
        ((uint32_t *)buffer->data)[i] = expected_bits(array, i);
    }
    return buffer;
}

/* Write, put, list and read are answered, and all buffers are released. */
static void write_put_list_and_read_are_answered(void **state)
{
    (void)state;
    struct buffer_pool *pool = buffer_pool_create(0);
    struct manifest manifest = manifest_make(1, SMALL, 1);
    struct arrays none = {0};
    struct store_write_request request = request_of(&manifest, 0, &none);
    struct store_read_request read = {.manifest = &manifest, .count = SMALL};
    for (uint32_t a = 0; a < ARRAYS; a++) {
        request.arrays[a].buffer = filled_buffer(pool, a, SMALL);
        read.arrays[a].buffer = buffer_acquire(pool, SMALL * 4);
    }
    assert_int_equal(port.write(port.ctx, 11, &request), TN_OK);
    for (uint32_t a = 0; a < ARRAYS; a++) { buffer_release(request.arrays[a].buffer); }
    const struct store_event *event = wait_answer();
    assert_int_equal(event->status, TN_OK);
    assert_int_equal(event->op, 11);
    manifest.shards[0].digest = event->digest;
    manifest.shards[0].bytes = event->bytes;
    assert_int_equal(port.put_manifest(port.ctx, 12, &manifest), TN_OK);
    assert_int_equal(wait_answer()->status, TN_OK);
    assert_int_equal(port.list(port.ctx, 13), TN_OK);
    assert_int_equal(wait_answer()->count, 1);
    assert_memory_equal(&inbox.first_listed, &manifest, sizeof manifest);
    assert_int_equal(port.read(port.ctx, 14, &read), TN_OK);
    assert_int_equal(wait_answer()->status, TN_OK);
    assert_int_equal(inbox.metadata.optimizer_steps, 1000);
    for (uint32_t a = 0; a < ARRAYS; a++) {
        assert_int_equal(((uint32_t *)read.arrays[a].buffer->data)[7], expected_bits(a, 7));
        buffer_release(read.arrays[a].buffer);
    }
    buffer_pool_destroy(pool); /* Asserts that every buffer was released. */
}

/* Verify, discard and collect are answered. */
static void verify_discard_and_collect_are_answered(void **state)
{
    (void)state;
    struct manifest manifest = write_checkpoint(1, SMALL, 2);
    assert_int_equal(port.verify(port.ctx, 1, &manifest, STORE_ALL_SHARDS), TN_OK);
    assert_int_equal(wait_answer()->status, TN_OK);
    flip_bit(shard_path(&manifest, 1), 99999);
    assert_int_equal(port.verify(port.ctx, 2, &manifest, 1), TN_OK);
    assert_int_equal(wait_answer()->status, TN_ECORRUPT);
    assert_int_equal(port.discard(port.ctx, 3, 1), TN_OK);
    assert_int_equal(wait_answer()->status, TN_OK);
    (void)write_checkpoint(2, SMALL, 1);
    assert_int_equal(port.collect(port.ctx, 4, NULL, 0, 3), TN_OK);
    const struct store_event *event = wait_answer();
    assert_int_equal(event->count, 1);
    assert_int_equal(event->request, STORE_COLLECT);
    assert_string_equal(event->text, "");
}

/* A full queue refuses requests; accepted ones are answered in order. */
static void full_queue_refuses(void **state)
{
    (void)state;
    inbox.gated = true;
    uint64_t accepted = 0;
    while (port.discard(port.ctx, accepted, 1) == TN_OK) { accepted++; }
    /* The request whose answer waits at the gate may have left the queue already. */
    assert_true(accepted == STORE_QUEUE_MAX || accepted == STORE_QUEUE_MAX + 1);
    for (uint64_t i = 0; i < accepted; i++) { sem_post(&inbox.gate); }
    (void)wait_answers(accepted);
    for (uint64_t i = 0; i < accepted; i++) { assert_int_equal(inbox.events[i].op, i); }
}

/* A stop with `finish` carries out the accepted requests. */
static void stop_can_finish_requests(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10; i++) { assert_int_equal(port.list(port.ctx, i), TN_OK); }
    store_thread_stop(thread, true);
    thread = NULL;
    assert_int_equal(inbox.count, 10);
    for (size_t i = 0; i < 10; i++) { assert_int_equal(inbox.events[i].status, TN_OK); }
}

/* A stop without `finish` answers all requests and leaves no partial shard. */
static void stop_can_cancel_requests(void **state)
{
    (void)state;
    enum { LARGE = 4 * 1000 * 1000 };
    struct buffer_pool *pool = buffer_pool_create(0);
    struct manifest manifest = manifest_make(1, LARGE, 1);
    struct arrays none = {0};
    struct store_write_request request = request_of(&manifest, 0, &none);
    for (uint32_t a = 0; a < ARRAYS; a++) {
        request.arrays[a].buffer = buffer_acquire(pool, LARGE * 4);
    }
    for (uint64_t i = 0; i < 10; i++) {
        request.id = i + 1;
        assert_int_equal(port.write(port.ctx, i, &request), TN_OK);
    }
    for (uint32_t a = 0; a < ARRAYS; a++) { buffer_release(request.arrays[a].buffer); }
    store_thread_stop(thread, false);
    thread = NULL;
    buffer_pool_destroy(pool);
    assert_int_equal(inbox.count, 10);
    assert_int_equal(inbox.events[9].status, TN_ECLOSED);
    for (size_t i = 0; i < 10; i++) { assert_int_equal(inbox.events[i].op, i); }
    assert_int_not_equal(access(shard_path(&manifest, 0), F_OK), 0);
}

enum { PACED = 1000 * 1000, DAY_MS = 24 * 3600 * 1000 }; /* Floats: more than a block. */

/* The buffers of a paced write, which is submitted as `op`. */
static void submit_paced(struct buffer_pool *pool, uint64_t op)
{
    struct manifest manifest = manifest_make(op, PACED, 1);
    struct arrays none = {0};
    struct store_write_request request = request_of(&manifest, 0, &none);
    request.spread_ms = DAY_MS;
    for (uint32_t a = 0; a < ARRAYS; a++) {
        request.arrays[a].buffer = buffer_acquire(pool, PACED * 4);
    }
    assert_int_equal(port.write(port.ctx, op, &request), TN_OK);
    for (uint32_t a = 0; a < ARRAYS; a++) { buffer_release(request.arrays[a].buffer); }
}

/* A write that would otherwise last for hours ends when a request is behind it; so does the
 * test. */
static void request_behind_a_write_hurries_it(void **state)
{
    (void)state;
    struct buffer_pool *pool = buffer_pool_create(0);
    submit_paced(pool, 1);
    assert_int_equal(port.list(port.ctx, 2), TN_OK);
    (void)wait_answers(2);
    assert_int_equal(inbox.events[0].op, 1);
    assert_int_equal(inbox.events[0].status, TN_OK);
    buffer_pool_destroy(pool);
}

/* The owner hurries a write in progress, or one that waits in the queue. */
static void owner_hurries_writes(void **state)
{
    (void)state;
    struct buffer_pool *pool = buffer_pool_create(0);
    submit_paced(pool, 1);
    port.hurry(port.ctx);
    assert_int_equal(wait_answer()->status, TN_OK);
    submit_paced(pool, 2);
    submit_paced(pool, 3);
    port.hurry(port.ctx);
    (void)wait_answers(2);
    for (size_t i = 0; i < inbox.count; i++) { assert_int_equal(inbox.events[i].status, TN_OK); }
    buffer_pool_destroy(pool);
}

/* A stop that finishes the writes does not wait for their rate. */
static void stop_hurries_a_write(void **state)
{
    (void)state;
    struct buffer_pool *pool = buffer_pool_create(0);
    submit_paced(pool, 1);
    store_thread_stop(thread, true);
    thread = NULL;
    assert_int_equal(inbox.count, 1);
    assert_int_equal(inbox.events[0].status, TN_OK);
    buffer_pool_destroy(pool);
}

/* A stop without `finish` ends a paced write. */
static void stop_cancels_a_paced_write(void **state)
{
    (void)state;
    struct buffer_pool *pool = buffer_pool_create(0);
    struct manifest manifest = manifest_make(1, PACED, 1);
    submit_paced(pool, 1);
    store_thread_stop(thread, false);
    thread = NULL;
    assert_int_equal(inbox.count, 1);
    assert_int_equal(inbox.events[0].status, TN_ECLOSED);
    assert_int_not_equal(access(shard_path(&manifest, 0), F_OK), 0);
    buffer_pool_destroy(pool);
}

/* An empty folder name is refused at the start; a missing folder is an error of each request. */
static void folder_is_checked(void **state)
{
    (void)state;
    struct store_thread *other;
    assert_int_equal(store_thread_start("", sink, NULL, &other, NULL), TN_EINVAL);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(port.list(port.ctx, 1), TN_OK);
    const struct store_event *event = wait_answer();
    assert_int_equal(event->status, TN_ENOENT);
    assert_null(event->manifests);
    store_thread_stop(NULL, true);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(write_put_list_and_read_are_answered),
        TEST(verify_discard_and_collect_are_answered),
        TEST(full_queue_refuses),
        TEST(stop_can_finish_requests),
        TEST(stop_can_cancel_requests),
        TEST(request_behind_a_write_hurries_it),
        TEST(owner_hurries_writes),
        TEST(stop_hurries_a_write),
        TEST(stop_cancels_a_paced_write),
        TEST(folder_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
