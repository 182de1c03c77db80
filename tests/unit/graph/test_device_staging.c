/* graph/device_staging.h: values of any size arrive, although copies read their source only when
 * something waits for them, and a chunk is not written before its copy is done. */
#include "graph/device_staging.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ------------------------------------------------------ queues that copy as late as possible */

enum { COPIES_MAX = 64 };

static struct {
    struct copy {
        void *to;
        const void *from;
        size_t bytes;
    } copies[COPIES_MAX];
    size_t queued, done, awaited;
    bool fails;
} queue;

struct gpu_event {
    size_t behind; /* The number of copies before it. */
};

static enum tn_status allocate(size_t bytes, void **memory, struct error *error)
{
    (void)error;
    *memory = malloc(bytes);
    return *memory != NULL ? TN_OK : TN_ENOMEM;
}

static enum tn_status create_event(struct gpu_event **event, struct error *error)
{
    (void)error;
    *event = queue.fails ? NULL : calloc(1, sizeof **event);
    return *event != NULL ? TN_OK : TN_EDEVICE;
}

static void destroy_event(struct gpu_event *event)
{
    free(event);
}

static enum tn_status send(void *to, const void *from, size_t bytes, struct error *error)
{
    (void)error;
    assert_true(queue.queued < COPIES_MAX);
    queue.copies[queue.queued++] = (struct copy){to, from, bytes};
    return queue.fails ? TN_EDEVICE : TN_OK;
}

static enum tn_status record(struct gpu_event *event, enum gpu_queue which, struct error *error)
{
    (void)error;
    assert_int_equal(which, GPU_TO_DEVICE);
    event->behind = queue.queued;
    return TN_OK;
}

static void copy_until(size_t end)
{
    for (; queue.done < end; queue.done++) {
        const struct copy *copy = &queue.copies[queue.done];
        memcpy(copy->to, copy->from, copy->bytes);
    }
}

static enum tn_status await(struct gpu_event *event, struct error *error)
{
    (void)error;
    queue.awaited++;
    copy_until(event->behind);
    return TN_OK;
}

static const struct gpu_queues queues = {
    .allocate = allocate,
    .release = free,
    .create_event = create_event,
    .destroy_event = destroy_event,
    .send = send,
    .record = record,
    .await = await,
};

/* ------------------------------------------------------ tests */

/* Two runs with the bytes in two parts. Returns how often the second one waited. */
static size_t send_all(size_t bytes)
{
    const size_t first = bytes / 3;
    struct device_staging staging;
    uint8_t *from = malloc(2 * bytes + 1), *to = from + bytes;
    memset(&queue, 0, sizeof queue);
    assert_non_null(from);
    assert_int_equal(device_staging_open(&staging, &queues, bytes, NULL), TN_OK);
    for (uint32_t run = 0; run < 2; run++) {
        for (size_t i = 0; i < bytes; i++) { from[i] = (uint8_t)(i * 7 + i / 251 + run); }
        memset(to, 0, bytes);
        queue.awaited = 0;
        device_staging_begin(&staging);
        assert_int_equal(device_staging_send(&staging, to, from, first, NULL), TN_OK);
        assert_int_equal(
            device_staging_send(&staging, to + first, from + first, bytes - first, NULL), TN_OK);
        copy_until(queue.queued);
        assert_memory_equal(to, from, bytes);
    }
    device_staging_close(&staging);
    free(from);
    return queue.awaited;
}

/* 16 chunks need no wait; each further one waits for one before. */
static void values_of_any_size_arrive(void **state)
{
    (void)state;
    const size_t chunk = STAGING_CHUNK_BYTES;
    assert_int_equal(send_all(0), 0);
    assert_int_equal(send_all(4), 0);
    assert_int_equal(send_all(chunk), 0);
    assert_int_equal(send_all(15 * chunk), 0);
    assert_int_equal(send_all(18 * chunk), 2);
    assert_int_equal(send_all(18 * chunk + 3), 4); /* Each part has a chunk more. */
}

static void failures_are_returned(void **state)
{
    (void)state;
    struct device_staging staging;
    uint8_t from[4] = {1}, to[4];
    memset(&queue, 0, sizeof queue);
    queue.fails = true;
    assert_int_equal(device_staging_open(&staging, &queues, sizeof from, NULL), TN_EDEVICE);
    device_staging_close(&staging);
    queue.fails = false;
    assert_int_equal(device_staging_open(&staging, &queues, sizeof from, NULL), TN_OK);
    queue.fails = true;
    device_staging_begin(&staging);
    assert_int_equal(device_staging_send(&staging, to, from, sizeof from, NULL), TN_EDEVICE);
    device_staging_close(&staging);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_any_size_arrive),
        cmocka_unit_test(failures_are_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
