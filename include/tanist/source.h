/*
 * tanist/source.h: data in a custom format. A shared library describes the format with the constant
 * `tanist_source`. Jobs with "data": {"format": "library", "options": {"library": "x.so"}} use it
 * to read the files of data.train, with feature columns as for all formats.
 *
 * A row depends only on the file and the number of the row: `read` has no cursor, so rows can be
 * read in any order, repeatedly, and by several threads at once. Every host needs the library.
 * Increase `version` when the same bytes give different rows, so that nodes with different builds
 * are refused.
 */
#ifndef TANIST_SOURCE_H
#define TANIST_SOURCE_H

#include "tanist/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tn_column_kind {
    TN_COLUMN_TEXT,   /* UTF-8. */
    TN_COLUMN_NUMBER, /* One finite number. */
    TN_COLUMN_BYTES,  /* uint8_t[shape]: pixels. */
    TN_COLUMN_FLOATS, /* float[shape] */
};

enum { TN_COLUMN_RANK_MAX = 4 };

struct tn_column {
    const char *name; /* Unique; at most 63 bytes. */
    enum tn_column_kind kind;
    uint32_t rank; /* 1 to TN_COLUMN_RANK_MAX of bytes and floats; else 0. */
    uint32_t shape[TN_COLUMN_RANK_MAX];
};

/* A value of a row, by the kind of its column. */
struct tn_cell {
    bool missing; /* Then nothing else is read. */
    double number;
    const void *data; /* Texts, bytes, floats: in the file, or of take(). */
    size_t size;      /* Bytes of a text, without a zero; elements of bytes and floats. */
};

/* A row to be filled; all cells are zero. */
struct tn_row {
    struct tn_cell *cells; /* One for each column. */
    /* Memory for values that are not in the file, aligned for any type; NULL: out of memory. */
    void *(*take)(struct tn_row *row, size_t size);
};

/* A file, unpacked if it was compressed, that is mapped until it is closed. */
struct tn_file {
    const char *path; /* For messages. */
    const uint8_t *bytes;
    size_t size;
    const char *options; /* The job's data.options, a JSON object as text. */
};

/* The contents of a file, filled by `open`. */
struct tn_source_table {
    uint64_t rows; /* At least 1. */
    uint32_t column_count;
    const struct tn_column *columns; /* Read when `open` has returned. */
    void *state;                     /* The source's own. */
};

/* Functions return TN_OK or an error status. With an error, `error->text` is one line about the
 * cause; the name of the file and the number of the row are added to it. */
struct tn_source {
    size_t struct_size;   /* sizeof of this struct. */
    uint32_t api_version; /* TN_API_VERSION. */
    const char *name;
    uint32_t version;
    enum tn_status (*open)(const struct tn_file *file, struct tn_source_table *table,
                           struct tn_error *error);
    enum tn_status (*read)(const struct tn_source_table *table, uint64_t row_number,
                           struct tn_row *row, struct tn_error *error);
    void (*close)(struct tn_source_table *table); /* NULL: nothing is to be freed. */
};

/* Define the constant `tanist_source`. `close_function` may be NULL. */
#define TN_SOURCE(source_name, source_version, open_function, read_function, close_function)       \
    TN_SOURCE_BEGIN                                                                                \
    extern TN_API const struct tn_source tanist_source;                                            \
    const struct tn_source tanist_source = {                                                       \
        sizeof(struct tn_source), TN_API_VERSION,  (source_name),    (source_version),             \
        (open_function),          (read_function), (close_function),                               \
    };                                                                                             \
    TN_SOURCE_END
#ifdef __cplusplus
#define TN_SOURCE_BEGIN extern "C" {
#define TN_SOURCE_END   }
#else
#define TN_SOURCE_BEGIN
#define TN_SOURCE_END
#endif

#ifdef __cplusplus
}
#endif
#endif
