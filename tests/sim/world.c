#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/minmax.h"

void world_init(struct world *world, uint64_t seed, bool verbose)
{
    memset(world, 0, sizeof *world);
    world->seed = seed;
    world->verbose = verbose;
    world->random.state = seed * 0x9e3779b97f4a7c15u + 1;
    world->now_us = 1000000;
}

void world_free(struct world *world)
{
    for (size_t i = 0; i < world->count; i++) { free(world->queue[i].data); }
    free(world->queue);
    world->queue = NULL;
    world->count = world->capacity = 0;
}

static bool comes_before(const struct world_entry *a, const struct world_entry *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->number < b->number;
}

void world_at(struct world *world, uint64_t at_us, world_call call, void *target, uint64_t a,
              uint64_t b, void *data)
{
    assert(call != NULL);
    if (world->count == world->capacity) {
        world->capacity = world->capacity ? world->capacity * 2 : 1024;
        world->queue = realloc(world->queue, world->capacity * sizeof *world->queue);
        assert(world->queue != NULL);
    }
    struct world_entry entry = {.at_us = u64_max(at_us, world->now_us),
                                .number = world->next_number++,
                                .call = call,
                                .target = target,
                                .a = a,
                                .b = b,
                                .data = data};
    size_t i = world->count++;
    while (i > 0 && comes_before(&entry, &world->queue[(i - 1) / 2])) {
        world->queue[i] = world->queue[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    world->queue[i] = entry;
}

void world_after(struct world *world, uint64_t delay_us, world_call call, void *target, uint64_t a,
                 uint64_t b, void *data)
{
    world_at(world, world->now_us + delay_us, call, target, a, b, data);
}

static struct world_entry pop_entry(struct world *world)
{
    assert(world->count > 0);
    struct world_entry top = world->queue[0], last = world->queue[--world->count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= world->count) { break; }
        if (child + 1 < world->count &&
            comes_before(&world->queue[child + 1], &world->queue[child])) {
            child++;
        }
        if (!comes_before(&world->queue[child], &last)) { break; }
        world->queue[i] = world->queue[child];
        i = child;
    }
    world->queue[i] = last;
    return top;
}

bool world_step(struct world *world, uint64_t until_us)
{
    if (world->count == 0 || world->queue[0].at_us > until_us) {
        if (world->now_us < until_us) { world->now_us = until_us; }
        return false;
    }
    struct world_entry entry = pop_entry(world);
    assert(entry.at_us >= world->now_us);
    world->now_us = entry.at_us;
    world->handled++;
    entry.call(world, entry.target, entry.a, entry.b, entry.data);
    free(entry.data);
    return true;
}

uint64_t world_ms(const struct world *world)
{
    return world->now_us / 1000;
}

uint64_t world_below(struct world *world, uint64_t limit)
{
    assert(limit > 0);
    return random_below(&world->random, limit);
}

uint64_t world_between(struct world *world, uint64_t low, uint64_t high)
{
    assert(low <= high);
    return low + random_below(&world->random, high - low + 1);
}

bool world_chance(struct world *world, uint32_t per_mille)
{
    assert(per_mille <= 1000);
    return per_mille != 0 && random_below(&world->random, 1000) < per_mille;
}

void world_log(struct world *world, const char *format, ...)
{
    char *line = world->trace[world->trace_count++ % WORLD_TRACE_LINES];
    int used = snprintf(line, WORLD_TRACE_BYTES, "[%8.3f] ", (double)world->now_us / 1e6);
    va_list arguments;
    va_start(arguments, format);
    if (used > 0) {
        (void)vsnprintf(line + used, WORLD_TRACE_BYTES - (size_t)used, format, arguments);
    }
    va_end(arguments);
    if (world->verbose) { printf("%s\n", line); }
}

void world_fail(struct world *world, const char *format, ...)
{
    if (world->failed) { return; }
    world->failed = true;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(world->failure, sizeof world->failure, format, arguments);
    va_end(arguments);
    world_log(world, "VIOLATED: %s", world->failure);
}

void world_print_trace(const struct world *world)
{
    uint64_t first =
        world->trace_count > WORLD_TRACE_LINES ? world->trace_count - WORLD_TRACE_LINES : 0;
    for (uint64_t i = first; i < world->trace_count; i++) {
        printf("  %s\n", world->trace[i % WORLD_TRACE_LINES]);
    }
}
