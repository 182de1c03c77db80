/* The writer of a checkpoint waits for its rate, until the checkpoint is awaited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "common/base/thread_priority.h"
#include "ps/store/save_pace.h"

#define TIB     ((uint64_t)1 << 40)
#define DAY_MS  ((uint64_t)24 * 3600 * 1000)
#define HOUR_MS ((uint64_t)3600 * 1000)

static struct save_pace pace;

static int open_pace(void **state)
{
    (void)state;
    save_pace_open(&pace);
    return 0;
}

static int close_pace(void **state)
{
    (void)state;
    save_pace_close(&pace);
    return 0;
}

/* After half of a TiB, the rest is due in hours. */
static void *write_half(void *waited_ms)
{
    save_pace_wrote(&pace, TIB / 2);
    *(uint64_t *)waited_ms = save_pace_end(&pace);
    return NULL;
}

/* A save that waits for hours continues when it is hurried; the test ends by this. */
static void hurried_save_continues(void **state)
{
    (void)state;
    pthread_t thread;
    uint64_t waited_ms = 0;
    save_pace_begin(&pace, TIB, DAY_MS, false);
    assert_int_equal(pthread_create(&thread, NULL, write_half, &waited_ms), 0);
    save_pace_hurry(&pace);
    pthread_join(thread, NULL);
    assert_true(waited_ms < DAY_MS);
}

/* One that was hurried before it began does not wait, and the next one waits again. */
static void each_save_is_hurried_alone(void **state)
{
    (void)state;
    uint64_t waited_ms = 0;
    save_pace_begin(&pace, TIB, DAY_MS, true);
    (void)write_half(&waited_ms);
    assert_int_equal(waited_ms, 0);
    save_pace_begin(&pace, 3 * SAVE_BLOCK_BYTES, 30, false);
    save_pace_wrote(&pace, 2 * SAVE_BLOCK_BYTES);
    assert_true(save_pace_end(&pace) > 0);
}

/* A save in one block does not wait. */
static void small_save_does_not_wait(void **state)
{
    (void)state;
    save_pace_begin(&pace, SAVE_BLOCK_BYTES, save_rate_spread_ms(SAVE_BLOCK_BYTES, DAY_MS, 0),
                    false);
    save_pace_wrote(&pace, SAVE_BLOCK_BYTES);
    assert_int_equal(save_pace_end(&pace), 0);
}

/* The writer is idle after a block, if the kernel lets it return from this, and normal for what
 * others may wait for. */
static void writer_is_idle_between_blocks(void **state)
{
    (void)state;
    save_pace_begin(&pace, TIB, HOUR_MS, false);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
    save_pace_wrote(&pace, SAVE_BLOCK_BYTES);
    assert_int_equal(sched_getscheduler(0),
                     thread_priority_can_return() ? SCHED_IDLE : SCHED_OTHER);
    save_pace_be_normal(&pace);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
    save_pace_wrote(&pace, SAVE_BLOCK_BYTES);
    save_pace_hurry(&pace);
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
    (void)save_pace_end(&pace);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pace, close_pace)
    const struct CMUnitTest tests[] = {
        TEST(hurried_save_continues),
        TEST(each_save_is_hurried_alone),
        TEST(small_save_does_not_wait),
        TEST(writer_is_idle_between_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
