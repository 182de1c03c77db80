/* Messages of the codec. */
#include "common/base/json_codec.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_codec_private.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/base/utf8.h"

enum { REMEDY_MAX = 640, VALUE_MAX = 80 };

/* The value as JSON, cut short. */
static void format_value(const json_t *value, char text[static VALUE_MAX])
{
    char *all = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    int length = snprintf(text, VALUE_MAX, "%s", all != NULL ? all : "?");
    if (length >= VALUE_MAX) { memcpy(text + VALUE_MAX - sizeof "...", "...", sizeof "..."); }
    utf8_plain(text);
    free(all);
}

enum tn_status json_refuse(const char *where, const char *key, const json_t *value,
                           struct error *error, const char *remedy, ...)
{
    assert(where != NULL && key != NULL);
    char text[REMEDY_MAX], shown[VALUE_MAX], place[JSON_WHERE_MAX];
    va_list arguments;
    va_start(arguments, remedy);
    vsnprintf(text, sizeof text, remedy, arguments);
    va_end(arguments);
    snprintf(place, sizeof place, "%s%s%s", where, *where && *key ? "." : "", key);
    utf8_plain(place);
    utf8_plain(text);
    if (value != NULL) {
        format_value(value, shown);
        return error_set(error, TN_EINVAL, "%s is %s: %s", *place ? place : "the document", shown,
                         text);
    }
    return error_set(error, TN_EINVAL, "%s%s%s", place, *place ? ": " : "", text);
}

/* Errors of a table have its status. */
static enum tn_status with_status(const struct json_table *table, struct error *error)
{
    if (error != NULL) { error->status = table->status; }
    return table->status;
}

/* People are asked to give something; of a program it was expected. */
static const char *verb(const struct json_table *table)
{
    return table->status == TN_EINVAL ? "give" : "expected";
}

enum tn_status json_codec_refuse(const struct json_table *table, const char *where, const char *key,
                                 const json_t *value, const char *wanted, struct error *error)
{
    assert(table->status != TN_OK);
    char missing[FIELD_NAME_MAX];
    snprintf(missing, sizeof missing, "%s is missing", key);
    json_refuse(where, value != NULL ? key : missing, value, error, "%s %s", verb(table), wanted);
    return with_status(table, error);
}

enum tn_status json_codec_refuse_key(const struct json_table *table, const char *where,
                                     const char *name, struct error *error)
{
    size_t count = json_codec_count(table);
    const char *names[JSON_FIELDS_MAX];
    char list[REMEDY_MAX / 2];
    struct text keys = text_begin(list, sizeof list);
    for (size_t i = 0; i < count; i++) {
        names[i] = json_codec_row(table, i)->name;
        text_add(&keys, i > 0 ? ", " : "");
        text_add(&keys, names[i]);
    }
    const char *near = nearest_word(name, names, count), *inner = json_codec_section(table, name);
    if (inner != NULL) {
        json_refuse(where, "", NULL, error,
                    "\"%s\" is a section, not a key: name one of its keys, such as %s", name,
                    inner);
    } else if (near != NULL) {
        json_refuse(where, "", NULL, error, "unknown key \"%s\": did you mean \"%s\"?", name, near);
    } else if (table->keys_help != NULL) {
        json_refuse(where, "", NULL, error, "unknown key \"%s\": %s", name, table->keys_help);
    } else {
        json_refuse(where, "", NULL, error, "unknown key \"%s\": the keys are %s", name, list);
    }
    return with_status(table, error);
}

static void describe_number(const struct json_field *field, struct text *out)
{
    char bounds[80] = "";
    bool real = field->type == FIELD_REAL || field->type == FIELD_REAL_RANGE;
    text_add(out, real ? "a number" : "a whole number");
    if (field->least < field->most) {
        snprintf(bounds, sizeof bounds, " from %.16g to %.16g", field->least, field->most);
    }
    text_add(out, bounds);
    if (field->none == NULL) { return; }
    text_add(out, none_is_null(field) ? ", or " : ", or \"");
    text_add(out, field->none);
    text_add(out, none_is_null(field) ? "" : "\"");
}

static void describe_names(const char *const *names, struct text *out)
{
    assert(names != NULL && names[0] != NULL);
    for (size_t i = 0; names[i] != NULL; i++) {
        text_add(out, i > 0 ? " or \"" : "\"");
        text_add(out, names[i]);
        text_add(out, "\"");
    }
}

static const char *elements_name(const struct json_field *element)
{
    switch (element->type) {
    case FIELD_UINT: return " whole numbers";
    case FIELD_REAL: return " numbers";
    case FIELD_TEXT: return " texts";
    case FIELD_OBJECT: return " objects";
    default: return " values";
    }
}

static void describe_list(const struct json_field *field, struct text *out)
{
    assert(field->element->size > 0);
    text_add(out, field->least > 0 ? "a list of 1 to " : "a list of at most ");
    text_add_number(out, field->size / field->element->size);
    text_add(out, elements_name(field->element));
}

/* The valid values, for a message: "seconds, a number from 0 to 3600". */
static void describe(const struct json_field *field, struct text *out)
{
    bool is_name = field->type == FIELD_ENUM || field->type == FIELD_CHOICE;
    if (field->wanted != NULL) {
        text_add(out, field->wanted);
        text_add(out, is_name ? "" : ", ");
    }
    switch (field->type) {
    case FIELD_UINT:
    case FIELD_REAL: describe_number(field, out); break;
    case FIELD_BOOL: text_add(out, "true or false"); break;
    case FIELD_TEXT:
        text_add(out, "a text of at most ");
        text_add_number(out, field->size - 1);
        text_add(out, " bytes");
        break;
    case FIELD_ENUM:
    case FIELD_CHOICE:
        if (field->wanted == NULL) { describe_names(field->names, out); }
        break;
    case FIELD_HEX:
        text_add_number(out, field->size / sizeof(uint64_t) * HEX_DIGITS);
        text_add(out, " hexadecimal digits");
        break;
    case FIELD_UINT_RANGE:
    case FIELD_REAL_RANGE:
        describe_number(field, out);
        text_add(out, ", or a range [least, most] of them");
        break;
    case FIELD_LIST: describe_list(field, out); break;
    case FIELD_CUSTOM: text_add(out, field->converter->wanted); break;
    case FIELD_OBJECT:
    case FIELD_OTHER: text_add(out, "an object, {...}"); break;
    }
}

/* The name that a person probably meant; NULL: no name is similar. */
static const char *nearest_name(const struct json_table *table, const struct json_field *field,
                                const json_t *value)
{
    size_t count = 0;
    bool is_name = field->type == FIELD_ENUM || field->type == FIELD_CHOICE;
    if (!is_name || table->status != TN_EINVAL || !json_is_string(value)) { return NULL; }
    while (field->names[count] != NULL) { count++; }
    return nearest_word(json_string_value(value), field->names, count);
}

enum tn_status json_codec_refuse_value(const struct json_table *table,
                                       const struct json_field *field, const json_t *value,
                                       const char *where, struct error *error)
{
    const char *key = field->name != NULL ? field->name : "";
    char wanted[REMEDY_MAX / 2];
    struct text text = text_begin(wanted, sizeof wanted);
    const char *near = nearest_name(table, field, value);
    if (near != NULL) {
        json_refuse(where, key, value, error, "did you mean \"%s\"?", near);
        return with_status(table, error);
    }
    describe(field, &text);
    return json_codec_refuse(table, where, key, value, wanted, error);
}
