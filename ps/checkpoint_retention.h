/* ps/checkpoint_retention.h: between disk.c (list, load, save) and disk_keep.c (copies of
 * manifests, collection); nobody else's. */
#ifndef PS_CHECKPOINT_RETENTION_H
#define PS_CHECKPOINT_RETENTION_H

#include "ps/checkpoint_client.h"

uint64_t checkpoint_client_next_store_op(struct checkpoint_client *client);
/* Remember that its manifest lies on the disk. */
void checkpoint_client_add_manifest(struct checkpoint_client *client,
                                    const struct manifest *manifest);
/* Take the manifest that a read of /checkpoints/ID was answered with; false, and logged: unfit. */
bool checkpoint_client_decode_manifest(const struct zk_event *event, uint64_t checkpoint,
                                       struct manifest *out);
/* Ask ZooKeeper for it; the request's op. */
uint64_t checkpoint_client_read_manifest(struct checkpoint_client *client, uint64_t checkpoint);

/* Go on with what is to be kept, as far as possible now. */
void checkpoint_retention_proceed(struct checkpoint_client *client);
void checkpoint_retention_handle_store(struct checkpoint_client *client,
                                       const struct store_event *event);
void checkpoint_retention_handle_zk(struct checkpoint_client *client, const struct zk_event *event);

#endif
