/*
 * chaos/inject/network_targets.h: those of a fault's targets that have a network of their own, and
 * their addresses. What the injectors of the network share; private to them.
 *
 * Threads: the main thread.
 */
#ifndef CHAOS_INJECT_NETWORK_TARGETS_H
#define CHAOS_INJECT_NETWORK_TARGETS_H

#include "chaos/cluster/targets.h"

enum { NETWORK_LIST_MAX = PLACES_MAX * (PLACE_NAME_MAX + 2) };

/* Whom the fault means now; who has no network of its own, as the agent, is left out. It must be
 * one that lasts.
 *
 *   TN_ENOTSUP  there is no lab, or nobody with a network is meant
 *   TN_EINVAL   its time is 0: it would never end
 *   TN_EAGAIN   as target_cluster_resolve() */
MUST_CHECK enum tn_status network_targets_find(struct target_cluster *cluster,
                                               struct strike *strike, struct error *error);

/* The strike's text: "`words` ps:0 (10.77.0.7), ps:1 (10.77.0.8)". */
void network_targets_tell(const struct target_cluster *cluster, struct strike *strike,
                          const char *words);

/* Addresses of all nodes or servers but `except` (NULL: nobody), "10.77.0.2, 10.77.0.3". */
enum network_kind { NETWORK_SERVERS, NETWORK_NODES };
void network_list(const struct target_cluster *cluster, enum network_kind kind, const char *except,
                  char list[static NETWORK_LIST_MAX]);
void network_list_add(char list[static NETWORK_LIST_MAX], const char *address);

#endif
