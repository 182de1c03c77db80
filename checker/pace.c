#include "checker/pace.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

/* Bit i stands for the multiple i + 1. */
static bool has(const struct pace *pace, uint64_t i)
{
    return (pace->seen[i / 8] >> (i % 8) & 1) != 0;
}

static void set(struct pace *pace, uint64_t i)
{
    assert(i < PACE_MULTIPLES_MAX);
    pace->seen[i / 8] = (uint8_t)(pace->seen[i / 8] | 1U << (i % 8));
}

/* How many multiples up to `step` are checked. */
static uint64_t count_to(const struct pace *pace, uint64_t step)
{
    return pace->every == 0 ? 0 : u64_min(step / pace->every, PACE_MULTIPLES_MAX);
}

void pace_init(struct pace *pace, uint64_t every)
{
    memset(pace, 0, sizeof *pace);
    pace->every = every;
}

void pace_note(struct pace *pace, uint64_t step)
{
    uint64_t count = count_to(pace, step);
    if (count > 0 && step == count * pace->every) { set(pace, count - 1); }
}

void pace_rewind(struct pace *pace, uint64_t step)
{
    uint64_t count = count_to(pace, step);
    memset(pace->seen, 0, sizeof pace->seen);
    memset(pace->seen, 0xff, count / 8);
    for (uint64_t i = count / 8 * 8; i < count; i++) { set(pace, i); }
}

uint64_t pace_missing(const struct pace *pace, uint64_t step)
{
    uint64_t count = count_to(pace, step);
    for (uint64_t i = 0; i < count; i++) {
        if (!has(pace, i)) { return (i + 1) * pace->every; }
    }
    return 0;
}
