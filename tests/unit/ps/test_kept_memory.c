/* Kept memory: a ps that is killed at any moment of an update leaves what its successor needs. */
#include "ps/kept_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ps/shard.h"
#include "tests/unit/ps/pushed_gradient.h"

enum { V = 2, COUNT = 5000, CHUNK_BYTES = 4096, PAGE_BYTES = 4096, STEPS = 3, PASSES_MAX = 64 };

static const struct digest identity = {1, 2};
static struct variable_table variables;
static struct buffer_pool *pool;
static struct shard shard;
static struct kept_memory kept;
static void *memory, *copy;
static size_t memory_bytes;
static uint32_t passes, copy_at; /* The memory is copied at this pass; 0: never. */
static bool has_slots = true;    /* The arrays of the ps are in slots. */
static bool by_parts;            /* Updates follow the chunks of pushes. */

/* ------------------------------------------------------------------- dying */

static void pass(void)
{
    if (++passes == copy_at) { memcpy(copy, memory, memory_bytes); }
}

/* Adam in three parts: a third of a block is updated, then the rest. */
static void update(size_t count, const struct optimizer_constants *constants, const float *gradient,
                   const float *const in[static OPTIMIZER_ARRAYS_MAX],
                   float *const out[static OPTIMIZER_ARRAYS_MAX])
{
    const size_t third = count / 3;
    const float *rest_in[OPTIMIZER_ARRAYS_MAX] = {in[0] + third, in[1] + third, in[2] + third};
    float *rest_out[OPTIMIZER_ARRAYS_MAX] = {out[0] + third, out[1] + third, out[2] + third};
    optimizer_kernel *adam = optimizer_reference.update[OPTIMIZER_ADAM];
    pass();
    adam(third, constants, gradient, in, out);
    pass();
    adam(count - third, constants, gradient + third, rest_in, rest_out);
    pass();
}

/* ------------------------------------------------------------------- a ps */

static void open_ps(void *in)
{
    static struct optimizer_kernels optimizers;
    static struct kernels kernels;
    static struct job job;
    optimizers = optimizer_reference;
    optimizers.update[OPTIMIZER_ADAM] = update;
    kernels = *kernels_reference();
    kernels.optimizers = &optimizers;
    job_init(&job);
    job.train.optimizer = OPTIMIZER_ADAM;
    pool = buffer_pool_create(0);
    assert_true(kept_memory_open(&kept, in, COUNT * sizeof(float), COUNT, 3, identity));
    const struct shard_config config = {.kernels = &kernels,
                                        .optimizer = optimizer_of_job(&job, &variables),
                                        .pool = pool,
                                        .kept = &kept,
                                        .count = COUNT,
                                        .slices = V,
                                        .chunk_bytes = CHUNK_BYTES};
    assert_int_equal(shard_open(&shard, &config, NULL), TN_OK);
}

static void close_ps(void)
{
    shard_close(&shard);
    kept_memory_close(&kept); /* Asserts that no slot is in use. */
    buffer_pool_destroy(pool);
}

static void note(uint64_t step)
{
    struct kept_record record = {.generation = 1, .step = step};
    const bool whole = shard_describe(&shard, &record);
    assert_int_equal(whole, has_slots);
    if (whole) {
        kept_memory_write(&kept, &record);
    } else {
        kept_memory_clear(&kept);
    }
}

static const struct slice_node nodes[] = {{0, 1}, {1, 1}};

static void hold_pushes(uint64_t step)
{
    static float gradient[COUNT];
    for (uint32_t n = 0; n < V; n++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            gradient[i] = 1e-3F * (float)((i * 7 + step * 3 + n) % 1009) - 0.5F;
        }
        shard_hold(&shard, n, pushed_gradient(pool, gradient, COUNT, CHUNK_BYTES));
    }
}

/* The last `chunks` chunks of the held pushes are applied. */
static void apply_part(uint64_t step, uint32_t chunks)
{
    static const struct pushed_gradient *const held[V];
    assert_true(shard_begin_update(&shard));
    note(step);
    pass();
    assert_true(shard_apply_chunks(&shard, nodes, held, V, chunks));
    pass();
}

static void train(uint64_t from, uint64_t to)
{
    for (uint64_t step = from; step < to; step++) {
        hold_pushes(step);
        for (uint32_t chunks = 1; by_parts && chunks < shard_chunks(&shard); chunks += 2) {
            apply_part(step, chunks);
        }
        assert_true(shard_begin_update(&shard));
        note(step);
        pass();
        assert_true(shard_apply(&shard, nodes, V));
        pass();
        note(step + 1);
        pass();
    }
}

static void load_initial(void)
{
    assert_true(shard_begin_load(&shard));
    shard_load_initial(&shard, &variables, 7);
    assert_true(shard_adopt(&shard, 0));
    note(0);
}

static void begin(void)
{
    memset(memory, 0, memory_bytes);
    open_ps(memory);
    struct kept_record record;
    assert_false(kept_memory_read(&kept, &record));
    load_initial();
}

static int setup(void **state)
{
    (void)state;
    const uint32_t sides[] = {100, 50};
    variables = (struct variable_table){0};
    assert_int_equal(
        variable_table_add(&variables, "w", 2, sides, VARIABLE_GLOROT_UNIFORM, 0, NULL), TN_OK);
    memory_bytes = kept_memory_bytes(COUNT * sizeof(float));
    memory = aligned_alloc(PAGE_BYTES, memory_bytes);
    copy = aligned_alloc(PAGE_BYTES, memory_bytes);
    assert_non_null(memory);
    assert_non_null(copy);
    passes = copy_at = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(memory);
    free(copy);
    return 0;
}

static void copy_arrays(float out[static 3 * COUNT])
{
    for (uint32_t a = 0; a < 3; a++) {
        memcpy(out + a * COUNT, shard.current[a]->data, COUNT * sizeof(float));
    }
}

/* ------------------------------------------------------------------- tests */

/* Killed at any place of three steps, a ps finds complete values and ends with the same bits. */
static void kill_at_any_moment(void)
{
    static float values[STEPS + 1][COUNT], expected[3 * COUNT], found[3 * COUNT];
    begin();
    for (uint64_t step = 0; step <= STEPS; step++) {
        memcpy(values[step], shard.answer->data, sizeof values[step]);
        if (step < STEPS) { train(step, step + 1); }
    }
    copy_arrays(expected);
    close_ps();
    const uint32_t all = passes;
    uint32_t torn = 0;
    assert_in_range(all, STEPS * 3, STEPS * PASSES_MAX);
    for (uint32_t at = 1; at <= all; at++) {
        passes = 0;
        copy_at = at;
        begin();
        train(0, STEPS);
        close_ps();
        copy_at = 0;
        open_ps(copy);
        struct kept_record record;
        assert_true(kept_memory_read(&kept, &record));
        shard_recover(&shard, &record);
        torn += record.begun != 0 && shard.next.done > 0 && shard.next.done < COUNT;
        assert_memory_equal(shard.answer->data, values[record.step], sizeof values[0]);
        train(record.step, STEPS);
        copy_arrays(found);
        assert_memory_equal(found, expected, sizeof expected);
        assert_int_equal(shard.updates, STEPS);
        close_ps();
    }
    assert_true(torn >= STEPS);
}

static void test_update_continues_after_a_kill_at_any_moment(void **state)
{
    (void)state;
    kill_at_any_moment();
}

/* The same if updates follow the chunks of pushes. */
static void test_parts_continue_after_a_kill_at_any_moment(void **state)
{
    (void)state;
    by_parts = true;
    kill_at_any_moment();
    by_parts = false;
}

/* While values that are kept are outside of the slots, an update begins. If they are released
 * before it ends, no record shows it in the middle, because none has its progress. */
static void test_update_without_progress_is_not_recorded(void **state)
{
    (void)state;
    static float expected[3 * COUNT], found[3 * COUNT];
    struct buffer *taken[KEPT_SLOTS];
    struct kept_record record;
    begin();
    train(0, 3);
    copy_arrays(expected);
    close_ps();
    begin();
    for (uint32_t i = 0; i < KEPT_SLOTS; i++) {
        taken[i] = buffer_acquire(kept.slots, COUNT * sizeof(float)); /* NULL: the others. */
    }
    has_slots = false;
    train(0, 1);
    for (uint32_t i = 0; i < KEPT_SLOTS; i++) { buffer_release(taken[i]); }
    assert_true(shard_keep(&shard, false));
    train(1, 2);
    hold_pushes(2);
    apply_part(2, 2);
    shard_unkeep(&shard, false);
    apply_part(2, 4);
    assert_false(kept_memory_read(&kept, &record));
    assert_true(shard_apply(&shard, nodes, V));
    has_slots = true;
    note(3);
    assert_true(kept_memory_read(&kept, &record));
    assert_int_equal(record.begun, 0);
    copy_arrays(found);
    assert_memory_equal(found, expected, sizeof expected);
    close_ps();
}

/* State that a save reads is not updated in place: the update can be continued all the same. */
static void test_kept_state_survives(void **state)
{
    (void)state;
    static float expected[3 * COUNT], found[3 * COUNT];
    begin();
    train(0, 1);
    assert_true(shard_keep(&shard, true));
    copy_arrays(expected);
    assert_true(shard_begin_update(&shard));
    struct kept_record record = {.generation = 1, .step = 1, .checkpoint_step = 1};
    assert_true(shard_describe(&shard, &record));
    kept_memory_write(&kept, &record);
    memcpy(copy, memory, memory_bytes);
    close_ps();
    open_ps(copy);
    assert_true(kept_memory_read(&kept, &record));
    shard_recover(&shard, &record);
    train(1, 2);
    assert_ptr_not_equal(shard.kept_arrays[1], shard.current[1]);
    for (uint32_t a = 0; a < 3; a++) {
        memcpy(found + a * COUNT, shard.kept_arrays[a]->data, COUNT * sizeof(float));
    }
    assert_memory_equal(found, expected, sizeof expected);
    close_ps();
}

/* A process that was killed while it copied a block to its place leaves all that completes it. */
static void test_half_copied_block_is_completed(void **state)
{
    (void)state;
    enum { OFFSET = 1000, SIZE = 100, PLACE = COUNT - OFFSET - SIZE };
    static float array[COUNT], expected[COUNT];
    float *const arrays[OPTIMIZER_ARRAYS_MAX] = {NULL, array, NULL};
    memset(memory, 0, memory_bytes);
    assert_true(kept_memory_open(&kept, memory, COUNT * sizeof(float), COUNT, 3, identity));
    for (uint32_t at = 0; at < OFFSET; at += SIZE) {
        kept_memory_note_block(&kept, at, SIZE);
        kept_memory_copy_block(&kept, (float *const[OPTIMIZER_ARRAYS_MAX]){NULL});
    }
    for (uint32_t i = 0; i < SIZE; i++) {
        const float value = (float)(i + 1);
        kept_memory_block(&kept, 1)[i] = expected[PLACE + i] = value;
    }
    kept_memory_note_block(&kept, OFFSET, SIZE);
    memcpy(array + PLACE, expected + PLACE, SIZE / 2 * sizeof(float));
    kept_memory_close(&kept);
    assert_true(kept_memory_open(&kept, memory, COUNT * sizeof(float), COUNT, 3, identity));
    assert_int_equal(kept_memory_done(&kept), OFFSET);
    assert_int_equal(kept_memory_noted(&kept), SIZE);
    for (uint32_t times = 0; times < 2; times++) {
        kept_memory_copy_block(&kept, arrays);
        assert_int_equal(kept_memory_done(&kept), OFFSET + SIZE);
        assert_int_equal(kept_memory_noted(&kept), 0);
        assert_memory_equal(array, expected, sizeof array);
    }
    kept_memory_close(&kept);
}

/* Whatever is changed in a record, it is not used. */
static void test_damaged_records_are_refused(void **state)
{
    (void)state;
    begin();
    train(0, 1);
    struct kept_record record;
    assert_true(kept_memory_read(&kept, &record));
    uint8_t *head = memory;
    uint32_t refused = 0;
    for (size_t i = DIGEST_BYTES; i < DIGEST_BYTES + 2 * (sizeof record + DIGEST_BYTES); i++) {
        head[i] ^= 0x10;
        struct kept_record other;
        const bool valid = kept_memory_read(&kept, &other);
        assert_true(!valid || memcmp(&record, &other, sizeof record) == 0);
        refused += !valid;
        head[i] ^= 0x10;
    }
    assert_true(refused >= sizeof record);
    close_ps();
}

/* Slots that contradict each other are refused even with a digest that is right. */
static void test_contradictions_are_refused(void **state)
{
    (void)state;
    begin();
    assert_true(shard_begin_update(&shard));
    struct kept_record good = {.generation = 1, .step = 0}, read;
    assert_true(shard_describe(&shard, &good));
    kept_memory_write(&kept, &good);
    assert_true(kept_memory_read(&kept, &read));
    for (uint32_t i = 0; i < 9; i++) {
        struct kept_record bad = good;
        switch (i) {
        case 0: bad.generation = 0; break;
        case 1: bad.current[0] = KEPT_SLOTS; break;
        case 2: bad.current[1] = bad.current[2]; break;
        case 3: bad.next[0] = bad.current[0]; break;
        case 4: bad.next[1] = bad.next[2]; break;
        case 5: bad.answer = BUFFER_NO_SLOT; break;
        case 6: bad.previous = bad.next[0]; break;
        case 7: bad.evaluation_step = 4; break;
        case 8: bad.previous = bad.answer; break;
        }
        kept_memory_write(&kept, &bad);
        assert_false(kept_memory_read(&kept, &read));
    }
    close_ps();
}

/* The memory of another shard, job or layout is empty. */
static void test_other_identity_is_empty(void **state)
{
    (void)state;
    begin();
    close_ps();
    struct kept_record record;
    const struct digest other = {1, 3};
    assert_true(kept_memory_open(&kept, memory, COUNT * sizeof(float), COUNT, 3, identity));
    assert_true(kept_memory_read(&kept, &record));
    kept_memory_close(&kept);
    assert_true(kept_memory_open(&kept, memory, COUNT * sizeof(float), COUNT, 3, other));
    assert_false(kept_memory_read(&kept, &record));
    kept_memory_close(&kept);
    assert_true(kept_memory_open(&kept, memory, COUNT * sizeof(float), COUNT, 3, identity));
    assert_false(kept_memory_read(&kept, &record));
    kept_memory_close(&kept);
}

/* Slots that a former process has lent are held back; all, if it had slots of another shard. */
static void test_lent_slots_are_held_back(void **state)
{
    (void)state;
    const size_t bytes = COUNT * sizeof(float);
    assert_true(kept_memory_open(&kept, memory, bytes, COUNT, 3, identity));
    struct loan_memory offered = kept_memory_loans(&kept, 3);
    assert_ptr_equal(offered.memory, (char *)memory + offered.offset);
    assert_int_equal(offered.offset + offered.bytes, kept_memory_bytes(bytes));
    *offered.lent = 3;
    kept_memory_close(&kept);
    assert_true(kept_memory_open(&kept, memory, bytes, COUNT, 3, identity));
    struct buffer *buffer = buffer_acquire(kept.slots, bytes);
    assert_int_equal(buffer_slot(kept.slots, buffer), 2);
    buffer_release(buffer);
    kept_memory_close(&kept);
    assert_true(kept_memory_open(&kept, memory, bytes, COUNT, 3, (struct digest){1, 3}));
    assert_null(buffer_acquire(kept.slots, bytes));
    kept_memory_close(&kept);
}

/* A ps whose arrays are in no slots, because all are held back, keeps nothing, but it trains,
 * whatever progress of an update a former process has left. */
static void test_ps_without_slots_trains(void **state)
{
    (void)state;
    static float expected[3 * COUNT], found[3 * COUNT];
    begin();
    train(0, STEPS);
    copy_arrays(expected);
    *kept_memory_loans(&kept, 3).lent = UINT64_MAX;
    close_ps();
    has_slots = false;
    open_ps(memory);
    load_initial();
    train(0, STEPS);
    has_slots = true;
    copy_arrays(found);
    assert_memory_equal(found, expected, sizeof expected);
    struct kept_record record;
    assert_false(kept_memory_read(&kept, &record));
    close_ps();
}

/* Values begin at the line of a page at which they begin in the array of a worker. */
static void test_values_begin_at_their_line(void **state)
{
    (void)state;
    begin();
    shard.config.first = 1000 * 16;
    assert_true(shard_begin_update(&shard));
    assert_int_equal((uintptr_t)shard.next.arrays[0]->data % 4096, 1000 * 64 % 4096);
    assert_ptr_equal(shard.next.answer, shard.next.arrays[0]);
    close_ps();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_update_continues_after_a_kill_at_any_moment, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_parts_continue_after_a_kill_at_any_moment, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_update_without_progress_is_not_recorded, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_kept_state_survives, setup, teardown),
        cmocka_unit_test_setup_teardown(test_half_copied_block_is_completed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_records_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_contradictions_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_identity_is_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lent_slots_are_held_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ps_without_slots_trains, setup, teardown),
        cmocka_unit_test_setup_teardown(test_values_begin_at_their_line, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
