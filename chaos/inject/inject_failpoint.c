#include "chaos/inject/inject_failpoint.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/faults/failpoint.h"

static bool same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Whether nodes of this role pass there. */
static bool passes(const struct failpoint_info *info, enum role role)
{
    if (same(info->who, "chief")) { return role == ROLE_COORDINATOR; }
    return same(info->who, "any") || same(info->who, role_name(role));
}

static bool is_meant(const struct target_cluster *cluster, const struct place *place,
                     const char *whom, bool follows_chief)
{
    if (same(whom, "chief")) {
        return follows_chief ? same(place->name, cluster->chief)
                             : place->task.role == ROLE_COORDINATOR;
    }
    return same(whom, "any") || same(whom, role_name(place->task.role)) || same(whom, place->name);
}

/* The set of slots. 0: nobody. */
static uint64_t who_is_meant(const struct target_cluster *cluster,
                             const struct failpoint_info *info, const char *whom,
                             bool follows_chief)
{
    uint64_t who = 0;
    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct place *place = &cluster->places[i];
        if (!place->is_node || !passes(info, place->task.role)) { continue; }
        if (!is_meant(cluster, place, whom, follows_chief)) { continue; }
        const struct fault_slot *slot = fault_control_slot(cluster->control, place->name);
        if (slot != NULL) { who |= fault_slot_bit(cluster->control, slot); }
    }
    return who;
}

static enum tn_status check(const struct injection *injection, const struct failpoint_info *info,
                            struct error *error)
{
    char why[200];
    if (!fault_fits_failpoint(injection->fault, info, why, sizeof why)) {
        return error_set(error, TN_EINVAL, "\"%s\": %s", injection->trigger.point, why);
    }
    if (!failpoints_built()) {
        return error_set(error, TN_ENOTSUP,
                         "this program has no failpoints: build with -DTANIST_FAILPOINTS=ON");
    }
    return TN_OK;
}

enum tn_status point_arm(struct point_watch *watch, struct target_cluster *cluster,
                         const struct injection *injection, struct error *error)
{
    const struct trigger *trigger = &injection->trigger;
    const struct failpoint_info *info = failpoint_find(trigger->point);
    assert(cluster->control != NULL && trigger->type == TRIGGER_POINT);
    *watch = (struct point_watch){0};
    enum tn_status status = check(injection, info, error);
    if (status != TN_OK) { return status; }
    bool chief = same(injection->whom, "chief");
    watch->follows_chief = chief && same(info->who, "any");
    uint64_t who = who_is_meant(cluster, info, injection->whom, watch->follows_chief);
    if (who == 0 && watch->follows_chief && *cluster->chief == '\0') {
        return error_set(error, TN_EAGAIN, "nobody is chief");
    }
    if (who == 0) {
        return error_set(error, TN_EINVAL, "%s never passes %s: %s does", injection->whom,
                         info->name, info->who);
    }
    watch->point = fault_control_order(
        cluster->control, info->name, fault_descriptor(injection->fault)->at_failpoint, who,
        trigger->count > 0 ? trigger->count : 1,
        injection->fault == FAULT_STALL && injection->value > 0 ? (uint32_t)injection->value : 0);
    if (watch->point == NULL) {
        return error_set(error, TN_EAGAIN, "%d faults wait for failpoints already",
                         FAULT_CONTROL_POINTS);
    }
    return TN_OK;
}

bool point_poll(struct point_watch *watch, struct target_cluster *cluster)
{
    struct fault_point *point = watch->point;
    if (point == NULL) { return false; }
    if (point->done == 0) {
        const struct fault_slot *chief =
            watch->follows_chief ? fault_control_slot(cluster->control, cluster->chief) : NULL;
        if (chief != NULL && *cluster->chief) {
            point->who = fault_slot_bit(cluster->control, chief);
        }
        return false;
    }
    uint32_t by = point->by;
    assert(by < FAULT_CONTROL_SLOTS);
    snprintf(watch->place, sizeof watch->place, "%s", cluster->control->slots[by].name);
    watch->pid = (pid_t)point->pid;
    point_disarm(watch);
    return true;
}

void point_disarm(struct point_watch *watch)
{
    if (watch->point != NULL) { fault_point_release(watch->point); }
    watch->point = NULL;
}
