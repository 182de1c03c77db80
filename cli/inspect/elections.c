/* cli/inspect/elections.c: `tanist elections`: the chiefs there were. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/event_text.h"
#include "cli/commands.h"
#include "cli/target.h"

static json_t *election_json(const struct history_entry *entry)
{
    char task[TASK_NAME_MAX], time[TIME_TEXT_MAX];
    task_format(entry->task, ':', task, sizeof task);
    clock_format(entry->wall_ms, time);
    return json_pack("{s:I, s:s, s:I, s:s, s:s, s:I}", "epoch", (json_int_t)entry->epoch, "task",
                     task, "pid", (json_int_t)entry->pid, "cause", entry->cause, "elected_at", time,
                     "took_ms", (json_int_t)entry->took_ms);
}

static void print_row(const struct history_entry *entry)
{
    char task[TASK_NAME_MAX], time[TIME_TEXT_MAX];
    task_format(entry->task, ':', task, sizeof task);
    clock_format(entry->wall_ms, time);
    printf("%6" PRIu64 "  %-16s %8" PRIu64 "  %-24s %6" PRIu64 " ms  %s\n", entry->epoch, task,
           entry->pid, time, entry->took_ms, entry->cause);
}

/* Every election among the history's entries, oldest first: printed, or appended to `list`. */
static enum tn_status walk(struct zk_sync *sync, const char *cluster, json_t *list,
                           struct error *error)
{
    char path[256];
    struct zk_sync_list names = {0};
    znode_path(path, cluster, "history");
    enum tn_status status = zk_sync_list(sync, path, &names, error);
    if (status == TN_ENOENT) { return TN_OK; }
    for (size_t i = 0; status == TN_OK && i < names.count; i++) {
        char rest[128];
        struct zk_sync_data data;
        struct history_entry entry;
        snprintf(rest, sizeof rest, "history/%.100s", names.names[i]);
        znode_path(path, cluster, rest);
        status = zk_sync_read(sync, path, &data, error);
        if (status == TN_ENOENT) { /* The chief removes the oldest. */
            status = TN_OK;
            continue;
        }
        if (status != TN_OK) { break; }
        bool read = history_decode(data.data, data.size, &entry, error) == TN_OK;
        free(data.data);
        if (!read) { fprintf(stderr, "%s: %s\n", path, error->text); }
        if (!read || entry.kind != HISTORY_ELECTED) { continue; }
        if (list != NULL) {
            json_array_append_new(list, election_json(&entry));
        } else {
            print_row(&entry);
        }
    }
    zk_sync_list_free(&names);
    return status;
}

static enum tn_status show(struct target *target, bool json, struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    enum tn_status status = target_open(target, &sync, &spec, NULL, error);
    if (status != TN_OK) { return status; }
    free(spec.job_json);
    json_t *list = json ? json_array() : NULL;
    if (!json) {
        printf("%6s  %-16s %8s  %-24s %9s  %s\n", "EPOCH", "TASK", "PID", "ELECTED", "TOOK",
               "CAUSE");
    }
    status = walk(sync, target->cluster, list, error);
    if (status == TN_OK && json && json_dumpf(list, stdout, JSON_INDENT(2)) == 0) { puts(""); }
    json_decref(list);
    zk_sync_close(sync);
    return status;
}

int command_elections(int argc, char **argv)
{
    static const char *const outputs[] = {"table", "json", NULL};
    struct target_options given = {0};
    const char *output = "table";
    struct option rows[TARGET_OPTIONS + 1];
    int exit_code = 0;
    target_options(&given, rows);
    rows[TARGET_OPTIONS] = (struct option){"output",     'o',     OPTION_CHOICE,         &output,
                                           "table|json", outputs, "Form; default table."};
    struct options options = {
        .command = "elections",
        .synopsis = "--dir DIR | --zk CONNECT [--cluster NAME] [OPTION]...",
        .about =
            "List the chiefs: epoch, task, why it was elected, when, and how long it took from "
            "the loss of\nthe one before to the office taken.",
        .examples = "  tanist elections --dir runs/fashion-mnist\n"
                    "  tanist elections --zk h1:2181 --cluster NAME -o json\n",
        .list = rows,
        .count = TARGET_OPTIONS + 1};
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    struct target *target = calloc(1, sizeof *target);
    struct error error = {0};
    if (target == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = target_find(&given, target, &error);
    if (status == TN_OK) { status = show(target, strcmp(output, "json") == 0, &error); }
    free(target);
    return status == TN_OK ? TN_EXIT_OK : command_failed(&error);
}
