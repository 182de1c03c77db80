/* chaos/inject/inject_disk.c: the shim makes disks fail or slow. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/inject/injector.h"
#include "common/base/files.h"

enum { CFG_MAX = 65536 };

struct disk_fault {
    uint64_t failures_before;
};

static uint64_t failures_of(const struct fault_slot *slot, enum fault fault)
{
    if (fault == FAULT_DISK_ERROR) { return atomic_load(&slot->writes_failed); }
    return atomic_load(fault == FAULT_SYNC_FAILS ? &slot->syncs_failed : &slot->syncs_delayed);
}

static void set_slot(struct fault_slot *slot, const struct injection *injection, bool on)
{
    switch (injection->fault) {
    case FAULT_DISK_ERROR: atomic_store(&slot->write_errno, on ? EIO : 0); break;
    case FAULT_SYNC_FAILS: atomic_store(&slot->sync_errno, on ? EIO : 0); break;
    default: atomic_store(&slot->sync_delay_ms, on ? (uint32_t)injection->value : 0); break;
    }
}

/* Switch the fault on or off in all targets. Returns how many operations have failed so far. */
static uint64_t set_all(const struct target_cluster *cluster, const struct active_fault *fault,
                        bool on)
{
    uint64_t failures = 0;
    for (uint32_t i = 0; i < fault->targets.count; i++) {
        struct fault_slot *slot = fault_slot_of(cluster, fault->targets.components[i]);
        failures += failures_of(slot, fault->injection.fault);
        set_slot(slot, &fault->injection, on);
    }
    return failures;
}

/* An ensemble that a run starts does not sync: no sync can fail there. */
static bool never_syncs(const struct target_cluster *cluster, const struct component *component)
{
    char path[TARGET_PATH_MAX + 64], *text = NULL;
    size_t size = 0;
    if (component->server == 0) { return false; }
    snprintf(path, sizeof path, "%s/zookeeper/%u/zoo.cfg", cluster->run_dir, component->server);
    if (files_read(path, CFG_MAX, &text, &size, NULL) != TN_OK) { return false; }
    bool found = strstr(text, "\nforceSync=no") != NULL;
    free(text);
    return found;
}

/* Keep those targets that sync. */
static enum tn_status keep_syncing(const struct target_cluster *cluster, struct active_fault *fault,
                                   struct error *error)
{
    struct target_list *targets = &fault->targets;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < targets->count; i++) {
        struct component *component = targets->components[i];
        if (!never_syncs(cluster, component)) { targets->components[kept++] = component; }
    }
    targets->count = kept;
    if (kept > 0) { return TN_OK; }
    return error_set(error, TN_ENOTSUP, "%s never syncs (forceSync=no in its zoo.cfg)",
                     fault->injection.selector);
}

static enum tn_status begin_disk(struct target_cluster *cluster, struct active_fault *fault,
                                 struct error *error)
{
    struct disk_fault *disk = fault->state;
    assert(fault->targets.count > 0);
    const struct injection *injection = &fault->injection;
    enum tn_status status = fault_keep_shim_targets(cluster, fault, error);
    if (status == TN_OK && injection->fault != FAULT_DISK_ERROR) {
        status = keep_syncing(cluster, fault, error);
    }
    if (status != TN_OK) { return status; }
    disk->failures_before = set_all(cluster, fault, true);
    if (injection->fault == FAULT_SYNC_SLOW) {
        fault_describe(fault, "each fsync takes %.0f ms longer at ", injection->value);
    } else {
        fault_describe(fault, "%s with EIO at ",
                       injection->fault == FAULT_DISK_ERROR ? "writes to files fail"
                                                            : "fsync fails");
    }
    for (uint32_t i = 0; i < fault->targets.count; i++) {
        fault_describe_item(fault, "%s", fault->targets.components[i]->name);
    }
    return TN_OK;
}

static void end_disk(struct target_cluster *cluster, struct active_fault *fault)
{
    const struct disk_fault *disk = fault->state;
    uint64_t failures = set_all(cluster, fault, false) - disk->failures_before;
    fault_describe(fault, "the disk works again; %" PRIu64 " operations were affected", failures);
}

const struct injector injector_disk = {
    .state_bytes = sizeof(struct disk_fault), .begin = begin_disk, .end = end_disk};
