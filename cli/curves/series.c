#include "cli/curves/series.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/metrics_file.h"
#include "common/base/minmax.h"

struct reading {
    struct run_series *run;
    json_t *names; /* The metrics that exist, as the keys of an object. */
};

/* ---------------------------------------------------------------- lines */

static bool grow(struct series *series)
{
    if (series->count < series->capacity) { return true; }
    const size_t capacity = series->capacity > 0 ? 2 * series->capacity : 256;
    struct series_point *points = realloc(series->points, capacity * sizeof *points);
    if (points == NULL) { return false; }
    series->points = points;
    series->capacity = capacity;
    return true;
}

/* The later one of two values of a step counts. A late value may be one of an earlier step. */
static bool put(struct series *series, uint64_t step, double value)
{
    size_t at = series->count;
    while (at > 0 && series->points[at - 1].step > step) { at--; }
    if (at > 0 && series->points[at - 1].step == step) {
        series->points[at - 1].value = value;
        return true;
    }
    if (!grow(series)) { return false; }
    memmove(series->points + at + 1, series->points + at,
            (series->count - at) * sizeof *series->points);
    series->points[at] = (struct series_point){.step = step, .value = value};
    series->count++;
    return true;
}

static void annul(struct run_series *run, uint64_t step)
{
    for (size_t m = 0; m < run->metric_count; m++) {
        struct series *series = &run->series[m];
        while (series->count > 0 && series->points[series->count - 1].step > step) {
            series->count--;
        }
    }
    if (step > 0 && run->mark_count < SERIES_MARKS_MAX) { run->marks[run->mark_count++] = step; }
}

static void note_names(struct reading *reading, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (json_is_number(value) && strcmp(key, "step") != 0) {
            json_object_set_new(reading->names, key, json_true());
        }
    }
}

static void take_line(void *ctx, const json_t *object)
{
    struct reading *reading = ctx;
    struct run_series *run = reading->run;
    const char *event = json_string_value(json_object_get(object, "event"));
    const json_int_t number = json_integer_value(json_object_get(object, "step"));
    const uint64_t step = number > 0 ? (uint64_t)number : 0;
    if (event != NULL) {
        if (strcmp(event, METRICS_LOADED) == 0) { annul(run, step); }
        if (strcmp(event, "changed") == 0) { json_array_append(run->changes, (json_t *)object); }
        return;
    }
    note_names(reading, object);
    for (size_t m = 0; m < run->metric_count; m++) {
        const json_t *value = json_object_get(object, run->metrics[m]);
        if (!json_is_number(value)) { continue; }
        if (!put(&run->series[m], step, json_number_value(value))) { run->out_of_memory = true; }
    }
}

/* ---------------------------------------------------------------- reading */

static enum tn_status check_metrics(const struct run_series *run, json_t *names,
                                    struct error *error)
{
    char list[512] = "";
    size_t used = 0;
    const char *key;
    json_t *value;
    json_object_foreach(names, key, value)
    {
        const int length =
            snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", key);
        if (length > 0 && used + (size_t)length < sizeof list) { used += (size_t)length; }
    }
    for (size_t m = 0; m < run->metric_count; m++) {
        if (run->series[m].count > 0 || json_object_get(names, run->metrics[m]) != NULL) {
            continue;
        }
        return error_set(error, TN_EINVAL,
                         "%.300s has no point with the metric \"%.64s\": it has %s", run->dir,
                         run->metrics[m], used > 0 ? list : "none yet");
    }
    return TN_OK;
}

enum tn_status run_series_read(struct run_series *run, const char *dir, const char *const *metrics,
                               size_t metric_count, struct error *error)
{
    assert(metric_count <= SERIES_METRICS_MAX);
    *run = (struct run_series){.dir = dir, .metric_count = metric_count, .changes = json_array()};
    for (size_t m = 0; m < metric_count; m++) { run->metrics[m] = metrics[m]; }
    struct reading reading = {.run = run, .names = json_object()};
    enum tn_status status = metrics_file_read(dir, take_line, &reading, error);
    if (status == TN_ENOENT) {
        status = error_set(error, TN_ENOENT,
                           "%.300s has no " METRICS_FILE ": give the folder of a run", dir);
    }
    if (status == TN_OK && run->out_of_memory) {
        status = error_set(error, TN_ENOMEM, "out of memory");
    }
    if (status == TN_OK) { status = check_metrics(run, reading.names, error); }
    json_decref(reading.names);
    if (status != TN_OK) { run_series_free(run); }
    return status;
}

void run_series_free(struct run_series *run)
{
    for (size_t m = 0; m < run->metric_count; m++) { free(run->series[m].points); }
    json_decref(run->changes);
    *run = (struct run_series){0};
}

/* ---------------------------------------------------------------- thinning */

/* The lowest and the highest of some points, in their order. Returns how many. */
static size_t extremes(const struct series_point *points, size_t count,
                       struct series_point out[static 2])
{
    size_t low = 0, high = 0;
    assert(count >= 1);
    for (size_t i = 1; i < count; i++) {
        if (points[i].value < points[low].value) { low = i; }
        if (points[i].value > points[high].value) { high = i; }
    }
    out[0] = points[size_min(low, high)];
    out[1] = points[size_max(low, high)];
    return low == high ? 1 : 2;
}

struct series_point *series_thin(const struct series *series, size_t most, size_t *count)
{
    assert(most >= 2);
    struct series_point *out = calloc(most, sizeof *out);
    *count = 0;
    if (out == NULL) { return NULL; }
    if (series->count <= most) {
        if (series->count > 0) { memcpy(out, series->points, series->count * sizeof *out); }
        *count = series->count;
        return out;
    }
    const size_t parts = most / 2;
    for (size_t p = 0; p < parts; p++) {
        const size_t first = p * series->count / parts, end = (p + 1) * series->count / parts;
        *count += extremes(series->points + first, end - first, out + *count);
    }
    return out;
}
