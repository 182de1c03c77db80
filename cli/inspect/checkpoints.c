/* cli/inspect/checkpoints.c: `tanist checkpoints list|verify`: the committed checkpoints. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/event_text.h"
#include "cli/cluster_read.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/table.h"
#include "cli/target.h"
#include "common/base/clock.h"
#include "common/base/json_codec.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"

enum { LIST_MAX = 1000, WARNINGS_MAX = 4096, PATH_BYTES = 1024 };

struct listing {
    struct manifest *manifests; /* Newest first. Owned. */
    size_t count;
    char **verdicts; /* Owned. NULL: not verified. "": intact; else a description of the damage. */
};

struct checkpoints_options {
    struct target_options target;
    const char *action, *store, *output;
};

static void free_listing(struct listing *listing)
{
    for (size_t i = 0; listing->verdicts != NULL && i < listing->count; i++) {
        free(listing->verdicts[i]);
    }
    free(listing->verdicts);
    free(listing->manifests);
}

/* ------------------------------------------------------------- reading */

static enum tn_status read_folder(const char *folder, struct listing *out, struct error *error)
{
    char warnings[WARNINGS_MAX] = "";
    assert(out->manifests == NULL);
    out->manifests = calloc(LIST_MAX, sizeof *out->manifests);
    if (out->manifests == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status =
        store_list(folder, out->manifests, LIST_MAX, &out->count, warnings, sizeof warnings, error);
    if (*warnings) { fprintf(stderr, "%s\n", warnings); }
    return status;
}

static enum tn_status read_manifests(struct zk_sync *sync, const char *cluster,
                                     const struct zk_sync_list *names, struct listing *out,
                                     struct error *error)
{
    assert(out->manifests == NULL);
    out->manifests = calloc(names->count + 1, sizeof *out->manifests);
    if (out->manifests == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (size_t i = names->count; i-- > 0;) {
        enum tn_status status = cluster_read_manifest(sync, cluster, names->names[i],
                                                      &out->manifests[out->count], error);
        if (status == TN_ENOENT) { continue; } /* The chief has removed it: it was the oldest. */
        if (status != TN_OK) { return status; }
        out->count++;
    }
    return TN_OK;
}

static enum tn_status read_cluster(const struct target_options *given, struct listing *out,
                                   struct error *error)
{
    struct target target;
    struct zk_sync *sync = NULL;
    struct spec spec;
    struct zk_sync_list names = {0};
    char path[256];
    enum tn_status status = target_find(given, &target, error);
    if (status == TN_OK) { status = target_open(&target, &sync, &spec, NULL, error); }
    if (status != TN_OK) { return status; }
    znode_path(path, target.cluster, "checkpoints");
    status = zk_sync_list(sync, path, &names, error);
    if (status == TN_OK) { status = read_manifests(sync, target.cluster, &names, out, error); }
    zk_sync_list_free(&names);
    zk_sync_close(sync);
    return status;
}

/* Read every shard. `*intact`: none is damaged. */
static enum tn_status verify(const char *folder, struct listing *listing, bool *intact,
                             struct error *error)
{
    *intact = true;
    assert(listing->verdicts == NULL);
    listing->verdicts = calloc(listing->count + 1, sizeof *listing->verdicts);
    if (listing->verdicts == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (size_t i = 0; i < listing->count; i++) {
        struct error damage = {0};
        enum tn_status status =
            store_verify(folder, &listing->manifests[i], STORE_ALL_SHARDS, NULL, &damage);
        listing->verdicts[i] = strdup(status == TN_OK ? "" : damage.text);
        if (listing->verdicts[i] == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
        if (status != TN_OK) { *intact = false; }
    }
    return TN_OK;
}

/* ------------------------------------------------------------- printing */

static uint64_t bytes_of(const struct manifest *manifest)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < manifest->shard_count; i++) { bytes += manifest->shards[i].bytes; }
    return bytes;
}

static json_t *manifest_json(const struct manifest *manifest)
{
    char time[TIME_TEXT_MAX];
    json_t *places = json_array();
    for (uint32_t i = 0; i < manifest->shard_count; i++) {
        json_array_append_new(places, json_string(manifest->shards[i].place));
    }
    clock_format(manifest->created_wall_ms, time);
    return json_pack("{s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:o}", "id", (json_int_t)manifest->id,
                     "step", (json_int_t)manifest->step, "generation",
                     (json_int_t)manifest->generation, "epoch", (json_int_t)manifest->epoch,
                     "created_at", time, "bytes", (json_int_t)bytes_of(manifest), "shards",
                     (json_int_t)manifest->shard_count, "places", places);
}

static int print_json(const struct listing *listing)
{
    json_t *list = json_array();
    for (size_t i = 0; i < listing->count; i++) {
        json_t *object = manifest_json(&listing->manifests[i]);
        const char *damage = listing->verdicts != NULL ? listing->verdicts[i] : NULL;
        if (damage != NULL) { json_object_set_new(object, "intact", json_boolean(!*damage)); }
        if (damage != NULL && *damage) { json_object_set_new(object, "error", json_text(damage)); }
        json_array_append_new(list, object);
    }
    return output_json(json_pack("{s:i, s:o}", "version", 1, "checkpoints", list), JSON_INDENT(2));
}

static int print_table(const struct listing *listing)
{
    static const struct table_column columns[] = {
        {"ID", TABLE_RIGHT},       {"STEP", TABLE_RIGHT},   {"GENERATION", TABLE_RIGHT},
        {"EPOCH", TABLE_RIGHT},    {"BYTES", TABLE_RIGHT},  {"SHARDS", TABLE_RIGHT},
        {"COMMITTED", TABLE_LEFT}, {"VERDICT", TABLE_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof *columns };
    struct table table;
    table_init(&table, columns, listing->verdicts != NULL ? COLUMNS : COLUMNS - 1);
    for (size_t i = 0; i < listing->count; i++) {
        const struct manifest *manifest = &listing->manifests[i];
        char time[TIME_TEXT_MAX];
        clock_format(manifest->created_wall_ms, time);
        table_cell(&table, "%" PRIu64, manifest->id);
        table_cell(&table, "%" PRIu64, manifest->step);
        table_cell(&table, "%" PRIu64, manifest->generation);
        table_cell(&table, "%" PRIu64, manifest->epoch);
        table_cell(&table, "%" PRIu64, bytes_of(manifest));
        table_cell(&table, "%" PRIu32, manifest->shard_count);
        table_cell(&table, "%s", time);
        if (listing->verdicts == NULL) { continue; }
        table_cell(&table, "%s", *listing->verdicts[i] ? listing->verdicts[i] : "intact");
    }
    return table_print(&table, stdout) ? TN_EXIT_OK : TN_EXIT_IO;
}

/* ------------------------------------------------------------- the command */

static enum tn_status read_and_verify(const struct checkpoints_options *given,
                                      struct listing *listing, bool *intact, struct error *error)
{
    const char *dir = given->target.dir;
    char folder[PATH_BYTES] = "";
    const bool verifies = strcmp(given->action, "verify") == 0;
    if (given->store != NULL) {
        snprintf(folder, sizeof folder, "%s", given->store);
    } else if (dir != NULL) {
        snprintf(folder, sizeof folder, "%s/checkpoints", dir);
    }
    if (strcmp(given->action, "list") != 0 && !verifies) {
        return error_set(error, TN_EINVAL, "checkpoints %s: give list or verify", given->action);
    }
    if (verifies && !*folder) {
        return error_set(error, TN_EINVAL,
                         "checkpoints verify reads the disk: give --dir DIR of the run, or --store "
                         "FOLDER");
    }
    enum tn_status status = *folder ? read_folder(folder, listing, error)
                                    : read_cluster(&given->target, listing, error);
    return status == TN_OK && verifies ? verify(folder, listing, intact, error) : status;
}

static int work(const struct checkpoints_options *given)
{
    struct listing listing = {0};
    struct error error = {0};
    bool intact = true;
    int exit_code = TN_EXIT_OK;
    if (read_and_verify(given, &listing, &intact, &error) != TN_OK) {
        exit_code = command_failed(&error);
    } else {
        exit_code = output_is_json(given->output) ? print_json(&listing) : print_table(&listing);
    }
    free_listing(&listing);
    return intact ? exit_code : TN_EXIT_IO;
}

int command_checkpoints(int argc, char **argv)
{
    struct checkpoints_options given = {0};
    int exit_code = 0;
    struct options options = {
        .command = "checkpoints",
        .synopsis = "list|verify --dir DIR | --store FOLDER | --zk CONNECT [OPTION]...",
        .about =
            "List the committed checkpoints, newest first. `verify` also reads every shard and "
            "compares it\nwith its digest (exit status 6 if one is damaged). With --dir or "
            "--store the checkpoints are read\nfrom the disk, so the cluster need not run.",
        .examples = "  tanist checkpoints list --dir runs/fashion-mnist\n"
                    "  tanist checkpoints verify --dir runs/fashion-mnist -o json\n"
                    "  tanist checkpoints list --zk h1:2181 --cluster NAME\n",
        .arguments_least = 1,
        .arguments_most = 1};
    target_options_add(&options, &given.target);
    output_option_table(&options, &given.output);
    options_text(&options, "store", &given.store, "FOLDER",
                 "Folder of checkpoints; default DIR/checkpoints.");
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    given.action = options.arguments[0];
    return work(&given);
}
