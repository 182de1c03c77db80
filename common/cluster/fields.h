/*
 * common/cluster/fields.h: structs as JSON objects, by tables. A table names each member once;
 * encoder and decoder both read it, so that they cannot differ.
 *
 * Numbers are JSON integers up to 2^63-1, what JSON readers agree on; what uses all 64 bits is text
 * in hexadecimal. What is not known (STEP_NONE, NAN) is null. Threads: no state.
 */
#ifndef COMMON_CLUSTER_FIELDS_H
#define COMMON_CLUSTER_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "common/base/error.h"

enum field_type {
    FIELD_NUMBER, /* uint64_t up to 2^63-1. */
    FIELD_STEP,   /* The same; STEP_NONE is null. */
    FIELD_SMALL,  /* uint32_t. */
    FIELD_WIDE,   /* uint64_t as 16 hexadecimal digits. */
    FIELD_DIGEST, /* uint64_t[2] (low, high) as 32 hexadecimal digits, high first. */
    FIELD_REAL,   /* double; NAN is null. */
    FIELD_FLAG,   /* bool. */
    FIELD_TEXT,   /* char[size], UTF-8, terminated. */
    FIELD_TASK,   /* struct task as "ps:1". */
    FIELD_ENUM,   /* enum with names of 0 to size - 1. */
    FIELD_OBJECT, /* A struct with a table of its own. */
};

struct field {
    const char *name;
    enum field_type type;
    size_t offset;
    size_t size;                 /* TEXT: bytes of the array. ENUM: number of values. */
    const char *(*word)(int);    /* ENUM. */
    const struct field *members; /* OBJECT. */
};

/* Tables end with FIELD_END. */
#define FIELD_END                                                                                  \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* A new object; NULL: out of memory. Texts that are not UTF-8 become "?". */
json_t *fields_build(const struct field *table, const void *record);

/* Read every field of `table`; others are ignored. TN_ECORRUPT: the error names the field that is
 * missing or wrong; `*record` is then half filled. */
MUST_CHECK enum tn_status fields_read(const struct field *table, const json_t *object, void *record,
                                      struct error *error);

#endif
