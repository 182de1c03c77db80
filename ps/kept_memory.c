#include "ps/kept_memory.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

enum {
    PAGE_BYTES = 4096,
    LINE_BYTES = 64,
    BLOCKS_APART = 16 * 17, /* Floats between two: not the same sets of the cache. */
    LAYOUT = 5,
};

struct kept_head {
    uint8_t identity[DIGEST_BYTES];
    /* Record `valid % 2`, whose number is `valid`. */
    _Atomic uint64_t valid;
    _Atomic uint64_t lent; /* Bits of the slots that workers may still read. */
    struct {
        struct kept_record record;
        uint8_t digest[DIGEST_BYTES];
    } records[2];
    /* The progress of a begun update: twice the floats that are done, which are the last ones, plus
     * 1 while the new state of the block before them, of `block_count` floats, is in `blocks`. */
    _Atomic uint64_t progress;
    uint64_t block_count;
    _Alignas(LINE_BYTES) float blocks[OPTIMIZER_ARRAYS_MAX][KEPT_BLOCK_FLOATS + BLOCKS_APART];
    struct losses losses;
};

static size_t head_bytes(void)
{
    return (sizeof(struct kept_head) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

size_t kept_memory_bytes(size_t slot_bytes)
{
    return head_bytes() + KEPT_SLOTS * buffer_slot_bytes(slot_bytes);
}

/* All stores before it come before it, and all behind it behind it. Fences for the compiler are
 * enough: a signal ends a process between two instructions, and its successor begins later. */
static void store(_Atomic uint64_t *to, uint64_t value)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(to, value, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static uint64_t load(const _Atomic uint64_t *from)
{
    return atomic_load_explicit(from, memory_order_acquire);
}

bool kept_memory_open(struct kept_memory *kept, void *memory, size_t slot_bytes, uint64_t count,
                      uint32_t arrays, struct digest identity)
{
    static_assert(sizeof(struct kept_record) ==
                      176 + 24 + 4 * ROW_TABLES_MAX + MANIFEST_CHAIN_MAX * 32,
                  "no padding");
    assert(arrays >= 1 && arrays <= OPTIMIZER_ARRAYS_MAX);
    struct kept_head *head = memory;
    *kept = (struct kept_memory){.head = head,
                                 .slot_bytes = buffer_slot_bytes(slot_bytes),
                                 .count = count,
                                 .arrays = arrays};
    kept->slots = buffer_pool_of_slots((char *)memory + head_bytes(), slot_bytes, KEPT_SLOTS);
    if (kept->slots == NULL) { return false; }
    struct {
        struct digest identity;
        uint64_t layout, head_bytes, slot_bytes, count, arrays;
    } parts = {identity, LAYOUT, sizeof *head, slot_bytes, count, arrays};
    uint8_t expected[DIGEST_BYTES];
    digest_encode(digest_of(&parts, sizeof parts), expected);
    const bool same = memcmp(head->identity, expected, sizeof expected) == 0;
    /* Other slots were lent, of another size: they may be anywhere. */
    if (!same && load(&head->lent) != 0) { store(&head->lent, UINT64_MAX); }
    buffer_pool_hold_back(kept->slots, load(&head->lent));
    if (same) { return true; }
    kept_memory_clear(kept);
    memset(&head->losses, 0, sizeof head->losses);
    memcpy(head->identity, expected, sizeof expected);
    return true;
}

void kept_memory_close(struct kept_memory *kept)
{
    buffer_pool_destroy(kept->slots);
    *kept = (struct kept_memory){0};
}

struct loan_memory kept_memory_loans(const struct kept_memory *kept, int fd)
{
    assert(kept->slots != NULL);
    return (struct loan_memory){
        .fd = fd,
        .offset = head_bytes(),
        .memory = (char *)kept->head + head_bytes(),
        .bytes = KEPT_SLOTS * kept->slot_bytes,
        .pool = kept->slots,
        .lent = &kept->head->lent,
    };
}

/* ------------------------------------------------------------------- records */

static void digest_record(const struct kept_record *record, uint64_t number,
                          uint8_t out[static DIGEST_BYTES])
{
    struct {
        struct kept_record record;
        uint64_t number;
    } parts = {*record, number};
    digest_encode(digest_of(&parts, sizeof parts), out);
}

/* Slots that are named as written: no other array may be in them. */
static bool is_apart(const struct kept_record *record, uint32_t array)
{
    const uint32_t slot = array < OPTIMIZER_ARRAYS_MAX ? record->next[array] : record->next_answer;
    const bool in_place =
        array > 0 && array < OPTIMIZER_ARRAYS_MAX && record->current[array] == slot;
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
        if (record->saves[a] == slot ||
            (a != array && record->next[a] == slot && !(array == OPTIMIZER_ARRAYS_MAX && a == 0))) {
            return false;
        }
        if (record->current[a] == slot && !(in_place && a == array)) { return false; }
    }
    return record->answer != slot && record->previous != slot && record->evaluation != slot;
}

static bool is_slot(uint32_t slot)
{
    return slot < KEPT_SLOTS;
}

/* Whether it is a slot if one is `wanted`, and none if not. */
static bool is_as_wanted(uint32_t slot, bool wanted)
{
    return wanted ? is_slot(slot) : slot == BUFFER_NO_SLOT;
}

static bool is_consistent(const struct kept_memory *kept, const struct kept_record *record)
{
    const bool begun = record->begun != 0, saves = record->checkpoint_step != 0;
    const bool previous = record->previous != BUFFER_NO_SLOT;
    if (!is_slot(record->answer) || !is_as_wanted(record->previous, previous)) { return false; }
    if (!is_as_wanted(record->evaluation, record->evaluation_step != 0)) { return false; }
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
        const bool used = a < kept->arrays;
        if (!is_as_wanted(record->current[a], used)) { return false; }
        if (!is_as_wanted(record->saves[a], used && saves)) { return false; }
        if (!is_as_wanted(record->next[a], used && begun)) { return false; }
        for (uint32_t b = 0; used && b < a; b++) {
            if (record->current[a] == record->current[b]) { return false; }
        }
        if (used && begun && !is_apart(record, a)) { return false; }
    }
    /* An update begins with the release of the previous values. */
    if (begun && previous) { return false; }
    if (!is_as_wanted(record->next_answer, begun)) { return false; }
    return !begun || is_apart(record, OPTIMIZER_ARRAYS_MAX);
}

/* Whether the progress of a begun update is possible. */
static bool has_progress(const struct kept_memory *kept)
{
    const uint64_t progress = load(&kept->head->progress), done = progress / 2;
    if (done > kept->count) { return false; }
    if (progress % 2 == 0) { return true; }
    const uint64_t count = kept->head->block_count;
    return count >= 1 && count <= KEPT_BLOCK_FLOATS && count <= kept->count - done;
}

bool kept_memory_read(const struct kept_memory *kept, struct kept_record *out)
{
    const uint64_t valid = load(&kept->head->valid);
    uint8_t digest[DIGEST_BYTES];
    *out = kept->head->records[valid % 2].record;
    digest_record(out, valid, digest);
    if (memcmp(digest, kept->head->records[valid % 2].digest, sizeof digest) != 0) { return false; }
    if (out->generation == 0 || !is_consistent(kept, out)) { return false; }
    return out->begun == 0 || has_progress(kept);
}

void kept_memory_write(struct kept_memory *kept, const struct kept_record *record)
{
    struct kept_head *head = kept->head;
    const uint64_t valid = load(&head->valid), next = valid + 1;
    const struct kept_record *before = &head->records[valid % 2].record;
    const bool same = before->begun != 0 && record->begun != 0 && before->step == record->step &&
                      before->generation == record->generation;
    head->records[next % 2].record = *record;
    digest_record(record, next, head->records[next % 2].digest);
    /* The record before is not of a begun update, or it is of a later use of the memory. */
    if (!same && record->begun != 0) { store(&head->progress, 0); }
    store(&head->valid, next);
}

bool kept_memory_has_begun(const struct kept_memory *kept)
{
    return kept->head->records[load(&kept->head->valid) % 2].record.begun != 0;
}

void kept_memory_clear(struct kept_memory *kept)
{
    const struct kept_record nothing = {0};
    kept_memory_write(kept, &nothing);
}

/* -------------------------------------------------------------------- blocks */

uint64_t kept_memory_done(const struct kept_memory *kept)
{
    return load(&kept->head->progress) / 2;
}

float *kept_memory_block(const struct kept_memory *kept, uint32_t array)
{
    assert(array < kept->arrays);
    return kept->head->blocks[array];
}

void kept_memory_note_block(struct kept_memory *kept, uint64_t done, uint32_t count)
{
    const uint64_t valid = load(&kept->head->valid);
    assert(count >= 1 && count <= KEPT_BLOCK_FLOATS);
    /* If the record is not of a begun update, because arrays are in no slots, nothing depends on
     * the progress, and a former process may have left any. */
    assert(kept->head->records[valid % 2].record.begun == 0 ||
           load(&kept->head->progress) == 2 * done);
    kept->head->block_count = count;
    store(&kept->head->progress, 2 * done + 1);
}

uint32_t kept_memory_noted(const struct kept_memory *kept)
{
    const bool noted = load(&kept->head->progress) % 2 != 0;
    return noted ? (uint32_t)kept->head->block_count : 0;
}

void kept_memory_copy_block(struct kept_memory *kept,
                            float *const arrays[static OPTIMIZER_ARRAYS_MAX])
{
    struct kept_head *head = kept->head;
    const uint64_t done = load(&head->progress) / 2, count = kept_memory_noted(kept);
    if (count == 0) { return; }
    assert(count <= KEPT_BLOCK_FLOATS && done + count <= kept->count);
    for (uint32_t a = 0; a < kept->arrays; a++) {
        if (arrays[a] == NULL) { continue; }
        float *to = arrays[a] + kept->count - done - count;
        memcpy(to, head->blocks[a], count * sizeof(float));
    }
    store(&head->progress, 2 * (done + count));
}

struct losses *kept_memory_losses(struct kept_memory *kept)
{
    return &kept->head->losses;
}
