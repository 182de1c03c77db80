#include "chaos/campaign.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/cluster/lab.h"
#include "chaos/cluster/round_folder.h"
#include "chaos/cluster/targets.h"
#include "chaos/history/history.h"
#include "chaos/history/json_member.h"
#include "chaos/report/report.h"
#include "chaos/round.h"
#include "common/base/embedded.h"
#include "common/base/files.h"
#include "common/base/text.h"
#include "common/job/strategy.h"

enum { HARNESS_NICE = -10 };
enum { DIR_MAX = 700, FOLDER_MAX = 900, PATH_LONG_MAX = 1000 };

/* chaos/default_job.json: small, on synthetic data, and long enough for faults. */
extern const struct embedded_file campaign_jobs[];

struct campaign {
    struct campaign_config config;
    char dir[DIR_MAX], job_file[FOLDER_MAX], networks[FOLDER_MAX], shim[PATH_LONG_MAX];
    struct job job;
    struct probe probe;
    struct lab *lab;  /* NULL: none. */
    json_t *baseline; /* Owned. */
    uint32_t round_count;
    char **histories; /* Paths, one per round that was run. Owned. */
};

static void log_line(const struct campaign *campaign, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void log_line(const struct campaign *campaign, int level, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    campaign->config.log(campaign->config.ctx, level, text);
}

/* ------------------------------------------------------------- the job */

static enum tn_status set_all(struct campaign *campaign, struct error *error)
{
    const struct plan *plan = campaign->config.plan;
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < plan->set_count; i++) {
        status = job_set(&campaign->job, plan->sets[i], error);
        if (status != TN_OK) { (void)error_context(error, "plan %s: set", plan->name); }
    }
    for (size_t i = 0; status == TN_OK && i < campaign->config.set_count; i++) {
        status = job_set(&campaign->job, campaign->config.sets[i], error);
        if (status != TN_OK) { (void)error_context(error, "--set"); }
    }
    return status;
}

static enum tn_status read_job(struct campaign *campaign, struct error *error)
{
    const char *file = campaign->config.job_file;
    job_init(&campaign->job);
    const char *text = embedded_text(campaign_jobs, "default_job");
    enum tn_status status =
        file != NULL ? job_read_file(&campaign->job, file, error)
                     : job_read_text(&campaign->job, text, strlen(text), "the default job", error);
    if (status == TN_OK) { status = set_all(campaign, error); }
    if (status != TN_OK) { return status; }
    strategy_settle(&campaign->job);
    const struct job *job = &campaign->job;
    if (!strategy_of_job(job)->on_cluster) {
        return error_set(error, TN_EINVAL,
                         "strategy.type is local: the job runs in one process, which has no nodes "
                         "to attack: give --set strategy.type=ps, or mirror");
    }
    const struct task_counts tasks = job_tasks(job);
    const uint32_t nodes = task_counts_sum(&tasks);
    if (nodes + job->zookeeper.servers > FAULT_CONTROL_SLOTS) {
        return error_set(error, TN_EINVAL, "the job has %u tasks: a campaign can attack at most %u",
                         nodes, FAULT_CONTROL_SLOTS - job->zookeeper.servers);
    }
    return TN_OK;
}

static enum tn_status write_job(struct campaign *campaign, struct error *error)
{
    assert(campaign->dir[0] != '\0');
    char *json = job_to_json(&campaign->job);
    if (json == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    snprintf(campaign->job_file, sizeof campaign->job_file, "%s/job.json", campaign->dir);
    enum tn_status status = files_write_atomic(campaign->job_file, json, strlen(json), error);
    free(json);
    return status;
}

/* ------------------------------------------------------------- the machine */

/* The campaign that creates `baseline` has the folder, if several start at once. */
static enum tn_status claim_dir(const char *dir, struct error *error)
{
    char path[FOLDER_MAX];
    snprintf(path, sizeof path, "%s/lock", dir);
    if (access(path, F_OK) == 0) {
        return error_set(error, TN_EINVAL, "%s is the folder of a run: give another --dir", dir);
    }
    snprintf(path, sizeof path, "%s/baseline", dir);
    if (mkdir(path, 0700) == 0) { return TN_OK; }
    if (errno != EEXIST) { return files_error(error, errno, "make the folder", path); }
    return error_set(error, TN_EEXIST, "%s holds a campaign: give another --dir, or remove it",
                     dir);
}

/* Before the baseline run, the folder is free again. Later `baseline` is not empty, and stays. */
static void give_up_dir(const struct campaign *campaign)
{
    char path[FOLDER_MAX];
    snprintf(path, sizeof path, "%s/baseline", campaign->dir);
    (void)rmdir(path);
}

static enum tn_status make_dir(struct campaign *campaign, struct error *error)
{
    char path[PATH_MAX];
    enum tn_status status = files_make_folders(campaign->config.dir, error);
    if (status != TN_OK) { return error_context(error, "--dir"); }
    if (realpath(campaign->config.dir, path) == NULL || strlen(path) >= DIR_MAX) {
        return error_set(error, TN_EINVAL, "--dir %s: the path is too long or cannot be used",
                         campaign->config.dir);
    }
    memcpy(campaign->dir, path, strlen(path) + 1);
    return claim_dir(campaign->dir, error);
}

/* Mounts of this process are then invisible to others and end with it. */
static void separate_mounts(void)
{
    if (unshare(CLONE_NEWNS) == 0) { (void)mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL); }
}

/* The user wants no network namespaces: it is as if the machine had none. */
static void give_up_network(struct probe *probe)
{
    const unsigned gone = probe->has & (NEED_NETWORK | NEED_BANDWIDTH);
    for (unsigned i = 0; i < NEED_COUNT; i++) {
        if (!(gone & (1U << i))) { continue; }
        snprintf(probe->why_not[i], sizeof probe->why_not[i],
                 "the run has no network namespaces (--network loopback)");
    }
    probe->has &= ~gone;
}

static enum tn_status make_lab(struct campaign *campaign, struct error *error)
{
    struct target_cluster shape;
    const char *names[COMPONENTS_MAX];
    uint32_t count = 0;
    if (!campaign->config.lab) { give_up_network(&campaign->probe); }
    if (!(campaign->probe.has & NEED_NETWORK)) { return TN_OK; }
    target_cluster_init(&shape, &campaign->job);
    for (uint32_t i = 1; i < shape.count; i++) { names[count++] = shape.components[i].name; }
    snprintf(campaign->networks, sizeof campaign->networks, "%s/networks.json", campaign->dir);
    return lab_open(names, count, campaign->networks, &campaign->lab, error);
}

static void log_machine(const struct campaign *campaign)
{
    static const struct {
        enum need need;
        const char *faults;
    } needs[] = {
        {NEED_NETWORK, "network faults"},
        {NEED_BANDWIDTH, "slow links"},
        {NEED_SHIM, "failing disks and wrong clocks"},
        {NEED_TMPFS, "full disks"},
        {NEED_FAILPOINTS, "failpoints"},
    };
    if (campaign->lab != NULL) {
        log_line(campaign, 1, "each task and each ZooKeeper server has its own network namespace");
    }
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const char *lacks = probe_lacks(&campaign->probe, needs[i].need);
        if (lacks != NULL) { log_line(campaign, 0, "not tested: %s: %s", needs[i].faults, lacks); }
    }
}

/* ------------------------------------------------------------- rounds */

static struct round_config round_of(const struct campaign *campaign,
                                    const struct schedule *schedule, const char *dir)
{
    return (struct round_config){.campaign = &campaign->config,
                                 .job = &campaign->job,
                                 .job_file = campaign->job_file,
                                 .dir = dir,
                                 .networks = campaign->lab != NULL ? campaign->networks : NULL,
                                 .shim = *campaign->shim ? campaign->shim : NULL,
                                 .lab = campaign->lab,
                                 .probe = &campaign->probe,
                                 .schedule = schedule,
                                 .baseline = campaign->baseline};
}

static void log_baseline(const struct campaign *campaign)
{
    const json_t *baseline = campaign->baseline;
    const char *from = campaign->config.baseline;
    log_line(campaign, 0,
             "baseline run%s%s: %" JSON_INTEGER_FORMAT " steps in %.1f s, %.0f steps/s, digest %s",
             from != NULL ? " of " : "", from != NULL ? from : "",
             json_member_integer(baseline, "steps", 0), json_member_number(baseline, "seconds", 0),
             json_member_number(baseline, "steps_per_s", 0),
             json_member_text(baseline, "digest", "none"));
}

/* Take the baseline run from `begin`, the first line of the history of a round. */
static enum tn_status take_baseline(struct campaign *campaign, const json_t *begin,
                                    struct error *error)
{
    char *text = job_to_json(&campaign->job);
    json_t *job = text != NULL ? json_loads(text, 0, NULL) : NULL;
    free(text);
    if (job == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    const bool same = json_equal(job, json_object_get(begin, "job"));
    json_decref(job);
    if (json_member_number(json_object_get(begin, "baseline"), "seconds", -1) < 0) {
        return error_set(error, TN_EINVAL,
                         "%s does not begin with a baseline run: give the history.jsonl of a round "
                         "of `tanist chaos run`",
                         campaign->config.baseline);
    }
    if (!same) {
        return error_set(error, TN_EINVAL,
                         "%s is of another job: leave --baseline out, so that this job has a "
                         "baseline run of its own",
                         campaign->config.baseline);
    }
    campaign->baseline = json_incref(json_object_get(begin, "baseline"));
    log_baseline(campaign);
    return TN_OK;
}

static enum tn_status read_baseline(struct campaign *campaign, struct error *error)
{
    json_t *lines = NULL;
    assert(campaign->baseline == NULL);
    enum tn_status status = history_read(campaign->config.baseline, &lines, error);
    if (status == TN_OK) { status = take_baseline(campaign, json_array_get(lines, 0), error); }
    json_decref(lines);
    return status == TN_OK ? TN_OK : error_context(error, "--baseline");
}

static enum tn_status run_baseline(struct campaign *campaign, struct error *error)
{
    char dir[FOLDER_MAX];
    struct outcome outcome;
    const struct schedule no_faults = {0};
    snprintf(dir, sizeof dir, "%s/baseline", campaign->dir);
    const struct round_config config = round_of(campaign, &no_faults, dir);
    log_line(campaign, 1, "the baseline run, without faults");
    enum tn_status status = round_run(&config, &outcome, &campaign->baseline, error);
    if (status != TN_OK) { return status; }
    log_baseline(campaign);
    if (!campaign->config.keep) { folder_keep_history(dir); }
    return TN_OK;
}

enum tn_status campaign_open(const struct campaign_config *config, struct campaign **out,
                             struct error *error)
{
    assert(config->plan != NULL);
    assert(config->log != NULL);
    struct campaign *campaign = calloc(1, sizeof *campaign);
    *out = campaign;
    if (campaign == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    campaign->config = *config;
    /* The harness measures times, so it must not wait for the processes that it measures. Runs
     * start with the normal priority. */
    (void)setpriority(PRIO_PROCESS, 0, HARNESS_NICE);
    probe_machine(&campaign->probe);
    (void)probe_find_shim(campaign->shim, sizeof campaign->shim);
    enum tn_status status = read_job(campaign, error);
    if (status == TN_OK) {
        const struct cluster_shape shape = cluster_shape_of(&campaign->job);
        status = schedule_check(config->plan, &shape, error);
    }
    if (status == TN_OK) { status = make_dir(campaign, error); }
    const bool claimed = status == TN_OK;
    if (status == TN_OK) { status = write_job(campaign, error); }
    if (status == TN_OK) { separate_mounts(); }
    if (status == TN_OK) { status = make_lab(campaign, error); }
    if (status == TN_OK) {
        log_machine(campaign);
        status = config->baseline != NULL ? read_baseline(campaign, error)
                                          : run_baseline(campaign, error);
    }
    if (status == TN_OK) { return TN_OK; }
    if (claimed) { give_up_dir(campaign); }
    campaign_close(campaign);
    *out = NULL;
    return status;
}

void campaign_close(struct campaign *campaign)
{
    if (campaign == NULL) { return; }
    lab_close(campaign->lab);
    json_decref(campaign->baseline);
    for (uint32_t i = 0; i < campaign->round_count; i++) { free(campaign->histories[i]); }
    free(campaign->histories);
    free(campaign);
}

enum tn_status campaign_draw(const struct campaign *campaign, uint32_t round, struct schedule *out,
                             struct error *error)
{
    const struct cluster_shape shape = cluster_shape_of(&campaign->job);
    return schedule_draw(campaign->config.plan, campaign->config.seed, round, &shape, out, error);
}

/* The commands that repeat and shrink a failed round. */
static void write_repeat(const struct campaign *campaign, const char *folder)
{
    char path[PATH_LONG_MAX], text[2 * PATH_LONG_MAX];
    struct error error;
    snprintf(path, sizeof path, "%s/REPEAT", folder);
    int length = snprintf(text, sizeof text,
                          "tanist chaos replay %s/history.jsonl\n"
                          "tanist chaos shrink %s/history.jsonl\n",
                          folder, folder);
    if (files_write_public(path, text, (size_t)length, &error) != TN_OK) {
        log_line(campaign, 0, "%s", error.text);
    }
}

static void log_outcome(const struct campaign *campaign, uint32_t round, const char *folder,
                        const struct outcome *outcome)
{
    char skipped[48] = "";
    if (outcome->skipped > 0) {
        snprintf(skipped, sizeof skipped, ", %u skipped", outcome->skipped);
    }
    if (outcome->passed && outcome->injected == 0) {
        log_line(campaign, 0, "round %u: SKIPPED after %.1f s%s: no fault was injected", round,
                 outcome->seconds, skipped);
    } else if (outcome->passed) {
        log_line(campaign, 0, "round %u: passed in %.1f s, %u fault%s%s", round, outcome->seconds,
                 outcome->injected, text_plural(outcome->injected), skipped);
    } else {
        log_line(campaign, 0, "round %u: FAILED after %u fault%s%s: %s (kept in %s)", round,
                 outcome->injected, text_plural(outcome->injected), skipped, outcome->failed_checks,
                 folder);
    }
}

/* Remember the history of a round for the report. */
static enum tn_status add_history(struct campaign *campaign, const char *dir, struct error *error)
{
    char **histories =
        reallocarray(campaign->histories, campaign->round_count + 1, sizeof *campaign->histories);
    if (histories == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    campaign->histories = histories;
    int length = asprintf(&histories[campaign->round_count], "%s/history.jsonl", dir);
    if (length < 0) { return error_set(error, TN_ENOMEM, "out of memory"); }
    campaign->round_count++;
    return TN_OK;
}

enum tn_status campaign_round(struct campaign *campaign, uint32_t round,
                              const struct schedule *schedule, struct outcome *outcome,
                              struct error *error)
{
    char dir[FOLDER_MAX];
    assert(campaign->baseline != NULL);
    snprintf(dir, sizeof dir, "%s/round-%04u", campaign->dir, round);
    struct round_config config = round_of(campaign, schedule, dir);
    config.number = round;
    log_line(campaign, 1, "round %u: %u fault%s planned", round, schedule->count,
             text_plural(schedule->count));
    enum tn_status status = round_run(&config, outcome, NULL, error);
    if (status == TN_OK) { status = add_history(campaign, dir, error); }
    if (status != TN_OK) { return status; }
    log_outcome(campaign, round, dir, outcome);
    if (!outcome->passed) {
        write_repeat(campaign, dir);
    } else if (!campaign->config.keep) {
        folder_keep_history(dir);
    }
    return TN_OK;
}

enum tn_status campaign_report(const struct campaign *campaign, struct error *error)
{
    return report_write(campaign->dir, (const char *const *)campaign->histories,
                        campaign->round_count, error);
}
