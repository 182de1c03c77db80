/*
 * ps/checkpoint_publish.h: publishes manifests of which this disk has a copy in ZooKeeper again,
 * which may have lost them: that of the newest checkpoint before the first report (C11), and that
 * of each checkpoint that is loaded, because another disk may lack it (P6). Part of
 * ps/checkpoint_client.h, which also declares checkpoint_client_ready().
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef PS_CHECKPOINT_PUBLISH_H
#define PS_CHECKPOINT_PUBLISH_H

#include "ps/checkpoint_client.h"

/* The manifest of a checkpoint, valid until the next event; NULL: this disk has no copy. */
const struct manifest *checkpoint_copy_of(const struct checkpoint_client *client,
                                          uint64_t checkpoint);

/* Publish the copy of a manifest. The answer of ZooKeeper arrives at checkpoint_published(). */
void checkpoint_publish(struct checkpoint_client *client, uint64_t checkpoint);

/* Try again, once the retry of a failed publication is due. A checkpoint that is not needed for the
 * first report, and no longer loaded, is not published: the chief may have deleted its manifest. */
void checkpoint_publish_again(struct checkpoint_client *client);

/* The answer to the last publication. */
void checkpoint_published(struct checkpoint_client *client, const struct zk_event *event);

#endif
