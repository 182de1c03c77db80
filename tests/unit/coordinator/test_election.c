/* The election: events, and the requests that the candidate makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "coordinator/election.h"

#define US    "000000000000002a-"
#define OTHER "ffffffffffffffff-"

static struct election e;
static struct election_action asked;
static uint64_t now;

static void feed(struct election_event event)
{
    event.now_ms = now;
    if (event.op == 0) { event.op = asked.op; }
    struct election_action action = election_step(&e, &event);
    /* A request stays in flight when no new one is made. */
    uint64_t op = asked.op;
    asked = action;
    if (action.type == ELECTION_DO_NOTHING) { asked.op = op; }
}

static void answer(enum election_event_type type, enum election_outcome outcome)
{
    feed((struct election_event){.type = type, .outcome = outcome});
}

static void listed(const char *const *names, size_t count)
{
    feed((struct election_event){.type = ELECTION_EV_LISTED, .names = names, .count = count});
}

static void chief(uint64_t epoch, uint64_t incarnation, int32_t version)
{
    feed((struct election_event){.type = ELECTION_EV_CHIEF_READ,
                                 .epoch = epoch,
                                 .incarnation = incarnation,
                                 .version = version});
}

static int setup(void **state)
{
    (void)state;
    now = 1000;
    asked = (struct election_action){0};
    election_init(&e, 42);
    assert_string_equal(e.guid, US);
    answer(ELECTION_EV_START, ELECTION_OK);
    assert_int_equal(asked.type, ELECTION_DO_JOIN);
    return 0;
}

static const char *const alone[] = {US "0000000007"};
static const char *const second[] = {OTHER "0000000009", US "0000000007", OTHER "0000000003",
                                     OTHER "0000000001"};

/* The only candidate reads /chief, and claims the next epoch at the version that it read. */
static void first_candidate_becomes_chief(void **state)
{
    (void)state;
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    assert_int_equal(asked.type, ELECTION_DO_LIST);
    listed(alone, 1);
    assert_int_equal(asked.type, ELECTION_DO_READ_CHIEF);
    now += 5;
    chief(4, 7, 12);
    assert_int_equal(asked.type, ELECTION_DO_CLAIM);
    assert_string_equal(asked.name, US "0000000007");
    assert_true(asked.epoch == 5 && asked.version == 12 && asked.took_ms == 5);
    feed((struct election_event){.type = ELECTION_EV_CLAIMED, .version = 13});
    assert_true(e.phase == ELECTION_CHIEF && e.epoch == 5 && e.version == 13);
}

static void follow(void)
{
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    listed(second, 4);
    assert_int_equal(asked.type, ELECTION_DO_WATCH);
    assert_string_equal(asked.name, OTHER "0000000003");
    answer(ELECTION_EV_WATCHED, ELECTION_OK);
    assert_int_equal(e.phase, ELECTION_FOLLOWING);
}

/* Only the candidate just before it is watched; when that one leaves, the candidate lists again. */
static void candidate_follows_its_predecessor(void **state)
{
    (void)state;
    follow();
    now += 100;
    answer(ELECTION_EV_CHANGED, ELECTION_OK);
    assert_int_equal(asked.type, ELECTION_DO_LIST);
    now += 3;
    listed(alone, 1);
    chief(4, 7, 12);
    assert_int_equal(asked.took_ms, 3);
}

/* The predecessor may leave between the listing and the watch. */
static void predecessor_may_leave_before_the_watch(void **state)
{
    (void)state;
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    listed(second, 4);
    answer(ELECTION_EV_WATCHED, ELECTION_REFUSED);
    assert_int_equal(asked.type, ELECTION_DO_LIST);
}

/* Without an answer to the creation, the candidate lists, and joins again if it is not listed. */
static void lost_join_is_found_in_the_listing(void **state)
{
    (void)state;
    answer(ELECTION_EV_JOINED, ELECTION_UNKNOWN);
    assert_int_equal(asked.type, ELECTION_DO_NOTHING);
    assert_int_equal(election_deadline_ms(&e), now + ELECTION_RETRY_MS);
    now += ELECTION_RETRY_MS;
    answer(ELECTION_EV_TICK, ELECTION_OK);
    assert_int_equal(asked.type, ELECTION_DO_LIST);
    const char *const without[] = {OTHER "0000000003"};
    listed(without, 1);
    assert_int_equal(asked.type, ELECTION_DO_JOIN);
}

/* A candidate with two znodes uses the lower one, and does not wait for the other. */
static void lower_of_two_own_znodes_counts(void **state)
{
    (void)state;
    const char *const names[] = {US "0000000008", US "0000000002"};
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    listed(names, 2);
    assert_int_equal(asked.type, ELECTION_DO_READ_CHIEF);
    assert_string_equal(e.ours, US "0000000002");
}

/* Without an answer to the claim, /chief shows whether it was applied. */
static void lost_claim_is_read_from_chief(void **state)
{
    (void)state;
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    listed(alone, 1);
    chief(4, 7, 12);
    answer(ELECTION_EV_CLAIMED, ELECTION_UNKNOWN);
    now += ELECTION_RETRY_MS;
    answer(ELECTION_EV_TICK, ELECTION_OK);
    listed(alone, 1);
    assert_int_equal(asked.type, ELECTION_DO_READ_CHIEF);
    chief(5, 42, 13);
    assert_true(e.phase == ELECTION_CHIEF && e.epoch == 5 && e.version == 13);
}

/* The claim is refused because of another chief or a lost znode: list again, and join if needed. */
static void refused_claim_lists_again(void **state)
{
    (void)state;
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    listed(alone, 1);
    chief(4, 7, 12);
    answer(ELECTION_EV_CLAIMED, ELECTION_REFUSED);
    assert_int_equal(asked.type, ELECTION_DO_LIST);
    listed(NULL, 0);
    assert_int_equal(asked.type, ELECTION_DO_JOIN);
}

/* A listing that was in flight at a change may be older than it. */
static void change_while_listing_lists_again(void **state)
{
    (void)state;
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    uint64_t op = asked.op;
    answer(ELECTION_EV_CHANGED, ELECTION_OK);
    feed((struct election_event){.type = ELECTION_EV_LISTED, .op = op, .names = alone, .count = 1});
    assert_int_equal(asked.type, ELECTION_DO_LIST);
}

/* Answers to abandoned requests, names without a number, and a second start are ignored. */
static void stale_answers_and_bad_names_are_ignored(void **state)
{
    (void)state;
    feed((struct election_event){.type = ELECTION_EV_JOINED, .op = 99});
    assert_int_equal(asked.type, ELECTION_DO_NOTHING);
    answer(ELECTION_EV_START, ELECTION_OK);
    assert_int_equal(asked.type, ELECTION_DO_NOTHING);
    const char *const names[] = {"x", US "12345678x0", US "0000000007"};
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    listed(names, 3);
    assert_int_equal(asked.type, ELECTION_DO_READ_CHIEF);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(first_candidate_becomes_chief),
        TEST(candidate_follows_its_predecessor),
        TEST(predecessor_may_leave_before_the_watch),
        TEST(lost_join_is_found_in_the_listing),
        TEST(lower_of_two_own_znodes_counts),
        TEST(lost_claim_is_read_from_chief),
        TEST(refused_claim_lists_again),
        TEST(stale_answers_and_bad_names_are_ignored),
        TEST(change_while_listing_lists_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
