/* cli/run/ps.c: `tanist ps`: one parameter server, with its checkpoint store on a thread. */
#include "ps/ps.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/run/node.h"
#include "common/base/files.h"
#include "common/base/log.h"
#include "kernels/job_kernels.h"
#include "kernels/kernels.h"
#include "ps/kept_file.h"
#include "ps/store/store_thread.h"

enum { FOLDER_MAX = 1024 };

struct ps_parts {
    const struct kernels *kernels;
    char folder[FOLDER_MAX], place[FOLDER_MAX + HOST_NAME_MAX_BYTES];
    struct runtime *runtime; /* Receives the answers of the store. */
    struct store_thread *store;
    void *memory; /* The agent's, mapped; NULL: none. */
    size_t memory_bytes;
    struct kept_memory kept;
    struct ps *ps;
};

/* P13. Without this memory, a ps that is killed is loaded from a checkpoint. */
static void open_memory(struct ps_parts *parts, const struct node_setup *setup)
{
    struct error error;
    const uint32_t index = setup->task.index;
    parts->memory_bytes = ps_kept_bytes(&setup->job, &setup->variables, index);
    if (setup->memory < 0 || parts->memory_bytes == 0) { return; }
    parts->memory = kept_file_map(setup->memory, parts->memory_bytes, &error);
    if (parts->memory == NULL) {
        log_warn("this ps keeps nothing if it is killed: %s", error.text);
    }
}

static enum tn_status open_ps(struct node_setup *setup, void **out, struct error *error)
{
    struct ps_parts *parts = calloc(1, sizeof *parts);
    *out = parts;
    if (parts == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    snprintf(parts->folder, sizeof parts->folder, "%s/checkpoints", setup->dir);
    enum tn_status status = kernels_open(job_kernels(&setup->job), &parts->kernels, error);
    if (status == TN_OK) { open_memory(parts, setup); }
    if (parts->memory != NULL && !ps_kept_open(&parts->kept, parts->memory, &setup->job,
                                               &setup->variables, setup->task.index)) {
        return error_set(error, TN_ENOMEM, "out of memory");
    }
    /* Under an agent the folder exists; if it was removed meanwhile, the store must report that. */
    if (status == TN_OK && !setup->under_agent) {
        status = files_make_folders(parts->folder, error);
    }
    return status;
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
    struct ps_parts *parts = ctx;
    const size_t text = event->text != NULL ? strlen(event->text) + 1 : 0;
    const size_t metadata = event->metadata != NULL ? sizeof *event->metadata : 0;
    const size_t manifests = event->manifests != NULL ? event->count * sizeof *event->manifests : 0;
    assert(parts->runtime != NULL);
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
    runtime_post(parts->runtime, posted, free);
}

static enum tn_status run_ps(struct node_setup *setup, void *role, int *exit_code,
                             struct error *error)
{
    struct ps_parts *parts = role;
    assert(setup->runtime != NULL);
    parts->runtime = setup->runtime;
    snprintf(parts->place, sizeof parts->place, "%s:%s", setup->identity.host, parts->folder);
    enum tn_status status =
        store_thread_start(parts->folder, on_store, parts, &parts->store, error);
    if (status != TN_OK) { return status; }
    const struct ps_config config = {.identity = setup->identity,
                                     .ports = runtime_ports(setup->runtime),
                                     .job = &setup->job,
                                     .variables = &setup->variables,
                                     .kernels = parts->kernels,
                                     .kept = parts->memory != NULL ? &parts->kept : NULL,
                                     .store = store_thread_port(parts->store),
                                     .place = parts->place};
    status = ps_create(&config, &parts->ps, error);
    if (status == TN_OK) {
        const struct node node = ps_node(parts->ps);
        *exit_code = runtime_run(setup->runtime, &node);
    }
    store_thread_stop(parts->store, *exit_code == TN_EXIT_OK);
    ps_destroy(parts->ps);
    return status;
}

static void close_ps(void *role)
{
    struct ps_parts *parts = role;
    if (parts == NULL) { return; }
    kept_memory_close(&parts->kept);
    if (parts->memory != NULL) { kept_file_unmap(parts->memory, parts->memory_bytes); }
    free(parts);
}

int command_ps(int argc, char **argv)
{
    static const struct node_role role = {
        .role = ROLE_PS,
        .about =
            "Run one parameter server: it holds one range of the parameters, applies gradients to "
            "it, and writes\nits part of each checkpoint to DIR/checkpoints.",
        .examples = "  tanist ps --job job.json --index 0 --zk h1:2181,h2:2181,h3:2181 --listen "
                    "tcp://h4:0 --dir /data/run\n",
        .open = open_ps,
        .run = run_ps,
        .close = close_ps};
    return node_command(&role, argc, argv);
}
