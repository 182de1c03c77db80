/* cli/run/ps.c: `tanist ps`: one parameter server, with its store of checkpoints on a thread. */
#include "ps/ps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/run/node.h"
#include "common/base/files.h"
#include "common/base/log.h"
#include "kernels/kernels.h"
#include "ps/store/store_thread.h"

enum { FOLDER_MAX = 1024 };

struct ps_parts {
    const struct kernels *kernels;
    char folder[FOLDER_MAX], place[FOLDER_MAX + HOST_NAME_MAX_BYTES];
    struct runtime *runtime; /* Where the store's answers go. */
    struct store_thread *store;
    struct ps *ps;
};

static enum tn_status open_ps(struct node_setup *setup, void **out, struct error *error)
{
    struct ps_parts *parts = calloc(1, sizeof *parts);
    *out = parts;
    if (parts == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    snprintf(parts->folder, sizeof parts->folder, "%s/checkpoints", setup->dir);
    enum tn_status status = kernels_open("cpu", &parts->kernels, error);
    /* Under an agent the folder is there, or somebody took it away and must hear of it. */
    if (status == TN_OK && !setup->under_agent) {
        status = files_make_folders(parts->folder, error);
    }
    return status;
}

/* An event of the store and all it points to, in one block. */
struct posted {
    struct store_event event; /* First: what the node sees. */
};

static const void *put(char **at, const void *bytes, size_t size)
{
    const void *copy = *at;
    if (size > 0) { memcpy(*at, bytes, size); }
    *at += (size + 15) & ~(size_t)15;
    return copy;
}

/* On the store's thread. */
static void on_store(void *ctx, const struct store_event *event)
{
    struct ps_parts *parts = ctx;
    size_t text = event->text != NULL ? strlen(event->text) + 1 : 0;
    size_t metadata = event->metadata != NULL ? sizeof *event->metadata : 0;
    size_t manifests = event->manifests != NULL ? event->count * sizeof *event->manifests : 0;
    const size_t head = (sizeof(struct posted) + 15) & ~(size_t)15;
    struct posted *posted = malloc(head + text + metadata + manifests + 3 * 16);
    if (posted == NULL) {
        log_error("out of memory: an answer of the store is lost; leaving, to be started again");
        _Exit(TN_EXIT_ERROR);
    }
    char *at = (char *)posted + head;
    posted->event = *event;
    posted->event.metadata = metadata ? put(&at, event->metadata, metadata) : NULL;
    posted->event.manifests = manifests ? put(&at, event->manifests, manifests) : NULL;
    posted->event.text = text ? put(&at, event->text, text) : "";
    runtime_post(parts->runtime, posted, free);
}

static enum tn_status run_ps(struct node_setup *setup, void *role, int *exit_code,
                             struct error *error)
{
    struct ps_parts *parts = role;
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
    free(role);
}

int command_ps(int argc, char **argv)
{
    static const struct node_role role = {
        .role = ROLE_PS,
        .about =
            "Run one parameter server: it keeps one range of the parameters, applies gradients "
            "to it,\nand writes its part of each checkpoint to DIR/checkpoints.",
        .examples = "  tanist ps --job job.json --index 0 --zk h1:2181,h2:2181,h3:2181 --listen "
                    "tcp://h4:0 --dir /data/run\n",
        .open = open_ps,
        .run = run_ps,
        .close = close_ps};
    return node_command(&role, argc, argv);
}
