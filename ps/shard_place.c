/* Where pushes are: held in slots, or collected in the memory of the next values
 * (ps/push_place.h). */
#include <assert.h>

#include "common/base/minmax.h"
#include "ps/shard.h"

void shard_hold(struct shard *shard, uint32_t first, struct pushed_gradient *sum)
{
    assert(first < shard->config.slices);
    assert(sum == NULL || (sum->count == shard_chunks(shard) && !sum->ended));
    pushed_gradient_free(shard->slots[first]);
    shard->slots[first] = sum;
}

void shard_release(struct shard *shard, uint32_t first)
{
    shard_hold(shard, first, NULL);
}

void shard_release_all(struct shard *shard)
{
    for (uint32_t i = 0; i < shard->config.slices; i++) { shard_release(shard, i); }
}

bool shard_release_previous(struct shard *shard)
{
    if (shard->previous == NULL) { return false; }
    buffer_release(shard->previous);
    shard->previous = NULL;
    return true;
}

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
    shard->place = NULL;
    return place;
}

bool shard_is_updated(const struct shard *shard, const struct pushed_gradient *sum)
{
    if (sum->ended) { return true; }
    if (sum->array == NULL || sum->array != shard->next.arrays[0]) { return false; }
    const uint64_t chunk = shard->config.chunk_bytes / sizeof(float);
    assert(sum->count < sum->capacity);
    const uint64_t end = u64_min((sum->capacity - sum->count) * chunk, shard->config.count);
    return shard->next.done > shard->config.count - end;
}
