/* JSON as structs. */
#include "common/base/json_codec.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_codec_private.h"
#include "common/base/minmax.h"
#include "common/base/utf8.h"

static bool is_none(const struct json_field *field, const json_t *value)
{
    if (field->none == NULL) { return false; }
    if (none_is_null(field)) { return json_is_null(value); }
    return json_is_string(value) && strcmp(json_string_value(value), field->none) == 0;
}

static bool is_within(const struct json_field *field, double number)
{
    bool bounded = field->least < field->most;
    return !bounded || (number >= field->least && number <= field->most);
}

static bool read_whole(const json_t *value, unsigned rules, uint64_t *out)
{
    double real = json_real_value(value);
    if (json_is_integer(value)) {
        *out = (uint64_t)json_integer_value(value);
        return json_integer_value(value) >= 0;
    }
    if (!json_is_real(value) || (rules & JSON_WHOLE_REALS) == 0) { return false; }
    if (!(real >= 0 && real < 0x1p63) || real != floor(real)) { return false; }
    *out = (uint64_t)real;
    return true;
}

static bool read_uint(const struct json_field *field, const json_t *value, unsigned rules, void *at)
{
    uint64_t number = uint_limit(field);
    if (!is_none(field, value)) {
        uint64_t limit = field->size == sizeof number ? COUNTER_MAX : number;
        if (!read_whole(value, rules, &number) || number > limit) { return false; }
        if (!is_within(field, (double)number)) { return false; }
    }
    uint16_t two = (uint16_t)number;
    uint32_t four = (uint32_t)number;
    switch (field->size) {
    case sizeof two: memcpy(at, &two, sizeof two); break;
    case sizeof four: memcpy(at, &four, sizeof four); break;
    default: memcpy(at, &number, sizeof number); break;
    }
    return true;
}

static bool read_real(const struct json_field *field, const json_t *value, void *at)
{
    assert(field->size == sizeof(double));
    double number = is_none(field, value) ? NAN : json_number_value(value);
    if (!isnan(number) && !(json_is_number(value) && is_within(field, number))) { return false; }
    memcpy(at, &number, sizeof number);
    return true;
}

static bool read_text(const struct json_field *field, const json_t *value, unsigned rules, char *at)
{
    assert(field->size > 0);
    if (!json_is_string(value) || json_string_length(value) >= field->size) { return false; }
    memset(at, 0, field->size);
    memcpy(at, json_string_value(value), json_string_length(value));
    if ((rules & JSON_PLAIN_TEXTS) != 0) { utf8_plain(at); }
    return true;
}

/* The index among the row's names; -1: none of them. */
static int index_of(const struct json_field *field, const json_t *value)
{
    assert(field->names != NULL);
    if (!json_is_string(value)) { return -1; }
    for (int i = 0; field->names[i] != NULL; i++) {
        if (strcmp(json_string_value(value), field->names[i]) == 0) { return i; }
    }
    return -1;
}

static bool read_enum(const struct json_field *field, const json_t *value, void *at)
{
    int index = index_of(field, value);
    assert(field->size == sizeof index);
    if (index >= 0) { memcpy(at, &index, sizeof index); }
    return index >= 0;
}

static bool read_word(const char *digits, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < HEX_DIGITS; i++) {
        bool decimal = digits[i] >= '0' && digits[i] <= '9';
        if (!decimal && (digits[i] < 'a' || digits[i] > 'f')) { return false; }
        *out = *out << 4 | (uint64_t)(decimal ? digits[i] - '0' : digits[i] - 'a' + 10);
    }
    return true;
}

static bool read_hex(const struct json_field *field, const json_t *value, void *at)
{
    uint64_t words[2];
    size_t count = field->size / sizeof words[0];
    assert(count == 1 || count == 2);
    if (json_string_length(value) != HEX_DIGITS * count) { return false; }
    const char *digits = json_string_value(value);
    for (size_t i = 0; i < count; i++) {
        if (!read_word(digits + HEX_DIGITS * i, &words[count - 1 - i])) { return false; }
    }
    memcpy(at, words, field->size);
    return true;
}

/* A value that has no parts. */
static bool read_value(const struct json_field *field, const json_t *value, unsigned rules,
                       void *at)
{
    switch (field->type) {
    case FIELD_UINT: return read_uint(field, value, rules, at);
    case FIELD_REAL: return read_real(field, value, at);
    case FIELD_BOOL: *(bool *)at = json_is_true(value); return json_is_boolean(value);
    case FIELD_TEXT: return read_text(field, value, rules, at);
    case FIELD_CHOICE: return index_of(field, value) >= 0 && read_text(field, value, rules, at);
    case FIELD_ENUM: return read_enum(field, value, at);
    case FIELD_HEX: return read_hex(field, value, at);
    case FIELD_CUSTOM: return field->converter->read(value, at);
    case FIELD_OTHER: return true;
    case FIELD_UINT_RANGE:
    case FIELD_REAL_RANGE:
    case FIELD_LIST:
    case FIELD_OBJECT: break;
    }
    assert(false && "a field that has parts");
    return false;
}

/* Both ends of [least, most]; a single value is both. */
static bool read_range(const struct json_field *field, const json_t *value, unsigned rules,
                       char *at)
{
    assert(field->size == 2 * sizeof(double) || field->size == 2 * sizeof(uint32_t));
    const json_t *low = value, *high = value;
    struct json_field end = *field;
    end.type = field->type == FIELD_REAL_RANGE ? FIELD_REAL : FIELD_UINT;
    end.size = field->size / 2;
    if (json_is_array(value)) {
        if (json_array_size(value) != 2) { return false; }
        low = json_array_get(value, 0);
        high = json_array_get(value, 1);
    }
    return read_value(&end, low, rules, at) && read_value(&end, high, rules, at + end.size) &&
           json_number_value(low) <= json_number_value(high);
}

static enum tn_status read_list(const struct json_table *table, const struct json_field *field,
                                const json_t *value, const char *where, void *record,
                                struct error *error)
{
    assert(field->element != NULL && field->element->size > 0);
    const struct json_field *element = field->element;
    size_t length = json_array_size(value);
    char *at = (char *)record + field->offset;
    uint32_t count = (uint32_t)length;
    if (!json_is_array(value) || length > field->size / element->size ||
        (double)length < field->least) {
        return json_codec_refuse_value(table, field, value, where, error);
    }
    const void *initial = element->type == FIELD_OBJECT ? element->table->initial : NULL;
    memset(at, 0, field->size);
    for (size_t i = 0; i < length; i++) {
        if (initial != NULL) { memcpy(at + i * element->size, initial, element->size); }
        char here[JSON_WHERE_MAX];
        snprintf(here, sizeof here, "%s%s%s[%zu]", where, *where ? "." : "", field->name, i);
        enum tn_status status = json_codec_read_field(table, element, json_array_get(value, i),
                                                      here, at + i * element->size, error);
        if (status != TN_OK) { return status; }
    }
    memcpy((char *)record + field->length_offset, &count, sizeof count);
    return TN_OK;
}

enum tn_status json_codec_read_field(const struct json_table *table, const struct json_field *field,
                                     const json_t *value, const char *where, void *record,
                                     struct error *error)
{
    assert(table != NULL && field != NULL && value != NULL);
    char *at = (char *)record + field->offset, here[JSON_WHERE_MAX];
    bool valid;
    switch (field->type) {
    case FIELD_LIST: return read_list(table, field, value, where, record, error);
    case FIELD_OBJECT:
        if (field->name == NULL) { return json_codec_read(field->table, value, where, at, error); }
        snprintf(here, sizeof here, "%s%s%s", where, *where ? "." : "", field->name);
        return json_codec_read(field->table, value, here, at, error);
    case FIELD_UINT_RANGE:
    case FIELD_REAL_RANGE: valid = read_range(field, value, table->rules, at); break;
    default: valid = read_value(field, value, table->rules, at); break;
    }
    return valid ? TN_OK : json_codec_refuse_value(table, field, value, where, error);
}

/* ----------------------------------------------------------------- rows */

size_t json_codec_count(const struct json_table *table)
{
    size_t count = table->count;
    for (size_t i = 0; table->parts != NULL && table->parts[i] != NULL; i++) {
        count += table->parts[i]->count;
    }
    assert(count > 0 && count <= JSON_FIELDS_MAX);
    return count;
}

const struct json_field *json_codec_row(const struct json_table *table, size_t index)
{
    assert(index < json_codec_count(table));
    if (index < table->count) { return &table->fields[index]; }
    index -= table->count;
    const struct json_part *const *part = table->parts;
    for (; index >= (*part)->count; part++) { index -= (*part)->count; }
    return &(*part)->fields[index];
}

/* The index of a key; the number of rows: it is unknown. */
static size_t row_index(const struct json_table *table, const char *name)
{
    size_t count = json_codec_count(table);
    assert(name != NULL);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(json_codec_row(table, i)->name, name) == 0) { return i; }
    }
    return count;
}

const struct json_field *json_codec_find(const struct json_table *table, const char *name)
{
    size_t index = row_index(table, name);
    return index < json_codec_count(table) ? json_codec_row(table, index) : NULL;
}

/* ----------------------------------------------------------------- objects */

/* One object that is being read. */
struct reader {
    const struct json_table *table;
    const char *where;
    void *record;
    bool seen[JSON_FIELDS_MAX]; /* One per row of the table. */
};

const char *json_codec_section(const struct json_table *table, const char *name)
{
    size_t length = strlen(name);
    size_t count = json_codec_count(table);
    for (size_t i = 0; i < count; i++) {
        const char *known = json_codec_row(table, i)->name;
        if (strncmp(known, name, length) == 0 && known[length] == '.') { return known; }
    }
    return NULL;
}

static enum tn_status read_key(struct reader *reader, const char *name, const json_t *value,
                               struct error *error)
{
    const struct json_table *table = reader->table;
    size_t index = row_index(table, name);
    if (index < json_codec_count(table)) {
        reader->seen[index] = true;
        return json_codec_read_field(table, json_codec_row(table, index), value, reader->where,
                                     reader->record, error);
    }
    if ((table->rules & JSON_UNKNOWN_REFUSED) == 0) { return TN_OK; }
    return json_codec_refuse_key(table, reader->where, name, error);
}

/* All keys of `object` whose names begin with `prefix`: "" or "SECTION.". Sections may have
 * sections.
 */
static enum tn_status read_keys(struct reader *reader, const char *prefix, json_t *object,
                                struct error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        char full[FIELD_NAME_MAX];
        enum tn_status status;
        snprintf(full, sizeof full, "%s%s", prefix, name);
        if (json_codec_find(reader->table, full) != NULL ||
            json_codec_section(reader->table, full) == NULL) {
            status = read_key(reader, full, value, error);
        } else if (!json_is_object(value)) {
            status = json_codec_refuse(reader->table, reader->where, full, value,
                                       "a section, an object {...}", error);
        } else {
            char inner[FIELD_NAME_MAX + 1];
            snprintf(inner, sizeof inner, "%s.", full);
            status = read_keys(reader, inner, value, error);
        }
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

static enum tn_status check_seen(const struct reader *reader, struct error *error)
{
    const struct json_table *table = reader->table;
    if ((table->rules & JSON_ALL_REQUIRED) == 0) { return TN_OK; }
    size_t count = json_codec_count(table);
    for (size_t i = 0; i < count; i++) {
        const struct json_field *field = json_codec_row(table, i);
        if (reader->seen[i] || field->optional) { continue; }
        return json_codec_refuse_value(table, field, NULL, reader->where, error);
    }
    return TN_OK;
}

enum tn_status json_codec_read(const struct json_table *table, const json_t *object,
                               const char *where, void *record, struct error *error)
{
    assert(where != NULL && record != NULL);
    struct reader reader = {.table = table, .where = where, .record = record};
    if (!json_is_object(object)) {
        return json_codec_refuse(table, where, "", object, "an object, {...}", error);
    }
    enum tn_status status = read_keys(&reader, "", (json_t *)(uintptr_t)object, error);
    return status == TN_OK ? check_seen(&reader, error) : status;
}
