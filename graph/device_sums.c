#include "graph/device_sums.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "graph/device_memory_private.h"

/* As the strictest alignment of a device's memory, in floats. */
enum { LINE_FLOATS = 64 };

#define MIB 1048576.0

struct device_sums {
    const struct backend_device *device;
    uint64_t count, step; /* The floats of a vector, and those up to the next one. */
    uint32_t vectors;
    float *all;              /* The vectors, and one for copies from another GPU. */
    struct gpu_event *ready; /* Behind the vector that another GPU reads. */
};

static void use(const struct device_sums *sums)
{
    if (sums->device->select != NULL) { sums->device->select(sums->device->number); }
}

static float *vector_of(const struct device_sums *sums, uint32_t vector)
{
    assert(vector <= sums->vectors);
    return sums->all + vector * sums->step;
}

static size_t bytes_of(const struct device_sums *sums)
{
    return (size_t)sums->count * sizeof(float);
}

/* ------------------------------------------------------ opening */

static uint64_t floats_to_next(uint64_t parameters)
{
    return (parameters + LINE_FLOATS) / LINE_FLOATS * LINE_FLOATS;
}

uint64_t device_sums_bytes(uint64_t parameters, uint32_t vectors)
{
    return (vectors + 1) * floats_to_next(parameters) * sizeof(float);
}

static enum tn_status allocate(struct device_sums *sums, struct error *error)
{
    struct error reason = {.status = TN_OK};
    void *memory = NULL;
    const uint64_t bytes = device_sums_bytes(sums->count, sums->vectors);
    use(sums);
    enum tn_status status = sums->device->allocate((size_t)bytes, &memory, &reason);
    sums->all = memory;
    if (status == TN_OK) { return sums->device->queues->create_event(&sums->ready, error); }
    return error_set(error, status,
                     "the sums of %" PRIu32 " gradients of %" PRIu64
                     " parameters need %.1f MiB on the device: %s",
                     sums->vectors, sums->count, (double)bytes / MIB, reason.text);
}

enum tn_status device_sums_open(const struct tn_program *program, uint32_t vectors,
                                struct device_sums **out, struct error *error)
{
    assert(program != NULL && vectors >= 1);
    *out = NULL;
    if (program->device == NULL) { return TN_OK; }
    struct device_sums *sums = calloc(1, sizeof *sums);
    if (sums == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    sums->device = &program->backend->device;
    sums->count = program->parameters;
    sums->step = floats_to_next(sums->count);
    sums->vectors = vectors;
    enum tn_status status = allocate(sums, error);
    if (status == TN_OK) {
        *out = sums;
    } else {
        device_sums_close(sums);
    }
    return status;
}

void device_sums_close(struct device_sums *sums)
{
    if (sums == NULL) { return; }
    use(sums);
    sums->device->queues->destroy_event(sums->ready);
    sums->device->release(sums->all);
    free(sums);
}

/* ------------------------------------------------------ sums */

void device_sums_keep(struct tn_program *program, bool keep)
{
    assert(program->options.mode == TN_TRAIN && (!keep || program->device != NULL));
    program->keeps_gradient = keep;
}

/* Zeros plus the gradient would lose the sign of zeros: it is copied. */
enum tn_status device_sums_take(struct device_sums *sums, uint32_t vector,
                                const struct tn_program *program, struct error *error)
{
    const struct place first = {SPACE_GRADIENT, 0};
    assert(program->keeps_gradient && &program->backend->device == sums->device);
    use(sums);
    return sums->device->queues->receive(vector_of(sums, vector), sums->device->number,
                                         device_memory_address(program, &first), bytes_of(sums),
                                         error);
}

enum tn_status device_sums_clear(struct device_sums *sums, uint32_t vector, struct error *error)
{
    use(sums);
    return sums->device->clear(vector_of(sums, vector), bytes_of(sums), error);
}

/* The copy begins when the kernels of the other GPU have computed what it reads. The next one is
 * behind the addition, as all this is among the kernels. */
static enum tn_status receive(const struct device_sums *sums, const struct device_sums *other,
                              uint32_t from, struct error *error)
{
    const struct gpu_queues *queues = sums->device->queues;
    use(other);
    enum tn_status status = other->device->queues->record(other->ready, GPU_KERNELS, error);
    use(sums);
    if (status == TN_OK) { status = queues->follow(GPU_KERNELS, other->ready, error); }
    if (status != TN_OK) { return status; }
    return queues->receive(vector_of(sums, sums->vectors), other->device->number,
                           vector_of(other, from), bytes_of(sums), error);
}

enum tn_status device_sums_add(struct device_sums *sums, uint32_t into, struct device_sums *other,
                               uint32_t from, struct error *error)
{
    assert(into < sums->vectors && from < other->vectors && sums->count == other->count);
    const float *what = vector_of(other, from);
    if (other != sums) {
        enum tn_status status = receive(sums, other, from, error);
        if (status != TN_OK) { return status; }
        what = vector_of(sums, sums->vectors);
    }
    use(sums);
    sums->device->add((size_t)sums->count, what, vector_of(sums, into));
    return TN_OK;
}

enum tn_status device_sums_fetch(struct device_sums *sums, uint32_t vector, float *to,
                                 struct error *error)
{
    use(sums);
    return sums->device->download(to, vector_of(sums, vector), bytes_of(sums), error);
}

enum tn_status device_sums_wait(struct device_sums *sums, struct error *error)
{
    use(sums);
    return sums->device->wait(error);
}
