/* The arrays of a shard in kept memory: which slots they are in, and how they are found again. */
#include <assert.h>
#include <string.h>

#include "ps/shard.h"

enum { ARRAYS = OPTIMIZER_ARRAYS_MAX };

/* ---------------------------------------------------------------- describing */

static uint32_t slot_of(const struct shard *shard, const struct buffer *buffer, bool *whole)
{
    if (buffer == NULL) { return BUFFER_NO_SLOT; }
    const uint32_t slot = buffer_slot(shard->config.kept->slots, buffer);
    *whole = *whole && slot != BUFFER_NO_SLOT;
    return slot;
}

bool shard_describe(const struct shard *shard, struct kept_record *record)
{
    bool whole = true;
    assert(shard->config.kept != NULL);
    assert(shard->current[0] != NULL && shard->answer != NULL);
    for (uint32_t a = 0; a < ARRAYS; a++) {
        record->current[a] = slot_of(shard, shard->current[a], &whole);
        record->next[a] = slot_of(shard, shard->next.arrays[a], &whole);
        record->saves[a] = slot_of(shard, shard->kept_arrays[a], &whole);
    }
    record->answer = slot_of(shard, shard->answer, &whole);
    record->next_answer = slot_of(shard, shard->next.answer, &whole);
    record->previous = slot_of(shard, shard->previous, &whole);
    record->evaluation = slot_of(shard, shard->kept_answer, &whole);
    record->begun = shard->next.answer != NULL;
    /* If an array was outside of the slots when the update began, no record has its progress. */
    const bool lacks_progress = shard->next.done > 0 && !kept_memory_has_begun(shard->config.kept);
    whole = whole && !(record->begun != 0 && lacks_progress);
    record->updates = shard->updates;
    record->kept_updates = shard->kept_updates;
    return whole;
}

/* ---------------------------------------------------------------- recovering */

/* The buffers of the slots that are in use: a slot may be named more than once. */
struct found {
    struct buffer *slots[KEPT_SLOTS];
};

static struct buffer *take(const struct shard *shard, struct found *found, uint32_t slot,
                           size_t size, uint32_t line)
{
    if (slot == BUFFER_NO_SLOT) { return NULL; }
    assert(slot < KEPT_SLOTS);
    if (found->slots[slot] != NULL) { return buffer_retain(found->slots[slot]); }
    found->slots[slot] = buffer_acquire_slot(shard->config.kept->slots, slot, size, line);
    assert(found->slots[slot] != NULL);
    return found->slots[slot];
}

static void take_arrays(const struct shard *shard, struct found *found,
                        const uint32_t slots[static ARRAYS], struct buffer *out[static ARRAYS])
{
    const size_t bytes = shard->config.count * sizeof(float);
    for (uint32_t a = 0; a < ARRAYS; a++) {
        const uint32_t line = a == 0 ? shard_line(shard) : BUFFER_ANY_LINE;
        out[a] = take(shard, found, slots[a], bytes, line);
    }
}

/* A part of a block may have its new contents: complete it. */
static void complete_block(struct shard *shard)
{
    float *changed[ARRAYS];
    shard_in_place(shard, changed);
    kept_memory_copy_block(shard->config.kept, changed);
    shard->next.done = kept_memory_done(shard->config.kept);
}

void shard_recover(struct shard *shard, const struct kept_record *record)
{
    assert(shard->config.kept != NULL);
    assert(shard->current[0] == NULL && shard->incoming[0] == NULL);
    const size_t answer_bytes = shard_answer_bytes(shard);
    const uint32_t line = shard_line(shard);
    struct found found = {{NULL}};
    take_arrays(shard, &found, record->current, shard->current);
    take_arrays(shard, &found, record->next, shard->next.arrays);
    take_arrays(shard, &found, record->saves, shard->kept_arrays);
    shard->answer = take(shard, &found, record->answer, answer_bytes, line);
    shard->next.answer = take(shard, &found, record->next_answer, answer_bytes, line);
    shard->previous = take(shard, &found, record->previous, answer_bytes, line);
    shard->kept_answer = take(shard, &found, record->evaluation, answer_bytes, line);
    shard->updates = record->updates;
    shard->kept_updates = record->kept_updates;
    if (record->begun != 0) { complete_block(shard); }
}
