/* kernels/gpu/driver_faults.h: calls of the driver fail as the harness has ordered, on an emulated
 * driver. Built with failpoints. */
#include "kernels/gpu/driver_faults.h"

#include <unistd.h>

#include "common/faults/failpoint.h"
#include "common/faults/fault_control.h"
#include "kernels/cuda/device.h"
#include "tests/unit/kernels/gpu/machine.h"

enum { BYTES = 64 };

static char path[] = "/tmp/tanist-gpu-faults-XXXXXX";
static struct fault_control *control;
static struct fault_slot *slot;
static struct gpu_driver driver;
static uint8_t host[BYTES];

/* A driver with faults, and an allocation on its device. */
static int make_driver(void **state)
{
    static const char *const names[] = {"ps:0", "worker:0"};
    static gpu_address memory;
    int fd = mkstemp(path);
    if (fd < 0) { return 1; }
    close(fd);
    setenv(FAULTS_VARIABLE, path, 1);
    if (fault_control_create(path, names, 2, &control, NULL) != TN_OK) { return 1; }
    failpoint_init("worker:0");
    slot = fault_control_slot(control, "worker:0");
    if (machine(NULL, NULL) != GPU_SUCCESS) { return 1; }
    use_device(0);
    driver = *emulated_driver();
    gpu_driver_add_faults(&driver);
    *state = &memory;
    return driver.allocate(&memory, BYTES) != GPU_SUCCESS;
}

static int remove_driver(void **state)
{
    (void)state;
    unsetenv(FAULTS_VARIABLE);
    failpoint_init("worker:0");
    fault_control_close(control);
    int removed = unlink(path);
    (void)snprintf(path + sizeof path - 7, 7, "XXXXXX");
    return removed;
}

/* The next pass of the failpoint fails. */
static void arm(const char *failpoint)
{
    assert_non_null(
        fault_control_arm(control, failpoint, POINT_FAIL, fault_slot_bit(control, slot), 1, 0));
}

/* Without a fault the driver's own functions are called. The process that used the GPU is noted. */
static void calls_reach_the_driver(void **state)
{
    const gpu_address *memory = *state;
    size_t unused = 0, total = 0;
    host[0] = 7;
    assert_int_equal(driver.upload(*memory, host, BYTES, NULL), GPU_SUCCESS);
    assert_int_equal(slot->gpu_user, 0);
    host[0] = 0;
    assert_int_equal(driver.download(host, *memory, BYTES, NULL), GPU_SUCCESS);
    assert_int_equal(driver.stream_wait(NULL), GPU_SUCCESS);
    assert_int_equal(host[0], 7);
    assert_int_equal(slot->gpu_user, getpid());
    assert_int_equal(driver.memory_info(&unused, &total), GPU_SUCCESS);
    assert_true(unused > 0);
    assert_int_equal(slot->gpu_calls_failed, 0);
}

/* While the GPU is full, allocations fail, and no more than these. */
static void full_gpu_has_no_memory(void **state)
{
    const gpu_address *memory = *state;
    gpu_address more = 0;
    size_t unused = 1, total = 0;
    slot->gpu_full = 1;
    assert_int_equal(driver.allocate(&more, BYTES), GPU_OUT_OF_MEMORY);
    assert_int_equal(driver.memory_info(&unused, &total), GPU_SUCCESS);
    assert_int_equal(unused, 0);
    assert_int_equal(driver.upload(*memory, host, BYTES, NULL), GPU_SUCCESS);
    slot->gpu_full = 0;
    assert_int_equal(driver.allocate(&more, BYTES), GPU_SUCCESS);
    assert_int_equal(slot->gpu_calls_failed, 1);
}

/* At its failpoint one allocation fails. */
static void failed_allocation_is_not_sticky(void **state)
{
    (void)state;
    gpu_address more = 0;
    arm("gpu.allocate");
    assert_int_equal(driver.allocate(&more, BYTES), GPU_OUT_OF_MEMORY);
    assert_int_equal(driver.allocate(&more, BYTES), GPU_SUCCESS);
}

static void expect_broken(gpu_address memory, int code)
{
    gpu_address more = 0;
    assert_int_equal(driver.upload(memory, host, BYTES, NULL), code);
    assert_int_equal(driver.download(host, memory, BYTES, NULL), code);
    assert_int_equal(driver.launch(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), code);
    assert_int_equal(driver.stream_wait(NULL), code);
    assert_int_equal(driver.event_wait(NULL), code);
    assert_int_equal(driver.allocate(&more, BYTES), code);
}

/* An error of a copy to the GPU is sticky. */
static void failed_upload_is_sticky(void **state)
{
    const gpu_address *memory = *state;
    arm("gpu.mid_upload");
    assert_int_equal(driver.upload(*memory, host, BYTES, NULL), GPU_LAUNCH_FAILED);
    expect_broken(*memory, GPU_LAUNCH_FAILED);
    assert_int_equal(slot->gpu_calls_failed, 1);
}

/* So is an error of a copy from the GPU. */
static void failed_download_is_sticky(void **state)
{
    const gpu_address *memory = *state;
    arm("gpu.mid_download");
    assert_int_equal(driver.download(host, *memory, BYTES, NULL), GPU_LAUNCH_FAILED);
    expect_broken(*memory, GPU_LAUNCH_FAILED);
}

/* So is an error of a copy between GPUs: here within the memory of one. */
static void failed_peer_copy_is_sticky(void **state)
{
    const gpu_address *memory = *state;
    struct gpu_context *context = NULL;
    gpu_address more = 0;
    assert_int_equal(driver.allocate(&more, BYTES), GPU_SUCCESS);
    assert_int_equal(driver.context_retain(&context, 0), GPU_SUCCESS);
    assert_int_equal(driver.copy_peer(more, context, *memory, context, BYTES, NULL), GPU_SUCCESS);
    arm("gpu.mid_peer_copy");
    assert_int_equal(driver.copy_peer(more, context, *memory, context, BYTES, NULL),
                     GPU_LAUNCH_FAILED);
    expect_broken(*memory, GPU_LAUNCH_FAILED);
    assert_int_equal(driver.copy_peer(more, context, *memory, context, BYTES, NULL),
                     GPU_LAUNCH_FAILED);
    assert_int_equal(slot->gpu_calls_failed, 1);
}

struct clear_task {
    size_t count;
    float *x;
};

KERNEL(cleared, struct clear_task)
{
    EACH_ELEMENT(i, a.count)
    {
        a.x[i] = 0;
    }
}

/* So is an error of a kernel. */
static void failed_kernel_is_sticky(void **state)
{
    const gpu_address *memory = *state;
    struct gpu_module *module = NULL;
    struct gpu_function *function = NULL;
    struct clear_task task = {.count = 1, .x = (float *)(uintptr_t)*memory};
    void *arguments[] = {&task};
    assert_int_equal(driver.module_load(&module, EMULATED_IMAGE), GPU_SUCCESS);
    assert_int_equal(driver.module_function(&function, module, "cleared"), GPU_SUCCESS);
    assert_int_equal(driver.launch(function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL),
                     GPU_SUCCESS);
    arm("gpu.mid_kernel");
    assert_int_equal(driver.launch(function, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL),
                     GPU_LAUNCH_FAILED);
    expect_broken(*memory, GPU_LAUNCH_FAILED);
    assert_int_equal(emulated_driver()->module_unload(module), GPU_SUCCESS);
}

/* So is an error of a graph, which passes the failpoint of kernels. */
static void failed_graph_is_sticky(void **state)
{
    const gpu_address *memory = *state;
    struct gpu_graph *graph = NULL;
    struct gpu_graph_exec *exec = NULL;
    assert_int_equal(driver.graph_create(&graph, 0), GPU_SUCCESS);
    assert_int_equal(driver.graph_instantiate(&exec, graph, 0), GPU_SUCCESS);
    assert_int_equal(driver.graph_launch(exec, NULL), GPU_SUCCESS);
    arm("gpu.mid_kernel");
    assert_int_equal(driver.graph_launch(exec, NULL), GPU_LAUNCH_FAILED);
    assert_int_equal(driver.graph_launch(exec, NULL), GPU_LAUNCH_FAILED);
    expect_broken(*memory, GPU_LAUNCH_FAILED);
    assert_int_equal(emulated_driver()->graph_exec_destroy(exec), GPU_SUCCESS);
    assert_int_equal(emulated_driver()->graph_destroy(graph), GPU_SUCCESS);
}

/* So is an error that a wait reports. */
static void failed_wait_is_sticky(void **state)
{
    const gpu_address *memory = *state;
    arm("gpu.wait");
    assert_int_equal(driver.stream_wait(NULL), GPU_LAUNCH_FAILED);
    expect_broken(*memory, GPU_LAUNCH_FAILED);
}

/* A process that has lost its GPU does not get it back; a new one finds it. */
static void lost_gpu_is_found_by_a_new_process(void **state)
{
    const gpu_address *memory = *state;
    slot->gpu_lost = 1;
    assert_int_equal(driver.stream_wait(NULL), GPU_UNKNOWN);
    assert_int_equal(driver.init(0), GPU_NO_DEVICE);
    assert_int_equal(slot->gpu_calls_failed, 2);
    slot->gpu_lost = 0;
    expect_broken(*memory, GPU_UNKNOWN);
    assert_int_equal(driver.init(0), GPU_SUCCESS);
}

#define WITH_DRIVER(test) cmocka_unit_test_setup_teardown(test, make_driver, remove_driver)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DRIVER(calls_reach_the_driver),
        WITH_DRIVER(full_gpu_has_no_memory),
        WITH_DRIVER(failed_allocation_is_not_sticky),
        WITH_DRIVER(failed_upload_is_sticky),
        WITH_DRIVER(failed_download_is_sticky),
        WITH_DRIVER(failed_peer_copy_is_sticky),
        WITH_DRIVER(failed_kernel_is_sticky),
        WITH_DRIVER(failed_graph_is_sticky),
        WITH_DRIVER(failed_wait_is_sticky),
        WITH_DRIVER(lost_gpu_is_found_by_a_new_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
