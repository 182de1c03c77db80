/* group/attempt.h: when the members of a group are one worker. */
#include "group/attempt.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/base/minmax.h"

enum { MEMBERS = 3, FIRST = 100 };

static struct attempt_actions actions;

static void happen(struct attempt *attempt, enum attempt_event_type type, uint32_t member,
                   uint64_t number)
{
    attempt_handle(attempt, &(struct attempt_event){type, member, number}, &actions);
}

static void check_action(uint32_t index, enum attempt_action_type type, uint32_t member,
                         uint64_t number)
{
    assert_true(index < actions.count);
    assert_int_equal(actions.items[index].type, type);
    if (type == ATTEMPT_DO_RESET) { return; }
    assert_int_equal(actions.items[index].member, member);
    assert_int_equal(actions.items[index].number, number);
}

static struct attempt connected(uint32_t member)
{
    struct attempt attempt;
    attempt_init(&attempt, member, MEMBERS, FIRST);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        if (m != member) { happen(&attempt, ATTEMPT_EV_LINK_UP, m, 0); }
    }
    return attempt;
}

static struct attempt complete_head(void)
{
    struct attempt head = connected(0);
    happen(&head, ATTEMPT_EV_READY, 1, FIRST);
    happen(&head, ATTEMPT_EV_READY, 2, FIRST);
    assert_true(attempt_is_complete(&head));
    return head;
}

static struct attempt ready_member(void)
{
    struct attempt member = connected(1);
    happen(&member, ATTEMPT_EV_BEGIN, 0, FIRST);
    assert_true(attempt_is_ready(&member));
    return member;
}

/* The head begins once it has all connections; the group is complete when all are ready. */
static void the_head_begins(void **state)
{
    (void)state;
    struct attempt head;
    attempt_init(&head, 0, MEMBERS, FIRST);
    happen(&head, ATTEMPT_EV_LINK_UP, 2, 0);
    assert_int_equal(actions.count, 0);
    happen(&head, ATTEMPT_EV_LINK_UP, 1, 0);
    assert_int_equal(actions.count, 2);
    check_action(0, ATTEMPT_DO_BEGIN, 1, FIRST);
    check_action(1, ATTEMPT_DO_BEGIN, 2, FIRST);
    happen(&head, ATTEMPT_EV_READY, 1, FIRST);
    assert_false(attempt_is_complete(&head));
    happen(&head, ATTEMPT_EV_READY, 1, FIRST);
    happen(&head, ATTEMPT_EV_READY, 2, FIRST - 1);
    assert_false(attempt_is_complete(&head));
    happen(&head, ATTEMPT_EV_READY, 2, FIRST);
    assert_true(attempt_is_complete(&head));
}

/* A member is ready when it has received BEGIN and has all connections, in either order. */
static void a_member_is_ready(void **state)
{
    (void)state;
    struct attempt member;
    attempt_init(&member, 1, MEMBERS, FIRST);
    happen(&member, ATTEMPT_EV_LINK_UP, 0, 0);
    happen(&member, ATTEMPT_EV_BEGIN, 0, 7);
    assert_int_equal(actions.count, 0);
    assert_false(attempt_is_ready(&member));
    happen(&member, ATTEMPT_EV_LINK_UP, 2, 0);
    assert_int_equal(actions.count, 1);
    check_action(0, ATTEMPT_DO_READY, 0, 7);
    assert_int_equal(member.number, 7);
    happen(&member, ATTEMPT_EV_BEGIN, 0, 8);
    assert_int_equal(actions.count, 2);
    check_action(0, ATTEMPT_DO_RESET, 0, 0);
    check_action(1, ATTEMPT_DO_READY, 0, 8);
}

/* A member that loses a connection sends BROKEN, once, and waits for the next attempt. */
static void a_member_loses_a_connection(void **state)
{
    (void)state;
    struct attempt member = ready_member();
    happen(&member, ATTEMPT_EV_LINK_DOWN, 2, 0);
    assert_int_equal(actions.count, 2);
    check_action(0, ATTEMPT_DO_BROKEN, 0, FIRST);
    check_action(1, ATTEMPT_DO_RESET, 0, 0);
    happen(&member, ATTEMPT_EV_LINK_DOWN, 2, 0);
    happen(&member, ATTEMPT_EV_LINK_UP, 2, 0);
    assert_int_equal(actions.count, 0);
    assert_false(attempt_is_ready(&member));
    happen(&member, ATTEMPT_EV_BEGIN, 0, FIRST + 1);
    assert_true(attempt_is_ready(&member));
}

/* So it does when a connection is replaced before it notices that the old one is lost. */
static void a_connection_is_replaced(void **state)
{
    (void)state;
    struct attempt member = ready_member();
    happen(&member, ATTEMPT_EV_LINK_UP, 2, 0);
    assert_int_equal(actions.count, 2);
    check_action(0, ATTEMPT_DO_BROKEN, 0, FIRST);
    assert_false(attempt_is_ready(&member));
    struct attempt head = complete_head();
    happen(&head, ATTEMPT_EV_LINK_UP, 2, 0);
    assert_int_equal(actions.count, 3);
    check_action(0, ATTEMPT_DO_RESET, 0, 0);
    check_action(1, ATTEMPT_DO_BEGIN, 1, FIRST + 1);
    check_action(2, ATTEMPT_DO_BEGIN, 2, FIRST + 1);
    assert_false(attempt_is_complete(&head));
}

/* A member without the head has no attempt; the head begins the next one. */
static void a_member_loses_the_head(void **state)
{
    (void)state;
    struct attempt member = ready_member();
    happen(&member, ATTEMPT_EV_LINK_DOWN, 0, 0);
    assert_int_equal(actions.count, 1);
    check_action(0, ATTEMPT_DO_RESET, 0, 0);
    happen(&member, ATTEMPT_EV_BEGIN, 0, FIRST);
    assert_false(attempt_is_ready(&member)); /* A frame of a connection that is lost. */
    happen(&member, ATTEMPT_EV_LINK_UP, 0, 0);
    assert_false(attempt_is_ready(&member));
    happen(&member, ATTEMPT_EV_BEGIN, 0, 5); /* Another head. */
    assert_true(attempt_is_ready(&member));
}

/* The head ends an attempt once, whatever it hears of it afterwards. */
static void the_head_ends_an_attempt(void **state)
{
    (void)state;
    struct attempt head = complete_head();
    happen(&head, ATTEMPT_EV_BROKEN, 1, FIRST);
    assert_int_equal(actions.count, 3);
    assert_int_equal(head.number, FIRST + 1);
    assert_false(attempt_is_complete(&head));
    happen(&head, ATTEMPT_EV_BROKEN, 2, FIRST);
    happen(&head, ATTEMPT_EV_READY, 1, FIRST);
    happen(&head, ATTEMPT_EV_READY, 2, FIRST);
    assert_int_equal(head.number, FIRST + 1);
    assert_false(attempt_is_complete(&head));
    happen(&head, ATTEMPT_EV_LINK_DOWN, 1, 0);
    assert_int_equal(actions.count, 1);
    check_action(0, ATTEMPT_DO_RESET, 0, 0);
    assert_int_equal(head.number, FIRST + 2);
    happen(&head, ATTEMPT_EV_LINK_DOWN, 2, 0);
    assert_int_equal(head.number, FIRST + 2); /* It has not begun. */
}

/* Heads that are different processes begin with different numbers, none of which is 0 or close to
 * the end of the numbers. */
static void heads_use_different_numbers(void **state)
{
    (void)state;
    static const uint64_t incarnations[] = {0, 1, 2, 77, UINT64_C(1) << 40, COUNTER_MAX / 2 - 1};
    enum { COUNT = sizeof incarnations / sizeof *incarnations };
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint64_t number = attempt_first(incarnations[i]);
        assert_in_range(number, 1, COUNTER_MAX / 2);
        for (uint32_t k = 0; k < i; k++) { assert_true(number != attempt_first(incarnations[k])); }
    }
    assert_in_range(attempt_first(UINT64_MAX), 1, COUNTER_MAX / 2);
}

/* Frames that only a faulty member sends change nothing. */
static void faulty_frames(void **state)
{
    (void)state;
    struct attempt head = complete_head(), member = ready_member();
    happen(&head, ATTEMPT_EV_BEGIN, 1, FIRST + 5);
    happen(&head, ATTEMPT_EV_BROKEN, MEMBERS, FIRST);
    happen(&head, ATTEMPT_EV_BROKEN, 0, FIRST);
    assert_true(attempt_is_complete(&head));
    happen(&member, ATTEMPT_EV_BEGIN, 2, FIRST + 5);
    happen(&member, ATTEMPT_EV_BEGIN, 0, 0);
    happen(&member, ATTEMPT_EV_BROKEN, 2, FIRST);
    happen(&member, ATTEMPT_EV_READY, 2, FIRST);
    assert_int_equal(actions.count, 0);
    assert_int_equal(member.number, FIRST);
}

/* A group of one member is complete from the start. */
static void alone(void **state)
{
    (void)state;
    struct attempt attempt;
    attempt_init(&attempt, 0, 1, FIRST);
    assert_true(attempt_is_complete(&attempt));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_begins),
        cmocka_unit_test(a_member_is_ready),
        cmocka_unit_test(a_member_loses_a_connection),
        cmocka_unit_test(a_connection_is_replaced),
        cmocka_unit_test(a_member_loses_the_head),
        cmocka_unit_test(the_head_ends_an_attempt),
        cmocka_unit_test(heads_use_different_numbers),
        cmocka_unit_test(faulty_frames),
        cmocka_unit_test(alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
