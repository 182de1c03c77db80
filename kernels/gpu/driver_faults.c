#include "kernels/gpu/driver_faults.h"

#include <assert.h>

#include "common/faults/failpoint.h"

#ifndef TANIST_FAILPOINTS

void gpu_driver_add_faults(struct gpu_driver *driver)
{
    assert(driver != NULL);
}

#else

#include <stdatomic.h>
#include <unistd.h>

#include "common/faults/fault_control.h"

static struct gpu_driver actual; /* The driver's own functions. */
static _Atomic gpu_code sticky;  /* The error of all later calls. */

static bool is_lost(void)
{
    const struct fault_slot *slot = failpoint_slot();
    return slot != NULL && slot->gpu_lost != 0;
}

static bool is_full(void)
{
    const struct fault_slot *slot = failpoint_slot();
    return slot != NULL && slot->gpu_full != 0;
}

/* Counted for the text in the history. */
static gpu_code fail_with(gpu_code code)
{
    assert(code != GPU_SUCCESS);
    failpoint_slot()->gpu_calls_failed++;
    return code;
}

/* The code with which calls fail by now. */
static gpu_code broken(void)
{
    if (is_lost()) { sticky = fail_with(GPU_UNKNOWN); }
    return sticky;
}

static gpu_code break_with(gpu_code code)
{
    sticky = code;
    return fail_with(code);
}

/* ------------------------------------------------------ functions of the driver */

static gpu_code init(unsigned flags)
{
    return is_lost() ? fail_with(GPU_NO_DEVICE) : actual.init(flags);
}

static gpu_code allocate(gpu_address *memory, size_t bytes)
{
    if (broken() != GPU_SUCCESS) { return sticky; }
    const bool fails = FAILPOINT_STATUS("gpu.allocate", NULL) != TN_OK;
    if (fails || is_full()) { return fail_with(GPU_OUT_OF_MEMORY); }
    return actual.allocate(memory, bytes);
}

static gpu_code memory_info(size_t *unused, size_t *total)
{
    const gpu_code code = actual.memory_info(unused, total);
    if (code == GPU_SUCCESS && is_full()) { *unused = 0; }
    return code;
}

static gpu_code upload(gpu_address to, const void *from, size_t bytes, struct gpu_stream *stream)
{
    if (broken() != GPU_SUCCESS) { return sticky; }
    const gpu_code code = actual.upload(to, from, bytes, stream);
    if (FAILPOINT_STATUS("gpu.mid_upload", NULL) != TN_OK) { return break_with(GPU_LAUNCH_FAILED); }
    return code;
}

static gpu_code download(void *to, gpu_address from, size_t bytes, struct gpu_stream *stream)
{
    if (broken() != GPU_SUCCESS) { return sticky; }
    const gpu_code code = actual.download(to, from, bytes, stream);
    if (FAILPOINT_STATUS("gpu.mid_download", NULL) != TN_OK) {
        return break_with(GPU_LAUNCH_FAILED);
    }
    return code;
}

static gpu_code copy_peer(gpu_address to, struct gpu_context *to_context, gpu_address from,
                          struct gpu_context *from_context, size_t bytes, struct gpu_stream *stream)
{
    if (broken() != GPU_SUCCESS) { return sticky; }
    const gpu_code code = actual.copy_peer(to, to_context, from, from_context, bytes, stream);
    if (FAILPOINT_STATUS("gpu.mid_peer_copy", NULL) != TN_OK) {
        return break_with(GPU_LAUNCH_FAILED);
    }
    return code;
}

static gpu_code launch(struct gpu_function *function, unsigned blocks_x, unsigned blocks_y,
                       unsigned blocks_z, unsigned threads_x, unsigned threads_y,
                       unsigned threads_z, unsigned shared_bytes, struct gpu_stream *stream,
                       void **arguments, void **extra)
{
    if (broken() != GPU_SUCCESS) { return sticky; }
    const gpu_code code =
        actual.launch(function, blocks_x, blocks_y, blocks_z, threads_x, threads_y, threads_z,
                      shared_bytes, stream, arguments, extra);
    if (FAILPOINT_STATUS("gpu.mid_kernel", NULL) != TN_OK) { return break_with(GPU_LAUNCH_FAILED); }
    return code;
}

/* The kernels of a graph are in one call: a pass of the failpoint. */
static gpu_code graph_launch(struct gpu_graph_exec *exec, struct gpu_stream *stream)
{
    if (broken() != GPU_SUCCESS) { return sticky; }
    const gpu_code code = actual.graph_launch(exec, stream);
    if (FAILPOINT_STATUS("gpu.mid_kernel", NULL) != TN_OK) { return break_with(GPU_LAUNCH_FAILED); }
    return code;
}

/* The harness does not take a GPU away that a process has not found yet. */
static gpu_code note_use(gpu_code code)
{
    struct fault_slot *slot = failpoint_slot();
    if (slot != NULL && code == GPU_SUCCESS) { slot->gpu_user = (uint32_t)getpid(); }
    return code;
}

static gpu_code stream_wait(struct gpu_stream *stream)
{
    if (FAILPOINT_STATUS("gpu.wait", NULL) != TN_OK) { return break_with(GPU_LAUNCH_FAILED); }
    return broken() != GPU_SUCCESS ? sticky : note_use(actual.stream_wait(stream));
}

static gpu_code event_wait(struct gpu_event *event)
{
    if (FAILPOINT_STATUS("gpu.wait", NULL) != TN_OK) { return break_with(GPU_LAUNCH_FAILED); }
    return broken() != GPU_SUCCESS ? sticky : note_use(actual.event_wait(event));
}

void gpu_driver_add_faults(struct gpu_driver *driver)
{
    assert(driver != NULL);
    actual = *driver;
    sticky = GPU_SUCCESS;
    driver->init = init;
    driver->allocate = allocate;
    driver->memory_info = memory_info;
    driver->upload = upload;
    driver->download = download;
    driver->copy_peer = copy_peer;
    driver->launch = launch;
    if (gpu_driver_has_graphs(driver)) { driver->graph_launch = graph_launch; }
    driver->stream_wait = stream_wait;
    driver->event_wait = event_wait;
}

#endif
