/*
 * agent/processors.h: on which processors the workers and ps of an agent run. Private to agent/.
 *
 * Threads: the main thread.
 */
#ifndef AGENT_PROCESSORS_H
#define AGENT_PROCESSORS_H

#include "agent/children.h"

/* The processors to which a node is bound (cluster.bind). NULL: to none. */
const cpu_set_t *processors_of(const struct children *children, const struct child *child,
                               cpu_set_t *out);

/* Without cluster.bind, and where nodes could be bound (agent/binding.h): if several workers, or
 * several ps, were last on the same processor while another had none of them, move each to the one
 * to which it would be bound. They remain free to move, away from other programs too. Nodes that
 * are bound to other processors than the agent stay there, and workers with several threads where
 * they are. Call it at each tick. Reads /proc. */
void processors_spread(const struct children *children);

#endif
