#include "local/thread_choice.h"

#include <assert.h>

enum {
    TRIAL_STEPS = 16,
    FIRST_STEPS = 8, /* A way that is new uses memory for the first time: these do not count. */
    REST_STEPS = 64,
    REST_STEPS_MAX = 4096,
};

struct thread_choice thread_choice_begin(bool is_fixed)
{
    return (struct thread_choice){
        .is_fixed = is_fixed, .all = true, .left = FIRST_STEPS + TRIAL_STEPS, .rest = REST_STEPS};
}

bool thread_choice_is_all(const struct thread_choice *choice)
{
    return choice->all != choice->tries;
}

/* The trial is over. It must be faster by a twentieth, so that noise changes nothing. */
static void decide(struct thread_choice *choice)
{
    if (choice->trial_ns < choice->last_ns - choice->last_ns / 20) {
        choice->all = !choice->all;
        choice->rest = REST_STEPS;
    } else if (choice->rest < REST_STEPS_MAX) {
        choice->rest *= 2;
    }
    choice->tries = false;
    choice->left = choice->rest;
    choice->trial_ns = choice->last_ns = 0;
}

void thread_choice_took(struct thread_choice *choice, uint64_t ns)
{
    if (choice->is_fixed) { return; }
    assert(choice->left >= 1);
    if (choice->left <= TRIAL_STEPS) {
        *(choice->tries ? &choice->trial_ns : &choice->last_ns) += ns;
    }
    if (--choice->left > 0) { return; }
    if (choice->tries) {
        decide(choice);
    } else {
        choice->left = choice->has_tried ? TRIAL_STEPS : FIRST_STEPS + TRIAL_STEPS;
        choice->tries = choice->has_tried = true;
    }
}
