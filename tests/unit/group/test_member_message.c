/* group/member_message.h: which messages between the members of a group count. */
#include "group/member_message.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MEMBERS = 3, NUMBER = 100, NO_PS = GROUP_MEMBERS_MAX };

static void happen(struct attempt *attempt, enum attempt_event_type type, uint32_t member)
{
    struct attempt_actions actions;
    attempt_handle(attempt, &(struct attempt_event){type, member, NUMBER}, &actions);
}

/* A member that takes part in the attempt NUMBER. */
static struct attempt ready(uint32_t member)
{
    struct attempt attempt;
    attempt_init(&attempt, member, MEMBERS, NUMBER);
    for (uint32_t m = 0; m < MEMBERS; m++) {
        if (m != member) { happen(&attempt, ATTEMPT_EV_LINK_UP, m); }
    }
    if (member != 0) { happen(&attempt, ATTEMPT_EV_BEGIN, 0); }
    assert_true(attempt_is_ready(&attempt));
    return attempt;
}

static enum message_action action_for(const struct attempt *attempt, uint32_t peer,
                                      enum member_frame_kind kind, uint64_t number)
{
    return member_message_action(attempt, peer,
                                 &(struct member_frame){.kind = kind, .attempt = number});
}

/* Messages of the present attempt count. */
static void present_messages_count(void **state)
{
    (void)state;
    const struct attempt head = ready(0), member = ready(1);
    assert_int_equal(action_for(&member, 0, MEMBER_FRAME_ORDER, NUMBER), MESSAGE_ORDER);
    assert_int_equal(action_for(&member, 2, MEMBER_FRAME_TENSOR, NUMBER), MESSAGE_VALUE);
    assert_int_equal(action_for(&member, 2, MEMBER_FRAME_RESULT, NUMBER), MESSAGE_VALUE);
    assert_int_equal(action_for(&member, 0, MEMBER_FRAME_SWAP, NUMBER), MESSAGE_DELIVER);
    assert_int_equal(action_for(&head, 2, MEMBER_FRAME_DONE, NUMBER), MESSAGE_DONE);
    assert_int_equal(action_for(&head, 2, MEMBER_FRAME_ANSWER, NUMBER), MESSAGE_DELIVER);
}

/* G1: of messages of other attempts only those that begin and end attempts are looked at, and
 * chunks of a value are collected, because the next ones follow them. */
static void other_attempts_do_not_count(void **state)
{
    (void)state;
    const struct attempt head = ready(0), member = ready(1);
    static const uint64_t numbers[] = {0, NUMBER - 1, NUMBER + 1};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        for (int kind = MEMBER_FRAME_HELLO; kind < MEMBER_FRAME_KINDS; kind++) {
            const bool is_value = kind == MEMBER_FRAME_TENSOR || kind == MEMBER_FRAME_RESULT ||
                                  kind == MEMBER_FRAME_GRADIENT;
            const bool is_attempt = kind == MEMBER_FRAME_BEGIN || kind == MEMBER_FRAME_READY ||
                                    kind == MEMBER_FRAME_BROKEN;
            const enum message_action wanted = is_attempt ? MESSAGE_ATTEMPT
                                               : is_value ? MESSAGE_LATE_VALUE
                                                          : MESSAGE_DROP;
            const enum member_frame_kind of_kind = (enum member_frame_kind)kind;
            assert_int_equal(action_for(&head, 1, of_kind, numbers[i]), wanted);
            assert_int_equal(action_for(&member, 0, of_kind, numbers[i]), wanted);
        }
    }
}

/* Without a present attempt nothing counts, whatever number it carries. */
static void nothing_counts_between_attempts(void **state)
{
    (void)state;
    struct attempt member = ready(1);
    happen(&member, ATTEMPT_EV_LINK_DOWN, 0);
    assert_int_equal(action_for(&member, 0, MEMBER_FRAME_ORDER, NUMBER), MESSAGE_DROP);
    assert_int_equal(action_for(&member, 0, MEMBER_FRAME_SWAP, NUMBER), MESSAGE_DROP);
    assert_int_equal(action_for(&member, 2, MEMBER_FRAME_TENSOR, NUMBER), MESSAGE_LATE_VALUE);
    assert_int_equal(action_for(&member, 0, MEMBER_FRAME_SWAP, member.number), MESSAGE_DROP);
}

/* Orders are the head's, and for it members carry them out. */
static void orders_are_the_heads(void **state)
{
    (void)state;
    const struct attempt head = ready(0), member = ready(1);
    assert_int_equal(action_for(&member, 2, MEMBER_FRAME_ORDER, NUMBER), MESSAGE_DROP);
    assert_int_equal(action_for(&member, 2, MEMBER_FRAME_DONE, NUMBER), MESSAGE_DROP);
    assert_int_equal(action_for(&head, 1, MEMBER_FRAME_HELLO, NUMBER), MESSAGE_DROP);
}

/* Each kind has its sender, and its receiver. */
static void each_message_has_its_sender(void **state)
{
    (void)state;
    static const struct {
        enum member_frame_kind kind;
        uint32_t member, peer, owner;
        bool is_for;
    } rows[] = {
        {MEMBER_FRAME_LINK_UP, 0, 2, 2, true},       {MEMBER_FRAME_LINK_UP, 0, 2, 1, false},
        {MEMBER_FRAME_LINK_DOWN, 1, 2, 2, false},    {MEMBER_FRAME_ANSWER, 0, 1, 1, true},
        {MEMBER_FRAME_ANSWER, 0, 1, NO_PS, false},   {MEMBER_FRAME_ANSWER, 2, 0, 0, false},
        {MEMBER_FRAME_RELAY, 1, 0, 1, true},         {MEMBER_FRAME_RELAY, 1, 0, 2, false},
        {MEMBER_FRAME_TAKE, 1, 0, NO_PS, false},     {MEMBER_FRAME_TAKE, 1, 2, 1, false},
        {MEMBER_FRAME_SWAP, 1, 0, NO_PS, true},      {MEMBER_FRAME_SWAP, 1, 2, NO_PS, false},
        {MEMBER_FRAME_EVALUATE, 2, 0, NO_PS, true},  {MEMBER_FRAME_EVALUATE, 2, 1, NO_PS, false},
        {MEMBER_FRAME_READ, 2, 1, NO_PS, false},     {MEMBER_FRAME_FLOATS, 0, 1, NO_PS, true},
        {MEMBER_FRAME_FLOATS, 2, 1, NO_PS, false},   {MEMBER_FRAME_RESULT, 2, 1, NO_PS, true},
        {MEMBER_FRAME_ORDER, 2, 0, NO_PS, false},    {MEMBER_FRAME_HOLDS, 0, 2, NO_PS, true},
        {MEMBER_FRAME_HOLDS, 1, 0, NO_PS, false},    {MEMBER_FRAME_GRADIENT, 0, 1, NO_PS, true},
        {MEMBER_FRAME_GRADIENT, 2, 1, NO_PS, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(
            member_message_is_for(rows[i].member, rows[i].peer, rows[i].kind, rows[i].owner),
            rows[i].is_for);
    }
}

/* An order is over once, when all members have carried it out. */
static void order_is_over_when_all_have_done_it(void **state)
{
    (void)state;
    struct order_progress progress = {.is_active = false};
    assert_false(order_progress_done(&progress, MEMBERS, 1));
    for (int round = 0; round < 2; round++) {
        order_progress_begin(&progress);
        assert_false(order_progress_done(&progress, MEMBERS, 1));
        assert_false(order_progress_done(&progress, MEMBERS, 1));
        assert_false(order_progress_done(&progress, MEMBERS, 0));
        assert_true(order_progress_done(&progress, MEMBERS, 2));
        assert_false(order_progress_done(&progress, MEMBERS, 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(present_messages_count),
        cmocka_unit_test(other_attempts_do_not_count),
        cmocka_unit_test(nothing_counts_between_attempts),
        cmocka_unit_test(orders_are_the_heads),
        cmocka_unit_test(each_message_has_its_sender),
        cmocka_unit_test(order_is_over_when_all_have_done_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
