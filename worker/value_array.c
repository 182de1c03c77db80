#include "worker/value_array.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

bool value_array_open(struct value_array *array, const struct memory_port *port, bool shares,
                      size_t bytes, struct buffer_pool *pool)
{
    *array = (struct value_array){.port = *port, .shares = shares && port->page_bytes > 0};
    array->values = array->shares ? memory_array_create(bytes) : buffer_acquire(pool, bytes);
    return array->values != NULL;
}

/* Where the body of a range belongs, and its whole pages: `*before` bytes behind that. */
static uint8_t *place_of(const struct value_array *array, const struct value_range *range,
                         size_t *before, size_t *pages)
{
    const size_t page = array->port.page_bytes;
    uint8_t *to = (uint8_t *)array->values->data + range->offset;
    *before = size_min((page - (uintptr_t)to % page) % page, range->bytes);
    *pages = (range->bytes - *before) / page * page;
    return to;
}

/* The array gets pages of its own, if it has none. */
static bool restore(struct value_array *array, struct value_range *range)
{
    size_t before, pages;
    if (range->memory == 0) { return true; }
    uint8_t *to = place_of(array, range, &before, &pages);
    range->memory = 0;
    return array->port.unalias(array->port.ctx, to + before, pages);
}

/* Whether the whole pages of the body are in the array now. */
static bool share(struct value_array *array, struct value_range *range, struct buffer *body)
{
    const struct memory_port *port = &array->port;
    size_t before, pages;
    uint8_t *to = place_of(array, range, &before, &pages);
    const uintptr_t apart = (uintptr_t)to - (uintptr_t)body->data;
    if (array->cannot_alias || body->memory == 0 || pages == 0) { return false; }
    if (apart % port->page_bytes != 0) { return false; }
    if (range->memory != body->memory || range->from != body->data) {
        range->memory = body->memory;
        range->from = body->data;
        if (!port->alias(port->ctx, body, before, to + before, pages, false)) {
            array->cannot_alias = true;
            return false;
        }
    }
    const size_t after = before + pages;
    memcpy(to, body->data, before);
    memcpy(to + after, (const uint8_t *)body->data + after, range->bytes - after);
    range->held = buffer_retain(body);
    return true;
}

bool value_array_take(struct value_array *array, uint32_t ps, uint32_t number, size_t offset,
                      struct buffer *body)
{
    assert(offset + body->size <= array->values->size);
    uint8_t *to = (uint8_t *)array->values->data + offset;
    if (array->shares) {
        assert(ps < PS_MAX && number < VALUE_BODIES_MAX);
        const uint32_t index = ps * VALUE_BODIES_MAX + number;
        struct value_range *range = &array->ranges[index];
        array->range_end = u32_max(array->range_end, index + 1);
        assert(range->memory == 0 || (range->offset == offset && range->bytes == body->size));
        buffer_release(range->held);
        range->held = NULL;
        range->offset = offset;
        range->bytes = body->size;
        if (share(array, range, body)) { return true; }
        if (!restore(array, range)) { return false; }
    }
    memcpy(to, body->data, body->size);
    return true;
}

void value_array_return(struct value_array *array)
{
    for (uint32_t i = 0; i < array->range_end; i++) {
        buffer_release(array->ranges[i].held);
        array->ranges[i].held = NULL;
    }
}

void value_array_close(struct value_array *array)
{
    if (array->values == NULL) { return; }
    value_array_return(array);
    for (uint32_t i = 0; i < array->range_end; i++) { (void)restore(array, &array->ranges[i]); }
    buffer_release(array->values);
    *array = (struct value_array){.values = NULL};
}
