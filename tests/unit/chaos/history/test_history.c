/* chaos/history/history.h: lines are written and read back; a file that is not a history is
 * refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "chaos/history/history.h"

struct scene {
    char folder[64], path[96];
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/test_chaos_history.XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->path, sizeof scene->path, "%s/history.jsonl", scene->folder);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    (void)unlink(scene->path);
    (void)rmdir(scene->folder);
    free(scene);
    return 0;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A line is compact JSON that begins with the time to a microsecond, and the kind. */
static void line_has_its_form(void **state)
{
    struct scene *scene = *state;
    struct history_file *file;
    char text[128] = "";
    assert_int_equal(history_file_create(scene->path, 1000000, &file, NULL), TN_OK);
    history_file_add_at(file, 2234567, "step", json_pack("{s:i}", "step", 7));
    FILE *read = fopen(scene->path, "r"); /* Flushed: the line exists before the file is closed. */
    assert_non_null(fgets(text, sizeof text, read));
    fclose(read);
    assert_string_equal(text, "{\"t_ms\":1234.567,\"kind\":\"step\",\"step\":7}\n");
    assert_int_equal(history_file_close(file, NULL), TN_OK);
}

/* Lines are read in the order in which they were written. */
static void lines_are_read_in_order(void **state)
{
    struct scene *scene = *state;
    struct history_file *file;
    json_t *lines;
    assert_int_equal(history_file_create(scene->path, 0, &file, NULL), TN_OK);
    for (int i = 0; i < 3; i++) { history_file_add(file, "step", json_pack("{s:i}", "step", i)); }
    assert_int_equal(history_file_close(file, NULL), TN_OK);
    assert_int_equal(history_read(scene->path, &lines, NULL), TN_OK);
    assert_int_equal(json_array_size(lines), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(json_integer_value(json_object_get(json_array_get(lines, i), "step")), i);
    }
    json_decref(lines);
}

/* Out of memory for a line is remembered until the file is closed. */
static void failure_is_remembered(void **state)
{
    struct scene *scene = *state;
    struct history_file *file;
    struct error error = {0};
    assert_int_equal(history_file_create(scene->path, 0, &file, NULL), TN_OK);
    history_file_add(file, "step", NULL);
    assert_int_equal(history_file_close(file, &error), TN_ENOMEM);
    assert_non_null(strstr(error.text, scene->path));
}

/* A harness that was killed leaves a last line that is cut off; the others are read. */
static void cut_line_is_ignored(void **state)
{
    struct scene *scene = *state;
    json_t *lines;
    write_text(scene->path, "{\"t_ms\":0.0,\"kind\":\"begin\"}\n{\"t_ms\":1.5,\"ki");
    assert_int_equal(history_read(scene->path, &lines, NULL), TN_OK);
    assert_int_equal(json_array_size(lines), 1);
    json_decref(lines);
}

/* A file that is not a history is refused; the error names the line. */
static void other_file_is_refused(void **state)
{
    struct scene *scene = *state;
    struct error error = {0};
    json_t *lines;
    write_text(scene->path, "{\"t_ms\":0.0,\"kind\":\"begin\"}\n{\"kind\":\"step\"}\n");
    assert_int_equal(history_read(scene->path, &lines, &error), TN_EINVAL);
    assert_null(lines);
    assert_non_null(strstr(error.text, "line 2 has no \"t_ms\""));
    assert_int_equal(history_read("/nowhere/history.jsonl", &lines, &error), TN_ENOENT);
}

static const struct injection injections[] = {
    {1, FAULT_KILL, "chief", {.type = TRIGGER_TIME, .at_ms = 1500, .count = 1}, 0, 0},
    {2, FAULT_FREEZE, "ps:1", {.type = TRIGGER_STEP, .step = 40, .count = 1}, 3000, 0},
    {3,
     FAULT_LOSS,
     "zookeeper:2",
     {.type = TRIGGER_PHASE, .phase = RUN_LOADING, .count = 2},
     10,
     12.5},
    {4,
     FAULT_STALL,
     "ps:0",
     {.type = TRIGGER_FAILPOINT, .failpoint = "ckpt.before_sync", .at_ms = 7, .count = 3},
     0,
     250},
};
enum { INJECTIONS = sizeof injections / sizeof *injections };

/* Each type of trigger is the same after it was written and read. */
static void schedule_is_read_as_written(void **state)
{
    struct scene *scene = *state;
    struct history_file *file;
    struct schedule schedule;
    json_t *lines;
    assert_int_equal(history_file_create(scene->path, 0, &file, NULL), TN_OK);
    history_file_add(file, "begin", json_object());
    for (int i = 0; i < INJECTIONS; i++) {
        history_file_add(file, "planned", injection_to_json(&injections[i]));
    }
    assert_int_equal(history_file_close(file, NULL), TN_OK);
    assert_int_equal(history_read(scene->path, &lines, NULL), TN_OK);
    assert_int_equal(history_schedule(lines, &schedule, NULL), TN_OK);
    assert_int_equal(schedule.count, INJECTIONS);
    for (int i = 0; i < INJECTIONS; i++) {
        json_t *before = injection_to_json(&injections[i]);
        json_t *after = injection_to_json(&schedule.list[i]);
        assert_true(json_equal(before, after));
        json_decref(before);
        json_decref(after);
    }
    schedule_free(&schedule);
    json_decref(lines);
}

/* Each type of trigger has its own members, in this order. */
static void planned_line_has_its_form(void **state)
{
    (void)state;
    static const char *const expected[INJECTIONS] = {
        "{\"id\":1,\"fault\":\"kill\",\"selector\":\"chief\","
        "\"trigger\":{\"type\":\"time\",\"at_ms\":1500},\"for_ms\":0,\"value\":0.0}",
        "{\"id\":2,\"fault\":\"freeze\",\"selector\":\"ps:1\","
        "\"trigger\":{\"type\":\"step\",\"step\":40},\"for_ms\":3000,\"value\":0.0}",
        "{\"id\":3,\"fault\":\"loss\",\"selector\":\"zookeeper:2\",\"trigger\":{\"type\":"
        "\"phase\",\"phase\":\"loading\",\"count\":2},\"for_ms\":10,\"value\":12.5}",
        "{\"id\":4,\"fault\":\"stall\",\"selector\":\"ps:0\",\"trigger\":{\"type\":\"point\","
        "\"point\":\"ckpt.before_sync\",\"count\":3,\"at_ms\":7},\"for_ms\":0,\"value\":250.0}"};
    for (int i = 0; i < INJECTIONS; i++) {
        json_t *object = injection_to_json(&injections[i]);
        char *text = json_dumps(object, JSON_COMPACT);
        assert_string_equal(text, expected[i]);
        free(text);
        json_decref(object);
    }
}

/* The error for a planned line names the member that is wrong. */
static void wrong_member_is_named(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {{"fault", "\"krill\""},
                                           {"selector", "7"},
                                           {"for_ms", "-1"},
                                           {"value", "\"x\""},
                                           {"trigger", "{\"type\":\"never\"}"},
                                           {"trigger", "{\"type\":\"phase\",\"count\":1}"},
                                           {"id", "\"1\""}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct injection out;
        struct error error = {0};
        json_t *object = injection_to_json(&injections[0]);
        json_object_set_new(object, wrong[i][0], json_loads(wrong[i][1], JSON_DECODE_ANY, NULL));
        assert_int_equal(injection_from_json(object, &out, &error), TN_EINVAL);
        assert_non_null(strstr(error.text, wrong[i][0]));
        json_decref(object);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(line_has_its_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_are_read_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failure_is_remembered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_line_is_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(schedule_is_read_as_written, set_up, tear_down),
        cmocka_unit_test(planned_line_has_its_form),
        cmocka_unit_test(wrong_member_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
