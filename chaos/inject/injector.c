#include "chaos/inject/injector.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum tn_status injector_begin(const struct injector *injector, struct target_cluster *cluster,
                              struct active_fault *fault, struct error *error)
{
    const struct injection *injection = &fault->injection;
    const struct fault_descriptor *descriptor = fault_descriptor(injection->fault);
    enum tn_status status = TN_OK;
    assert(injector->begin != NULL);
    assert(fault->state == NULL);
    if (descriptor->duration == DURATION_REQUIRED && injection->for_ms == 0) {
        return error_set(error, TN_EINVAL, "%s would never end: give it a duration",
                         descriptor->name);
    }
    if (cluster->remote == NULL) {
        status = target_cluster_resolve(cluster, injection->selector, &fault->targets, error);
        if (status != TN_OK) { return status; }
    }
    fault->state = calloc(1, injector->state_bytes > 0 ? injector->state_bytes : 1);
    if (fault->state == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    status = injector->begin(cluster, fault, error);
    if (status != TN_OK || injection->for_ms == 0) {
        free(fault->state);
        fault->state = NULL;
    }
    return status;
}

void injector_end(const struct injector *injector, struct target_cluster *cluster,
                  struct active_fault *fault)
{
    assert(fault->state != NULL);
    if (injector->end != NULL) { injector->end(cluster, fault); }
    free(fault->state);
    fault->state = NULL;
}

/* ------------------------------------------------------------- for injectors */

void fault_describe(struct active_fault *fault, const char *format, ...)
{
    va_list arguments;
    assert(format != NULL);
    va_start(arguments, format);
    (void)vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
}

void fault_describe_item(struct active_fault *fault, const char *format, ...)
{
    char item[FAULT_TEXT_MAX];
    assert(memchr(fault->text, '\0', sizeof fault->text) != NULL);
    size_t used = strlen(fault->text);
    const char *separator = used > 0 && fault->text[used - 1] != ' ' ? ", " : "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(item, sizeof item, format, arguments);
    va_end(arguments);
    if (used + strlen(separator) + strlen(item) >= sizeof fault->text) { return; }
    snprintf(fault->text + used, sizeof fault->text - used, "%s%s", separator, item);
}

uint32_t fault_signal_targets(struct target_cluster *cluster, struct active_fault *fault,
                              int number)
{
    uint32_t count = 0;
    assert(fault->targets.count <= COMPONENTS_MAX);
    /* The agent is the first component: it is dead before it can restart others. */
    for (uint32_t i = 0; i < fault->targets.count; i++) {
        const struct component *component = fault->targets.components[i];
        if (component->pid <= 0 || kill(component->pid, number) != 0) { continue; }
        if (component == &cluster->components[0] && number != SIGSTOP && number != SIGCONT) {
            cluster->agent_killed = true;
        }
        fault_describe_item(fault, "%s (pid %ld)", component->name, (long)component->pid);
        count++;
    }
    return count;
}

enum tn_status fault_keep_shim_targets(const struct target_cluster *cluster,
                                       struct active_fault *fault, struct error *error)
{
    struct target_list *targets = &fault->targets;
    uint32_t kept = 0;
    assert(targets->count <= COMPONENTS_MAX);
    for (uint32_t i = 0; i < targets->count && cluster->control != NULL; i++) {
        struct component *component = targets->components[i];
        if (fault_control_slot(cluster->control, component->name) != NULL) {
            targets->components[kept++] = component;
        }
    }
    targets->count = kept;
    if (kept > 0) { return TN_OK; }
    return error_set(error, TN_ENOTSUP, "%s runs without tanist-faults.so",
                     fault->injection.selector);
}

struct fault_slot *fault_slot_of(const struct target_cluster *cluster,
                                 const struct component *component)
{
    assert(cluster->control != NULL);
    struct fault_slot *slot = fault_control_slot(cluster->control, component->name);
    assert(slot != NULL);
    return slot;
}
