/* cli/chaos/chaos_attack.c: `tanist chaos attack`: inject faults into a cluster that is already
 * running, on any hosts. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "chaos/attack.h"
#include "chaos/history/history.h"
#include "cli/chaos/chaos.h"
#include "cli/chaos/chaos_session.h"
#include "cli/cluster_read.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "cli/target.h"
#include "common/base/json_codec.h"
#include "common/base/text.h"

struct attack_options {
    struct target_options target;
    const char *plan, *report, *output;
    struct option_number seed, seconds;
    bool quiet;
};

static void print_progress(void *ctx, const char *text)
{
    const struct attack_options *given = ctx;
    if (!given->quiet) { fprintf(stderr, "   %s\n", text); }
}

/* The step of the last checkpoint, from which the plan counts its progress; 0: unknown. */
static uint64_t checkpoint_step(struct zk_sync *sync, const char *cluster)
{
    struct run run;
    return cluster_read_run(sync, cluster, &run, NULL) == TN_OK ? run.committed_step : 0;
}

static enum tn_status attack(struct attack_options *given, struct target *target, const char *dir,
                             const struct plan *plan, struct outcome *outcome, struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec;
    struct job job;
    struct remote remote;
    assert(dir != NULL);
    enum tn_status status = target_open(target, &sync, &spec, &job, error);
    if (status != TN_OK) { return status; }
    const struct attack_config config = {.remote = &remote,
                                         .job = &job,
                                         .plan = plan,
                                         .seed = given->seed.value,
                                         .seconds = (uint32_t)given->seconds.value,
                                         .dir = dir,
                                         .step = checkpoint_step(sync, target->cluster),
                                         .log = print_progress,
                                         .ctx = given,
                                         .stop = stop_on_signals()};
    zk_sync_close(sync);
    remote_init(&remote, target->connect, target->cluster, text_or_null(target->credentials));
    status = attack_run(&config, outcome, error);
    remote_close(&remote);
    return status;
}

static int print_outcome(const struct attack_options *given, const struct outcome *outcome,
                         const char *dir)
{
    char report[CHAOS_PATH_MAX + 16];
    assert(dir != NULL);
    snprintf(report, sizeof report, "%s/report.html", dir);
    if (output_is_json(given->output)) {
        return output_json(json_pack("{s:i, s:b, s:i, s:i, s:f, s:o, s:s}", "version", 1, "kept",
                                     (int)outcome->passed, "faults", (int)outcome->injected,
                                     "skipped", (int)outcome->skipped, "seconds", outcome->seconds,
                                     "broken", json_text(outcome->failed_checks), "report", report),
                           JSON_INDENT(2));
    }
    int length =
        printf("%s%s; %u fault%s injected, %u skipped; report: %s\n",
               outcome->passed ? "passed" : "failed: ", outcome->failed_checks, outcome->injected,
               text_plural(outcome->injected), outcome->skipped, report);
    return length > 0 ? TN_EXIT_OK : TN_EXIT_IO;
}

static int conclude(const struct attack_options *given, const struct outcome *outcome,
                    const char *dir)
{
    int exit_code = print_outcome(given, outcome, dir);
    if (exit_code != TN_EXIT_OK) { return exit_code; }
    if (outcome->stopped) { return STOPPED_EXIT; }
    return outcome->passed ? TN_EXIT_OK : TN_EXIT_ERROR;
}

static int work(struct attack_options *given)
{
    struct target target;
    struct outcome outcome = {0};
    struct plan plan;
    struct error error = {0};
    char dir[CHAOS_PATH_MAX];
    enum tn_status status = plan_read(given->plan, &plan, &error);
    if (status != TN_OK) { return command_failed(&error); }
    if (given->report != NULL) {
        snprintf(dir, sizeof dir, "%s", given->report);
    } else {
        snprintf(dir, sizeof dir, "runs/attack-%s-%" PRIu64, plan.name, given->seed.value);
    }
    status = target_find(&given->target, &target, &error);
    if (status == TN_OK) { status = attack(given, &target, dir, &plan, &outcome, &error); }
    plan_free(&plan);
    return status == TN_OK ? conclude(given, &outcome, dir) : command_failed(&error);
}

static void add_options(struct options *options, struct attack_options *given)
{
    target_options_add(options, &given->target);
    options_text(options, "plan", &given->plan, "NAME", CHAOS_PLAN_HELP);
    options_number(options, "seed", &given->seed, "N", "Seed that draws the faults; default 1.");
    options_number(options, "seconds", &given->seconds, "S",
                   "Inject no fault later than this; default: all that the plan draws.");
    options_text(options, "report", &given->report, "DIR",
                 "Folder for the history and the report; default runs/attack-PLAN-SEED.");
    output_option_text(options, &given->output);
    options_flag(options, 'q', "quiet", &given->quiet, "Print no progress on stderr.");
}

int chaos_attack(int argc, char **argv)
{
    struct attack_options given = {.plan = CHAOS_PLAN_DEFAULT, .seed = {.value = 1}};
    int exit_code = 0;
    struct options options = {
        .command = "chaos attack",
        .synopsis = TARGET_SYNOPSIS,
        .about =
            "Inject faults into a cluster that is already running, on any hosts, as far as its "
            "agents support it\n(--allow-chaos): kill, terminate, freeze, crash-loop, resign, "
            "pause. Other faults of the plan are\nskipped. The checks use what can be seen from "
            "outside. The job continues afterwards.\n"
            "Exit status: 0 all checks passed, 1 a check failed, 130 stopped.",
        .examples = "  tanist chaos attack --plan kill-chief --zk h1:2181,h2:2181 --cluster NAME\n"
                    "  tanist chaos attack --dir runs/fashion-mnist --seconds 60\n"};
    add_options(&options, &given);
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    return work(&given);
}
