/* The result of a run as the object that scripts read, and history entries as text. */
#include "cli/run/result.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/observe/event_text.h"

static const struct history_entry restored = {.kind = HISTORY_RECOVERED,
                                              .wall_ms = 1000,
                                              .epoch = 2,
                                              .generation = 3,
                                              .step = 500,
                                              .recovery = RECOVERY_PS,
                                              .task = {ROLE_PS, 1},
                                              .took_ms = 18,
                                              .steps_redone = 4,
                                              .cause = "signal 9 (Killed)"};

/* Steps 400 and 600 are evaluated again after a restore. */
static const struct history_entry evaluated[] = {
    {.kind = HISTORY_EVALUATED, .step = 200, .loss = 3},
    {.kind = HISTORY_EVALUATED, .step = 400, .loss = 2},
    {.kind = HISTORY_EVALUATED, .step = 600, .loss = 1},
    {.kind = HISTORY_EVALUATED, .step = 400, .loss = 2},
    {.kind = HISTORY_EVALUATED,
     .step = 600,
     .loss = 1,
     .metrics = {.count = 2, .list = {{"f1", 0.25}, {"auc", NAN}}}},
};

/* The object has every documented field. */
static void result_has_every_field(void **state)
{
    (void)state;
    struct job job;
    struct result result;
    struct run run = {.phase = RUN_DONE,
                      .epoch = 2,
                      .generation = 3,
                      .committed_checkpoint = 7,
                      .committed_step = 600,
                      .elections = 2,
                      .skipped_checkpoints = 3,
                      .evaluation = {.step = 600,
                                     .loss = 0.5,
                                     .accuracy = 0.75,
                                     .digest = {0xabc, 0x1},
                                     .metrics = {.count = 1, .list = {{"f1", 0.5}}}}};
    job_init(&job);
    result_init(&result, &job);
    result_note(&result, &restored);
    for (unsigned i = 0; i < 5; i++) { result_note(&result, &evaluated[i]); }
    char *text = result_json(&result, &run, "done");
    json_t *root = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(root, "status")), "done");
    assert_string_equal(json_string_value(json_object_get(root, "mode")), "sync");
    assert_int_equal(json_integer_value(json_object_get(root, "steps")), 600);
    assert_int_equal(json_integer_value(json_object_get(root, "examples")), 600 * 64);
    assert_string_equal(json_string_value(json_object_get(root, "parameters_digest")),
                        "00000000000000010000000000000abc");
    assert_true(json_is_null(json_object_get(root, "checkpoint_digest")));
    assert_int_equal(json_integer_value(json_object_get(root, "skipped_checkpoints")), 3);
    const json_t *metrics = json_object_get(root, "metrics");
    assert_true(json_real_value(json_object_get(metrics, "f1")) == 0.5);
    const json_t *evaluations = json_object_get(root, "evaluations");
    metrics = json_object_get(json_array_get(evaluations, 2), "metrics");
    assert_true(json_real_value(json_object_get(metrics, "f1")) == 0.25);
    assert_true(json_is_null(json_object_get(metrics, "auc")));
    assert_int_equal(json_array_size(evaluations), 3); /* Each step once, in order. */
    for (unsigned i = 0; i < 3; i++) {
        const json_t *entry = json_array_get(evaluations, i);
        assert_int_equal(json_integer_value(json_object_get(entry, "step")), 200 * (i + 1));
    }
    const json_t *recovery = json_array_get(json_object_get(root, "recoveries"), 0);
    assert_string_equal(json_string_value(json_object_get(recovery, "kind")), "ps");
    assert_string_equal(json_string_value(json_object_get(recovery, "task")), "ps:1");
    assert_int_equal(json_integer_value(json_object_get(recovery, "paused_ms")), 18);
    assert_int_equal(json_integer_value(json_object_get(recovery, "steps_redone")), 4);
    json_decref(root);
    free(text);
    result_free(&result);
}

/* A damaged last checkpoint is the reason of the failure, beside the digest that the disk holds. */
static void damaged_checkpoint_is_the_reason(void **state)
{
    (void)state;
    struct job job;
    struct result result;
    const struct run run = {.phase = RUN_DONE, .committed_checkpoint = 7};
    job_init(&job);
    result_init(&result, &job);
    snprintf(result.checkpoint_digest, sizeof result.checkpoint_digest, "%032d", 5);
    snprintf(result.damage.text, sizeof result.damage.text, "checkpoint 7: other parameters");
    char *text = result_json(&result, &run, "failed");
    json_t *root = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(root, "checkpoint_digest")),
                        "00000000000000000000000000000005");
    assert_string_equal(json_string_value(json_object_get(root, "reason")),
                        "checkpoint 7: other parameters");
    json_decref(root);
    free(text);
    result_free(&result);
}

/* The text of a recovery names the lost task, the cause, the steps redone and the time. */
static void recovery_text_names_task_and_cause(void **state)
{
    (void)state;
    char text[EVENT_TEXT_MAX];
    event_text_history(&restored, text);
    const char *parts[] = {"step 500", "ps:1", "signal 9 (Killed)", "4 steps redone", "18 ms"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_non_null(strstr(text, parts[i]));
    }
}

/* A stop by an operator before training began is not a failure. */
static void early_stop_is_not_a_failure(void **state)
{
    (void)state;
    struct run run = {.phase = RUN_FAILED, .reason = RUN_STOPPED_REASON};
    struct history_entry entry = {.kind = HISTORY_FAILED, .cause = RUN_STOPPED_REASON};
    char text[EVENT_TEXT_MAX];
    assert_true(result_run_was_stopped(&run));
    assert_string_equal(event_text_event(&entry), "stopped");
    event_text_history(&entry, text);
    assert_string_equal(text, RUN_STOPPED_REASON);
    run.reason[0] = entry.cause[0] = 'S';
    assert_false(result_run_was_stopped(&run));
    assert_string_equal(event_text_event(&entry), "failed");
}

/* The text of a fallback names both checkpoints. */
static void fallback_text_names_both_checkpoints(void **state)
{
    (void)state;
    const struct history_entry entry = {.kind = HISTORY_FALLBACK,
                                        .checkpoint = 2,
                                        .step = 200,
                                        .cause = "ps:1 cannot load it; loading checkpoint 1"};
    char text[EVENT_TEXT_MAX];
    event_text_history(&entry, text);
    assert_string_equal(text, "checkpoint 2: ps:1 cannot load it; loading checkpoint 1");
}

/* The object of `tanist watch` names the event, the time and the task. */
static void watch_object_names_event_time_and_task(void **state)
{
    (void)state;
    json_t *object = event_text_history_json(&restored);
    assert_string_equal(json_string_value(json_object_get(object, "event")), "restored");
    assert_string_equal(json_string_value(json_object_get(object, "time")),
                        "1970-01-01T00:00:01.000Z");
    assert_string_equal(json_string_value(json_object_get(object, "task")), "ps:1");
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(result_has_every_field),
        cmocka_unit_test(damaged_checkpoint_is_the_reason),
        cmocka_unit_test(recovery_text_names_task_and_cause),
        cmocka_unit_test(early_stop_is_not_a_failure),
        cmocka_unit_test(fallback_text_names_both_checkpoints),
        cmocka_unit_test(watch_object_names_event_time_and_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
