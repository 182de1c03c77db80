/*
 * Fuzz target: kept memory of a ps, of which everything may be damaged. Whatever record
 * kept_memory_read() accepts, the shard continues from: no memory beside the slots is touched, and
 * the update that had begun ends, or the next one is done.
 *
 * The first byte of the input selects whether an update had begun (bit 0), whether there is a
 * checkpoint being saved (bit 1), and whether the digest fits the edited record (bit 2). Each edit
 * is 3 bytes: an offset in the record or, from 192 on, behind both records, where the progress is;
 * an operation; and a value.
 */
#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ps/shard.h"
#include "tests/unit/ps/pushed_gradient.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    V = 2,
    COUNT = 3000, /* Two blocks in one chunk, and others behind them. */
    CHUNK_BYTES = 9 * 1024,
    ARRAYS = 3,
    PAGE_BYTES = 4096,
    EDIT_BYTES = 3,
    /* The head: identity, number, two records with their digests, progress, size of the block. */
    RECORDS_AT = DIGEST_BYTES + 8,
    PROGRESS_AT = RECORDS_AT + 2 * (int)(sizeof(struct kept_record) + DIGEST_BYTES),
    PROGRESS_BYTES = 16,
};

static struct variable_table variables;
static struct job job;
static struct buffer_pool *pool;
static struct kept_memory kept;
static struct shard shard;
static uint8_t *memory, *intact; /* `intact`: the head of an undamaged memory. */
static size_t slots_at;

static void open_shard(void)
{
    const struct digest identity = {1, 2};
    const bool opened =
        kept_memory_open(&kept, memory, COUNT * sizeof(float), COUNT, ARRAYS, identity);
    assert(opened);
    const struct shard_config config = {.kernels = kernels_reference(),
                                        .optimizer = optimizer_of_job(&job, &variables),
                                        .pool = pool,
                                        .kept = &kept,
                                        .count = COUNT,
                                        .slices = V,
                                        .chunk_bytes = CHUNK_BYTES};
    enum tn_status status = shard_open(&shard, &config, NULL);
    assert(status == TN_OK);
}

static void close_shard(void)
{
    shard_close(&shard);
    kept_memory_close(&kept);
}

static void set_up(void)
{
    const uint32_t sides[] = {COUNT / 50, 50};
    enum tn_status status =
        variable_table_add(&variables, "w", 2, sides, VARIABLE_GLOROT_UNIFORM, 0, NULL);
    assert(status == TN_OK);
    job_init(&job);
    job.train.optimizer = OPTIMIZER_ADAM;
    const size_t bytes = kept_memory_bytes(COUNT * sizeof(float));
    slots_at = bytes - KEPT_SLOTS * buffer_slot_bytes(COUNT * sizeof(float));
    pool = buffer_pool_create(0);
    memory = aligned_alloc(PAGE_BYTES, bytes);
    intact = malloc(slots_at);
    assert(pool != NULL && memory != NULL && intact != NULL);
    memset(memory, 0, bytes);
    open_shard();
    bool begun = shard_begin_load(&shard);
    assert(begun);
    shard_load_initial(&shard, &variables, 7);
    begun = shard_adopt(&shard, 0);
    assert(begun);
    memcpy(intact, memory, slots_at);
    close_shard();
}

static void push_all(void)
{
    static float gradient[COUNT];
    for (uint32_t n = 0; n < V; n++) {
        for (uint32_t i = 0; i < COUNT; i++) { gradient[i] = 1e-3F * (float)(i % 97) - 0.04F; }
        shard_hold(&shard, n, pushed_gradient(pool, gradient, COUNT, CHUNK_BYTES));
    }
}

/* The record that a ps writes that has begun an update, or saves, or neither. */
static struct kept_record make_record(uint8_t options)
{
    const bool begun = options % 2 != 0, saves = options / 2 % 2 != 0;
    struct kept_record record = {.generation = 1, .step = 3, .updates = 3, .begun = begun};
    uint32_t slot = 0;
    for (uint32_t a = 0; a < OPTIMIZER_ARRAYS_MAX; a++) {
        const bool used = a < ARRAYS;
        record.current[a] = used ? slot++ : BUFFER_NO_SLOT;
        record.next[a] = record.saves[a] = BUFFER_NO_SLOT;
        if (used && begun) { record.next[a] = a == 0 || saves ? slot++ : record.current[a]; }
        if (used && saves) { record.saves[a] = record.current[a]; }
    }
    record.answer = record.current[0];
    record.next_answer = begun ? record.next[0] : BUFFER_NO_SLOT;
    record.previous = begun ? BUFFER_NO_SLOT : slot;
    record.evaluation = BUFFER_NO_SLOT;
    record.checkpoint_step = saves ? 3 : 0;
    return record;
}

/* Edit the record, or with `behind` the bytes behind both of them. */
static void edit_all(const uint8_t *edits, size_t size, uint8_t *record, bool behind)
{
    enum { BEHIND_FROM = 192 };
    for (size_t at = 0; at + EDIT_BYTES <= size; at += EDIT_BYTES) {
        const uint8_t *edit = edits + at;
        if (behind != (edit[0] >= BEHIND_FROM)) { continue; }
        uint8_t *byte = behind ? memory + PROGRESS_AT + edit[0] % PROGRESS_BYTES
                               : record + edit[0] % sizeof(struct kept_record);
        *byte = edit[1] % 2 == 0 ? edit[2] : (uint8_t)(*byte + edit[2]);
    }
}

static void continue_from(const struct kept_record *record)
{
    const struct slice_node nodes[] = {{0, 1}, {1, 1}};
    shard_recover(&shard, record);
    assert(shard.next.done <= COUNT && (record->begun != 0 || shard.next.done == 0));
    push_all();
    /* As a ps does before an update. */
    struct kept_record begun = *record;
    const bool begins = shard_begin_update(&shard), whole = shard_describe(&shard, &begun);
    assert(begins && whole);
    kept_memory_write(&kept, &begun);
    const bool applied = shard_apply(&shard, nodes, V);
    assert(applied && shard.updates == record->updates + 1);
    assert(shard.answer->size == COUNT * sizeof(float));
    if (record->checkpoint_step == 0) { return; }
    for (uint32_t a = 0; a < ARRAYS; a++) { assert(shard.kept_arrays[a] != shard.current[a]); }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (memory == NULL) { set_up(); }
    if (size == 0) { return 0; }
    memcpy(memory, intact, slots_at);
    open_shard();
    alignas(struct kept_record) uint8_t bytes[sizeof(struct kept_record)];
    struct kept_record record = make_record(data[0]), read;
    memcpy(bytes, &record, sizeof bytes);
    const bool sealed = data[0] / 4 % 2 == 0;
    if (sealed) { edit_all(data + 1, size - 1, bytes, false); }
    memcpy(&record, bytes, sizeof record);
    kept_memory_write(&kept, &record);
    /* Its number is odd or even: both are edited. */
    for (int i = 0; !sealed && i < 2; i++) {
        const size_t at = RECORDS_AT + (size_t)i * (sizeof record + DIGEST_BYTES);
        edit_all(data + 1, size - 1, memory + at, false);
    }
    edit_all(data + 1, size - 1, NULL, true);
    if (kept_memory_read(&kept, &read)) { continue_from(&read); }
    close_shard();
    return 0;
}
