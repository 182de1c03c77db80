/* chaos/inject/inject_gpu.c: GPUs of workers and ps that are lost or full;
 * kernels/gpu/driver_faults.h carries it out in the process. */
#include <assert.h>
#include <inttypes.h>
#include <signal.h>

#include "chaos/inject/injector.h"
#include "common/base/text.h"

struct gpu_fault {
    uint64_t failures_before;
};

/* Switch the fault on or off in all targets. Returns how many calls have failed so far. */
static uint64_t set_all(const struct target_cluster *cluster, const struct active_fault *fault,
                        bool on)
{
    uint64_t failures = 0;
    for (uint32_t i = 0; i < fault->targets.count; i++) {
        struct fault_slot *slot = fault_slot_of(cluster, fault->targets.components[i]);
        failures += slot->gpu_calls_failed;
        if (fault->injection.fault == FAULT_GPU_LOST) {
            slot->gpu_lost = on;
        } else {
            slot->gpu_full = on;
        }
    }
    return failures;
}

static enum tn_status begin_gpu(struct target_cluster *cluster, struct active_fault *fault,
                                struct error *error)
{
    struct gpu_fault *gpu = fault->state;
    assert(fault->targets.count > 0);
    const struct component *first = fault->targets.components[0];
    if (first->pid <= 0) { return error_set(error, TN_EAGAIN, "%s is not running", first->name); }
    /* A node that has never found a GPU ends the job (S3), and is not one that lost it. */
    if (fault_slot_of(cluster, first)->gpu_user != (uint32_t)first->pid) {
        return error_set(error, TN_EAGAIN, "%s does not use its GPU yet", first->name);
    }
    gpu->failures_before = set_all(cluster, fault, true);
    if (fault->injection.fault == FAULT_GPU_LOST) {
        fault_describe(fault, "no GPU is found by ");
        for (uint32_t i = 0; i < fault->targets.count; i++) {
            fault_describe_item(fault, "%s", fault->targets.components[i]->name);
        }
        return TN_OK;
    }
    /* A node allocates memory of its GPU when it starts. */
    fault_describe(fault, "no memory of its GPU is free for the successor of ");
    (void)fault_signal_targets(cluster, fault, SIGKILL);
    return TN_OK;
}

static void end_gpu(struct target_cluster *cluster, struct active_fault *fault)
{
    const struct gpu_fault *gpu = fault->state;
    const uint64_t failures = set_all(cluster, fault, false) - gpu->failures_before;
    fault_describe(fault, "the GPU can be used again; %" PRIu64 " call%s of its driver failed",
                   failures, text_plural(failures));
}

const struct injector injector_gpu = {
    .state_bytes = sizeof(struct gpu_fault), .begin = begin_gpu, .end = end_gpu};
