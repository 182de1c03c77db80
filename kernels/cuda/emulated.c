/* kernels/cuda/emulated.c: the emulation as a library with one device, in this process's memory. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/library.h"

enum { ALIGNMENT = 256 };

static bool count(uint32_t *devices, char *text)
{
    (void)text;
    *devices = 1;
    return true;
}

static bool describe(uint32_t device, struct cuda_device_facts *facts, char *text)
{
    (void)text;
    assert(device == 0);
    *facts = (struct cuda_device_facts){.name = "emulation", .multiprocessors = 1};
    return true;
}

static bool select_device(uint32_t device, char *text)
{
    (void)text;
    assert(device == 0);
    return true;
}

/* Filled with NaN, as memory of a device is not zero either. */
static bool allocate(size_t bytes, void **memory, char *text)
{
    const size_t rounded = (bytes / ALIGNMENT + 1) * ALIGNMENT;
    *memory = aligned_alloc(ALIGNMENT, rounded);
    if (*memory == NULL) {
        (void)snprintf(text, CUDA_TEXT_MAX, "out of memory: %zu bytes", bytes);
        return false;
    }
    memset(*memory, 0xff, rounded);
    return true;
}

static bool copy(void *to, const void *from, size_t bytes, char *text)
{
    (void)text;
    memcpy(to, from, bytes);
    return true;
}

static bool wait(char *text)
{
    (void)text;
    return true;
}

const struct cuda_library *cuda_emulated(void)
{
    static struct cuda_kernels kernels;
    static const struct cuda_library library = {
        .version = CUDA_LIBRARY_VERSION,
        .name = "emulation",
        .kernels = &kernels,
        .count = count,
        .describe = describe,
        .select = select_device,
        .allocate = allocate,
        .release = free,
        .upload = copy,
        .download = copy,
        .wait = wait,
    };
#define X(family) cuda_fill_##family(&kernels);
    CUDA_FAMILIES(X)
#undef X
    return &library;
}
