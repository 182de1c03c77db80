/* kernels/cuda/emulated_driver.h: memory has bounds, failures come when they are ordered, kernels
 * run, and work of streams is done in any order that events allow. */
#include "kernels/cuda/emulated_driver.h"

#include "kernels/cuda/device.h"
#include "tests/unit/kernels/gpu/machine.h"

enum { BYTES = 1000 };

static const struct gpu_driver *driver;

static gpu_address memory_of(size_t bytes)
{
    gpu_address memory = 0;
    assert_int_equal(driver->allocate(&memory, bytes), GPU_SUCCESS);
    return memory;
}

static void copies_stay_within_an_allocation(void **state)
{
    (void)state;
    uint8_t host[BYTES] = {1, 2, 3}, back[BYTES];
    assert_int_equal(machine(NULL, NULL), GPU_SUCCESS);
    use_device(0);
    const gpu_address from = memory_of(BYTES), to = memory_of(BYTES);
    assert_int_equal(driver->upload(from, host, BYTES, NULL), GPU_SUCCESS);
    assert_int_equal(driver->copy(to, from, BYTES, NULL), GPU_SUCCESS);
    assert_int_equal(driver->download(back, to, BYTES, NULL), GPU_SUCCESS);
    assert_memory_equal(back, host, BYTES);
    assert_int_equal(driver->fill(to, 9, BYTES, NULL), GPU_SUCCESS);
    assert_int_equal(driver->download(back, to + BYTES - 1, 1, NULL), GPU_SUCCESS);
    assert_int_equal(back[0], 9);
    assert_int_equal(driver->upload(from + 1, host, BYTES, NULL), GPU_INVALID_VALUE);
    assert_int_equal(driver->upload(from - 1, host, 1, NULL), GPU_INVALID_VALUE);
    assert_int_equal(driver->download(back, from, BYTES + 1, NULL), GPU_INVALID_VALUE);
    assert_int_equal(driver->copy(to + 1, from, BYTES, NULL), GPU_INVALID_VALUE);
    assert_int_equal(driver->fill(to, 9, BYTES + 1, NULL), GPU_INVALID_VALUE);
    assert_int_equal(driver->release(from), GPU_SUCCESS);
    assert_int_equal(driver->upload(from, host, 1, NULL), GPU_INVALID_VALUE);
    assert_int_equal(driver->release(from), GPU_INVALID_VALUE);
}

/* The memory of a device ends, and released memory can be used again. */
static void memory_ends(void **state)
{
    (void)state;
    gpu_address memory = 0;
    size_t unused = 0, total = 0;
    assert_int_equal(machine("memory=4096", NULL), GPU_SUCCESS);
    use_device(0);
    const gpu_address first = memory_of(4096 - 256);
    assert_int_equal(driver->allocate(&memory, 257), GPU_OUT_OF_MEMORY);
    assert_int_equal(driver->allocate(&memory, SIZE_MAX), GPU_OUT_OF_MEMORY);
    assert_int_equal(driver->memory_info(&unused, &total), GPU_SUCCESS);
    assert_int_equal(unused, 256);
    assert_int_equal(total, 4096);
    assert_int_equal(driver->release(first), GPU_SUCCESS);
    (void)memory_of(4096);
}

static void a_write_behind_an_allocation_is_found(void **state)
{
    (void)state;
    assert_int_equal(machine(NULL, NULL), GPU_SUCCESS);
    use_device(0);
    const gpu_address memory = memory_of(BYTES);
    assert_int_equal(driver->context_wait(), GPU_SUCCESS);
    ((uint8_t *)(uintptr_t)memory)[BYTES] = 0;
    assert_int_equal(driver->stream_wait(NULL), GPU_ILLEGAL_ADDRESS);
    assert_int_equal(driver->context_wait(), GPU_ILLEGAL_ADDRESS); /* It is sticky. */
}

static void calls_fail_from_the_ordered_one_on(void **state)
{
    (void)state;
    gpu_address memory = 0;
    assert_int_equal(machine("calls=3,error=719", NULL), GPU_SUCCESS);
    use_device(0); /* Two calls. */
    (void)memory_of(BYTES);
    assert_int_equal(driver->allocate(&memory, 1), GPU_LAUNCH_FAILED);
    assert_int_equal(driver->context_wait(), GPU_LAUNCH_FAILED);
}

/* A call without a context is refused, as of another thread. */
static void memory_needs_a_context(void **state)
{
    (void)state;
    gpu_address memory = 0;
    assert_int_equal(machine(NULL, NULL), GPU_SUCCESS);
    assert_int_equal(driver->allocate(&memory, 1), GPU_INVALID_CONTEXT);
}

struct double_task {
    size_t count;
    float *x;
};

KERNEL(doubled, struct double_task)
{
    EACH_ELEMENT(i, a.count)
    {
        a.x[i] = 2 * a.x[i];
    }
}

static void kernels_are_found_by_name_and_run(void **state)
{
    (void)state;
    float x[100];
    struct gpu_module *module = NULL;
    struct gpu_function *function = NULL;
    assert_int_equal(machine(NULL, NULL), GPU_SUCCESS);
    use_device(0);
    for (size_t i = 0; i < 100; i++) { x[i] = (float)i; }
    assert_int_equal(driver->module_load(&module, "any"), GPU_INVALID_IMAGE);
    assert_int_equal(driver->module_load(&module, EMULATED_IMAGE), GPU_SUCCESS);
    assert_int_equal(driver->module_function(&function, module, "tripled"), GPU_NOT_FOUND);
    assert_int_equal(driver->module_function(&function, module, "doubled"), GPU_SUCCESS);
    const gpu_address memory = memory_of(sizeof x);
    struct double_task task = {.count = 100, .x = (float *)(uintptr_t)memory};
    void *arguments[] = {&task};
    assert_int_equal(driver->upload(memory, x, sizeof x, NULL), GPU_SUCCESS);
    assert_int_equal(driver->launch(function, 2, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL),
                     GPU_SUCCESS);
    assert_int_equal(driver->download(x, memory, sizeof x, NULL), GPU_SUCCESS);
    for (size_t i = 0; i < 100; i++) { assert_true(x[i] == 2 * (float)i); }
    assert_int_equal(driver->module_unload(module), GPU_SUCCESS);
}

/* ------------------------------------------------------ streams */

/* Pinned memory, memory of the device and two streams. */
struct bench {
    uint8_t *host, *back;
    gpu_address device;
    struct gpu_stream *one, *two;
    struct gpu_event *event;
};

static struct bench bench(const char *settings, unsigned flags)
{
    struct bench bench = {.host = NULL};
    void *host = NULL, *back = NULL;
    assert_int_equal(machine(settings, NULL), GPU_SUCCESS);
    use_device(0);
    assert_int_equal(driver->allocate_pinned(&host, BYTES, GPU_PINNED_PORTABLE), GPU_SUCCESS);
    assert_int_equal(driver->allocate_pinned(&back, BYTES, GPU_PINNED_PORTABLE), GPU_SUCCESS);
    bench.host = host;
    bench.back = back;
    bench.device = memory_of(BYTES);
    assert_int_equal(driver->stream_create(&bench.one, flags), GPU_SUCCESS);
    assert_int_equal(driver->stream_create(&bench.two, flags), GPU_SUCCESS);
    assert_int_equal(driver->event_create(&bench.event, 0), GPU_SUCCESS);
    memset(bench.host, 1, BYTES);
    memset(bench.back, 2, BYTES);
    return bench;
}

static void end_bench(const struct bench *bench)
{
    assert_int_equal(driver->stream_destroy(bench->one), GPU_SUCCESS);
    assert_int_equal(driver->stream_destroy(bench->two), GPU_SUCCESS);
    assert_int_equal(driver->event_destroy(bench->event), GPU_SUCCESS);
}

/* To the device in one stream, and back in the other. */
static void order_both(const struct bench *bench, bool with_wait)
{
    assert_int_equal(driver->upload(bench->device, bench->host, BYTES, bench->one), GPU_SUCCESS);
    assert_int_equal(driver->event_record(bench->event, bench->one), GPU_SUCCESS);
    if (with_wait) {
        assert_int_equal(driver->stream_wait_event(bench->two, bench->event, 0), GPU_SUCCESS);
    }
    assert_int_equal(driver->download(bench->back, bench->device, BYTES, bench->two), GPU_SUCCESS);
}

static const char *const orders[] = {"", "order=copies", "order=kernels", "order=random,seed=4",
                                     "order=random,seed=5"};

static void events_order_streams(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        const struct bench both = bench(orders[i], GPU_STREAM_NON_BLOCKING);
        order_both(&both, true);
        assert_int_equal(driver->stream_wait(both.two), GPU_SUCCESS);
        assert_memory_equal(both.back, both.host, BYTES);
        end_bench(&both);
    }
}

/* Without an event the first copy is not done before it must be. New memory has 0xff. */
static void a_missing_event_is_seen(void **state)
{
    (void)state;
    const struct bench both = bench(NULL, GPU_STREAM_NON_BLOCKING);
    order_both(&both, false);
    assert_int_equal(driver->stream_wait(both.two), GPU_SUCCESS);
    assert_int_equal(both.back[0], 0xff);
    assert_int_equal(driver->context_wait(), GPU_SUCCESS);
    assert_int_equal(both.back[0], 0xff);
    end_bench(&both);
}

/* A target is destroyed when its copy may begin. */
static void a_missing_wait_of_the_host_is_seen(void **state)
{
    (void)state;
    const struct bench both = bench(NULL, GPU_STREAM_NON_BLOCKING);
    order_both(&both, true);
    assert_int_equal(both.back[0], 2); /* The copy waits for the event. */
    assert_int_equal(driver->event_wait(both.event), GPU_SUCCESS);
    assert_int_equal(driver->fill(both.device, 3, 1, NULL), GPU_SUCCESS);
    assert_int_equal(both.back[0], 0xff);
    assert_int_equal(driver->stream_wait(both.two), GPU_SUCCESS);
    assert_int_not_equal(both.back[0], 2);
    end_bench(&both);
}

static void pinned_memory_is_read_when_the_copy_is_done(void **state)
{
    (void)state;
    uint8_t pageable[BYTES] = {1}, found[BYTES];
    const struct bench both = bench(NULL, GPU_STREAM_NON_BLOCKING);
    assert_int_equal(driver->upload(both.device, both.host, BYTES, both.one), GPU_SUCCESS);
    both.host[0] = 7;
    assert_int_equal(driver->stream_wait(both.one), GPU_SUCCESS);
    assert_int_equal(driver->download(found, both.device, BYTES, both.one), GPU_SUCCESS);
    assert_int_equal(found[0], 7);
    assert_int_equal(driver->upload(both.device, pageable, BYTES, both.one), GPU_SUCCESS);
    pageable[0] = 8;
    assert_int_equal(driver->download(found, both.device, BYTES, both.one), GPU_SUCCESS);
    assert_int_equal(found[0], 1);
    end_bench(&both);
}

/* The default stream is ordered with all streams but those that do not block. */
static void the_default_stream_is_ordered_with_blocking_streams(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= GPU_STREAM_NON_BLOCKING; flags++) {
        const struct bench both = bench(NULL, flags);
        assert_int_equal(driver->upload(both.device, both.host, BYTES, both.one), GPU_SUCCESS);
        assert_int_equal(driver->download(both.back, both.device, BYTES, NULL), GPU_SUCCESS);
        assert_int_equal(driver->stream_wait(NULL), GPU_SUCCESS);
        assert_int_equal(both.back[0], flags == 0 ? 1 : 0xff);
        end_bench(&both);
    }
}

static void times_are_known_when_events_are_done(void **state)
{
    (void)state;
    float milliseconds = 0;
    const struct bench both = bench(NULL, 0);
    struct gpu_event *end = NULL;
    assert_int_equal(driver->event_create(&end, 0), GPU_SUCCESS);
    assert_int_equal(driver->upload(both.device, both.host, BYTES, both.one), GPU_SUCCESS);
    assert_int_equal(driver->event_record(both.event, both.one), GPU_SUCCESS);
    assert_int_equal(driver->event_record(end, both.one), GPU_SUCCESS);
    assert_int_equal(driver->event_elapsed(&milliseconds, both.event, end), GPU_NOT_READY);
    assert_int_equal(driver->event_wait(end), GPU_SUCCESS);
    assert_int_equal(driver->event_elapsed(&milliseconds, both.event, end), GPU_SUCCESS);
    assert_int_equal(driver->event_destroy(end), GPU_SUCCESS);
    end_bench(&both);
}

/* Calls succeed, and a wait reports the failure; nothing behind it is done. */
static void work_fails_later_than_its_call(void **state)
{
    (void)state;
    const struct bench both = bench("operations=1,error=719", GPU_STREAM_NON_BLOCKING);
    order_both(&both, true);
    assert_int_equal(driver->stream_wait(both.two), GPU_LAUNCH_FAILED);
    assert_int_not_equal(both.back[0], 1);
    assert_int_equal(driver->stream_wait(both.one), GPU_LAUNCH_FAILED);
    free(both.one);
    free(both.two);
    free(both.event);
}

static void memory_may_not_be_pinned(void **state)
{
    (void)state;
    void *memory = NULL;
    assert_int_equal(machine("pinned=2", NULL), GPU_SUCCESS);
    use_device(0);
    assert_int_equal(driver->allocate_pinned(&memory, BYTES, 0), GPU_OUT_OF_MEMORY);
}

static int open_driver(void **state)
{
    (void)state;
    driver = emulated_driver();
    return 0;
}

/* A new machine has none of the old one's memory. */
static int close_driver(void **state)
{
    (void)state;
    return machine(NULL, NULL);
}

/* The others work on, with their own memory, when one fails or is small. */
static void one_device_differs(void **state)
{
    (void)state;
    gpu_address memory = 0;
    uint8_t host[BYTES] = {0};
    assert_int_equal(machine("devices=2,broken=1,calls=2,error=719,small=1,limit=1024", NULL),
                     GPU_SUCCESS);
    use_device(0);
    const gpu_address first = memory_of(BYTES + BYTES);
    use_device(1);
    assert_int_equal(driver->allocate(&memory, BYTES + BYTES), GPU_OUT_OF_MEMORY);
    assert_int_equal(driver->upload(first, host, BYTES, NULL), GPU_INVALID_VALUE);
    assert_int_equal(driver->allocate(&memory, BYTES), GPU_LAUNCH_FAILED);
    use_device(0);
    assert_int_equal(driver->upload(first, host, BYTES, NULL), GPU_SUCCESS);
}

/* ------------------------------------------------------ copies between devices */

/* Memory of devices 0 and 1, in a machine of its own; device 0 is that of the thread. */
struct pair {
    struct gpu_context *contexts[2];
    gpu_address memory[2];
};

static struct pair pair(const char *settings)
{
    struct pair pair;
    assert_int_equal(machine(settings, NULL), GPU_SUCCESS);
    for (int i = 1; i >= 0; i--) {
        assert_int_equal(driver->context_retain(&pair.contexts[i], i), GPU_SUCCESS);
        assert_int_equal(driver->context_set(pair.contexts[i]), GPU_SUCCESS);
        pair.memory[i] = memory_of(BYTES);
    }
    return pair;
}

static int copy_to_0(const struct pair *pair, size_t bytes)
{
    return driver->copy_peer(pair->memory[0], pair->contexts[0], pair->memory[1], pair->contexts[1],
                             bytes, NULL);
}

/* The first byte that arrives from device 1, where a fill is queued. */
static uint8_t copied(const struct pair *pair, bool with_wait)
{
    struct gpu_event *filled = NULL;
    uint8_t found = 0;
    assert_int_equal(driver->context_set(pair->contexts[1]), GPU_SUCCESS);
    assert_int_equal(driver->event_create(&filled, 0), GPU_SUCCESS);
    assert_int_equal(driver->fill(pair->memory[1], 7, BYTES, NULL), GPU_SUCCESS);
    assert_int_equal(driver->event_record(filled, NULL), GPU_SUCCESS);
    assert_int_equal(driver->context_set(pair->contexts[0]), GPU_SUCCESS);
    if (with_wait) { assert_int_equal(driver->stream_wait_event(NULL, filled, 0), GPU_SUCCESS); }
    assert_int_equal(copy_to_0(pair, BYTES), GPU_SUCCESS);
    assert_int_equal(driver->download(&found, pair->memory[0], 1, NULL), GPU_SUCCESS);
    assert_int_equal(driver->event_destroy(filled), GPU_SUCCESS);
    return found;
}

/* A copy from another device is behind its event only; without the wait, the fill is not done. */
static void events_order_copies_between_devices(void **state)
{
    (void)state;
    static const char *const machines[] = {"devices=2", "devices=2,peers=0",
                                           "devices=2,order=copies", "devices=2,order=kernels",
                                           "devices=2,order=random,seed=4"};
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        const struct pair both = pair(machines[i]);
        assert_int_equal(copied(&both, true), 7);
    }
    const struct pair both = pair("devices=2");
    assert_int_equal(copied(&both, false), 0xff);
}

static void copies_between_devices_stay_within_their_memory(void **state)
{
    (void)state;
    const struct pair both = pair("devices=2");
    struct gpu_context *const first = both.contexts[0], *const second = both.contexts[1];
    const gpu_address a = both.memory[0], b = both.memory[1];
    assert_int_equal(copy_to_0(&both, BYTES), GPU_SUCCESS);
    assert_int_equal(copy_to_0(&both, BYTES + 1), GPU_INVALID_VALUE);
    assert_int_equal(driver->copy_peer(a, first, a, second, BYTES, NULL), GPU_INVALID_VALUE);
    assert_int_equal(driver->copy_peer(b, first, b, second, BYTES, NULL), GPU_INVALID_VALUE);
    assert_int_equal(driver->copy_peer(b, second, a, first, BYTES, NULL), GPU_INVALID_CONTEXT);
    assert_int_equal(driver->copy(a, b, BYTES, NULL), GPU_INVALID_VALUE);
}

static void devices_may_access_each_other(void **state)
{
    (void)state;
    int can = 0;
    const struct pair both = pair("devices=2");
    assert_int_equal(driver->device_can_access(&can, 0, 1), GPU_SUCCESS);
    assert_int_equal(can, 1);
    assert_int_equal(driver->device_can_access(&can, 0, 2), GPU_INVALID_DEVICE);
    assert_int_equal(driver->context_enable_peer(both.contexts[1], 0), GPU_SUCCESS);
    assert_int_equal(driver->context_enable_peer(both.contexts[1], 0), GPU_PEER_ENABLED);
    assert_int_equal(driver->context_enable_peer(both.contexts[0], 0), GPU_INVALID_VALUE);
    const struct pair apart = pair("devices=2,peers=0");
    assert_int_equal(driver->device_can_access(&can, 0, 1), GPU_SUCCESS);
    assert_int_equal(can, 0);
    assert_int_equal(driver->context_enable_peer(apart.contexts[1], 0), GPU_PEER_UNSUPPORTED);
    const struct pair broken = pair("devices=2,peer_copy=719");
    assert_int_equal(copy_to_0(&broken, BYTES), GPU_LAUNCH_FAILED);
    assert_int_equal(driver->context_wait(), GPU_LAUNCH_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_order_copies_between_devices),
        cmocka_unit_test(copies_between_devices_stay_within_their_memory),
        cmocka_unit_test(devices_may_access_each_other),
        cmocka_unit_test(copies_stay_within_an_allocation),
        cmocka_unit_test(memory_ends),
        cmocka_unit_test(one_device_differs),
        cmocka_unit_test(a_write_behind_an_allocation_is_found),
        cmocka_unit_test(calls_fail_from_the_ordered_one_on),
        cmocka_unit_test(memory_needs_a_context),
        cmocka_unit_test(kernels_are_found_by_name_and_run),
        cmocka_unit_test(events_order_streams),
        cmocka_unit_test(a_missing_event_is_seen),
        cmocka_unit_test(a_missing_wait_of_the_host_is_seen),
        cmocka_unit_test(pinned_memory_is_read_when_the_copy_is_done),
        cmocka_unit_test(the_default_stream_is_ordered_with_blocking_streams),
        cmocka_unit_test(times_are_known_when_events_are_done),
        cmocka_unit_test(work_fails_later_than_its_call),
        cmocka_unit_test(memory_may_not_be_pinned),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}
