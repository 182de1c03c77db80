/* common/base/json_codec_private.h: what the files of the codec share. */
#ifndef COMMON_BASE_JSON_CODEC_PRIVATE_H
#define COMMON_BASE_JSON_CODEC_PRIVATE_H

#include <assert.h>
#include <string.h>

#include "common/base/json_codec.h"

enum { HEX_DIGITS = 16, FIELD_NAME_MAX = 96 };

/* Whether `none` of the row means JSON's null. */
static inline bool none_is_null(const struct json_field *field)
{
    return strcmp(field->none, "null") == 0;
}

/* All bits of an unsigned integer of the row's size. */
static inline uint64_t uint_limit(const struct json_field *field)
{
    assert(field->size == 2 || field->size == 4 || field->size == 8);
    return UINT64_MAX >> (64 - 8 * field->size);
}

/* The first key of section `name` of the table, "NAME.KEY". NULL: the table has no such section. */
const char *json_codec_section(const struct json_table *table, const char *name);

/* "WHERE.KEY is VALUE: give WANTED" with the table's status and verb. */
enum tn_status json_codec_refuse(const struct json_table *table, const char *where, const char *key,
                                 const json_t *value, const char *wanted, struct error *error);

/* The same for a value that the row does not allow, or that is missing: NULL. */
enum tn_status json_codec_refuse_value(const struct json_table *table,
                                       const struct json_field *field, const json_t *value,
                                       const char *where, struct error *error);

#endif
