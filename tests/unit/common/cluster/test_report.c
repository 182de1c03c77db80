/* The encoding of reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/cluster/report.h"

enum {
    STEP_AT = 8 * 9,
    COUNT_AT = 8 * (3 + 42 + 4 + 3),
    PLACE_AT = COUNT_AT + 8 + METRICS_MAX * (METRIC_NAME_BYTES + 8),
    FINGERPRINT_AT = PLACE_AT + 112
};

static struct report sample(void)
{
    return (struct report){
        .task = {.role = ROLE_PS, .index = 3},
        .incarnation = 0x7766554433221100,
        .sequence = 9,
        .epoch = 4,
        .generation = 2,
        .step = 1204,
        .saved_checkpoint = 7,
        .saved_step = 1200,
        .saved_digest = {1, UINT64_MAX},
        .saved_bytes = 4096,
        .evaluated_checkpoint = 11,
        .missed_checkpoint = 6,
        .late_checkpoint = 4,
        .failed_load = 5,
        .failed_load_generation = 1,
        .disk_checkpoint = 6,
        .disk_step = 1100,
        .disk_epoch = 3,
        .disk_generation = 2,
        .disk_last_checkpoint = 8,
        .order_epoch = 3,
        .order_revision = 41,
        .waits_for_checkpoint = 600,
        .gate = 610,
        .beyond = 1,
        .late = {{1, 2, 3, UINT64_MAX}},
        .late_after_ms = 240,
        .late_periods = 3,
        .ready = 1,
        .slice_ns = 810000,
        .evaluation = {.step = STEP_NONE,
                       .loss = -0.25,
                       .accuracy = 0.97,
                       .train_loss = 1e-300,
                       .digest = {11, 12},
                       .metrics = {.count = 2, .list = {{"f1", 0.5}, {"my/top", -3}}}},
        .place = "host:/data/ps-3",
        .inputs = {.fingerprint = "cpu: x; kernels for y", .data = {5, 6}},
    };
}

static void assert_refused(const uint8_t *bytes, size_t size, const char *word)
{
    struct report out;
    struct error error;
    assert_int_equal(report_decode(bytes, size, &out, &error), TN_EPROTO);
    assert_non_null(strstr(error.text, word));
}

/* A decoded report encodes to the same bytes. */
static void report_comes_back(void **state)
{
    (void)state;
    struct report in = sample(), out;
    uint8_t bytes[REPORT_BYTES], again[REPORT_BYTES];
    report_encode(&in, bytes);
    assert_int_equal(report_decode(bytes, sizeof bytes, &out, NULL), TN_OK);
    report_encode(&out, again);
    assert_memory_equal(bytes, again, sizeof bytes);
    assert_true(task_equal(out.task, in.task) && out.step == 1204 && out.saved_bytes == 4096);
    assert_true(out.evaluation.step == STEP_NONE && out.evaluation.train_loss == 1e-300);
    assert_true(out.evaluation.digest[1] == 12 && out.disk_last_checkpoint == 8 && out.ready == 1);
    assert_int_equal(out.evaluation.metrics.count, 2);
    assert_string_equal(out.evaluation.metrics.list[1].name, "my/top");
    assert_true(out.evaluation.metrics.list[1].value == -3);
    assert_int_equal(out.waits_for_checkpoint, 600);
    assert_int_equal(out.gate, 610);
    assert_int_equal(out.beyond, 1);
    assert_true(out.order_epoch == 3 && out.order_revision == 41);
    assert_int_equal(out.slice_ns, 810000);
    assert_string_equal(out.place, in.place);
    assert_string_equal(out.inputs.fingerprint, in.inputs.fingerprint);
    assert_true(out.inputs.data[0] == 5 && out.inputs.data[1] == 6);
}

/* Each bit of the encoding counts, but for those of the step. */
static void comparing_looks_at_all_but_the_step(void **state)
{
    (void)state;
    struct report in = sample(), original, changed;
    uint8_t bytes[REPORT_BYTES], other[REPORT_BYTES], again[REPORT_BYTES];
    uint32_t different = 0;
    report_encode(&in, bytes);
    assert_int_equal(report_decode(bytes, sizeof bytes, &original, NULL), TN_OK);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        memcpy(other, bytes, sizeof other);
        other[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (report_decode(other, sizeof other, &changed, NULL) != TN_OK) { continue; }
        report_encode(&changed, again);
        memcpy(again + STEP_AT, bytes + STEP_AT, 8);
        const bool is_same = memcmp(again, bytes, sizeof bytes) == 0;
        assert_int_equal(report_equal_but_step(&original, &changed), is_same);
        assert_int_equal(report_equal_but_step(&changed, &original), is_same);
        different += !is_same;
    }
    assert_true(different > 40 * 60);
}

/* A wrong size, format, role, index, counter or text is named. */
static void wrong_report_is_refused(void **state)
{
    (void)state;
    struct report in = sample();
    uint8_t good[REPORT_BYTES], bytes[REPORT_BYTES];
    report_encode(&in, good);
    assert_refused(good, REPORT_BYTES - 1, "2047 bytes");
    memcpy(bytes, good, sizeof bytes), bytes[0] ^= 1;
    assert_refused(bytes, sizeof bytes, "format");
    memcpy(bytes, good, sizeof bytes), bytes[8] = ROLE_COUNT;
    assert_refused(bytes, sizeof bytes, "role 4");
    memcpy(bytes, good, sizeof bytes), bytes[16] = PS_MAX;
    assert_refused(bytes, sizeof bytes, "ps:64");
    memcpy(bytes, good, sizeof bytes), memset(bytes + 8 * 9, 0xff, 8);
    assert_refused(bytes, sizeof bytes, ": step is 18446744073709551615");
    memcpy(bytes, good, sizeof bytes), bytes[8 * 9 + 7] = 0x40; /* 2^62 and more. */
    assert_refused(bytes, sizeof bytes, "expected at most 2^62-1");
    in.saved_bytes = 0;
    report_encode(&in, bytes);
    assert_refused(bytes, sizeof bytes, "saved_bytes of checkpoint 7 is 0");
    memset(in.place, 'x', sizeof in.place);
    report_encode(&in, bytes); /* Cut, so that it is terminated. */
    assert_int_equal(bytes[PLACE_AT], 'x');
    memset(bytes + PLACE_AT, 'x', sizeof in.place);
    assert_refused(bytes, sizeof bytes, "place is not terminated");
    memcpy(bytes, good, sizeof bytes), bytes[COUNT_AT] = METRICS_MAX + 1;
    assert_refused(bytes, sizeof bytes, "25 metrics, expected at most 24");
    memcpy(bytes, good, sizeof bytes), memset(bytes + COUNT_AT + 8, 'x', METRIC_NAME_BYTES);
    assert_refused(bytes, sizeof bytes, "name of a metric is not terminated");
    memcpy(bytes, good, sizeof bytes), memset(bytes + FINGERPRINT_AT, 'x', FINGERPRINT_MAX);
    assert_refused(bytes, sizeof bytes, "fingerprint is not terminated");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_comes_back),
        cmocka_unit_test(comparing_looks_at_all_but_the_step),
        cmocka_unit_test(wrong_report_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
