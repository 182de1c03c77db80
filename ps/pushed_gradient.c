#include "ps/pushed_gradient.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct pushed_gradient *pushed_gradient_create(uint32_t capacity)
{
    assert(capacity >= 1);
    struct pushed_gradient *pushed = malloc(sizeof *pushed + capacity * sizeof pushed->chunks[0]);
    if (pushed == NULL) { return NULL; }
    *pushed = (struct pushed_gradient){.capacity = capacity};
    return pushed;
}

struct pushed_gradient *pushed_gradient_create_in(uint32_t capacity, struct buffer *array,
                                                  uint32_t chunk_bytes)
{
    assert(array != NULL && chunk_bytes > 0);
    struct pushed_gradient *pushed = calloc(1, sizeof *pushed);
    if (pushed == NULL) { return NULL; }
    *pushed = (struct pushed_gradient){
        .capacity = capacity, .array = buffer_retain(array), .chunk_bytes = chunk_bytes};
    return pushed;
}

void pushed_gradient_add(struct pushed_gradient *pushed, struct buffer *chunk)
{
    assert(chunk != NULL);
    assert(pushed->count < pushed->capacity);
    const uint32_t place = pushed->capacity - ++pushed->count;
    if (pushed->array == NULL) {
        pushed->chunks[place] = chunk;
        return;
    }
    const size_t at = (size_t)place * pushed->chunk_bytes;
    assert(at + chunk->size <= pushed->array->size);
    memcpy((char *)pushed->array->data + at, chunk->data, chunk->size);
    buffer_release(chunk);
}

void pushed_gradient_skip(struct pushed_gradient *pushed)
{
    assert(pushed->array != NULL || pushed->ended);
    assert(pushed->count < pushed->capacity);
    pushed->count++;
}

void pushed_gradient_end(struct pushed_gradient *pushed)
{
    assert(pushed->array != NULL);
    buffer_release(pushed->array);
    pushed->array = NULL;
    pushed->ended = true;
}

void pushed_gradient_free(struct pushed_gradient *pushed)
{
    if (pushed == NULL) { return; }
    buffer_release(pushed->array);
    const bool has_chunks = pushed->array == NULL && !pushed->ended;
    for (uint32_t i = 1; i <= pushed->count && has_chunks; i++) {
        buffer_release(pushed->chunks[pushed->capacity - i]);
    }
    free(pushed);
}
