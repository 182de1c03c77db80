/* The file in memory that an agent keeps for a ps: its size, its place, its contents, its pages. */
#include "ps/kept_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/buffer.h"
#include "common/base/error.h"

enum { HUGE_PAGE_BYTES = 2 << 20, SLOT_BYTES = 3 * HUGE_PAGE_BYTES, SLOTS = 2 };

static int create_file(void)
{
    int fd = memfd_create("test-kept-file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    return fd;
}

/* Bytes at `memory` that huge pages of a memory file map. */
static size_t huge_bytes(const void *memory)
{
    char line[256];
    size_t from, to, kib = 0;
    bool here = false;
    FILE *file = fopen("/proc/self/smaps", "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%zx-%zx", &from, &to) == 2) {
            here = from <= (uintptr_t)memory && (uintptr_t)memory < to;
        }
        if (here && sscanf(line, "ShmemPmdMapped: %zu", &kib) == 1) { break; }
    }
    fclose(file);
    return kib * 1024;
}

/* A page that is in use, so that only the pages around it are new. */
static bool machine_has_huge_pages(void)
{
    enum { COLLAPSE = 25 };
    struct error error = {.text = ""};
    volatile char *memory = kept_file_map(create_file(), HUGE_PAGE_BYTES, &error);
    assert_non_null((void *)(uintptr_t)memory);
    (void)*memory;
    const bool has = madvise((void *)(uintptr_t)memory, HUGE_PAGE_BYTES, COLLAPSE) == 0;
    kept_file_unmap((void *)(uintptr_t)memory, HUGE_PAGE_BYTES);
    return has;
}

/* A process that maps the file again finds what the one before has written, at any size. */
static void test_contents_outlive_a_mapping(void **state)
{
    (void)state;
    const size_t sizes[] = {4096, 12288, HUGE_PAGE_BYTES + 4096, SLOT_BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct error error = {.text = ""};
        int fd = create_file(), again = dup(fd);
        uint8_t *memory = kept_file_map(fd, sizes[i], &error);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % HUGE_PAGE_BYTES, 0);
        memory[0] = 1;
        memory[sizes[i] - 1] = 2;
        kept_file_unmap(memory, sizes[i]);
        memory = kept_file_map(again, sizes[i], &error);
        assert_non_null(memory);
        assert_int_equal(memory[0], 1);
        assert_int_equal(memory[sizes[i] - 1], 2);
        kept_file_unmap(memory, sizes[i]);
    }
}

/* The first mapping seals the size: a task with another one is refused. */
static void test_other_size_is_refused(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    int fd = create_file(), again = dup(fd);
    void *memory = kept_file_map(fd, 8192, &error);
    assert_non_null(memory);
    kept_file_unmap(memory, 8192);
    assert_null(kept_file_map(again, 12288, &error));
    assert_non_null(strstr(error.text, "8192 bytes instead of 12288"));
}

/* Slots keep their contents, in use or not, and get huge pages as they are first used. */
static void test_slots_get_huge_pages(void **state)
{
    (void)state;
    struct error error = {.text = ""};
    const size_t bytes = SLOTS * buffer_slot_bytes(SLOT_BYTES);
    uint8_t *memory = kept_file_map(create_file(), bytes, &error);
    assert_non_null(memory);
    for (size_t at = 0; at < bytes; at += 4096) { memory[at] = (uint8_t)(at / 4096 % 251); }
    struct buffer_pool *pool = buffer_pool_of_slots(memory, SLOT_BYTES, SLOTS);
    assert_non_null(pool);
    assert_int_equal(huge_bytes(memory), 0);
    struct buffer *slot = buffer_acquire_slot(pool, 1, SLOT_BYTES, BUFFER_ANY_LINE);
    assert_non_null(slot);
    if (machine_has_huge_pages()) {
        /* Whole ones only, so that the slot before has none. */
        assert_int_equal(huge_bytes(memory), 2 * HUGE_PAGE_BYTES);
    }
    buffer_release(slot);
    buffer_release(buffer_acquire(pool, SLOT_BYTES));
    for (size_t at = 0; at < bytes; at += 4096) {
        assert_int_equal(memory[at], (uint8_t)(at / 4096 % 251));
    }
    buffer_pool_destroy(pool);
    kept_file_unmap(memory, bytes);
}

/* A file that would be larger than the process may make is refused, not a signal. */
static void test_the_limit_of_files_is_kept(void **state)
{
    struct error error = {.text = ""};
    struct rlimit before;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit limit = {.rlim_cur = 8191, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    void *memory = kept_file_map(create_file(), 8192, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_null(memory);
    assert_non_null(strstr(error.text, "ulimit -f"));
}

static uint64_t file_bytes(int fd)
{
    struct stat found;
    assert_int_equal(fstat(fd, &found), 0);
    return (uint64_t)found.st_blocks * 512;
}

/* Only blocks of rows that are used take memory, and they give it back. */
static void test_rows_take_the_memory_that_they_use(void **state)
{
    struct error error = {.text = ""};
    const struct cell_arena_size rows = kept_file_rows();
    struct cell_arena arena;
    (void)state;
    int fd = create_file(), again = dup(fd);
    assert_true(again >= 0);
    uint8_t *memory = kept_file_map(fd, cell_arena_bytes(rows), &error);
    assert_non_null(memory);
    cell_arena_open(&arena, memory, rows);
    cell_arena_keep(&arena, 0);
    uint8_t *block = cell_arena_take(cell_arena_new_set(&arena), 0, 0);
    assert_non_null(block);
    const uint64_t before = file_bytes(again);
    assert_true(before <= rows.blocks * 16 + HUGE_PAGE_BYTES);
    cell_arena_first_use(&arena, block, 96);
    memset(block, 1, HUGE_PAGE_BYTES);
    if (machine_has_huge_pages()) { assert_int_equal(huge_bytes(block), HUGE_PAGE_BYTES); }
    assert_int_equal(file_bytes(again), before + HUGE_PAGE_BYTES);
    cell_arena_give(&arena, block);
    assert_int_equal(file_bytes(again), before);
    kept_file_unmap(memory, cell_arena_bytes(rows));
    close(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents_outlive_a_mapping),
        cmocka_unit_test(test_other_size_is_refused),
        cmocka_unit_test(test_slots_get_huge_pages),
        cmocka_unit_test(test_the_limit_of_files_is_kept),
        cmocka_unit_test(test_rows_take_the_memory_that_they_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
