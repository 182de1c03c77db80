/* ps/store/save_rate.c: a save takes at most half of the interval, unless it is awaited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ps/store/save_rate.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* A save in one block is written at once. */
static void small_save_does_not_wait(void **state)
{
    (void)state;
    assert_int_equal(save_rate_spread_ms(SAVE_BLOCK_BYTES, 3600000, 0), 0);
    const struct save_rate save = {.bytes = SAVE_BLOCK_BYTES, .written = 1 * MIB};
    assert_int_equal(save_rate_advise(&save).wait_ms, 0);
    assert_false(save_rate_advise(&save).idle);
}

/* The spread is half of the shorter interval, or of the default if none is known. */
static void spread_is_half_of_the_interval(void **state)
{
    (void)state;
    assert_int_equal(save_rate_spread_ms(GIB, 10000, 0), 5000);
    assert_int_equal(save_rate_spread_ms(GIB, 0, 8000), 4000);
    assert_int_equal(save_rate_spread_ms(GIB, 10000, 8000), 4000);
    assert_int_equal(save_rate_spread_ms(GIB, 10000, 12000), 5000);
    assert_int_equal(save_rate_spread_ms(GIB, 0, 0), SAVE_INTERVAL_DEFAULT_MS / 2);
}

/* Between rare saves, a save does not last longer than 32 MiB/s need, so that it is durable soon;
 * also not after a pause of years. */
static void rare_save_is_not_slow(void **state)
{
    (void)state;
    assert_int_equal(save_rate_spread_ms(64 * MIB, 3600000, 0), 2048);
    assert_int_equal(save_rate_spread_ms(64 * MIB, 0, UINT64_MAX), 2048);
}

/* Each block waits until its share of the spread has passed. */
static void blocks_are_spread_evenly(void **state)
{
    (void)state;
    struct save_rate save = {.bytes = GIB, .spread_ms = 4096};
    uint64_t now_ms = 0;
    for (save.written = 4 * MIB; save.written < GIB; save.written += 4 * MIB) {
        now_ms += 3; /* To write it. */
        save.elapsed_ms = now_ms;
        const struct save_advice advice = save_rate_advise(&save);
        assert_int_equal(now_ms + advice.wait_ms, save.written / MIB * 4);
        assert_true(advice.idle);
        now_ms += advice.wait_ms;
    }
    assert_true(now_ms < 4096);
    save.elapsed_ms = now_ms;
    assert_int_equal(save_rate_advise(&save).wait_ms, 0);
}

/* A save that is late does not wait, and later needs the processor, too. */
static void late_save_catches_up(void **state)
{
    (void)state;
    struct save_rate save = {
        .bytes = GIB, .written = GIB / 2, .spread_ms = 4000, .elapsed_ms = 2000};
    assert_int_equal(save_rate_advise(&save).wait_ms, 0);
    save.elapsed_ms = 2500;
    assert_true(save_rate_advise(&save).idle);
    save.elapsed_ms = 2501;
    assert_int_equal(save_rate_advise(&save).wait_ms, 0);
    assert_false(save_rate_advise(&save).idle);
}

/* A save that is awaited neither waits nor leaves the processor to others. */
static void hurried_save_does_not_wait(void **state)
{
    (void)state;
    struct save_rate save = {.bytes = GIB, .written = GIB / 2, .spread_ms = 4000};
    assert_int_equal(save_rate_advise(&save).wait_ms, 2000);
    save.hurried = true;
    assert_int_equal(save_rate_advise(&save).wait_ms, 0);
    assert_false(save_rate_advise(&save).idle);
}

/* The largest sizes neither overflow nor wait beyond the spread. */
static void large_save_is_possible(void **state)
{
    (void)state;
    struct save_rate save = {.bytes = 4096 * GIB, .written = 4095 * GIB};
    save.spread_ms = save_rate_spread_ms(save.bytes, 3600000, 0);
    assert_int_equal(save.spread_ms, 1800000);
    assert_int_equal(save_rate_advise(&save).wait_ms, 1800000 - 1800000 / 4096 - 1);
    save.written = 2 * save.bytes;
    assert_int_equal(save_rate_advise(&save).wait_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_save_does_not_wait),
        cmocka_unit_test(spread_is_half_of_the_interval),
        cmocka_unit_test(rare_save_is_not_slow),
        cmocka_unit_test(blocks_are_spread_evenly),
        cmocka_unit_test(late_save_catches_up),
        cmocka_unit_test(hurried_save_does_not_wait),
        cmocka_unit_test(large_save_is_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
