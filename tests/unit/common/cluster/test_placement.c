/* Placement: contiguous, aligned, balanced ranges. */
#include "common/cluster/placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void check_tiling(uint64_t parameters, uint32_t ps_count)
{
    uint64_t next = 0, least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < ps_count; i++) {
        struct placement range = placement_range(parameters, ps_count, i);
        assert_int_equal(range.first, next);
        if (range.count > 0) { assert_int_equal(range.first % PLACEMENT_BLOCK, 0); }
        next += range.count;
        if (range.count < least) { least = range.count; }
        if (range.count > most) { most = range.count; }
    }
    assert_int_equal(next, parameters);
    assert_true(most - least < 2 * PLACEMENT_BLOCK);
    assert_true(least > 0 || ps_count > placement_ps_max(parameters));
}

/* Ranges tile the vector, start on cache lines and differ by less than two blocks. */
static void ranges_tile_the_vector(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 15, 16, 17, 33, 160, 1000, 101770, UINT64_C(1) << 40};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (uint32_t ps_count = 1; ps_count <= 70; ps_count++) {
            check_tiling(sizes[s], ps_count);
        }
    }
}

/* 33 floats are three blocks, so a fourth ps would be empty. */
static void largest_number_of_ps_is_known(void **state)
{
    (void)state;
    assert_int_equal(placement_ps_max(33), 3);
    assert_int_equal(placement_ps_max(32), 2);
    assert_int_equal(placement_ps_max(0), 1);
}

/* No overflow at the largest numbers. */
static void largest_numbers_do_not_overflow(void **state)
{
    (void)state;
    struct placement last = placement_range(UINT64_MAX, UINT32_MAX, UINT32_MAX - 1);
    assert_int_equal(last.first + last.count, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_tile_the_vector),
        cmocka_unit_test(largest_number_of_ps_is_known),
        cmocka_unit_test(largest_numbers_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
