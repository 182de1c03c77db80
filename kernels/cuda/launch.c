/* kernels/cuda/launch.c: the GPUs of this process as a library: the module of kernels, their
 * memory, launches and copies in the default stream of each GPU, in their order; launch_queues.c
 * has the other streams. */
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/launch_private.h"
#include "kernels/cuda/library.h"
#include "kernels/cuda/module_file.h"
#include "kernels/gpu/driver.h"

struct gpu {
    uint32_t number;
    bool was_opened;
    struct error opened; /* The result of the only attempt. */
    const struct gpu_driver *driver;
    int device;
    struct gpu_context *context;
    struct gpu_module *module;
    struct launch_streams streams;
    pthread_mutex_t mutex; /* Protects all below, and the functions of kernels on this GPU. */
    struct error failed;   /* The first failure, which all later calls return. */
    uint32_t connected;    /* A bit for each GPU that was asked for. */
};

static struct gpu gpus[CUDA_GPUS_MAX];
static struct cuda_kernels kernels;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* The GPU that this thread has selected, and the one whose context is current to it. */
static _Thread_local struct gpu *gpu = &gpus[0];
static _Thread_local const struct gpu *current;

#define MIB 1048576.0

/* ------------------------------------------------------ calls */

/* A code of the driver as the status of a call; after others than these the GPU is lost. */
#define CHECK(code, error, ...)                                                                    \
    device_status(gpu_check(gpu->driver, code, error, __VA_ARGS__), error)

static enum tn_status device_status(enum tn_status status, struct error *error)
{
    if (status == TN_EINTERNAL) {
        status = TN_EDEVICE;
        if (error != NULL) { error->status = status; }
    }
    return status;
}

static void lock(void)
{
    (void)pthread_mutex_lock(&gpu->mutex);
}

/* A failure of the GPU is kept: nothing computed since can be trusted. */
static enum tn_status unlock(enum tn_status status, const struct error *text, struct error *error)
{
    if (status == TN_EDEVICE && gpu->failed.status == TN_OK) { gpu->failed = *text; }
    (void)pthread_mutex_unlock(&gpu->mutex);
    if (status != TN_EDEVICE) {
        return status == TN_OK ? TN_OK : error_set(error, status, "%s", text->text);
    }
    return error_set(error, status, "/gpu:%" PRIu32 ": %s", gpu->number, text->text);
}

/* The context of the driver belongs to the thread. */
static enum tn_status use_context(struct error *error)
{
    if (gpu->failed.status != TN_OK) {
        return error_set(error, gpu->failed.status, "%s", gpu->failed.text);
    }
    if (current == gpu) { return TN_OK; }
    enum tn_status status = CHECK(gpu->driver->context_set(gpu->context), error, "cuCtxSetCurrent");
    current = status == TN_OK ? gpu : NULL;
    return status;
}

/* Before each call of the driver, but for a kernel: those that are held back come first. */
static enum tn_status begin(struct error *error)
{
    enum tn_status status = use_context(error);
    return status == TN_OK ? launch_held(error) : status;
}

enum tn_status launch_begin(struct error *text)
{
    lock();
    return begin(text);
}

enum tn_status launch_end(enum tn_status status, const struct error *text, struct error *error)
{
    return unlock(status, text, error);
}

const struct gpu_driver *launch_driver(void)
{
    return gpu->driver;
}

uint32_t launch_number(void)
{
    return gpu->number;
}

struct launch_streams *launch_streams(void)
{
    return &gpu->streams;
}

/* Whether a GPU can access another one depends on the machine; a failure of the GPU is reported by
 * the copy. */
void launch_connect(uint32_t number, struct gpu_context **own, struct gpu_context **peer)
{
    int can = 0;
    assert(number < CUDA_GPUS_MAX && gpus[number].context != NULL);
    *own = gpu->context;
    *peer = gpus[number].context;
    if ((gpu->connected >> number & 1) != 0) { return; }
    gpu->connected |= 1U << number;
    int code = gpu->driver->device_can_access(&can, gpu->device, gpus[number].device);
    if (code == GPU_SUCCESS && can != 0) { code = gpu->driver->context_enable_peer(*peer, 0); }
    const bool is_direct = can != 0 && (code == GPU_SUCCESS || code == GPU_PEER_ENABLED);
    log_debug("copies from /gpu:%" PRIu32 " to /gpu:%" PRIu32 " go %s", number, gpu->number,
              is_direct ? "directly" : "through memory of the host");
}

enum tn_status launch_check(int code, struct error *text, const char *what)
{
    return CHECK(code, text, "%s", what);
}

static enum tn_status find_function(struct cuda_entry *entry, struct error *error)
{
    struct gpu_function **function = &entry->functions[gpu->number];
    if (*function != NULL) { return TN_OK; }
    return CHECK(gpu->driver->module_function(function, gpu->module, entry->name), error,
                 "kernel %s", entry->name);
}

enum tn_status launch_start(const struct launch_kernel *kernel, struct error *text)
{
    void *arguments = kernel->arguments;
    return CHECK(gpu->driver->launch(kernel->function, kernel->blocks, 1, 1, kernel->threads, 1, 1,
                                     0, NULL, &arguments, NULL),
                 text, "kernel %s with %u blocks of %u threads", kernel->name, kernel->blocks,
                 kernel->threads);
}

static enum tn_status start(const struct cuda_entry *entry, size_t blocks, size_t threads,
                            const void *arguments, size_t bytes, struct error *error)
{
    if (blocks > INT_MAX) {
        return error_set(error, TN_EDEVICE,
                         "kernel %s: %zu blocks are more than a GPU takes: use fewer examples",
                         entry->name, blocks);
    }
    const struct launch_kernel kernel = {.name = entry->name,
                                         .function = entry->functions[gpu->number],
                                         .blocks = (unsigned)blocks,
                                         .threads = (unsigned)threads,
                                         .arguments = (void *)(uintptr_t)arguments,
                                         .bytes = bytes};
    if (launch_hold(&kernel)) { return TN_OK; }
    enum tn_status status = launch_held(error);
    return status == TN_OK ? launch_start(&kernel, error) : status;
}

void cuda_launch(struct cuda_entry *entry, size_t blocks, size_t threads, const void *arguments,
                 size_t bytes)
{
    struct error text = {.status = TN_OK};
    assert(gpu->module != NULL && blocks > 0);
    lock();
    enum tn_status status = use_context(&text);
    if (status == TN_OK) { status = find_function(entry, &text); }
    if (status == TN_OK) { status = start(entry, blocks, threads, arguments, bytes, &text); }
    if (status != TN_OK && status != TN_EDEVICE) { /* The next wait returns it. */
        status = error_set(&text, TN_EDEVICE, "%s", text.text);
    }
    (void)unlock(status, &text, NULL);
}

/* ------------------------------------------------------ memory */

static gpu_address address_of(const void *memory)
{
    return (gpu_address)(uintptr_t)memory;
}

/* Adds how much memory is free. */
static enum tn_status out_of_memory(size_t bytes, struct error *error)
{
    size_t unused = 0, total = 0;
    if (gpu->driver->memory_info(&unused, &total) != GPU_SUCCESS) { return TN_ENOMEM; }
    return error_set(error, TN_ENOMEM,
                     "/gpu:%" PRIu32 " has no %zu bytes: %.1f of %.1f MiB are free, and other "
                     "processes may use it",
                     gpu->number, bytes, (double)unused / MIB, (double)total / MIB);
}

static enum tn_status allocate(size_t bytes, void **memory, struct error *error)
{
    struct error text = {.status = TN_OK};
    gpu_address address = 0;
    assert(bytes > 0);
    *memory = NULL;
    lock();
    enum tn_status status = begin(&text);
    if (status == TN_OK) {
        status =
            CHECK(gpu->driver->allocate(&address, bytes), &text, "cuMemAlloc of %zu bytes", bytes);
    }
    if (status == TN_ENOMEM) { status = out_of_memory(bytes, &text); }
    if (status == TN_OK) { *memory = (void *)(uintptr_t)address; }
    return unlock(status, &text, error);
}

/* After a failure of the GPU, its memory is released by the end of this process. */
static void release(void *memory)
{
    struct error text = {.status = TN_OK};
    if (memory == NULL) { return; }
    lock();
    enum tn_status status = begin(&text);
    if (status == TN_OK) {
        status = CHECK(gpu->driver->release(address_of(memory)), &text, "cuMemFree");
    }
    (void)unlock(status, &text, NULL);
}

/* Orders and waits: the host's memory may be any. */
static enum tn_status finish(int code, struct error *text, const char *what, size_t bytes)
{
    enum tn_status status = CHECK(code, text, "%s of %zu bytes", what, bytes);
    if (status != TN_OK) { return status; }
    return CHECK(gpu->driver->stream_wait(NULL), text, "the kernels before the %s of %zu bytes",
                 what, bytes);
}

static enum tn_status upload(void *to, const void *from, size_t bytes, struct error *error)
{
    struct error text = {.status = TN_OK};
    lock();
    enum tn_status status = begin(&text);
    if (status == TN_OK && bytes > 0) {
        const int code = gpu->driver->upload(address_of(to), from, bytes, NULL);
        status = finish(code, &text, "upload", bytes);
    }
    return unlock(status, &text, error);
}

static enum tn_status download(void *to, const void *from, size_t bytes, struct error *error)
{
    struct error text = {.status = TN_OK};
    lock();
    enum tn_status status = begin(&text);
    if (status == TN_OK && bytes > 0) {
        const int code = gpu->driver->download(to, address_of(from), bytes, NULL);
        status = finish(code, &text, "download", bytes);
    }
    return unlock(status, &text, error);
}

static enum tn_status clear(void *memory, size_t bytes, struct error *error)
{
    struct error text = {.status = TN_OK};
    lock();
    enum tn_status status = begin(&text);
    if (status == TN_OK && bytes > 0) {
        const int code = gpu->driver->fill(address_of(memory), 0, bytes, NULL);
        status = CHECK(code, &text, "cuMemset of %zu bytes", bytes);
    }
    return unlock(status, &text, error);
}

static enum tn_status wait(struct error *error)
{
    struct error text = {.status = TN_OK};
    lock();
    enum tn_status status = begin(&text);
    if (status == TN_OK) {
        status = CHECK(gpu->driver->stream_wait(NULL), &text, "waiting for the kernels");
    }
    return unlock(status, &text, error);
}

/* ------------------------------------------------------ opening */

static enum tn_status find_device(struct error *error)
{
    int count = 0;
    enum tn_status status = CHECK(gpu->driver->device_count(&count), error, "cuDeviceGetCount");
    if (status == TN_OK && gpu->number >= (uint32_t)count) {
        return error_set(error, TN_ENOENT,
                         "there is no /gpu:%" PRIu32 ": the driver shows %d GPU%s, which "
                         "CUDA_VISIBLE_DEVICES may limit",
                         gpu->number, count, count == 1 ? "" : "s");
    }
    if (status != TN_OK) { return status; }
    return CHECK(gpu->driver->device_get(&gpu->device, (int)gpu->number), error, "cuDeviceGet");
}

static enum tn_status open_context(struct error *error)
{
    enum tn_status status = find_device(error);
    if (status == TN_OK) {
        status = CHECK(gpu->driver->context_retain(&gpu->context, gpu->device), error,
                       "cuDevicePrimaryCtxRetain");
    }
    if (status == TN_OK) { status = begin(error); }
    return status == TN_OK ? launch_open_streams(gpu->driver, &gpu->streams, error) : status;
}

static enum tn_status open_module(struct error *error)
{
    char path[PATH_MAX], *image = NULL;
    enum tn_status status = module_file_read(&image, path, error);
    if (status != TN_OK) { return status; }
    status = CHECK(gpu->driver->module_load(&gpu->module, image), error,
                   "loading %s (it must be of this version of tanist, and have code for this GPU)",
                   path);
    free(image);
    return status;
}

static void prepare(void)
{
    for (uint32_t i = 0; i < CUDA_GPUS_MAX; i++) {
        gpus[i].number = i;
        const int failed = pthread_mutex_init(&gpus[i].mutex, NULL);
        assert(failed == 0);
    }
#define X(family) CUDA_FILL(family)(&kernels);
    CUDA_FAMILIES(X)
#undef X
}

static void open_selected(void)
{
    struct error *error = &gpu->opened;
    enum tn_status status = device_status(gpu_driver_open(&gpu->driver, error), error);
    if (status == TN_OK) {
        status = open_context(error);
        if (status == TN_EDEVICE) { status = error_context(error, "/gpu:%" PRIu32, gpu->number); }
    }
    if (status == TN_OK) { status = open_module(error); }
    error->status = status;
    gpu->was_opened = true;
}

static void select_gpu(uint32_t number)
{
    assert(number < CUDA_GPUS_MAX);
    gpu = &gpus[number];
}

enum tn_status cuda_library_open(uint32_t number, const struct cuda_library **out,
                                 struct error *error)
{
    static const struct cuda_library library = {
        .name = "cuda",
        .kernels = &kernels,
        .select = select_gpu,
        .allocate = allocate,
        .release = release,
        .upload = upload,
        .download = download,
        .clear = clear,
        .wait = wait,
        .queues = &launch_queues,
        .graphs = &launch_graphs,
    };
    assert(out != NULL);
    const int failed = pthread_once(&prepared, prepare);
    assert(failed == 0);
    select_gpu(number);
    (void)pthread_mutex_lock(&opening);
    if (!gpu->was_opened) { open_selected(); }
    (void)pthread_mutex_unlock(&opening);
    *out = &library;
    if (gpu->opened.status == TN_OK) { return TN_OK; }
    return error_set(
        error, gpu->opened.status,
        "the kernels \"cuda\" cannot be used: %s (the kernels \"portable\" have the same "
        "bits on every processor)",
        gpu->opened.text);
}
