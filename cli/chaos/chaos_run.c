/* cli/chaos/chaos_run.c: `tanist chaos run`: a campaign of rounds whose faults a plan draws from a
 * seed. */
#include <assert.h>
#include <stdlib.h>

#include "cli/chaos/chaos.h"
#include "cli/chaos/chaos_session.h"
#include "cli/commands.h"
#include "cli/output.h"

struct run_options {
    const char *plan;
    struct option_number rounds, first; /* Number of rounds; number of the first. */
};

static enum tn_status run_rounds(struct chaos_session *session, const struct run_options *given,
                                 struct error *error)
{
    enum tn_status status = TN_OK;
    assert(session->campaign != NULL);
    for (uint64_t i = 0; status == TN_OK && i < given->rounds.value; i++) {
        struct schedule schedule = {0};
        const uint32_t round = (uint32_t)(given->first.value + i);
        bool passed = false;
        status = campaign_draw(session->campaign, round, &schedule, error);
        if (status == TN_OK) {
            status = chaos_session_round(session, round, &schedule, &passed, error);
        }
        schedule_free(&schedule);
    }
    return status;
}

static int work(struct chaos_session *session, const struct run_options *given)
{
    struct error error = {0};
    if (given->rounds.value == 0) {
        error_set(&error, TN_EINVAL, "--rounds is 0, which tests nothing: give 1 or more");
        return command_failed(&error);
    }
    enum tn_status status = plan_read(given->plan, &session->plan, &error);
    if (status == TN_OK) { status = chaos_session_open(session, &error); }
    if (status == TN_OK) { status = run_rounds(session, given, &error); }
    return chaos_session_conclude(session, status, &error);
}

static void add_options(struct options *options, struct run_options *given,
                        struct chaos_options *common)
{
    options_text(options, "plan", &given->plan, "NAME", CHAOS_PLAN_HELP);
    options_number(options, "rounds", &given->rounds, "N",
                   "Number of rounds, each with a new run of the job; default 1.");
    options_number(options, "seed", &common->seed, "N", "Seed that draws the faults; default 1.");
    options_number(options, "first", &given->first, "N", "Number of the first round; default 1.");
    options_text(options, "job", &common->job, "JOB.json",
                 "Job to run; default: a small one on synthetic data.");
    options_text(options, "dir", &common->dir, "DIR",
                 "Folder for histories, failed rounds and the report; default "
                 "runs/chaos-PLAN-SEED.");
    output_option_text(options, &common->output);
    chaos_options_add_skips(options, common);
    chaos_options_add(options, common);
}

int chaos_run(int argc, char **argv)
{
    struct chaos_session *session = calloc(1, sizeof *session);
    struct run_options given = {
        .plan = CHAOS_PLAN_DEFAULT, .rounds = {.value = 1}, .first = {.value = 1}};
    int exit_code = TN_EXIT_ERROR;
    if (session == NULL) { return exit_code; }
    struct options options = {
        .command = "chaos run",
        .synopsis = "[--plan NAME] [--rounds N] [OPTION]...",
        .about =
            "Test a cluster of real processes on this machine: first a baseline run without "
            "faults, "
            "then rounds\nwith the faults that the plan draws from the seed. Each round is checked "
            "against the baseline. A round\nthat fails is kept whole, with the command that "
            "repeats "
            "it. As root, each task gets its own network\nnamespace.\n"
            "Exit status: 0 every round passed, 1 a round failed or no fault was injected in it, "
            "130 "
            "stopped.",
        .examples =
            "  tanist chaos run --plan kill-chief --rounds 5\n"
            "  tanist chaos run --plan everything --job examples/fashion-mnist.json --seed 7\n"
            "  tanist chaos run --plan my-plan.json --dir /tmp/x -o json\n"};
    add_options(&options, &given, &session->options);
    chaos_session_name(session, argc, argv);
    if (options_parse(&options, argc, argv, &exit_code)) { exit_code = work(session, &given); }
    chaos_session_close(session);
    free(session);
    return exit_code;
}
