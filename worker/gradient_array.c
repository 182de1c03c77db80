#include "worker/gradient_array.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/net/slots.h"

void gradient_array_open(struct gradient_array *array, const struct memory_port *port,
                         const struct gradient_places *places, const struct placement *shards,
                         uint32_t ps, uint32_t number)
{
    assert(ps >= 1 && ps <= PS_MAX);
    *array = (struct gradient_array){.port = *port, .places = *places, .shards = shards, .ps = ps};
    if (port->page_bytes == 0 || places->reserve == NULL) { return; }
    for (uint32_t p = 0; p < ps; p++) {
        const uint64_t bytes = shards[p].count * sizeof(float);
        const bool begins_line = shards[p].first * sizeof(float) % SLOT_LINE_BYTES == 0;
        if (!begins_line || bytes > SLOT_BYTES) { return; }
        array->parameters += shards[p].count;
    }
    const uint32_t line = (1 + 13 * (number % SLOT_PAGE_LINES)) % SLOT_PAGE_LINES;
    array->begin = (size_t)line * SLOT_LINE_BYTES;
    array->memory = memory_array_create(array->begin + array->parameters * sizeof(float));
}

static uint8_t *range_data(const struct gradient_array *array, uint32_t ps)
{
    return (uint8_t *)array->memory->data + array->begin + array->shards[ps].first * sizeof(float);
}

static size_t range_bytes(const struct gradient_array *array, uint32_t ps)
{
    return array->shards[ps].count * sizeof(float);
}

/* The whole pages of a range: they begin `*before` bytes behind it. */
static size_t range_pages(const struct gradient_array *array, uint32_t ps, size_t *before)
{
    const size_t page = array->port.page_bytes, bytes = range_bytes(array, ps);
    const uintptr_t data = (uintptr_t)range_data(array, ps);
    *before = size_min((page - data % page) % page, bytes);
    return (bytes - *before) / page * page;
}

static void release_places(struct gradient_array *array)
{
    for (uint32_t p = 0; p < array->ps; p++) {
        buffer_release(array->ranges[p].place);
        array->ranges[p].place = NULL;
    }
}

static bool reserve_places(struct gradient_array *array)
{
    for (uint32_t p = 0; p < array->ps; p++) {
        struct gradient_range *range = &array->ranges[p];
        const uintptr_t data = (uintptr_t)range_data(array, p);
        const uint32_t line = (uint32_t)(data / SLOT_LINE_BYTES % SLOT_PAGE_LINES);
        assert(data % SLOT_LINE_BYTES == 0);
        range->place = array->places.reserve(array->places.ctx, p, line, range_bytes(array, p));
        range->complete = false;
        if (range->place == NULL) { return false; }
    }
    return true;
}

/* Whether the pages of the place are in the array now. */
static bool share(struct gradient_array *array, uint32_t ps)
{
    struct gradient_range *range = &array->ranges[ps];
    const struct buffer *place = range->place;
    uint8_t *data = range_data(array, ps);
    size_t before;
    const size_t pages = range_pages(array, ps, &before);
    assert(((uintptr_t)data - (uintptr_t)place->data) % array->port.page_bytes == 0);
    if (pages == 0 || (range->memory == place->memory && range->from == place->data)) {
        return true;
    }
    range->memory = place->memory;
    range->from = place->data;
    return array->port.alias(array->port.ctx, place, before, data + before, pages, true);
}

struct buffer *gradient_array_begin(struct gradient_array *array)
{
    if (array->memory == NULL || !buffer_is_exclusive(array->memory)) { return NULL; }
    release_places(array);
    if (!reserve_places(array)) {
        release_places(array);
        return NULL;
    }
    for (uint32_t p = 0; p < array->ps; p++) {
        if (share(array, p)) { continue; }
        gradient_array_close(array);
        return NULL;
    }
    return buffer_part(array->memory, array->begin, array->parameters * sizeof(float));
}

struct buffer *gradient_array_range(struct gradient_array *array, uint32_t ps)
{
    assert(ps < array->ps);
    struct gradient_range *range = &array->ranges[ps];
    assert(range->place != NULL);
    size_t before;
    const size_t pages = range_pages(array, ps, &before), after = before + pages;
    const uint8_t *data = range_data(array, ps);
    /* Once, because the ps reads the place from then on. */
    if (!range->complete) {
        uint8_t *place = range->place->data;
        memcpy(place, data, before);
        memcpy(place + after, data + after, range_bytes(array, ps) - after);
    }
    range->complete = true;
    return buffer_retain(range->place);
}

void gradient_array_close(struct gradient_array *array)
{
    if (array->memory == NULL) { return; }
    release_places(array);
    for (uint32_t p = 0; p < array->ps; p++) {
        size_t before;
        const size_t pages = range_pages(array, p, &before);
        if (array->ranges[p].memory == 0) { continue; }
        (void)array->port.unalias(array->port.ctx, range_data(array, p) + before, pages);
    }
    buffer_release(array->memory);
    *array = (struct gradient_array){.memory = NULL};
}
