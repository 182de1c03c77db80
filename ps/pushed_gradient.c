#include "ps/pushed_gradient.h"

#include <assert.h>
#include <stdlib.h>

struct pushed_gradient *pushed_gradient_create(uint32_t capacity)
{
    assert(capacity >= 1);
    struct pushed_gradient *pushed = malloc(sizeof *pushed + capacity * sizeof pushed->chunks[0]);
    if (pushed == NULL) { return NULL; }
    pushed->count = 0;
    pushed->capacity = capacity;
    return pushed;
}

void pushed_gradient_add(struct pushed_gradient *pushed, struct buffer *chunk)
{
    assert(chunk != NULL);
    assert(pushed->count < pushed->capacity);
    pushed->chunks[pushed->capacity - ++pushed->count] = chunk;
}

void pushed_gradient_free(struct pushed_gradient *pushed)
{
    if (pushed == NULL) { return; }
    for (uint32_t i = 1; i <= pushed->count; i++) {
        buffer_release(pushed->chunks[pushed->capacity - i]);
    }
    free(pushed);
}
