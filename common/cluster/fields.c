#include "common/cluster/fields.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cluster/run.h"
#include "common/cluster/task.h"

static const void *member(const void *record, const struct field *field)
{
    return (const char *)record + field->offset;
}

static uint64_t load_number(const void *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static json_t *build_number(uint64_t value)
{
    assert(value <= INT64_MAX);
    return json_integer((json_int_t)value);
}

static json_t *build_text(const char *text, size_t size)
{
    assert(memchr(text, '\0', size) != NULL);
    json_t *value = json_string(text);
    return value != NULL ? value : json_string("?");
}

static json_t *build_task(const void *at)
{
    char name[TASK_NAME_MAX];
    struct task task;
    memcpy(&task, at, sizeof task);
    task_format(task, ':', name, sizeof name);
    return json_string(name);
}

static json_t *build_real(const void *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *build_word(const struct field *field, const void *at)
{
    int value;
    memcpy(&value, at, sizeof value);
    assert(value >= 0 && (size_t)value < field->size);
    return json_string(field->word(value));
}

static json_t *build_value(const struct field *field, const void *at)
{
    uint32_t small;
    switch (field->type) {
    case FIELD_NUMBER: return build_number(load_number(at));
    case FIELD_STEP:
        return load_number(at) == STEP_NONE ? json_null() : build_number(load_number(at));
    case FIELD_SMALL: memcpy(&small, at, sizeof small); return json_integer(small);
    case FIELD_WIDE: return json_sprintf("%016" PRIx64, load_number(at));
    case FIELD_DIGEST:
        return json_sprintf("%016" PRIx64 "%016" PRIx64, load_number((const char *)at + 8),
                            load_number(at));
    case FIELD_REAL: return build_real(at);
    case FIELD_FLAG: return json_boolean(*(const bool *)at);
    case FIELD_TEXT: return build_text(at, field->size);
    case FIELD_TASK: return build_task(at);
    case FIELD_ENUM: return build_word(field, at);
    case FIELD_OBJECT: return fields_build(field->members, at);
    }
    assert(false && "a field of unknown type");
    return NULL;
}

json_t *fields_build(const struct field *table, const void *record)
{
    json_t *object = json_object();
    for (const struct field *field = table; object != NULL && field->name != NULL; field++) {
        json_t *value = build_value(field, member(record, field));
        if (json_object_set_new(object, field->name, value) == 0) { continue; }
        json_decref(object);
        return NULL;
    }
    return object;
}

/* ----------------------------------------------------------------- reading */

static bool read_number(const json_t *value, uint64_t limit, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0) { return false; }
    *out = (uint64_t)json_integer_value(value);
    return *out <= limit;
}

/* Exactly 16 digits. */
static bool read_hexadecimal(const char *digits, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < 16; i++) {
        char digit = digits[i];
        bool decimal = digit >= '0' && digit <= '9';
        if (!decimal && (digit < 'a' || digit > 'f')) { return false; }
        *out = *out << 4 | (uint64_t)(decimal ? digit - '0' : digit - 'a' + 10);
    }
    return true;
}

static bool read_wide(const json_t *value, size_t words, uint64_t *out)
{
    if (!json_is_string(value) || json_string_length(value) != 16 * words) { return false; }
    const char *digits = json_string_value(value);
    for (size_t i = 0; i < words; i++) {
        if (!read_hexadecimal(digits + 16 * i, &out[words - 1 - i])) { return false; }
    }
    return true;
}

static bool read_text(const json_t *value, char *out, size_t size)
{
    if (!json_is_string(value) || json_string_length(value) >= size) { return false; }
    if (strlen(json_string_value(value)) != json_string_length(value)) { return false; }
    memset(out, 0, size);
    memcpy(out, json_string_value(value), json_string_length(value));
    return true;
}

static bool read_real(const json_t *value, double *out)
{
    if (!json_is_number(value) && !json_is_null(value)) { return false; }
    *out = json_is_null(value) ? NAN : json_number_value(value);
    return true;
}

static bool read_word(const struct field *field, const json_t *value, int *out)
{
    if (!json_is_string(value)) { return false; }
    for (*out = 0; (size_t)*out < field->size; ++*out) {
        if (strcmp(json_string_value(value), field->word(*out)) == 0) { return true; }
    }
    return false;
}

static bool read_step(const json_t *value, uint64_t *out)
{
    *out = STEP_NONE;
    return json_is_null(value) || read_number(value, INT64_MAX, out);
}

static bool read_small(const json_t *value, uint32_t *out)
{
    uint64_t number;
    if (!read_number(value, UINT32_MAX, &number)) { return false; }
    *out = (uint32_t)number;
    return true;
}

static bool read_flag(const json_t *value, bool *out)
{
    *out = json_is_true(value);
    return json_is_boolean(value);
}

static bool read_value(const struct field *field, const json_t *value, void *at)
{
    switch (field->type) {
    case FIELD_NUMBER: return read_number(value, INT64_MAX, at);
    case FIELD_STEP: return read_step(value, at);
    case FIELD_SMALL: return read_small(value, at);
    case FIELD_WIDE: return read_wide(value, 1, at);
    case FIELD_DIGEST: return read_wide(value, 2, at);
    case FIELD_REAL: return read_real(value, at);
    case FIELD_FLAG: return read_flag(value, at);
    case FIELD_TEXT: return read_text(value, at, field->size);
    case FIELD_TASK: return json_is_string(value) && task_parse(json_string_value(value), at);
    case FIELD_ENUM: return read_word(field, value, at);
    case FIELD_OBJECT: break;
    }
    return false;
}

enum tn_status fields_read(const struct field *table, const json_t *object, void *record,
                           struct error *error)
{
    if (!json_is_object(object)) { return error_set(error, TN_ECORRUPT, "not a JSON object"); }
    for (const struct field *field = table; field->name != NULL; field++) {
        const json_t *value = json_object_get(object, field->name);
        void *at = (char *)record + field->offset;
        if (value == NULL) { return error_set(error, TN_ECORRUPT, "%s is missing", field->name); }
        if (field->type == FIELD_OBJECT) {
            enum tn_status status = fields_read(field->members, value, at, error);
            if (status == TN_OK) { continue; }
            error_context(error, "%s", field->name);
            return status;
        } else if (!read_value(field, value, at)) {
            char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
            enum tn_status status = error_set(error, TN_ECORRUPT, "%s is %.80s", field->name,
                                              text != NULL ? text : "unreadable");
            free(text);
            return status;
        }
    }
    return TN_OK;
}
