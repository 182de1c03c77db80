/* Structs as JSON. */
#include "common/base/json_codec.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_codec_private.h"
#include "common/base/utf8.h"

json_t *json_text(const char *text)
{
    assert(text != NULL);
    json_t *value = json_string(text);
    if (value != NULL || utf8_is_valid(text)) { return value; }
    char *copy = strdup(text);
    if (copy == NULL) { return NULL; }
    utf8_clean(copy);
    value = json_string(copy);
    free(copy);
    return value;
}

static uint64_t load_uint(const struct json_field *field, const void *at)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (field->size) {
    case sizeof two: memcpy(&two, at, sizeof two); return two;
    case sizeof four: memcpy(&four, at, sizeof four); return four;
    default: memcpy(&eight, at, sizeof eight); return eight;
    }
}

static json_t *build_none(const struct json_field *field)
{
    assert(field->none != NULL);
    return none_is_null(field) ? json_null() : json_string(field->none);
}

static json_t *build_uint(const struct json_field *field, const void *at)
{
    uint64_t value = load_uint(field, at);
    if (field->none != NULL && value == uint_limit(field)) { return build_none(field); }
    assert(value <= INT64_MAX);
    return json_integer((json_int_t)value);
}

static json_t *build_real(const struct json_field *field, const void *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    return isfinite(value) ? json_real(value) : build_none(field);
}

static json_t *build_enum(const struct json_field *field, const void *at)
{
    int value;
    assert(field->size == sizeof value);
    memcpy(&value, at, sizeof value);
    assert(value >= 0);
    for (int i = 0; i <= value; i++) { assert(field->names[i] != NULL); }
    return json_string(field->names[value]);
}

static json_t *build_hex(const struct json_field *field, const void *at)
{
    uint64_t words[2];
    assert(field->size == sizeof words[0] || field->size == sizeof words);
    memcpy(words, at, field->size);
    if (field->size == sizeof words[0]) { return json_sprintf("%016" PRIx64, words[0]); }
    return json_sprintf("%016" PRIx64 "%016" PRIx64, words[1], words[0]);
}

static json_t *build_object(const struct json_table *table, const void *at)
{
    assert(table != NULL);
    json_t *object = json_object();
    if (object != NULL && json_codec_build(table, at, 0, object)) { return object; }
    json_decref(object);
    return NULL;
}

static json_t *build_list(const struct json_field *field, const void *record)
{
    const struct json_field *element = field->element;
    uint32_t length;
    memcpy(&length, (const char *)record + field->length_offset, sizeof length);
    assert(length <= field->size / element->size);
    json_t *list = json_array();
    for (uint32_t i = 0; list != NULL && i < length; i++) {
        const char *at = (const char *)record + field->offset + i * element->size;
        if (json_array_append_new(list, json_codec_build_field(element, at)) == 0) { continue; }
        json_decref(list);
        return NULL;
    }
    return list;
}

json_t *json_codec_build_field(const struct json_field *field, const void *record)
{
    const char *at = (const char *)record + field->offset;
    switch (field->type) {
    case FIELD_UINT: return build_uint(field, at);
    case FIELD_REAL: return build_real(field, at);
    case FIELD_BOOL: return json_boolean(*(const bool *)at);
    case FIELD_TEXT:
    case FIELD_CHOICE: assert(memchr(at, '\0', field->size) != NULL); return json_text(at);
    case FIELD_ENUM: return build_enum(field, at);
    case FIELD_HEX: return build_hex(field, at);
    case FIELD_LIST: return build_list(field, record);
    case FIELD_OBJECT: return build_object(field->table, at);
    case FIELD_CUSTOM: return field->converter->build(at);
    case FIELD_UINT_RANGE:
    case FIELD_REAL_RANGE:
    case FIELD_OTHER: break;
    }
    assert(false && "a field that the codec does not write");
    return NULL;
}

/* The object that the row's key belongs to, made if absent, and the key's name in it. */
static json_t *section_of(json_t *object, const struct json_field *field, const char **name)
{
    assert(strlen(field->name) < FIELD_NAME_MAX);
    *name = field->name;
    for (const char *dot; (dot = strchr(*name, '.')) != NULL; *name = dot + 1) {
        char section[FIELD_NAME_MAX];
        snprintf(section, sizeof section, "%.*s", (int)(dot - *name), *name);
        if (json_object_get(object, section) == NULL &&
            json_object_set_new(object, section, json_object()) != 0) {
            return NULL;
        }
        object = json_object_get(object, section);
    }
    return object;
}

bool json_codec_build(const struct json_table *table, const void *record, unsigned tags,
                      json_t *object)
{
    assert(table != NULL && record != NULL);
    size_t count = json_codec_count(table);
    for (size_t i = 0; i < count; i++) {
        const struct json_field *field = json_codec_row(table, i);
        const char *name = NULL;
        if (field->type == FIELD_OTHER || (field->tags & tags) != tags) { continue; }
        json_t *section = section_of(object, field, &name);
        if (section == NULL) { return false; }
        json_t *value = json_codec_build_field(field, record);
        if (json_object_set_new(section, name, value) != 0) { return false; }
    }
    return true;
}
