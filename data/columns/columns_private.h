/* data/columns/columns_private.h: what the files of data/columns/ share. */
#ifndef DATA_COLUMNS_COLUMNS_PRIVATE_H
#define DATA_COLUMNS_COLUMNS_PRIVATE_H

#include <jansson.h>

#include "data/columns/columns.h"
#include "data/columns/vocabulary.h"
#include "data/image/augment.h"

enum {
    EDGES_MAX = 256,
    PARTS_MAX = 8,
    TEXT_MAX = 128,
    IDS_MAX = 1 << 20,
    KEYS_MAX = 1 << 30, /* The most rows that the keys of a table are hashed into. */
    HASH_SLOTS = 64,    /* Columns whose texts are hashed once for all features of a row. */
};

enum feature_kind {
    FEATURE_NUMBER,
    FEATURE_PIXELS,
    FEATURE_BUCKET,
    FEATURE_CATEGORY,
    FEATURE_CROSS,
};

enum feature_scale { SCALE_NONE, SCALE_STANDARD, SCALE_MINMAX };

enum missing_rule { MISSING_ERROR, MISSING_NUMBER, MISSING_MEAN, MISSING_TEXT };

/* Statistics of a number over the training rows, missing values left out. */
struct moments {
    uint64_t count;
    double mean, squares; /* The sum of squared deviations from the mean. */
    double deviation;
    double least, most;
};

/* Changes of pixels, as `data.columns` gives them. */
struct pixel_spec {
    bool flip;
    uint32_t margin, crop_count, mean_count, deviation_count;
    uint32_t crop[2]; /* Height and width. */
    double mean[3], deviation[3];
};

struct feature {
    char name[SOURCE_NAME_MAX]; /* Its key. */
    char from[SOURCE_NAME_MAX]; /* The source's column; not of crosses. */
    enum feature_kind kind;
    enum feature_scale scale;
    enum missing_rule missing;
    double missing_number;
    char missing_text[TEXT_MAX];
    uint32_t edge_count;
    double edges[EDGES_MAX];       /* Ascending. */
    struct vocabulary *vocabulary; /* Categories have this or `hash`. */
    uint32_t unknown;              /* Ids of texts that the vocabulary lacks. */
    uint32_t hash;
    uint32_t embed;      /* The width of its embedding; 0: one input for each id. */
    bool table;          /* A key of a table in place of inputs. */
    uint32_t part_count; /* Crosses have parts. */
    uint32_t parts[PARTS_MAX];
    struct moments *moments; /* One for each number; NULL: none are needed, or none are known. */
    struct pixel_spec pixels;
    /* Set by columns_bind(). */
    bool augmented; /* Pixels with changes. */
    struct augment augment;
    uint32_t column;
    uint32_t at, width; /* Its place among the inputs. */
    uint32_t key;       /* Its place among the keys. */
    uint32_t hash_slot; /* The slot of its column; HASH_SLOTS: none. */
};

struct columns {
    uint32_t count;
    struct feature *features;
    bool fitted;
    uint32_t inputs, keys;
    uint32_t label_count; /* 0: without a label. */
    char (*label_names)[SOURCE_NAME_MAX];
    uint32_t *label_columns; /* Set by columns_bind(). */
    uint32_t targets;        /* The same. */
    struct vocabulary *classes;
};

/* columns_pixels.c: changes of pixels. */
bool pixels_are_changed(const struct pixel_spec *spec);
/* Bind the feature to a column of bytes. TN_EINVAL: its shape does not fit the keys. */
MUST_CHECK enum tn_status pixels_bind(struct feature *feature, const struct source_column *column,
                                      uint64_t *width, struct error *error);
void pixels_build(const struct pixel_spec *spec, json_t *object);

/* columns_spec.c: the JSON of columns. */
MUST_CHECK enum tn_status spec_read_features(const json_t *object, struct columns *columns,
                                             struct error *error);
MUST_CHECK enum tn_status spec_read_label(const json_t *label, struct columns *columns,
                                          struct error *error);
json_t *spec_build(const struct columns *columns); /* NULL: out of memory. */

/* columns_value.c: values of cells. */
MUST_CHECK enum tn_status value_refuse(const struct source *source, uint64_t i, uint32_t column,
                                       const struct source_cell *cell, const char *problem,
                                       struct error *error);
/* Number `k` of a cell. */
MUST_CHECK enum tn_status value_number(const struct source *source, uint64_t i, uint32_t column,
                                       const struct source_cell *cell, uint64_t k, double *out,
                                       struct error *error);
/* Whether the cell has no value, or an empty text where a number is wanted. */
bool value_is_missing(const struct source *source, uint32_t column, const struct source_cell *cell);
MUST_CHECK enum tn_status value_refuse_missing(const struct source *source, uint64_t i,
                                               uint32_t column, struct error *error);

/* A category's text. A number is written into `room`. */
struct value_text {
    const void *at;
    size_t size;
};
struct value_text value_text(const struct source *source, uint32_t column,
                             const struct source_cell *cell, char room[static 32]);

#endif
