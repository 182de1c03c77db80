/* tests/unit/worker/loop_scene.h: a training loop with two ps and four slices, as worker 1; the
 * functions pass it events, after which `out` has its actions. */
#ifndef TESTS_UNIT_WORKER_LOOP_SCENE_H
#define TESTS_UNIT_WORKER_LOOP_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/worker/loop_actions.h"
#include "worker/training_loop.h"

enum { V = 4, PS = 2, ME = 1 };

static struct training_loop loop;
static struct loop_actions out;
static uint64_t now_ms;

static inline void handle(struct loop_event event)
{
    event.now_ms = now_ms;
    training_loop_handle(&loop, &event, &out);
}

static inline void order(enum run_phase phase, uint64_t generation, uint64_t until,
                         uint64_t evaluate_step)
{
    struct run run = {
        .phase = phase, .generation = generation, .until = until, .evaluate_step = evaluate_step};
    handle((struct loop_event){.type = LOOP_EV_RUN, .run = &run});
}

/* Slice v belongs to worker owners[v]. */
static inline void assign(const char owners[static V])
{
    struct assignment assignment = {.generation = 1, .slice_count = V};
    for (uint32_t v = 0; v < V; v++) { assignment.worker[v] = (uint16_t)(owners[v] - '0'); }
    handle((struct loop_event){.type = LOOP_EV_ASSIGNMENT, .assignment = &assignment});
}

static inline void link(uint32_t ps, bool up)
{
    handle((struct loop_event){.type = up ? LOOP_EV_LINK_UP : LOOP_EV_LINK_DOWN, .ps = ps});
}

static inline void values(uint32_t ps, uint64_t generation, uint64_t step)
{
    handle((struct loop_event){.type = LOOP_EV_VALUES,
                               .ps = ps,
                               .generation = generation,
                               .step = step,
                               .round = loop.round});
}

static inline void computed(void)
{
    handle((struct loop_event){.type = LOOP_EV_COMPUTED});
}

/* Both ps are connected, and generation 1 runs up to `until`; `owners` as in assign(). */
static inline void begin(enum strategy_kind strategy, const char owners[static V], uint64_t until)
{
    now_ms = 0;
    training_loop_init(&loop, &(struct training_loop_config){
                                  .strategy = strategy, .slices = V, .ps = PS, .index = ME});
    link(0, true);
    link(1, true);
    order(RUN_RUNNING, 1, until, STEP_NONE);
    assign(owners);
}

#endif
