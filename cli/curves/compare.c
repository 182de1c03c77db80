/* `tanist compare`: the keys in which the jobs of runs differ, and their results. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/metrics_file.h"
#include "cli/commands.h"
#include "cli/curves/series.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/table.h"
#include "common/base/files.h"
#include "tanist/status.h"

enum { RUNS_MAX = 8, FILE_LIMIT = 4 << 20, PATH_BYTES = 1024, KEY_BYTES = 256 };

/* The values of a run by their full names, "train.steps". */
struct side {
    const char *dir;
    json_t *job, *result; /* Objects. Owned. */
    json_t *changes;      /* The keys that changed at a restart, an array. Owned. */
};

/* ---------------------------------------------------------------- reading */

/* Objects become keys with points. */
static void flatten(const json_t *object, const char *prefix, json_t *out)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        char name[KEY_BYTES];
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key);
        if (json_is_object(value) && json_object_size(value) > 0) {
            flatten(value, name, out);
        } else {
            json_object_set(out, name, value);
        }
    }
}

/* NULL: the file does not exist, or cannot be read; `*status` is set. */
static json_t *read_object(const char *dir, const char *name, enum tn_status *status,
                           struct error *error)
{
    char path[PATH_BYTES], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%.900s/%s", dir, name);
    *status = files_read(path, FILE_LIMIT, &text, &size, error);
    if (*status != TN_OK) { return NULL; }
    json_t *object = json_loadb(text, size, 0, NULL);
    free(text);
    if (json_is_object(object)) { return object; }
    json_decref(object);
    *status = error_set(error, TN_ECORRUPT, "%s is not a JSON object", path);
    return NULL;
}

static void copy(json_t *out, const char *name, const json_t *from, const char *key)
{
    json_t *value = json_object_get(from, key);
    if (value != NULL) { json_object_set(out, name, value); }
}

/* The last point of a run, from its metrics: also of one that has not ended. */
static void add_metrics(struct side *side)
{
    static const char *const names[] = {"loss", "steps_per_second"};
    struct run_series run;
    struct error ignored;
    if (run_series_read(&run, side->dir, names, 2, &ignored) != TN_OK) { return; }
    if (run.series[0].count > 0) {
        const struct series_point *last = &run.series[0].points[run.series[0].count - 1];
        json_object_set_new(side->result, "last_step", json_integer((json_int_t)last->step));
        json_object_set_new(side->result, "last_training_loss", json_real(last->value));
    }
    double sum = 0;
    for (size_t i = 0; i < run.series[1].count; i++) { sum += run.series[1].points[i].value; }
    if (run.series[1].count > 0) {
        json_object_set_new(side->result, "mean_steps_per_second",
                            json_real(sum / (double)run.series[1].count));
    }
    json_decref(side->changes);
    side->changes = json_incref(run.changes);
    run_series_free(&run);
}

static void add_result(struct side *side, const json_t *result)
{
    static const char *const keys[] = {"status",
                                       "steps",
                                       "loss",
                                       "accuracy",
                                       "seconds",
                                       "elections",
                                       "parameters_digest",
                                       "skipped_checkpoints"};
    int64_t redone = 0;
    size_t index;
    json_t *entry;
    const json_t *recoveries = json_object_get(result, "recoveries");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        copy(side->result, keys[i], result, keys[i]);
    }
    json_array_foreach(recoveries, index, entry)
    {
        redone += json_integer_value(json_object_get(entry, "steps_redone"));
    }
    json_object_set_new(side->result, "recoveries",
                        json_integer((json_int_t)json_array_size(recoveries)));
    json_object_set_new(side->result, "steps_redone", json_integer(redone));
}

static enum tn_status read_side(struct side *side, const char *dir, struct error *error)
{
    enum tn_status status;
    *side = (struct side){
        .dir = dir, .job = json_object(), .result = json_object(), .changes = json_array()};
    json_t *job = read_object(dir, "job.json", &status, error);
    if (status == TN_ENOENT) {
        return error_set(error, TN_ENOENT, "%.300s has no job.json: give the folder of a run", dir);
    }
    if (status != TN_OK) { return status; }
    flatten(job, "", side->job);
    json_decref(job);
    json_t *result = read_object(dir, "result.json", &status, error);
    if (result != NULL) { add_result(side, result); }
    json_decref(result);
    add_metrics(side);
    return status == TN_ENOENT ? TN_OK : status;
}

static void free_side(struct side *side)
{
    json_decref(side->job);
    json_decref(side->result);
    json_decref(side->changes);
}

/* ---------------------------------------------------------------- comparing */

/* For each key of one of the objects, the array of its values, null where it is missing; with
 * `differing`, only where they are not equal. */
static json_t *compare_objects(json_t *const *objects, size_t count, bool differing)
{
    json_t *out = json_object();
    for (size_t i = 0; i < count; i++) {
        const char *key;
        json_t *value;
        json_object_foreach(objects[i], key, value)
        {
            bool equal = true;
            if (json_object_get(out, key) != NULL) { continue; }
            json_t *values = json_array();
            for (size_t other = 0; other < count; other++) {
                json_t *found = json_object_get(objects[other], key);
                equal = equal && json_equal(found, value) != 0;
                json_array_append_new(values, found != NULL ? json_incref(found) : json_null());
            }
            if (!differing || !equal) { json_object_set(out, key, values); }
            json_decref(values);
        }
    }
    return out;
}

static json_t *compare(const struct side *sides, size_t count)
{
    json_t *jobs[RUNS_MAX], *results[RUNS_MAX];
    json_t *names = json_array(), *changes = json_array();
    assert(count <= RUNS_MAX);
    for (size_t i = 0; i < count; i++) {
        jobs[i] = sides[i].job;
        results[i] = sides[i].result;
        json_array_append_new(names, json_string(sides[i].dir));
        json_array_append(changes, sides[i].changes);
    }
    return json_pack("{s:i, s:o, s:o, s:o, s:o}", "version", 1, "runs", names, "job",
                     compare_objects(jobs, count, true), "result",
                     compare_objects(results, count, false), "changes", changes);
}

/* ---------------------------------------------------------------- output */

static void put_value(struct table *table, const json_t *value)
{
    if (value == NULL || json_is_null(value)) {
        table_no_value(table);
    } else if (json_is_string(value)) {
        table_cell(table, "%s", json_string_value(value));
    } else if (json_is_real(value)) {
        table_cell(table, "%.6g", json_real_value(value));
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
        table_cell(table, "%s", text != NULL ? text : "?");
        free(text);
    }
}

static void put_rows(struct table *table, const json_t *object, size_t count)
{
    const char *key;
    json_t *values;
    json_object_foreach((json_t *)object, key, values)
    {
        table_cell(table, "%s", key);
        for (size_t i = 0; i < count; i++) { put_value(table, json_array_get(values, i)); }
    }
}

static bool print_part(const char *title, const json_t *object, const struct side *sides,
                       size_t count)
{
    struct table_column columns[RUNS_MAX + 1] = {{title, TABLE_LEFT}};
    struct table table;
    for (size_t i = 0; i < count; i++) {
        columns[i + 1] = (struct table_column){sides[i].dir, TABLE_LEFT};
    }
    table_init(&table, columns, count + 1);
    put_rows(&table, object, count);
    return table_print(&table, stdout);
}

static bool print_changes(const struct side *side)
{
    size_t index;
    json_t *event;
    bool written = true;
    json_array_foreach(side->changes, index, event)
    {
        const size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(15);
        char *from = json_dumps(json_object_get(event, "from"), flags);
        char *to = json_dumps(json_object_get(event, "to"), flags);
        written = printf("%s: %s changed from %s to %s at step %" JSON_INTEGER_FORMAT "\n",
                         side->dir, json_string_value(json_object_get(event, "key")),
                         from != NULL ? from : "?", to != NULL ? to : "?",
                         json_integer_value(json_object_get(event, "step"))) >= 0 &&
                  written;
        free(from);
        free(to);
    }
    return written;
}

static int print_text(const json_t *all, const struct side *sides, size_t count)
{
    const json_t *job = json_object_get(all, "job");
    bool written;
    if (json_object_size(job) > 0) {
        written = print_part("JOB", job, sides, count);
    } else {
        written = puts("The jobs are the same.") >= 0;
    }
    written = putchar('\n') != EOF && written;
    written = print_part("RESULT", json_object_get(all, "result"), sides, count) && written;
    for (size_t i = 0; i < count; i++) { written = print_changes(&sides[i]) && written; }
    return written ? TN_EXIT_OK : TN_EXIT_IO;
}

static int work(const struct option_texts *folders, bool json)
{
    struct side sides[RUNS_MAX];
    struct error error = {0};
    enum tn_status status = TN_OK;
    size_t count = 0;
    for (; status == TN_OK && count < folders->count; count++) {
        status = read_side(&sides[count], folders->items[count], &error);
    }
    int exit_code = TN_EXIT_OK;
    if (status != TN_OK) {
        exit_code = command_failed(&error);
    } else {
        json_t *all = compare(sides, count);
        exit_code =
            json ? output_json(json_incref(all), JSON_INDENT(2)) : print_text(all, sides, count);
        json_decref(all);
    }
    for (size_t i = 0; i < count; i++) { free_side(&sides[i]); }
    return exit_code;
}

int command_compare(int argc, char **argv)
{
    const char *output = NULL;
    struct option_texts folders = {0};
    int exit_code = 0;
    struct options options = {
        .command = "compare",
        .synopsis = "DIR DIR... [OPTION]...",
        .about = "Compare runs: the keys in which their jobs differ, their results, and keys that "
                 "were changed while\nthey ran. Each DIR is the folder of a run, which may still "
                 "be running.",
        .examples = "  tanist compare runs/a runs/b\n"
                    "  tanist compare runs/a runs/b -o json\n"};
    options_folders(&options, &folders, 2, RUNS_MAX,
                    "Folder of a run, as the arguments DIR; may be given more than once.");
    output_option_table(&options, &output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    return work(&folders, output_is_json(output));
}
