/*
 * agent/observe/step_poller.h: how far each ps is, asked of the ps themselves: a pull of a
 * generation that cannot be is refused with the ps's own generation and step, which costs it one
 * small frame.
 *
 * Threads: the owner's; answers come in on the transport's. Nothing blocks but step_poller_close().
 */
#ifndef AGENT_OBSERVE_STEP_POLLER_H
#define AGENT_OBSERVE_STEP_POLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/observe/observer.h"
#include "common/base/error.h"
#include "common/cluster/task.h"

struct step_poller;

/* `cluster_key` is that of /spec. */
MUST_CHECK enum tn_status step_poller_open(uint64_t cluster_key, struct step_poller **out,
                                           struct error *error);
void step_poller_close(struct step_poller *steps); /* NULL is allowed. */

/* Ask ps `index` at `address`, whose incarnation this is; dials as needed. */
void step_poller_ask(struct step_poller *steps, uint32_t index, const char *address,
                     uint64_t incarnation);

/* Ask every ps that `observer` sees. */
void step_poller_ask_all(struct step_poller *steps, const struct observer *observer);

/* The step that the whole cluster has reached: the least of all its ps, as they answered last. What
 * was evaluated was reached, also if the ps were asked a little before. False: one has not answered
 * yet, or is of another generation than /run. */
bool step_poller_reached(struct step_poller *steps, const struct observer *observer,
                         uint64_t *step);

/* The last answer of ps `index`; false: none yet. */
bool step_poller_get(struct step_poller *steps, uint32_t index, uint64_t *generation,
                     uint64_t *step);

/* How many of the first `count` ps have answered since they were asked last. */
uint32_t step_poller_answered(struct step_poller *steps, uint32_t count);

#endif
