#include "cli/model/checkpoint_values.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/model/checkpoint_files.h"
#include "cli/model/saved_model.h"
#include "cli/model/saved_rows.h"
#include "cli/model/saved_rows_diff.h"
#include "cli/output.h"
#include "cli/table.h"

enum { SHAPE_MAX = 64 };

struct figures {
    double least, most, mean, deviation;
    uint64_t nans;
};

struct change {
    double most, mean; /* The absolute differences. */
    double relative;   /* The norm of the differences over that of the first. */
    uint64_t changed;
};

/* ------------------------------------------------------------------- figures */

/* Values that are not finite are counted, and left out. */
static struct figures figures_of(const float *values, uint64_t count)
{
    struct figures figures = {.least = INFINITY, .most = -INFINITY};
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < count; i++) {
        const double value = (double)values[i];
        if (!isfinite(value)) {
            figures.nans++;
            continue;
        }
        figures.least = fmin(figures.least, value);
        figures.most = fmax(figures.most, value);
        sum += value;
    }
    const double finite = (double)(count - figures.nans);
    figures.mean = sum / finite;
    for (uint64_t i = 0; i < count; i++) {
        const double deviation = (double)values[i] - figures.mean;
        if (isfinite(deviation)) { squares += deviation * deviation; }
    }
    figures.deviation = sqrt(squares / finite);
    return figures;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Equal bits have not changed, also those of NaNs. */
static struct change change_of(const float *first, const float *second, uint64_t count)
{
    struct change change = {0};
    double sum = 0, squares = 0, norm = 0;
    for (uint64_t i = 0; i < count; i++) {
        norm += (double)first[i] * (double)first[i];
        if (bits_of(first[i]) == bits_of(second[i])) { continue; }
        const double difference = fabs((double)second[i] - (double)first[i]);
        change.changed++;
        change.most = difference > change.most || isnan(difference) ? difference : change.most;
        sum += difference;
        squares += difference * difference;
    }
    change.mean = sum / (double)count;
    change.relative = sqrt(squares) / sqrt(norm);
    return change;
}

/* ------------------------------------------------------------------ reading */

/* A checkpoint with its parameters, also where evaluations use averages of them. */
struct loaded {
    struct saved_model saved;
    struct buffer *parameters;     /* One reference. */
    struct checkpoint_files files; /* The rows of tables. */
};

/* Two checkpoints of one run, and how far the rows of each table are apart. */
struct loaded_pair {
    struct loaded *first, *second;
    struct rows_diff *tables; /* Owned; by table. */
};

static enum tn_status load(struct loaded *loaded, const char *dir, const char *text,
                           struct error *error)
{
    enum tn_status status = saved_model_open(&loaded->saved, dir, text, error);
    if (status != TN_OK) { return status; }
    if (saved_model_evaluated_array(&loaded->saved) != 0) {
        return saved_model_read(&loaded->saved, 0, &loaded->parameters, error);
    }
    loaded->parameters = buffer_retain(loaded->saved.values);
    return TN_OK;
}

static void unload(struct loaded *loaded)
{
    checkpoint_files_free(&loaded->files);
    buffer_release(loaded->parameters);
    saved_model_close(&loaded->saved);
    free(loaded);
}

static struct loaded *new_loaded(void)
{
    return calloc(1, sizeof(struct loaded));
}

/* The variable with this number in the order of the model. */
static const struct variable *variable_at(const struct variable_table *table, uint32_t number)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->variables[i].number == number) { return &table->variables[i]; }
    }
    assert(number < table->count);
    return NULL;
}

static const float *values_of(const struct loaded *loaded, const struct variable *variable)
{
    return (const float *)loaded->parameters->data + variable->offset;
}

/* ----------------------------------------------------------------- printing */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static void cell(struct table *table, double value)
{
    if (isfinite(value)) {
        table_cell(table, "%.6g", value);
    } else {
        table_no_value(table);
    }
}

static void shape_cell(struct table *table, const struct variable *variable)
{
    char text[SHAPE_MAX] = "";
    size_t length = 0;
    for (uint32_t d = 0; d < variable->rank; d++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%" PRIu32,
                                   d > 0 ? ", " : "", variable->shape[d]);
    }
    table_cell(table, "[%s]", text);
}

static json_t *shape_json(const struct variable *variable)
{
    json_t *shape = json_array();
    for (uint32_t d = 0; d < variable->rank; d++) {
        json_array_append_new(shape, json_integer(variable->shape[d]));
    }
    return shape;
}

/* The tables, and the files that have their rows; nothing without tables. */
static bool print_rows(const struct loaded *loaded)
{
    static const struct table_column columns[] = {
        {"TABLE", TABLE_LEFT},
        {"WIDTH", TABLE_RIGHT},
        {"ROWS", TABLE_RIGHT},
        {"BYTES", TABLE_RIGHT},
    };
    const struct row_set *set = &loaded->saved.tables.set;
    struct table table;
    if (set->count == 0) { return true; }
    putchar('\n');
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t t = 0; t < set->count; t++) {
        const struct saved_rows_shape shape = saved_rows_shape(&loaded->saved, t);
        table_cell(&table, "%s", shape.name);
        table_cell(&table, "%" PRIu32, shape.width);
        table_cell(&table, "%" PRIu64, shape.rows);
        table_cell(&table, "%" PRIu64, saved_rows_bytes(&shape));
    }
    if (!table_print(&table, stdout)) { return false; }
    putchar('\n');
    return checkpoint_files_print(&loaded->files);
}

static json_t *rows_json(const struct loaded *loaded)
{
    json_t *list = json_array();
    for (uint32_t t = 0; t < loaded->saved.tables.set.count; t++) {
        const struct saved_rows_shape shape = saved_rows_shape(&loaded->saved, t);
        json_array_append_new(list, json_pack("{s:s, s:i, s:I, s:I}", "name", shape.name, "width",
                                              (int)shape.width, "rows", (json_int_t)shape.rows,
                                              "bytes", (json_int_t)saved_rows_bytes(&shape)));
    }
    return list;
}

static int print_values(const struct loaded *loaded)
{
    static const struct table_column columns[] = {
        {"VARIABLE", TABLE_LEFT},    {"SHAPE", TABLE_LEFT}, {"MIN", TABLE_RIGHT},
        {"MAX", TABLE_RIGHT},        {"MEAN", TABLE_RIGHT}, {"DEVIATION", TABLE_RIGHT},
        {"NOT FINITE", TABLE_RIGHT},
    };
    const struct variable_table *variables = &loaded->saved.model->table;
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t n = 0; n < variables->count; n++) {
        const struct variable *variable = variable_at(variables, n);
        const struct figures figures = figures_of(values_of(loaded, variable), variable->count);
        table_cell(&table, "%s", variable->name);
        shape_cell(&table, variable);
        cell(&table, figures.least);
        cell(&table, figures.most);
        cell(&table, figures.mean);
        cell(&table, figures.deviation);
        table_cell(&table, "%" PRIu64, figures.nans);
    }
    return table_print(&table, stdout) && print_rows(loaded) ? TN_EXIT_OK : TN_EXIT_IO;
}

static int print_values_json(const struct loaded *loaded)
{
    const struct variable_table *variables = &loaded->saved.model->table;
    json_t *list = json_array();
    for (uint32_t n = 0; n < variables->count; n++) {
        const struct variable *variable = variable_at(variables, n);
        const struct figures figures = figures_of(values_of(loaded, variable), variable->count);
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:I, s:o, s:o, s:o, s:o, s:I}", "name", variable->name,
                            "shape", shape_json(variable), "parameters",
                            (json_int_t)variable->count, "min", number(figures.least), "max",
                            number(figures.most), "mean", number(figures.mean), "deviation",
                            number(figures.deviation), "not_finite", (json_int_t)figures.nans));
    }
    json_t *root = json_pack("{s:i, s:I, s:I, s:o}", "version", 1, "checkpoint",
                             (json_int_t)loaded->saved.manifest.id, "step",
                             (json_int_t)loaded->saved.manifest.step, "variables", list);
    if (root != NULL && loaded->saved.tables.set.count > 0) {
        json_object_set_new(root, "tables", rows_json(loaded));
        json_object_set_new(root, "files", checkpoint_files_json(&loaded->files));
    }
    return output_json(root, JSON_INDENT(2));
}

/* Nothing without tables. */
static bool print_row_changes(const struct loaded_pair *pair)
{
    static const struct table_column columns[] = {
        {"TABLE", TABLE_LEFT},     {"ADDED", TABLE_RIGHT},       {"REMOVED", TABLE_RIGHT},
        {"CHANGED", TABLE_RIGHT},  {"MOST CHANGE", TABLE_RIGHT}, {"MEAN CHANGE", TABLE_RIGHT},
        {"RELATIVE", TABLE_RIGHT},
    };
    const uint32_t count = pair->first->saved.tables.set.count;
    struct table table;
    if (count == 0) { return true; }
    putchar('\n');
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t t = 0; t < count; t++) {
        const struct rows_diff *diff = &pair->tables[t];
        table_cell(&table, "%s", saved_rows_shape(&pair->first->saved, t).name);
        table_cell(&table, "%" PRIu64, diff->added);
        table_cell(&table, "%" PRIu64, diff->removed);
        table_cell(&table, "%" PRIu64, diff->changed);
        cell(&table, diff->most);
        cell(&table, diff->mean);
        cell(&table, diff->relative);
    }
    return table_print(&table, stdout);
}

static json_t *row_changes_json(const struct loaded_pair *pair)
{
    json_t *list = json_array();
    for (uint32_t t = 0; t < pair->first->saved.tables.set.count; t++) {
        const struct rows_diff *diff = &pair->tables[t];
        const struct saved_rows_shape shape = saved_rows_shape(&pair->first->saved, t);
        json_array_append_new(
            list, json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "name", shape.name,
                            "width", (int)shape.width, "rows", (json_int_t)shape.rows, "added",
                            (json_int_t)diff->added, "removed", (json_int_t)diff->removed,
                            "changed", (json_int_t)diff->changed, "most_change", number(diff->most),
                            "mean_change", number(diff->mean), "relative", number(diff->relative)));
    }
    return list;
}

static int print_changes(const struct loaded_pair *pair)
{
    const struct loaded *first = pair->first, *second = pair->second;
    static const struct table_column columns[] = {
        {"VARIABLE", TABLE_LEFT},     {"SHAPE", TABLE_LEFT},        {"CHANGED", TABLE_RIGHT},
        {"MOST CHANGE", TABLE_RIGHT}, {"MEAN CHANGE", TABLE_RIGHT}, {"RELATIVE", TABLE_RIGHT},
    };
    const struct variable_table *variables = &first->saved.model->table;
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t n = 0; n < variables->count; n++) {
        const struct variable *variable = variable_at(variables, n);
        const struct change change =
            change_of(values_of(first, variable), values_of(second, variable), variable->count);
        table_cell(&table, "%s", variable->name);
        shape_cell(&table, variable);
        table_cell(&table, "%" PRIu64, change.changed);
        cell(&table, change.most);
        cell(&table, change.mean);
        cell(&table, change.relative);
    }
    return table_print(&table, stdout) && print_row_changes(pair) ? TN_EXIT_OK : TN_EXIT_IO;
}

static json_t *checkpoint_json(const struct loaded *loaded)
{
    return json_pack("{s:I, s:I}", "id", (json_int_t)loaded->saved.manifest.id, "step",
                     (json_int_t)loaded->saved.manifest.step);
}

static int print_changes_json(const struct loaded_pair *pair)
{
    const struct loaded *first = pair->first, *second = pair->second;
    const struct variable_table *variables = &first->saved.model->table;
    json_t *list = json_array();
    for (uint32_t n = 0; n < variables->count; n++) {
        const struct variable *variable = variable_at(variables, n);
        const struct change change =
            change_of(values_of(first, variable), values_of(second, variable), variable->count);
        json_array_append_new(
            list,
            json_pack("{s:s, s:o, s:I, s:I, s:o, s:o, s:o}", "name", variable->name, "shape",
                      shape_json(variable), "parameters", (json_int_t)variable->count, "changed",
                      (json_int_t)change.changed, "most_change", number(change.most), "mean_change",
                      number(change.mean), "relative", number(change.relative)));
    }
    json_t *root = json_pack("{s:i, s:o, s:o, s:o}", "version", 1, "first", checkpoint_json(first),
                             "second", checkpoint_json(second), "variables", list);
    if (root != NULL && first->saved.tables.set.count > 0) {
        json_object_set_new(root, "tables", row_changes_json(pair));
    }
    return output_json(root, JSON_INDENT(2));
}

/* ------------------------------------------------------------- the actions */

/* Known after a failed load, too, if the checkpoint was found. */
static bool has_tables(const struct loaded *loaded)
{
    const struct saved_model *saved = &loaded->saved;
    return saved->model != NULL && saved->manifest.id != 0 &&
           saved->model->table.row_table_count > 0;
}

static enum tn_status list_files(struct loaded *loaded, struct error *error)
{
    return checkpoint_files_read(&loaded->files, loaded->saved.checkpoints, &loaded->saved.manifest,
                                 error);
}

/* The checkpoint could not be loaded: the files of its rows, of which some may be the cause. */
static void show_problems(const struct loaded *loaded, bool json)
{
    if (loaded->files.problems == 0) { return; }
    if (!json) {
        (void)checkpoint_files_print(&loaded->files);
        return;
    }
    (void)output_json(json_pack("{s:i, s:I, s:I, s:o}", "version", 1, "checkpoint",
                                (json_int_t)loaded->saved.manifest.id, "step",
                                (json_int_t)loaded->saved.manifest.step, "files",
                                checkpoint_files_json(&loaded->files)),
                      JSON_INDENT(2));
}

int checkpoint_show(const char *dir, const char *id, bool json)
{
    struct error error = {0};
    struct loaded *loaded = new_loaded();
    if (loaded == NULL) { return TN_EXIT_ERROR; }
    int exit_code = TN_EXIT_OK;
    enum tn_status status = load(loaded, dir, id, &error);
    if (has_tables(loaded)) {
        struct error files_error = {0};
        const enum tn_status listed = list_files(loaded, &files_error);
        if (status == TN_OK && listed != TN_OK) {
            error = files_error;
            status = listed;
        }
    }
    if (status != TN_OK) {
        show_problems(loaded, json);
        exit_code = command_failed(&error);
    } else {
        exit_code = json ? print_values_json(loaded) : print_values(loaded);
    }
    if (loaded->files.problems > 0) { exit_code = TN_EXIT_IO; } /* As `verify`. */
    unload(loaded);
    return exit_code;
}

/* The rows of a table of two checkpoints, which are one table of one run. */
static enum tn_status diff_table(struct loaded_pair *pair, uint32_t table, struct error *error)
{
    struct saved_model *sides[] = {&pair->first->saved, &pair->second->saved};
    void *keys[2] = {NULL}, *values[2] = {NULL};
    struct rows_view views[2];
    enum tn_status status = TN_OK;
    for (size_t i = 0; i < 2 && status == TN_OK; i++) {
        status = saved_rows_read(sides[i], table, SAVED_KEYS, &keys[i], error);
        if (status == TN_OK) {
            status = saved_rows_read(sides[i], table, SAVED_VALUES, &values[i], error);
        }
        views[i] = (struct rows_view){keys[i], values[i], saved_rows_shape(sides[i], table).rows};
    }
    if (status == TN_OK) {
        const uint32_t width = saved_rows_shape(sides[0], table).width;
        pair->tables[table] = rows_diff_of(&views[0], &views[1], width);
    }
    for (size_t i = 0; i < 2; i++) {
        free(keys[i]);
        free(values[i]);
    }
    return status;
}

static enum tn_status diff_tables(struct loaded_pair *pair, struct error *error)
{
    const uint32_t count = pair->first->saved.tables.set.count;
    enum tn_status status = TN_OK;
    assert(pair->second->saved.tables.set.count == count);
    pair->tables = calloc(count + 1, sizeof *pair->tables);
    if (pair->tables == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    for (uint32_t t = 0; t < count && status == TN_OK; t++) { status = diff_table(pair, t, error); }
    return status;
}

int checkpoint_diff(const char *dir, const char *first, const char *second, bool json)
{
    struct error error = {0};
    struct loaded_pair pair = {.first = new_loaded(), .second = new_loaded()};
    int exit_code = TN_EXIT_ERROR;
    if (pair.first != NULL && pair.second != NULL) {
        if (load(pair.first, dir, first, &error) != TN_OK ||
            load(pair.second, dir, second, &error) != TN_OK ||
            diff_tables(&pair, &error) != TN_OK) {
            exit_code = command_failed(&error);
        } else {
            exit_code = json ? print_changes_json(&pair) : print_changes(&pair);
        }
        unload(pair.first);
        unload(pair.second);
        free(pair.tables);
        return exit_code;
    }
    free(pair.first);
    free(pair.second);
    return exit_code;
}
