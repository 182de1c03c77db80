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
#include "cli/model/saved_model.h"
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
    struct buffer *parameters; /* One reference. */
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
    return table_print(&table, stdout) ? TN_EXIT_OK : TN_EXIT_IO;
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
    return output_json(json_pack("{s:i, s:I, s:I, s:o}", "version", 1, "checkpoint",
                                 (json_int_t)loaded->saved.manifest.id, "step",
                                 (json_int_t)loaded->saved.manifest.step, "variables", list),
                       JSON_INDENT(2));
}

static int print_changes(const struct loaded *first, const struct loaded *second)
{
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
    return table_print(&table, stdout) ? TN_EXIT_OK : TN_EXIT_IO;
}

static json_t *checkpoint_json(const struct loaded *loaded)
{
    return json_pack("{s:I, s:I}", "id", (json_int_t)loaded->saved.manifest.id, "step",
                     (json_int_t)loaded->saved.manifest.step);
}

static int print_changes_json(const struct loaded *first, const struct loaded *second)
{
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
    return output_json(json_pack("{s:i, s:o, s:o, s:o}", "version", 1, "first",
                                 checkpoint_json(first), "second", checkpoint_json(second),
                                 "variables", list),
                       JSON_INDENT(2));
}

/* ------------------------------------------------------------- the actions */

int checkpoint_show(const char *dir, const char *id, bool json)
{
    struct error error = {0};
    struct loaded *loaded = new_loaded();
    if (loaded == NULL) { return TN_EXIT_ERROR; }
    int exit_code = TN_EXIT_OK;
    if (load(loaded, dir, id, &error) != TN_OK) {
        exit_code = command_failed(&error);
    } else {
        exit_code = json ? print_values_json(loaded) : print_values(loaded);
    }
    unload(loaded);
    return exit_code;
}

int checkpoint_diff(const char *dir, const char *first, const char *second, bool json)
{
    struct error error = {0};
    struct loaded *pair[] = {new_loaded(), new_loaded()};
    int exit_code = TN_EXIT_ERROR;
    if (pair[0] != NULL && pair[1] != NULL) {
        if (load(pair[0], dir, first, &error) != TN_OK ||
            load(pair[1], dir, second, &error) != TN_OK) {
            exit_code = command_failed(&error);
        } else {
            exit_code =
                json ? print_changes_json(pair[0], pair[1]) : print_changes(pair[0], pair[1]);
        }
        unload(pair[0]);
        unload(pair[1]);
        return exit_code;
    }
    free(pair[0]);
    free(pair[1]);
    return exit_code;
}
