#include "ps/store/store_layout.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/minmax.h"

/* "TANISTSH" as a little-endian word. */
#define STORE_MAGIC 0x48535453494e4154ULL

/* ------------------------------------------------------------------ header */

void store_header_encode(const struct store_header *header, uint8_t out[static STORE_HEADER_BYTES])
{
    const uint64_t words[STORE_HEADER_WORDS] = {
        STORE_MAGIC,          STORE_FORMAT,         header->id,         header->generation,
        header->step,         header->epoch,        header->first,      header->count,
        header->shard,        header->shards,       header->blob_bytes, header->optimizer_steps,
        header->state_arrays, header->chunk_floats,
    };
    for (size_t i = 0; i < STORE_HEADER_BYTES; i++) {
        out[i] = (uint8_t)(words[i / 8] >> (8 * (i % 8)));
    }
}

static bool header_is_in_range(const struct store_header *header)
{
    return header->state_arrays >= 1 && header->state_arrays <= MANIFEST_ARRAYS_MAX &&
           header->chunk_floats >= 1 && header->chunk_floats <= STORE_CHUNK_FLOATS;
}

enum tn_status store_header_decode(const void *data, size_t size, struct store_header *out,
                                   struct error *error)
{
    const uint8_t *bytes = data;
    uint64_t words[STORE_HEADER_WORDS] = {0};
    if (size != STORE_HEADER_BYTES) {
        return error_set(error, TN_ECORRUPT, "its header has %zu bytes, expected %d", size,
                         STORE_HEADER_BYTES);
    }
    for (size_t i = 0; i < STORE_HEADER_BYTES; i++) {
        words[i / 8] |= (uint64_t)bytes[i] << (8 * (i % 8));
    }
    if (words[0] != STORE_MAGIC) {
        return error_set(error, TN_ECORRUPT, "it is not a shard written by Tanist");
    }
    if (words[1] != STORE_FORMAT) {
        return error_set(error, TN_EINVAL,
                         "its format is %" PRIu64 ", this program reads %d: use the version of "
                         "Tanist that wrote it",
                         words[1], STORE_FORMAT);
    }
    *out = (struct store_header){
        .id = words[2],
        .generation = words[3],
        .step = words[4],
        .epoch = words[5],
        .first = words[6],
        .count = words[7],
        .shard = (uint32_t)words[8],
        .shards = (uint32_t)words[9],
        .blob_bytes = words[10],
        .optimizer_steps = words[11],
        .state_arrays = (uint32_t)words[12],
        .chunk_floats = (uint32_t)words[13],
    };
    if (!header_is_in_range(out)) {
        return error_set(error, TN_ECORRUPT, "its header has sizes out of range");
    }
    return TN_OK;
}

enum tn_status store_header_match(const struct store_header *header,
                                  const struct manifest *manifest, uint32_t shard,
                                  struct error *error)
{
    assert(shard < manifest->shard_count && shard < MANIFEST_SHARDS_MAX);
    const struct manifest_shard *part = &manifest->shards[shard];
    const struct {
        const char *name;
        uint64_t found, expected;
    } fields[] = {
        {"id", header->id, manifest->id},
        {"generation", header->generation, manifest->generation},
        {"step", header->step, manifest->step},
        {"shard", header->shard, shard},
        {"number of shards", header->shards, manifest->shard_count},
        {"first parameter", header->first, part->first},
        {"count", header->count, part->count},
        {"number of arrays", header->state_arrays, manifest->state_arrays},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].found != fields[i].expected) {
            return error_set(error, TN_ECORRUPT, "its %s is %" PRIu64 ", the manifest has %" PRIu64,
                             fields[i].name, fields[i].found, fields[i].expected);
        }
    }
    return TN_OK;
}

/* --------------------------------------------------------- keys and chunks */

uint64_t store_key_of_chunk(uint32_t array, uint64_t chunk)
{
    return ((uint64_t)array + 1) << 32 | chunk;
}

uint64_t store_chunks(uint64_t count, uint32_t chunk_floats)
{
    assert(chunk_floats >= 1);
    return count / chunk_floats + (count % chunk_floats != 0);
}

uint32_t store_chunk_length(uint64_t count, uint32_t chunk_floats, uint64_t chunk)
{
    assert(chunk * chunk_floats <= count);
    return (uint32_t)u64_min(count - chunk * chunk_floats, chunk_floats);
}

/* ------------------------------------------------------------------- names */

/* `length` is the result of snprintf(). */
static bool path_fits(int length)
{
    return length > 0 && length < PATH_MAX;
}

bool store_path_of_checkpoint(char path[static PATH_MAX], const char *dir, uint64_t id)
{
    return path_fits(snprintf(path, PATH_MAX, "%s/%010" PRIu64, dir, id));
}

bool store_path_of_manifest(char path[static PATH_MAX], const char *dir, uint64_t id)
{
    return path_fits(snprintf(path, PATH_MAX, "%s/%010" PRIu64 "/" STORE_MANIFEST_NAME, dir, id));
}

bool store_path_of_shard_folder(char path[static PATH_MAX], const char *dir, uint64_t id,
                                uint32_t shard, uint32_t shards)
{
    assert(shard < shards);
    return path_fits(snprintf(path, PATH_MAX, "%s/%010" PRIu64 "/shard-%" PRIu32 "-of-%" PRIu32,
                              dir, id, shard, shards));
}

bool store_path_of_shard(char path[static PATH_MAX], const char *dir, uint64_t id, uint32_t shard,
                         uint32_t shards)
{
    assert(shard < shards);
    return path_fits(snprintf(path, PATH_MAX,
                              "%s/%010" PRIu64 "/shard-%" PRIu32 "-of-%" PRIu32 "/" STORE_DATA_NAME,
                              dir, id, shard, shards));
}

enum tn_status store_path_too_long(const char *dir, struct error *error)
{
    return error_set(error, TN_EINVAL, "%s: the path is too long: use a shorter checkpoint folder",
                     dir);
}

uint64_t store_id_of_name(const char *name)
{
    uint64_t id = 0;
    size_t digits = strspn(name, "0123456789");
    if (digits < 10 || digits > 19 || name[digits] != '\0') { return 0; }
    if (digits > 10 && name[0] == '0') { return 0; /* Not a name that the store writes. */ }
    for (size_t i = 0; i < digits; i++) { id = id * 10 + (uint64_t)(name[i] - '0'); }
    return id <= COUNTER_MAX ? id : 0;
}

bool store_is_shard_folder(const char *name)
{
    static const char *const parts[] = {"shard-", "-of-"};
    for (size_t i = 0; i < 2; i++) {
        size_t length = strlen(parts[i]);
        if (strncmp(name, parts[i], length) != 0) { return false; }
        name += length;
        size_t digits = strspn(name, "0123456789");
        if (digits == 0 || digits > 10) { return false; }
        name += digits;
    }
    return *name == '\0';
}
