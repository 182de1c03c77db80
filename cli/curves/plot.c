/* `tanist plot`: the curves of one or several runs. */
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/curves/chart_files.h"
#include "cli/curves/text_chart.h"
#include "cli/inspect/terminal.h"
#include "cli/options.h"
#include "cli/output.h"
#include "tanist/status.h"

enum { TEXT_BYTES = 1 << 20, PLAIN_COLUMNS = 100, MOST_COLUMNS = 240 };

struct plot_options {
    const char *to, *output;
    struct option_texts folders, metrics;
    bool log;
};

static enum tn_status read_runs(const struct plot_options *given, struct run_series *runs,
                                size_t *count, struct error *error)
{
    static const char *const loss[] = {"loss"};
    const bool chosen = given->metrics.count > 0;
    const char *const *metrics = chosen ? given->metrics.items : loss;
    enum tn_status status = TN_OK;
    if (given->metrics.count > SERIES_METRICS_MAX) {
        return error_set(error, TN_EINVAL, "--metric is given %zu times, at most %d are possible",
                         given->metrics.count, SERIES_METRICS_MAX);
    }
    for (size_t i = 0; status == TN_OK && i < given->folders.count; i++) {
        status = run_series_read(&runs[i], given->folders.items[i], metrics,
                                 chosen ? given->metrics.count : 1, error);
        if (status == TN_OK) { *count = i + 1; }
    }
    return status;
}

/* ---------------------------------------------------------------- output */

static json_t *run_json(const struct run_series *run)
{
    json_t *metrics = json_object();
    for (size_t m = 0; m < run->metric_count; m++) {
        json_t *points = json_array();
        for (size_t i = 0; i < run->series[m].count; i++) {
            const struct series_point *point = &run->series[m].points[i];
            json_array_append_new(points,
                                  json_pack("[I, f]", (json_int_t)point->step, point->value));
        }
        json_object_set_new(metrics, run->metrics[m], points);
    }
    json_t *restarts = json_array();
    for (size_t i = 0; i < run->mark_count; i++) {
        json_array_append_new(restarts, json_integer((json_int_t)run->marks[i]));
    }
    return json_pack("{s:s, s:o, s:o, s:O}", "dir", run->dir, "metrics", metrics, "continued_from",
                     restarts, "changes", run->changes);
}

static int print_json(const struct chart_config *config)
{
    json_t *runs = json_array();
    for (size_t r = 0; r < config->run_count; r++) {
        json_array_append_new(runs, run_json(&config->runs[r]));
    }
    return output_json(json_pack("{s:i, s:o}", "version", 1, "runs", runs), JSON_COMPACT);
}

static int print_text(const struct chart_config *config)
{
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    uint32_t columns = PLAIN_COLUMNS, rows = 0;
    struct canvas canvas;
    char *text = malloc(TEXT_BYTES);
    bool drawn = text != NULL;
    if (terminal) { terminal_size(&columns, &rows); }
    if (columns > MOST_COLUMNS) { columns = MOST_COLUMNS; }
    if (drawn) {
        canvas_init(&canvas, text, TEXT_BYTES, columns, terminal && getenv("NO_COLOR") == NULL);
    }
    for (size_t m = 0; drawn && m < config->runs[0].metric_count; m++) {
        drawn = text_chart_draw(config, m, columns, terminal_is_utf8(), &canvas);
    }
    const bool written = drawn && fputs(text, stdout) >= 0;
    free(text);
    return written ? TN_EXIT_OK : TN_EXIT_IO;
}

static int work(const struct plot_options *given)
{
    struct run_series runs[CHART_RUNS_MAX] = {0};
    struct error error = {0};
    struct chart_config config = {.runs = runs, .log = given->log};
    enum tn_status status = read_runs(given, runs, &config.run_count, &error);
    if (status == TN_OK && given->to != NULL) { status = chart_write(&config, given->to, &error); }
    const bool json = output_is_json(given->output);
    int exit_code = TN_EXIT_OK;
    if (status != TN_OK) {
        exit_code = command_failed(&error);
    } else if (json) {
        exit_code = print_json(&config);
    } else if (given->to == NULL) {
        exit_code = print_text(&config);
    }
    for (size_t r = 0; r < config.run_count; r++) { run_series_free(&runs[r]); }
    return exit_code;
}

int command_plot(int argc, char **argv)
{
    struct plot_options given = {0};
    int exit_code = 0;
    struct options options = {
        .command = "plot",
        .synopsis = "DIR [DIR]... [OPTION]...",
        .about = "Draw the curves of runs: in the terminal, or into a file. Each DIR is the folder "
                 "of a run, which may\nstill be running. Steps that were repeated after a recovery "
                 "appear once.",
        .examples = "  tanist plot runs/fashion-mnist\n"
                    "  tanist plot runs/a runs/b --metric accuracy --metric test_loss\n"
                    "  tanist plot runs/a runs/b --log --to curves.svg\n"};
    options_folders(&options, &given.folders, 1, CHART_RUNS_MAX,
                    "Folder of a run, as the arguments DIR; may be given more than once.");
    options_texts(&options, "metric", &given.metrics, "NAME",
                  "A key of metrics.jsonl, such as loss, accuracy, steps_per_second; may be given "
                  "more than once; default loss.");
    options_flag(&options, 0, "log", &given.log, "Make the axis of values logarithmic.");
    options_text(&options, "to", &given.to, "FILE",
                 "Write the charts to FILE.svg, FILE.html or FILE.png.");
    output_option_text(&options, &given.output);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    return work(&given);
}
