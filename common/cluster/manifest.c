#include "common/cluster/manifest.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/*
 * Each field once: its name in JSON and its member. Numbers are JSON integers up to INT64_MAX, what
 * JSON readers agree on; a seed and a hash use all 64 bits, so they are texts.
 */
#define NUMBERS(X)                                                                                 \
    X("id", id)                                                                                    \
    X("generation", generation)                                                                    \
    X("step", step)                                                                                \
    X("epoch", epoch)                                                                              \
    X("created_ms", created_wall_ms)                                                               \
    X("parameters", parameter_count)
#define SMALL_NUMBERS(X)                                                                           \
    X("slices", slices)                                                                            \
    X("state_arrays", state_arrays)
#define TEXTS(X)                                                                                   \
    X("mode", mode)                                                                                \
    X("optimizer", optimizer)                                                                      \
    X("kernels", kernels)
#define SHARD_NUMBERS(X)                                                                           \
    X("first", first)                                                                              \
    X("count", count)                                                                              \
    X("bytes", bytes)

/* Keys of the object: those above, "format", "variables", "seed", "shards", "check". */
enum { MANIFEST_KEYS = 6 + 2 + 3 + 5, SHARD_KEYS = 3 + 2, HASH_TEXT_BYTES = 17 };

/* ------------------------------------------------------------------- check */

static bool text_is_terminated(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static enum tn_status check_shards(const struct manifest *manifest, struct error *error)
{
    uint64_t next = 0;
    for (uint32_t i = 0; i < manifest->shard_count; i++) {
        const struct manifest_shard *shard = &manifest->shards[i];
        if (!text_is_terminated(shard->place, sizeof shard->place)) {
            return error_set(error, TN_EINVAL, "shards[%" PRIu32 "].place is not terminated", i);
        }
        if (shard->first != next) {
            return error_set(error, TN_EINVAL,
                             "shards[%" PRIu32 "].first is %" PRIu64 ", expected %" PRIu64
                             ": shards follow each other without gap",
                             i, shard->first, next);
        }
        if (shard->count > manifest->parameter_count - next) {
            return error_set(error, TN_EINVAL,
                             "shards[%" PRIu32 "].count is %" PRIu64 ", but only %" PRIu64
                             " parameters are left",
                             i, shard->count, manifest->parameter_count - next);
        }
        if (shard->bytes == 0 || shard->bytes > INT64_MAX) {
            return error_set(error, TN_EINVAL,
                             "shards[%" PRIu32 "].bytes is %" PRIu64 ", expected 1 to 2^63-1", i,
                             shard->bytes);
        }
        next += shard->count;
    }
    if (next != manifest->parameter_count) {
        return error_set(error, TN_EINVAL,
                         "shards end at %" PRIu64 ", but there are %" PRIu64 " parameters", next,
                         manifest->parameter_count);
    }
    return TN_OK;
}

enum tn_status manifest_check(const struct manifest *manifest, struct error *error)
{
#define X(name, member)                                                                            \
    if (manifest->member > INT64_MAX)                                                              \
        return error_set(error, TN_EINVAL, "%s is %" PRIu64 ", expected at most 2^63-1", name,     \
                         manifest->member);
    NUMBERS(X)
#undef X
#define X(name, member)                                                                            \
    if (!text_is_terminated(manifest->member, sizeof manifest->member))                            \
        return error_set(error, TN_EINVAL, "%s is not terminated", name);
    TEXTS(X)
#undef X
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
    return check_shards(manifest, error);
}

/* ------------------------------------------------------------------ encode */

/* jansson's setters take the new value, also when they fail, and refuse NULL: so a value that could
 * not be made ends as `false` here. */
static bool put_number(json_t *object, const char *key, uint64_t value)
{
    return json_object_set_new(object, key, json_integer((json_int_t)value)) == 0;
}

static bool put_text(json_t *object, const char *key, const char *text)
{
    return json_object_set_new(object, key, json_string(text)) == 0;
}

static bool put_digest(json_t *object, const char *key, struct digest digest)
{
    char text[DIGEST_TEXT_BYTES];
    digest_format(digest, text);
    return put_text(object, key, text);
}

/* 64 bits as text: a seed in decimal as people gave it, a hash as 16 hexadecimal digits. */
static bool put_wide(json_t *object, const char *key, bool hexadecimal, uint64_t value)
{
    return json_object_set_new(object, key,
                               hexadecimal ? json_sprintf("%016" PRIx64, value)
                                           : json_sprintf("%" PRIu64, value)) == 0;
}

static json_t *build_shard(const struct manifest_shard *shard)
{
    json_t *object = json_object();
    bool ok = object != NULL;
#define X(name, member) ok = ok && put_number(object, name, shard->member);
    SHARD_NUMBERS(X)
#undef X
    ok = ok && put_digest(object, "digest", shard->digest);
    ok = ok && put_text(object, "place", shard->place);
    if (ok) { return object; }
    json_decref(object);
    return NULL;
}

/* All of it but the closing digest. NULL: out of memory, or a text is not UTF-8. */
static json_t *build(const struct manifest *manifest)
{
    json_t *object = json_object();
    json_t *shards = json_array();
    bool ok = object != NULL && shards != NULL && put_number(object, "format", MANIFEST_FORMAT);
#define X(name, member) ok = ok && put_number(object, name, manifest->member);
    NUMBERS(X)
    SMALL_NUMBERS(X)
#undef X
#define X(name, member) ok = ok && put_text(object, name, manifest->member);
    TEXTS(X)
#undef X
    ok = ok && put_wide(object, "variables", true, manifest->variables_hash);
    ok = ok && put_wide(object, "seed", false, manifest->seed);
    for (uint32_t i = 0; ok && i < manifest->shard_count; i++) {
        ok = json_array_append_new(shards, build_shard(&manifest->shards[i])) == 0;
    }
    ok = ok && json_object_set(object, "shards", shards) == 0;
    json_decref(shards);
    if (ok) { return object; }
    json_decref(object);
    return NULL;
}

/* The closing digest: over the compact text of everything else. */
static bool digest_object(const json_t *object, struct digest *out)
{
    char *text = json_dumps(object, JSON_COMPACT);
    if (text == NULL) { return false; }
    *out = digest_of(text, strlen(text));
    free(text);
    return true;
}

enum tn_status manifest_encode(const struct manifest *manifest, char **text, size_t *size,
                               struct error *error)
{
    *text = NULL;
    *size = 0;
    enum tn_status status = manifest_check(manifest, error);
    if (status != TN_OK) { return status; }
    json_t *object = build(manifest);
    struct digest check;
    if (object != NULL && digest_object(object, &check) && put_digest(object, "check", check)) {
        *text = json_dumps(object, JSON_COMPACT);
    }
    json_decref(object);
    if (*text == NULL) {
        return error_set(error, TN_EINVAL, "a text of the manifest is not UTF-8, or no memory");
    }
    *size = strlen(*text);
    assert(*size <= MANIFEST_JSON_MAX);
    return TN_OK;
}

/* ------------------------------------------------------------------ decode */

static enum tn_status get_number(const json_t *object, const char *where, const char *key,
                                 uint64_t limit, uint64_t *out, struct error *error)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) {
        return error_set(error, TN_ECORRUPT, "%s%s is not an integer", where, key);
    }
    json_int_t number = json_integer_value(value);
    if (number < 0 || (uint64_t)number > limit) {
        return error_set(error, TN_ECORRUPT,
                         "%s%s is %" JSON_INTEGER_FORMAT ", expected 0 to %" PRIu64, where, key,
                         number, limit);
    }
    *out = (uint64_t)number;
    return TN_OK;
}

static enum tn_status get_text(const json_t *object, const char *where, const char *key, char *out,
                               size_t size, struct error *error)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text == NULL) { return error_set(error, TN_ECORRUPT, "%s%s is not a text", where, key); }
    size_t length = strlen(text);
    if (length >= size) {
        return error_set(error, TN_ECORRUPT, "%s%s is longer than %zu bytes", where, key, size - 1);
    }
    memcpy(out, text, length + 1);
    return TN_OK;
}

static enum tn_status get_digest(const json_t *object, const char *where, const char *key,
                                 struct digest *out, struct error *error)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text == NULL || !digest_parse(text, out)) {
        return error_set(error, TN_ECORRUPT, "%s%s is not 32 hexadecimal digits", where, key);
    }
    return TN_OK;
}

/* The inverse of put_wide; other spellings of the same number are refused by the closing digest. */
static enum tn_status get_wide(const json_t *object, const char *key, unsigned base, uint64_t *out,
                               struct error *error)
{
    const char *text = json_string_value(json_object_get(object, key));
    uint64_t value = 0;
    size_t digits = 0;
    for (; text != NULL && text[digits] != '\0'; digits++) {
        const char *found = strchr("0123456789abcdef", text[digits]);
        uint64_t digit = found == NULL ? base : (uint64_t)(found - "0123456789abcdef");
        if (digit >= base || value > (UINT64_MAX - digit) / base) {
            return error_set(error, TN_ECORRUPT, "%s is not a number of 64 bits", key);
        }
        value = value * base + digit;
    }
    if (digits == 0) { return error_set(error, TN_ECORRUPT, "%s is not a number in a text", key); }
    *out = value;
    return TN_OK;
}

static enum tn_status decode_shard(const json_t *object, size_t index, struct manifest_shard *out,
                                   struct error *error)
{
    char where[32] = "shards[";
    size_t used = strlen(where);
    where[used++] = (char)('0' + index / 10);
    where[used++] = (char)('0' + index % 10);
    memcpy(where + used, "].", 3);
    if (!json_is_object(object) || json_object_size(object) != SHARD_KEYS) {
        return error_set(error, TN_ECORRUPT, "%s is not an object of %d keys", where, SHARD_KEYS);
    }
    enum tn_status status = TN_OK;
#define X(name, member)                                                                            \
    if (status == TN_OK) status = get_number(object, where, name, INT64_MAX, &out->member, error);
    SHARD_NUMBERS(X)
#undef X
    if (status == TN_OK) { status = get_digest(object, where, "digest", &out->digest, error); }
    if (status == TN_OK) {
        status = get_text(object, where, "place", out->place, sizeof out->place, error);
    }
    return status;
}

static enum tn_status decode_shards(const json_t *object, struct manifest *out, struct error *error)
{
    const json_t *shards = json_object_get(object, "shards");
    size_t count = json_array_size(shards); /* 0 when it is no array. */
    if (count == 0 || count > MANIFEST_SHARDS_MAX) {
        return error_set(error, TN_ECORRUPT, "shards is not a list of 1 to %d",
                         MANIFEST_SHARDS_MAX);
    }
    out->shard_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        enum tn_status status = decode_shard(json_array_get(shards, i), i, &out->shards[i], error);
        if (status != TN_OK) { return status; }
    }
    return TN_OK;
}

static enum tn_status decode_fields(const json_t *object, struct manifest *out, struct error *error)
{
    enum tn_status status = TN_OK;
    uint64_t number = 0;
#define X(name, member)                                                                            \
    if (status == TN_OK) status = get_number(object, "", name, INT64_MAX, &out->member, error);
    NUMBERS(X)
#undef X
#define X(name, member)                                                                            \
    if (status == TN_OK) status = get_number(object, "", name, UINT32_MAX, &number, error);        \
    if (status == TN_OK) out->member = (uint32_t)number;
    SMALL_NUMBERS(X)
#undef X
#define X(name, member)                                                                            \
    if (status == TN_OK)                                                                           \
        status = get_text(object, "", name, out->member, sizeof out->member, error);
    TEXTS(X)
#undef X
    if (status == TN_OK) {
        status = get_wide(object, "variables", 16, &out->variables_hash, error);
    }
    if (status == TN_OK) { status = get_wide(object, "seed", 10, &out->seed, error); }
    return status == TN_OK ? decode_shards(object, out, error) : status;
}

/* The digest at the end is over the canonical text of the fields as we understood them: whatever
 * the damage, a manifest that passes says exactly what was written. */
static enum tn_status check_digest(const json_t *object, const struct manifest *manifest,
                                   struct error *error)
{
    struct digest said;
    struct digest found;
    enum tn_status status = get_digest(object, "", "check", &said, error);
    if (status != TN_OK) { return status; }
    json_t *canonical = build(manifest);
    bool ok = canonical != NULL && digest_object(canonical, &found);
    json_decref(canonical);
    if (!ok) { return error_set(error, TN_ENOMEM, "no memory to check the manifest"); }
    if (!digest_equal(said, found)) {
        return error_set(error, TN_ECORRUPT, "its digest does not match: a field was changed");
    }
    return TN_OK;
}

static enum tn_status decode_object(const json_t *object, struct manifest *out, struct error *error)
{
    uint64_t format = 0;
    enum tn_status status = get_number(object, "", "format", INT64_MAX, &format, error);
    if (status != TN_OK) { return status; }
    if (format > MANIFEST_FORMAT) {
        return error_set(error, TN_EINVAL,
                         "format is %" PRIu64 ", this program knows up to %d: "
                         "use the version of Tanist that wrote it",
                         format, MANIFEST_FORMAT);
    }
    if (format == 0 || json_object_size(object) != MANIFEST_KEYS) {
        return error_set(error, TN_ECORRUPT, "%zu keys, expected %d", json_object_size(object),
                         MANIFEST_KEYS);
    }
    status = decode_fields(object, out, error);
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
