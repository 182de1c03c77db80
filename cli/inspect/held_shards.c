#include "cli/inspect/held_shards.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cluster_read.h"

void held_shards_read(struct held_shards *held, struct zk_sync *sync, const char *cluster,
                      const struct run *run, enum role holders)
{
    char name[32];
    struct error error;
    assert(run != NULL);
    held->run = run;
    held->holders = holders;
    held->has_manifest = false;
    if (run->phase != RUN_HELD) { return; }
    snprintf(name, sizeof name, "%010" PRIu64, run->held_checkpoint);
    held->has_manifest =
        cluster_read_manifest(sync, cluster, name, &held->manifest, &error) == TN_OK;
}

static uint32_t shard_of(const struct held_shards *held, uint32_t index)
{
    return held->holders == ROLE_WORKER ? 0 : held->run->missing[index];
}

/* The place of shard `index`, "host:folder", split in two. False: it is unknown. */
static bool place_of(const struct held_shards *held, uint32_t index,
                     char host[static sizeof((struct manifest_shard *)0)->place],
                     const char **folder)
{
    if (!held->has_manifest || index >= held->manifest.shard_count) { return false; }
    const char *place = held->manifest.shards[index].place, *colon = strchr(place, ':');
    if (colon == NULL || colon == place) { return false; }
    snprintf(host, sizeof held->manifest.shards[index].place, "%.*s", (int)(colon - place), place);
    *folder = colon + 1;
    return true;
}

json_t *held_shards_json(const struct held_shards *held)
{
    const struct run *run = held->run;
    assert(run->missing_count <= HOLDERS_MAX);
    if (run->phase != RUN_HELD) { return json_null(); }
    json_t *missing = json_array();
    for (uint32_t i = 0; i < run->missing_count; i++) {
        char host[sizeof held->manifest.shards[0].place], task[TASK_NAME_MAX];
        const char *folder = NULL;
        const bool known = place_of(held, shard_of(held, i), host, &folder);
        task_format((struct task){.role = held->holders, .index = run->missing[i]}, ':', task,
                    sizeof task);
        json_array_append_new(missing, json_pack("{s:s, s:i, s:s?, s:s?, s:I}", "task", task,
                                                 "shard", (int)shard_of(held, i), "host",
                                                 known ? host : NULL, "folder", folder,
                                                 "checkpoint", (json_int_t)run->held_checkpoint));
    }
    return json_pack("{s:s, s:o}", "reason", run->reason, "missing", missing);
}

void held_shards_print(const struct held_shards *held)
{
    const struct run *run = held->run;
    if (run->phase != RUN_HELD) { return; }
    for (uint32_t i = 0; i < run->missing_count; i++) {
        const uint32_t index = shard_of(held, i);
        char host[sizeof held->manifest.shards[0].place];
        const char *folder = NULL;
        const bool known = place_of(held, index, host, &folder);
        printf("missing: shard %" PRIu32 " of checkpoint %" PRIu64 " at %s:%" PRIu32, index,
               run->held_checkpoint, role_name(held->holders), run->missing[i]);
        if (known) { printf("; it was written on %s in %s", host, folder); }
        putchar('\n');
    }
    printf(
        "remedies: start that task where its files are, or put them back and restart it;\n"
        "  `tanist restore --from DIR`: also look for the files in DIR, on the host of that task;\n"
        "  `tanist restore --accept-loss STEP`: load an older checkpoint; 0: start over\n");
}
