/* kernels/cuda/emulated_driver.c: devices, contexts and memory; emulated_streams.c has copies,
 * streams, events, modules and launches. */
#include "kernels/cuda/emulated_driver.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cuda/emulated_private.h"

enum { GUARD = 256, GUARD_BYTE = 0xa5 };

#define NO_DEVICE ULLONG_MAX

struct allocation {
    struct allocation *next;
    size_t bytes;
    struct gpu_context *context; /* NULL: pinned memory of the host. */
    uint8_t *data;               /* GUARD bytes lie before it and behind it. */
};

struct gpu_context {
    int device, references;
    int sticky; /* The code of its later calls. */
    size_t used;
    unsigned peers;           /* A bit for each context whose memory it can access. */
    struct gpu_stream stream; /* The default one. */
};

static struct {
    pthread_mutex_t mutex;
    bool is_ready;
    int visible[EMULATED_DEVICES_MAX];
    int count;
    unsigned long long devices, memory, init, calls, error, context, operations, pinned;
    unsigned long long broken, small, limit, other, peers;
    unsigned long long called;
    int sticky; /* The code of all later calls. */
    struct gpu_context contexts[EMULATED_DEVICES_MAX];
    struct allocation *allocations;
} gpus = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct gpu_context *current;

const struct gpu_driver *emulated_driver(void)
{
    static const struct gpu_driver driver = {
#define X(name, symbol, parameters) .name = emulated_##name,
        GPU_DRIVER_FUNCTIONS(X) GPU_DRIVER_GRAPHS(X)
#undef X
    };
    return &driver;
}

/* ------------------------------------------------------ calls */

static bool have_gone(void)
{
    const char *path = getenv("TANIST_EMULATED_GPU_GONE");
    return path != NULL && access(path, F_OK) == 0;
}

static bool may_break(const struct gpu_context *context)
{
    if (gpus.sticky != GPU_SUCCESS) { return false; }
    if (gpus.broken == NO_DEVICE) { return true; }
    return context != NULL && (unsigned)context->device == gpus.broken &&
           context->sticky == GPU_SUCCESS;
}

static struct gpu_context *context_of(const struct gpu_stream *home)
{
    uint32_t i = 0;
    while (i < EMULATED_DEVICES_MAX && &gpus.contexts[i].stream != home) { i++; }
    assert(i < EMULATED_DEVICES_MAX);
    return &gpus.contexts[i];
}

bool emulated_may_break(const struct gpu_stream *home)
{
    return may_break(context_of(home));
}

static void break_device(struct gpu_context *context, int code)
{
    if (gpus.broken == NO_DEVICE) {
        (void)emulated_break(code);
        return;
    }
    context->sticky = code;
    emulated_queue_drop(&context->stream);
}

void emulated_break_device(const struct gpu_stream *home, int code)
{
    break_device(context_of(home), code);
}

int emulated_enter(enum emulated_need need)
{
    (void)pthread_mutex_lock(&gpus.mutex);
    if (!gpus.is_ready) { return GPU_NOT_INITIALIZED; }
    emulated_queue_configure(getenv("TANIST_EMULATED_GPU"));
    const bool fails_calls = gpus.error != 0 && gpus.operations == 0;
    if (fails_calls && may_break(current) && gpus.called++ >= gpus.calls) {
        break_device(current, (int)gpus.error);
    }
    if (gpus.sticky == GPU_SUCCESS && have_gone()) { gpus.sticky = GPU_UNKNOWN; }
    if (gpus.sticky != GPU_SUCCESS) { return gpus.sticky; }
    if (need == NEEDS_NOTHING) { return GPU_SUCCESS; }
    return current == NULL ? GPU_INVALID_CONTEXT : current->sticky;
}

int emulated_leave(int code)
{
    (void)pthread_mutex_unlock(&gpus.mutex);
    return code;
}

int emulated_break(int code)
{
    gpus.sticky = code;
    emulated_queue_drop(NULL);
    return code;
}

int emulated_broken(void)
{
    if (gpus.sticky != GPU_SUCCESS || current == NULL) { return gpus.sticky; }
    return current->sticky;
}

struct gpu_stream *emulated_stream_of(struct gpu_stream *stream)
{
    assert(current != NULL);
    return stream != NULL ? stream : &current->stream;
}

bool emulated_is_current(const struct gpu_stream *home)
{
    assert(current != NULL);
    return home == &current->stream;
}

/* ------------------------------------------------------ the machine */

unsigned long long emulated_setting(const char *settings, const char *key,
                                    unsigned long long otherwise)
{
    const char *found = settings != NULL ? strstr(settings, key) : NULL;
    return found != NULL ? strtoull(found + strlen(key), NULL, 10) : otherwise;
}

/* "devices=2,memory=1048576" */
static void read_settings(void)
{
    const struct {
        const char *name;
        unsigned long long *value;
    } keys[] = {
        {"devices=", &gpus.devices},       {"memory=", &gpus.memory}, {"init=", &gpus.init},
        {"calls=", &gpus.calls},           {"error=", &gpus.error},   {"context=", &gpus.context},
        {"operations=", &gpus.operations}, {"pinned=", &gpus.pinned}, {"broken=", &gpus.broken},
        {"small=", &gpus.small},           {"limit=", &gpus.limit},   {"other=", &gpus.other},
        {"peers=", &gpus.peers},
    };
    const char *settings = getenv("TANIST_EMULATED_GPU");
    gpus.devices = 1;
    gpus.memory = 1ULL << 30;
    gpus.init = gpus.calls = gpus.error = gpus.context = gpus.operations = gpus.pinned = 0;
    gpus.limit = 0;
    gpus.peers = 1;
    gpus.broken = gpus.small = gpus.other = NO_DEVICE;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        *keys[i].value = emulated_setting(settings, keys[i].name, *keys[i].value);
    }
    if (gpus.devices > EMULATED_DEVICES_MAX) { gpus.devices = EMULATED_DEVICES_MAX; }
}

/* As NVIDIA's driver: up to the first number that names no device. */
static void read_visible(void)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    gpus.count = 0;
    if (have_gone()) { return; }
    if (text == NULL) {
        while (gpus.count < (int)gpus.devices) {
            gpus.visible[gpus.count] = gpus.count;
            gpus.count++;
        }
        return;
    }
    while (gpus.count < EMULATED_DEVICES_MAX) {
        char *end = NULL;
        const unsigned long number = strtoul(text, &end, 10);
        if (end == text || number >= gpus.devices) { return; }
        gpus.visible[gpus.count++] = (int)number;
        if (*end != ',') { return; }
        text = end + 1;
    }
}

static void release_all(void)
{
    while (gpus.allocations != NULL) {
        struct allocation *next = gpus.allocations->next;
        free(gpus.allocations->data - GUARD);
        free(gpus.allocations);
        gpus.allocations = next;
    }
}

/* Unlike the driver's, each call makes a new machine, so that a test can change the settings. */
int emulated_init(unsigned flags)
{
    (void)pthread_mutex_lock(&gpus.mutex);
    emulated_queue_drop(NULL);
    release_all();
    memset(gpus.contexts, 0, sizeof gpus.contexts);
    current = NULL;
    gpus.called = 0;
    gpus.sticky = GPU_SUCCESS;
    read_settings();
    read_visible();
    gpus.is_ready = flags == 0 && gpus.init == 0 && gpus.count > 0;
    return emulated_leave(flags != 0        ? GPU_INVALID_VALUE
                          : gpus.init != 0  ? (int)gpus.init
                          : gpus.count == 0 ? GPU_NO_DEVICE
                                            : GPU_SUCCESS);
}

int emulated_driver_version(int *version)
{
    *version = EMULATED_DRIVER;
    return GPU_SUCCESS;
}

int emulated_device_count(int *count)
{
    const int code = emulated_enter(NEEDS_NOTHING);
    *count = gpus.count;
    return emulated_leave(code);
}

int emulated_device_get(int *device, int index)
{
    const int code = emulated_enter(NEEDS_NOTHING);
    *device = index;
    const bool is_valid = index >= 0 && index < gpus.count;
    return emulated_leave(code == GPU_SUCCESS && !is_valid ? GPU_INVALID_DEVICE : code);
}

int emulated_device_name(char *name, int size, int device)
{
    const int code = emulated_enter(NEEDS_NOTHING);
    (void)snprintf(name, (size_t)size, "Tanist emulated GPU %d", gpus.visible[device]);
    return emulated_leave(code);
}

int emulated_device_attribute(int *value, int attribute, int device)
{
    const int code = emulated_enter(NEEDS_NOTHING);
    switch (attribute) {
    case GPU_MULTIPROCESSORS: *value = (unsigned)device == gpus.other ? 2 : 1; break;
    case GPU_CAPABILITY_MAJOR: *value = EMULATED_MAJOR; break;
    case GPU_CAPABILITY_MINOR: *value = EMULATED_MINOR; break;
    default: return emulated_leave(GPU_INVALID_VALUE);
    }
    return emulated_leave(code);
}

static size_t memory_of(int device)
{
    return (unsigned)device == gpus.small ? gpus.limit : gpus.memory;
}

int emulated_device_memory(size_t *bytes, int device)
{
    const int code = emulated_enter(NEEDS_NOTHING);
    *bytes = memory_of(device);
    return emulated_leave(code);
}

int emulated_device_can_access(int *can, int device, int peer)
{
    const int code = emulated_enter(NEEDS_NOTHING);
    const bool is_valid = device >= 0 && device < gpus.count && peer >= 0 && peer < gpus.count;
    *can = is_valid && device != peer && gpus.peers != 0;
    return emulated_leave(code == GPU_SUCCESS && !is_valid ? GPU_INVALID_DEVICE : code);
}

int emulated_context_retain(struct gpu_context **context, int device)
{
    int code = emulated_enter(NEEDS_NOTHING);
    if (code == GPU_SUCCESS && (device < 0 || device >= gpus.count)) { code = GPU_INVALID_DEVICE; }
    if (code == GPU_SUCCESS) { code = (int)gpus.context; }
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    *context = &gpus.contexts[device];
    (*context)->device = device;
    (*context)->stream.home = &(*context)->stream;
    (*context)->references++;
    return emulated_leave(GPU_SUCCESS);
}

int emulated_context_release(int device)
{
    const int code = emulated_enter(NEEDS_NOTHING);
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    if (device < 0 || device >= gpus.count || gpus.contexts[device].references == 0) {
        return emulated_leave(GPU_INVALID_CONTEXT);
    }
    gpus.contexts[device].references--;
    return emulated_leave(GPU_SUCCESS);
}

int emulated_context_set(struct gpu_context *context)
{
    const int code = emulated_enter(NEEDS_NOTHING);
    if (code == GPU_SUCCESS) { current = context; }
    return emulated_leave(code);
}

int emulated_context_enable_peer(struct gpu_context *peer, unsigned flags)
{
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    const unsigned bit = peer != NULL ? 1U << peer->device : 0;
    if (peer == NULL || peer == current || flags != 0) {
        code = GPU_INVALID_VALUE;
    } else if (gpus.peers == 0) {
        code = GPU_PEER_UNSUPPORTED;
    } else if ((current->peers & bit) != 0) {
        code = GPU_PEER_ENABLED;
    }
    if (code == GPU_SUCCESS) { current->peers |= bit; }
    return emulated_leave(code);
}

/* ------------------------------------------------------ memory */

int emulated_memory_info(size_t *unused, size_t *total)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    if (code != GPU_SUCCESS) { return emulated_leave(code); }
    *total = memory_of(current->device);
    *unused = *total - current->used;
    return emulated_leave(GPU_SUCCESS);
}

/* Filled with NaN, as memory of a device is not zero either. */
static int allocate(struct gpu_context *context, size_t bytes, uint8_t **data)
{
    const size_t rounded = (bytes + GUARD - 1) / GUARD * GUARD;
    if (bytes == 0) { return GPU_INVALID_VALUE; }
    if (context != NULL && (bytes > memory_of(context->device) ||
                            rounded > memory_of(context->device) - context->used)) {
        return GPU_OUT_OF_MEMORY;
    }
    struct allocation *allocation = malloc(sizeof *allocation);
    uint8_t *memory = aligned_alloc(GUARD, rounded + 2 * GUARD);
    if (allocation == NULL || memory == NULL) {
        free(allocation);
        free(memory);
        return GPU_OUT_OF_MEMORY;
    }
    memset(memory, GUARD_BYTE, rounded + 2 * GUARD);
    memset(memory + GUARD, 0xff, bytes);
    *allocation = (struct allocation){
        .next = gpus.allocations, .bytes = bytes, .context = context, .data = memory + GUARD};
    gpus.allocations = allocation;
    if (context != NULL) { context->used += rounded; }
    emulated_note_memory(context != NULL ? context->device : EMULATED_HOST, (int64_t)bytes);
    *data = allocation->data;
    return GPU_SUCCESS;
}

/* The link to the allocation that begins at `data`, of the host or of the current context. */
static struct allocation **find(const uint8_t *data, bool is_pinned)
{
    const struct gpu_context *context = is_pinned ? NULL : current;
    for (struct allocation **link = &gpus.allocations; *link != NULL; link = &(*link)->next) {
        if ((*link)->data == data && (*link)->context == context) { return link; }
    }
    return NULL;
}

static bool is_intact(const struct allocation *allocation)
{
    const size_t rounded = (allocation->bytes + GUARD - 1) / GUARD * GUARD;
    for (const uint8_t *at = allocation->data - GUARD; at < allocation->data; at++) {
        if (*at != GUARD_BYTE) { return false; }
    }
    for (size_t i = allocation->bytes; i < rounded + GUARD; i++) {
        if (allocation->data[i] != GUARD_BYTE) { return false; }
    }
    return true;
}

int emulated_check_memory(void)
{
    for (const struct allocation *at = gpus.allocations; at != NULL; at = at->next) {
        if (!is_intact(at)) { return emulated_break(GPU_ILLEGAL_ADDRESS); }
    }
    return GPU_SUCCESS;
}

/* Work that may use the memory is done first. */
static int release(const uint8_t *data, bool is_pinned)
{
    struct allocation **link = find(data, is_pinned);
    if (link == NULL) { return GPU_INVALID_VALUE; }
    const int code = emulated_queue_finish_context(&current->stream);
    if (code != GPU_SUCCESS) { return code; }
    struct allocation *allocation = *link;
    if (!is_intact(allocation)) { return emulated_break(GPU_ILLEGAL_ADDRESS); }
    if (!is_pinned) {
        allocation->context->used -= (allocation->bytes + GUARD - 1) / GUARD * GUARD;
    }
    emulated_note_memory(is_pinned ? EMULATED_HOST : allocation->context->device,
                         -(int64_t)allocation->bytes);
    *link = allocation->next;
    free(allocation->data - GUARD);
    free(allocation);
    return GPU_SUCCESS;
}

static bool has_range(const struct allocation *allocation, uintptr_t address, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)allocation->data;
    return address >= begin && address <= begin + allocation->bytes &&
           bytes <= begin + allocation->bytes - address;
}

uint8_t *emulated_range_of(const struct gpu_context *context, gpu_address address, size_t bytes)
{
    if (context == NULL) { return NULL; }
    for (const struct allocation *at = gpus.allocations; at != NULL; at = at->next) {
        if (at->context == context && has_range(at, (uintptr_t)address, bytes)) {
            return at->data + (address - (uintptr_t)at->data);
        }
    }
    return NULL;
}

uint8_t *emulated_range(gpu_address address, size_t bytes)
{
    return emulated_range_of(current, address, bytes);
}

bool emulated_is_pinned(const void *memory, size_t bytes)
{
    for (const struct allocation *at = gpus.allocations; at != NULL; at = at->next) {
        if (at->context == NULL && has_range(at, (uintptr_t)memory, bytes)) { return true; }
    }
    return false;
}

int emulated_allocate(gpu_address *memory, size_t bytes)
{
    uint8_t *data = NULL;
    int code = emulated_enter(NEEDS_CONTEXT);
    if (code == GPU_SUCCESS) { code = allocate(current, bytes, &data); }
    *memory = (gpu_address)(uintptr_t)data;
    return emulated_leave(code);
}

int emulated_release(gpu_address memory)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    const uint8_t *data = (const uint8_t *)(uintptr_t)memory;
    return emulated_leave(code == GPU_SUCCESS ? release(data, false) : code);
}

int emulated_allocate_pinned(void **memory, size_t bytes, unsigned flags)
{
    uint8_t *data = NULL;
    int code = emulated_enter(NEEDS_CONTEXT);
    (void)flags;
    if (code == GPU_SUCCESS) { code = (int)gpus.pinned; }
    if (code == GPU_SUCCESS) { code = allocate(NULL, bytes, &data); }
    *memory = data;
    return emulated_leave(code);
}

int emulated_release_pinned(void *memory)
{
    const int code = emulated_enter(NEEDS_CONTEXT);
    return emulated_leave(code == GPU_SUCCESS ? release(memory, true) : code);
}
