/* cli/plan/data.c: `tanist data show|check`: the data of a job, before it is trained on. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/plan/validate.h"
#include "cli/subcommands.h"
#include "common/base/digest.h"
#include "data/dataset.h"
#include "data/summary.h"

enum { FIRST_ROWS = 5, SPLITS = 3 };

static const char *const kinds[] = {
    [SOURCE_TEXT] = "text",
    [SOURCE_NUMBER] = "number",
    [SOURCE_BYTES] = "bytes",
    [SOURCE_FLOATS] = "floats",
};

struct data_view {
    struct job job;
    struct dataset *splits[SPLITS]; /* By enum dataset_split; NULL: there is none. */
    struct column_summary *columns; /* NULL: the data are not files with columns. */
    char digest[DIGEST_TEXT_BYTES];
};

/* The test split and that for validation are read completely when they are opened. */
static enum tn_status open_splits(struct data_view *view, struct error *error)
{
    const struct job *job = &view->job;
    const bool validation = dataset_has_validation(job);
    struct dataset **splits = view->splits;
    enum tn_status status = dataset_open(job, DATASET_TRAIN, &splits[DATASET_TRAIN], error);
    for (int s = DATASET_TEST; s < (validation ? SPLITS : DATASET_VALIDATION); s++) {
        if (status != TN_OK) { break; }
        status = dataset_open_beside(job, (enum dataset_split)s, splits[DATASET_TRAIN], &splits[s],
                                     error);
    }
    if (status != TN_OK) { return status; }
    digest_format(dataset_digest(splits[DATASET_TRAIN], splits[dataset_evaluated_split(job)]),
                  view->digest);
    return TN_OK;
}

static void close_view(struct data_view *view)
{
    for (int s = 0; s < SPLITS; s++) { dataset_close(view->splits[s]); }
    free(view->columns);
    free(view);
}

static json_t *real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *json_of_splits(const struct data_view *view)
{
    json_t *object = json_object();
    for (int s = 0; s < SPLITS; s++) {
        if (view->splits[s] == NULL) { continue; }
        json_object_set_new(object, dataset_split_name((enum dataset_split)s),
                            json_integer((json_int_t)view->splits[s]->examples));
    }
    return object;
}

static json_t *json_of_view(const struct data_view *view)
{
    const double best = dataset_best_area(view->splits[DATASET_TEST]);
    return json_pack("{s:i, s:o, s:i, s:s, s:o}", "version", 1, "examples", json_of_splits(view),
                     "inputs", (int)view->job.model.inputs, "digest", view->digest, "best_auc",
                     real(best));
}

static void print_splits(const struct data_view *view)
{
    for (int s = 0; s < SPLITS; s++) {
        if (view->splits[s] == NULL) { continue; }
        printf("%s examples: %" PRIu64 "\n", dataset_split_name((enum dataset_split)s),
               view->splits[s]->examples);
    }
    printf("inputs of the model: %" PRIu32 "\ndigest of the data: %s\n", view->job.model.inputs,
           view->digest);
    const double best = dataset_best_area(view->splits[DATASET_TEST]);
    if (isfinite(best)) { printf("best possible AUC of the test examples: %.4f\n", best); }
}

/* -------------------------------------------------------------------- show */

static json_t *json_of_columns(const struct data_view *view)
{
    json_t *list = json_array();
    const struct source *source = &view->splits[DATASET_TRAIN]->table->source;
    for (uint32_t c = 0; c < source->column_count; c++) {
        const struct column_summary *summary = &view->columns[c];
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:o}", "name", source->columns[c].name,
                      "kind", kinds[source->columns[c].kind], "values", (json_int_t)summary->values,
                      "missing", (json_int_t)summary->missing, "numbers",
                      (json_int_t)summary->numbers, "least", real(summary->least), "most",
                      real(summary->most), "mean", real(summary->mean)));
    }
    return list;
}

static void print_number(double number)
{
    if (isfinite(number)) {
        printf(" %12.6g", number);
    } else {
        printf(" %12s", "-");
    }
}

static void print_columns(const struct data_view *view)
{
    const struct source *source = &view->splits[DATASET_TRAIN]->table->source;
    printf("\n%-24s %-7s %10s %10s %12s %12s %12s\n", "column", "kind", "missing", "numbers",
           "least", "most", "mean");
    for (uint32_t c = 0; c < source->column_count; c++) {
        const struct column_summary *summary = &view->columns[c];
        printf("%-24s %-7s %10" PRIu64 " %10" PRIu64, source->columns[c].name,
               kinds[source->columns[c].kind], summary->missing, summary->numbers);
        print_number(summary->least);
        print_number(summary->most);
        print_number(summary->mean);
        putchar('\n');
    }
}

/* The first rows for training, as they are in the files. */
static enum tn_status print_rows(const struct data_view *view, struct error *error)
{
    struct source_row row;
    const struct column_table *table = view->splits[DATASET_TRAIN]->table;
    const struct source *source = &table->source;
    enum tn_status status = source_row_open(&row, source->column_count, error);
    putchar('\n');
    for (uint64_t k = 0; k < FIRST_ROWS && k < table->split.count && status == TN_OK; k++) {
        status = source_read(source, split_row(&table->split, k), &row, error);
        for (uint32_t c = 0; c < source->column_count && status == TN_OK; c++) {
            char text[SUMMARY_TEXT_MAX];
            summary_show(source, c, &row.cells[c], text);
            printf("%s%s", c > 0 ? " | " : "", text);
        }
        putchar('\n');
    }
    source_row_close(&row);
    return status;
}

static enum tn_status show(struct data_view *view, bool json, int *exit_code, struct error *error)
{
    const struct column_table *table = view->splits[DATASET_TRAIN]->table;
    enum tn_status status = TN_OK;
    if (table != NULL) { status = summary_of(table, &view->columns, error); }
    if (status != TN_OK) { return status; }
    if (json) {
        json_t *object = json_of_view(view);
        if (table != NULL) { json_object_set_new(object, "columns", json_of_columns(view)); }
        *exit_code = output_json(object, JSON_INDENT(2));
        return TN_OK;
    }
    print_splits(view);
    if (table == NULL) { return TN_OK; }
    print_columns(view);
    return print_rows(view, error);
}

/* ------------------------------------------------------------------- check */

static enum tn_status check(struct data_view *view, bool json, int *exit_code, struct error *error)
{
    struct column_table *table = view->splits[DATASET_TRAIN]->table;
    if (table != NULL) {
        enum tn_status status = column_table_check(&view->job, table, error);
        if (status != TN_OK) { return status; }
    }
    if (json) {
        *exit_code = output_json(json_of_view(view), JSON_INDENT(2));
    } else {
        print_splits(view);
        puts("all examples are valid");
    }
    return TN_OK;
}

/* ------------------------------------------------------------- the command */

typedef enum tn_status action(struct data_view *view, bool json, int *exit_code,
                              struct error *error);

static enum tn_status work(action *act, struct data_view *view, const char *path,
                           const struct option_texts *settings, bool json, int *exit_code,
                           struct error *error)
{
    enum tn_status status = load_job(&view->job, path, settings, error);
    if (status == TN_OK) { status = open_splits(view, error); }
    return status == TN_OK ? act(view, json, exit_code, error) : status;
}

static int command(struct options *options, action *act, int argc, char **argv)
{
    struct option_texts settings = {0};
    const char *format;
    int exit_code = TN_EXIT_OK;
    struct error error = {0};
    options->synopsis = "JOB.json [OPTION]...";
    options->arguments_least = job_has_program() ? 0 : 1;
    options->arguments_most = 1;
    options_settings(options, &settings);
    output_option_table(options, &format);
    if (!options_parse(options, argc, argv, &exit_code)) { return exit_code; }
    struct data_view *view = calloc(1, sizeof *view);
    if (view == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = work(act, view, options->arguments[0], &settings,
                                 output_is_json(format), &exit_code, &error);
    if (status != TN_OK) { exit_code = command_failed(&error); }
    close_view(view);
    return exit_code;
}

static int command_show(int argc, char **argv)
{
    struct options options = {
        .command = "data show",
        .about = "Show the data of a job: the number of examples, the columns with their ranges "
                 "and missing values, the first\nrows, and the digest, which must be the same for "
                 "all workers.",
        .examples = "  tanist data show examples/csv/shops.json\n",
    };
    return command(&options, show, argc, argv);
}

static int command_check(int argc, char **argv)
{
    struct options options = {
        .command = "data check",
        .about = "Read all data of a job as training and evaluations do, and print the place of "
                 "the first invalid value.\nExit status: 0 all values are valid, 3 one is not.",
        .examples = "  tanist data check examples/csv/shops.json\n",
    };
    return command(&options, check, argc, argv);
}

int command_data(int argc, char **argv)
{
    static const struct subcommand list[] = {
        {"show", "Show the columns with ranges and missing values, the first rows, and the digest.",
         command_show},
        {"check", "Read all data, and report the first invalid value.", command_check},
    };
    static const struct subcommands commands = {
        .prefix = "data ",
        .synopsis = "data show|check JOB.json [OPTION]...",
        .examples = "  tanist data show examples/csv/shops.json\n"
                    "  tanist data check examples/csv/shops.json -o json\n",
        .footer = "`tanist data COMMAND --help` explains a command.",
        .list = list,
        .count = sizeof list / sizeof *list,
    };
    return subcommands_run(&commands, argc, argv);
}
