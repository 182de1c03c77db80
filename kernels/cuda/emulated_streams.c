/* kernels/cuda/emulated_streams.c: the emulated driver's copies, streams, events, modules and
 * launches, and the texts of its errors. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/emulated_driver.h"
#include "kernels/cuda/emulated_private.h"
#include "kernels/cuda/emulation.h"

struct gpu_module {
    int unused;
};

struct gpu_function {
    struct emulation_kernel kernel; /* An entry of the emulation's list. */
};

/* Calls that make a handle. */
static int create(void **handle, size_t bytes)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    *handle = code == GPU_SUCCESS ? calloc(1, bytes) : NULL;
    return emulated_leave(code == GPU_SUCCESS && *handle == NULL ? GPU_OUT_OF_MEMORY : code);
}

static int destroy(void *handle)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    if (code == GPU_SUCCESS) { free(handle); }
    return emulated_leave(code == GPU_SUCCESS && handle == NULL ? GPU_INVALID_HANDLE : code);
}

/* ------------------------------------------------------ copies */

/* The code of a call that queues work for a stream; `number` may be NULL. */
static int add(int code, struct gpu_stream *stream, const struct emulated_work *work,
               uint64_t *number)
{
    if (code != GPU_SUCCESS) { return code; }
    stream = emulated_stream_of(stream);
    if (!emulated_is_current(stream->home)) { return GPU_INVALID_HANDLE; }
    const uint64_t added = emulated_queue_add(stream, work);
    if (number != NULL) { *number = added; }
    return added == 0 ? GPU_OUT_OF_MEMORY : GPU_SUCCESS;
}

static int add_copy(int code, struct gpu_stream *stream, const struct emulated_work *work,
                    uint64_t *number)
{
    const bool is_within = work->to != NULL && (work->from != NULL || work->kind == WORK_FILL);
    if (code == GPU_SUCCESS && !is_within) { code = GPU_INVALID_VALUE; }
    return add(code, stream, work, number);
}

/* Pageable memory of the host is read before the call returns. */
int emulated_upload(gpu_address to, const void *from, size_t bytes, struct gpu_stream *stream)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    const struct emulated_work work = {.kind = WORK_COPY,
                                       .to = emulated_range(to, bytes),
                                       .from = from,
                                       .bytes = bytes,
                                       .is_staged = !emulated_is_pinned(from, bytes)};
    return emulated_leave(add_copy(code, stream, &work, NULL));
}

/* Pageable memory of the host is written before the call returns. */
int emulated_download(void *to, gpu_address from, size_t bytes, struct gpu_stream *stream)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    uint64_t number = 0;
    const struct emulated_work work = {
        .kind = WORK_COPY, .to = to, .from = emulated_range(from, bytes), .bytes = bytes};
    code = add_copy(code, stream, &work, &number);
    if (code == GPU_SUCCESS && !emulated_is_pinned(to, bytes)) {
        code = emulated_queue_finish(number);
    }
    return emulated_leave(code);
}

int emulated_copy(gpu_address to, gpu_address from, size_t bytes, struct gpu_stream *stream)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    const struct emulated_work work = {.kind = WORK_COPY,
                                       .to = emulated_range(to, bytes),
                                       .from = emulated_range(from, bytes),
                                       .bytes = bytes};
    return emulated_leave(add_copy(code, stream, &work, NULL));
}

/* In a stream of the target's context. */
int emulated_copy_peer(gpu_address to, struct gpu_context *to_context, gpu_address from,
                       struct gpu_context *from_context, size_t bytes, struct gpu_stream *stream)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    const struct emulated_work work = {.kind = WORK_COPY,
                                       .to = emulated_range_of(to_context, to, bytes),
                                       .from = emulated_range_of(from_context, from, bytes),
                                       .bytes = bytes};
    if (code == GPU_SUCCESS && work.to != emulated_range(to, bytes)) { code = GPU_INVALID_CONTEXT; }
    if (code == GPU_SUCCESS) {
        code = (int)emulated_setting(getenv("TANIST_EMULATED_GPU"), "peer_copy=", GPU_SUCCESS);
        if (code != GPU_SUCCESS) { (void)emulated_break(code); }
    }
    return emulated_leave(add_copy(code, stream, &work, NULL));
}

int emulated_fill(gpu_address memory, unsigned char value, size_t bytes, struct gpu_stream *stream)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    const struct emulated_work work = {
        .kind = WORK_FILL, .to = emulated_range(memory, bytes), .bytes = bytes, .value = value};
    return emulated_leave(add_copy(code, stream, &work, NULL));
}

/* ------------------------------------------------------ streams and events */

static int waited(int code)
{
    return emulated_leave(code == GPU_SUCCESS ? emulated_check_memory() : code);
}

int emulated_context_wait(void)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code == GPU_SUCCESS) { code = emulated_queue_finish_context(emulated_stream_of(NULL)); }
    return waited(code);
}

int emulated_stream_create(struct gpu_stream **stream, unsigned flags)
{
    void *handle = NULL;
    const int code = create(&handle, sizeof **stream);
    *stream = handle;
    if (code != GPU_SUCCESS || handle == NULL) { return code; }
    (*stream)->home = emulated_stream_of(NULL);
    (*stream)->is_blocking = (flags & GPU_STREAM_NON_BLOCKING) == 0;
    return code;
}

int emulated_stream_destroy(struct gpu_stream *stream)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code == GPU_SUCCESS && stream == NULL) { code = GPU_INVALID_HANDLE; }
    if (code == GPU_SUCCESS) { code = emulated_queue_finish_stream(stream); }
    if (code == GPU_SUCCESS) { free(stream); }
    return emulated_leave(code);
}

int emulated_stream_wait(struct gpu_stream *stream)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code == GPU_SUCCESS) { code = emulated_queue_finish_stream(emulated_stream_of(stream)); }
    return waited(code);
}

int emulated_stream_wait_event(struct gpu_stream *stream, struct gpu_event *event, unsigned flags)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    const struct emulated_work work = {.kind = WORK_WAIT, .event = event};
    if (code == GPU_SUCCESS && event == NULL) { code = GPU_INVALID_HANDLE; }
    if (code == GPU_SUCCESS && flags != 0) { code = GPU_INVALID_VALUE; }
    return emulated_leave(add(code, stream, &work, NULL));
}

int emulated_event_create(struct gpu_event **event, unsigned flags)
{
    void *handle = NULL;
    const int code = create(&handle, sizeof **event);
    *event = handle;
    if (code != GPU_SUCCESS || handle == NULL) { return code; }
    (*event)->home = emulated_stream_of(NULL);
    (*event)->is_timed = (flags & GPU_EVENT_DISABLE_TIMING) == 0;
    return code;
}

int emulated_event_destroy(struct gpu_event *event)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code == GPU_SUCCESS && event == NULL) { code = GPU_INVALID_HANDLE; }
    if (event !=
        NULL) { /* Allowed for a device that has failed, as its program still ends in order. */
        emulated_queue_forget_event(event);
        free(event);
    }
    return emulated_leave(code);
}

int emulated_event_record(struct gpu_event *event, struct gpu_stream *stream)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    const struct emulated_work work = {.kind = WORK_RECORD, .event = event};
    if (code == GPU_SUCCESS && (event == NULL || !emulated_is_current(event->home))) {
        code = GPU_INVALID_HANDLE;
    }
    return emulated_leave(add(code, stream, &work, NULL));
}

int emulated_event_wait(struct gpu_event *event)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code == GPU_SUCCESS && event == NULL) { code = GPU_INVALID_HANDLE; }
    if (code == GPU_SUCCESS) { code = emulated_queue_finish(event->recorded); }
    return waited(code);
}

int emulated_event_elapsed(float *milliseconds, struct gpu_event *begin, struct gpu_event *end)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    const bool is_valid = begin != NULL && end != NULL && begin->is_timed && end->is_timed &&
                          begin->recorded != 0 && end->recorded != 0;
    if (code == GPU_SUCCESS && !is_valid) { code = GPU_INVALID_HANDLE; }
    if (code == GPU_SUCCESS &&
        (emulated_queue_is_pending(begin->recorded) || emulated_queue_is_pending(end->recorded))) {
        code = GPU_NOT_READY;
    }
    if (code == GPU_SUCCESS) { *milliseconds = (float)(end->launches - begin->launches) * 1e-3F; }
    return emulated_leave(code);
}

/* ------------------------------------------------------ modules and launches */

/* Only the beginning of the image is read: the kernels are those that are linked with this
 * driver. */
int emulated_module_load(struct gpu_module **module, const void *image)
{
    static const char own[] = EMULATED_IMAGE, fatbin[] = {'\x50', '\xed', '\x55', '\xba'};
    void *handle = NULL;
    if (image == NULL) { return GPU_INVALID_VALUE; }
    if (strncmp(image, own, sizeof own - 1) != 0 && strncmp(image, fatbin, sizeof fatbin) != 0) {
        return GPU_INVALID_IMAGE;
    }
    const int code = create(&handle, sizeof **module);
    *module = handle;
    return code;
}

int emulated_module_unload(struct gpu_module *module)
{
    return destroy(module);
}

int emulated_module_function(struct gpu_function **function, struct gpu_module *module,
                             const char *name)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code == GPU_SUCCESS && module == NULL) { code = GPU_INVALID_HANDLE; }
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    struct emulation_kernel *kernel = emulation_find(name);
    *function = (struct gpu_function *)kernel;
    return emulated_leave(kernel == NULL ? GPU_NOT_FOUND : GPU_SUCCESS);
}

int emulated_launch(struct gpu_function *function, unsigned blocks_x, unsigned blocks_y,
                    unsigned blocks_z, unsigned threads_x, unsigned threads_y, unsigned threads_z,
                    unsigned shared_bytes, struct gpu_stream *stream, void **arguments,
                    void **extra)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code == GPU_SUCCESS &&
        (function == NULL || arguments == NULL || extra != NULL ||
         blocks_y * blocks_z * threads_y * threads_z != 1 || shared_bytes != 0)) {
        code = GPU_INVALID_VALUE;
    }
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    const struct emulated_work work = {.kind = WORK_LAUNCH,
                                       .kernel = &function->kernel,
                                       .from = arguments[0],
                                       .bytes = function->kernel.bytes,
                                       .is_staged = true,
                                       .blocks = blocks_x,
                                       .threads = threads_x};
    return emulated_leave(add(code, stream, &work, NULL));
}

int emulated_add_call(void (*call)(const void *arguments), const void *arguments, size_t bytes)
{
    const struct emulated_work work = {
        .kind = WORK_CALL, .call = call, .from = arguments, .bytes = bytes, .is_staged = true};
    return add(GPU_SUCCESS, NULL, &work, NULL);
}

/* ------------------------------------------------------ texts */

static const struct {
    int code;
    const char *name, *text;
} codes[] = {
    {GPU_SUCCESS, "CUDA_SUCCESS", "no error"},
    {GPU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {GPU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {GPU_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {GPU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {GPU_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {GPU_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {GPU_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {GPU_NO_CODE_FOR_DEVICE, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available"},
    {GPU_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {GPU_PEER_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported"},
    {GPU_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {GPU_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {GPU_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {GPU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {GPU_PEER_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {GPU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {GPU_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {GPU_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

int emulated_error_name(int code, const char **name)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        *name = codes[i].name;
        if (codes[i].code == code) { return GPU_SUCCESS; }
    }
    *name = NULL;
    return GPU_INVALID_VALUE;
}

int emulated_error_text(int code, const char **text)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        *text = codes[i].text;
        if (codes[i].code == code) { return GPU_SUCCESS; }
    }
    *text = NULL;
    return GPU_INVALID_VALUE;
}
