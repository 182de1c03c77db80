/* cli/inspect/elections.c: `tanist elections`: the leader elections of a cluster. */
#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/event_text.h"
#include "cli/cluster_read.h"
#include "cli/commands.h"
#include "cli/inspect/recorded.h"
#include "cli/output.h"
#include "cli/table.h"
#include "cli/target.h"
#include "common/base/clock.h"

struct elections {
    struct history_entry list[HISTORY_MAX]; /* Oldest first. */
    size_t count;
};

static int print_json(const struct elections *elections)
{
    json_t *list = json_array();
    for (size_t i = 0; i < elections->count; i++) {
        const struct history_entry *entry = &elections->list[i];
        char task[TASK_NAME_MAX], time[TIME_TEXT_MAX];
        task_format(entry->task, ':', task, sizeof task);
        clock_format(entry->wall_ms, time);
        json_array_append_new(
            list, json_pack("{s:I, s:s, s:I, s:s, s:s, s:I}", "epoch", (json_int_t)entry->epoch,
                            "task", task, "pid", (json_int_t)entry->pid, "cause", entry->cause,
                            "elected_at", time, "took_ms", (json_int_t)entry->took_ms));
    }
    return output_json(json_pack("{s:i, s:o}", "version", 1, "elections", list), JSON_INDENT(2));
}

static int print_table(const struct elections *elections)
{
    static const struct table_column columns[] = {
        {"EPOCH", TABLE_RIGHT},  {"TASK", TABLE_LEFT},  {"PID", TABLE_RIGHT},
        {"ELECTED", TABLE_LEFT}, {"TOOK", TABLE_RIGHT}, {"CAUSE", TABLE_LEFT},
    };
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < elections->count; i++) {
        const struct history_entry *entry = &elections->list[i];
        char task[TASK_NAME_MAX], time[TIME_TEXT_MAX];
        task_format(entry->task, ':', task, sizeof task);
        clock_format(entry->wall_ms, time);
        table_cell(&table, "%" PRIu64, entry->epoch);
        table_cell(&table, "%s", task);
        table_cell(&table, "%" PRIu64, entry->pid);
        table_cell(&table, "%s", time);
        table_cell(&table, "%" PRIu64 " ms", entry->took_ms);
        table_cell(&table, "%s", entry->cause);
    }
    return table_print(&table, stdout) ? TN_EXIT_OK : TN_EXIT_IO;
}

/* Add the entry `name` of the history if it is an election. */
static enum tn_status add_entry(struct zk_sync *sync, const char *cluster, const char *name,
                                struct elections *out, struct error *error)
{
    assert(out->count < HISTORY_MAX);
    struct history_entry *entry = &out->list[out->count];
    enum tn_status status = cluster_read_history(sync, cluster, name, entry, error);
    if (status == TN_ENOENT) { return TN_OK; } /* The chief has removed it: it was the oldest. */
    if (status == TN_ECORRUPT) {
        fprintf(stderr, "%s: ignored: %s\n", cluster, error->text);
        return TN_OK;
    }
    if (status == TN_OK && entry->kind == HISTORY_ELECTED) { out->count++; }
    return status;
}

static enum tn_status read_elections(struct target *target, struct elections *out,
                                     struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec;
    struct zk_sync_list names = {0};
    char path[ZK_PATH_MAX];
    assert(out->count == 0);
    enum tn_status status = target_open(target, &sync, &spec, NULL, error);
    if (status != TN_OK) { return status; }
    znode_path(path, target->cluster, "history");
    status = zk_sync_list(sync, path, &names, error);
    if (status == TN_ENOENT) { status = TN_OK; }
    for (size_t i = 0; status == TN_OK && i < names.count && out->count < HISTORY_MAX; i++) {
        status = add_entry(sync, target->cluster, names.names[i], out, error);
    }
    zk_sync_list_free(&names);
    zk_sync_close(sync);
    return status;
}

/* An entry of the recorded history; the newest HISTORY_MAX elections count. */
static void take_recorded(void *ctx, const struct history_entry *entry)
{
    struct elections *elections = ctx;
    if (entry->kind != HISTORY_ELECTED) { return; }
    if (elections->count == HISTORY_MAX) {
        elections->count--;
        memmove(elections->list, elections->list + 1, elections->count * sizeof *elections->list);
    }
    elections->list[elections->count++] = *entry;
}

static enum tn_status read_recorded(const struct target_options *given, enum tn_status status,
                                    struct elections *out, struct error *error)
{
    struct run_record *record = calloc(1, sizeof *record);
    if (record == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    status = recorded_read(given, status, record, error);
    free(record);
    out->count = 0;
    return status == TN_OK ? run_history_read(given->dir, take_recorded, out, error) : status;
}

static int work(const struct target_options *given, bool json)
{
    struct target target;
    struct elections *elections = calloc(1, sizeof *elections);
    struct error error = {0};
    if (elections == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = target_find(given, &target, &error);
    if (status == TN_OK) { status = read_elections(&target, elections, &error); }
    if (status != TN_OK) { status = read_recorded(given, status, elections, &error); }
    int exit_code = status != TN_OK ? command_failed(&error)
                    : json          ? print_json(elections)
                                    : print_table(elections);
    free(elections);
    return exit_code;
}

int command_elections(int argc, char **argv)
{
    struct target_options given = {0};
    const char *output = NULL;
    int exit_code = 0;
    struct options options = {
        .command = "elections",
        .synopsis = TARGET_SYNOPSIS,
        .about =
            "List the leader elections of a cluster: the epoch, the coordinator that became "
            "chief, the cause,\nthe time, and how long the election took: from the loss of the "
            "former chief to the new chief\nrecord in ZooKeeper. After a run, --dir lists those of "
            "its record.",
        .examples = "  tanist elections --dir runs/fashion-mnist\n"
                    "  tanist elections --zk h1:2181 --cluster NAME -o json\n"};
    target_options_add(&options, &given);
    output_option_table(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    return work(&given, output_is_json(output));
}
