/* The slices of the present step that are late (C23). */
#include <assert.h>

#include "ps/step_private.h"

static struct slice_set lacking(const struct ps_step *s)
{
    struct slice_set set = {0};
    slice_set_add(&set, (struct slice_node){0, s->config.slices});
    for (uint32_t i = 0; i < SLICES_WORDS; i++) { set.words[i] &= ~s->covered.words[i]; }
    return set;
}

static bool is_lacking(const struct ps_step *s)
{
    return slice_set_count(&s->covered) < s->config.slices;
}

uint64_t ps_step_late(const struct ps_step *s, uint64_t now_ms, struct slice_set *late)
{
    assert(now_ms >= s->now_ms);
    *late = (struct slice_set){0};
    if (s->generation == 0 || s->applying) { return 0; }
    const uint64_t periods = lateness_periods(&s->lateness, now_ms);
    if (periods == 0 || !is_lacking(s)) { return 0; }
    *late = lacking(s);
    return periods;
}

uint64_t ps_step_deadline_ms(const struct ps_step *s, uint64_t now_ms)
{
    assert(now_ms >= s->now_ms);
    return is_lacking(s) ? lateness_due_ms(&s->lateness, now_ms) : UINT64_MAX;
}
