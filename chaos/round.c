#include "chaos/round.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/observe/event_text.h"
#include "chaos/cluster/cluster_run.h"
#include "chaos/cluster/watcher.h"
#include "chaos/inject/inject_disk.h"
#include "chaos/inject/nemesis.h"
#include "chaos/judge/verdict.h"
#include "chaos/judge/verdict_checks.h"
#include "common/base/clock.h"
#include "common/base/files.h"

enum {
    POLL_MS = 5,
    CALM_MS = 3600000,     /* For the calm run, of which nothing is known. */
    END_LEAST_MS = 120000, /* Another has at least that long, ... */
    CALM_TIMES = 6,        /* ... and that many times as long as the calm one, */
    FAULT_MS = 4000,       /* and that much for each fault, and as long as it lasts. */
    KILL_MS = 5000,
};

struct round {
    const struct round_config *config;
    struct target_cluster cluster;
    struct cluster_run run;
    struct history_file *history;
    struct watcher *watcher;
    struct nemesis *nemesis;
    uint64_t started_ms, limit_ms;
    int exit_code;
    json_t *result; /* Owned; NULL: none. */
    bool stopped;   /* The user wants the end. */
    bool late;      /* It did not end in time. */
};

/* ------------------------------------------------------------- the story */

static void say(void *ctx, const char *text)
{
    struct round *round = ctx;
    const struct campaign_config *campaign = round->config->campaign;
    char line[900];
    double seconds = (double)(clock_monotonic_ms() - round->started_ms) / 1000.0;
    snprintf(line, sizeof line, "%7.2f s  %s", seconds, text);
    campaign->say(campaign->ctx, 1, line);
}

static void tell_begin(struct round *round)
{
    const struct round_config *config = round->config;
    char started[TIME_TEXT_MAX];
    char *job = job_to_json(config->job);
    event_text_time(clock_wall_ms(), started);
    history_file_add(
        round->history, "begin",
        json_pack("{s:i, s:s?, s:i, s:I, s:O, s:o, s:s, s:s, s:O?, s:o, s:o}", "version", 1,
                  "command", config->campaign->command, "round", (int)config->number, "seed",
                  (json_int_t)config->campaign->seed, "plan", config->campaign->plan->json, "job",
                  job != NULL ? json_loads(job, 0, NULL) : NULL, "program", TANIST_VERSION,
                  "started", started, "calm", config->calm, "machine", probe_json(config->probe),
                  "places", target_cluster_places_json(&round->cluster)));
    free(job);
    for (uint32_t i = 0; i < config->schedule->count; i++) {
        history_file_add(round->history, "planned", injection_to_json(&config->schedule->list[i]));
    }
}

/* ------------------------------------------------------------- beginning */

static enum tn_status make_control(struct round *round, const char *path, struct error *error)
{
    struct target_cluster *cluster = &round->cluster;
    const char *names[FAULT_CONTROL_SLOTS];
    uint32_t count = 0;
    for (uint32_t i = 1; i < cluster->count && count < FAULT_CONTROL_SLOTS; i++) {
        names[count++] = cluster->places[i].name;
    }
    return fault_control_create(path, names, count, &cluster->control, error);
}

static uint64_t limit_ms(const struct round_config *config)
{
    if (config->calm == NULL) { return CALM_MS; }
    double calm_s = json_number_value(json_object_get(config->calm, "seconds"));
    uint64_t limit = END_LEAST_MS + (uint64_t)(calm_s * 1000) * CALM_TIMES;
    for (uint32_t i = 0; i < config->schedule->count; i++) {
        limit += FAULT_MS + config->schedule->list[i].for_ms;
    }
    return limit;
}

static bool wants(const struct schedule *schedule, enum need need)
{
    for (uint32_t i = 0; i < schedule->count; i++) {
        if (fault_descriptor(schedule->list[i].fault)->needs & need) { return true; }
    }
    return false;
}

static enum tn_status prepare(struct round *round, struct error *error)
{
    const struct round_config *config = round->config;
    struct target_cluster *cluster = &round->cluster;
    char scratch[TARGET_PATH_MAX + 16], faults[TARGET_PATH_MAX + 16], history[TARGET_PATH_MAX + 16];
    target_cluster_init(cluster, config->job);
    cluster->program = config->campaign->program;
    cluster->lab = config->lab;
    cluster->random.state = config->campaign->seed * 1000003 + config->number;
    snprintf(cluster->dir, sizeof cluster->dir, "%.1000s", config->dir);
    snprintf(cluster->run_dir, sizeof cluster->run_dir, "%.1000s/run", config->dir);
    snprintf(cluster->job_file, sizeof cluster->job_file, "%.1000s", config->job_file);
    snprintf(scratch, sizeof scratch, "%.1000s/scratch", config->dir);
    snprintf(faults, sizeof faults, "%.1000s/faults.ctl", config->dir);
    snprintf(history, sizeof history, "%.1000s/history.jsonl", config->dir);
    enum tn_status status = files_make_folders(scratch, error);
    if (status == TN_OK) { status = make_control(round, faults, error); }
    if (status == TN_OK) {
        status = history_file_create(history, clock_monotonic_ns() / 1000, &round->history, error);
    }
    /* Where it cannot be had its injector says so. */
    if (status == TN_OK && wants(config->schedule, NEED_TMPFS)) {
        (void)(disk_full_prepare(cluster, NULL) == TN_OK);
    }
    const char *shim = wants(config->schedule, NEED_SHIM) ? config->shim : NULL;
    if (status == TN_OK) {
        status = cluster_run_init(&round->run, cluster, config->networks, shim, faults, error);
    }
    return status;
}

static enum tn_status begin(struct round *round, struct error *error)
{
    tell_begin(round);
    round->watcher = watcher_create(&round->cluster, round->history);
    const struct nemesis_config nemesis = {.cluster = &round->cluster,
                                           .watcher = round->watcher,
                                           .history = round->history,
                                           .schedule = round->config->schedule,
                                           .probe = round->config->probe,
                                           .say = say,
                                           .ctx = round};
    round->nemesis = round->watcher != NULL ? nemesis_create(&nemesis) : NULL;
    if (round->nemesis == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    return cluster_run_start(&round->run, error);
}

/* ------------------------------------------------------------- the attack */

static void tell_run(struct round *round, const char *state, int exit_code)
{
    history_file_add(round->history, "run",
                     json_pack("{s:s, s:i}", "state", state, "exit", exit_code));
}

/* The run's first process has ended: by our doing it is started again, else the round is over. */
static enum tn_status on_end(struct round *round, int exit_code, bool *over, struct error *error)
{
    bool finished = exit_code == 0;
    round->exit_code = exit_code;
    tell_run(round, "ended", exit_code);
    *over = finished || !round->cluster.agent_struck;
    if (*over) { return TN_OK; }
    watcher_poll(round->watcher, 0);
    say(round, "the run is started again");
    tell_run(round, "again", 0);
    return cluster_run_start(&round->run, error);
}

static enum tn_status attack(struct round *round, struct error *error)
{
    enum tn_status status = TN_OK;
    bool over = false;
    int exit_code = 0;
    tell_run(round, "started", 0);
    while (!over && status == TN_OK) {
        watcher_poll(round->watcher, POLL_MS);
        uint64_t now_ms = clock_monotonic_ms();
        if (cluster_run_ended(&round->run, &exit_code)) {
            status = on_end(round, exit_code, &over, error);
            continue;
        }
        round->stopped = *round->config->campaign->stop != 0;
        round->late = now_ms - round->started_ms > round->limit_ms;
        if (round->stopped || round->late) { break; }
        nemesis_step(round->nemesis, now_ms);
    }
    nemesis_finish(round->nemesis);
    watcher_poll(round->watcher, 0);
    return status;
}

/* ------------------------------------------------------------- the end */

static void tell_end(struct round *round)
{
    double seconds = (double)(clock_monotonic_ms() - round->started_ms) / 1000.0;
    if (round->late) { round->exit_code = -1; }
    round->result = round->late ? NULL : cluster_run_result(&round->run);
    history_file_add(round->history, "end",
                     json_pack("{s:i, s:O?, s:f}", "exit", round->exit_code, "result",
                               round->result, "seconds", seconds));
}

static json_t *give_verdict(const struct round *round)
{
    const struct target_cluster *cluster = &round->cluster;
    char paths[VERDICT_FORMER_MAX][TARGET_PATH_MAX + 32], history[TARGET_PATH_MAX + 32];
    const char *former[VERDICT_FORMER_MAX];
    json_t *lines = NULL;
    struct error error;
    for (uint32_t i = 0; i < cluster->wipes && i < VERDICT_FORMER_MAX; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/scratch/wiped-%u", cluster->dir, i + 1);
        former[i] = paths[i];
    }
    snprintf(history, sizeof history, "%s/history.jsonl", cluster->dir);
    if (history_read(history, &lines, &error) != TN_OK) { return NULL; }
    const struct verdict_input input = {
        .cluster = cluster,
        .history = lines,
        .baseline = round->config->calm,
        .result = round->result,
        .exit_code = round->exit_code,
        .mark = round->run.mark,
        .recover_within_ms = (uint64_t)(round->config->campaign->plan->recover_within_s * 1000),
        .former_zookeepers = former,
        .former_count = cluster->wipes};
    json_t *verdict = verdict_make(&input);
    json_decref(lines);
    return verdict;
}

static enum tn_status judge(struct round *round, struct round_outcome *outcome, struct error *error)
{
    const struct nemesis_counts counts = nemesis_counts(round->nemesis);
    outcome->done = counts.done;
    outcome->skipped = counts.skipped;
    outcome->seconds = (double)(clock_monotonic_ms() - round->started_ms) / 1000.0;
    json_t *verdict = give_verdict(round);
    if (verdict == NULL) {
        return error_set(error, TN_EIO, "the history of the round cannot be judged");
    }
    outcome->kept = json_is_true(json_object_get(verdict, "ok"));
    verdict_list_failed(verdict, outcome->broken, sizeof outcome->broken);
    history_file_add(round->history, "verdict", verdict);
    return TN_OK;
}

/* What rounds are compared with. */
static enum tn_status measure_calm(struct round *round, json_t **out, struct error *error)
{
    const struct cluster_view *view = watcher_view(round->watcher);
    json_t *result = round->result;
    const char *status = json_string_value(json_object_get(result, "status"));
    if (round->exit_code != 0 || status == NULL || strcmp(status, "done") != 0) {
        return error_set(
            error, TN_EUNHEALTHY,
            "the calm run, in which nothing is attacked, ended with %d: see %s/run.log",
            round->exit_code, round->cluster.dir);
    }
    double steps = json_number_value(json_object_get(result, "steps"));
    double seconds = (double)(view->training_ended_ms - view->training_began_ms) / 1000.0;
    bool seen = view->training_ended_ms > view->training_began_ms;
    uint64_t znodes = 0;
    enum tn_status counted = verdict_count_znodes(round->cluster.run_dir, &znodes, error);
    if (counted != TN_OK) { return error_context(error, "the calm run"); }
    *out = json_copy(result);
    json_object_set_new(*out, "steps_per_s", json_real(seen ? steps / seconds : 0.0));
    json_object_set(*out, "digest", json_object_get(result, "parameters_digest"));
    json_object_set_new(*out, "znodes", json_integer((json_int_t)znodes));
    return *out != NULL ? TN_OK : error_set(error, TN_ENOMEM, "out of memory");
}

static enum tn_status conclude(struct round *round, struct round_outcome *outcome,
                               json_t **calm_out, struct error *error)
{
    tell_end(round);
    if (round->late) { say(round, "it has not ended in time: all of it is killed"); }
    /* Of a run that ended by itself nothing is left: the verdict looks. */
    if (round->late) { cluster_run_kill(&round->run, KILL_MS); }
    disk_full_cleanup(&round->cluster, true);
    if (calm_out != NULL) { return measure_calm(round, calm_out, error); }
    return judge(round, outcome, error);
}

static void release(struct round *round)
{
    nemesis_destroy(round->nemesis);
    watcher_destroy(round->watcher);
    cluster_run_free(&round->run);
    disk_full_cleanup(&round->cluster, false);
    fault_control_close(round->cluster.control);
    json_decref(round->result);
}

enum tn_status round_run(const struct round_config *config, struct round_outcome *outcome,
                         json_t **calm_out, struct error *error)
{
    struct round *round = calloc(1, sizeof *round);
    if (round == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    *outcome = (struct round_outcome){0};
    snprintf(outcome->folder, sizeof outcome->folder, "%s", config->dir);
    round->config = config;
    round->started_ms = clock_monotonic_ms();
    round->limit_ms = limit_ms(config);
    enum tn_status status = prepare(round, error);
    if (status == TN_OK) { status = begin(round, error); }
    if (status == TN_OK) { status = attack(round, error); }
    if (status == TN_OK && round->stopped) {
        status = error_set(error, TN_EAGAIN, "stopped by the user");
    }
    if (status == TN_OK) { status = conclude(round, outcome, calm_out, error); }
    release(round);
    struct error close_error;
    if (round->history != NULL && history_file_close(round->history, &close_error) != TN_OK &&
        status == TN_OK) {
        *error = close_error;
        status = close_error.status;
    }
    free(round);
    return status;
}
