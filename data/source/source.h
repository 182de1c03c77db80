/*
 * data/source/source.h: where examples come from: a table of rows, each a function of its number.
 *
 * A source has no cursor, so a crash cannot lose one: read() of the same number gives the same row,
 * always, on every node that has the same files. Each format is one file in data/formats/ that
 * defines a struct source_type; data/open.c lists them. A type opens one file or folder; patterns
 * that match many, compressed files and the digest are the work of data/open.c.
 *
 * Errors of damaged or wrong data name the file, the line (or the number of the record), the column
 * and what was expected: "d/train-03.csv:81233: column 4 'age': 'n/a' is not a number". Files are
 * not trusted: every field is checked before it is used, and memory is bounded by the file's size.
 *
 * Threads: an open source is read-only; any number of threads may read from it, each with a row of
 * its own. Reading blocks on the disk.
 */
#ifndef DATA_SOURCE_SOURCE_H
#define DATA_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/error.h"

enum {
    SOURCE_NAME_MAX = 64, /* With the zero at the end. */
    SOURCE_COLUMNS_MAX = 1 << 16,
    SOURCE_RANK_MAX = 4,
    SOURCE_PLACE_MAX = 512,
};

#define SOURCE_ROWS_MAX (UINT64_C(1) << 48)

enum source_kind {
    SOURCE_TEXT,   /* UTF-8; a number of a CSV file is a text, too. */
    SOURCE_NUMBER, /* One number. */
    SOURCE_BYTES,  /* As many as the shape has elements: pixels, ids. */
    SOURCE_FLOATS, /* As many floats as the shape has elements. */
};

struct source_column {
    char name[SOURCE_NAME_MAX];
    enum source_kind kind;
    uint32_t rank; /* Bytes and floats; else 0. */
    uint32_t shape[SOURCE_RANK_MAX];
};

/* A value of a row. The column's kind decides which member is set. */
struct source_cell {
    bool missing; /* The others are unset. */
    double number;
    const uint8_t *bytes; /* Texts and bytes; no zero at the end. */
    const float *floats;
    size_t size; /* Elements of `bytes` or `floats`. */
};

/* A row that one thread reads into. Pointers in cells are valid until the next read into the
 * row. */
struct source_row {
    uint32_t column_count;
    struct source_cell *cells;   /* One for each column. */
    struct source_block *blocks; /* Private to row.c. */
};

MUST_CHECK enum tn_status source_row_open(struct source_row *row, uint32_t columns,
                                          struct error *error);
void source_row_close(struct source_row *row); /* A zeroed one is allowed. */
/* Memory that is valid until source_row_clear(), aligned for any type; NULL: out of memory. */
void *source_row_take(struct source_row *row, size_t size);
void source_row_clear(struct source_row *row); /* All cells are zeroed, and memory is reused. */

/* The input of a type: one file, unpacked if it was compressed, or one folder. */
struct source_input {
    const char *path;     /* For errors. */
    const uint8_t *bytes; /* The file's, mapped until the source is closed; NULL: a folder. */
    size_t size;
    const char *options; /* The job's `data.options`, a JSON object as text. */
};

struct source {
    const struct source_type *type;
    uint64_t count; /* Rows, 1 to SOURCE_ROWS_MAX. */
    uint32_t column_count;
    struct source_column *columns; /* malloc'ed. */
    struct digest digest;          /* Covers all that rows depend on. */
    uint32_t classes;              /* Labels are below it, and each one exists; 0: not known. */
    void *state;                   /* The type's own. */
};

struct source_type {
    const char *name;     /* The job's `data.format`. */
    const char *contents; /* For users: "rows of values separated by commas (RFC 4180)". */
    uint32_t version;     /* Another one when the same bytes give other rows: part of the digest. */
    bool folders;         /* Opens folders, not files; a type for files may have the same name. */
    /*
     * Fill `source`: count, columns, state; of folders also the digest, which of files covers all
     * but the file. After a failure nothing is owned.
     *
     *   TN_EINVAL  the contents are damaged, or are not what the format demands
     *   TN_ENOENT, TN_EIO, TN_ENOMEM
     */
    enum tn_status (*open)(const struct source_input *input, struct source *source,
                           struct error *error);
    /* Row `i`, below count, into a row that was cleared. Errors as open(). */
    enum tn_status (*read)(const struct source *source, uint64_t i, struct source_row *row,
                           struct error *error);
    /* The place of a value for errors: "d/a.csv:17: column 4 'age'". Works for rows that cannot be
     * read. */
    void (*locate)(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX]);
    void (*close)(struct source *source); /* Frees the state alone. */
};

/* Clear the row and read row `i`, which is below count. */
MUST_CHECK enum tn_status source_read(const struct source *source, uint64_t i,
                                      struct source_row *row, struct error *error);
void source_locate(const struct source *source, uint64_t i, uint32_t column,
                   char place[static SOURCE_PLACE_MAX]);
/* The column's number; column_count: there is none of this name. */
uint32_t source_find(const struct source *source, const char *name);
uint64_t source_elements(const struct source_column *column); /* 1 for texts and numbers. */
void source_close(struct source *source);                     /* A zeroed one is allowed. */

#endif
