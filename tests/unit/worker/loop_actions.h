/* tests/unit/worker/loop_actions.h: the actions of a training loop after an event. */
#ifndef TESTS_UNIT_WORKER_LOOP_ACTIONS_H
#define TESTS_UNIT_WORKER_LOOP_ACTIONS_H

#include "worker/training_loop.h"

/* The action number `nth` of this type, from 0; NULL: there are fewer. */
static inline const struct loop_action *find_action(const struct loop_actions *actions,
                                                    enum loop_action_type type, uint32_t nth)
{
    for (uint32_t i = 0; i < actions->count; i++) {
        if (actions->items[i].type == type && nth-- == 0) { return &actions->items[i]; }
    }
    return NULL;
}

static inline uint32_t count_actions(const struct loop_actions *actions, enum loop_action_type type)
{
    uint32_t count = 0;
    while (find_action(actions, type, count) != NULL) { count++; }
    return count;
}

#endif
