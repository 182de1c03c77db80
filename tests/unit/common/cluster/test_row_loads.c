/* The loads of buckets in a frame, and their sum over ps that count since other times. */
#include "common/cluster/row_loads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/cluster/row_balance.h"

static struct row_loads decoded;
static uint64_t sums[ROW_BUCKETS];

static void a_body_comes_back(void **state)
{
    const uint64_t loads[] = {1, UINT64_MAX, 0};
    uint8_t body[sizeof loads];
    (void)state;
    row_loads_encode(loads, 3, body);
    decoded = (struct row_loads){.first = 4093, .count = 3};
    assert_true(row_loads_decode(body, sizeof body, &decoded));
    assert_memory_equal(decoded.loads, loads, sizeof loads);
    decoded.count = 0;
    assert_true(row_loads_decode(NULL, 0, &decoded));
}

static void wrong_bodies_are_refused(void **state)
{
    static const uint8_t body[ROW_LOADS_BODY_MAX + 8];
    (void)state;
    decoded = (struct row_loads){.first = 4094, .count = 3};
    assert_false(row_loads_decode(body, 24, &decoded));
    decoded = (struct row_loads){.first = UINT32_MAX, .count = 3};
    assert_false(row_loads_decode(body, 24, &decoded));
    decoded = (struct row_loads){.first = 1, .count = UINT32_MAX};
    assert_false(row_loads_decode(body, 24, &decoded));
    decoded = (struct row_loads){.first = 0, .count = 3};
    assert_false(row_loads_decode(body, 23, &decoded));
    assert_false(row_loads_decode(body, 32, &decoded));
    decoded.count = ROW_BUCKETS + 1;
    assert_false(row_loads_decode(body, sizeof body, &decoded));
}

/* A ps that was restarted, and has counted for a tenth of the time, counts tenfold. */
static void loads_are_those_of_equal_times(void **state)
{
    (void)state;
    memset(sums, 0, sizeof sums);
    decoded = (struct row_loads){.updates = 10, .first = 0, .count = 2, .loads = {3, 4}};
    row_loads_add(&decoded, 100, sums);
    decoded = (struct row_loads){.updates = 100, .first = 2, .count = 2, .loads = {5, 6}};
    row_loads_add(&decoded, 100, sums);
    const uint64_t wanted[] = {30, 40, 5, 6, 0};
    assert_memory_equal(sums, wanted, sizeof wanted);
}

/* Whatever a ps sends, the sum does not overflow. */
static void sums_are_bounded(void **state)
{
    (void)state;
    uint64_t total = 0;
    memset(sums, 0, sizeof sums);
    decoded = (struct row_loads){.updates = 1, .first = 0, .count = ROW_BUCKETS};
    memset(decoded.loads, 0xff, sizeof decoded.loads);
    row_loads_add(&decoded, UINT64_MAX, sums);
    for (uint32_t b = 0; b < ROW_BUCKETS; b++) {
        assert_true(sums[b] < ROW_LOADS_MAX - total);
        total += sums[b];
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_comes_back),
        cmocka_unit_test(wrong_bodies_are_refused),
        cmocka_unit_test(loads_are_those_of_equal_times),
        cmocka_unit_test(sums_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
