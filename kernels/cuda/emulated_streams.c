/* kernels/cuda/emulated_streams.c: the emulated driver's streams, events, modules and launches, and
 * the texts of its errors. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/emulated_driver.h"
#include "kernels/cuda/emulated_private.h"
#include "kernels/cuda/emulation.h"

struct gpu_stream {
    int unused;
};

struct gpu_event {
    uint64_t launches; /* When it was recorded. */
};

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

static int wait(void)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    return emulated_leave(code == GPU_SUCCESS ? emulated_check_memory() : code);
}

int emulated_context_wait(void)
{
    return wait();
}

int emulated_stream_create(struct gpu_stream **stream, unsigned flags)
{
    void *handle = NULL;
    (void)flags;
    const int code = create(&handle, sizeof **stream);
    *stream = handle;
    return code;
}

int emulated_stream_destroy(struct gpu_stream *stream)
{
    return destroy(stream);
}

int emulated_stream_wait(struct gpu_stream *stream)
{
    (void)stream;
    return wait();
}

int emulated_stream_wait_event(struct gpu_stream *stream, struct gpu_event *event, unsigned flags)
{
    (void)stream;
    (void)flags;
    const int code = emulated_enter(NEEDS_CONTEXT);
    return emulated_leave(code == GPU_SUCCESS && event == NULL ? GPU_INVALID_HANDLE : code);
}

int emulated_event_create(struct gpu_event **event, unsigned flags)
{
    void *handle = NULL;
    (void)flags;
    const int code = create(&handle, sizeof **event);
    *event = handle;
    return code;
}

int emulated_event_destroy(struct gpu_event *event)
{
    return destroy(event);
}

int emulated_event_record(struct gpu_event *event, struct gpu_stream *stream)
{
    (void)stream;
    const int code = emulated_enter(NEEDS_CONTEXT);
    if (code != GPU_SUCCESS || event == NULL) {
        return emulated_leave(code != GPU_SUCCESS ? code : GPU_INVALID_HANDLE);
    }
    event->launches = emulation_launches();
    return emulated_leave(GPU_SUCCESS);
}

int emulated_event_wait(struct gpu_event *event)
{
    return event == NULL ? GPU_INVALID_HANDLE : wait();
}

int emulated_event_elapsed(float *milliseconds, struct gpu_event *begin, struct gpu_event *end)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    *milliseconds = (float)(end->launches - begin->launches) * 1e-3F;
    return emulated_leave(code);
}

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
    (void)stream;
    if (code == GPU_SUCCESS &&
        (function == NULL || arguments == NULL || extra != NULL ||
         blocks_y * blocks_z * threads_y * threads_z != 1 || shared_bytes != 0)) {
        code = GPU_INVALID_VALUE;
    }
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    emulation_launch(function->kernel.name, function->kernel.thread, blocks_x, threads_x,
                     arguments[0]);
    return emulated_leave(GPU_SUCCESS);
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
    {GPU_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {GPU_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {GPU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {GPU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
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
