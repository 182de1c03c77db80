#include "ps/checkpoint_publish.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/log.h"

const struct manifest *checkpoint_copy_of(const struct checkpoint_client *client,
                                          uint64_t checkpoint)
{
    assert(checkpoint != 0);
    for (uint32_t i = 0; i < client->manifest_count; i++) {
        if (client->manifests[i].id == checkpoint) { return &client->manifests[i]; }
    }
    return NULL;
}

void checkpoint_publish(struct checkpoint_client *client, uint64_t checkpoint)
{
    char path[ZK_PATH_MAX], *text = NULL;
    size_t size = 0;
    struct error error;
    const struct manifest *copy = checkpoint_copy_of(client, checkpoint);
    client->publication.checkpoint = checkpoint;
    client->publication.retry_at_ms = UINT64_MAX;
    if (copy == NULL) { return; } /* It was collected before it could be published. */
    if (manifest_encode(copy, &text, &size, &error) != TN_OK) {
        log_error("checkpoint %" PRIu64 ": its manifest is not published: %s", checkpoint,
                  error.text);
        client->publication.done = true;
        return;
    }
    znode_checkpoint_path(path, client->membership->identity.cluster, checkpoint);
    const struct zk_write write = {.kind = ZK_CREATE, .path = path, .data = text, .size = size};
    client->publication.op = membership_next_op(client->membership);
    client->ports->zk.write(client->ports->zk.ctx, client->publication.op, &write, 1);
    free(text);
}

void checkpoint_publish_again(struct checkpoint_client *client)
{
    const struct run *run = &client->membership->run;
    const uint64_t checkpoint = client->publication.checkpoint;
    const bool loads = run->phase == RUN_LOADING && run->load_checkpoint == checkpoint;
    client->publication.retry_at_ms = UINT64_MAX;
    if (!client->publication.done || loads) { checkpoint_publish(client, checkpoint); }
}

bool checkpoint_client_ready(struct checkpoint_client *client, const struct run *run)
{
    if (!client->listed) { return false; }
    bool lost = run->phase == RUN_FORMING && run->generation == 0 && run->committed_checkpoint == 0;
    if (!lost || client->manifest_count == 0) { client->publication.done = true; }
    if (client->publication.done) { return true; }
    if (client->publication.op == 0 && client->publication.retry_at_ms == UINT64_MAX) {
        checkpoint_publish(client, client->manifests[0].id);
    }
    return client->publication.done;
}

void checkpoint_published(struct checkpoint_client *client, const struct zk_event *event)
{
    const uint64_t checkpoint = client->publication.checkpoint;
    const bool reported = client->publication.done;
    client->publication.op = 0;
    if (event->outcome == ZK_UNKNOWN) {
        client->publication.retry_at_ms = client->now_ms + CHECKPOINT_RETRY_MS;
        return;
    }
    client->publication.done = true;
    if (event->outcome == ZK_OK) {
        log_warn("ZooKeeper has lost checkpoint %" PRIu64 ": its manifest is published again",
                 checkpoint);
    } else if (event->reason == ZK_REASON_NO_NODE && reported) { /* The chief restores folders. */
        client->publication.retry_at_ms = client->now_ms + RETENTION_COPY_RETRY_MS;
    } else if (event->reason != ZK_REASON_NODE_EXISTS) {
        log_error("checkpoint %" PRIu64 ": its manifest cannot be published in ZooKeeper",
                  checkpoint);
    }
}
