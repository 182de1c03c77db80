/*
 * cli/node/node_store.h: the checkpoint store of a node that holds values, on a thread: its folder
 * below the node's, and its answers as events of the node.
 *
 * Threads: the owner's; answers are copied on the thread of the store.
 */
#ifndef CLI_NODE_NODE_STORE_H
#define CLI_NODE_NODE_STORE_H

#include "cli/node/node.h"
#include "ps/store/store_thread.h"

enum { NODE_STORE_FOLDER_MAX = 1024 };

struct node_store {
    char folder[NODE_STORE_FOLDER_MAX], place[NODE_STORE_FOLDER_MAX + HOST_NAME_MAX_BYTES];
    struct runtime *runtime; /* Receives the answers. */
    struct store_thread *thread;
};

/* Name the folder, DIR/checkpoints; without an agent, make it. The errors of
 * files_make_folders(). */
MUST_CHECK enum tn_status node_store_prepare(struct node_store *store,
                                             const struct node_setup *setup, struct error *error);
/* Start the thread, once the runtime is open; the owner stops it. The errors of
 * store_thread_start(). `store` keeps its address from then on. */
MUST_CHECK enum tn_status node_store_start(struct node_store *store, const struct node_setup *setup,
                                           struct error *error);

#endif
