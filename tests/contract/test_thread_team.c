/* Threads that share rounds of work: each member takes part in each round exactly once. */
#include "common/base/thread_team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

enum { ROUNDS = 2000, MANY_ROUNDS = 20 };

static uint64_t counts[THREAD_TEAM_MAX];
static uint64_t sum;

static void count(void *context, uint32_t member)
{
    const uint64_t *step = context;
    counts[member] += *step;
}

static void run_rounds(uint32_t members, uint32_t rounds)
{
    struct thread_team *team;
    for (uint32_t m = 0; m < THREAD_TEAM_MAX; m++) { counts[m] = 0; }
    sum = 0;
    assert_int_equal(thread_team_open(members, &team, NULL), TN_OK);
    assert_int_equal(thread_team_count(team), members);
    for (uint64_t step = 0; step < rounds; step++) {
        thread_team_run(team, count, &step);
        sum += step;
        for (uint32_t m = 0; m < members; m++) { assert_int_equal(counts[m], sum); }
    }
    thread_team_close(team);
}

/* All members see what the caller has written, and the reverse, without another lock. */
static void test_each_member_works_once_in_each_round(void **state)
{
    (void)state;
    run_rounds(1, ROUNDS);
    run_rounds(2, ROUNDS);
    run_rounds(3, ROUNDS / 2);
    run_rounds(8, ROUNDS / 4);
    run_rounds(THREAD_TEAM_MAX, MANY_ROUNDS);
}

/* Members sleep between rounds that are far apart, and wake up; they also end while they sleep. */
static void test_members_sleep_between_rounds(void **state)
{
    static const struct timespec pause = {.tv_nsec = 20 * THREAD_TEAM_SPIN_NS};
    struct thread_team *team;
    uint64_t one = 1;
    (void)state;
    counts[0] = counts[1] = 0;
    assert_int_equal(thread_team_open(2, &team, NULL), TN_OK);
    for (int i = 0; i < 20; i++) {
        (void)nanosleep(&pause, NULL);
        thread_team_run(team, count, &one);
    }
    (void)nanosleep(&pause, NULL);
    thread_team_close(team);
    assert_int_equal(counts[0], 20);
    assert_int_equal(counts[1], 20);
}

/* Without a team the caller does all the work. */
static void test_no_team_is_one_member(void **state)
{
    uint64_t one = 1;
    (void)state;
    counts[0] = 0;
    thread_team_run(NULL, count, &one);
    assert_int_equal(counts[0], 1);
    assert_int_equal(thread_team_count(NULL), 1);
    thread_team_close(NULL);
}

/* Shares follow each other, cover all elements, and begin at multiples. */
static void test_shares(void **state)
{
    static const uint64_t sizes[] = {0, 1, 15, 16, 17, 100, 1000003};
    (void)state;
    for (uint32_t members = 1; members <= 9; members++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            uint64_t end = 0;
            for (uint32_t m = 0; m < members; m++) {
                const struct thread_share share = thread_team_share(members, m, sizes[i], 16);
                assert_int_equal(share.first, end);
                assert_true(share.first % 16 == 0 || share.first == sizes[i]);
                assert_true(share.end - share.first <= sizes[i] / members + 16);
                end = share.end;
            }
            assert_int_equal(end, sizes[i]);
        }
    }
    assert_true(thread_team_processors() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_member_works_once_in_each_round),
        cmocka_unit_test(test_members_sleep_between_rounds),
        cmocka_unit_test(test_no_team_is_one_member),
        cmocka_unit_test(test_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
