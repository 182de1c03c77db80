#include "chaos/attack.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/harness.h"
#include "chaos/report/report.h"
#include "common/base/clock.h"
#include "common/base/files.h"

enum {
    POLL_MS = 5,
    FIRST_MS = 15000,  /* Limit on seeing the cluster train. */
    SETTLED_MS = 1000, /* Training must have continued for this long after the last fault. */
    SLACK_MS = 2000,   /* Wait this much longer than the plan's bound; then "recovery" fails. */
};

struct attack {
    const struct attack_config *config;
    struct harness harness;
    struct probe probe;
    struct schedule schedule;
    uint64_t changed_ms; /* When a fault was injected or undone last. */
    struct nemesis_counts counts;
};

static uint64_t bound_ms(const struct attack *attack)
{
    return (uint64_t)(attack->config->plan->recover_within_s * 1000);
}

/* ------------------------------------------------------------- beginning */

/* The harness cannot reach ZooKeeper servers and the agent. */
static void keep_nodes(struct target_cluster *cluster)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->components[i].is_node) {
            cluster->components[kept++] = cluster->components[i];
        }
    }
    cluster->count = kept;
}

/* Draw the schedule; a share of progress is a share of the steps that are left. */
static enum tn_status draw(struct attack *attack, struct error *error)
{
    const struct attack_config *config = attack->config;
    struct cluster_shape shape = cluster_shape_of(config->job);
    assert(attack->schedule.count == 0);
    shape.steps = shape.steps > config->step ? shape.steps - config->step : 1;
    enum tn_status status =
        schedule_draw(config->plan, config->seed, 1, &shape, &attack->schedule, error);
    for (uint32_t i = 0; status == TN_OK && i < attack->schedule.count; i++) {
        struct trigger *trigger = &attack->schedule.list[i].trigger;
        if (trigger->type == TRIGGER_STEP) { trigger->step += config->step; }
    }
    return status;
}

static enum tn_status create_history(struct attack *attack, struct error *error)
{
    char folder[TARGET_PATH_MAX];
    snprintf(folder, sizeof folder, "%.1000s/round-0001", attack->config->dir);
    enum tn_status status = files_make_folders(attack->config->dir, error);
    if (status != TN_OK) { return status; }
    /* The attack that creates it has the folder, if several start at once. */
    if (mkdir(folder, 0700) != 0) {
        if (errno != EEXIST) { return files_error(error, errno, "make the folder", folder); }
        return error_set(error, TN_EEXIST,
                         "%s exists already, of another attack: give another folder", folder);
    }
    status = harness_create_history(&attack->harness, folder, error);
    if (status != TN_OK) { (void)rmdir(folder); }
    return status;
}

static enum tn_status begin(struct attack *attack, struct error *error)
{
    const struct attack_config *config = attack->config;
    const struct harness_config harness = {.job = config->job,
                                           .plan = config->plan,
                                           .schedule = &attack->schedule,
                                           .probe = &attack->probe,
                                           .seed = config->seed,
                                           .round = 1,
                                           .attacked = config->remote->connect,
                                           .log = config->log,
                                           .ctx = config->ctx};
    harness_init(&attack->harness, &harness);
    keep_nodes(&attack->harness.cluster);
    attack->harness.cluster.remote = config->remote;
    for (int i = 0; i < NEED_COUNT; i++) {
        snprintf(attack->probe.why_not[i], sizeof attack->probe.why_not[i],
                 "it needs access to the hosts, not only to ZooKeeper");
    }
    enum tn_status status = draw(attack, error);
    if (status == TN_OK) { status = create_history(attack, error); }
    if (status == TN_OK) { status = harness_begin(&attack->harness, error); }
    if (status == TN_OK) { harness_record_run(&attack->harness, "started", 0); }
    return status;
}

/* ------------------------------------------------------------- the attack */

static bool is_over(const struct cluster_view *view)
{
    return view->has_run && (view->phase == RUN_DONE || view->phase == RUN_FAILED);
}

/* The bound on a recovery counts from the last injection or its end. */
static void note_changes(struct attack *attack, uint64_t now_ms)
{
    const struct nemesis_counts counts = nemesis_counts(attack->harness.nemesis);
    if (counts.done != attack->counts.done || counts.active != attack->counts.active) {
        attack->changed_ms = now_ms;
    }
    attack->counts = counts;
}

/* True: all faults are over and the cluster trains again, or the bound has passed. */
static bool is_settled(const struct attack *attack, uint64_t now_ms)
{
    const struct cluster_view *view = watcher_view(attack->harness.watcher);
    assert(attack->changed_ms <= now_ms);
    if (attack->counts.waiting > 0 || attack->counts.active > 0) { return false; }
    if (now_ms > attack->changed_ms + bound_ms(attack) + SLACK_MS) { return true; }
    return view->has_run && view->phase == RUN_RUNNING &&
           view->advanced_ms > attack->changed_ms + SETTLED_MS;
}

static enum tn_status wait_running(struct attack *attack, struct error *error)
{
    const struct cluster_view *view = watcher_view(attack->harness.watcher);
    const uint64_t until_ms = clock_monotonic_ms() + FIRST_MS;
    assert(view != NULL);
    while (!view->has_run || view->phase != RUN_RUNNING) {
        watcher_poll(attack->harness.watcher, POLL_MS);
        if (*attack->config->stop) { return error_set(error, TN_EAGAIN, "stopped"); }
        if (!is_over(view) && clock_monotonic_ms() < until_ms) { continue; }
        return error_set(error, TN_EUNHEALTHY,
                         "%s does not train (%s): only a cluster that trains can be attacked",
                         attack->config->remote->cluster,
                         view->has_run ? run_phase_name(view->phase) : "its /run cannot be read");
    }
    return TN_OK;
}

static void inject_faults(struct attack *attack, struct outcome *outcome)
{
    const struct attack_config *config = attack->config;
    struct harness *harness = &attack->harness;
    const struct cluster_view *view = watcher_view(harness->watcher);
    const uint64_t began_ms = attack->changed_ms = clock_monotonic_ms();
    bool finished = false;
    assert(!outcome->stopped);
    while (!is_over(view) && !outcome->stopped) {
        watcher_poll(harness->watcher, POLL_MS);
        const uint64_t now_ms = clock_monotonic_ms();
        const bool late = config->seconds > 0 && now_ms - began_ms > config->seconds * 1000ULL;
        outcome->stopped = *config->stop != 0;
        if (late && !finished) {
            nemesis_finish(harness->nemesis, "it was not due within --seconds");
        }
        finished = finished || late;
        if (!finished) { nemesis_step(harness->nemesis, now_ms); }
        note_changes(attack, now_ms);
        if (is_settled(attack, now_ms)) { break; }
    }
    nemesis_finish(harness->nemesis, outcome->stopped ? "the attack was stopped before it was due"
                                                      : "the run ended before it was due");
    watcher_poll(harness->watcher, 0);
}

static json_t *judge(void *ctx, const json_t *history)
{
    return attack_judge(history, bound_ms(ctx));
}

enum tn_status attack_run(const struct attack_config *config, struct outcome *outcome,
                          struct error *error)
{
    assert(config->remote != NULL);
    assert(config->dir != NULL);
    struct attack *attack = calloc(1, sizeof *attack);
    *outcome = (struct outcome){0};
    if (attack == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    attack->config = config;
    enum tn_status status = begin(attack, error);
    if (status == TN_OK) { status = wait_running(attack, error); }
    if (status == TN_OK) {
        inject_faults(attack, outcome);
        harness_record_end(&attack->harness, 0, NULL);
        status = harness_judge(&attack->harness, judge, attack, outcome, error);
    }
    /* The report reads the history, so it must be closed first. */
    const char *histories[] = {attack->harness.history_path};
    status = harness_close(&attack->harness, status, error);
    if (status == TN_OK) { status = report_write(config->dir, histories, 1, error); }
    schedule_free(&attack->schedule);
    free(attack);
    return status;
}
