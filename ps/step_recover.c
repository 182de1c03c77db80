/* The state with which the core continues where a former process was (P13). */
#include <assert.h>

#include "ps/step_private.h"

void ps_step_recover(struct ps_step *s, const struct ps_memory *memory)
{
    assert(s->strategy == &ps_strategy_sync && !s->config.norms);
    assert(s->generation == 0 && s->loading_generation == 0 && s->ordered_generation == 0);
    assert(memory->generation != 0);
    assert(!memory->begun || !memory->has_previous);
    s->generation = memory->generation;
    s->run_ms = memory->run_ms;
    s->recovered = true;
    s->step = memory->step;
    s->begun = memory->begun;
    s->has_previous = memory->has_previous;
    s->kept_evaluation = memory->kept_evaluation;
    s->kept_checkpoint = memory->kept_checkpoint;
    s->saved_checkpoint = memory->saved_checkpoint;
    s->saved_step = memory->saved_step;
    /* A save that was in progress ended with its process. It begins again if it is still ordered,
     * and its arrays exist. */
    s->save_handled = memory->saved_checkpoint;
    if (memory->save_handled > memory->saved_checkpoint) { s->interrupted = memory->save_handled; }
}
