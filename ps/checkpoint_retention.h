/*
 * ps/checkpoint_retention.h: the functions that checkpoint_client.c (listing, loads, saves) and
 * checkpoint_retention.c (copies of manifests, removal of old checkpoints) call in each other.
 * Private to these two files.
 */
#ifndef PS_CHECKPOINT_RETENTION_H
#define PS_CHECKPOINT_RETENTION_H

#include "ps/checkpoint_client.h"

/* ------------------------------------------------- in checkpoint_retention.c */

/* `run` changed: begin the work after a commit unless it is in progress. */
void checkpoint_retention_follow(struct checkpoint_client *client, const struct run *run);
/* Send the request of the present state. */
void checkpoint_retention_proceed(struct checkpoint_client *client);
/* Answers to other requests are ignored. */
void checkpoint_retention_handle_store(struct checkpoint_client *client,
                                       const struct store_event *event);
void checkpoint_retention_handle_zk(struct checkpoint_client *client, const struct zk_event *event);

/* ---------------------------------------------------- in checkpoint_client.c */

/* A new request number for the store. */
uint64_t checkpoint_client_next_store_op(struct checkpoint_client *client);
/* The disk has a copy of `manifest`: add it to the list. */
void checkpoint_client_add_manifest(struct checkpoint_client *client,
                                    const struct manifest *manifest);
/* Read /checkpoints/ID; returns the request's op. */
uint64_t checkpoint_client_read_manifest(struct checkpoint_client *client, uint64_t checkpoint);
/* Decode the answer. If it is not a valid manifest of `checkpoint`, log this and return false. */
bool checkpoint_client_decode_manifest(const struct zk_event *event, uint64_t checkpoint,
                                       struct manifest *out);

#endif
