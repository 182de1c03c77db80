/* kernels/cuda/emulated.c: the emulation as a library with one device, in this process's memory. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/library.h"

enum { ALIGNMENT = 256 };

/* Filled with NaN, as memory of a device is not zero either. */
static enum tn_status allocate(size_t bytes, void **memory, struct error *error)
{
    const size_t rounded = (bytes / ALIGNMENT + 1) * ALIGNMENT;
    *memory = aligned_alloc(ALIGNMENT, rounded);
    if (*memory == NULL) { return error_set(error, TN_ENOMEM, "out of memory: %zu bytes", bytes); }
    memset(*memory, 0xff, rounded);
    return TN_OK;
}

static enum tn_status copy(void *to, const void *from, size_t bytes, struct error *error)
{
    (void)error;
    memcpy(to, from, bytes);
    return TN_OK;
}

static enum tn_status clear(void *memory, size_t bytes, struct error *error)
{
    (void)error;
    memset(memory, 0, bytes);
    return TN_OK;
}

static enum tn_status wait(struct error *error)
{
    (void)error;
    return TN_OK;
}

const struct cuda_library *cuda_emulated(void)
{
    static struct cuda_kernels kernels;
    static const struct cuda_library library = {
        .name = "emulation",
        .kernels = &kernels,
        .allocate = allocate,
        .release = free,
        .upload = copy,
        .download = copy,
        .clear = clear,
        .wait = wait,
    };
#define X(family) CUDA_FILL(family)(&kernels);
    CUDA_FAMILIES(X)
#undef X
    return &library;
}
