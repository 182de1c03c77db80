/* chaos/inject/inject_clock.c: the wall clock of a process is off, by the shim. */
#include <stdio.h>

#include "chaos/cluster/targets.h"

enum { LEAST_MS = 500 };

static void set(struct target_cluster *cluster, const struct strike *strike, int64_t offset_ms)
{
    for (uint32_t i = 0; i < strike->target_count; i++) {
        struct fault_slot *slot = fault_control_slot(cluster->control, strike->targets[i]);
        if (slot != NULL) { atomic_store(&slot->clock_offset_ms, offset_ms); }
    }
}

static enum tn_status begin_clock(struct target_cluster *cluster, struct strike *strike,
                                  struct error *error)
{
    if (cluster->control == NULL) {
        return error_set(error, TN_ENOTSUP, "the run was started without tanist-faults.so");
    }
    enum tn_status status = target_cluster_resolve(cluster, strike, error);
    if (status != TN_OK) { return status; }
    if (strike->injection.for_ms == 0) { strike->injection.for_ms = LEAST_MS; }
    set(cluster, strike, (int64_t)strike->injection.value);
    snprintf(strike->text, sizeof strike->text, "the wall clock of %s%s is %.0f ms %s",
             strike->targets[0], strike->target_count > 1 ? " and others" : "",
             strike->injection.value < 0 ? -strike->injection.value : strike->injection.value,
             strike->injection.value < 0 ? "late" : "early");
    return TN_OK;
}

static void end_clock(struct target_cluster *cluster, struct strike *strike)
{
    uint64_t read = 0;
    set(cluster, strike, 0);
    for (uint32_t i = 0; i < strike->target_count; i++) {
        struct fault_slot *slot = fault_control_slot(cluster->control, strike->targets[i]);
        if (slot != NULL) { read += atomic_exchange(&slot->clocks_shifted, 0); }
    }
    snprintf(strike->text, sizeof strike->text,
             "the wall clock is right again; it was read %llu times", (unsigned long long)read);
}

const struct injector injector_clock = {.begin = begin_clock, .end = end_clock};
