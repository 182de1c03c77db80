/*
 * ps/store/store_layout.h: the format of checkpoints on disk: names, keys, records and sizes. Pure;
 * it does not use LMDB.
 *
 *   DIR/<id, 10 digits>/manifest.json               copy of the committed manifest
 *   DIR/<id>/shard-<i>-of-<n>/data.mdb              a complete shard
 *   DIR/<id>/shard-<i>-of-<n>/data.mdb.partial-*    a shard being written, or left by a crash
 *   DIR/<id>/shard-<i>-of-<n>/rows, rows.partial    its rows of tables: ps/store/store_rows.h
 *
 * A shard's file is an LMDB environment with one table, keys of 8 bytes, big-endian:
 *   0                        header: STORE_HEADER_WORDS little-endian 64-bit words
 *   1                        blob, if any
 *   (array + 1) << 32 | c    chunk c of an array: XXH3-128 of its floats (16 bytes), the floats
 *
 * A full chunk fills exactly 1 MiB together with LMDB's page header of 16 bytes. Pages:
 * store_tree.h.
 */
#ifndef PS_STORE_STORE_LAYOUT_H
#define PS_STORE_STORE_LAYOUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/cluster/manifest.h"

enum {
    STORE_FORMAT = 1,
    STORE_HEADER_WORDS = 14,
    STORE_HEADER_BYTES = 8 * STORE_HEADER_WORDS,
    STORE_PAGE_HEADER_BYTES = 16, /* In LMDB, in front of a large value. */
    STORE_CHUNK_FLOATS = ((1 << 20) - STORE_PAGE_HEADER_BYTES - DIGEST_BYTES) / 4,
    STORE_KEY_HEADER = 0,
    STORE_KEY_BLOB = 1,
};

struct store_header {
    uint64_t id;
    uint64_t generation;
    uint64_t step;
    uint64_t epoch;
    uint64_t optimizer_steps;
    uint64_t first;
    uint64_t count;
    uint64_t blob_bytes;
    uint32_t shard;
    uint32_t shards;
    uint32_t state_arrays;
    uint32_t chunk_floats; /* In each chunk except the last one of an array. */
};

void store_header_encode(const struct store_header *header, uint8_t out[static STORE_HEADER_BYTES]);

/* TN_ECORRUPT: not a header, or its fields are out of range; TN_EINVAL: of a later format. */
MUST_CHECK enum tn_status store_header_decode(const void *data, size_t size,
                                              struct store_header *out, struct error *error);

/* Check that this is the header of shard `shard` of the manifest's checkpoint. TN_ECORRUPT: the
 * error names the field that differs. The epoch may differ, because a later chief can commit a
 * checkpoint that an earlier one ordered. */
MUST_CHECK enum tn_status store_header_match(const struct store_header *header,
                                             const struct manifest *manifest, uint32_t shard,
                                             struct error *error);

uint64_t store_key_of_chunk(uint32_t array, uint64_t chunk);

/* The number of chunks of an array of `count` floats, and the number of floats in chunk `chunk`. */
uint64_t store_chunks(uint64_t count, uint32_t chunk_floats);
uint32_t store_chunk_length(uint64_t count, uint32_t chunk_floats, uint64_t chunk);

/* Paths. False: longer than PATH_MAX; the caller returns store_path_too_long(). */
bool store_path_of_checkpoint(char path[static PATH_MAX], const char *dir, uint64_t id);
bool store_path_of_manifest(char path[static PATH_MAX], const char *dir, uint64_t id);
bool store_path_of_shard_folder(char path[static PATH_MAX], const char *dir, uint64_t id,
                                uint32_t shard, uint32_t shards);
bool store_path_of_shard(char path[static PATH_MAX], const char *dir, uint64_t id, uint32_t shard,
                         uint32_t shards);

/* Fills `error` for a path below `dir` that is too long. Returns TN_EINVAL. */
enum tn_status store_path_too_long(const char *dir, struct error *error);

/* The id of the checkpoint whose folder has this name; 0: it is not the folder of a checkpoint. */
uint64_t store_id_of_name(const char *name);
/* Whether an entry of a checkpoint's folder has the name of a shard's folder. */
bool store_is_shard_folder(const char *name);

#define STORE_MANIFEST_NAME  "manifest.json"
#define STORE_DATA_NAME      "data.mdb"
#define STORE_ROWS_NAME      "rows"
#define STORE_ROWS_PREFIX    "rows-" /* Then the checkpoint that wrote it, and its digest. */
#define STORE_ROWS_PARTIAL   "rows-partial-"
#define STORE_PARTIAL_PREFIX "data.mdb.partial-"

#endif
