#include "worker/compute_gpus.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/minmax.h"
#include "kernels/gpu/devices.h"

#define NUMBERED(name)                                                                             \
    {                                                                                              \
        name, name ":0", name ":1", name ":2", name ":3", name ":4", name ":5", name ":6",         \
            name ":7", name ":8", name ":9", name ":10", name ":11", name ":12", name ":13",       \
            name ":14", name ":15"                                                                 \
    }

enum { NAMES = 16 };

/* The kernels of a GPU by its number, behind those of the first one; NULL: others. */
static const char *const *find_names(const char *programs)
{
    static const char *const names[][1 + NAMES] = {
        NUMBERED("cuda"),
        NUMBERED("cublas"),
        NUMBERED("cublas-tf32"),
        NUMBERED("cublas-bf16"),
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i][0], programs) == 0) { return names[i] + 1; }
    }
    return NULL;
}

enum tn_status compute_gpu_programs(const struct compute_config *config, uint32_t member,
                                    const char **programs, struct error *error)
{
    const char *const *names = find_names(config->programs);
    uint32_t count = 0;
    *programs = config->programs;
    if (names == NULL) { return TN_OK; }
    /* An error is found again, and explained, when the first GPU is opened. */
    if (gpu_devices_count(&count, NULL) != TN_OK || count == 0) { return TN_OK; }
    if (config->gpus > count) {
        return error_set(error, TN_ENOENT,
                         "train.gpus is %" PRIu32 ", but the driver shows %" PRIu32
                         " GPU%s to this worker: give --set train.gpus=%" PRIu32
                         ", or let CUDA_VISIBLE_DEVICES list more",
                         config->gpus, count, count == 1 ? "" : "s", count);
    }
    count = u32_min(count, NAMES);
    *programs = names[(config->first_gpu + member) % count];
    return TN_OK;
}

enum tn_status compute_gpu_check(const struct job *job, const struct tn_graph *graph,
                                 struct gpu_placement *placement, struct error *error)
{
    const uint32_t gpus = job->train.gpus;
    enum tn_status status = gpu_placement_of(graph, placement, error);
    if (status != TN_OK || gpu_placement_tasks(*placement) <= 1) { return status; }
    const uint32_t last = placement->gpus - 1;
    if (placement->table != NULL) {
        return error_set(error, TN_EINVAL,
                         "the model places operations on /gpu:%" PRIu32
                         ", but a model with tables ('%s') cannot be divided among GPUs: place all "
                         "operations on /gpu:0, and give --set train.gpus=1",
                         last, placement->table);
    }
    if (placement->gpus > JOB_GPUS_MAX) {
        return error_set(error, TN_EINVAL,
                         "the model places operations on /gpu:%" PRIu32
                         ", but a worker has at most %d GPUs: use /gpu:0 to /gpu:%d",
                         last, JOB_GPUS_MAX, JOB_GPUS_MAX - 1);
    }
    if (placement->gpus == gpus) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "train.gpus is %" PRIu32 ", but the model places operations on /gpu:%" PRIu32
                     ": give --set train.gpus=%" PRIu32
                     "; a new run can have --set train.kernels=portable instead, which computes "
                     "on the CPU and ignores the GPUs of a model",
                     gpus, last, placement->gpus);
}

/* The kernels of a model whose operations are divided, in `kernels`: those of each GPU, and those
 * of the CPU behind them. Other models leave it. */
static enum tn_status list_places(const struct compute_config *config,
                                  const char *kernels[static COMPUTE_PLACES_MAX],
                                  struct error *error)
{
    const char *const *names = find_names(config->programs);
    struct gpu_placement placement;
    uint32_t count = 0;
    if (names == NULL) { return TN_OK; }
    enum tn_status status = compute_gpu_check(config->job, config->model->graph, &placement, error);
    if (status != TN_OK || gpu_placement_tasks(placement) <= 1) { return status; }
    /* An error is found again, and explained, when the first GPU is opened. */
    if (gpu_devices_count(&count, NULL) != TN_OK || count == 0) { count = NAMES; }
    if (placement.gpus > count) {
        return error_set(error, TN_ENOENT,
                         "the model places operations on /gpu:%" PRIu32 " (train.gpus is %" PRIu32
                         "), but the driver shows %" PRIu32
                         " GPU%s to this worker: let CUDA_VISIBLE_DEVICES list more; a new run can "
                         "place them on the first %" PRIu32
                         ", or have --set train.kernels=portable, which computes on the CPU",
                         placement.gpus - 1, placement.gpus, count, count == 1 ? "" : "s", count);
    }
    count = u32_min(count, NAMES);
    for (uint32_t i = 0; i < placement.gpus; i++) {
        kernels[i] = names[(config->first_gpu + i) % count];
    }
    if (placement.has_cpu) { kernels[placement.gpus] = "portable"; }
    return TN_OK;
}

enum tn_status compute_gpu_choose(struct compute *compute, struct error *error)
{
    const struct compute_config *config = &compute->config;
    enum tn_status status = list_places(config, compute->placed, error);
    if (status != TN_OK) { return status; }
    if (compute->placed[0] != NULL) {
        compute->config.gpus = 1; /* None is left for a team. */
        return TN_OK;
    }
    return compute_gpu_programs(config, config->member, &compute->config.programs, error);
}
