/* Where a push is collected: in the memory of the next values (ps/push_place.h). */
#include <assert.h>

#include "ps/shard.h"

void shard_release_former(struct shard *shard)
{
    buffer_release(shard->former);
    shard->former = NULL;
}

bool shard_retire_previous(struct shard *shard)
{
    struct buffer *previous = shard->previous;
    assert(shard->former == NULL || previous == NULL);
    if (previous == NULL) { return false; }
    /* A kept answer has a second owner for many steps. */
    if (previous == shard->kept_answer || previous == shard->kept_arrays[0]) {
        return shard_release_previous(shard);
    }
    shard->former = previous;
    shard->previous = NULL;
    return true;
}

struct pushed_gradient *shard_begin_push(struct shard *shard)
{
    assert(shard->previous == NULL);
    assert(!shard->config.no_answers);
    if (shard->next.arrays[0] != NULL) { return NULL; }
    if (shard->place == NULL) {
        if (shard->former != NULL && !buffer_is_exclusive(shard->former)) { return NULL; }
        /* Then it is acquired again, unless workers of a former process may read it (T10). */
        shard_release_former(shard);
        shard->place = shard_acquire_array(shard, 0);
    }
    if (shard->place == NULL || !buffer_is_exclusive(shard->place)) { return NULL; }
    return pushed_gradient_create_in(shard_chunks(shard), shard->place, shard->config.chunk_bytes);
}

struct buffer *shard_take_place(struct shard *shard)
{
    struct buffer *place = shard->place;
    if (place == NULL) { return NULL; }
    bool is_free = buffer_is_exclusive(place);
    for (uint32_t i = 0; i < shard->config.slices && !is_free; i++) {
        is_free = shard->slots[i] != NULL && shard->slots[i]->array == place;
    }
    shard->place = NULL;
    if (is_free) { return place; }
    buffer_release(place);
    return NULL;
}
