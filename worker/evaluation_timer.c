#include "worker/evaluation_timer.h"

#include <assert.h>
#include <stddef.h>

enum { NS_IN_A_MS = 1000000 };

void evaluation_timer_add(struct evaluation_timer *timer, uint64_t ns)
{
    const uint64_t ms = ns / NS_IN_A_MS + (ns % NS_IN_A_MS != 0 ? 1 : 0);
    assert(timer != NULL);
    if (ms <= timer->reported_ms) { return; }
    uint64_t rounded_ms = 1;
    while (rounded_ms < ms) { rounded_ms *= 2; }
    timer->reported_ms = rounded_ms;
}
