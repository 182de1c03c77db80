/*
 * common/base/json_codec.h: structs as JSON objects, by tables. A row of a table describes one
 * member of a struct: key, type, bounds. Reading, writing and error messages all follow the row, so
 * they cannot differ. The job file, plans, manifests and znodes are such tables.
 *
 * Numbers are JSON integers up to 2^63-1, what JSON readers agree on. Threads: no state.
 */
#ifndef COMMON_BASE_JSON_CODEC_H
#define COMMON_BASE_JSON_CODEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum field_type {
    FIELD_UINT,   /* uint16_t, uint32_t or uint64_t, by `size`. */
    FIELD_REAL,   /* double */
    FIELD_BOOL,   /* bool */
    FIELD_TEXT,   /* char[size], terminated; invalid UTF-8 is written as '?'. */
    FIELD_ENUM,   /* An enum whose values are the indexes of `names`. */
    FIELD_CHOICE, /* char[size] that holds one of `names`. */
    FIELD_HEX,    /* uint64_t[size / 8] as 16 hexadecimal digits each, the last element first. */
    FIELD_UINT_RANGE, /* Two unsigned integers: JSON is one number, or [least, most]. */
    FIELD_REAL_RANGE, /* A range of two doubles. */
    FIELD_LIST,       /* An array of `element`; its length is a uint32_t at `length_offset`. */
    FIELD_OBJECT,     /* A struct that `table` describes. */
    FIELD_CUSTOM,     /* Converted by `converter`. */
    FIELD_OTHER,      /* A known key that the caller reads and writes itself. */
};

/* For members that only their owner understands. */
struct json_converter {
    json_t *(*build)(const void *member);            /* NULL: out of memory. */
    bool (*read)(const json_t *value, void *member); /* False: it is not valid. */
    const char *wanted;                              /* "a task like \"ps:1\"" */
};

struct json_field {
    const char *name; /* "train.steps" is the key "steps" of the object "train", to any depth. */
    enum field_type type;
    size_t offset, size; /* JSON_MEMBER(); of an element of a list, `size` alone. */
    double least, most;  /* Bounds of a number, both allowed; unbounded unless least < most. LIST:
                          * `least` is the smallest length. */
    const char *none;    /* The JSON of a UINT with all bits set or a REAL that is not finite:
                          * this text, or null where this is "null"; NULL: not at all. */
    const char *const *names; /* NULL-ended. */
    const struct json_field *element;
    size_t length_offset;
    const struct json_table *table;
    const struct json_converter *converter;
    const char *wanted; /* The expected value in messages: "seconds", in place of `names` if there
                         * are any; NULL: only the type, or the names. */
    const char *help;   /* Documentation; the codec does not use it. */
    bool optional;      /* JSON_ALL_REQUIRED does not require it. */
    unsigned tags;      /* The owner's; json_codec_build() selects by them. */
};

/* `offset` and `size` of a row. */
#define JSON_MEMBER(record, member)                                                                \
    .offset = offsetof(record, member), .size = sizeof(((record *)0)->member)

enum json_rule {
    /* Each key that is not optional must be present; otherwise absent members stay. */
    JSON_ALL_REQUIRED = 1,
    JSON_UNKNOWN_REFUSED = 2, /* Otherwise unknown keys are ignored. */
    JSON_WHOLE_REALS = 4,     /* 1e3 is a whole number too. */
    JSON_PLAIN_TEXTS = 8,     /* Control characters in texts are read as spaces (utf8_plain). */
};

/* Rows of a table that is too long for one file. */
struct json_part {
    const struct json_field *fields;
    size_t count;
};

struct json_table {
    const struct json_field *fields;
    size_t count;
    const struct json_part *const *parts; /* The rows that follow `fields`, NULL-ended; or NULL. */
    unsigned rules;                       /* A set of `enum json_rule`. */
    /* For errors: TN_EINVAL for texts that people write, else TN_ECORRUPT. */
    enum tn_status status;
    const void *initial;   /* An element of a list before its keys are read; NULL: zeros. */
    const char *keys_help; /* Where all keys are listed; NULL: messages list them. */
};

enum { JSON_FIELDS_MAX = 112, JSON_WHERE_MAX = 96 };

/* `fields` and `count` of a table or a part. */
#define JSON_FIELDS(array) .fields = array, .count = sizeof(array) / sizeof *(array)

/*
 * Read the members of `object` into `record`. `where` is the place of the object in its document
 * ("faults[2]"; "" for the document itself) and begins each error message.
 *
 * Fails with the table's status: `object` is not an object, or a key is unknown or missing, or has
 * a wrong value; `*record` is then half filled.
 */
MUST_CHECK enum tn_status json_codec_read(const struct json_table *table, const json_t *object,
                                          const char *where, void *record, struct error *error);

/* Add the members of `record` whose rows have all of `tags` to `object`, in the table's order.
 * False: out of memory. */
MUST_CHECK bool json_codec_build(const struct json_table *table, const void *record, unsigned tags,
                                 json_t *object);

/* The number of all rows, at most JSON_FIELDS_MAX, and one of them. */
size_t json_codec_count(const struct json_table *table);
const struct json_field *json_codec_row(const struct json_table *table, size_t index);

/* One row. NULL: the key is unknown. */
const struct json_field *json_codec_find(const struct json_table *table, const char *name);
/* Read the value of one row into `record`. `where` is the path to it in errors. The table's status:
 * the error names the key, the value and the remedy. */
MUST_CHECK enum tn_status json_codec_read_field(const struct json_table *table,
                                                const struct json_field *field, const json_t *value,
                                                const char *where, void *record,
                                                struct error *error);
/* A new reference; NULL: out of memory. Not of a FIELD_OTHER. */
json_t *json_codec_build_field(const struct json_field *field, const void *record);

/* The error for an unknown key, with the nearest known one. Returns the table's status. */
enum tn_status json_codec_refuse_key(const struct json_table *table, const char *where,
                                     const char *name, struct error *error);

/* TN_EINVAL with "WHERE.KEY is VALUE: REMEDY". `where` and `key` may be "", `value` NULL. */
enum tn_status json_refuse(const char *where, const char *key, const json_t *value,
                           struct error *error, const char *remedy, ...)
    __attribute__((format(printf, 5, 6)));

/* A JSON string of any text; invalid UTF-8 becomes '?'. A new reference; NULL: out of
 * memory. */
json_t *json_text(const char *text);

#endif
