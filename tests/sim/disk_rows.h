/* tests/sim/disk_rows.h: the files with rows of tables that the modelled disk has with a shard. A
 * checkpoint shares those that it continues with the one before, as hard links. */
#ifndef SIM_DISK_ROWS_H
#define SIM_DISK_ROWS_H

#include "tests/sim/disk_model_private.h"

/* Add the saves in progress behind the files that they continue, which `before` has, and to
 * `digest`. False: it does not have them. `rows.chain` as in ps/store/store_port.h. */
bool disk_rows_write(struct disk_shard *shard, const struct disk_shard *before,
                     const struct store_write_request *write, struct digest_stream *digest);
void disk_rows_remove(struct disk_shard *shard);
bool disk_rows_are_whole(const struct disk_shard *shard);
/* A bit flips in one of them, for all checkpoints that have it. False: there are none. */
bool disk_rows_damage(struct disk_shard *shard, uint64_t chance);
/* Append them to tables whose load has begun. */
void disk_rows_load(const struct disk_shard *shard, const struct store_rows *to);
/* The numbers of a row in the newest file that has it; NULL: none has. */
const float *disk_rows_find(const struct disk_shard *shard, uint32_t table, uint64_t key);
/* The files, as the answer of a read has them. */
void disk_rows_chain(const struct disk_shard *shard, struct rows_chain *out);

#endif
