/* Names of tasks and of what /run says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "common/cluster/run.h"
#include "common/cluster/task.h"

/* A name comes back from either form. */
static void test_round_trip(void **state)
{
    (void)state;
    const struct task task = {.role = ROLE_WORKER, .index = 17};
    struct task back = {0};
    char name[TASK_NAME_MAX];
    task_format(task, ':', name, sizeof name);
    assert_string_equal(name, "worker:17");
    assert_true(task_parse(name, &back) && task_equal(task, back));
    task_format(task, '-', name, sizeof name);
    assert_string_equal(name, "worker-17");
    assert_true(task_parse(name, &back) && task_equal(task, back));
}

/* What is no task is refused: unknown role, index missing, signed, padded, over the bound, or
 * followed by more. */
static void test_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "ps",
                                        "ps:",
                                        "ps:-1",
                                        "ps:01",
                                        "ps:64",
                                        "ps:99999999999",
                                        "ps:1x",
                                        "PS:1",
                                        ":1",
                                        "chief:0",
                                        "ps 1",
                                        "ps:1:2",
                                        "coordinator-16",
                                        "worker:128",
                                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1"};
    struct task task = {.role = ROLE_PS, .index = 5};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(task_parse(wrong[i], &task));
    }
    assert_true(task.role == ROLE_PS && task.index == 5);
}

/* Every phase and every kind of recovery has the name that /run and the histories hold. */
static void test_names(void **state)
{
    (void)state;
    static const char *const phases[RUN_PHASES] = {"forming",  "loading", "running", "paused",
                                                   "stopping", "done",    "failed"};
    static const char *const kinds[] = {"none", "ps", "chief", "restart", "operator"};
    for (int i = 0; i < RUN_PHASES; i++) {
        assert_string_equal(run_phase_name((enum run_phase)i), phases[i]);
    }
    assert_int_equal(sizeof kinds / sizeof kinds[0], RECOVERY_OPERATOR + 1);
    for (int i = 0; i <= RECOVERY_OPERATOR; i++) {
        assert_string_equal(recovery_kind_name((enum recovery_kind)i), kinds[i]);
    }
}

/* A text that does not fit is cut and still ends. */
static void test_text(void **state)
{
    (void)state;
    char place[12];
    struct text text = text_begin(place, sizeof place);
    text_add(&text, "step ");
    text_add_number(&text, 12003);
    assert_string_equal(place, "step 12003");
    task_append(&text, (struct task){.role = ROLE_PS, .index = 1});
    assert_string_equal(place, "step 12003p");
    text_set(place, sizeof place, NULL);
    assert_string_equal(place, "");
    assert_true(text_equal("", place) && !text_equal("a", "ab") && !text_equal("ab", "a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
