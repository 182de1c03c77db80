/* The ranges of a run without ps, and their owners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cluster/placement.h"
#include "mirror/ranges.h"

static uint16_t owners[RANGES_MAX];

static struct assignment assign(uint16_t a, uint16_t b, uint16_t c, uint16_t d)
{
    return (struct assignment){.slice_count = 4, .worker = {a, b, c, d}};
}

/* One range for each worker, but none without a block of parameters. */
static void each_worker_has_a_range(void **state)
{
    (void)state;
    assert_int_equal(ranges_count(3, 1000), 3);
    assert_int_equal(ranges_count(3, 2 * PLACEMENT_BLOCK), 2);
    assert_int_equal(ranges_count(3, 1), 1);
    assert_int_equal(ranges_count(WORKERS_MAX, 1000000), RANGES_MAX);
}

/* The death of worker 1 moves its range, and no other. */
static void a_death_moves_one_range(void **state)
{
    (void)state;
    struct assignment before = assign(0, 1, 2, 3), after = assign(0, 0, 2, 3);
    ranges_owners(&before, 4, 4, owners);
    for (uint16_t i = 0; i < 4; i++) { assert_int_equal(owners[i], i); }
    ranges_owners(&after, 4, 4, owners);
    assert_int_equal(owners[0], 0);
    assert_int_equal(owners[1], 2);
    assert_int_equal(owners[2], 2);
    assert_int_equal(owners[3], 3);
}

/* Ranges of workers without slices are spread over the others. */
static void owners_take_turns(void **state)
{
    (void)state;
    struct assignment few = assign(5, 6, 5, 6);
    ranges_owners(&few, 8, 4, owners);
    assert_int_equal(owners[0], 5);
    assert_int_equal(owners[1], 6);
    assert_int_equal(owners[2], 5);
    assert_int_equal(owners[3], 6);
}

/* Before slices are assigned no range has an owner; owners that the job lacks do not count. */
static void without_slices_there_is_no_owner(void **state)
{
    (void)state;
    struct assignment none = assign(UINT16_MAX, UINT16_MAX, UINT16_MAX, 9);
    ranges_owners(&none, 2, 2, owners);
    assert_int_equal(owners[0], RANGE_WITHOUT_OWNER);
    assert_int_equal(owners[1], RANGE_WITHOUT_OWNER);
}

/* Workers 0 to 2 are on one host, worker 3 on another. */
static void relays_of_a_host_take_turns(void **state)
{
    (void)state;
    const bool near[WORKERS_MAX] = {true, true, true}, far[WORKERS_MAX] = {[3] = true};
    uint16_t relays[RANGES_MAX];
    struct assignment all = assign(0, 1, 2, 3), few = assign(1, 1, 2, 3), one = assign(1, 1, 3, 3);
    struct assignment none = assign(9, 9, 9, 9);
    ranges_owners(&all, 5, 5, owners); /* 3 owns range 3, and 0 owns range 4. */
    ranges_relays(&all, 5, 5, owners, near, relays);
    for (uint32_t i = 0; i < 3; i++) { assert_int_equal(relays[i], RANGE_WITHOUT_RELAY); }
    assert_int_equal(relays[3], 0);
    assert_int_equal(relays[4], RANGE_WITHOUT_RELAY);
    ranges_relays(&all, 5, 5, owners, far, relays);
    for (uint32_t i = 0; i < 5; i++) { assert_int_equal(relays[i], RANGE_WITHOUT_RELAY); }
    ranges_owners(&few, 4, 4, owners);
    ranges_relays(&few, 4, 4, owners, near, relays);
    assert_int_equal(relays[3], 2); /* Worker 0 owns no slices. */
    ranges_owners(&one, 4, 4, owners);
    ranges_relays(&one, 4, 4, owners, near, relays);
    assert_int_equal(relays[3], RANGE_WITHOUT_RELAY); /* Nor does worker 2. */
    ranges_owners(&none, 4, 4, owners);
    ranges_relays(&none, 4, 4, owners, near, relays);
    assert_int_equal(relays[3], RANGE_WITHOUT_RELAY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_worker_has_a_range),
        cmocka_unit_test(a_death_moves_one_range),
        cmocka_unit_test(owners_take_turns),
        cmocka_unit_test(relays_of_a_host_take_turns),
        cmocka_unit_test(without_slices_there_is_no_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
