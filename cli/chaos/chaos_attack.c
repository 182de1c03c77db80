/* cli/chaos/chaos_attack.c: `tanist chaos attack`: faults for a cluster that runs already,
 * anywhere. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/attack.h"
#include "chaos/history/history.h"
#include "cli/chaos/chaos.h"
#include "cli/commands.h"
#include "cli/stop_signal.h"
#include "cli/target.h"
#include "common/base/json_codec.h"

enum { ATTACK_OPTIONS = TARGET_OPTIONS + 6, ATTACK_PATH_MAX = 1024 };

struct attack_options {
    const char *plan, *report, *output;
    struct option_number seed, seconds;
    bool quiet;
};

static void say(void *ctx, const char *text)
{
    const struct attack_options *given = ctx;
    if (!given->quiet) { fprintf(stderr, "   %s\n", text); }
}

/* How far it was by its last checkpoint: near enough to share out what is left. */
static uint64_t step_of(struct zk_sync *sync, const char *cluster)
{
    char path[256];
    struct zk_sync_data data;
    struct run run = {0};
    znode_path(path, cluster, "run");
    if (zk_sync_read(sync, path, &data, NULL) != TN_OK) { return 0; }
    bool read = run_decode(data.data, data.size, &run, NULL) == TN_OK;
    free(data.data);
    return read ? run.committed_step : 0;
}

static enum tn_status attack(struct attack_options *given, struct target *target, const char *dir,
                             const struct plan *plan, struct outcome *outcome, struct error *error)
{
    struct zk_sync *sync = NULL;
    struct spec spec = {0};
    struct job job;
    struct remote remote;
    enum tn_status status = target_open(target, &sync, &spec, &job, error);
    if (status != TN_OK) { return status; }
    free(spec.job_json);
    const struct attack_config config = {.remote = &remote,
                                         .job = &job,
                                         .plan = plan,
                                         .seed = given->seed.given ? given->seed.value : 1,
                                         .seconds = (uint32_t)given->seconds.value,
                                         .dir = dir,
                                         .step = step_of(sync, target->cluster),
                                         .log = say,
                                         .ctx = given,
                                         .stop = stop_on_signals()};
    zk_sync_close(sync);
    remote_init(&remote, target->connect, target->cluster,
                *target->credentials ? target->credentials : NULL);
    status = attack_run(&config, outcome, error);
    remote_close(&remote);
    return status;
}

static int conclude(const struct attack_options *given, const struct outcome *outcome,
                    const char *dir)
{
    char report[ATTACK_PATH_MAX + 16];
    bool good = true;
    snprintf(report, sizeof report, "%s/report.html", dir);
    if (strcmp(given->output, "json") == 0) {
        json_t *object = json_pack("{s:i, s:b, s:i, s:i, s:f, s:o, s:s}", "version", 1, "kept",
                                   (int)outcome->passed, "faults", (int)outcome->injected,
                                   "skipped", (int)outcome->skipped, "seconds", outcome->seconds,
                                   "broken", json_text(outcome->failed_checks), "report", report);
        good = object != NULL && json_dumpf(object, stdout, JSON_INDENT(2)) == 0 &&
               putchar('\n') != EOF;
        json_decref(object);
    } else {
        good = printf("the promise was %s%s; %u faults, %u not done; report: %s\n",
                      outcome->passed ? "kept" : "broken: ", outcome->failed_checks,
                      outcome->injected, outcome->skipped, report) > 0;
    }
    if (!good) { return TN_EXIT_IO; }
    if (outcome->stopped) { return STOPPED_EXIT; }
    return outcome->passed ? TN_EXIT_OK : TN_EXIT_ERROR;
}

static int work(struct attack_options *given, const struct target_options *where)
{
    struct target *target = calloc(1, sizeof *target);
    struct outcome outcome = {0};
    struct plan plan;
    struct error error = {0};
    char dir[ATTACK_PATH_MAX];
    if (target == NULL) { return TN_EXIT_ERROR; }
    enum tn_status status = plan_read(given->plan, &plan, &error);
    if (status == TN_OK) {
        if (given->report != NULL) {
            snprintf(dir, sizeof dir, "%s", given->report);
        } else {
            snprintf(dir, sizeof dir, "runs/attack-%s-%" PRIu64, plan.name,
                     given->seed.given ? given->seed.value : 1);
        }
        status = target_find(where, target, &error);
        if (status == TN_OK) { status = attack(given, target, dir, &plan, &outcome, &error); }
        plan_free(&plan);
    }
    free(target);
    return status == TN_OK ? conclude(given, &outcome, dir) : command_failed(&error);
}

int chaos_attack(int argc, char **argv)
{
    static const char *const outputs[] = {"text", "json", NULL};
    struct attack_options given = {.plan = "kill-anything", .output = "text"};
    struct target_options where = {0};
    struct option rows[ATTACK_OPTIONS];
    int exit_code = 0;
    const struct option own[] = {
        {"plan", 0, OPTION_TEXT, &given.plan, "NAME", NULL,
         "A plan: a file, or one of `tanist chaos list`; default kill-anything."},
        {"seed", 0, OPTION_COUNT, &given.seed, "N", NULL, "Draws the faults; default 1."},
        {"seconds", 0, OPTION_COUNT, &given.seconds, "S", NULL,
         "No fault later than that; default: all that the plan draws."},
        {"report", 0, OPTION_TEXT, &given.report, "DIR", NULL,
         "For the history and the report; default runs/attack-PLAN-SEED."},
        {"output", 'o', OPTION_CHOICE, &given.output, "text|json", outputs,
         "Form of the summary on stdout; default text."},
        {"quiet", 'q', OPTION_FLAG, &given.quiet, NULL, NULL, "Do not tell what is done."},
    };
    target_options(&where, rows);
    memcpy(rows + TARGET_OPTIONS, own, sizeof own);
    struct options options = {
        .command = "chaos attack",
        .synopsis = "--dir DIR | --zk CONNECT [--cluster NAME] [OPTION]...",
        .about = "Attack a cluster that runs already, on whatever hosts, with what its agents do "
                 "for us\n(--allow-chaos): kill, terminate, freeze, crash-loop, resign, pause. "
                 "Other faults of the plan are\nskipped. Judged is what can be seen from outside. "
                 "Its job goes on.\n"
                 "Exit status: 0 the promise was kept, 1 it was not, 130 stopped.",
        .examples = "  tanist chaos attack --plan kill-chief --zk h1:2181,h2:2181 --cluster NAME\n"
                    "  tanist chaos attack --dir runs/fashion-mnist --seconds 60\n",
        .list = rows,
        .count = ATTACK_OPTIONS};
    if (!options_parse(&options, argc, argv, &exit_code)) { return exit_code; }
    return work(&given, &where);
}
