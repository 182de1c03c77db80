#include "common/job/job_layers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/job/job.h"

/* The empty list, or object, is the empty text. Keys are sorted, and numbers have 15 digits, so
 * that reading the text gives the same text. */
static bool write_text(const json_t *value, size_t count, char *at, size_t room)
{
    memset(at, 0, room);
    if (count == 0) { return true; }
    size_t size =
        json_dumpb(value, at, room, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
    return size > 0 && size < room;
}

static json_t *build_layers(const void *member)
{
    const char *text = member;
    assert(memchr(text, '\0', JOB_LAYERS_MAX) != NULL);
    return *text == '\0' ? json_array() : json_loads(text, 0, NULL);
}

static bool read_layers(const json_t *value, void *member)
{
    return json_is_array(value) &&
           write_text(value, json_array_size(value), member, JOB_LAYERS_MAX);
}

static json_t *build_options(const void *member)
{
    const char *text = member;
    assert(memchr(text, '\0', JOB_OPTIONS_MAX) != NULL);
    return *text == '\0' ? json_object() : json_loads(text, 0, NULL);
}

static bool read_options(const json_t *value, void *member)
{
    return json_is_object(value) &&
           write_text(value, json_object_size(value), member, JOB_OPTIONS_MAX);
}

const struct json_converter job_layers_converter = {
    .build = build_layers,
    .read = read_layers,
    .wanted = "a list of layers, [...], with a text of less than 8192 bytes",
};

const struct json_converter job_options_converter = {
    .build = build_options,
    .read = read_options,
    .wanted = "an object, {...}, with a text of less than 2048 bytes",
};
