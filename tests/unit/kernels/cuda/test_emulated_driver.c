/* kernels/cuda/emulated_driver.h: memory has bounds, failures come when they are ordered, and
 * kernels run. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_stay_within_an_allocation),
        cmocka_unit_test(memory_ends),
        cmocka_unit_test(a_write_behind_an_allocation_is_found),
        cmocka_unit_test(calls_fail_from_the_ordered_one_on),
        cmocka_unit_test(memory_needs_a_context),
        cmocka_unit_test(kernels_are_found_by_name_and_run),
    };
    return cmocka_run_group_tests(tests, open_driver, close_driver);
}
