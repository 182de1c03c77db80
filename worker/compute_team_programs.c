/* worker/compute_team_programs.c: the GPU of each member of a team. */
#include <inttypes.h>
#include <string.h>

#include "common/base/minmax.h"
#include "kernels/gpu/devices.h"
#include "worker/compute_team.h"

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

enum tn_status compute_team_programs(const struct compute_config *config, uint32_t member,
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
