#include "chaos/round.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/cluster/cluster_run.h"
#include "chaos/harness.h"
#include "chaos/history/json_member.h"
#include "chaos/inject/inject_disk_full.h"
#include "chaos/judge/verdict.h"
#include "chaos/judge/verdict_checks.h"
#include "common/base/clock.h"
#include "common/base/files.h"

enum {
    POLL_MS = 5,
    BASELINE_LIMIT_MS = 3600000, /* Nothing is known about the duration of the baseline run. */
    ROUND_LIMIT_MS = 120000,     /* A round may take this long, plus */
    BASELINE_TIMES = 6,          /* this many times the duration of the baseline run, plus */
    FAULT_LIMIT_MS = 4000,       /* for each fault, this and the fault's own duration. */
    KILL_MS = 5000,
};

struct round {
    const struct round_config *config;
    struct harness harness;
    struct cluster_run run;
    uint64_t limit_ms;
    int exit_code;
    json_t *result; /* Owned; NULL: none. */
    bool stopped;   /* The user wants to stop. */
    bool late;      /* It did not end within `limit_ms`. */
};

static void log_line(void *ctx, const char *text)
{
    const struct campaign_config *campaign = ((const struct round *)ctx)->config->campaign;
    campaign->log(campaign->ctx, 1, text);
}

/* ------------------------------------------------------------- beginning */

static enum tn_status create_control(struct target_cluster *cluster, const char *path,
                                     struct error *error)
{
    const char *names[FAULT_CONTROL_SLOTS];
    uint32_t count = 0;
    assert(cluster->control == NULL);
    for (uint32_t i = 1; i < cluster->count && count < FAULT_CONTROL_SLOTS; i++) {
        names[count++] = cluster->components[i].name;
    }
    return fault_control_create(path, names, count, &cluster->control, error);
}

static uint64_t limit_ms(const struct round_config *config)
{
    if (config->baseline == NULL) { return BASELINE_LIMIT_MS; }
    const double baseline_s = json_member_number(config->baseline, "seconds", 0);
    uint64_t limit = ROUND_LIMIT_MS + (uint64_t)(baseline_s * 1000) * BASELINE_TIMES;
    for (uint32_t i = 0; i < config->schedule->count; i++) {
        limit += FAULT_LIMIT_MS + config->schedule->list[i].for_ms;
    }
    return limit;
}

static bool needs(const struct schedule *schedule, enum need need)
{
    for (uint32_t i = 0; i < schedule->count; i++) {
        if (fault_descriptor(schedule->list[i].fault)->needs & need) { return true; }
    }
    return false;
}

static void set_cluster(struct round *round)
{
    const struct round_config *config = round->config;
    struct target_cluster *cluster = &round->harness.cluster;
    cluster->program = config->campaign->program;
    cluster->lab = config->lab;
    cluster->random.state = config->campaign->seed * 1000003 + config->number;
    snprintf(cluster->dir, sizeof cluster->dir, "%.1000s", config->dir);
    snprintf(cluster->run_dir, sizeof cluster->run_dir, "%.1000s/run", config->dir);
    snprintf(cluster->job_file, sizeof cluster->job_file, "%.1000s", config->job_file);
}

static void init_harness(struct round *round)
{
    const struct round_config *config = round->config;
    const struct harness_config harness = {.job = config->job,
                                           .plan = config->campaign->plan,
                                           .schedule = config->schedule,
                                           .probe = config->probe,
                                           .seed = config->campaign->seed,
                                           .round = config->number,
                                           .command = config->campaign->command,
                                           .baseline = config->baseline,
                                           .log = log_line,
                                           .ctx = round};
    harness_init(&round->harness, &harness);
    set_cluster(round);
}

static enum tn_status prepare(struct round *round, struct error *error)
{
    const struct round_config *config = round->config;
    struct target_cluster *cluster = &round->harness.cluster;
    char scratch[TARGET_PATH_MAX + 16], faults[TARGET_PATH_MAX + 16];
    snprintf(scratch, sizeof scratch, "%s/scratch", cluster->dir);
    snprintf(faults, sizeof faults, "%s/faults.ctl", cluster->dir);
    enum tn_status status = files_make_folders(scratch, error);
    if (status == TN_OK) { status = create_control(cluster, faults, error); }
    if (status == TN_OK) { status = harness_create_history(&round->harness, cluster->dir, error); }
    /* If it fails, the injector of "disk-full" reports it. */
    if (status == TN_OK && needs(config->schedule, NEED_TMPFS)) {
        (void)(disk_full_prepare(cluster, NULL) == TN_OK);
    }
    const char *shim = needs(config->schedule, NEED_SHIM) ? config->shim : NULL;
    if (status == TN_OK) {
        status = cluster_run_init(&round->run, cluster, config->networks, shim, faults, error);
    }
    return status;
}

/* ------------------------------------------------------------- the run */

/* The run's first process has ended. If a fault ended it, it is started again; else the round is
 * over. */
static enum tn_status on_end(struct round *round, int exit_code, bool *over, struct error *error)
{
    struct harness *harness = &round->harness;
    assert(harness->watcher != NULL);
    round->exit_code = exit_code;
    harness_record_run(harness, "ended", exit_code);
    *over = exit_code == 0 || !harness->cluster.agent_killed;
    if (*over) { return TN_OK; }
    watcher_poll(harness->watcher, 0);
    harness_log(harness, "the run is started again");
    harness_record_run(harness, "again", 0);
    return cluster_run_start(&round->run, error);
}

/* Inject the faults of the schedule until the run has ended. */
static enum tn_status inject_faults(struct round *round, struct error *error)
{
    struct harness *harness = &round->harness;
    enum tn_status status = TN_OK;
    bool over = false;
    assert(harness->nemesis != NULL);
    int exit_code = 0;
    harness_record_run(harness, "started", 0);
    while (!over && status == TN_OK) {
        watcher_poll(harness->watcher, POLL_MS);
        uint64_t now_ms = clock_monotonic_ms();
        if (cluster_run_ended(&round->run, &exit_code)) {
            status = on_end(round, exit_code, &over, error);
            continue;
        }
        round->stopped = *round->config->campaign->stop != 0;
        round->late = now_ms - harness->started_ms > round->limit_ms;
        if (round->stopped || round->late) { break; }
        nemesis_step(harness->nemesis, now_ms);
    }
    nemesis_finish(harness->nemesis, "the run ended before it was due");
    watcher_poll(harness->watcher, 0);
    return status;
}

/* ------------------------------------------------------------- the end */

static json_t *judge(void *ctx, const json_t *history)
{
    const struct round *round = ctx;
    const struct target_cluster *cluster = &round->harness.cluster;
    char paths[VERDICT_FORMER_MAX][TARGET_PATH_MAX + 32];
    const char *former[VERDICT_FORMER_MAX];
    for (uint32_t i = 0; i < cluster->wipes && i < VERDICT_FORMER_MAX; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/scratch/wiped-%u", cluster->dir, i + 1);
        former[i] = paths[i];
    }
    const struct verdict_input input = {
        .cluster = cluster,
        .history = history,
        .baseline = round->config->baseline,
        .result = round->result,
        .exit_code = round->exit_code,
        .mark = round->run.mark,
        .recover_within_ms = (uint64_t)(round->config->campaign->plan->recover_within_s * 1000),
        .allowed_skips = round->config->campaign->allowed_skips,
        .may_be_idle = round->config->campaign->may_be_idle,
        .former_zookeepers = former,
        .former_count = cluster->wipes};
    return verdict_make(&input);
}

static enum tn_status measure_use(const struct round *round, json_t *baseline, struct error *error)
{
    json_t *history = NULL;
    const enum tn_status status = history_read(round->harness.history_path, &history, error);
    if (status != TN_OK) { return error_context(error, "the baseline run"); }
    json_object_set_new(baseline, "used", verdict_most_used(history));
    json_decref(history);
    return TN_OK;
}

/* Later rounds are compared with `*out`: the result, and steps_per_s, digest, znodes and
 * used. */
static enum tn_status measure_baseline(struct round *round, json_t **out, struct error *error)
{
    const struct target_cluster *cluster = &round->harness.cluster;
    assert(out != NULL);
    const struct cluster_view *view = watcher_view(round->harness.watcher);
    if (round->exit_code != 0 ||
        strcmp(json_member_text(round->result, "status", ""), "done") != 0) {
        return error_set(error, TN_EUNHEALTHY,
                         "the baseline run, without any fault, ended with exit code %d: see "
                         "%s/run.log",
                         round->exit_code, cluster->dir);
    }
    const bool seen = view->training_ended_ms > view->training_began_ms;
    const double steps = json_member_number(round->result, "steps", 0);
    const double seconds = (double)(view->training_ended_ms - view->training_began_ms) / 1000.0;
    uint64_t znodes = 0;
    enum tn_status status = verdict_count_znodes(cluster->run_dir, &znodes, error);
    if (status != TN_OK) { return error_context(error, "the baseline run"); }
    *out = json_copy(round->result);
    json_object_set_new(*out, "steps_per_s", json_real(seen ? steps / seconds : 0.0));
    json_object_set(*out, "digest", json_object_get(round->result, "parameters_digest"));
    json_object_set_new(*out, "znodes", json_integer((json_int_t)znodes));
    if (*out == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    return measure_use(round, *out, error);
}

static enum tn_status conclude(struct round *round, struct outcome *outcome, json_t **baseline_out,
                               struct error *error)
{
    struct harness *harness = &round->harness;
    assert(!round->stopped);
    assert(round->result == NULL);
    if (round->late) { round->exit_code = -1; }
    round->result = round->late ? NULL : cluster_run_result(&round->run);
    harness_record_end(harness, round->exit_code, round->result);
    if (round->late) {
        harness_log(harness, "the run did not end in time: its processes are killed");
        cluster_run_kill(&round->run, KILL_MS);
    }
    disk_full_cleanup(&harness->cluster, true);
    if (baseline_out != NULL) { return measure_baseline(round, baseline_out, error); }
    return harness_judge(harness, judge, round, outcome, error);
}

static enum tn_status release(struct round *round, enum tn_status status, struct error *error)
{
    status = harness_close(&round->harness, status, error);
    cluster_run_free(&round->run);
    disk_full_cleanup(&round->harness.cluster, false);
    fault_control_close(round->harness.cluster.control);
    json_decref(round->result);
    free(round);
    return status;
}

enum tn_status round_run(const struct round_config *config, struct outcome *outcome,
                         json_t **baseline_out, struct error *error)
{
    assert(config->schedule != NULL);
    assert((config->baseline == NULL) == (baseline_out != NULL));
    struct round *round = calloc(1, sizeof *round);
    if (round == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    *outcome = (struct outcome){0};
    round->config = config;
    round->limit_ms = limit_ms(config);
    init_harness(round);
    enum tn_status status = prepare(round, error);
    if (status == TN_OK) { status = harness_begin(&round->harness, error); }
    if (status == TN_OK) { status = cluster_run_start(&round->run, error); }
    if (status == TN_OK) { status = inject_faults(round, error); }
    if (status == TN_OK && round->stopped) {
        status = error_set(error, TN_EAGAIN, "stopped by the user");
    }
    if (status == TN_OK) { status = conclude(round, outcome, baseline_out, error); }
    return release(round, status, error);
}
