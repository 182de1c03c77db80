/* cli/inspect/checkpoints.c: `tanist checkpoints list|verify|answer`: the committed checkpoints. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/event_text.h"
#include "cli/cluster_read.h"
#include "cli/commands.h"
#include "cli/inspect/verify.h"
#include "cli/model/checkpoint_values.h"
#include "cli/output.h"
#include "cli/table.h"
#include "cli/target.h"
#include "common/base/clock.h"
#include "common/base/json_codec.h"
#include "common/base/nearest.h"
#include "ps/store/store_folder.h"

enum { LIST_FIRST = 64, WARNINGS_MAX = 4096, PATH_BYTES = 1024, TIMEOUT_S = 30 };

struct listing {
    struct manifest *manifests; /* Newest first. Owned. */
    size_t count;
    /* One array for each checkpoint. Owned. NULL: only listed. */
    struct shard_conclusion **verdicts;
    bool is_incomplete; /* A manifest cannot be read. */
};

struct checkpoints_options {
    struct target_options target;
    struct option_number timeout_s;
    const char *const *ids; /* For `show` and `diff`. */
    size_t id_count;
    const char *action, *store, *request, *output;
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
    size_t room = LIST_FIRST / 2;
    enum tn_status status;
    assert(out->manifests == NULL);
    do {
        room *= 2;
        free(out->manifests);
        out->manifests = calloc(room, sizeof *out->manifests);
        if (out->manifests == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
        status =
            store_list(folder, out->manifests, room, &out->count, warnings, sizeof warnings, error);
    } while (status == TN_OK && out->count == room);
    if (*warnings) { fprintf(stderr, "%s\n", warnings); }
    out->is_incomplete = *warnings != '\0';
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

/* ------------------------------------------------------------- verifying */

static enum tn_status make_verdicts(struct listing *listing, struct error *error)
{
    assert(listing->verdicts == NULL);
    listing->verdicts = calloc(listing->count + 1, sizeof *listing->verdicts);
    if (listing->verdicts == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (size_t i = 0; i < listing->count; i++) {
        listing->verdicts[i] =
            calloc(listing->manifests[i].shard_count, sizeof *listing->verdicts[i]);
        if (listing->verdicts[i] == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    }
    return TN_OK;
}

/* It was removed, because later ones have been committed since it was listed. */
static void drop(struct listing *listing, size_t index)
{
    const size_t after = --listing->count - index;
    free(listing->verdicts[index]);
    memmove(&listing->manifests[index], &listing->manifests[index + 1],
            after * sizeof *listing->manifests);
    memmove(&listing->verdicts[index], &listing->verdicts[index + 1],
            (after + 1) * sizeof *listing->verdicts);
}

/* The most serious of a checkpoint's verdicts: damage, else a shard that was not verified. */
static const struct shard_conclusion *worst_of(const struct listing *listing, size_t index)
{
    const struct shard_conclusion *worst = &listing->verdicts[index][0];
    for (uint32_t i = 1; i < listing->manifests[index].shard_count; i++) {
        const struct shard_conclusion *next = &listing->verdicts[index][i];
        if (worst->verdict == SHARD_VERDICT_DAMAGED) { break; }
        if (next->verdict != SHARD_VERDICT_OK &&
            (worst->verdict == SHARD_VERDICT_OK || next->verdict == SHARD_VERDICT_DAMAGED)) {
            worst = next;
        }
    }
    return worst;
}

static enum tn_status verify_disk(const char *folder, struct listing *listing, struct error *error)
{
    struct manifest *again = malloc(sizeof *again);
    enum tn_status status = make_verdicts(listing, error);
    if (again == NULL) { status = error_set(error, TN_ENOMEM, "out of memory"); }
    for (size_t i = listing->count; status == TN_OK && i-- > 0;) {
        const struct manifest *manifest = &listing->manifests[i];
        status = verify_in_folder(folder, manifest, listing->verdicts[i], error);
        if (status == TN_OK && worst_of(listing, i)->verdict != SHARD_VERDICT_OK &&
            store_get_manifest(folder, manifest->id, again, NULL) == TN_ENOENT) {
            drop(listing, i);
        }
    }
    free(again);
    return status;
}

static enum tn_status verify_hosts(struct zk_sync *sync, const char *cluster, uint64_t timeout_ms,
                                   struct listing *listing, struct error *error)
{
    struct verify_cluster *verify = calloc(1, sizeof *verify);
    if (verify == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    verify->sync = sync;
    verify->cluster = cluster;
    verify->timeout_ms = timeout_ms;
    verify->newest = listing->count > 0 ? listing->manifests[0].id : 0;
    enum tn_status status = make_verdicts(listing, error);
    for (size_t i = listing->count; status == TN_OK && i-- > 0;) {
        status = verify_in_cluster(verify, &listing->manifests[i], listing->verdicts[i], error);
        if (status != TN_ENOENT) { continue; }
        drop(listing, i);
        status = TN_OK;
    }
    free(verify);
    return status;
}

static enum tn_status read_cluster(const struct checkpoints_options *given, bool verifies,
                                   struct listing *out, struct error *error)
{
    struct target target;
    struct zk_sync *sync = NULL;
    struct spec spec;
    struct zk_sync_list names = {0};
    char path[ZK_PATH_MAX];
    enum tn_status status = target_find(&given->target, &target, error);
    if (status == TN_OK) { status = target_open(&target, &sync, &spec, NULL, error); }
    if (status != TN_OK) { return status; }
    znode_path(path, target.cluster, "checkpoints");
    status = zk_sync_list(sync, path, &names, error);
    if (status == TN_OK) { status = read_manifests(sync, target.cluster, &names, out, error); }
    if (status == TN_OK && verifies) {
        status = verify_hosts(sync, target.cluster, given->timeout_s.value * 1000, out, error);
    }
    zk_sync_list_free(&names);
    zk_sync_close(sync);
    return status;
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

/* "host" of "host:folder" */
static void host_of(const char *place, char host[static HOST_NAME_MAX_BYTES])
{
    snprintf(host, HOST_NAME_MAX_BYTES, "%.*s", (int)strcspn(place, ":"), place);
}

/* `intact` is null if no shard is damaged, but some were not verified. */
static void add_verdicts(json_t *object, const struct listing *listing, size_t index)
{
    const struct manifest *manifest = &listing->manifests[index];
    const struct shard_conclusion *worst = worst_of(listing, index);
    json_t *list = json_array();
    for (uint32_t i = 0; i < manifest->shard_count; i++) {
        const struct shard_conclusion *shard = &listing->verdicts[index][i];
        char host[HOST_NAME_MAX_BYTES];
        host_of(shard->place, host);
        json_array_append_new(
            list, json_pack("{s:I, s:s, s:o, s:o}", "shard", (json_int_t)i, "verdict",
                            shard_verdict_name(shard->verdict), "host", json_text(host), "reason",
                            shard->reason[0] != '\0' ? json_text(shard->reason) : json_null()));
        if (shard != worst || shard->verdict == SHARD_VERDICT_OK) { continue; }
        json_object_set_new(object, "error",
                            json_sprintf("checkpoint %" PRIu64 ": shard %" PRIu32 ": %s",
                                         manifest->id, i, shard->reason));
    }
    const bool unknown = worst->verdict == SHARD_VERDICT_UNKNOWN;
    json_object_set_new(object, "intact",
                        unknown ? json_null() : json_boolean(worst->verdict == SHARD_VERDICT_OK));
    json_object_set_new(object, "verdicts", list);
}

/* The best one as of the newest (C17). */
static bool is_best(const struct listing *listing, size_t index)
{
    return listing->manifests[index].id == listing->manifests[0].best.checkpoint;
}

static int print_json(const struct listing *listing)
{
    json_t *list = json_array();
    for (size_t i = 0; i < listing->count; i++) {
        json_t *object = manifest_json(&listing->manifests[i]);
        json_object_set_new(object, "best", json_boolean(is_best(listing, i)));
        if (listing->verdicts != NULL) { add_verdicts(object, listing, i); }
        json_array_append_new(list, object);
    }
    return output_json(json_pack("{s:i, s:o}", "version", 1, "checkpoints", list), JSON_INDENT(2));
}

/* A line for each shard that is not intact. */
static void print_problems(const struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        for (uint32_t s = 0; s < listing->manifests[i].shard_count; s++) {
            const struct shard_conclusion *shard = &listing->verdicts[i][s];
            if (shard->verdict == SHARD_VERDICT_OK) { continue; }
            printf("checkpoint %" PRIu64 ": shard %" PRIu32 " at %s: %s: %s\n",
                   listing->manifests[i].id, s, shard->place, shard_verdict_name(shard->verdict),
                   shard->reason);
        }
    }
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
        table_cell(&table, "%s%s", time, is_best(listing, i) ? " (best)" : "");
        if (listing->verdicts == NULL) { continue; }
        const enum shard_verdict worst = worst_of(listing, i)->verdict;
        table_cell(&table, "%s", worst == SHARD_VERDICT_OK ? "intact" : shard_verdict_name(worst));
    }
    const bool printed = table_print(&table, stdout);
    if (listing->verdicts != NULL) { print_problems(listing); }
    return printed ? TN_EXIT_OK : TN_EXIT_IO;
}

/* ------------------------------------------------------------- the command */

static enum tn_status read_and_verify(const struct checkpoints_options *given,
                                      struct listing *listing, struct error *error)
{
    const char *dir = given->target.dir;
    char folder[PATH_BYTES] = "";
    const bool verifies = strcmp(given->action, "verify") == 0;
    if (given->store != NULL) {
        snprintf(folder, sizeof folder, "%s", given->store);
    } else if (dir != NULL) {
        snprintf(folder, sizeof folder, "%s/checkpoints", dir);
    }
    if (!*folder) { return read_cluster(given, verifies, listing, error); }
    enum tn_status status = read_folder(folder, listing, error);
    return status == TN_OK && verifies ? verify_disk(folder, listing, error) : status;
}

static int exit_code_of(const struct listing *listing)
{
    int exit_code = TN_EXIT_OK;
    if (listing->verdicts != NULL && listing->is_incomplete) { return TN_EXIT_IO; }
    for (size_t i = 0; listing->verdicts != NULL && i < listing->count; i++) {
        const enum shard_verdict worst = worst_of(listing, i)->verdict;
        if (worst == SHARD_VERDICT_DAMAGED) { return TN_EXIT_IO; }
        if (worst == SHARD_VERDICT_UNKNOWN) { exit_code = TN_EXIT_NOT_VERIFIED; }
    }
    return exit_code;
}

static int work(const struct checkpoints_options *given)
{
    struct listing listing = {0};
    struct error error = {0};
    int exit_code = TN_EXIT_OK;
    if (read_and_verify(given, &listing, &error) != TN_OK) {
        exit_code = command_failed(&error);
    } else {
        exit_code = output_is_json(given->output) ? print_json(&listing) : print_table(&listing);
        if (exit_code == TN_EXIT_OK) { exit_code = exit_code_of(&listing); }
    }
    free_listing(&listing);
    return exit_code;
}

/* The action of an agent, not of an operator. */
static int answer(const struct checkpoints_options *given)
{
    struct target target;
    struct zk_sync *sync = NULL;
    struct spec spec;
    struct error error = {0};
    char folder[PATH_BYTES];
    enum tn_status status = target_find(&given->target, &target, &error);
    if (status == TN_OK && (given->request == NULL || given->target.dir == NULL)) {
        status = error_set(&error, TN_EINVAL,
                           "checkpoints answer is for agents: it needs --request NAME, --zk "
                           "CONNECT and --dir DIR; give list, verify, show or diff");
    }
    if (status == TN_OK) { status = target_open(&target, &sync, &spec, NULL, &error); }
    if (status == TN_OK) {
        snprintf(folder, sizeof folder, "%s/checkpoints", given->target.dir);
        status = verify_answer(sync, target.cluster, given->request, folder, &error);
    }
    zk_sync_close(sync);
    return status == TN_OK ? TN_EXIT_OK : command_failed(&error);
}

/* The actions that read parameters. */
static int show_or_diff(const struct checkpoints_options *given)
{
    struct error error = {0};
    if (given->target.dir == NULL) {
        (void)error_set(&error, TN_EINVAL,
                        "checkpoints %s: --dir is missing: give the folder of "
                        "the run",
                        given->action);
        return command_failed(&error);
    }
    const bool json = output_is_json(given->output);
    return given->id_count == 2
               ? checkpoint_diff(given->target.dir, given->ids[0], given->ids[1], json)
               : checkpoint_show(given->target.dir, given->ids[0], json);
}

static int refuse_action(const char *action)
{
    static const char *const names[] = {"list", "verify", "show", "diff"};
    const char *near = nearest_word(action, names, sizeof names / sizeof *names);
    if (near != NULL) {
        output_message(LOG_ERROR, "unknown command \"checkpoints %s\": did you mean \"%s\"?",
                       action, near);
    } else {
        output_message(LOG_ERROR,
                       "unknown command \"checkpoints %s\": give list, verify, show or diff",
                       action);
    }
    return TN_EXIT_ARGUMENTS;
}

static int act(const struct options *options, const struct checkpoints_options *given)
{
    static const struct {
        const char *name;
        int (*act)(const struct checkpoints_options *given);
        size_t ids; /* Checkpoints that it takes. */
    } actions[] = {
        {"answer", answer, 0},     {"list", work, 0},         {"verify", work, 0},
        {"show", show_or_diff, 1}, {"diff", show_or_diff, 2},
    };
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(given->action, actions[i].name) != 0) { continue; }
        if (given->id_count > actions[i].ids) {
            return options_refuse(options, "unexpected argument \"%s\"; usage: tanist %s %s",
                                  given->ids[actions[i].ids], options->command, options->synopsis);
        }
        if (given->id_count < actions[i].ids) {
            return options_refuse(options,
                                  "%s: the number of %s checkpoint is missing; usage: "
                                  "tanist %s %s",
                                  given->action, given->id_count > 0 ? "another" : "a",
                                  options->command, options->synopsis);
        }
        return actions[i].act(given);
    }
    return refuse_action(given->action);
}

int command_checkpoints(int argc, char **argv)
{
    struct checkpoints_options given = {.timeout_s = {.value = TIMEOUT_S}};
    int exit_code = 0;
    struct options options = {
        .command = "checkpoints",
        .synopsis =
            "list|verify|show N|diff A B --dir DIR | --store FOLDER | --zk CONNECT [OPTION]...",
        .about = "List the committed checkpoints, newest first. `verify` also reads every shard "
                 "and compares it\nwith its digest (exit status 6 if one is damaged, otherwise 7 "
                 "if one was not verified). With --dir or\n--store the checkpoints are read from "
                 "the disk of this host, so the cluster need not run; with\n--zk the agents of all "
                 "hosts verify the shards in their folders.\n`show` prints statistics of each "
                 "variable in checkpoint N, and `diff` prints how much the variables\ndiffer "
                 "between two checkpoints; both need --dir.",
        .examples = "  tanist checkpoints list --dir runs/fashion-mnist\n"
                    "  tanist checkpoints verify --dir runs/fashion-mnist -o json\n"
                    "  tanist checkpoints show 12 --dir runs/fashion-mnist\n"
                    "  tanist checkpoints verify --zk h1:2181 --cluster NAME\n",
        .arguments_least = 1,
        .arguments_most = 3};
    target_options_add(&options, &given.target);
    output_option_table(&options, &given.output);
    options_text(&options, "store", &given.store, "FOLDER",
                 "Folder of checkpoints; default DIR/checkpoints.");
    options_seconds(&options, "timeout", &given.timeout_s, 0,
                    "With --zk: how long an agent may take for a shard; default 30.");
    options_text(&options, "request", &given.request, "NAME",
                 "For `answer`, which agents run: verify the shards in DIR for this request.");
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    given.action = options.arguments[0];
    given.ids = &options.arguments[1];
    given.id_count = options.argument_count - 1;
    return act(&options, &given);
}
