#include "mirror/turns.h"

#include <assert.h>

bool turns_end(struct turns *turns, bool is_tick)
{
    assert(turns->events <= TURNS_MAX);
    const bool is_next = is_tick && (!turns->is_after_event || turns->events == TURNS_MAX);
    turns->is_after_event = !is_tick;
    if (is_next) { turns->events = 0; }
    if (!is_tick && turns->events < TURNS_MAX) { turns->events++; }
    return is_next;
}
