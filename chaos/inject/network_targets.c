#include "chaos/inject/network_targets.h"

#include <stdio.h>
#include <string.h>

#include "chaos/cluster/lab.h"

enum tn_status network_targets_find(struct target_cluster *cluster, struct strike *strike,
                                    struct error *error)
{
    uint32_t kept = 0;
    const char *fault = fault_descriptor(strike->injection.fault)->name;
    if (cluster->lab == NULL) {
        return error_set(error, TN_ENOTSUP, "%s needs network namespaces, which there are none of",
                         fault);
    }
    if (strike->injection.for_ms == 0) {
        return error_set(error, TN_EINVAL, "%s would never end: it needs a time", fault);
    }
    enum tn_status status = target_cluster_resolve(cluster, strike, error);
    if (status != TN_OK) { return status; }
    for (uint32_t i = 0; i < strike->target_count; i++) {
        if (lab_namespace(cluster->lab, strike->targets[i]) < 0) { continue; }
        if (kept != i) { memcpy(strike->targets[kept], strike->targets[i], PLACE_NAME_MAX); }
        kept++;
    }
    strike->target_count = kept;
    if (kept > 0) { return TN_OK; }
    return error_set(error, TN_ENOTSUP, "%s has no network of its own", strike->injection.whom);
}

void network_targets_tell(const struct target_cluster *cluster, struct strike *strike,
                          const char *words)
{
    size_t length = (size_t)snprintf(strike->text, sizeof strike->text, "%s", words);
    for (uint32_t i = 0; i < strike->target_count && length < sizeof strike->text; i++) {
        length += (size_t)snprintf(strike->text + length, sizeof strike->text - length,
                                   "%s %s (%s)", i ? "," : "", strike->targets[i],
                                   lab_address(cluster->lab, strike->targets[i]));
    }
}

void network_list_add(char list[static NETWORK_LIST_MAX], const char *address)
{
    size_t length = strlen(list);
    snprintf(list + length, NETWORK_LIST_MAX - length, "%s%s", length ? ", " : "", address);
}

void network_list(const struct target_cluster *cluster, enum network_kind kind, const char *except,
                  char list[static NETWORK_LIST_MAX])
{
    list[0] = '\0';
    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct place *place = &cluster->places[i];
        const char *address = lab_address(cluster->lab, place->name);
        bool wanted = kind == NETWORK_NODES ? place->is_node : place->server != 0;
        if (wanted && address != NULL && !(except != NULL && strcmp(except, place->name) == 0)) {
            network_list_add(list, address);
        }
    }
}
