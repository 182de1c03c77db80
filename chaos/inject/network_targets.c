#include "chaos/inject/network_targets.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "chaos/cluster/lab.h"

enum tn_status network_keep_targets(const struct target_cluster *cluster,
                                    struct active_fault *fault, struct error *error)
{
    struct target_list *targets = &fault->targets;
    uint32_t kept = 0;
    if (cluster->lab == NULL) {
        return error_set(error, TN_ENOTSUP, "%s needs network namespaces, and the run has none",
                         fault_descriptor(fault->injection.fault)->name);
    }
    for (uint32_t i = 0; i < targets->count; i++) {
        struct component *component = targets->components[i];
        if (lab_namespace(cluster->lab, component->name) >= 0) {
            targets->components[kept++] = component;
        }
    }
    targets->count = kept;
    if (kept > 0) { return TN_OK; }
    return error_set(error, TN_ENOTSUP, "%s has no network of its own", fault->injection.selector);
}

void network_describe_targets(const struct target_cluster *cluster, struct active_fault *fault)
{
    assert(cluster->lab != NULL);
    for (uint32_t i = 0; i < fault->targets.count; i++) {
        const char *name = fault->targets.components[i]->name;
        fault_describe_item(fault, "%s (%s)", name, lab_address(cluster->lab, name));
    }
}

void network_list_add(char list[static NETWORK_LIST_MAX], const char *item)
{
    assert(item != NULL);
    size_t length = strlen(list);
    snprintf(list + length, NETWORK_LIST_MAX - length, "%s%s", length > 0 ? ", " : "", item);
}

void network_list(const struct target_cluster *cluster, enum network_kind kind,
                  const struct component *except, char list[static NETWORK_LIST_MAX])
{
    assert(cluster->lab != NULL);
    list[0] = '\0';
    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct component *component = &cluster->components[i];
        const char *address = lab_address(cluster->lab, component->name);
        bool wanted = kind == NETWORK_NODES ? component->is_node : component->server != 0;
        if (wanted && address != NULL && component != except) { network_list_add(list, address); }
    }
}
