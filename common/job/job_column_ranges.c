#include "common/job/job_column_ranges.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 9, NAME_MAX_BYTES = 256, RANGE_MAX = 4096 };

/* PREFIX and a number, of at least `digits` digits. */
struct range {
    const char *prefix;
    int prefix_bytes, digits;
    uint32_t first, count;
};

/* The length of the digits with which a text of `length` bytes ends. */
static size_t digits_at_end(const char *text, size_t length)
{
    size_t digits = 0;
    while (digits < length && strchr("0123456789", text[length - 1 - digits]) != NULL) { digits++; }
    return digits;
}

static uint32_t number_of(const char *digits, size_t count)
{
    char text[DIGITS_MAX + 1] = "";
    assert(count <= DIGITS_MAX);
    memcpy(text, digits, count);
    return (uint32_t)strtoul(text, NULL, 10);
}

static bool parse(const char *text, struct range *range)
{
    const char *dots = strstr(text, "..");
    if (dots == NULL || strlen(text) >= NAME_MAX_BYTES) { return false; }
    const char *second = dots + 2;
    const size_t length = (size_t)(dots - text), second_length = strlen(second);
    const size_t digits = digits_at_end(text, length);
    const size_t second_digits = digits_at_end(second, second_length);
    const size_t prefix = length - digits;
    if (digits == 0 || digits > DIGITS_MAX || second_digits > DIGITS_MAX ||
        second_length - second_digits != prefix || strncmp(text, second, prefix) != 0) {
        return false;
    }
    const uint32_t first = number_of(text + prefix, digits);
    const uint32_t last = number_of(second + prefix, second_digits);
    const bool padded = text[prefix] == '0' && digits > 1;
    *range = (struct range){
        .prefix = text,
        .prefix_bytes = (int)prefix,
        .digits = padded ? (int)digits : 1,
        .first = first,
        .count = last - first + 1,
    };
    return second_digits > 0 && first <= last && last - first < RANGE_MAX &&
           (!padded || second_digits == digits);
}

static void name_at(const struct range *range, uint32_t i, char out[static NAME_MAX_BYTES])
{
    (void)snprintf(out, NAME_MAX_BYTES, "%.*s%0*" PRIu32, range->prefix_bytes, range->prefix,
                   range->digits, range->first + i);
}

/* Name `i` of `count`, if the value is a range of as many; else the value itself. */
static json_t *name_of(json_t *value, uint32_t i, uint32_t count)
{
    struct range range;
    char name[NAME_MAX_BYTES];
    const char *text = json_string_value(value);
    if (text == NULL || !parse(text, &range) || range.count != count) { return json_incref(value); }
    name_at(&range, i, name);
    return json_string(name);
}

/* The value of key `i` of a range of `count`. */
static json_t *value_at(const json_t *value, uint32_t i, uint32_t count)
{
    json_t *own = json_deep_copy(value);
    json_t *from = json_object_get(own, "from"), *of = json_object_get(own, "of");
    if (from != NULL) { json_object_set_new(own, "from", name_of(from, i, count)); }
    for (size_t k = 0; k < json_array_size(of); k++) {
        json_array_set_new(of, k, name_of(json_array_get(of, k), i, count));
    }
    return own;
}

/* False: `out` has the key already, or out of memory. Takes the reference of `value`. */
static bool add(json_t *out, const char *key, json_t *value)
{
    if (json_object_get(out, key) != NULL) {
        json_decref(value);
        return false;
    }
    return json_object_set_new(out, key, value) == 0;
}

static bool add_range(json_t *out, const struct range *range, const json_t *value)
{
    char name[NAME_MAX_BYTES];
    bool added = true;
    for (uint32_t i = 0; i < range->count && added; i++) {
        name_at(range, i, name);
        added = add(out, name, value_at(value, i, range->count));
    }
    return added;
}

json_t *job_column_ranges_expand(const json_t *columns)
{
    json_t *out = json_object(), *value;
    const char *key;
    bool added = out != NULL;
    json_object_foreach((json_t *)(uintptr_t)columns, key, value)
    {
        struct range range;
        if (!added) { break; }
        added =
            parse(key, &range) ? add_range(out, &range, value) : add(out, key, json_incref(value));
    }
    if (added) { return out; }
    json_decref(out);
    return NULL;
}
