/* tests/unit/ps/step_scene.h: the core of a ps: the functions pass it events, after which `out` has
 * its actions. */
#ifndef TESTS_UNIT_PS_STEP_SCENE_H
#define TESTS_UNIT_PS_STEP_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ps/step.h"

static struct ps_step s;
static struct ps_actions out;
static uint64_t now_ms; /* The time of all events. */

static inline void handle(struct ps_event event)
{
    event.now_ms = now_ms;
    ps_step_handle(&s, &event, &out);
}

static inline void order(struct run run)
{
    handle((struct ps_event){.type = PS_EV_RUN, .run = &run});
}

static inline void applied(void)
{
    assert_true(s.applying);
    handle((struct ps_event){.type = PS_EV_APPLIED});
}

/* Action number `nth` of this type, from 0 on. NULL: there are fewer. */
static inline const struct ps_action *find(enum ps_action_type type, uint32_t nth)
{
    for (uint32_t i = 0; i < out.count; i++) {
        if (out.items[i].type == type && nth-- == 0) { return &out.items[i]; }
    }
    return NULL;
}

static inline uint32_t number_of(enum ps_action_type type)
{
    uint32_t number = 0;
    while (find(type, number) != NULL) { number++; }
    return number;
}

#endif
