/* ps/disk_keep.h: between disk.c (list, load, save) and disk_keep.c (copies of manifests,
 * collection); nobody else's. */
#ifndef PS_DISK_KEEP_H
#define PS_DISK_KEEP_H

#include "ps/disk.h"

uint64_t disk_next_store_op(struct disk *disk);
/* Remember that its manifest lies on the disk. */
void disk_know(struct disk *disk, const struct manifest *manifest);
/* Take the manifest that a read of /checkpoints/ID was answered with; false, and logged: unfit. */
bool disk_take_manifest(const struct zk_event *event, uint64_t checkpoint, struct manifest *out);
/* Ask ZooKeeper for it; the request's op. */
uint64_t disk_ask_manifest(struct disk *disk, uint64_t checkpoint);

/* Go on with what is to be kept, as far as possible now. */
void disk_keep_proceed(struct disk *disk);
void disk_keep_store_event(struct disk *disk, const struct store_event *event);
void disk_keep_zk_event(struct disk *disk, const struct zk_event *event);

#endif
