#include "chaos/history/json_member.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Sums and differences of smaller numbers are exact, as integers and as doubles. */
#define NUMBER_LIMIT 1000000000000000

const char *json_member_text(const json_t *object, const char *key, const char *otherwise)
{
    assert(key != NULL);
    const json_t *value = json_object_get(object, key);
    return json_is_string(value) ? json_string_value(value) : otherwise;
}

double json_member_number(const json_t *object, const char *key, double otherwise)
{
    assert(key != NULL);
    const json_t *value = json_object_get(object, key);
    double number = json_number_value(value);
    return json_is_number(value) && fabs(number) < NUMBER_LIMIT ? number : otherwise;
}

json_int_t json_member_integer(const json_t *object, const char *key, json_int_t otherwise)
{
    assert(key != NULL);
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    bool sane = json_is_integer(value) && number < NUMBER_LIMIT && number > -NUMBER_LIMIT;
    return sane ? number : otherwise;
}

bool json_member_true(const json_t *object, const char *key)
{
    assert(key != NULL);
    return json_is_true(json_object_get(object, key));
}

bool line_is(const json_t *line, const char *kind)
{
    assert(kind != NULL);
    return strcmp(json_member_text(line, "kind", ""), kind) == 0;
}
