#include "group/schedule.h"

#include <assert.h>
#include <string.h>

static bool *here(const struct slice_schedule *schedule, uint32_t slot)
{
    assert(slot < SCHEDULE_SLOTS);
    return schedule->config.here + (uint64_t)slot * schedule->config.arrivals;
}

static void clear(struct slice_schedule *schedule, uint32_t slot)
{
    schedule->first_missing[slot] = 0;
    if (schedule->config.arrivals == 0) { return; }
    memset(here(schedule, slot), 0, schedule->config.arrivals * sizeof(bool));
}

static bool is_equal(const struct schedule_label *a, const struct schedule_label *b)
{
    return a->generation == b->generation && a->step == b->step && a->slice == b->slice;
}

void schedule_init(struct slice_schedule *schedule, const struct schedule_config *config)
{
    assert(config->here != NULL || config->arrivals == 0);
    for (uint32_t i = 0; i < config->arrivals; i++) {
        assert(config->readers[i] <= config->parts);
        assert(i == 0 || config->readers[i - 1] <= config->readers[i]);
    }
    *schedule = (struct slice_schedule){.config = *config};
    schedule_reset(schedule);
}

void schedule_reset(struct slice_schedule *schedule)
{
    for (uint32_t slot = 0; slot < SCHEDULE_SLOTS; slot++) { clear(schedule, slot); }
    schedule->present = schedule->part = 0;
    schedule->is_expected = false;
    schedule->order = (struct slice_node){0, 0};
}

bool schedule_is_idle(const struct slice_schedule *schedule)
{
    return schedule->order.count == 0;
}

bool schedule_order(struct slice_schedule *schedule, uint64_t generation, uint64_t step,
                    struct slice_node node)
{
    assert(node.count >= 1);
    const uint32_t present = schedule->present;
    const struct schedule_label label = {generation, step, node.first};
    if (!schedule_is_idle(schedule)) { return false; }
    if (schedule->is_expected && !is_equal(&schedule->labels[present], &label)) { return false; }
    schedule->labels[present] = label;
    schedule->is_expected = false;
    schedule->order = node;
    schedule->part = 0;
    return true;
}

/* The slot of a slice that something may arrive for. False: nothing may. */
static bool find_slot(struct slice_schedule *schedule, const struct schedule_label *label,
                      uint32_t *slot)
{
    struct schedule_label *present = &schedule->labels[schedule->present];
    *slot = schedule->present;
    if (schedule_is_idle(schedule) && !schedule->is_expected) {
        schedule->is_expected = true;
        *present = *label;
    }
    if (is_equal(label, present)) { return true; }
    struct schedule_label next = *present;
    next.slice++;
    *slot = (*slot + 1) % SCHEDULE_SLOTS;
    return schedule->order.count > 1 && is_equal(label, &next);
}

enum schedule_arrival schedule_arrived(struct slice_schedule *schedule,
                                       const struct schedule_label *label, uint32_t arrival,
                                       uint32_t *slot)
{
    assert(arrival < schedule->config.arrivals);
    if (!find_slot(schedule, label, slot)) { return SCHEDULE_INVALID; }
    bool *flags = here(schedule, *slot);
    if (flags[arrival]) { return SCHEDULE_DROP; }
    flags[arrival] = true;
    uint32_t *missing = &schedule->first_missing[*slot];
    while (*missing < schedule->config.arrivals && flags[*missing]) { (*missing)++; }
    return SCHEDULE_KEEP;
}

struct schedule_next schedule_next(const struct slice_schedule *schedule)
{
    const uint32_t slot = schedule->present, missing = schedule->first_missing[slot];
    struct schedule_next next = {.what = SCHEDULE_WAIT, .part = schedule->part, .slot = slot};
    if (schedule_is_idle(schedule)) { return next; }
    next.label = schedule->labels[slot];
    const bool waits =
        missing < schedule->config.arrivals && schedule->config.readers[missing] <= schedule->part;
    if (waits) { return next; }
    next.what = schedule->part < schedule->config.parts ? SCHEDULE_RUN : SCHEDULE_FINISH;
    return next;
}

void schedule_ran(struct slice_schedule *schedule)
{
    assert(schedule_next(schedule).what == SCHEDULE_RUN);
    schedule->part++;
}

bool schedule_finished(struct slice_schedule *schedule)
{
    assert(schedule_next(schedule).what == SCHEDULE_FINISH);
    struct schedule_label next = schedule->labels[schedule->present];
    clear(schedule, schedule->present);
    schedule->present = (schedule->present + 1) % SCHEDULE_SLOTS;
    schedule->part = 0;
    schedule->order.first++;
    schedule->order.count--;
    next.slice++;
    schedule->labels[schedule->present] = next;
    return schedule_is_idle(schedule);
}
