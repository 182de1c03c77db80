#include "ps/kept_prefault.h"

#include <assert.h>
#include <signal.h>
#include <stddef.h>

#include "common/base/fault_signals.h"
#include "common/base/thread_priority.h"

static void *work(void *ctx)
{
    struct kept_prefault *prefault = ctx;
    thread_priority_lower();
    buffer_pool_prefault(prefault->slots, prefault->count, &prefault->stop);
    return NULL;
}

void kept_prefault_start(struct kept_prefault *prefault, struct kept_memory *kept, uint32_t count)
{
    sigset_t before;
    assert(count <= KEPT_SLOTS);
    *prefault = (struct kept_prefault){.slots = kept->slots, .count = count};
    if (count == 0) { return; }
    /* Signals are for the main thread. */
    fault_signals_block_others(&before);
    prefault->started = pthread_create(&prefault->thread, NULL, work, prefault) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void kept_prefault_stop(struct kept_prefault *prefault)
{
    if (!prefault->started) { return; }
    atomic_store(&prefault->stop, true);
    pthread_join(prefault->thread, NULL);
    prefault->started = false;
}
