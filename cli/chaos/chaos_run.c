/* cli/chaos/chaos_run.c: `tanist chaos run`: a campaign of rounds drawn from a plan and a seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/chaos/chaos.h"
#include "cli/chaos/chaos_session.h"

enum { OWN_OPTIONS = 7 };

struct run_options {
    const char *plan;
    struct option_number rounds, first;
};

static enum tn_status run_rounds(struct chaos_session *session, const struct run_options *given,
                                 struct error *error)
{
    enum tn_status status = TN_OK;
    uint64_t first = given->first.given ? given->first.value : 1;
    uint64_t count = given->rounds.given ? given->rounds.value : 1;
    for (uint64_t i = 0; status == TN_OK && i < count; i++) {
        struct schedule schedule = {0};
        bool kept = false;
        status = campaign_draw(session->campaign, (uint32_t)(first + i), &schedule, error);
        if (status == TN_OK) {
            status = chaos_session_round(session, (uint32_t)(first + i), &schedule, &kept, error);
        }
        schedule_free(&schedule);
    }
    return status;
}

static int work(struct chaos_session *session, const struct run_options *given)
{
    struct error error = {0};
    enum tn_status status =
        plan_read(given->plan != NULL ? given->plan : "kill-anything", &session->plan, &error);
    if (status == TN_OK) { status = chaos_session_open(session, &error); }
    if (status == TN_OK) { status = run_rounds(session, given, &error); }
    return chaos_session_conclude(session, status, &error);
}

int chaos_run(int argc, char **argv)
{
    struct chaos_session *session = calloc(1, sizeof *session);
    struct run_options given = {0};
    int exit_code = TN_EXIT_ERROR;
    if (session == NULL) { return exit_code; }
    struct chaos_options *common = &session->options;
    struct option rows[OWN_OPTIONS + CHAOS_OPTIONS] = {
        {"plan", 0, OPTION_TEXT, &given.plan, "NAME", NULL,
         "A plan: a file, or one of `tanist chaos list`; default kill-anything."},
        {"rounds", 0, OPTION_COUNT, &given.rounds, "N", NULL,
         "Attacks, each on a run of its own; default 1."},
        {"seed", 0, OPTION_COUNT, &common->seed, "N", NULL, "Draws the faults; default 1."},
        {"first", 0, OPTION_COUNT, &given.first, "N", NULL,
         "Number of the first round; default 1."},
        {"job", 0, OPTION_TEXT, &common->job, "JOB.json", NULL,
         "The job to attack; default: a small one on data of its own."},
        {"dir", 0, OPTION_TEXT, &common->dir, "DIR", NULL,
         "For histories, failed rounds and the report; default runs/chaos-PLAN-SEED."},
        chaos_output_option(common),
    };
    chaos_session_name(session, argc, argv);
    chaos_options_fill(common, rows + OWN_OPTIONS);
    struct options options = {
        .command = "chaos run",
        .synopsis = "[--plan NAME] [--rounds N] [OPTION]...",
        .about =
            "Attack a cluster of real processes on this machine and judge what comes of it: first "
            "a calm\n"
            "run, then rounds with the faults that the plan draws from the seed. A round that "
            "fails is\n"
            "kept whole, with the command that repeats it. As root each task has its own network.\n"
            "Exit status: 0 every round kept the promise, 1 one did not, 130 stopped.",
        .examples =
            "  tanist chaos run --plan kill-chief --rounds 5\n"
            "  tanist chaos run --plan everything --job examples/fashion-mnist.json --seed 7\n"
            "  tanist chaos run --plan my-plan.json --dir /tmp/x -o json\n",
        .list = rows,
        .count = OWN_OPTIONS + CHAOS_OPTIONS};
    if (options_parse(&options, argc, argv, &exit_code)) { exit_code = work(session, &given); }
    chaos_session_close(session);
    free(session);
    return exit_code;
}
