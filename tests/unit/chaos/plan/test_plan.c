/* chaos/plan/plan.h: plans are read; an error names the mistake and a remedy. */
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

/* Read a plan. */
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

/* Read a plan with a single line of faults. */
static enum tn_status read_line(const char *line, struct plan *plan, struct error *error)
{
    char text[PLAN_BYTES];
    snprintf(text, sizeof text, "{\"seconds\": 60, \"faults\": [{%s}]}", line);
    return read_plan(text, plan, error);
}

/* Each key is read into its member. */
static void keys_are_read(void **state)
{
    (void)state;
    struct plan plan;
    struct error error;
    assert_int_equal(read_plan("{\"name\": \"n\", \"about\": \"a\", \"seconds\": 20, \"draw\": 3,"
                               " \"recover_within_s\": 7.5, \"set\": {\"train.steps\": 500},"
                               " \"faults\": [{\"fault\": \"freeze\", \"selector\": [\"chief\", "
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
    assert_int_equal(line->selector_count, 2);
    assert_string_equal(line->selectors[1], "ps:1");
    assert_true(line->after_s[0] < line->after_s[1] && line->for_sessions);
    assert_true(line->for_s[0] > 2 && line->times[0] == 1 && line->times[1] == 1);
    plan_free(&plan);
}

/* Each way to give a trigger is read. */
static void triggers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *when;
        enum trigger_type type;
    } cases[] = {{"\"after_s\": 3", TRIGGER_TIME},
                 {"\"every_s\": [0.3, 0.8]", TRIGGER_TIME},
                 {"\"at_progress\": [0.1, 0.9]", TRIGGER_STEP},
                 {"\"in_phase\": \"loading\", \"pass\": [1, 3]", TRIGGER_PHASE},
                 {"\"at_point\": \"node.before_register\", \"after_s\": 1", TRIGGER_FAILPOINT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[256];
        struct plan plan;
        struct error error;
        snprintf(line, sizeof line, "\"fault\": \"kill\", \"selector\": \"ps\", %s", cases[i].when);
        if (read_line(line, &plan, &error) != TN_OK) { fail_msg("%s", error.text); }
        assert_int_equal(plan.faults[0].trigger.type, cases[i].type);
        plan_free(&plan);
    }
}

/* Faults of the cluster and faults at failpoints have default targets. */
static void default_targets_are_used(void **state)
{
    (void)state;
    struct plan plan;
    struct error error;
    assert_int_equal(read_line("\"fault\": \"resign\", \"after_s\": 1", &plan, &error), TN_OK);
    assert_string_equal(plan.faults[0].selectors[0], "cluster");
    plan_free(&plan);
    assert_int_equal(read_line("\"fault\": \"kill\", \"at_point\": \"ps.mid_step\"", &plan, &error),
                     TN_OK);
    assert_string_equal(plan.faults[0].selectors[0], "ps");
    plan_free(&plan);
}

struct wrong {
    const char *text, *message;
};

static const struct wrong wrong_lines[] = {
    {"\"fault\": \"krill\", \"selector\": \"ps\", \"after_s\": 1", "did you mean \"kill\"?"},
    {"\"selector\": \"ps\", \"after_s\": 1", "faults[0].fault: it is missing"},
    {"\"fault\": \"kill\", \"selector\": \"pss\", \"after_s\": 1",
     "faults[0].selector: \"pss\": did you mean \"ps\"?"},
    {"\"fault\": \"kill\", \"selector\": [], \"after_s\": 1",
     "faults[0].selector is []: give the targets"},
    {"\"fault\": \"kill\", \"after_s\": 1", "faults[0].selector: give the targets of kill"},
    {"\"fault\": \"kill\", \"selector\": \"cluster\", \"after_s\": 1",
     "kill cannot have this target"},
    {"\"fault\": \"wipe\", \"selector\": \"ps\", \"after_s\": 1", "give one of cluster"},
    {"\"fault\": \"halves\", \"selector\": \"everything\", \"after_s\": 1, \"for_s\": 1",
     "halves cannot have this target"},
    {"\"fault\": \"kill\", \"selector\": \"ps:99999\", \"after_s\": 1", "selects nothing"},
    {"\"fault\": \"kill\", \"selector\": \"ps\"", "it has no trigger"},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"after_s\": 1, \"at_progress\": 0.5",
     "several triggers"},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"evry_s\": 1", "did you mean \"every_s\"?"},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"every_s\": [0.8, 0.3]",
     "faults[0].every_s is [0.8, 0.3]: give seconds"},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"every_s\": [1, 2, 3]", "a range [least, most]"},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"at_progress\": 1.5", "from 0 to 1"},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"in_phase\": \"lading\"",
     "did you mean \"loading\"?"},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"after_s\": 1, \"pass\": 2", "it counts passes"},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"after_s\": 1, \"times\": 1.5",
     "faults[0].times is 1.5: give how often, a whole number"},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"after_s\": 1, \"for_s\": 1", "does not last"},
    {"\"fault\": \"freeze\", \"selector\": \"ps\", \"after_s\": 1", "freeze lasts: give for_s"},
    {"\"fault\": \"freeze\", \"selector\": \"ps\", \"after_s\": 1, \"for_s\": 1, \"for_sessions\": "
     "1",
     "give one of them"},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"after_s\": 1, \"value\": 1", "kill has none"},
    {"\"fault\": \"loss\", \"selector\": \"ps\", \"after_s\": 1, \"for_s\": 1, \"value\": 200",
     "faults[0].value is 200: give percent for loss, from 0.1 to 100"},
    {"\"fault\": \"kill\", \"at_point\": \"node.before_registr\"",
     "did you mean \"node.before_register\"?"},
    {"\"fault\": \"kill\", \"selector\": \"worker\", \"at_point\": \"ps.mid_step\"",
     "it never passes ps.mid_step: give \"ps\""},
    {"\"fault\": \"kill\", \"selector\": \"agent\", \"at_point\": \"node.idle\"", "give \"any\""},
    {"\"fault\": \"fail\", \"at_point\": \"node.idle\"", "nothing can fail at node.idle"},
    {"\"fault\": \"cut\", \"for_s\": 1, \"selector\": \"ps\", \"at_point\": \"node.idle\"",
     "cut cannot be injected at a failpoint"},
    {"\"fault\": \"fail\", \"selector\": \"ps\", \"after_s\": 1", "fail needs it"},
    {"\"fault\": \"gpu-error\", \"selector\": \"worker\", \"after_s\": 1", "like \"gpu.wait\""},
    {"\"fault\": \"gpu-error\", \"at_point\": \"load.mid_read\"",
     "no GPU is used at load.mid_read: give a failpoint like \"gpu.wait\""},
    {"\"fault\": \"fail\", \"at_point\": \"gpu.wait\"", "give gpu-error"},
    {"\"fault\": \"gpu-lost\", \"selector\": \"worker\", \"after_s\": 1", "gpu-lost lasts"},
    {"\"fault\": \"gpu-lost\", \"selector\": \"chief\", \"after_s\": 1, \"for_s\": 1",
     "it has no GPU: give \"gpu\""},
    {"\"fault\": \"gpu-memory\", \"selector\": \"any\", \"after_s\": 1, \"for_s\": 1",
     "it has no GPU: give \"gpu\""},
    {"\"fault\": \"gpu-error\", \"selector\": \"any\", \"at_point\": \"gpu.wait\"",
     "it has no GPU: give \"gpu\""},
    {"\"fault\": \"kill\", \"selector\": \"coordinator\", \"at_point\": \"gpu.wait\"",
     "it never passes gpu.wait: give \"gpu\""},
    {"\"fault\": \"kill\", \"selector\": \"gpu\", \"at_point\": \"ps.mid_apply\"",
     "no GPU is used at ps.mid_apply: give \"ps\", or the name of a node"},
    {"\"fault\": \"kill\", \"selector\": [\"worker\", \"gpu\"], \"at_point\": \"node.idle\"",
     "no GPU is used at node.idle: give \"any\", or the name of a node"},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"at_point\": \"gpu.mid_peer_copy\"",
     "it never passes gpu.mid_peer_copy: give \"worker\""},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"after_s\": 1, \"always\": true",
     "has no \"draw\""},
    {"\"fault\": \"kill\", \"selector\": \"ps\", \"after_s\": 1, \"always\": 1",
     "give true or false"},
};

/* Each mistake in a line is refused with its location. */
static void lines_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_lines / sizeof *wrong_lines; i++) {
        struct plan plan;
        struct error error;
        if (read_line(wrong_lines[i].text, &plan, &error) != TN_EINVAL) {
            fail_msg("accepted: %s", wrong_lines[i].text);
        }
        if (strstr(error.text, wrong_lines[i].message) == NULL) {
            fail_msg("%s: %s; wanted: %s", wrong_lines[i].text, error.text, wrong_lines[i].message);
        }
    }
}

#define KILL "{\"fault\": \"kill\", \"selector\": \"ps\", "
static const struct wrong wrong_plans[] = {
    {"[]", "give an object"},
    {"{}", "faults: give a list"},
    {"{\"faults\": []}", "faults: give a list"},
    {"{\"faults\": [1]}", "faults[0] is 1: give an object"},
    {"{\"fault\": []}", "did you mean \"faults\"?"},
    {"{\"seconds\": -1, \"faults\": []}", "seconds is -1: give seconds, a number from 0"},
    {"{\"draw\": [1, 2], \"faults\": []}", "draw is [1, 2]"},
    {"{\"name\": 7, \"faults\": []}", "name is 7: give a name, a text"},
    {"{\"name\": \"../x\", \"faults\": []}", "name is \"../x\": give a name that"},
    {"{\"name\": \"a/b\", \"faults\": []}", "name is \"a/b\": give a name that"},
    {"{\"name\": \"\", \"faults\": []}", "name is \"\": give a name that"},
    {"{\"set\": {\"train.stesp\": 5}, \"faults\": []}", "train.steps"},
    {"{\"set\": {\"train.steps\": null}, \"faults\": []}", "train.steps: give a number"},
    {"{\"set\": [1], \"faults\": []}", "give keys of the job"},
    {"{\"faults\": [" KILL "\"every_s\": 1}]}", "it has no end: give times"},
    {"{\"draw\": 2, \"faults\": [" KILL "\"after_s\": 1, \"times\": 2}]}", "draws single faults"},
};

/* So is each mistake in the plan itself. */
static void plans_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_plans / sizeof *wrong_plans; i++) {
        struct plan plan;
        struct error error;
        if (read_plan(wrong_plans[i].text, &plan, &error) != TN_EINVAL) {
            fail_msg("accepted: %s", wrong_plans[i].text);
        }
        if (strstr(error.text, wrong_plans[i].message) == NULL) {
            fail_msg("%s: %s; wanted: %s", wrong_plans[i].text, error.text, wrong_plans[i].message);
        }
    }
}

/* An unknown plan is refused with a similar name; a path is read as a file. */
static void plans_are_found_by_name(void **state)
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

/* Each built-in plan is valid, has the name of its file, and makes a schedule. */
static void builtin_plans_are_valid(void **state)
{
    (void)state;
    const struct cluster_shape shape = {.coordinators = 2,
                                        .ps = 2,
                                        .workers = 2,
                                        .evaluators = 1,
                                        .servers = 3,
                                        .steps = 4000,
                                        .session_timeout_ms = 1000,
                                        .ps_gpus = true};
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

/* Each fault is in some built-in plan; `moments`, or `gpu`, has each failpoint with each of its
 * faults. */
static void builtin_plans_cover_everything(void **state)
{
    (void)state;
    bool used[FAULT_COUNT] = {false};
    const char *name;
    for (uint32_t i = 0; (name = plan_builtin_name(i)); i++) {
        struct plan plan;
        assert_int_equal(plan_read(name, &plan, NULL), TN_OK);
        for (uint32_t j = 0; j < plan.fault_count; j++) { used[plan.faults[j].fault] = true; }
        plan_free(&plan);
    }
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (!used[i]) { fail_msg("no plan has %s", fault_descriptor((enum fault)i)->name); }
    }
    unsigned count;
    const struct failpoint_info *points = failpoint_list(&count);
    for (unsigned i = 0; i < count; i++) {
        const char *plan = failpoint_is_of_gpu(points[i].name) ? "gpu" : "moments";
        const char *at = plan_builtin_text(plan);
        char wanted[96];
        int uses = 0;
        snprintf(wanted, sizeof wanted, "\"at_point\": \"%s\"", points[i].name);
        for (; (at = strstr(at, wanted)); at++) { uses++; }
        if (uses != 3 + points[i].can_fail) { fail_msg("%s has %s %d times", plan, wanted, uses); }
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

/* The plan that docs/chaos.md shows is valid. */
static void documented_plan_is_valid(void **state)
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
        cmocka_unit_test(default_targets_are_used),
        cmocka_unit_test(lines_are_refused),
        cmocka_unit_test(plans_are_refused),
        cmocka_unit_test(plans_are_found_by_name),
        cmocka_unit_test(builtin_plans_are_valid),
        cmocka_unit_test(builtin_plans_cover_everything),
        cmocka_unit_test(documented_plan_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
