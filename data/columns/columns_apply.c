/* Rows as numbers, labels and targets. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "data/columns/columns_private.h"

static double scaled(const struct feature *feature, uint32_t k, double number)
{
    if (feature->scale == SCALE_NONE) { return number; }
    assert(feature->moments != NULL);
    const struct moments *moments = &feature->moments[k];
    const bool standard = feature->scale == SCALE_STANDARD;
    const double from = standard ? moments->mean : moments->least;
    const double range = standard ? moments->deviation : moments->most - moments->least;
    return (number - from) / (range > 0 ? range : 1);
}

/* The hashes of texts of one row, by slot of their columns. */
struct row_hashes {
    uint64_t known; /* A bit for each slot. */
    uint64_t of[HASH_SLOTS];
};

static_assert(HASH_SLOTS == 64, "a bit for each slot");

/* The row to which the columns are applied. */
struct applied_row {
    const struct columns *columns;
    const struct source *source;
    uint64_t number; /* In the source; for errors. */
    const struct source_cell *cells;
    struct row_hashes hashes;
};

static enum tn_status refuse_missing(const struct applied_row *row, const struct feature *feature,
                                     struct error *error)
{
    return value_refuse_missing(row->source, row->number, feature->column, error);
}

/* Number `k` of a feature's cell, or the one that stands for a missing value. */
static enum tn_status number_of(const struct applied_row *row, const struct feature *feature,
                                uint32_t k, double *number, struct error *error)
{
    const struct source_cell *cell = &row->cells[feature->column];
    if (!value_is_missing(row->source, feature->column, cell)) {
        return value_number(row->source, row->number, feature->column, cell, k, number, error);
    }
    switch (feature->missing) {
    case MISSING_NUMBER: *number = feature->missing_number; return TN_OK;
    case MISSING_MEAN:
        assert(feature->moments != NULL);
        *number = feature->moments[k].mean;
        return TN_OK;
    case MISSING_ERROR:
    case MISSING_TEXT: break;
    }
    return refuse_missing(row, feature, error);
}

static enum tn_status apply_numbers(const struct applied_row *row, const struct feature *feature,
                                    float *out, struct error *error)
{
    assert(out != NULL);
    for (uint32_t k = 0; k < feature->width; k++) {
        double number = 0;
        enum tn_status status = number_of(row, feature, k, &number, error);
        if (status != TN_OK) { return status; }
        out[k] = feature->kind == FEATURE_PIXELS ? (float)number / 255.0F
                                                 : (float)scaled(feature, k, number);
    }
    return TN_OK;
}

static enum tn_status bucket_of(const struct applied_row *row, const struct feature *feature,
                                uint64_t *id, struct error *error)
{
    double number = 0;
    enum tn_status status = number_of(row, feature, 0, &number, error);
    if (status != TN_OK) { return status; }
    *id = 0;
    while (*id < feature->edge_count && number >= feature->edges[*id]) { (*id)++; }
    return TN_OK;
}

/* One of `count` ids; 0: a key of a table, of 63 bits. */
static uint64_t id_of_hash(uint64_t hash, uint32_t count)
{
    return count > 0 ? hash % count : hash >> 1;
}

static uint64_t hashed(const void *bytes, size_t size, uint32_t count)
{
    return id_of_hash(XXH64(bytes, size, 0), count);
}

static bool has_keys(const struct feature *feature)
{
    return feature->table && feature->vocabulary == NULL && feature->hash == 0 &&
           feature->kind != FEATURE_BUCKET;
}

/* The id of a text that was not hashed yet. */
static enum tn_status id_of_text(struct applied_row *row, const struct feature *feature,
                                 uint64_t *id, struct error *error)
{
    char room[32];
    const struct source_cell *cell = &row->cells[feature->column];
    struct value_text text = value_text(row->source, feature->column, cell, room);
    if (cell->missing) {
        if (feature->missing != MISSING_TEXT) { return refuse_missing(row, feature, error); }
        text = (struct value_text){feature->missing_text, strlen(feature->missing_text)};
    }
    if (feature->vocabulary == NULL) {
        const uint64_t hash = XXH64(text.at, text.size, 0);
        *id = id_of_hash(hash, feature->hash);
        if (feature->hash_slot < HASH_SLOTS && !cell->missing) {
            row->hashes.of[feature->hash_slot] = hash;
            row->hashes.known |= UINT64_C(1) << feature->hash_slot;
        }
        return TN_OK;
    }
    const uint32_t found = vocabulary_find(feature->vocabulary, text.at, text.size);
    *id = found;
    if (found != VOCABULARY_NONE) { return TN_OK; }
    if (feature->unknown == 0) {
        return value_refuse(row->source, row->number, feature->column, cell,
                            "is not in the vocabulary: add it, or give \"unknown\": 1", error);
    }
    *id = vocabulary_count(feature->vocabulary) + hashed(text.at, text.size, feature->unknown);
    return TN_OK;
}

static enum tn_status category_of(struct applied_row *row, const struct feature *feature,
                                  uint64_t *id, struct error *error)
{
    const uint32_t slot = feature->hash_slot;
    if (slot < HASH_SLOTS && (row->hashes.known >> slot & 1) != 0) {
        *id = id_of_hash(row->hashes.of[slot], feature->hash);
        return TN_OK;
    }
    return id_of_text(row, feature, id, error);
}

/* The id of a category, a bucket or a cross; or its key. A cross is the hash of those of its parts,
 * ids as 4 bytes and keys as 8. */
static enum tn_status id_of(struct applied_row *row, const struct feature *feature, uint64_t *id,
                            struct error *error)
{
    uint8_t parts[PARTS_MAX * sizeof *id];
    size_t size = 0;
    if (feature->kind == FEATURE_BUCKET) { return bucket_of(row, feature, id, error); }
    if (feature->kind == FEATURE_CATEGORY) { return category_of(row, feature, id, error); }
    assert(feature->kind == FEATURE_CROSS);
    for (uint32_t p = 0; p < feature->part_count; p++) {
        const struct feature *part = &row->columns->features[feature->parts[p]];
        uint64_t key = 0;
        enum tn_status status = part->kind == FEATURE_BUCKET ? bucket_of(row, part, &key, error)
                                                             : category_of(row, part, &key, error);
        if (status != TN_OK) { return status; }
        const uint32_t number = (uint32_t)key;
        const bool whole = has_keys(part);
        memcpy(parts + size, whole ? (const void *)&key : &number,
               whole ? sizeof key : sizeof number);
        size += whole ? sizeof key : sizeof number;
    }
    *id = hashed(parts, size, feature->hash);
    return TN_OK;
}

/* The inputs of an id, and its key. */
static enum tn_status apply_id(struct applied_row *row, const struct feature *feature, float *out,
                               int64_t *keys, struct error *error)
{
    uint64_t id = 0;
    enum tn_status status = id_of(row, feature, &id, error);
    if (status != TN_OK) { return status; }
    if (feature->table) {
        if (out != NULL) { *out = 0; }
        if (keys != NULL) { keys[feature->key] = (int64_t)id; }
    } else if (feature->embed > 0) {
        *out = (float)id; /* Exact: ids are below 2^24. */
    } else {
        memset(out, 0, feature->width * sizeof *out);
        out[id] = 1;
    }
    return TN_OK;
}

static enum tn_status apply_pixels(const struct applied_row *row, const struct feature *feature,
                                   const struct columns_draw *draw, float *out, struct error *error)
{
    const struct source_cell *cell = &row->cells[feature->column];
    const struct augment *augment = &feature->augment;
    if (cell->missing) { return refuse_missing(row, feature, error); }
    const struct augment_choice choice =
        draw != NULL ? augment_choose(augment, draw->seed, draw->epoch, draw->example)
                     : augment_middle(augment);
    assert(cell->size == image_bytes(augment->from));
    augment_apply(augment, choice, cell->bytes, out);
    return TN_OK;
}

enum tn_status columns_apply(const struct columns *columns, const struct source *source, uint64_t i,
                             const struct source_row *row, const struct columns_draw *draw,
                             float *out, int64_t *keys, struct error *error)
{
    struct applied_row applied;
    assert(columns->fitted && columns->inputs > 0);
    applied.columns = columns;
    applied.source = source;
    applied.number = i;
    applied.cells = row->cells;
    applied.hashes.known = 0; /* `of` needs no value, and is large. */
    for (uint32_t f = 0; f < columns->count; f++) {
        const struct feature *feature = &columns->features[f];
        float *at = out != NULL ? out + feature->at : NULL;
        enum tn_status status;
        if (out == NULL && !feature->table) { continue; }
        if (feature->augmented) {
            status = apply_pixels(&applied, feature, draw, at, error);
        } else if (feature->kind == FEATURE_NUMBER || feature->kind == FEATURE_PIXELS) {
            status = apply_numbers(&applied, feature, at, error);
        } else {
            status = apply_id(&applied, feature, at, keys, error);
        }
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

enum tn_status columns_label(const struct columns *columns, const struct source *source, uint64_t i,
                             const struct source_row *row, uint32_t classes, int32_t *out,
                             struct error *error)
{
    double number = -1;
    char room[32];
    assert(columns->label_count == 1);
    const uint32_t column = columns->label_columns[0];
    const struct source_cell *cell = &row->cells[column];
    if (value_is_missing(source, column, cell)) {
        return value_refuse_missing(source, i, column, error);
    }
    if (columns->classes != NULL) {
        const struct value_text text = value_text(source, column, cell, room);
        const uint32_t found = vocabulary_find(columns->classes, text.at, text.size);
        if (found == VOCABULARY_NONE) {
            return value_refuse(source, i, column, cell, "is not in the vocabulary of data.label",
                                error);
        }
        number = found;
    } else {
        enum tn_status status = value_number(source, i, column, cell, 0, &number, error);
        if (status != TN_OK) {
            return error_context(error, "data.label needs whole numbers, or a vocabulary");
        }
    }
    if (!(number >= 0 && number < classes) || number != floor(number)) {
        char problem[96];
        snprintf(problem, sizeof problem, "is not a class: give whole numbers from 0 to %" PRIu32,
                 classes - 1);
        return value_refuse(source, i, column, cell, problem, error);
    }
    *out = (int32_t)number;
    return TN_OK;
}

enum tn_status columns_targets(const struct columns *columns, const struct source *source,
                               uint64_t i, const struct source_row *row, float *out,
                               struct error *error)
{
    uint32_t at = 0;
    for (uint32_t l = 0; l < columns->label_count; l++) {
        const uint32_t column = columns->label_columns[l];
        const struct source_cell *cell = &row->cells[column];
        if (value_is_missing(source, column, cell)) {
            return value_refuse_missing(source, i, column, error);
        }
        const uint64_t width = source_elements(&source->columns[column]);
        for (uint64_t k = 0; k < width; k++) {
            double number = 0;
            enum tn_status status = value_number(source, i, column, cell, k, &number, error);
            if (status != TN_OK) { return status; }
            out[at++] = (float)number;
        }
    }
    assert(at == columns->targets);
    return TN_OK;
}
