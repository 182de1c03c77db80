#include "chaos/plan/fault.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/faults/failpoint.h"

static const struct fault_descriptor faults[FAULT_COUNT] = {
#define FAULT_ROW(constant, fault_name, fault_family, kinds, need, lasting, local, remote, ...)    \
    [FAULT_##constant] = {.name = fault_name,                                                      \
                          .family = FAMILY_##fault_family,                                         \
                          .targets = kinds,                                                        \
                          .needs = need,                                                           \
                          .duration = DURATION_##lasting,                                          \
                          .about = __VA_ARGS__},
    FAULT_LIST(FAULT_ROW)
#undef FAULT_ROW
};

const char *const fault_names[FAULT_COUNT + 1] = {
#define FAULT_NAME(constant, fault_name, ...) [FAULT_##constant] = fault_name,
    FAULT_LIST(FAULT_NAME)
#undef FAULT_NAME
};

const struct fault_descriptor *fault_descriptor(enum fault fault)
{
    assert(fault < FAULT_COUNT);
    return &faults[fault];
}

const struct fault_descriptor *fault_find(const char *name)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (strcmp(faults[i].name, name) == 0) { return &faults[i]; }
    }
    return NULL;
}

const char *fault_need_name(unsigned index)
{
    static const char *const names[NEED_COUNT] = {"network", "bandwidth", "shim", "tmpfs",
                                                  "failpoints"};
    assert(index < NEED_COUNT);
    return names[index];
}

const char *fault_duration_name(enum fault_duration duration)
{
    static const char *const names[DURATION_COUNT] = {
        [DURATION_NONE] = "no",
        [DURATION_OPTIONAL] = "maybe",
        [DURATION_REQUIRED] = "yes",
    };
    assert(duration < DURATION_COUNT);
    return names[duration];
}

const char *fault_target_name(enum fault fault, unsigned index)
{
    static const struct {
        unsigned kind;
        const char *name;
    } kinds[] = {
        {TARGET_NODE, "node"},
        {TARGET_AGENT, "agent"},
        {TARGET_ZOOKEEPER, "zookeeper"},
        {TARGET_EVERYTHING | TARGET_CLUSTER, "cluster"},
    };
    unsigned targets = fault_descriptor(fault)->targets;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if ((targets & kinds[i].kind) != 0 && index-- == 0) { return kinds[i].name; }
    }
    return NULL;
}

bool fault_fits_failpoint(enum fault fault, const struct failpoint_info *failpoint, char *why,
                          size_t size)
{
    const struct fault_descriptor *descriptor = fault_descriptor(fault);
    assert(size > 0);
    if (failpoint == NULL) {
        snprintf(why, size, "no failpoint has this name: `tanist chaos list` names all");
    } else if (descriptor->at_failpoint == POINT_NONE) {
        snprintf(
            why, size,
            "%s cannot be injected at a failpoint: kill, freeze, stall, fail and gpu-error can",
            descriptor->name);
    } else if (fault == FAULT_GPU_ERROR && !failpoint_is_of_gpu(failpoint->name)) {
        snprintf(why, size, "no GPU is used at %s: give a failpoint like \"gpu.wait\"",
                 failpoint->name);
    } else if (fault == FAULT_FAIL && failpoint_is_of_gpu(failpoint->name)) {
        snprintf(why, size, "no input or output happens at %s: give gpu-error", failpoint->name);
    } else if (descriptor->at_failpoint == POINT_FAIL && !failpoint->can_fail) {
        snprintf(why, size, "nothing can fail at %s: kill, freeze or stall there", failpoint->name);
    } else {
        return true;
    }
    return false;
}

void schedule_free(struct schedule *schedule)
{
    free(schedule->list);
    *schedule = (struct schedule){0};
}
