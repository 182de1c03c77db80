/* cli/inspect/checkpoints.c: `tanist checkpoints list|verify`: what there is to go back to. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/event_text.h"
#include "cli/commands.h"
#include "cli/target.h"
#include "common/base/json_codec.h"
#include "ps/store/store.h"
#include "ps/store/store_folder.h"

enum { LIST_MAX = 1000, WARNINGS_MAX = 4096, PATH_BYTES = 1024 };

struct listing {
    struct manifest *manifests; /* Newest first. Owned. */
    size_t count;
};

/* ------------------------------------------------------------- where they are */

static enum tn_status list_folder(const char *folder, struct listing *out, struct error *error)
{
    char warnings[WARNINGS_MAX] = "";
    out->manifests = calloc(LIST_MAX, sizeof *out->manifests);
    if (out->manifests == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status =
        store_list(folder, out->manifests, LIST_MAX, &out->count, warnings, sizeof warnings, error);
    if (*warnings) { fprintf(stderr, "%s\n", warnings); }
    return status;
}

static enum tn_status read_manifest(struct zk_sync *sync, const char *cluster, const char *name,
                                    struct manifest *out, struct error *error)
{
    char path[256], rest[128];
    struct zk_sync_data data;
    snprintf(rest, sizeof rest, "checkpoints/%.100s", name);
    znode_path(path, cluster, rest);
    enum tn_status status = zk_sync_read(sync, path, &data, error);
    if (status != TN_OK) { return status; }
    status = manifest_decode(data.data, data.size, out, error);
    free(data.data);
    return status == TN_OK ? TN_OK : error_context(error, "%s", path);
}

static enum tn_status list_cluster(struct target *target, struct listing *out, struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    struct zk_sync_list names = {0};
    char path[256];
    enum tn_status status = target_open(target, &sync, &spec, NULL, error);
    if (status != TN_OK) { return status; }
    free(spec.job_json);
    znode_path(path, target->cluster, "checkpoints");
    status = zk_sync_list(sync, path, &names, error);
    out->manifests = calloc(names.count + 1, sizeof *out->manifests);
    if (status == TN_OK && out->manifests == NULL) {
        status = error_set(error, TN_ENOMEM, "out of memory");
    }
    for (size_t i = names.count; status == TN_OK && i-- > 0;) {
        struct manifest *manifest = &out->manifests[out->count];
        status = read_manifest(sync, target->cluster, names.names[i], manifest, error);
        if (status == TN_OK) {
            out->count++;
        } else if (status == TN_ENOENT) { /* The chief removes old ones. */
            status = TN_OK;
        }
    }
    zk_sync_list_free(&names);
    zk_sync_close(sync);
    return status;
}

/* ------------------------------------------------------------- list */

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

/* `verdicts[i]` is NULL when it was not verified, "" when intact, else what is wrong. */
static int print_listing(const struct listing *listing, char **verdicts, bool json)
{
    json_t *list = json_array();
    if (!json) {
        printf("%6s %10s %11s %6s %12s %7s  %-24s%s\n", "ID", "STEP", "GENERATION", "EPOCH",
               "BYTES", "SHARDS", "COMMITTED", verdicts != NULL ? "  VERDICT" : "");
    }
    for (size_t i = 0; i < listing->count; i++) {
        const struct manifest *manifest = &listing->manifests[i];
        char time[TIME_TEXT_MAX];
        const char *wrong = verdicts != NULL ? verdicts[i] : NULL;
        clock_format(manifest->created_wall_ms, time);
        if (json) {
            json_t *object = manifest_json(manifest);
            if (wrong != NULL) {
                json_object_set_new(object, "intact", json_boolean(*wrong == '\0'));
            }
            if (wrong != NULL && *wrong) { json_object_set_new(object, "error", json_text(wrong)); }
            json_array_append_new(list, object);
            continue;
        }
        printf("%6" PRIu64 " %10" PRIu64 " %11" PRIu64 " %6" PRIu64 " %12" PRIu64
               " %7u  %-24s  %s\n",
               manifest->id, manifest->step, manifest->generation, manifest->epoch,
               bytes_of(manifest), manifest->shard_count, time,
               wrong == NULL    ? ""
               : *wrong == '\0' ? "intact"
                                : wrong);
    }
    json_t *root = json_pack("{s:i, s:o}", "version", 1, "checkpoints", list);
    if (json) {
        (void)json_dumpf(root, stdout, JSON_INDENT(2));
        puts("");
    }
    json_decref(root);
    return TN_EXIT_OK;
}

/* ------------------------------------------------------------- verify */

static int verify(const char *folder, const struct listing *listing, bool json)
{
    char **verdicts = calloc(listing->count + 1, sizeof *verdicts);
    bool intact = true;
    for (size_t i = 0; verdicts != NULL && i < listing->count; i++) {
        struct error error = {0};
        enum tn_status status =
            store_verify(folder, &listing->manifests[i], STORE_ALL_SHARDS, NULL, &error);
        verdicts[i] = strdup(status == TN_OK ? "" : error.text);
        intact = intact && status == TN_OK;
    }
    int exit_code = print_listing(listing, verdicts, json);
    for (size_t i = 0; verdicts != NULL && i < listing->count; i++) { free(verdicts[i]); }
    free(verdicts);
    return intact ? exit_code : TN_EXIT_IO;
}

static enum tn_status work(const struct target_options *given, const char *what, const char *store,
                           bool json, int *exit_code, struct error *error)
{
    char folder[PATH_BYTES] = "";
    struct listing listing = {0};
    enum tn_status status = TN_OK;
    if (store != NULL || given->dir != NULL) {
        snprintf(folder, sizeof folder, "%s%s", store != NULL ? store : given->dir,
                 store != NULL ? "" : "/checkpoints");
    }
    bool verifies = strcmp(what, "verify") == 0;
    if (strcmp(what, "list") != 0 && !verifies) {
        return error_set(error, TN_EINVAL, "checkpoints %s: give list or verify", what);
    }
    if (verifies && !*folder) {
        return error_set(error, TN_EINVAL,
                         "verify reads the disk: give --dir DIR of the run, or "
                         "--store FOLDER");
    }
    struct target *target = calloc(1, sizeof *target);
    if (target == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    if (*folder) {
        status = list_folder(folder, &listing, error);
    } else {
        status = target_find(given, target, error);
        if (status == TN_OK) { status = list_cluster(target, &listing, error); }
    }
    if (status == TN_OK) {
        *exit_code =
            verifies ? verify(folder, &listing, json) : print_listing(&listing, NULL, json);
    }
    free(listing.manifests);
    free(target);
    return status;
}

int command_checkpoints(int argc, char **argv)
{
    static const char *const outputs[] = {"table", "json", NULL};
    struct target_options given = {0};
    const char *output = "table", *store = NULL;
    struct option rows[TARGET_OPTIONS + 2];
    int exit_code = 0;
    target_options(&given, rows);
    rows[TARGET_OPTIONS] = (struct option){"output",     'o',     OPTION_CHOICE,         &output,
                                           "table|json", outputs, "Form; default table."};
    rows[TARGET_OPTIONS + 1] = (struct option){"store",
                                               0,
                                               OPTION_TEXT,
                                               &store,
                                               "FOLDER",
                                               NULL,
                                               "Folder of checkpoints; default DIR/checkpoints."};
    struct options options = {
        .command = "checkpoints",
        .synopsis = "list|verify --dir DIR | --store FOLDER | --zk CONNECT [OPTION]...",
        .about =
            "List the committed checkpoints, newest first; verify also reads every shard and "
            "compares it with its\ndigest (exit status 6 if one is damaged). With --dir the disk "
            "is looked at: nothing needs to run.",
        .examples = "  tanist checkpoints list --dir runs/fashion-mnist\n"
                    "  tanist checkpoints verify --dir runs/fashion-mnist -o json\n"
                    "  tanist checkpoints list --zk h1:2181 --cluster NAME\n",
        .list = rows,
        .count = TARGET_OPTIONS + 2,
        .arguments_least = 1,
        .arguments_most = 1};
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct error error = {0};
    enum tn_status status =
        work(&given, options.arguments[0], store, strcmp(output, "json") == 0, &exit_code, &error);
    return status == TN_OK ? exit_code : command_failed(&error);
}
