#include "chaos/judge/verdict.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/observe/event_text.h"
#include "agent/process.h"
#include "chaos/judge/verdict_checks.h"
#include "checker/judge.h"
#include "common/base/files.h"

enum {
    FOLDER_BYTES = TARGET_PATH_MAX + 64,
    VERIFY_MS = 60000,
    VERIFIED_MAX = 4 << 20,
    LEAVE_MS = 3000, /* Until those who are leaving must have left. */
    LIVES_MAX = VERDICT_FORMER_MAX + 1,
};

/* ----------------------------------------------------------------- orders */

/* What the judge tells, for whoever looks into a round that failed: DIR/orders.txt, and the znodes
 * at the end in DIR/znodes.txt. Where they cannot be written the verdict is the same. */
struct papers {
    FILE *orders, *znodes;
};

static FILE *open_paper(const char *dir, const char *name)
{
    char path[FOLDER_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return fopen(path, "we");
}

static void on_tell(void *ctx, uint64_t wall_ms, const char *text)
{
    const struct papers *papers = ctx;
    char time[TIME_TEXT_MAX];
    event_text_time(wall_ms, time);
    if (papers->orders != NULL) { (void)fprintf(papers->orders, "%s %s\n", time, text); }
}

static void on_show(void *ctx, const char *path, uint64_t owner, const void *data, size_t size)
{
    FILE *file = ((const struct papers *)ctx)->znodes;
    if (file == NULL) { return; }
    (void)fprintf(file, "%s%s ", path, owner != 0 ? " (ephemeral)" : "");
    if (size > 0) { (void)fwrite(data, 1, size, file); }
    (void)fputc('\n', file);
}

static void close_papers(struct papers *papers)
{
    if (papers->orders != NULL) { (void)fclose(papers->orders); }
    if (papers->znodes != NULL) { (void)fclose(papers->znodes); }
}

/* False, with an error: there is nothing to judge. */
static bool judge_round(const struct verdict_input *input, struct judgement *out,
                        struct error *error)
{
    char last[FOLDER_BYTES];
    const char *lives[LIVES_MAX];
    struct papers papers = {.orders = open_paper(input->cluster->dir, "orders.txt"),
                            .znodes = open_paper(input->cluster->dir, "znodes.txt")};
    struct judge_input judged = {.job = input->cluster->job,
                                 .lives = lives,
                                 .tell = on_tell,
                                 .show = on_show,
                                 .ctx = &papers};
    for (uint32_t i = 0; i < input->former_count; i++) {
        lives[judged.life_count++] = input->former_zookeepers[i];
    }
    (void)snprintf(last, sizeof last, "%s/zookeeper", input->cluster->run_dir);
    lives[judged.life_count++] = last;
    enum tn_status status = judge_run(&judged, out, error);
    close_papers(&papers);
    return status == TN_OK;
}

static void check_logs(json_t *checks, const struct verdict_input *input)
{
    struct judgement judgement;
    struct error error = {0};
    if (input->former_count > VERDICT_FORMER_MAX) {
        verdict_add(checks, "orders", false, "the ensemble was wiped %u times: %d can be judged",
                    input->former_count, VERDICT_FORMER_MAX);
        return;
    }
    if (!judge_round(input, &judgement, &error)) {
        verdict_add_error(checks, "orders", &error);
        verdict_add_error(checks, "znodes", &error);
        return;
    }
    verdict_check_orders(checks, &judgement, input->former_count + 1);
    verdict_check_znodes(checks, &judgement, input->cluster->job, input->calm);
}

enum tn_status verdict_count_znodes(const char *run_dir, uint64_t *count, struct error *error)
{
    char folder[FOLDER_BYTES], path[FOLDER_BYTES];
    const char *const lives[] = {folder};
    struct judgement judgement;
    struct job *job = malloc(sizeof *job);
    if (job == NULL) { return error_set(error, TN_ENOMEM, "no memory to count znodes"); }
    job_init(job);
    (void)snprintf(folder, sizeof folder, "%s/zookeeper", run_dir);
    (void)snprintf(path, sizeof path, "%s/job.json", run_dir);
    const struct judge_input input = {.job = job, .lives = lives, .life_count = 1};
    enum tn_status status = job_read_file(job, path, error);
    if (status == TN_OK) { status = judge_run(&input, &judgement, error); }
    if (status == TN_OK) { *count = judgement.znodes; }
    free(job);
    return status;
}

/* ------------------------------------------------------------ checkpoints */

/* Wait for the end of a program; one that takes too long is killed. */
static bool wait_for(struct process *process, struct error *error)
{
    struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};
    int exit_code, signal_number, ready;
    do {
        ready = poll(&ended, 1, VERIFY_MS);
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0) { (void)kill(process->pid, SIGKILL); }
    while (ready <= 0 && poll(&ended, 1, -1) < 0) { continue; }
    process_reap(process, &exit_code, &signal_number);
    if (ready > 0) { return true; }
    (void)error_set(error, TN_ETIMEDOUT, "checkpoints verify did not end within %d s",
                    VERIFY_MS / 1000);
    return false;
}

/* What the program printed: warnings may stand before the JSON. NULL: no JSON. */
static json_t *read_verified(const char *path, struct error *error)
{
    char *text = NULL;
    size_t size;
    if (files_read(path, VERIFIED_MAX, &text, &size, error) != TN_OK) { return NULL; }
    const char *start = strchr(text, '{');
    json_error_t reason;
    json_t *json = start != NULL ? json_loads(start, JSON_DISABLE_EOF_CHECK, &reason) : NULL;
    if (json == NULL) {
        (void)error_set(error, TN_ECORRUPT, "checkpoints verify printed: %.400s", text);
    }
    free(text);
    return json;
}

static json_t *verify(const struct target_cluster *cluster, struct error *error)
{
    char path[FOLDER_BYTES];
    const char *const arguments[] = {"tanist",         "checkpoints", "verify", "--dir",
                                     cluster->run_dir, "-o",          "json",   NULL};
    struct process process;
    (void)snprintf(path, sizeof path, "%s/verified.json", cluster->dir);
    (void)unlink(path);
    /* Our own environment: it has no part in the run. */
    const struct process_config config = {.program = cluster->program,
                                          .arguments = arguments,
                                          .environment = environ,
                                          .log_path = path};
    if (process_start(&config, &process, error) != TN_OK) { return NULL; }
    return wait_for(&process, error) ? read_verified(path, error) : NULL;
}

static void check_checkpoints(json_t *checks, const struct verdict_input *input)
{
    struct error error = {0};
    json_t *verified = verify(input->cluster, &error);
    if (verified == NULL) {
        verdict_add_error(checks, "checkpoints", &error);
    } else {
        verdict_check_checkpoints(checks, verified, input->history);
    }
    json_decref(verified);
}

/* ---------------------------------------------------------------- verdict */

json_t *verdict_give(const struct verdict_input *input)
{
    const struct target_cluster *cluster = input->cluster;
    json_t *checks = json_array();
    char log[FOLDER_BYTES];
    bool ok = true;
    size_t i;
    const json_t *check;
    if (checks == NULL) { return NULL; }
    verdict_check_ended(checks, input->exit_code, input->result);
    verdict_check_result(checks, cluster->job->train.mode, input->calm, input->result);
    check_logs(checks, input);
    check_checkpoints(checks, input);
    verdict_check_refusals(checks, input->history);
    (void)snprintf(log, sizeof log, "%s/run.log", cluster->dir);
    verdict_check_crashes(checks, log, cluster->run_dir);
    verdict_check_recovery(checks, input->history, input->recover_within_ms);
    verdict_check_resources(checks, input->history);
    verdict_check_disk(checks, cluster->run_dir, cluster->job->checkpoint.keep);
    verdict_check_nothing_left(checks, input->mark, cluster->dir, cluster->run_dir, LEAVE_MS);
    json_array_foreach(checks, i, check) ok = ok && json_is_true(json_object_get(check, "ok"));
    return json_pack("{s:b, s:o}", "ok", (int)ok, "checks", checks);
}
