/* chaos/inject/inject_clock.c: the shim shifts the wall clock of processes. */
#include <inttypes.h>

#include "chaos/inject/injector.h"

/* Returns how often the shifted clocks were read before. */
static uint64_t set_clocks(struct target_cluster *cluster, const struct active_fault *fault,
                           int64_t offset_ms)
{
    uint64_t read = 0;
    for (uint32_t i = 0; i < fault->targets.count; i++) {
        struct fault_slot *slot = fault_slot_of(cluster, fault->targets.components[i]);
        atomic_store(&slot->clock_offset_ms, offset_ms);
        read += atomic_exchange(&slot->clocks_shifted, 0);
    }
    return read;
}

static enum tn_status begin_clock(struct target_cluster *cluster, struct active_fault *fault,
                                  struct error *error)
{
    double value = fault->injection.value;
    enum tn_status status = fault_keep_shim_targets(cluster, fault, error);
    if (status != TN_OK) { return status; }
    (void)set_clocks(cluster, fault, (int64_t)value);
    fault_describe(fault, "the wall clock of %s%s is %.0f ms %s",
                   fault->targets.components[0]->name,
                   fault->targets.count > 1 ? " and others" : "", value < 0 ? -value : value,
                   value < 0 ? "behind" : "ahead");
    return TN_OK;
}

static void end_clock(struct target_cluster *cluster, struct active_fault *fault)
{
    uint64_t read = set_clocks(cluster, fault, 0);
    fault_describe(fault, "the wall clock is right again; it was read %" PRIu64 " times", read);
}

const struct injector injector_clock = {.begin = begin_clock, .end = end_clock};
