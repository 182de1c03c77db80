/* Small steps use all threads or one, whichever is faster, also when that changes. */
#include "local/thread_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Runs `steps` steps that take these times. Returns those that used all threads. */
static uint32_t run(struct thread_choice *choice, uint32_t steps, uint64_t all_ns, uint64_t one_ns)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < steps; i++) {
        const bool all = thread_choice_is_all(choice);
        used += all;
        thread_choice_took(choice, all ? all_ns : one_ns);
    }
    return used;
}

static void test_the_faster_way_is_kept(void **state)
{
    (void)state;
    struct thread_choice choice = thread_choice_begin(false);
    assert_true(thread_choice_is_all(&choice));
    assert_true(run(&choice, 100000, 200, 300) >= 99000);
    choice = thread_choice_begin(false);
    assert_true(run(&choice, 100000, 900, 300) <= 1000);
}

static void test_a_change_of_the_load_is_noticed(void **state)
{
    (void)state;
    struct thread_choice choice = thread_choice_begin(false);
    (void)run(&choice, 100000, 200, 300);
    assert_true(run(&choice, 10000, 900, 300) <= 5000);
    assert_true(run(&choice, 10000, 200, 300) >= 5000);
}

/* Equal times, and times that differ by less than a twentieth, change nothing. */
static void test_noise_changes_nothing(void **state)
{
    (void)state;
    struct thread_choice choice = thread_choice_begin(false);
    assert_true(run(&choice, 100000, 300, 290) >= 99000);
    assert_true(run(&choice, 100000, 300, 300) >= 99000);
}

/* Slow first steps of each way, which use memory for the first time, do not count. */
static void test_first_steps_do_not_count(void **state)
{
    (void)state;
    struct thread_choice choice = thread_choice_begin(false);
    (void)run(&choice, 8, 100000, 100000);
    assert_true(run(&choice, 1000, 200, 300) >= 900);
    choice = thread_choice_begin(false);
    while (thread_choice_is_all(&choice)) { thread_choice_took(&choice, 300); }
    (void)run(&choice, 8, 100000, 100000);
    assert_true(run(&choice, 1000, 300, 200) <= 50);
}

static void test_a_fixed_choice_tries_nothing(void **state)
{
    (void)state;
    struct thread_choice choice = thread_choice_begin(true);
    assert_int_equal(run(&choice, 10000, 900, 300), 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_faster_way_is_kept),
        cmocka_unit_test(test_a_change_of_the_load_is_noticed),
        cmocka_unit_test(test_noise_changes_nothing),
        cmocka_unit_test(test_first_steps_do_not_count),
        cmocka_unit_test(test_a_fixed_choice_tries_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
