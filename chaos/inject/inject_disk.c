/* chaos/inject/inject_disk.c: disks that fail or are slow, by the shim: orders in the slot of each
 * target.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/cluster/targets.h"
#include "common/base/files.h"

enum { CFG_MAX = 65536, LEAST_MS = 500 };

static uint64_t counter(const struct fault_slot *slot, enum fault fault)
{
    if (fault == FAULT_DISK_ERROR) { return atomic_load(&slot->writes_failed); }
    return atomic_load(fault == FAULT_SYNC_FAILS ? &slot->syncs_failed : &slot->syncs_delayed);
}

static void order(struct fault_slot *slot, const struct injection *injection, bool on)
{
    switch (injection->fault) {
    case FAULT_DISK_ERROR: atomic_store(&slot->write_errno, on ? EIO : 0); break;
    case FAULT_SYNC_FAILS: atomic_store(&slot->sync_errno, on ? EIO : 0); break;
    default: atomic_store(&slot->sync_delay_ms, on ? (uint32_t)injection->value : 0); break;
    }
}

/* A local ensemble is set up not to sync: then there is nothing that could fail or be slow. */
static bool never_syncs(const struct target_cluster *cluster, const char *name)
{
    char path[TARGET_PATH_MAX + 64], *text = NULL;
    size_t size = 0;
    unsigned server = 0;
    if (sscanf(name, "zookeeper:%u", &server) != 1) { return false; }
    snprintf(path, sizeof path, "%s/zookeeper/%u/zoo.cfg", cluster->run_dir, server);
    if (files_read(path, CFG_MAX, &text, &size, NULL) != TN_OK) { return false; }
    bool found = strstr(text, "\nforceSync=no") != NULL;
    free(text);
    return found;
}

/* Leave those targets that have a slot and a disk to speak of. */
static enum tn_status choose(struct target_cluster *cluster, struct strike *strike,
                             struct error *error)
{
    uint32_t kept = 0;
    if (cluster->control == NULL) {
        return error_set(error, TN_ENOTSUP, "the run was started without tanist-faults.so");
    }
    enum tn_status status = target_cluster_resolve(cluster, strike, error);
    if (status != TN_OK) { return status; }
    bool sync = strike->injection.fault != FAULT_DISK_ERROR;
    for (uint32_t i = 0; i < strike->target_count; i++) {
        const char *name = strike->targets[i];
        if (fault_control_slot(cluster->control, name) == NULL) { continue; }
        if (sync && never_syncs(cluster, name)) { continue; }
        if (kept != i) { memcpy(strike->targets[kept], name, PLACE_NAME_MAX); }
        kept++;
    }
    strike->target_count = kept;
    if (kept > 0) { return TN_OK; }
    if (!sync) {
        return error_set(error, TN_ENOTSUP, "%s runs without tanist-faults.so",
                         strike->injection.whom);
    }
    return error_set(error, TN_ENOTSUP, "%s never syncs (forceSync=no in its zoo.cfg)",
                     strike->injection.whom);
}

static void describe(struct strike *strike)
{
    const struct injection *injection = &strike->injection;
    char names[256] = "";
    for (uint32_t i = 0; i < strike->target_count; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", strike->targets[i]);
    }
    if (injection->fault == FAULT_SYNC_SLOW) {
        snprintf(strike->text, sizeof strike->text, "each fsync of %s takes %.0f ms longer", names,
                 injection->value);
    } else {
        snprintf(strike->text, sizeof strike->text, "%s of %s fail with EIO",
                 injection->fault == FAULT_DISK_ERROR ? "writes to files" : "fsyncs", names);
    }
}

static uint64_t total(const struct target_cluster *cluster, const struct strike *strike)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < strike->target_count; i++) {
        sum += counter(fault_control_slot(cluster->control, strike->targets[i]),
                       strike->injection.fault);
    }
    return sum;
}

static enum tn_status begin_disk(struct target_cluster *cluster, struct strike *strike,
                                 struct error *error)
{
    uint64_t *before = calloc(1, sizeof *before);
    if (before == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = choose(cluster, strike, error);
    if (status != TN_OK) {
        free(before);
        return status;
    }
    *before = total(cluster, strike);
    strike->state = before;
    if (strike->injection.for_ms == 0) { strike->injection.for_ms = LEAST_MS; }
    for (uint32_t i = 0; i < strike->target_count; i++) {
        order(fault_control_slot(cluster->control, strike->targets[i]), &strike->injection, true);
    }
    describe(strike);
    return TN_OK;
}

static void end_disk(struct target_cluster *cluster, struct strike *strike)
{
    uint64_t *before = strike->state;
    for (uint32_t i = 0; i < strike->target_count; i++) {
        order(fault_control_slot(cluster->control, strike->targets[i]), &strike->injection, false);
    }
    snprintf(strike->text, sizeof strike->text, "the disk is well again; it happened %llu times",
             (unsigned long long)(total(cluster, strike) - *before));
    free(before);
    strike->state = NULL;
}

const struct injector injector_disk = {.begin = begin_disk, .end = end_disk};
