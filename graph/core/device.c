#include "graph/core/device.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_MAX = 65535, PART_MAX = 32 };

struct device device_none(void)
{
    return (struct device){.task = DEVICE_ANY, .index = DEVICE_ANY};
}

static bool parse_index(const char *text, int32_t *out)
{
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 5 || text[length] != '\0') { return false; }
    int32_t index = (int32_t)strtol(text, NULL, 10);
    if (index > INDEX_MAX) { return false; }
    *out = index;
    return true;
}

/* One "key:value". False: it is not a part of a device. */
static bool parse_part(const char *key, const char *value, struct device *device)
{
    if (strcmp(key, "job") == 0 && (strcmp(value, "worker") == 0 || strcmp(value, "ps") == 0)) {
        memcpy(device->job, value, strlen(value) + 1);
        return true;
    }
    if (strcmp(key, "task") == 0) { return parse_index(value, &device->task); }
    if (strcmp(key, "cpu") == 0 || strcmp(key, "gpu") == 0) {
        memcpy(device->kind, key, strlen(key) + 1);
        return parse_index(value, &device->index);
    }
    return false;
}

/* The parts of `from` that are given replace those of `device`. */
static void overlay(struct device *device, const struct device *from)
{
    if (from->job[0] != '\0') {
        if (strcmp(device->job, from->job) != 0) { device->task = DEVICE_ANY; }
        memcpy(device->job, from->job, sizeof device->job);
    }
    if (from->task != DEVICE_ANY) { device->task = from->task; }
    if (from->index != DEVICE_ANY) {
        memcpy(device->kind, from->kind, sizeof device->kind);
        device->index = from->index;
    }
}

enum tn_status device_parse(const char *text, struct device *device, struct error *error)
{
    assert(text != NULL && device != NULL);
    struct device parsed = device_none(), merged = *device;
    for (const char *at = text; *at != '\0';) {
        char part[PART_MAX];
        size_t length = *at == '/' ? strcspn(at + 1, "/") : 0;
        bool valid = length > 0 && length < sizeof part;
        if (valid) {
            memcpy(part, at + 1, length);
            part[length] = '\0';
            char *colon = strchr(part, ':');
            valid = colon != NULL;
            if (valid) {
                *colon = '\0';
                valid = parse_part(part, colon + 1, &parsed);
            }
        }
        if (!valid) {
            return error_set(error, TN_EINVAL,
                             "device '%s' is wrong at '%s': write it as /job:worker, "
                             "/job:ps/task:1, /cpu:0 or /gpu:0",
                             text, at);
        }
        at += length + 1;
    }
    overlay(&merged, &parsed);
    if (merged.task != DEVICE_ANY && merged.job[0] == '\0') {
        return error_set(error, TN_EINVAL,
                         "device '%s' has a task but no job: write /job:ps/task:1", text);
    }
    *device = merged;
    return TN_OK;
}

void device_format(const struct device *device, char out[static DEVICE_TEXT_MAX])
{
    char task[24] = "", unit[24] = "";
    int length = 0;
    if (device->task != DEVICE_ANY) {
        length = snprintf(task, sizeof task, "/task:%" PRId32, device->task);
    }
    if (device->index != DEVICE_ANY && length >= 0) {
        length = snprintf(unit, sizeof unit, "/%s:%" PRId32, device->kind, device->index);
    }
    if (length >= 0) {
        length = snprintf(out, DEVICE_TEXT_MAX, "%s%s%s%s",
                          device->job[0] == '\0' ? "" : "/job:", device->job, task, unit);
    }
    assert(length >= 0 && length < DEVICE_TEXT_MAX);
}
