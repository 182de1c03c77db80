/* The election as conversations: what happens, and what the candidate asks for then. */
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

static void show(struct election_event event)
{
    event.now_ms = now;
    if (event.op == 0) { event.op = asked.op; }
    struct election_action action = election_step(&e, &event);
    /* What was asked before stays under way when nothing new is asked. */
    uint64_t op = asked.op;
    asked = action;
    if (action.type == ELECTION_DO_NOTHING) { asked.op = op; }
}

static void answer(enum election_event_type type, enum election_outcome outcome)
{
    show((struct election_event){.type = type, .outcome = outcome});
}

static void listed(const char *const *names, size_t count)
{
    show((struct election_event){.type = ELECTION_EV_LISTED, .names = names, .count = count});
}

static void chief(uint64_t epoch, uint64_t incarnation, int32_t version)
{
    show((struct election_event){
        .type = ELECTION_EV_CHIEF, .epoch = epoch, .incarnation = incarnation, .version = version});
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

/* Alone in line: /chief is read and taken, one epoch further, at the version that was read. */
static void test_first(void **state)
{
    (void)state;
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    assert_int_equal(asked.type, ELECTION_DO_LIST);
    listed(alone, 1);
    assert_int_equal(asked.type, ELECTION_DO_READ_CHIEF);
    now += 5;
    chief(4, 7, 12);
    assert_int_equal(asked.type, ELECTION_DO_TAKE_OFFICE);
    assert_string_equal(asked.name, US "0000000007");
    assert_true(asked.epoch == 5 && asked.version == 12 && asked.took_ms == 5);
    show((struct election_event){.type = ELECTION_EV_TAKEN, .version = 13});
    assert_true(e.phase == ELECTION_OFFICE && e.epoch == 5 && e.version == 13);
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

/* Only the one just before us is watched; when he goes we look again and step up. */
static void test_follows(void **state)
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

/* He may go between the listing and the watch. */
static void test_gone_before_watched(void **state)
{
    (void)state;
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    listed(second, 4);
    answer(ELECTION_EV_WATCHED, ELECTION_REFUSED);
    assert_int_equal(asked.type, ELECTION_DO_LIST);
}

/* The answer to our creation is lost: we are found in the listing, or stand anew. */
static void test_join_unknown(void **state)
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

/* Two of ours stand: the lower one counts, and the higher is nobody's predecessor of ours. */
static void test_two_of_ours(void **state)
{
    (void)state;
    const char *const names[] = {US "0000000008", US "0000000002"};
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    listed(names, 2);
    assert_int_equal(asked.type, ELECTION_DO_READ_CHIEF);
    assert_string_equal(e.ours, US "0000000002");
}

/* The answer to taking office is lost: /chief tells whether it is ours. */
static void test_taken_unknown(void **state)
{
    (void)state;
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    listed(alone, 1);
    chief(4, 7, 12);
    answer(ELECTION_EV_TAKEN, ELECTION_UNKNOWN);
    now += ELECTION_RETRY_MS;
    answer(ELECTION_EV_TICK, ELECTION_OK);
    listed(alone, 1);
    assert_int_equal(asked.type, ELECTION_DO_READ_CHIEF);
    chief(5, 42, 13);
    assert_true(e.phase == ELECTION_OFFICE && e.epoch == 5 && e.version == 13);
}

/* Somebody else took it, or our znode is gone: look again from the line on, never reset. */
static void test_taken_refused(void **state)
{
    (void)state;
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    listed(alone, 1);
    chief(4, 7, 12);
    answer(ELECTION_EV_TAKEN, ELECTION_REFUSED);
    assert_int_equal(asked.type, ELECTION_DO_LIST);
    listed(NULL, 0);
    assert_int_equal(asked.type, ELECTION_DO_JOIN);
}

/* A change in the middle of a listing makes that listing old. */
static void test_change_while_listing(void **state)
{
    (void)state;
    answer(ELECTION_EV_JOINED, ELECTION_OK);
    uint64_t op = asked.op;
    answer(ELECTION_EV_CHANGED, ELECTION_OK);
    show((struct election_event){.type = ELECTION_EV_LISTED, .op = op, .names = alone, .count = 1});
    assert_int_equal(asked.type, ELECTION_DO_LIST);
}

/* Answers of requests that were given up, names without a number, and a second start are nothing.
 */
static void test_ignored(void **state)
{
    (void)state;
    show((struct election_event){.type = ELECTION_EV_JOINED, .op = 99});
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
        TEST(test_first),         TEST(test_follows),     TEST(test_gone_before_watched),
        TEST(test_join_unknown),  TEST(test_two_of_ours), TEST(test_taken_unknown),
        TEST(test_taken_refused), TEST(test_ignored),     TEST(test_change_while_listing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
