#include "cli/inspect/held_shards.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cluster_read.h"
#include "common/cluster/placement.h"

void held_shards_read(struct held_shards *held, struct zk_sync *sync, const char *cluster,
                      const struct run *run, uint32_t ps_count, const struct row_borders *rows)
{
    char name[32];
    struct error error;
    assert(run != NULL);
    held->run = run;
    held->ps_count = ps_count;
    held->rows = *rows;
    held->holders = ps_count > 0 ? ROLE_PS : ROLE_WORKER;
    held->has_manifest = false;
    if (run->phase != RUN_HELD) { return; }
    snprintf(name, sizeof name, "%010" PRIu64, run->held_checkpoint);
    held->has_manifest =
        cluster_read_manifest(sync, cluster, name, &held->manifest, &error) == TN_OK;
}

/* The shards that the job makes: one for each ps; without ps, one. */
static uint32_t shards_of_job(const struct held_shards *held)
{
    return held->ps_count > 0 ? held->ps_count : 1;
}

/* The checkpoint is of another number of ps, of another strategy, or of other borders. */
static bool is_of_others(const struct held_shards *held)
{
    return held->has_manifest && (held->manifest.shard_count != shards_of_job(held) ||
                                  !row_borders_equal(&held->manifest.rows, &held->rows));
}

/* Whether ps `index` has rows of shard `shard` now. Only jobs with tables have borders. */
static bool needs_rows(const struct held_shards *held, uint32_t index, uint32_t shard)
{
    const struct manifest *manifest = &held->manifest;
    if (held->ps_count == 0 || held->rows.count + manifest->rows.count == 0) { return false; }
    const struct row_part wanted = row_part_of(&held->rows, held->ps_count, index);
    const struct row_part stored = row_part_of(&manifest->rows, manifest->shard_count, shard);
    return row_part_meets(&wanted, &stored);
}

/* Whether holder `index` needs shard `shard`, perhaps one of several. */
static bool needs(const struct held_shards *held, uint32_t index, uint32_t shard)
{
    const uint32_t own = held->ps_count > 0 ? index : 0, shards = shards_of_job(held);
    if (!is_of_others(held)) { return shard == own; }
    if (own >= shards) { return false; }
    if (needs_rows(held, own, shard)) { return true; }
    if (held->manifest.shard_count == shards) { return shard == own; }
    const struct manifest_shard *part = &held->manifest.shards[shard];
    const struct placement place = placement_range(held->manifest.parameter_count, shards, own);
    return part->first < place.first + place.count && place.first < part->first + part->count;
}

/* Shards that a holder can need are below this. */
static uint32_t shard_end(const struct held_shards *held)
{
    return held->has_manifest ? held->manifest.shard_count : MANIFEST_SHARDS_MAX;
}

/* The place of a shard, "host:folder", split in two. False: it is unknown. */
static bool place_of(const struct held_shards *held, uint32_t shard,
                     char host[static sizeof((struct manifest_shard *)0)->place],
                     const char **folder)
{
    if (!held->has_manifest || shard >= held->manifest.shard_count) { return false; }
    const char *place = held->manifest.shards[shard].place, *colon = strchr(place, ':');
    if (colon == NULL || colon == place) { return false; }
    snprintf(host, sizeof held->manifest.shards[shard].place, "%.*s", (int)(colon - place), place);
    *folder = colon + 1;
    return true;
}

static json_t *shard_json(const struct held_shards *held, uint32_t index, uint32_t shard)
{
    char host[sizeof held->manifest.shards[0].place], task[TASK_NAME_MAX];
    const char *folder = NULL;
    const bool known = place_of(held, shard, host, &folder);
    task_format((struct task){.role = held->holders, .index = index}, ':', task, sizeof task);
    return json_pack("{s:s, s:i, s:s?, s:s?, s:I}", "task", task, "shard", (int)shard, "host",
                     known ? host : NULL, "folder", folder, "checkpoint",
                     (json_int_t)held->run->held_checkpoint);
}

json_t *held_shards_json(const struct held_shards *held)
{
    const struct run *run = held->run;
    assert(run->missing_count <= HOLDERS_MAX);
    if (run->phase != RUN_HELD) { return json_null(); }
    json_t *missing = json_array();
    for (uint32_t i = 0; i < run->missing_count; i++) {
        for (uint32_t shard = 0; shard < shard_end(held); shard++) {
            if (!needs(held, run->missing[i], shard)) { continue; }
            json_array_append_new(missing, shard_json(held, run->missing[i], shard));
        }
    }
    return json_pack("{s:s, s:o}", "reason", run->reason, "missing", missing);
}

static void print_shard(const struct held_shards *held, uint32_t index, uint32_t shard)
{
    char host[sizeof held->manifest.shards[0].place];
    const char *folder = NULL;
    printf("missing: shard %" PRIu32 " of checkpoint %" PRIu64 " at %s:%" PRIu32, shard,
           held->run->held_checkpoint, role_name(held->holders), index);
    if (place_of(held, shard, host, &folder)) {
        printf("; it was written on %s in %s", host, folder);
    }
    putchar('\n');
}

void held_shards_print(const struct held_shards *held)
{
    const struct run *run = held->run;
    if (run->phase != RUN_HELD) { return; }
    for (uint32_t i = 0; i < run->missing_count; i++) {
        for (uint32_t shard = 0; shard < shard_end(held); shard++) {
            if (needs(held, run->missing[i], shard)) { print_shard(held, run->missing[i], shard); }
        }
    }
    if (is_of_others(held) && held->manifest.shard_count == held->ps_count) {
        printf("The shards of the checkpoint have other placement.buckets than the job: each ps "
               "lacks one or more of those named.\n");
    } else if (is_of_others(held)) {
        printf("The checkpoint has the shards of %" PRIu32 " ps, the job has %" PRIu32
               "%s: each task lacks one or more of those named.\n",
               held->manifest.shard_count, held->ps_count,
               held->ps_count > 0 ? "" : ", and each worker needs all shards");
    }
    printf(
        "remedies: start that task where its files are, or put them back and restart it;\n"
        "  `tanist restore --from DIR`: also look for the files in DIR, on the host of that task;\n"
        "  `tanist restore --accept-loss STEP`: load an older checkpoint; 0: start over\n");
}
