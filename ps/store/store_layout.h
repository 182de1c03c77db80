/*
 * ps/store/store_layout.h: how a shard lies in its file: names, keys, records, sizes. Pure, and
 * free of LMDB: what is decided here is the format on disk.
 *
 *   DIR/<id, 10 digits>/manifest.json                    copy of the committed manifest
 *   DIR/<id>/shard-<i>-of-<n>/data.mdb                   one shard, finished
 *   DIR/<id>/shard-<i>-of-<n>/data.mdb.partial-*         one being written, or left by a crash
 *
 * A shard's file is an LMDB environment with one table, keys of 8 bytes, big-endian:
 *   0                        header: STORE_HEADER_WORDS little-endian words
 *   1                        blob, if any
 *   (array + 1) << 32 | c    chunk c of an array: XXH3-128 of its floats (16 bytes), the floats
 *
 * A whole chunk with LMDB's page header of 16 bytes fills exactly 1 MiB.
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
    STORE_PAGE_HEADER_BYTES = 16, /* LMDB's, in front of a large value. */
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
    uint32_t chunk_floats; /* Of all chunks but an array's last. */
};

void store_header_encode(const struct store_header *header, uint8_t out[static STORE_HEADER_BYTES]);

/* TN_ECORRUPT: not a header, or one with impossible fields; TN_EINVAL: of a later format. */
MUST_CHECK enum tn_status store_header_decode(const void *data, size_t size,
                                              struct store_header *out, struct error *error);

/* Whether this is the header of shard `shard` of that checkpoint. TN_ECORRUPT: the error names the
 * field that differs. The epoch may: a later chief can commit what an earlier one ordered. */
MUST_CHECK enum tn_status store_header_match(const struct store_header *header,
                                             const struct manifest *manifest, uint32_t shard,
                                             struct error *error);

uint64_t store_key_of_chunk(uint32_t array, uint64_t chunk);

/* Chunks of an array of `count` floats, and the floats of the `chunk`-th. */
uint64_t store_chunks(uint64_t count, uint32_t chunk_floats);
uint32_t store_chunk_length(uint64_t count, uint32_t chunk_floats, uint64_t chunk);

/* Size of the file that surely holds such a shard in pages of `page_bytes`. A function of its
 * arguments only, so that equal shards have equal files. */
uint64_t store_file_bytes(const struct store_header *header, size_t page_bytes);

/* Paths. False: longer than PATH_MAX. */
bool store_path_of_checkpoint(char path[static PATH_MAX], const char *dir, uint64_t id);
bool store_path_of_manifest(char path[static PATH_MAX], const char *dir, uint64_t id);
bool store_path_of_shard_folder(char path[static PATH_MAX], const char *dir, uint64_t id,
                                uint32_t shard, uint32_t shards);
bool store_path_of_shard(char path[static PATH_MAX], const char *dir, uint64_t id, uint32_t shard,
                         uint32_t shards);

/* The id of a checkpoint's folder by its name; 0: the folder is not ours. */
uint64_t store_id_of_name(const char *name);
/* Whether an entry of a checkpoint's folder is the folder of one of its shards. */
bool store_is_shard_folder(const char *name);

#define STORE_MANIFEST_NAME  "manifest.json"
#define STORE_DATA_NAME      "data.mdb"
#define STORE_PARTIAL_PREFIX "data.mdb.partial-"

#endif
