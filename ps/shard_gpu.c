#include "ps/shard_gpu.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/minmax.h"
#include "common/faults/failpoint.h"

enum {
    SETS = 2,
    STAGED_PIECES = 8, /* With more pushed sums, a piece is smaller. */
    ALIGNMENT = 32,    /* Floats: pieces of all sums begin at multiples of it. */
    LINE_BYTES = 256,  /* As the memory of a device is aligned. */
};

#define MIB 1048576.0

/* Memory for one piece. */
struct piece {
    char *host, *device; /* The terms of the sum, and then the pushed sums. */
    float *sum;          /* In memory of the device. */
    float *result;       /* In memory of the host: new values, and their average. */
    struct gpu_event *sent, *computed, *done; /* The last work of each queue for this piece. */
    uint64_t offset, count;                   /* In the queues; count 0: nothing. */
};

struct shard_gpu {
    struct shard_gpu_config config;
    float *arrays[OPTIMIZER_ARRAYS_MAX]; /* In memory of the device. */
    struct piece sets[SETS];
    size_t terms_bytes;
    uint64_t piece, staged; /* Floats of a result, and of all pushed sums of a piece. */
};

/* ------------------------------------------------------------------- sizes */

static size_t terms_bytes(uint32_t slices)
{
    const size_t bytes = slices * sizeof(struct cuda_sum_term);
    return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* The largest piece of a shard of `count` floats. */
static uint64_t piece_floats(uint64_t count, uint32_t piece)
{
    const uint64_t unit = 1024;
    assert(piece >= unit && piece % unit == 0);
    return u64_min((count + unit - 1) / unit * unit, piece);
}

static uint64_t staged_floats(uint64_t piece, uint32_t slices)
{
    return piece * u32_min(slices, STAGED_PIECES);
}

struct shard_gpu_size shard_gpu_size(uint64_t count, uint32_t arrays, uint32_t slices,
                                     uint32_t piece)
{
    const uint64_t floats = piece_floats(count, piece);
    const uint64_t staged = terms_bytes(slices) + staged_floats(floats, slices) * sizeof(float);
    return (struct shard_gpu_size){
        .device_bytes = arrays * count * sizeof(float) + SETS * (staged + floats * sizeof(float)),
        .pinned_bytes = SETS * (staged + 2 * floats * sizeof(float)),
    };
}

/* --------------------------------------------------------- opening, closing */

static void select_gpu(const struct shard_gpu *gpu)
{
    const struct cuda_library *library = gpu->config.place.library;
    if (library->select != NULL) { library->select(gpu->config.place.number); }
}

static enum tn_status allocate(const struct shard_gpu *gpu, uint64_t bytes, void **memory,
                               struct error *error)
{
    return gpu->config.place.library->allocate(bytes, memory, error);
}

static enum tn_status open_piece(const struct shard_gpu *gpu, struct piece *piece,
                                 struct error *error)
{
    const struct gpu_queues *queues = gpu->config.place.library->queues;
    const size_t staged = gpu->terms_bytes + gpu->staged * sizeof(float);
    const size_t bytes = gpu->piece * sizeof(float);
    void *memory[4] = {NULL};
    enum tn_status status = allocate(gpu, staged, &memory[0], error);
    if (status == TN_OK) { status = allocate(gpu, bytes, &memory[1], error); }
    if (status == TN_OK) { status = queues->allocate(staged, &memory[2], error); }
    if (status == TN_OK) { status = queues->allocate(2 * bytes, &memory[3], error); }
    piece->device = memory[0];
    piece->sum = memory[1];
    piece->host = memory[2];
    piece->result = memory[3];
    struct gpu_event **events[] = {&piece->sent, &piece->computed, &piece->done};
    for (size_t e = 0; e < sizeof events / sizeof events[0] && status == TN_OK; e++) {
        status = queues->create_event(events[e], error);
    }
    return status;
}

static enum tn_status open_memory(struct shard_gpu *gpu, struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t a = 0; a < gpu->config.arrays && status == TN_OK; a++) {
        void *memory = NULL;
        status = allocate(gpu, gpu->config.count * sizeof(float), &memory, error);
        gpu->arrays[a] = memory;
    }
    for (uint32_t s = 0; s < SETS && status == TN_OK; s++) {
        status = open_piece(gpu, &gpu->sets[s], error);
    }
    return status;
}

enum tn_status shard_gpu_open(const struct shard_gpu_config *config, struct shard_gpu **out,
                              struct error *error)
{
    assert(config->place.library != NULL && config->count >= 1);
    assert(config->arrays >= 1 && config->arrays <= OPTIMIZER_ARRAYS_MAX);
    assert(config->slices >= 1 && config->slices <= SLICES_MAX);
    *out = NULL;
    struct shard_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    *gpu = (struct shard_gpu){.config = *config, .terms_bytes = terms_bytes(config->slices)};
    gpu->piece = piece_floats(config->count, config->place.piece);
    gpu->staged = staged_floats(gpu->piece, config->slices);
    select_gpu(gpu);
    struct error reason = {.status = TN_OK};
    const enum tn_status status = open_memory(gpu, &reason);
    const struct shard_gpu_size size =
        shard_gpu_size(config->count, config->arrays, config->slices, config->place.piece);
    if (status == TN_OK) {
        log_info("%" PRIu64 " parameters are updated on /gpu:%" PRIu32
                 ", with %.1f MiB of its memory",
                 config->count, config->place.number, (double)size.device_bytes / MIB);
        *out = gpu;
        return TN_OK;
    }
    shard_gpu_close(gpu);
    if (status != TN_ENOMEM) { return error_set(error, status, "%s", reason.text); }
    /* A former process may still have had the memory: with this status, another one tries. */
    return error_set(error, TN_EDEVICE,
                     "the %" PRIu64 " parameters of this ps need %" PRIu64
                     " bytes of the memory of /gpu:%" PRIu32
                     ": %s; with more ps each has fewer, and with train.ps_kernels=cpu none",
                     config->count, size.device_bytes, config->place.number, reason.text);
}

static void close_piece(const struct cuda_library *library, struct piece *piece)
{
    library->release(piece->device);
    library->release(piece->sum);
    library->queues->release(piece->host);
    library->queues->release(piece->result);
    library->queues->destroy_event(piece->sent);
    library->queues->destroy_event(piece->computed);
    library->queues->destroy_event(piece->done);
}

void shard_gpu_close(struct shard_gpu *gpu)
{
    if (gpu == NULL) { return; }
    select_gpu(gpu);
    for (uint32_t s = 0; s < SETS; s++) { close_piece(gpu->config.place.library, &gpu->sets[s]); }
    for (uint32_t a = 0; a < gpu->config.arrays; a++) {
        gpu->config.place.library->release(gpu->arrays[a]);
    }
    free(gpu);
}

/* ------------------------------------------------------------------ copies */

enum tn_status shard_gpu_write(struct shard_gpu *gpu,
                               float *const arrays[static OPTIMIZER_ARRAYS_MAX],
                               struct error *error)
{
    enum tn_status status = TN_OK;
    const size_t bytes = gpu->config.count * sizeof(float);
    select_gpu(gpu);
    for (uint32_t a = 0; a < gpu->config.arrays && status == TN_OK; a++) {
        status = gpu->config.place.library->upload(gpu->arrays[a], arrays[a], bytes, error);
    }
    return status;
}

/* Queue a copy of `count` floats from `from` on to place `at` of the result. */
static enum tn_status fetch(const struct shard_gpu *gpu, struct piece *piece, uint64_t at,
                            const float *from, uint64_t count, struct error *error)
{
    assert(at + count <= 2 * gpu->piece);
    return gpu->config.place.library->queues->fetch(piece->result + at, from, count * sizeof *from,
                                                    error);
}

/* Wait for a piece, if there is one, and copy its result to `values` and, unless that is NULL, to
 * `average`. */
static enum tn_status finish_piece(const struct shard_gpu *gpu, struct piece *piece, float *values,
                                   float *average, struct error *error)
{
    if (piece->count == 0) { return TN_OK; }
    const enum tn_status status = gpu->config.place.library->queues->await(piece->done, error);
    const size_t bytes = piece->count * sizeof(float);
    if (status == TN_OK) { memcpy(values + piece->offset, piece->result, bytes); }
    if (status == TN_OK && average != NULL) {
        memcpy(average + piece->offset, piece->result + gpu->piece, bytes);
    }
    piece->count = 0;
    return status;
}

static enum tn_status finish_all(struct shard_gpu *gpu, uint32_t next, float *values,
                                 float *average, struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t s = 0; s < SETS && status == TN_OK; s++) {
        status = finish_piece(gpu, &gpu->sets[(next + s) % SETS], values, average, error);
    }
    return status;
}

enum tn_status shard_gpu_read(struct shard_gpu *gpu, uint32_t array, float *out,
                              struct error *error)
{
    const struct gpu_queues *queues = gpu->config.place.library->queues;
    enum tn_status status = TN_OK;
    uint32_t next = 0;
    assert(array < gpu->config.arrays);
    select_gpu(gpu);
    for (uint64_t at = 0; at < gpu->config.count && status == TN_OK; at += gpu->piece) {
        struct piece *piece = &gpu->sets[next];
        next = (next + 1) % SETS;
        status = finish_piece(gpu, piece, out, NULL, error);
        piece->offset = at;
        piece->count = u64_min(gpu->config.count - at, gpu->piece);
        if (status != TN_OK) { break; }
        status = fetch(gpu, piece, 0, gpu->arrays[array] + at, piece->count, error);
        if (status == TN_OK) { status = queues->record(piece->done, GPU_TO_HOST, error); }
    }
    return status == TN_OK ? finish_all(gpu, next, out, NULL, error) : status;
}

/* ----------------------------------------------------------------- updates */

/* Copy the pushed sums of a piece to its pinned memory, and the terms of their sum in front of
 * them. Returns the bytes. */
static size_t stage(const struct shard_gpu *gpu, const struct shard_gpu_update *update,
                    const struct piece *piece)
{
    bool begun[SLICES_MAX] = {false};
    struct cuda_sum_term *terms = (struct cuda_sum_term *)piece->host;
    float *out = (float *)(piece->host + gpu->terms_bytes);
    const float *copy = (const float *)(piece->device + gpu->terms_bytes);
    const uint64_t step = (piece->count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t used = 0;
    for (uint32_t i = 0; i < update->sum_count; i++) {
        const uint32_t slots[] = {update->sums[i].into, update->sums[i].from};
        const float *operands[2] = {NULL};
        for (uint32_t o = 0; o < 2; o++) {
            if (begun[slots[o]]) { continue; }
            update->pushed(update->ctx, slots[o], piece->offset, piece->count, out + used);
            operands[o] = copy + used;
            used += step;
        }
        begun[slots[0]] = true;
        terms[i] = (struct cuda_sum_term){operands[0], operands[1]};
    }
    if (update->sum_count == 0) {
        update->pushed(update->ctx, update->root, piece->offset, piece->count, out);
        used = step;
    }
    assert(used <= gpu->staged);
    return gpu->terms_bytes + used * sizeof(float);
}

static struct cuda_constants for_device(const struct optimizer_constants *c)
{
    return (struct cuda_constants){
        .rate = c->rate,
        .scale = c->scale,
        .limit = c->limit,
        .decay = c->decay,
        .momentum = c->momentum,
        .beta1 = c->beta1,
        .one_minus_beta1 = c->one_minus_beta1,
        .beta2 = c->beta2,
        .one_minus_beta2 = c->one_minus_beta2,
        .root = c->root,
        .epsilon = c->epsilon,
        .correction = c->correction,
    };
}

typedef void update_kernel(const struct cuda_update *update);

static update_kernel *kernel_of(const struct cuda_kernels *kernels,
                                const struct optimizer_part *part)
{
    update_kernel *const of_kind[OPTIMIZER_KINDS] = {
        [OPTIMIZER_SGD] = kernels->update.sgd,
        [OPTIMIZER_MOMENTUM] = kernels->update.momentum,
        [OPTIMIZER_NESTEROV] = kernels->update.nesterov,
        [OPTIMIZER_ADAGRAD] = kernels->update.adagrad,
        [OPTIMIZER_RMSPROP] = kernels->update.rmsprop,
        [OPTIMIZER_ADAM] = kernels->update.adam,
        [OPTIMIZER_ADAMW] = kernels->update.adamw,
        [OPTIMIZER_LARS] = kernels->update.lars,
        [OPTIMIZER_LAMB] = kernels->update.lamb,
    };
    return part->averaged ? kernels->update.average : of_kind[part->kind];
}

static void update_average(const struct shard_gpu *gpu, const struct optimizer *optimizer,
                           const struct piece *piece)
{
    const struct optimizer_constants constants = optimizer_moving_average(optimizer);
    float *average = gpu->arrays[gpu->config.arrays - 1] + piece->offset;
    const struct cuda_update update = {.count = piece->count,
                                       .constants = for_device(&constants),
                                       .gradient = gpu->arrays[0] + piece->offset,
                                       .in = {average},
                                       .out = {average}};
    gpu->config.place.library->kernels->update.average(&update);
}

/* Start the kernels that update a piece by `gradient`. */
static void update_piece(const struct shard_gpu *gpu, const struct shard_gpu_update *update,
                         const struct piece *piece, const float *gradient)
{
    const struct optimizer *optimizer = update->optimizer;
    const uint64_t begin = update->first + piece->offset;
    for (uint64_t at = 0; at < piece->count;) {
        const struct optimizer_part part =
            optimizer_part_at(optimizer, update->step, begin + at, begin + piece->count);
        struct cuda_update task = {.count = part.count,
                                   .constants = for_device(&part.constants),
                                   .gradient = gradient + at};
        assert(part.arrays <= CUDA_ARRAYS_MAX && part.arrays <= gpu->config.arrays);
        for (uint32_t a = 0; a < part.arrays; a++) {
            task.in[a] = task.out[a] = gpu->arrays[a] + piece->offset + at;
        }
        kernel_of(gpu->config.place.library->kernels, &part)(&task);
        at += part.count;
    }
    if (optimizer_has_average(optimizer)) { update_average(gpu, optimizer, piece); }
}

/* Queue the copies and kernels of a piece, whose memory is free. */
static enum tn_status begin_piece(struct shard_gpu *gpu, const struct shard_gpu_update *update,
                                  struct piece *piece, struct error *error)
{
    const struct gpu_queues *queues = gpu->config.place.library->queues;
    const struct cuda_kernels *kernels = gpu->config.place.library->kernels;
    const float *gradient = (const float *)(piece->device + gpu->terms_bytes);
    const size_t bytes = stage(gpu, update, piece);
    enum tn_status status = queues->send(piece->device, piece->host, bytes, error);
    if (status == TN_OK) { status = queues->record(piece->sent, GPU_TO_DEVICE, error); }
    if (status == TN_OK) { status = queues->follow(GPU_KERNELS, piece->sent, error); }
    if (status != TN_OK) { return status; }
    if (update->sum_count > 0) {
        kernels->sum_tree(piece->count, update->sum_count,
                          (const struct cuda_sum_term *)piece->device, piece->sum);
        gradient = piece->sum;
    }
    update_piece(gpu, update, piece, gradient);
    status = queues->record(piece->computed, GPU_KERNELS, error);
    if (status == TN_OK) { status = queues->follow(GPU_TO_HOST, piece->computed, error); }
    if (status == TN_OK) {
        status = fetch(gpu, piece, 0, gpu->arrays[0] + piece->offset, piece->count, error);
    }
    if (status == TN_OK && update->average != NULL) {
        const float *average = gpu->arrays[gpu->config.arrays - 1] + piece->offset;
        status = fetch(gpu, piece, gpu->piece, average, piece->count, error);
    }
    return status == TN_OK ? queues->record(piece->done, GPU_TO_HOST, error) : status;
}

/* The largest piece of which all pushed sums fit: one more than there are additions. */
static uint64_t largest_piece(const struct shard_gpu *gpu, uint32_t sum_count)
{
    const uint64_t each = gpu->staged / (sum_count + 1) / ALIGNMENT * ALIGNMENT;
    assert(each >= ALIGNMENT);
    return u64_min(gpu->piece, each);
}

enum tn_status shard_gpu_apply(struct shard_gpu *gpu, const struct shard_gpu_update *update,
                               struct error *error)
{
    const uint64_t end = update->offset + update->count;
    const uint64_t most = largest_piece(gpu, update->sum_count);
    enum tn_status status = TN_OK;
    uint32_t next = 0;
    assert(end <= gpu->config.count);
    assert((update->average != NULL) == optimizer_has_average(update->optimizer));
    select_gpu(gpu);
    for (uint64_t at = update->offset; at < end && status == TN_OK; at += most) {
        struct piece *piece = &gpu->sets[next];
        next = (next + 1) % SETS;
        status = finish_piece(gpu, piece, update->values, update->average, error);
        piece->offset = at;
        piece->count = u64_min(end - at, most);
        if (status == TN_OK) { status = begin_piece(gpu, update, piece, error); }
        FAILPOINT("ps.mid_apply");
    }
    if (status != TN_OK) { return status; }
    return finish_all(gpu, next, update->values, update->average, error);
}
