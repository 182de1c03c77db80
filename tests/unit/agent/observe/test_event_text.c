/* The texts and names of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/observe/event_text.h"

/* A member that comes and goes; the loss of the chief is an event of its own. */
static void members_come_and_go(void **state)
{
    (void)state;
    static const struct {
        enum member_event event;
        const char *name, *text;
    } cases[] = {
        {MEMBER_UP, "task-up", "coordinator:1 (pid 7) is up"},
        {MEMBER_LOST, "task-lost", "coordinator:1 (pid 7) is lost"},
        {MEMBER_CHIEF_LOST, "chief-lost", "coordinator:1 (pid 7) is lost: it was the chief"},
    };
    const struct member member = {.task = {ROLE_COORDINATOR, 1}, .pid = 7};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[EVENT_TEXT_MAX];
        event_text_member(&member, cases[i].event, text);
        assert_string_equal(text, cases[i].text);
        assert_string_equal(event_text_member_event(cases[i].event), cases[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
