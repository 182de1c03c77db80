/* cli/chaos/chaos_replay.c: `tanist chaos replay`: inject the faults of a recorded round again. */
#include "cli/chaos/chaos_replay.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chaos/history/history.h"
#include "cli/chaos/chaos.h"
#include "cli/output.h"

static enum tn_status write_job(const json_t *job, struct recorded_round *out, struct error *error)
{
    assert(json_is_object(job));
    const char *folder = getenv("TMPDIR");
    snprintf(out->job_file, sizeof out->job_file, "%.900s/tanist-replay-XXXXXX",
             folder != NULL && *folder ? folder : "/tmp");
    int fd = mkstemp(out->job_file);
    if (fd < 0) {
        enum tn_status status =
            error_set(error, TN_EIO, "cannot create %s: %s", out->job_file, strerror(errno));
        out->job_file[0] = '\0';
        return status;
    }
    int failed = json_dumpfd(job, fd, JSON_INDENT(2));
    close(fd);
    return failed ? error_set(error, TN_EIO, "cannot write %s", out->job_file) : TN_OK;
}

static enum tn_status read_round(const char *history, struct chaos_session *session,
                                 struct recorded_round *out, struct error *error)
{
    json_t *lines = NULL;
    *out = (struct recorded_round){0};
    enum tn_status status = history_read(history, &lines, error);
    if (status != TN_OK) { return status; }
    const json_t *begin = json_array_get(lines, 0);
    json_t *plan = json_object_get(begin, "plan");
    const json_t *job = json_object_get(begin, "job");
    out->seed = (uint64_t)json_integer_value(json_object_get(begin, "seed"));
    out->round = (uint32_t)json_integer_value(json_object_get(begin, "round"));
    if (!json_is_object(plan) || !json_is_object(job)) {
        status = error_set(error, TN_EINVAL,
                           "it does not begin with a plan and a job: give a history.jsonl of "
                           "`tanist chaos run`");
    }
    if (status == TN_OK) { status = plan_from_json(plan, &session->plan, error); }
    /* The recorded job already has what the plan sets, and what --set changed after that. */
    if (status == TN_OK) { session->plan.set_count = 0; }
    if (status == TN_OK) { status = history_schedule(lines, &out->schedule, error); }
    if (status == TN_OK) { status = write_job(job, out, error); }
    json_decref(lines);
    return status == TN_OK ? TN_OK : error_context(error, "%s", history);
}

void recorded_round_free(struct recorded_round *round)
{
    if (*round->job_file) { (void)unlink(round->job_file); }
    schedule_free(&round->schedule);
}

enum tn_status recorded_round_open(const char *history, struct chaos_session *session,
                                   struct recorded_round *out, struct error *error)
{
    enum tn_status status = read_round(history, session, out, error);
    if (status == TN_OK) {
        session->options.job = out->job_file;
        session->options.seed = (struct option_number){.given = true, .value = out->seed};
        status = chaos_session_open(session, error);
    }
    if (status != TN_OK) { recorded_round_free(out); }
    return status;
}

static int work(struct chaos_session *session, const char *history, uint64_t times)
{
    struct error error = {0};
    struct recorded_round recorded;
    enum tn_status status = recorded_round_open(history, session, &recorded, &error);
    if (status != TN_OK) { return chaos_session_conclude(session, status, &error); }
    for (uint64_t i = 0; status == TN_OK && i < times; i++) {
        bool passed = false;
        uint32_t number = recorded.round + (uint32_t)i;
        status = chaos_session_round(session, number, &recorded.schedule, &passed, &error);
    }
    int exit_code = chaos_session_conclude(session, status, &error);
    recorded_round_free(&recorded);
    return exit_code;
}

int chaos_replay(int argc, char **argv)
{
    struct chaos_session *session = calloc(1, sizeof *session);
    struct option_number times = {.value = 1};
    int exit_code = TN_EXIT_ERROR;
    if (session == NULL) { return exit_code; }
    session->options.dir = "runs/replay";
    struct options options = {
        .command = "chaos replay",
        .synopsis = "HISTORY [OPTION]...",
        .about =
            "Inject the faults of a recorded round again: the same job, the same faults, at "
            "the same steps and\ntimes. Real clusters are not deterministic: use --times 20 to "
            "see how often the round fails.\n"
            "Exit status: as of `tanist chaos run`.",
        .examples =
            "  tanist chaos replay runs/chaos-everything-1/round-0003/history.jsonl --times 5 "
            "--dir /tmp/again\n",
        .arguments_least = 1,
        .arguments_most = 1};
    options_number(&options, "times", &times, "N", "How often to repeat the round; default 1.");
    options_text(&options, "dir", &session->options.dir, "DIR",
                 "Folder for histories, failed rounds and the report; default runs/replay.");
    output_option_text(&options, &session->options.output);
    chaos_options_add_skips(&options, &session->options);
    chaos_options_add(&options, &session->options);
    chaos_session_name(session, argc, argv);
    if (options_parse(&options, argc, argv, &exit_code)) {
        exit_code = work(session, options.arguments[0], times.value);
    }
    chaos_session_close(session);
    free(session);
    return exit_code;
}
