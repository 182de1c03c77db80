#include "common/cluster/manifest.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_codec.h"
#include "common/base/minmax.h"
#include "common/base/text.h"
#include "common/base/utf8.h"
#include "common/cluster/row_borders.h"
#include "common/cluster/variables.h"

/* A seed uses all 64 bits, so it is a text, in decimal as in the job file. */
static json_t *build_seed(const void *member)
{
    uint64_t seed;
    memcpy(&seed, member, sizeof seed);
    return json_sprintf("%" PRIu64, seed);
}

static bool read_seed(const json_t *value, void *member)
{
    const char *text = json_string_value(value);
    uint64_t seed = 0;
    if (text == NULL || *text == '\0') { return false; }
    for (; *text != '\0'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (*text < '0' || *text > '9' || seed > (UINT64_MAX - digit) / 10) { return false; }
        seed = seed * 10 + digit;
    }
    memcpy(member, &seed, sizeof seed);
    return true;
}

static const struct json_converter decimal_text = {
    .build = build_seed,
    .read = read_seed,
    .wanted = "a number of 64 bits as a text",
};

#define AT(member) JSON_MEMBER(struct manifest_shard, member)
static const struct json_field shard_fields[] = {
    {"first", FIELD_UINT, AT(first)}, {"count", FIELD_UINT, AT(count)},
    {"bytes", FIELD_UINT, AT(bytes)}, {"digest", FIELD_HEX, AT(digest)},
    {"place", FIELD_TEXT, AT(place)},
};
#undef AT
static const struct json_table shard_table = {
    JSON_FIELDS(shard_fields),
    .rules = JSON_ALL_REQUIRED | JSON_UNKNOWN_REFUSED,
    .status = TN_ECORRUPT,
};
static const struct json_field shard_element = {
    .type = FIELD_OBJECT,
    .size = sizeof(struct manifest_shard),
    .table = &shard_table,
};

#define AT(member) JSON_MEMBER(struct manifest_rows, member)
static const struct json_field rows_fields[] = {
    {"checkpoint", FIELD_UINT, AT(checkpoint)},
    {"bytes", FIELD_UINT, AT(bytes)},
    {"digest", FIELD_HEX, AT(digest)},
};
#undef AT
static const struct json_table rows_table = {
    JSON_FIELDS(rows_fields),
    .rules = JSON_ALL_REQUIRED | JSON_UNKNOWN_REFUSED,
    .status = TN_ECORRUPT,
};
static const struct json_field rows_element = {
    .type = FIELD_OBJECT,
    .size = sizeof(struct manifest_rows),
    .table = &rows_table,
};

#define AT(member) JSON_MEMBER(struct best, member)
static const struct json_field best_fields[] = {
    {"checkpoint", FIELD_UINT, AT(checkpoint)},
    {"step", FIELD_UINT, AT(step)},
    {"metric", FIELD_ENUM, AT(metric), .names = best_metric_names},
    {"value", FIELD_HEX, AT(value)}, /* Its bits: several texts stand for one number. */
};
#undef AT
static const struct json_table best_table = {
    JSON_FIELDS(best_fields),
    .rules = JSON_ALL_REQUIRED | JSON_UNKNOWN_REFUSED,
    .status = TN_ECORRUPT,
};

#define AT(member) JSON_MEMBER(struct manifest, member)
static const struct json_field manifest_fields[] = {
    {.name = "format", .type = FIELD_OTHER},
    {"id", FIELD_UINT, AT(id)},
    {"generation", FIELD_UINT, AT(generation)},
    {"step", FIELD_UINT, AT(step)},
    {"epoch", FIELD_UINT, AT(epoch)},
    {"created_ms", FIELD_UINT, AT(created_wall_ms)},
    {"parameters", FIELD_UINT, AT(parameter_count)},
    {"slices", FIELD_UINT, AT(slices)},
    {"state_arrays", FIELD_UINT, AT(state_arrays)},
    {"mode", FIELD_TEXT, AT(mode)},
    {"optimizer", FIELD_TEXT, AT(optimizer)},
    {"kernels", FIELD_TEXT, AT(kernels)},
    {"data", FIELD_HEX, AT(data), .optional = true},
    {"variables", FIELD_HEX, AT(variables_hash)},
    {"graph", FIELD_HEX, AT(graph_hash), .optional = true},
    {"seed", FIELD_CUSTOM, AT(seed), .converter = &decimal_text},
    {"best", FIELD_OBJECT, AT(best), .table = &best_table, .optional = true},
    {"shards", FIELD_LIST, AT(shards), .element = &shard_element, .least = 1,
     .length_offset = offsetof(struct manifest, shard_count)},
    {"chain", FIELD_LIST, AT(chain), .element = &rows_element, .least = 1, .optional = true,
     .length_offset = offsetof(struct manifest, chain_count)},
    {"buckets", FIELD_CUSTOM, AT(rows), .converter = &row_borders_converter, .optional = true},
    {.name = "check", .type = FIELD_OTHER},
};
#undef AT
static const struct json_table manifest_table = {
    JSON_FIELDS(manifest_fields),
    .rules = JSON_ALL_REQUIRED | JSON_UNKNOWN_REFUSED,
    .status = TN_ECORRUPT,
};

/* ------------------------------------------------------------------- check */

/* Refuse what a decoder refuses: numbers above COUNTER_MAX, texts that are unterminated or
 * not UTF-8. */
static enum tn_status check_fields(const struct json_table *table, const void *record,
                                   const char *where, struct error *error)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct json_field *field = &table->fields[i];
        const char *at = (const char *)record + field->offset;
        uint64_t number = 0;
        if (field->type == FIELD_UINT && field->size == sizeof number) {
            memcpy(&number, at, sizeof number);
        }
        if (number > COUNTER_MAX) {
            return error_set(error, TN_EINVAL, "%s%s is %" PRIu64 ", expected at most 2^62-1",
                             where, field->name, number);
        }
        if (field->type != FIELD_TEXT) { continue; }
        if (memchr(at, '\0', field->size) == NULL || !utf8_is_valid(at)) {
            return error_set(error, TN_EINVAL, "%s%s is not a terminated text in UTF-8", where,
                             field->name);
        }
    }
    return TN_OK;
}

static enum tn_status check_shards(const struct manifest *manifest, struct error *error)
{
    assert(manifest->shard_count <= MANIFEST_SHARDS_MAX);
    uint64_t next = 0;
    for (uint32_t i = 0; i < manifest->shard_count; i++) {
        const struct manifest_shard *shard = &manifest->shards[i];
        char where[JSON_WHERE_MAX];
        snprintf(where, sizeof where, "shards[%" PRIu32 "].", i);
        enum tn_status status = check_fields(&shard_table, shard, where, error);
        if (status != TN_OK) { return status; }
        if (shard->first != next) {
            return error_set(error, TN_EINVAL,
                             "shards[%" PRIu32 "].first is %" PRIu64 ", expected %" PRIu64
                             ": shards have no gaps",
                             i, shard->first, next);
        }
        if (shard->count > manifest->parameter_count - next) {
            return error_set(error, TN_EINVAL,
                             "shards[%" PRIu32 "].count is %" PRIu64 ", expected at most %" PRIu64,
                             i, shard->count, manifest->parameter_count - next);
        }
        if (shard->bytes == 0) {
            return error_set(error, TN_EINVAL, "shards[%" PRIu32 "].bytes is 0, expected 1 or more",
                             i);
        }
        next += shard->count;
    }
    if (next != manifest->parameter_count) {
        return error_set(error, TN_EINVAL,
                         "shards end at %" PRIu64 ", expected %" PRIu64 " parameters", next,
                         manifest->parameter_count);
    }
    return TN_OK;
}

static enum tn_status check_chain(const struct manifest *manifest, struct error *error)
{
    assert(manifest->chain_count <= MANIFEST_CHAIN_MAX);
    uint64_t before = 0;
    for (uint32_t i = 0; i < manifest->chain_count; i++) {
        const struct manifest_rows *rows = &manifest->chain[i];
        char where[JSON_WHERE_MAX];
        snprintf(where, sizeof where, "chain[%" PRIu32 "].", i);
        enum tn_status status = check_fields(&rows_table, rows, where, error);
        if (status != TN_OK) { return status; }
        if (rows->checkpoint <= before || rows->bytes == 0) {
            return error_set(error, TN_EINVAL,
                             "%scheckpoint is %" PRIu64 " with %" PRIu64
                             " bytes, expected one after checkpoint %" PRIu64
                             ", and 1 byte or more",
                             where, rows->checkpoint, rows->bytes, before);
        }
        before = rows->checkpoint;
    }
    if (manifest->chain_count == 0 || before == manifest->id) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "chain ends with checkpoint %" PRIu64 ", expected this one, %" PRIu64, before,
                     manifest->id);
}

static enum tn_status check_best(const struct manifest *manifest, struct error *error)
{
    const struct best *best = &manifest->best;
    if (best->checkpoint == 0) { return TN_OK; }
    const bool known = best->metric == BEST_LOSS || best->metric == BEST_ACCURACY;
    if (known && isfinite(best->value) && best->checkpoint <= manifest->id &&
        best->step <= manifest->step) {
        return TN_OK;
    }
    return error_set(error, TN_EINVAL,
                     "best is checkpoint %" PRIu64 " of step %" PRIu64
                     ", expected a metric with a number, of this checkpoint or one before it",
                     best->checkpoint, best->step);
}

enum tn_status manifest_check(const struct manifest *manifest, struct error *error)
{
    assert(manifest != NULL);
    enum tn_status status = check_fields(&manifest_table, manifest, "", error);
    if (status != TN_OK) { return status; }
    if (manifest->id == 0) { return error_set(error, TN_EINVAL, "id is 0, expected 1 or more"); }
    if (manifest->parameter_count == 0) {
        return error_set(error, TN_EINVAL, "parameters is 0, expected 1 or more");
    }
    if (strcmp(manifest->mode, "sync") != 0 && strcmp(manifest->mode, "async") != 0) {
        return error_set(error, TN_EINVAL, "mode is \"%s\", expected sync or async",
                         manifest->mode);
    }
    if (manifest->state_arrays == 0 || manifest->state_arrays > MANIFEST_ARRAYS_MAX) {
        return error_set(error, TN_EINVAL, "state_arrays is %" PRIu32 ", expected 1 to %d",
                         manifest->state_arrays, MANIFEST_ARRAYS_MAX);
    }
    if (manifest->shard_count == 0 || manifest->shard_count > MANIFEST_SHARDS_MAX) {
        return error_set(error, TN_EINVAL, "%" PRIu32 " shards, expected 1 to %d",
                         manifest->shard_count, MANIFEST_SHARDS_MAX);
    }
    const char *fault = row_borders_fault(&manifest->rows, manifest->shard_count);
    if (fault != NULL) { return error_set(error, TN_EINVAL, "buckets: %s", fault); }
    status = check_best(manifest, error);
    if (status == TN_OK) { status = check_chain(manifest, error); }
    return status == TN_OK ? check_shards(manifest, error) : status;
}

/* ------------------------------------------------------------------ encode */

/* Every member but "check", the closing digest. NULL: out of memory. */
static json_t *build(const struct manifest *manifest)
{
    assert(manifest->shard_count > 0 && manifest->shard_count <= MANIFEST_SHARDS_MAX);
    json_t *object = json_pack("{s:i}", "format", MANIFEST_FORMAT);
    if (object != NULL && json_codec_build(&manifest_table, manifest, 0, object)) {
        /* A manifest without it is as old ones are, whose closing digest does not cover it. */
        if (digest_equal(manifest->data, (struct digest){0, 0})) {
            (void)json_object_del(object, "data");
        }
        if (manifest->best.checkpoint == 0) { (void)json_object_del(object, "best"); }
        if (manifest->chain_count == 0) { (void)json_object_del(object, "chain"); }
        row_borders_leave_out(&manifest->rows, object, "buckets");
        return object;
    }
    json_decref(object);
    return NULL;
}

/* The closing digest, of the compact text of all other members. False: out of memory. */
static bool digest_object(const json_t *object, struct digest *out)
{
    char *text = json_dumps(object, JSON_COMPACT);
    if (text == NULL) { return false; }
    *out = digest_of(text, strlen(text));
    free(text);
    return true;
}

static bool add_digest(json_t *object)
{
    struct digest digest;
    char text[DIGEST_TEXT_BYTES];
    if (!digest_object(object, &digest)) { return false; }
    digest_format(digest, text);
    return json_object_set_new(object, "check", json_string(text)) == 0;
}

enum tn_status manifest_encode(const struct manifest *manifest, char **text, size_t *size,
                               struct error *error)
{
    assert(manifest != NULL);
    *text = NULL;
    *size = 0;
    enum tn_status status = manifest_check(manifest, error);
    if (status != TN_OK) { return status; }
    json_t *object = build(manifest);
    if (object != NULL && add_digest(object)) { *text = json_dumps(object, JSON_COMPACT); }
    json_decref(object);
    if (*text == NULL) { return error_set(error, TN_ENOMEM, "no memory for the manifest"); }
    *size = strlen(*text);
    assert(*size <= MANIFEST_JSON_MAX);
    return TN_OK;
}

/* ------------------------------------------------------------------ decode */

/* The closing digest is compared with that of the canonical text of the decoded fields, so that a
 * manifest that passes has exactly the written fields. */
static enum tn_status check_digest(const json_t *object, const struct manifest *manifest,
                                   struct error *error)
{
    assert(manifest->shard_count > 0 && manifest->shard_count <= MANIFEST_SHARDS_MAX);
    const char *recorded = json_string_value(json_object_get(object, "check"));
    struct digest expected, found;
    if (recorded == NULL || !digest_parse(recorded, &expected)) {
        return error_set(error, TN_ECORRUPT, "check is not 32 hexadecimal digits");
    }
    json_t *canonical = build(manifest);
    bool ok = canonical != NULL && digest_object(canonical, &found);
    json_decref(canonical);
    if (!ok) { return error_set(error, TN_ENOMEM, "no memory to check the manifest"); }
    if (!digest_equal(expected, found)) {
        return error_set(error, TN_ECORRUPT, "the digest does not match: a field was changed");
    }
    return TN_OK;
}

static enum tn_status decode_object(const json_t *object, struct manifest *out, struct error *error)
{
    const json_t *format = json_object_get(object, "format");
    json_int_t number = json_integer_value(format);
    if (number > MANIFEST_FORMAT) {
        return error_set(error, TN_EINVAL,
                         "format is %" JSON_INTEGER_FORMAT ", this program knows up to %d: "
                         "use the version of Tanist that wrote it",
                         number, MANIFEST_FORMAT);
    }
    if (number != MANIFEST_FORMAT) {
        return error_set(error, TN_ECORRUPT, "format is missing or not a number from 1");
    }
    enum tn_status status = json_codec_read(&manifest_table, object, "", out, error);
    if (status == TN_OK) { status = check_digest(object, out, error); }
    if (status == TN_OK && manifest_check(out, error) != TN_OK) {
        if (error != NULL) { error->status = TN_ECORRUPT; }
        status = TN_ECORRUPT;
    }
    return status;
}

enum tn_status manifest_decode(const char *text, size_t size, struct manifest *out,
                               struct error *error)
{
    assert(text != NULL || size == 0);
    memset(out, 0, sizeof *out);
    if (size > MANIFEST_JSON_MAX) {
        return error_set(error, TN_ECORRUPT, "%zu bytes, expected at most %d", size,
                         MANIFEST_JSON_MAX);
    }
    json_error_t where;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (object == NULL) {
        return error_set(error, TN_ECORRUPT, "not JSON at byte %d: %s", where.position, where.text);
    }
    enum tn_status status = decode_object(object, out, error);
    json_decref(object);
    return status;
}
