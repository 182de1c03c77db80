#include "chaos/inject/inject_failpoint.h"

#include <assert.h>
#include <string.h>

#include "chaos/plan/target_selector.h"
#include "common/faults/failpoint.h"

static bool equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* "gpu": plans have it at failpoints of GPUs only, which no other node passes. */
static bool is_selected(const struct target_cluster *cluster, const struct component *component,
                        const char *selector, bool follows_chief)
{
    if (equal(selector, "chief")) {
        return follows_chief ? equal(component->name, cluster->chief)
                             : component->task.role == ROLE_COORDINATOR;
    }
    return equal(selector, "any") || equal(selector, "gpu") || equal(selector, component->name) ||
           selector_has_role(selector, cluster->job->cluster.ps, component->task.role);
}

/* The slots of all selected nodes that pass the failpoint. */
static uint64_t selected_slots(const struct target_cluster *cluster,
                               const struct failpoint_info *failpoint, const char *selector,
                               bool follows_chief)
{
    uint64_t slots = 0;
    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct component *component = &cluster->components[i];
        if (!component->is_node || !selector_passes(component->name, failpoint->passed_by)) {
            continue;
        }
        if (!is_selected(cluster, component, selector, follows_chief)) { continue; }
        const struct fault_slot *slot = fault_control_slot(cluster->control, component->name);
        if (slot != NULL) { slots |= fault_slot_bit(cluster->control, slot); }
    }
    return slots;
}

enum tn_status failpoint_watch_arm(struct failpoint_watch *watch, struct target_cluster *cluster,
                                   const struct injection *injection, struct error *error)
{
    char why[FAULT_WHY_MAX];
    const struct trigger *trigger = &injection->trigger;
    const struct failpoint_info *failpoint = failpoint_find(trigger->failpoint);
    assert(cluster->control != NULL && trigger->type == TRIGGER_FAILPOINT);
    *watch = (struct failpoint_watch){0};
    if (!fault_fits_failpoint(injection->fault, failpoint, why, sizeof why)) {
        return error_set(error, TN_EINVAL, "\"%s\": %s", trigger->failpoint, why);
    }
    if (!failpoints_built()) {
        return error_set(error, TN_ENOTSUP,
                         "this program has no failpoints: build with -DTANIST_FAILPOINTS=ON");
    }
    watch->follows_chief =
        equal(injection->selector, "chief") && equal(failpoint->passed_by, "any");
    uint64_t slots = selected_slots(cluster, failpoint, injection->selector, watch->follows_chief);
    if (slots == 0 && watch->follows_chief && *cluster->chief == '\0') {
        return error_set(error, TN_EAGAIN, "no chief is known");
    }
    if (slots == 0) {
        return error_set(error, TN_EINVAL, "%s never passes %s: %s does", injection->selector,
                         failpoint->name, failpoint->passed_by);
    }
    bool stall = injection->fault == FAULT_STALL && injection->value > 0;
    watch->order = fault_control_arm(
        cluster->control, failpoint->name, fault_descriptor(injection->fault)->at_failpoint, slots,
        trigger->count > 0 ? trigger->count : 1, stall ? (uint32_t)injection->value : 0);
    if (watch->order != NULL) { return TN_OK; }
    return error_set(error, TN_EAGAIN, "%d faults wait for failpoints already",
                     FAULT_CONTROL_POINTS);
}

bool failpoint_watch_poll(struct failpoint_watch *watch, struct target_cluster *cluster)
{
    struct fault_point *order = watch->order;
    if (order == NULL) { return false; }
    if (order->done == 0) {
        const struct fault_slot *chief =
            watch->follows_chief ? fault_control_slot(cluster->control, cluster->chief) : NULL;
        if (chief != NULL && *cluster->chief != '\0') {
            order->slots = fault_slot_bit(cluster->control, chief);
        }
        return false;
    }
    uint32_t by = order->done_by;
    assert(by < FAULT_CONTROL_SLOTS);
    watch->component = target_cluster_component(cluster, cluster->control->slots[by].name);
    watch->pid = (pid_t)order->done_pid;
    assert(watch->component != NULL);
    failpoint_watch_disarm(watch);
    return true;
}

void failpoint_watch_disarm(struct failpoint_watch *watch)
{
    if (watch->order != NULL) { fault_point_release(watch->order); }
    watch->order = NULL;
}
