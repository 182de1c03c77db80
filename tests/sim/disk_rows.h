/* tests/sim/disk_rows.h: the rows of tables that the modelled disk has with a shard. */
#ifndef SIM_DISK_ROWS_H
#define SIM_DISK_ROWS_H

#include "common/base/digest.h"
#include "ps/store/store_port.h"

struct disk_rows;

/* A copy of the saves in progress, added to `digest`. NULL: there are none. */
struct disk_rows *disk_rows_copy(const struct store_rows *rows, struct digest_stream *digest);
void disk_rows_free(struct disk_rows *rows); /* NULL is allowed. */
/* Append them to tables whose load has begun. */
void disk_rows_load(const struct disk_rows *rows, const struct store_rows *to);

#endif
