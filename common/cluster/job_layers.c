#include "common/cluster/job_layers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/cluster/job.h"

static json_t *build(const void *member)
{
    const char *text = member;
    assert(memchr(text, '\0', JOB_LAYERS_MAX) != NULL);
    return *text == '\0' ? json_array() : json_loads(text, 0, NULL);
}

/* The empty list is the empty text. Keys are sorted, and numbers have 15 digits, so that reading
 * the text gives the same text. */
static bool read(const json_t *value, void *member)
{
    char *at = member;
    if (!json_is_array(value)) { return false; }
    memset(at, 0, JOB_LAYERS_MAX);
    if (json_array_size(value) == 0) { return true; }
    size_t size = json_dumpb(value, at, JOB_LAYERS_MAX,
                             JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
    return size > 0 && size < JOB_LAYERS_MAX;
}

const struct json_converter job_layers_converter = {
    .build = build,
    .read = read,
    .wanted = "a list of layers, [...], with a text of less than 8192 bytes",
};
