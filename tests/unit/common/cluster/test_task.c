/* Names of tasks, phases and recoveries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "common/cluster/run.h"
#include "common/cluster/task.h"

/* A name is parsed from either form. */
static void name_comes_back(void **state)
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

/* A process with several tasks has the name of the first one and the last index. */
static void process_has_a_range(void **state)
{
    (void)state;
    char name[TASK_NAME_MAX];
    task_format_range((struct task){.role = ROLE_WORKER, .index = 16}, 16, ':', name, sizeof name);
    assert_string_equal(name, "worker:16-31");
    task_format_range((struct task){.role = ROLE_PS, .index = 1}, 1, '-', name, sizeof name);
    assert_string_equal(name, "ps-1");
}

/* An unknown role, or an index that is missing, signed, padded, too large or followed by more, is
 * refused. */
static void other_names_are_refused(void **state)
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

/* Every phase and every kind of recovery has its name in /run and in histories. */
static void enums_have_names(void **state)
{
    (void)state;
    static const char *const phases[RUN_PHASES] = {"forming", "loading",  "running", "paused",
                                                   "held",    "stopping", "done",    "failed"};
    static const char *const kinds[] = {"none", "ps", "chief", "restart", "operator"};
    for (int i = 0; i < RUN_PHASES; i++) {
        assert_string_equal(run_phase_name((enum run_phase)i), phases[i]);
    }
    assert_int_equal(sizeof kinds / sizeof kinds[0], RECOVERY_OPERATOR + 1);
    for (int i = 0; i <= RECOVERY_OPERATOR; i++) {
        assert_string_equal(recovery_kind_name((enum recovery_kind)i), kinds[i]);
    }
}

/* A text that does not fit is cut and terminated. */
static void long_text_is_cut(void **state)
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
        cmocka_unit_test(name_comes_back),         cmocka_unit_test(process_has_a_range),
        cmocka_unit_test(other_names_are_refused), cmocka_unit_test(enums_have_names),
        cmocka_unit_test(long_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
