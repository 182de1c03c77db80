/*
 * agent/binding.h: which processors a node is bound to. Pure.
 *
 * Workers and ps wait for each other several times in each step. Where a machine has fewer
 * processors than such nodes, Linux often wakes two workers on one processor and leaves them there,
 * for their caches, while another processor is idle for half of the step. Nodes that are bound do
 * not move, not even away from other programs, so a job has to ask for it (cluster.bind). In other
 * jobs, the agent moves such workers apart (agent/processors.h). Where workers cannot be divided
 * evenly, moving them is better; where each node has a processor, Linux finds an idle one. A worker
 * with several threads is bound to as many neighbouring processors, if the machine consists of such
 * sets.
 */
#ifndef AGENT_BINDING_H
#define AGENT_BINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/cluster/task.h"

enum { BINDING_NONE = -1 };

/* The nodes of a host that train together. */
struct binding_nodes {
    uint32_t workers, ps;
    uint32_t threads; /* A worker's, at least 1. */
};

/* The processor, from 0 to `processors` - 1, of worker or ps number `position` of this host, or the
 * first one of a worker with several threads; BINDING_NONE: it is not bound, nor is a node of
 * another role. */
int binding_of(const struct binding_nodes *nodes, uint32_t processors, enum role role,
               uint32_t position);

/* Whether several nodes are on one of `processors` processors while another has none. `nodes`: how
 * many each has. */
bool binding_is_uneven(const uint32_t *nodes, uint32_t processors);

#endif
