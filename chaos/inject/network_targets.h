/*
 * chaos/inject/network_targets.h: the targets of network faults and their addresses. Private to the
 * injectors of the network.
 *
 * Threads: the main thread.
 */
#ifndef CHAOS_INJECT_NETWORK_TARGETS_H
#define CHAOS_INJECT_NETWORK_TARGETS_H

#include "chaos/inject/injector.h"

enum { NETWORK_LIST_MAX = COMPONENTS_MAX * (COMPONENT_NAME_MAX + 2) };

/* Keep those targets that have a network of their own; the agent has none. TN_ENOTSUP: none has, or
 * there is no lab. */
MUST_CHECK enum tn_status network_keep_targets(const struct target_cluster *cluster,
                                               struct active_fault *fault, struct error *error);

/* Append "ps:0 (10.77.0.7), ps:1 (10.77.0.8)" to the fault's text. */
void network_describe_targets(const struct target_cluster *cluster, struct active_fault *fault);

/* Addresses of all nodes, or of all servers, but `except` (NULL: no exception): "10.77.0.2,
 * 10.77.0.3". */
enum network_kind { NETWORK_SERVERS, NETWORK_NODES };
void network_list(const struct target_cluster *cluster, enum network_kind kind,
                  const struct component *except, char list[static NETWORK_LIST_MAX]);
void network_list_add(char list[static NETWORK_LIST_MAX], const char *item);

#endif
