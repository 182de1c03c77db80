/* The znodes of a cluster: encoding, decoding, and errors that name the wrong field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cluster/znodes.h"

static char text[ZNODE_JSON_MAX], again[ZNODE_JSON_MAX];

static struct run sample_run(void)
{
    return (struct run){
        .phase = RUN_PAUSED,
        .epoch = 4,
        .generation = 2,
        .load_checkpoint = 7,
        .load_step = 700,
        .committed_checkpoint = 8,
        .committed_step = 800,
        .last_checkpoint = 9,
        .save_checkpoint = 9,
        .save_step = 900,
        .until = 1000,
        .evaluate_step = STEP_NONE,
        .gate = 77,
        .pause_requested = true,
        .released_count = 2,
        .released = {5, 6},
        .recovery = {.kind = RECOVERY_PS,
                     .task = {.role = ROLE_PS, .index = 1},
                     .started_wall_ms = 5,
                     .step = 850,
                     .cause = "signal 9 (Killed)"},
        .evaluation = {.step = 800,
                       .loss = 0.25,
                       .accuracy = 0.5,
                       .train_loss = NAN,
                       .digest = {1, UINT64_MAX},
                       .metrics = {.count = 2, .list = {{"f1", 0.5}, {"top", NAN}}}},
        .started_wall_ms = 1,
        .changed_wall_ms = 2,
        .elections = 3,
        .reason = "waiting for ps:1",
    };
}

/* A decoded /run encodes to the same text. */
static void run_comes_back(void **state)
{
    (void)state;
    const struct run in = sample_run();
    struct run out;
    size_t size = run_encode(&in, text);
    assert_int_equal(size, strlen(text));
    assert_int_equal(run_decode(text, size, &out, NULL), TN_OK);
    run_encode(&out, again);
    assert_string_equal(text, again);
    assert_true(out.phase == RUN_PAUSED && out.pause_requested && out.evaluate_step == STEP_NONE);
    assert_true(out.recovery.kind == RECOVERY_PS && out.recovery.task.index == 1);
    assert_true(isnan(out.evaluation.train_loss) && out.evaluation.digest[1] == UINT64_MAX);
    assert_true(out.evaluation.metrics.count == 2 && isnan(out.evaluation.metrics.list[1].value));
    assert_string_equal(out.evaluation.metrics.list[0].name, "f1");
    assert_string_equal(out.reason, in.reason);
}

static void assert_run_refused(const char *json, const char *word)
{
    struct run out;
    struct error error;
    assert_int_equal(run_decode(json, strlen(json), &out, &error), TN_ECORRUPT);
    if (strstr(error.text, word) == NULL) { fail_msg("\"%s\" lacks \"%s\"", error.text, word); }
}

/* Text with `from` replaced by `to`. */
static const char *with(const char *from, const char *to)
{
    static char changed[ZNODE_JSON_MAX];
    const char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return changed;
}

/* The error names a wrong field with its value, and a missing field. */
static void wrong_run_is_named(void **state)
{
    (void)state;
    const struct run in = sample_run();
    run_encode(&in, text);
    assert_run_refused("", "/run: not JSON: empty");
    assert_run_refused("{\"version\":1", "/run: not JSON");
    assert_run_refused("[]", "version");
    assert_run_refused(with("\"version\":1", "\"version\":2"), "version is 2");
    assert_run_refused(with("\"version\":1", "\"other\":1"), "version is 0");
    assert_run_refused(with("\"paused\"", "\"poised\""), "phase is \"poised\"");
    assert_run_refused(with("\"generation\":2", "\"generation\":-2"), "generation is -2");
    assert_run_refused(with("\"generation\":2", "\"generation\":2.5"), "generation is 2.5");
    assert_run_refused(with("\"generation\"", "\"g\""), "generation is missing");
    assert_run_refused(with("\"held\":true", "\"held\":1"), "held is 1");
    assert_run_refused(with("\"ps:1\"", "\"ps:99\""), "recovery.task is \"ps:99\"");
    assert_run_refused(with("\"cause\"", "\"because\""), "/run: recovery.cause is missing");
    assert_run_refused(with("ffff", "fffg"), "evaluation.digest");
    assert_run_refused(with("\"f1\":0.5", "\"f1\":\"0.5\""), "evaluation.metrics");
    assert_run_refused(with("\"0000000000000005\"", "5"), "released[0]");
    assert_run_refused(with("\"0000000000000005\"", "\"5\""), "released[0]");
    assert_run_refused(with("\"save_step\":900", "\"save_step\":null"), "save_step is null");
}

/* A text with a NUL, or longer than its array, is refused. */
static void wrong_texts_are_refused(void **state)
{
    (void)state;
    struct run in = sample_run();
    run_encode(&in, text);
    assert_run_refused(with("waiting for", "waiting\\u0000for"), "not JSON");
    char longer[RUN_TEXT_MAX + 1];
    memset(longer, 'x', sizeof longer - 1);
    longer[RUN_TEXT_MAX] = '\0';
    assert_run_refused(with("waiting for", longer), "reason");
}

/* Small records are the same after a round trip. */
static void records_come_back(void **state)
{
    (void)state;
    const struct chief_record record = {.epoch = 3,
                                        .task = {ROLE_COORDINATOR, 1},
                                        .incarnation = 77,
                                        .host = "h",
                                        .address = "tcp://h:1",
                                        .cause = "first chief"};
    const struct member member = {.task = {ROLE_WORKER, 5}, .incarnation = INT64_MAX, .pid = 9};
    const struct exit_note note = {.incarnation = 4, .wall_ms = 6, .cause = "signal 9 (Killed)"};
    const struct request request = {.kind = REQUEST_RESIGN, .by = "operator"};
    struct chief_record record_back;
    struct member member_back;
    struct exit_note note_back;
    struct request request_back;
    assert_int_equal(
        chief_record_decode(text, chief_record_encode(&record, text), &record_back, NULL), TN_OK);
    assert_memory_equal(&record, &record_back, sizeof record);
    assert_int_equal(member_decode(text, member_encode(&member, text), &member_back, NULL), TN_OK);
    assert_memory_equal(&member, &member_back, sizeof member);
    assert_int_equal(exit_note_decode(text, exit_note_encode(&note, text), &note_back, NULL),
                     TN_OK);
    assert_memory_equal(&note, &note_back, sizeof note);
    assert_int_equal(request_decode(text, request_encode(&request, text), &request_back, NULL),
                     TN_OK);
    assert_memory_equal(&request, &request_back, sizeof request);
}

/* A kill request is the same after a round trip; one without an incarnation, or with an unknown
 * signal, is refused. */
static void kill_request_comes_back(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{\"version\":1,\"signal\":\"KILL\",\"at_ms\":1,\"by\":\"\"}",
        "{\"version\":1,\"incarnation\":\"1\",\"signal\":\"HUP\",\"at_ms\":1,\"by\":\"\"}",
        "{\"version\":1,\"incarnation\":1,\"signal\":\"KILL\",\"at_ms\":1,\"by\":\"\"}", "[]", ""};
    for (int i = 0; i < KILL_SIGNALS; i++) {
        const struct kill_request in = {
            .incarnation = UINT64_MAX, .signal = (enum kill_signal)i, .wall_ms = 6, .by = "me"};
        struct kill_request out;
        enum kill_signal parsed;
        assert_int_equal(kill_request_decode(text, kill_request_encode(&in, text), &out, NULL),
                         TN_OK);
        assert_int_equal(out.incarnation, in.incarnation);
        assert_int_equal(out.signal, in.signal);
        assert_int_equal(out.wall_ms, in.wall_ms);
        assert_string_equal(out.by, in.by);
        assert_true(kill_signal_parse(kill_signal_name(in.signal), &parsed) && parsed == in.signal);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct kill_request out;
        assert_int_equal(kill_request_decode(wrong[i], strlen(wrong[i]), &out, NULL), TN_ECORRUPT);
    }
}

/* Every kind of history entry is the same after a round trip. */
static void history_comes_back(void **state)
{
    (void)state;
    for (int kind = 0; kind < HISTORY_KINDS; kind++) {
        const struct history_entry in = {.kind = (enum history_kind)kind,
                                         .wall_ms = 1,
                                         .step = 2,
                                         .task = {ROLE_PS, 2},
                                         .recovery = RECOVERY_RESTART,
                                         .steps_redone = 3,
                                         .accuracy = 0.5,
                                         .metrics = {.count = 1, .list = {{"f1", 0.25}}},
                                         .cause = "c"};
        struct history_entry out;
        assert_int_equal(history_decode(text, history_encode(&in, text), &out, NULL), TN_OK);
        assert_memory_equal(&in, &out, sizeof in);
    }
}

/* Slices keep their workers; a slice without a worker is null. */
static void assignment_comes_back(void **state)
{
    (void)state;
    struct assignment in = {.generation = 2, .slice_count = 3, .worker = {4, UINT16_MAX, 0}}, out;
    struct error error;
    assert_int_equal(assignment_decode(text, assignment_encode(&in, text), &out, NULL), TN_OK);
    assert_memory_equal(&in, &out, sizeof in);
    assert_non_null(strstr(text, "[4,null,0]"));
    const char *wrong = with("[4,", "[128,");
    assert_int_equal(assignment_decode(wrong, strlen(wrong), &out, &error), TN_ECORRUPT);
    assert_non_null(strstr(error.text, "workers[0]"));
    in.slice_count = SLICES_MAX;
    assert_int_equal(assignment_decode(text, assignment_encode(&in, text), &out, NULL), TN_OK);
}

/* The spec carries the job as given. */
static void spec_carries_the_job(void **state)
{
    (void)state;
    char job[] = "{\"name\":\"mnist\"}";
    const struct spec in = {.key = UINT64_MAX,
                            .job_hash = 1,
                            .ps = 2,
                            .workers = 3,
                            .created_wall_ms = 4,
                            .job_json = job};
    struct spec out;
    char *json = spec_encode(&in);
    assert_int_equal(spec_decode(json, strlen(json), &out, NULL), TN_OK);
    assert_true(out.key == in.key && out.job_hash == 1 && out.ps == 2 && out.workers == 3);
    assert_string_equal(out.job_json, job);
    free(out.job_json);
    free(json);
}

/* An error quotes what it cannot read, without characters that control a terminal. */
static void spec_errors_are_plain(void **state)
{
    (void)state;
    static const char damaged[] = "{\"version\": 1, \x1b[2J}";
    struct spec out;
    struct error error;
    assert_int_equal(spec_decode(damaged, strlen(damaged), &out, &error), TN_ECORRUPT);
    assert_non_null(strstr(error.text, "/spec: not JSON"));
    assert_null(strchr(error.text, '\x1b'));
}

/* Paths are formatted, and names that would break them are refused. */
static void paths_are_formatted(void **state)
{
    (void)state;
    char path[ZK_PATH_MAX];
    znode_path(path, "c", "");
    assert_string_equal(path, "/tanist/c");
    znode_member_path(path, "c", (struct task){ROLE_PS, 1});
    assert_string_equal(path, "/tanist/c/members/ps-1");
    znode_exit_path(path, "c", (struct task){ROLE_COORDINATOR, 0});
    assert_string_equal(path, "/tanist/c/exits/coordinator-0");
    znode_checkpoint_path(path, "c", 42);
    assert_string_equal(path, "/tanist/c/checkpoints/0000000042");
    assert_int_equal(cluster_name_check("mnist-2_b.c", NULL), TN_OK);
    assert_int_equal(cluster_name_check("", NULL), TN_EINVAL);
    assert_int_equal(cluster_name_check("a/b", NULL), TN_EINVAL);
    assert_int_equal(cluster_name_check("..", NULL), TN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_comes_back),          cmocka_unit_test(wrong_run_is_named),
        cmocka_unit_test(wrong_texts_are_refused), cmocka_unit_test(records_come_back),
        cmocka_unit_test(kill_request_comes_back), cmocka_unit_test(history_comes_back),
        cmocka_unit_test(assignment_comes_back),   cmocka_unit_test(spec_carries_the_job),
        cmocka_unit_test(spec_errors_are_plain),   cmocka_unit_test(paths_are_formatted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
