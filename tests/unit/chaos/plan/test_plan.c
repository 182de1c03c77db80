/* chaos/plan/plan.h: plans are read, and what is wrong in one is named with a remedy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chaos/plan/plan.h"
#include "common/faults/failpoint.h"

enum { PLAN_BYTES = 1024 };

/* Reads a plan; `*error` has the words when it is refused. */
static enum tn_status read_plan(const char *text, struct plan *plan, struct error *error)
{
    json_error_t where;
    json_t *json = json_loads(text, 0, &where);
    if (json == NULL) { fail_msg("%s: %s", where.text, text); }
    *error = (struct error){0};
    enum tn_status status = plan_from_json(json, plan, error);
    json_decref(json);
    return status;
}

/* A plan of one line of faults. */
static enum tn_status read_line(const char *line, struct plan *plan, struct error *error)
{
    char text[PLAN_BYTES];
    snprintf(text, sizeof text, "{\"seconds\": 60, \"faults\": [{%s}]}", line);
    return read_plan(text, plan, error);
}

/* Every key goes where it belongs. */
static void keys_are_read(void **state)
{
    (void)state;
    struct plan plan;
    struct error error;
    assert_int_equal(read_plan("{\"name\": \"n\", \"about\": \"a\", \"seconds\": 20, \"draw\": 3,"
                               " \"recover_within_s\": 7.5, \"set\": {\"train.steps\": 500},"
                               " \"faults\": [{\"fault\": \"freeze\", \"whom\": [\"chief\", "
                               "\"ps:1\"], \"after_s\": [1, 2], \"for_sessions\": 3}]}",
                               &plan, &error),
                     TN_OK);
    const struct plan_fault *line = &plan.faults[0];
    assert_string_equal(plan.name, "n");
    assert_string_equal(plan.about, "a");
    assert_string_equal(plan.sets[0], "train.steps=500");
    assert_true(plan.seconds > 19 && plan.recover_within_s > 7 && plan.draw == 3);
    assert_true(plan.set_count == 1 && plan.fault_count == 1);
    assert_int_equal(line->fault, FAULT_FREEZE);
    assert_int_equal(line->whom_count, 2);
    assert_string_equal(line->whom[1], "ps:1");
    assert_true(line->after_s[0] < line->after_s[1] && line->for_sessions);
    assert_true(line->for_s[0] > 2 && line->times[0] == 1 && line->times[1] == 1);
    plan_free(&plan);
}

/* The four ways to say when come to their triggers. */
static void triggers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *when;
        enum trigger_type type;
    } ways[] = {{"\"after_s\": 3", TRIGGER_TIME},
                {"\"every_s\": [0.3, 0.8]", TRIGGER_TIME},
                {"\"at_progress\": [0.1, 0.9]", TRIGGER_STEP},
                {"\"in_phase\": \"loading\", \"pass\": [1, 3]", TRIGGER_PHASE},
                {"\"at_point\": \"node.before_register\", \"after_s\": 1", TRIGGER_POINT}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char line[256];
        struct plan plan;
        struct error error;
        snprintf(line, sizeof line, "\"fault\": \"kill\", \"whom\": \"ps\", %s", ways[i].when);
        if (read_line(line, &plan, &error) != TN_OK) { fail_msg("%s", error.text); }
        assert_int_equal(plan.faults[0].trigger.type, ways[i].type);
        plan_free(&plan);
    }
}

/* Whom a fault of the cluster or one at a failpoint strikes need not be said. */
static void usual_whom(void **state)
{
    (void)state;
    struct plan plan;
    struct error error;
    assert_int_equal(read_line("\"fault\": \"resign\", \"after_s\": 1", &plan, &error), TN_OK);
    assert_string_equal(plan.faults[0].whom[0], "cluster");
    plan_free(&plan);
    assert_int_equal(read_line("\"fault\": \"kill\", \"at_point\": \"ps.mid_step\"", &plan, &error),
                     TN_OK);
    assert_string_equal(plan.faults[0].whom[0], "ps");
    plan_free(&plan);
}

struct wrong {
    const char *text, *words;
};

static const struct wrong wrong_lines[] = {
    {"\"fault\": \"krill\", \"whom\": \"ps\", \"after_s\": 1", "did you mean \"kill\"?"},
    {"\"whom\": \"ps\", \"after_s\": 1", "faults[0].fault: give a text"},
    {"\"fault\": \"kill\", \"whom\": \"pss\", \"after_s\": 1",
     "faults[0].whom: \"pss\": did you mean \"ps\"?"},
    {"\"fault\": \"kill\", \"whom\": [], \"after_s\": 1", "faults[0].whom is []: say whom"},
    {"\"fault\": \"kill\", \"after_s\": 1", "faults[0].whom: say whom kill strikes"},
    {"\"fault\": \"kill\", \"whom\": \"cluster\", \"after_s\": 1", "kill cannot strike it"},
    {"\"fault\": \"wipe\", \"whom\": \"ps\", \"after_s\": 1", "give one of cluster"},
    {"\"fault\": \"halves\", \"whom\": \"everything\", \"after_s\": 1, \"for_s\": 1",
     "halves cannot strike it"},
    {"\"fault\": \"kill\", \"whom\": \"ps:99999\", \"after_s\": 1", "means nobody"},
    {"\"fault\": \"kill\", \"whom\": \"ps\"", "it does not say when"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"after_s\": 1, \"at_progress\": 0.5", "several ways"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"evry_s\": 1", "did you mean \"every_s\"?"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"every_s\": [0.8, 0.3]",
     "faults[0].every_s is [0.8, 0.3]: give seconds"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"every_s\": [1, 2, 3]", "a range [least, most]"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"at_progress\": 1.5", "from 0 to 1"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"in_phase\": \"lading\"",
     "did you mean \"loading\"?"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"after_s\": 1, \"pass\": 2", "it counts passes"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"after_s\": 1, \"times\": 1.5",
     "faults[0].times is 1.5: give how often, a whole number"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"after_s\": 1, \"for_s\": 1", "does not last"},
    {"\"fault\": \"freeze\", \"whom\": \"ps\", \"after_s\": 1", "say how long freeze lasts"},
    {"\"fault\": \"freeze\", \"whom\": \"ps\", \"after_s\": 1, \"for_s\": 1, \"for_sessions\": 1",
     "give one of them"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"after_s\": 1, \"value\": 1", "kill has none"},
    {"\"fault\": \"loss\", \"whom\": \"ps\", \"after_s\": 1, \"for_s\": 1, \"value\": 200",
     "faults[0].value is 200: give percent for loss, from 0.1 to 100"},
    {"\"fault\": \"kill\", \"at_point\": \"node.before_registr\"",
     "did you mean \"node.before_register\"?"},
    {"\"fault\": \"kill\", \"whom\": \"worker\", \"at_point\": \"ps.mid_step\"",
     "it never passes ps.mid_step: give \"ps\""},
    {"\"fault\": \"kill\", \"whom\": \"agent\", \"at_point\": \"node.idle\"", "give \"any\""},
    {"\"fault\": \"fail\", \"at_point\": \"node.idle\"", "nothing can fail at node.idle"},
    {"\"fault\": \"cut\", \"for_s\": 1, \"whom\": \"ps\", \"at_point\": \"node.idle\"",
     "cut cannot be injected at a failpoint"},
    {"\"fault\": \"fail\", \"whom\": \"ps\", \"after_s\": 1", "fail needs it"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"after_s\": 1, \"always\": true", "draws no lines"},
    {"\"fault\": \"kill\", \"whom\": \"ps\", \"after_s\": 1, \"always\": 1", "give true or false"},
};

/* Each mistake in a line is refused in words that name it. */
static void lines_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_lines / sizeof *wrong_lines; i++) {
        struct plan plan;
        struct error error;
        if (read_line(wrong_lines[i].text, &plan, &error) != TN_EINVAL) {
            fail_msg("accepted: %s", wrong_lines[i].text);
        }
        if (strstr(error.text, wrong_lines[i].words) == NULL) {
            fail_msg("%s: %s; wanted: %s", wrong_lines[i].text, error.text, wrong_lines[i].words);
        }
    }
}

#define KILL "{\"fault\": \"kill\", \"whom\": \"ps\", "
static const struct wrong wrong_plans[] = {
    {"[]", "give an object"},
    {"{}", "faults: give a list"},
    {"{\"faults\": []}", "faults: give a list"},
    {"{\"faults\": [1]}", "faults[0] is 1: give an object"},
    {"{\"fault\": []}", "did you mean \"faults\"?"},
    {"{\"seconds\": -1, \"faults\": []}", "seconds is -1: give seconds, a number from 0"},
    {"{\"draw\": [1, 2], \"faults\": []}", "draw is [1, 2]"},
    {"{\"name\": 7, \"faults\": []}", "name is 7: give a name, a text"},
    {"{\"set\": {\"train.stesp\": 5}, \"faults\": []}", "train.steps"},
    {"{\"set\": {\"train.steps\": null}, \"faults\": []}", "train.steps: give a number"},
    {"{\"set\": [1], \"faults\": []}", "give keys of the job"},
    {"{\"faults\": [" KILL "\"every_s\": 1}]}", "it has no end: give times"},
    {"{\"draw\": 2, \"faults\": [" KILL "\"after_s\": 1, \"times\": 2}]}", "draws single faults"},
};

/* The same of the plan as a whole. */
static void plans_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_plans / sizeof *wrong_plans; i++) {
        struct plan plan;
        struct error error;
        if (read_plan(wrong_plans[i].text, &plan, &error) != TN_EINVAL) {
            fail_msg("accepted: %s", wrong_plans[i].text);
        }
        if (strstr(error.text, wrong_plans[i].words) == NULL) {
            fail_msg("%s: %s; wanted: %s", wrong_plans[i].text, error.text, wrong_plans[i].words);
        }
    }
}

/* A name that is near one is told; a file is told by its path. */
static void names_are_found(void **state)
{
    (void)state;
    struct plan plan;
    struct error error = {0};
    assert_int_equal(plan_read("kill-cheif", &plan, &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "did you mean \"kill-chief\"?"));
    assert_int_equal(plan_read("gardening", &plan, &error), TN_ENOENT);
    assert_non_null(strstr(error.text, "kill-chief, "));
    assert_int_equal(plan_read("/nowhere/plan.json", &plan, &error), TN_ENOENT);
    assert_int_equal(plan_read("chaos/plan/builtin/kill-ps.json", &plan, &error), TN_OK);
    assert_string_equal(plan.name, "kill-ps");
    plan_free(&plan);
}

/* Every built-in plan is valid, is called as its file, and comes to a schedule. */
static void builtin_plans_are_good(void **state)
{
    (void)state;
    const struct cluster_shape shape = {2, 2, 2, 3, 4000, 1000};
    const char *name;
    uint32_t count = 0;
    for (; (name = plan_builtin_name(count)); count++) {
        struct plan plan;
        struct error error = {0};
        struct schedule schedule;
        if (plan_read(name, &plan, &error) != TN_OK) { fail_msg("%s", error.text); }
        assert_string_equal(plan.name, name);
        assert_true(strlen(plan.about) > 20);
        if (schedule_draw(&plan, 1, 1, &shape, &schedule, &error) != TN_OK) {
            fail_msg("%s", error.text);
        }
        assert_true(schedule.count > 0);
        schedule_free(&schedule);
        plan_free(&plan);
    }
    assert_true(count >= 13);
    assert_null(plan_builtin_name(count + 5));
}

/* Every fault is in `everything` or another plan; every failpoint, with each of its faults, in
 * `moments`. */
static void nothing_is_left_out(void **state)
{
    (void)state;
    bool struck[FAULT_COUNT] = {false};
    const char *name;
    for (uint32_t i = 0; (name = plan_builtin_name(i)); i++) {
        struct plan plan;
        assert_int_equal(plan_read(name, &plan, NULL), TN_OK);
        for (uint32_t j = 0; j < plan.fault_count; j++) { struck[plan.faults[j].fault] = true; }
        plan_free(&plan);
    }
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (!struck[i]) { fail_msg("no plan does %s", fault_descriptor((enum fault)i)->name); }
    }
    unsigned count;
    const struct failpoint_info *points = failpoint_list(&count);
    for (unsigned i = 0; i < count; i++) {
        const char *at = plan_builtin_text("moments");
        char wanted[96];
        int uses = 0;
        snprintf(wanted, sizeof wanted, "\"at_point\": \"%s\"", points[i].name);
        for (; (at = strstr(at, wanted)); at++) { uses++; }
        if (uses != 3 + points[i].can_fail) { fail_msg("moments has %s %d times", wanted, uses); }
    }
}

static char document[64 * 1024]; /* docs/chaos.md */

static void read_document(void)
{
    FILE *file = fopen("docs/chaos.md", "re");
    assert_non_null(file);
    document[fread(document, 1, sizeof document - 1, file)] = '\0';
    fclose(file);
}

/* The plan that docs/chaos.md shows can be used as it stands. */
static void example_is_good(void **state)
{
    (void)state;
    struct plan plan;
    struct error error = {0};
    read_document();
    const char *begin = strstr(document, "```json\n");
    assert_non_null(begin);
    json_t *json = json_loads(begin + strlen("```json\n"), JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(json);
    if (plan_from_json(json, &plan, &error) != TN_OK) { fail_msg("%s", error.text); }
    plan_free(&plan);
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_read),
        cmocka_unit_test(triggers_are_read),
        cmocka_unit_test(usual_whom),
        cmocka_unit_test(lines_are_refused),
        cmocka_unit_test(plans_are_refused),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(builtin_plans_are_good),
        cmocka_unit_test(nothing_is_left_out),
        cmocka_unit_test(example_is_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
