#include "ps/store/save_rate.h"

#include <assert.h>

#include "common/base/minmax.h"

enum { UNIT_BYTES = 4096, LATE_PARTS = 8 };

static uint64_t interval_of(uint64_t configured_ms, uint64_t seen_ms)
{
    if (configured_ms == 0 && seen_ms == 0) { return SAVE_INTERVAL_DEFAULT_MS; }
    if (configured_ms == 0) { return seen_ms; }
    return seen_ms == 0 ? configured_ms : u64_min(configured_ms, seen_ms);
}

uint64_t save_rate_spread_ms(uint64_t bytes, uint64_t configured_ms, uint64_t seen_ms)
{
    if (bytes <= SAVE_BLOCK_BYTES) { return 0; }
    return u64_min(interval_of(configured_ms, seen_ms) / 2, bytes / SAVE_BYTES_PER_MS_LEAST);
}

/* When the bytes so far are due. Units keep the product in 64 bits. */
static uint64_t due_ms(const struct save_rate *save)
{
    const uint64_t units = u64_max(save->bytes / UNIT_BYTES, 1);
    const uint64_t written = u64_min(save->written / UNIT_BYTES, units);
    assert(save->spread_ms <= UINT32_MAX && units <= UINT32_MAX);
    return save->spread_ms * written / units;
}

struct save_advice save_rate_advise(const struct save_rate *save)
{
    if (save->hurried || save->spread_ms == 0) { return (struct save_advice){.wait_ms = 0}; }
    const uint64_t due = due_ms(save);
    const uint64_t late_ms = save->elapsed_ms > due ? save->elapsed_ms - due : 0;
    const bool complete = save->written >= save->bytes;
    return (struct save_advice){
        .wait_ms = complete || save->elapsed_ms >= due ? 0 : due - save->elapsed_ms,
        .idle = late_ms <= save->spread_ms / LATE_PARTS,
    };
}
