/* Buffers: size classes, reference counts, reuse and the limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/buffer.h"

static int create_pool(void **state)
{
    *state = buffer_pool_create(0);
    return *state == NULL;
}

static int destroy_pool(void **state)
{
    buffer_pool_destroy(*state);
    return 0;
}

/* A buffer is aligned, at least as large as requested, and writable to its last byte. */
static void buffer_is_aligned_and_large_enough(void **state)
{
    static const size_t sizes[] = {0, 1, 4096, 4097, 200 << 10, (5 << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct buffer *buffer = buffer_acquire(*state, sizes[i]);
        assert_non_null(buffer);
        assert_int_equal((uintptr_t)buffer->data % 64, 0);
        assert_int_equal(buffer->size, sizes[i]);
        assert_true(buffer->capacity >= sizes[i]);
        memset(buffer->data, 0xa5, buffer->capacity);
        buffer_release(buffer);
    }
}

/* Every byte of each buffer can be written, at every offset in a page, and buffers do not
 * overlap. */
static void every_byte_is_usable(void **state)
{
    enum { COUNT = 130 };
    struct buffer *held[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        held[i] = buffer_acquire(*state, i % 2 == 0 ? 6144 : 4096);
        assert_non_null(held[i]);
        memset(held[i]->data, (int)i, held[i]->capacity);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const uint8_t *bytes = held[i]->data;
        for (size_t at = 0; at < held[i]->capacity; at++) { assert_int_equal(bytes[at], i); }
        buffer_release(held[i]);
    }
}

/* Classes are powers of two and one and a half times these, so that at most a third is unused. */
static void size_classes_waste_at_most_a_third(void **state)
{
    static const size_t pairs[][2] = {{1, 4096},    {4097, 6144},           {6144, 6144},
                                      {6145, 8192}, {200 << 10, 256 << 10}, {190 << 10, 192 << 10}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct buffer *buffer = buffer_acquire(*state, pairs[i][0]);
        assert_int_equal(buffer->capacity, pairs[i][1]);
        buffer_release(buffer);
    }
}

/* Above 1 MiB only the last page may be partly unused, and only buffers of that many pages are used
 * again. */
static void large_sizes_are_exact(void **state)
{
    struct buffer *one = buffer_acquire(*state, (5 << 20) + 1);
    struct buffer *two = buffer_acquire(*state, 6 << 20);
    assert_int_equal(one->capacity, (5 << 20) + 4096);
    assert_int_equal(two->capacity, 6 << 20);
    buffer_release(one);
    buffer_release(two);
    assert_ptr_equal(buffer_acquire(*state, (5 << 20) + 4096), one);
    struct buffer *other = buffer_acquire(*state, 5 << 20);
    assert_int_equal(other->capacity, 5 << 20);
    assert_ptr_equal(buffer_acquire(*state, 6 << 20), two);
    assert_int_equal(buffer_pool_bytes(*state), (16 << 20) + 4096);
    buffer_release(one);
    buffer_release(two);
    buffer_release(other);
}

/* The newest released buffer of a class is reused first, as it is still in the caches. */
static void newest_buffer_is_reused_first(void **state)
{
    struct buffer *one = buffer_acquire(*state, 5000);
    struct buffer *two = buffer_acquire(*state, 5000);
    size_t bytes = buffer_pool_bytes(*state);
    buffer_release(one);
    buffer_release(two);
    assert_ptr_equal(buffer_acquire(*state, 6000), two);
    assert_ptr_equal(buffer_acquire(*state, 4500), one);
    assert_int_equal(buffer_pool_bytes(*state), bytes);
    buffer_release(one);
    buffer_release(two);
}

/* A buffer returns to its pool with the last reference, not before. */
static void last_reference_returns_the_buffer(void **state)
{
    struct buffer *shared = buffer_acquire(*state, 100);
    assert_ptr_equal(buffer_retain(shared), shared);
    buffer_release(shared);
    struct buffer *other = buffer_acquire(*state, 100);
    assert_ptr_not_equal(other, shared);
    buffer_release(shared);
    assert_ptr_equal(buffer_acquire(*state, 100), shared);
    buffer_release(shared);
    buffer_release(other);
    buffer_release(NULL);
}

/* A part has its bytes of the whole, which returns to its pool after the last part. */
static void parts_keep_the_whole(void **state)
{
    struct buffer *whole = buffer_acquire(*state, 100);
    memset(whole->data, 7, 100);
    struct buffer *part = buffer_part(whole, 60, 40);
    assert_ptr_equal(part->data, (char *)whole->data + 60);
    assert_int_equal(part->size, 40);
    buffer_release(whole);
    struct buffer *other = buffer_acquire(*state, 100);
    assert_ptr_not_equal(other, whole);
    buffer_retain(part);
    buffer_release(part);
    assert_int_equal(((char *)part->data)[39], 7);
    buffer_release(part);
    assert_ptr_equal(buffer_acquire(*state, 100), whole);
    buffer_release(whole);
    buffer_release(other);
}

/* A buffer above the limit is refused, after free buffers of other classes were freed. */
static void limit_is_enforced(void **state)
{
    (void)state;
    struct buffer_pool *pool = buffer_pool_create(16384);
    struct buffer *one = buffer_acquire(pool, 8192);
    struct buffer *two = buffer_acquire(pool, 8192);
    assert_non_null(one);
    assert_non_null(two);
    assert_null(buffer_acquire(pool, 1));
    assert_null(buffer_acquire(pool, SIZE_MAX));
    buffer_release(one);
    buffer_release(two);
    struct buffer *large = buffer_acquire(pool, 16384);
    assert_non_null(large);
    assert_int_equal(buffer_pool_bytes(pool), 16384);
    buffer_release(large);
    assert_null(buffer_acquire(pool, 16385));
    buffer_pool_destroy(pool);
}

/* Arrays that kernels walk in step start at different offsets within a page. */
static void starts_differ_within_the_page(void **state)
{
    struct buffer *one = buffer_acquire(*state, 1 << 20);
    struct buffer *two = buffer_acquire(*state, 1 << 20);
    assert_int_not_equal((uintptr_t)one->data % 4096, (uintptr_t)two->data % 4096);
    buffer_release(one);
    buffer_release(two);
}

/* The contents of slots that are in use stay when their memory is allocated, also if it stops. */
static void prefault_keeps_contents(void **state)
{
    (void)state;
    enum { SLOTS = 3, BYTES = 5 << 20 };
    const size_t size = SLOTS * buffer_slot_bytes(BYTES);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    atomic_bool stop = true;
    assert_ptr_not_equal(memory, MAP_FAILED);
    struct buffer_pool *pool = buffer_pool_of_slots(memory, BYTES, SLOTS);
    struct buffer *buffer = buffer_acquire(pool, BYTES);
    memset(buffer->data, 0xa5, BYTES);
    buffer_pool_prefault(pool, SLOTS, &stop);
    stop = false;
    buffer_pool_prefault(pool, SLOTS, &stop);
    for (size_t i = 0; i < BYTES; i++) { assert_int_equal(((uint8_t *)buffer->data)[i], 0xa5); }
    buffer_release(buffer);
    buffer_pool_destroy(pool);
    (void)munmap(memory, size);
}

/* A slot begins at the line that is asked for, then again where it did before; and those that are
 * held back are only acquired by their numbers. */
static void slots_have_lines_and_are_held_back(void **state)
{
    (void)state;
    enum { SLOTS = 3, BYTES = 10000 };
    static _Alignas(4096) char memory[SLOTS * (12288 + 4096)];
    assert_int_equal(buffer_slot_bytes(BYTES) * SLOTS, sizeof memory);
    struct buffer_pool *pool = buffer_pool_of_slots(memory, BYTES, SLOTS);
    struct buffer *buffer = buffer_acquire(pool, BYTES);
    const void *usual = buffer->data;
    buffer_release(buffer);
    buffer = buffer_acquire_line(pool, BYTES, 63);
    assert_ptr_equal(buffer->data, memory + (size_t)63 * 64);
    buffer_release(buffer);
    buffer_pool_hold_back(pool, 5);
    buffer = buffer_acquire(pool, BYTES);
    assert_int_equal(buffer_slot(pool, buffer), 1);
    assert_null(buffer_acquire(pool, BYTES));
    struct buffer *found = buffer_acquire_slot(pool, 0, BYTES, BUFFER_ANY_LINE);
    assert_ptr_equal(found->data, usual);
    buffer_release(found);
    found = buffer_acquire_slot(pool, 0, BYTES, 0);
    assert_ptr_equal(found->data, memory);
    buffer_release(found);
    assert_null(buffer_acquire(pool, BYTES));
    buffer_pool_hold_back(pool, 0);
    found = buffer_acquire(pool, BYTES);
    assert_int_equal(buffer_slot(pool, found), 0);
    buffer_release(found);
    buffer_release(buffer);
    buffer_pool_destroy(pool);
}

static void count_release(void *ctx)
{
    ++*(int *)ctx;
}

/* Memory of others is a buffer until its last reference is released, by itself and in parts. */
static void wrapped_memory_is_given_back_once(void **state)
{
    (void)state;
    char memory[64] = {7};
    int releases = 0;
    struct buffer *buffer = buffer_wrap(memory, sizeof memory, count_release, &releases);
    assert_ptr_equal(buffer->data, memory);
    assert_int_equal(buffer->size, sizeof memory);
    struct buffer *part = buffer_part(buffer, 16, 8);
    buffer_release(buffer_retain(buffer));
    buffer_release(buffer);
    assert_int_equal(releases, 0);
    buffer_release(part);
    assert_int_equal(releases, 1);
}

/* Only memory of a pool that has no other user may be used for something else. */
static void memory_in_use_is_not_spare(void **state)
{
    static uint8_t wrapped_memory[64];
    int count = 0;
    struct buffer *buffer = buffer_acquire(*state, 8192);
    assert_true(buffer_is_spare(buffer));
    struct buffer *part = buffer_part(buffer, 0, 64);
    assert_false(buffer_is_spare(buffer));
    assert_false(buffer_is_spare(part));
    buffer_release(part);
    assert_true(buffer_is_spare(buffer));
    buffer_release(buffer);
    struct buffer *wrapped =
        buffer_wrap(wrapped_memory, sizeof wrapped_memory, count_release, &count);
    assert_false(buffer_is_spare(wrapped));
    buffer_release(wrapped);
}

/* Chunks that were needed once are freed when others have been used often. */
static void idle_chunks_are_freed(void **state)
{
    enum { CHUNK = 1 << 20, COUNT = 8 };
    struct buffer *held[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        held[i] = buffer_acquire(*state, CHUNK);
        assert_non_null(held[i]);
    }
    memset(held[0]->data, 1, CHUNK);
    for (size_t i = 1; i < COUNT; i++) { buffer_release(held[i]); }
    assert_int_equal(buffer_pool_bytes(*state), COUNT * CHUNK);
    for (size_t i = 0; i < 100; i++) {
        struct buffer *first = buffer_acquire(*state, CHUNK),
                      *second = buffer_acquire(*state, CHUNK);
        buffer_release(first);
        buffer_release(second);
    }
    assert_int_equal(buffer_pool_bytes(*state), 3 * CHUNK);
    assert_int_equal(((const uint8_t *)held[0]->data)[CHUNK - 1], 1);
    buffer_release(held[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(buffer_is_aligned_and_large_enough, create_pool,
                                        destroy_pool),
        cmocka_unit_test_setup_teardown(every_byte_is_usable, create_pool, destroy_pool),
        cmocka_unit_test_setup_teardown(size_classes_waste_at_most_a_third, create_pool,
                                        destroy_pool),
        cmocka_unit_test_setup_teardown(large_sizes_are_exact, create_pool, destroy_pool),
        cmocka_unit_test_setup_teardown(newest_buffer_is_reused_first, create_pool, destroy_pool),
        cmocka_unit_test_setup_teardown(last_reference_returns_the_buffer, create_pool,
                                        destroy_pool),
        cmocka_unit_test_setup_teardown(parts_keep_the_whole, create_pool, destroy_pool),
        cmocka_unit_test_setup_teardown(memory_in_use_is_not_spare, create_pool, destroy_pool),
        cmocka_unit_test(limit_is_enforced),
        cmocka_unit_test_setup_teardown(idle_chunks_are_freed, create_pool, destroy_pool),
        cmocka_unit_test(prefault_keeps_contents),
        cmocka_unit_test(slots_have_lines_and_are_held_back),
        cmocka_unit_test(wrapped_memory_is_given_back_once),
        cmocka_unit_test_setup_teardown(starts_differ_within_the_page, create_pool, destroy_pool),
    };
    buffer_pool_destroy(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
