#include "cli/node/node_store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/files.h"
#include "common/base/log.h"

enum tn_status node_store_prepare(struct node_store *store, const struct node_setup *setup,
                                  struct error *error)
{
    (void)snprintf(store->folder, sizeof store->folder, "%s/checkpoints", setup->dir);
    /* Under an agent the folder exists; if it was removed meanwhile, the store must report that. */
    return setup->under_agent ? TN_OK : files_make_folders(store->folder, error);
}

enum { ALIGNMENT = 16 };

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* Copy to `*at` and move it forward. Returns the copy. */
static const void *append(char **at, const void *bytes, size_t size)
{
    const void *copy = *at;
    memcpy(*at, bytes, size);
    *at += aligned(size);
    return copy;
}

/* Pass an event of the store to the node: the event and all that it points to, in one block. Called
 * on the thread of the store. */
static void on_store(void *ctx, const struct store_event *event)
{
    struct node_store *store = ctx;
    const size_t text = event->text != NULL ? strlen(event->text) + 1 : 0;
    const size_t metadata = event->metadata != NULL ? sizeof *event->metadata : 0;
    const size_t manifests = event->manifests != NULL ? event->count * sizeof *event->manifests : 0;
    assert(store->runtime != NULL);
    struct store_event *posted =
        malloc(aligned(sizeof *posted) + aligned(text) + aligned(metadata) + aligned(manifests));
    if (posted == NULL) {
        log_error("out of memory: an answer of the checkpoint store is lost; exiting to be "
                  "restarted");
        _Exit(TN_EXIT_ERROR);
    }
    char *at = (char *)posted + aligned(sizeof *posted);
    *posted = *event;
    posted->metadata = metadata > 0 ? append(&at, event->metadata, metadata) : NULL;
    posted->manifests = manifests > 0 ? append(&at, event->manifests, manifests) : NULL;
    posted->text = text > 0 ? append(&at, event->text, text) : "";
    runtime_post(store->runtime, posted, free);
}

enum tn_status node_store_start(struct node_store *store, const struct node_setup *setup,
                                struct error *error)
{
    assert(setup->runtime != NULL);
    store->runtime = setup->runtime;
    (void)snprintf(store->place, sizeof store->place, "%s:%s", setup->identity.host, store->folder);
    return store_thread_start(store->folder, on_store, store, &store->thread, error);
}
