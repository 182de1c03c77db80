#include "common/cluster/row_borders.h"

#include <assert.h>

static json_t *build_borders(const void *member)
{
    const struct row_borders *borders = member;
    json_t *list = json_array();
    assert(borders->count <= ROW_BORDERS_MAX);
    for (uint32_t i = 0; i < borders->count; i++) {
        json_array_append_new(list, json_integer(borders->buckets[i]));
    }
    return list;
}

static bool read_borders(const json_t *value, void *member)
{
    struct row_borders borders = {.count = 0};
    if (!json_is_array(value) || json_array_size(value) > ROW_BORDERS_MAX) { return false; }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *bucket = json_array_get(value, i);
        const json_int_t number = json_integer_value(bucket);
        if (!json_is_integer(bucket) || number < 1 || number >= ROW_BUCKETS) { return false; }
        borders.buckets[borders.count++] = (uint16_t)number;
    }
    if (row_borders_fault(&borders, borders.count + 1) != NULL) { return false; }
    *(struct row_borders *)member = borders;
    return true;
}

static_assert(ROW_BUCKETS == 4096 && ROW_BORDERS_MAX == 63, "`wanted` names them");

const struct json_converter row_borders_converter = {
    .build = build_borders,
    .read = read_borders,
    .wanted = "a list of at most 63 ascending numbers from 1 to 4095",
};

void row_borders_leave_out(const struct row_borders *borders, json_t *object, const char *key)
{
    if (borders->count == 0) { (void)json_object_del(object, key); }
}
