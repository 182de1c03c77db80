/*
 * The encoding: every field as 64 bits little-endian in the order of `fields` below (doubles by
 * their bits), then the metrics of the evaluation, `place`, `inputs.fingerprint`, then zeros. All
 * roles have the same layout.
 */
#include "common/cluster/report.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/base/utf8.h"

/* The format of the body; changes with the order or meaning of the fields. */
#define REPORT_MAGIC UINT64_C(0x3731545250524e54) /* "TNRPRT17" */

struct cursor {
    uint8_t *out; /* NULL: reading. */
    const uint8_t *in;
    size_t at;
};

static void integer(struct cursor *cursor, uint64_t *value)
{
    assert((cursor->out == NULL) != (cursor->in == NULL));
    assert(cursor->at + 8 <= REPORT_BYTES);
    if (cursor->out != NULL) {
        for (int i = 0; i < 8; i++) { cursor->out[cursor->at++] = (uint8_t)(*value >> (8 * i)); }
        return;
    }
    *value = 0;
    for (int i = 0; i < 8; i++) { *value |= (uint64_t)cursor->in[cursor->at++] << (8 * i); }
}

static void real(struct cursor *cursor, double *value)
{
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    integer(cursor, &bits);
    memcpy(value, &bits, sizeof bits);
}

/* The fields of 64 bits in the order of the encoding. Encoding, decoding and comparing use this
 * list, so that they cannot differ. */
static const size_t integers[] = {
    offsetof(struct report, incarnation),
    offsetof(struct report, sequence),
    offsetof(struct report, epoch),
    offsetof(struct report, order_epoch),
    offsetof(struct report, order_revision),
    offsetof(struct report, generation),
    offsetof(struct report, step),
    offsetof(struct report, leaving),
    offsetof(struct report, saved_checkpoint),
    offsetof(struct report, saved_step),
    offsetof(struct report, saved_digest[0]),
    offsetof(struct report, saved_digest[1]),
    offsetof(struct report, saved_bytes),
    offsetof(struct report, missed_checkpoint),
    offsetof(struct report, late_checkpoint),
    offsetof(struct report, failed_load),
    offsetof(struct report, failed_load_generation),
    offsetof(struct report, failed_load_missing),
    offsetof(struct report, loading_generation),
    offsetof(struct report, disk_checkpoint),
    offsetof(struct report, disk_step),
    offsetof(struct report, disk_epoch),
    offsetof(struct report, disk_generation),
    offsetof(struct report, disk_last_checkpoint),
    offsetof(struct report, waits_for_checkpoint),
    offsetof(struct report, gate),
    offsetof(struct report, beyond),
    offsetof(struct report, ready),
    offsetof(struct report, evaluation.step),
    offsetof(struct report, evaluation.digest[0]),
    offsetof(struct report, evaluation.digest[1]),
    offsetof(struct report, inputs.data[0]),
    offsetof(struct report, inputs.data[1]),
    offsetof(struct report, evaluated_checkpoint),
    offsetof(struct report, slice_ns),
    offsetof(struct report, evaluation_ms),
    offsetof(struct report, late.words[0]),
    offsetof(struct report, late.words[1]),
    offsetof(struct report, late.words[2]),
    offsetof(struct report, late.words[3]),
    offsetof(struct report, late_after_ms),
    offsetof(struct report, late_periods),
};
enum { INTEGERS = sizeof integers / sizeof integers[0] };

static_assert(SLICES_WORDS == 4, "all of `late` is listed");

/* Members that follow each other in a report, all of them in `integers`: they are compared at
 * once. */
struct member_range {
    size_t from, bytes;
};
#define RANGE(first, behind)                                                                       \
    {                                                                                              \
        offsetof(struct report, first),                                                            \
            offsetof(struct report, behind) - offsetof(struct report, first)                       \
    }
static const struct member_range ranges[] = {
    RANGE(incarnation, step),
    RANGE(leaving, disk_best),
    RANGE(disk_epoch, evaluation),
};
#undef RANGE
enum { MEMBERS_APART = 6 }; /* In `integers`, but elsewhere: compared one by one. */

static_assert(INTEGERS * sizeof(uint64_t) ==
                  offsetof(struct report, evaluation) - offsetof(struct report, incarnation) -
                      sizeof(struct best) + MEMBERS_APART * sizeof(uint64_t),
              "the ranges and the others are all integers");

static void fields(struct cursor *cursor, struct report *report)
{
    for (size_t i = 0; i < INTEGERS; i++) {
        uint64_t value;
        memcpy(&value, (const char *)report + integers[i], sizeof value);
        integer(cursor, &value);
        memcpy((char *)report + integers[i], &value, sizeof value);
    }
    uint64_t metric = report->disk_best.metric;
    integer(cursor, &report->disk_best.checkpoint);
    integer(cursor, &report->disk_best.step);
    integer(cursor, &metric);
    real(cursor, &report->disk_best.value);
    report->disk_best.metric = metric <= BEST_ACCURACY ? (enum best_metric)metric : BEST_NONE;
    real(cursor, &report->evaluation.loss);
    real(cursor, &report->evaluation.accuracy);
    real(cursor, &report->evaluation.train_loss);
}

static enum tn_status check_counters(const struct report *report, struct error *error)
{
    assert(report->task.role < ROLE_COUNT);
    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {
        {"sequence", report->sequence},
        {"epoch", report->epoch},
        {"order_epoch", report->order_epoch},
        {"order_revision", report->order_revision},
        {"generation", report->generation},
        {"step", report->step},
        {"saved_checkpoint", report->saved_checkpoint},
        {"saved_step", report->saved_step},
        {"saved_bytes", report->saved_bytes},
        {"missed_checkpoint", report->missed_checkpoint},
        {"late_checkpoint", report->late_checkpoint},
        {"failed_load", report->failed_load},
        {"failed_load_generation", report->failed_load_generation},
        {"loading_generation", report->loading_generation},
        {"disk_checkpoint", report->disk_checkpoint},
        {"disk_step", report->disk_step},
        {"disk_best.checkpoint", report->disk_best.checkpoint},
        {"disk_best.step", report->disk_best.step},
        {"disk_epoch", report->disk_epoch},
        {"disk_generation", report->disk_generation},
        {"disk_last_checkpoint", report->disk_last_checkpoint},
        {"waits_for_checkpoint", report->waits_for_checkpoint},
        {"gate", report->gate},
        {"evaluation.step", report->evaluation.step == STEP_NONE ? 0 : report->evaluation.step},
        {"evaluated_checkpoint", report->evaluated_checkpoint},
        {"slice_ns", report->slice_ns},
        {"evaluation_ms", report->evaluation_ms},
        {"late_after_ms", report->late_after_ms},
        {"late_periods", report->late_periods},
    };
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        if (counters[i].value <= COUNTER_MAX) { continue; }
        return error_set(error, TN_EPROTO,
                         "report of %s:%" PRIu32 ": %s is %" PRIu64 ", expected at most 2^62-1",
                         role_name(report->task.role), report->task.index, counters[i].name,
                         counters[i].value);
    }
    return TN_OK;
}

/* `size` bytes, zero-filled; the last one is always zero. */
static void put_text(struct cursor *cursor, const char *text, size_t size)
{
    assert(cursor->at + size <= REPORT_BYTES);
    for (size_t i = 0; i + 1 < size && text[i] != '\0'; i++) {
        cursor->out[cursor->at + i] = (uint8_t)text[i];
    }
    cursor->at += size;
}

static enum tn_status take_text(struct cursor *cursor, char *text, size_t size, const char *name,
                                struct task task, struct error *error)
{
    assert(cursor->at + size <= REPORT_BYTES);
    if (memchr(cursor->in + cursor->at, '\0', size) == NULL) {
        return error_set(error, TN_EPROTO, "report of %s:%" PRIu32 ": its %s is not terminated",
                         role_name(task.role), task.index, name);
    }
    memcpy(text, cursor->in + cursor->at, size);
    utf8_clean(text);
    cursor->at += size;
    return TN_OK;
}

static void put_metrics(struct cursor *cursor, struct metrics *metrics)
{
    assert(metrics->count <= METRICS_MAX);
    uint64_t count = metrics->count;
    integer(cursor, &count);
    for (uint32_t i = 0; i < METRICS_MAX; i++) {
        put_text(cursor, metrics->list[i].name, METRIC_NAME_BYTES);
        real(cursor, &metrics->list[i].value);
    }
}

static enum tn_status take_metrics(struct cursor *cursor, struct metrics *metrics, struct task task,
                                   struct error *error)
{
    uint64_t count = 0;
    integer(cursor, &count);
    if (count > METRICS_MAX) {
        return error_set(error, TN_EPROTO,
                         "report of %s:%" PRIu32 ": %" PRIu64 " metrics, expected at most %d",
                         role_name(task.role), task.index, count, METRICS_MAX);
    }
    for (uint32_t i = 0; i < METRICS_MAX; i++) {
        char name[METRIC_NAME_BYTES];
        double value = 0;
        enum tn_status status =
            take_text(cursor, name, sizeof name, "name of a metric", task, error);
        if (status != TN_OK) { return status; }
        real(cursor, &value);
        if (i < count) { metrics_add(metrics, name, value); }
    }
    return TN_OK;
}

void report_encode(const struct report *report, uint8_t out[static REPORT_BYTES])
{
    assert(report->task.role < ROLE_COUNT);
    struct report copy = *report;
    struct cursor cursor = {.out = out};
    uint64_t magic = REPORT_MAGIC, role = copy.task.role, index = copy.task.index;
    memset(out, 0, REPORT_BYTES);
    integer(&cursor, &magic);
    integer(&cursor, &role);
    integer(&cursor, &index);
    fields(&cursor, &copy);
    put_metrics(&cursor, &copy.evaluation.metrics);
    put_text(&cursor, copy.place, sizeof copy.place);
    put_text(&cursor, copy.inputs.fingerprint, sizeof copy.inputs.fingerprint);
}

enum tn_status report_decode(const void *bytes, size_t size, struct report *out,
                             struct error *error)
{
    assert(bytes != NULL && out != NULL);
    if (size != REPORT_BYTES) {
        return error_set(error, TN_EPROTO, "report has %zu bytes, expected %d", size, REPORT_BYTES);
    }
    struct cursor cursor = {.in = bytes};
    uint64_t magic = 0, role = 0, index = 0;
    memset(out, 0, sizeof *out);
    integer(&cursor, &magic);
    integer(&cursor, &role);
    integer(&cursor, &index);
    if (magic != REPORT_MAGIC) {
        return error_set(error, TN_EPROTO, "report has the unknown format %016" PRIx64, magic);
    }
    if (role >= ROLE_COUNT) {
        return error_set(error, TN_EPROTO, "report has the unknown role %" PRIu64, role);
    }
    const uint32_t limit = role_limit((enum role)role);
    if (index >= limit) {
        return error_set(error, TN_EPROTO,
                         "report of %s:%" PRIu64 ": the index is at most %" PRIu32,
                         role_name((enum role)role), index, limit - 1);
    }
    out->task = (struct task){.role = (enum role)role, .index = (uint32_t)index};
    fields(&cursor, out);
    struct inputs *inputs = &out->inputs;
    enum tn_status status = take_metrics(&cursor, &out->evaluation.metrics, out->task, error);
    if (status == TN_OK) {
        status = take_text(&cursor, out->place, sizeof out->place, "place", out->task, error);
    }
    if (status == TN_OK) {
        status = take_text(&cursor, inputs->fingerprint, sizeof inputs->fingerprint, "fingerprint",
                           out->task, error);
    }
    if (status == TN_OK && out->saved_checkpoint != 0 && out->saved_bytes == 0) {
        return error_set(error, TN_EPROTO,
                         "report of %s:%" PRIu64 ": saved_bytes of checkpoint %" PRIu64 " is 0",
                         role_name((enum role)role), index, out->saved_checkpoint);
    }
    return status == TN_OK ? check_counters(out, error) : status;
}

/* ------------------------------------------------------------------- comparing */

static bool same_bits(double a, double b)
{
    uint64_t left, right;
    memcpy(&left, &a, sizeof left);
    memcpy(&right, &b, sizeof right);
    return left == right;
}

static bool same_best(const struct best *a, const struct best *b)
{
    return a->checkpoint == b->checkpoint && a->step == b->step && a->metric == b->metric &&
           same_bits(a->value, b->value);
}

static bool same_metrics(const struct metrics *a, const struct metrics *b)
{
    if (a->count != b->count) { return false; }
    for (uint32_t i = 0; i < a->count; i++) {
        const struct metric *x = &a->list[i], *y = &b->list[i];
        if (strcmp(x->name, y->name) != 0 || !same_bits(x->value, y->value)) { return false; }
    }
    return true;
}

bool report_equal_but_step(const struct report *a, const struct report *b)
{
    assert(a != NULL && b != NULL);
    if (a->task.role != b->task.role || a->task.index != b->task.index) { return false; }
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const size_t from = ranges[i].from;
        if (memcmp((const char *)a + from, (const char *)b + from, ranges[i].bytes) != 0) {
            return false;
        }
    }
    const struct evaluation *x = &a->evaluation, *y = &b->evaluation;
    return a->evaluated_checkpoint == b->evaluated_checkpoint && x->step == y->step &&
           memcmp(x->digest, y->digest, sizeof x->digest) == 0 &&
           memcmp(a->inputs.data, b->inputs.data, sizeof a->inputs.data) == 0 &&
           same_best(&a->disk_best, &b->disk_best) && same_bits(x->loss, y->loss) &&
           same_bits(x->accuracy, y->accuracy) && same_bits(x->train_loss, y->train_loss) &&
           same_metrics(&x->metrics, &y->metrics) &&
           strncmp(a->place, b->place, sizeof a->place - 1) == 0 &&
           strncmp(a->inputs.fingerprint, b->inputs.fingerprint,
                   sizeof a->inputs.fingerprint - 1) == 0;
}
