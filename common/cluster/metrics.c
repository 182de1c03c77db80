#include "common/cluster/metrics.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/base/utf8.h"

void metrics_add(struct metrics *metrics, const char *name, double value)
{
    assert(metrics->count <= METRICS_MAX);
    const size_t length = strlen(name);
    if (length == 0 || length >= METRIC_NAME_BYTES || metrics->count == METRICS_MAX) { return; }
    for (uint32_t i = 0; i < metrics->count; i++) {
        if (strcmp(metrics->list[i].name, name) == 0) { return; }
    }
    struct metric *metric = &metrics->list[metrics->count++];
    memcpy(metric->name, name, length + 1);
    metric->value = value;
}

double metrics_value(const struct metrics *metrics, const char *name)
{
    assert(metrics->count <= METRICS_MAX);
    for (uint32_t i = 0; i < metrics->count; i++) {
        if (strcmp(metrics->list[i].name, name) == 0) { return metrics->list[i].value; }
    }
    return (double)NAN;
}

json_t *metrics_json(const struct metrics *metrics)
{
    json_t *object = json_object();
    assert(metrics->count <= METRICS_MAX);
    for (uint32_t i = 0; i < metrics->count; i++) {
        const double value = metrics->list[i].value;
        json_object_set_new(object, metrics->list[i].name,
                            isfinite(value) ? json_real(value) : json_null());
    }
    return object;
}

static json_t *build(const void *member)
{
    return metrics_json(member);
}

static bool read(const json_t *value, void *member)
{
    struct metrics *metrics = member;
    const char *name;
    json_t *number;
    *metrics = (struct metrics){0};
    if (!json_is_object(value) || json_object_size(value) > METRICS_MAX) { return false; }
    json_object_foreach((json_t *)(uintptr_t)value, name, number)
    {
        char plain[METRIC_NAME_BYTES];
        if (!json_is_number(number) && !json_is_null(number)) { return false; }
        if (strlen(name) >= sizeof plain) { return false; }
        memcpy(plain, name, strlen(name) + 1);
        utf8_plain(plain);
        metrics_add(metrics, plain, json_is_null(number) ? (double)NAN : json_number_value(number));
    }
    return true;
}

const struct json_converter metrics_converter = {build, read, "an object of numbers by name"};
