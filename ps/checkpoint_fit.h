/*
 * ps/checkpoint_fit.h: which checkpoints a checkpoint client can load: those of the same model and
 * optimizer, also if their variables have another order (common/job/variable_order.h).
 *
 * Threads: the owner's. Nothing blocks.
 */
#ifndef PS_CHECKPOINT_FIT_H
#define PS_CHECKPOINT_FIT_H

#include "ps/checkpoint_client.h"

/* Whether the arrays of this checkpoint are those of the shard; the log has the reason if not.
 * Sets the moves of the client for its load. */
bool checkpoint_fits(struct checkpoint_client *client, const struct manifest *manifest);

/* Whether the checkpoint has the variables of the client's job. */
bool checkpoint_is_ours(const struct checkpoint_client *client, const struct manifest *manifest);

#endif
