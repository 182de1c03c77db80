#include "worker/value_array.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"

bool value_array_open(struct value_array *array, const struct memory_port *port,
                      enum value_sharing sharing, size_t bytes, struct buffer_pool *pool)
{
    *array = (struct value_array){.port = *port, .sharing = sharing};
    if (port->page_bytes == 0) { array->sharing = VALUES_COPIED; }
    const bool copied = array->sharing == VALUES_COPIED;
    array->values = copied ? buffer_acquire(pool, bytes) : memory_array_create(bytes);
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
    if (!array->port.unalias(array->port.ctx, to + before, pages)) { return false; }
    range->memory = 0;
    return true;
}

/* Whether the whole pages of the body are in the array now. It is `range->bytes` bytes at `from`,
 * of which `body` has all or the last ones. */
static bool show(struct value_array *array, struct value_range *range, const struct buffer *body,
                 const uint8_t *from)
{
    const struct memory_port *port = &array->port;
    size_t before, pages;
    uint8_t *to = place_of(array, range, &before, &pages);
    const uintptr_t apart = (uintptr_t)to - (uintptr_t)from;
    if (array->cannot_alias || body->memory == 0 || pages == 0) { return false; }
    if (apart % port->page_bytes != 0) { return false; }
    if (range->memory != body->memory || range->from != from) {
        range->memory = body->memory;
        range->from = from;
        const struct buffer whole = {
            .data = (void *)(uintptr_t)from, .size = range->bytes, .memory = body->memory};
        if (!port->alias(port->ctx, &whole, before, to + before, pages, false)) {
            array->cannot_alias = true;
            return false;
        }
    }
    const size_t after = before + pages;
    memcpy(to, from, before);
    memcpy(to + after, from + after, range->bytes - after);
    return true;
}

/* ------------------------------------------------------------ chunk by chunk */

static bool take_chunk(struct value_array *array, struct value_range *range, size_t offset,
                       struct buffer *body)
{
    assert(range->memory == 0 || (range->offset == offset && range->bytes == body->size));
    buffer_release(range->held);
    range->held = NULL;
    range->offset = offset;
    range->bytes = body->size;
    if (show(array, range, body, body->data)) {
        range->held = buffer_retain(body);
        return true;
    }
    if (!restore(array, range)) { return false; }
    memcpy((uint8_t *)array->values->data + offset, body->data, body->size);
    return true;
}

/* ----------------------------------------------------------- whole answers */

/* Where an answer begins of which `held` is the last body. */
static const uint8_t *begin_of(const struct value_range *answer)
{
    return (const uint8_t *)answer->held->data + answer->held->size - answer->bytes;
}

/* The body is not copied, because it is behind those before it in the same memory, none of which
 * changes as long as one of them is in use. */
static bool continues(const struct value_range *answer, const struct buffer *body)
{
    const struct buffer *held = answer->held;
    return held != NULL && body->memory == held->memory &&
           (const uint8_t *)body->data == (const uint8_t *)held->data + held->size;
}

static void copy_answer(const struct value_array *array, struct value_range *answer)
{
    memcpy((uint8_t *)array->values->data + answer->offset, begin_of(answer), answer->bytes);
    buffer_release(answer->held);
    answer->held = NULL;
}

static bool take_of_answer(struct value_array *array, struct value_range *answer, uint32_t number,
                           size_t offset, struct buffer *body)
{
    bool stays = continues(answer, body);
    if (number == 0) {
        buffer_release(answer->held);
        answer->held = NULL;
        if (!restore(array, answer)) { return false; }
        answer->offset = offset;
        answer->bytes = 0;
        stays = body->memory != 0 && !array->cannot_alias;
    }
    assert(answer->memory == 0 && offset == answer->offset + answer->bytes);
    if (stays) {
        buffer_release(answer->held);
        answer->held = buffer_retain(body);
    } else {
        if (answer->held != NULL) { copy_answer(array, answer); }
        memcpy((uint8_t *)array->values->data + offset, body->data, body->size);
    }
    answer->bytes += body->size;
    return true;
}

static bool complete_answer(struct value_array *array, struct value_range *answer)
{
    if (answer->held == NULL) { return true; }
    if (show(array, answer, answer->held, begin_of(answer))) { return true; }
    if (!restore(array, answer)) { return false; }
    copy_answer(array, answer);
    return true;
}

/* -------------------------------------------------------------------- both */

static struct value_range *use_range(struct value_array *array, uint32_t index)
{
    array->range_end = u32_max(array->range_end, index + 1);
    return &array->ranges[index];
}

bool value_array_take(struct value_array *array, uint32_t ps, uint32_t number, size_t offset,
                      struct buffer *body)
{
    assert(offset + body->size <= array->values->size);
    if (array->sharing == VALUES_COPIED) {
        memcpy((uint8_t *)array->values->data + offset, body->data, body->size);
        return true;
    }
    assert(ps < PS_MAX);
    if (array->sharing == VALUES_BY_ANSWER) {
        return take_of_answer(array, use_range(array, ps), number, offset, body);
    }
    assert(number < VALUE_BODIES_MAX);
    return take_chunk(array, use_range(array, ps * VALUE_BODIES_MAX + number), offset, body);
}

bool value_array_copy(struct value_array *array, uint32_t ps, uint32_t number, bool first,
                      size_t offset, const struct buffer *body)
{
    const bool by_chunk = array->sharing == VALUES_BY_CHUNK;
    assert(ps < PS_MAX && offset + body->size <= array->values->size);
    if (array->sharing != VALUES_COPIED && (first || by_chunk)) {
        assert(!by_chunk || number < VALUE_BODIES_MAX);
        struct value_range *range =
            use_range(array, by_chunk ? ps * VALUE_BODIES_MAX + number : ps);
        buffer_release(range->held);
        range->held = NULL;
        if (!restore(array, range)) { return false; }
    }
    memcpy((uint8_t *)array->values->data + offset, body->data, body->size);
    return true;
}

bool value_array_complete(struct value_array *array)
{
    if (array->sharing != VALUES_BY_ANSWER) { return true; }
    for (uint32_t i = 0; i < array->range_end; i++) {
        if (!complete_answer(array, &array->ranges[i])) { return false; }
    }
    return true;
}

void value_array_return(struct value_array *array)
{
    for (uint32_t i = 0; i < array->range_end; i++) {
        struct value_range *range = &array->ranges[i];
        /* A failed call is repeated before the range is written. */
        if (array->sharing == VALUES_BY_ANSWER) { (void)restore(array, range); }
        buffer_release(range->held);
        range->held = NULL;
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
