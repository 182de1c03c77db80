/*
 * agent/steps.h: how far each ps is, asked of the ps themselves: a pull of a generation that cannot
 * be is refused with the ps's own generation and step, which costs it one small frame.
 *
 * Threads: the owner's; answers come in on the transport's. Nothing blocks but steps_close().
 */
#ifndef AGENT_STEPS_H
#define AGENT_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/observer.h"
#include "common/error.h"
#include "common/task.h"

struct steps;

/* `cluster_key` is that of /spec. */
MUST_CHECK enum tn_status steps_open(uint64_t cluster_key, struct steps **out, struct error *error);
void steps_close(struct steps *steps); /* NULL is allowed. */

/* Ask ps `index` at `address`, whose incarnation this is; dials as needed. */
void steps_ask(struct steps *steps, uint32_t index, const char *address, uint64_t incarnation);

/* Ask every ps that `observer` sees. */
void steps_ask_all(struct steps *steps, const struct observer *observer);

/* The step that the whole cluster has reached: the least of all its ps, as they answered last. What
 * was evaluated was reached, also if the ps were asked a little before. False: one has not answered
 * yet, or is of another generation than /run. */
bool steps_reached(struct steps *steps, const struct observer *observer, uint64_t *step);

/* The last answer of ps `index`; false: none yet. */
bool steps_get(struct steps *steps, uint32_t index, uint64_t *generation, uint64_t *step);

/* How many of the first `count` ps have answered since they were asked last. */
uint32_t steps_answered(struct steps *steps, uint32_t count);

#endif
