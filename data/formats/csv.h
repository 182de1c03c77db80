/*
 * data/formats/csv.h: the grammar of CSV and TSV: records of values in text, as RFC 4180 has it.
 *
 * A value that begins with a quote ends with one; inside, two quotes are one quote, and separators
 * and line ends are characters like others. Lines end with LF or CRLF. A quote inside of a value
 * that does not begin with one is an error, because readers disagree on what it means.
 *
 * Pure. Threads: any.
 */
#ifndef DATA_FORMATS_CSV_H
#define DATA_FORMATS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csv_text {
    const uint8_t *bytes;
    size_t size;
    uint8_t separator;
};

/* A value as it is in the text. */
struct csv_value {
    const uint8_t *bytes; /* Without the quotes around it. */
    size_t size;
    bool quoted;
    bool doubled;        /* The value contains doubled quotes. */
    bool last;           /* The record ends here. */
    size_t next;         /* The position behind the value and its separator or line end. */
    const char *problem; /* NULL: none. */
};

/* The value that begins at `at`, which is at most text->size: behind the last separator, there is
 * an empty value. */
struct csv_value csv_value_at(const struct csv_text *text, size_t at);

/* The position behind the record that begins at `at`, below text->size; a problem in it. */
size_t csv_record_end(const struct csv_text *text, size_t at, const char **problem);

/* Whether the record that begins at `at` is an empty line. */
bool csv_is_blank(const struct csv_text *text, size_t at);

/* Copy the value without doubled quotes: at most value->size bytes. Returns their number. */
size_t csv_unquote(const struct csv_value *value, uint8_t *out);

#endif
