#include "cli/chaos/chaos_session.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/stop_signal.h"
#include "common/base/log.h"
#include "common/base/text.h"

void chaos_options_add(struct options *options, struct chaos_options *given)
{
    static const char *const networks[] = {"namespaces", "loopback", NULL};
    options_texts(options, "set", &given->set, "KEY=VALUE",
                  "Override a key of the job file, even one that the plan sets.");
    options_choice(options, 0, "network", &given->network, networks,
                   "Network of the tasks; default namespaces, if the machine allows it.");
    options_text(options, "baseline", &given->baseline, "HISTORY",
                 "Compare with the baseline run of another campaign of the same job, instead of a "
                 "new one: history.jsonl of one of its rounds.");
    options_flag(options, 0, "keep", &given->keep, "Keep the files of rounds that passed, too.");
    options_flag(options, 'q', "quiet", &given->quiet,
                 "Print only the outcome of each round on stderr.");
}

void chaos_options_add_skips(struct options *options, struct chaos_options *given)
{
    options_text(options, "allow-skips", &given->allow_skips, "NEED,...",
                 "A round passes without any fault if this machine lacks what its faults need, and "
                 "it is named here: network, bandwidth, shim, tmpfs, failpoints.");
}

/* The set of `enum need` that `text` names, separated by commas. */
static enum tn_status parse_needs(const char *text, unsigned *out, struct error *error)
{
    *out = 0;
    while (text != NULL && *text != '\0') {
        const size_t length = strcspn(text, ",");
        unsigned found = 0;
        for (unsigned i = 0; i < NEED_COUNT; i++) {
            const char *name = fault_need_name(i);
            if (strlen(name) == length && strncmp(name, text, length) == 0) { found = 1U << i; }
        }
        if (found == 0) {
            return error_set(error, TN_EINVAL,
                             "--allow-skips: \"%.*s\": give network, bandwidth, shim, tmpfs or "
                             "failpoints",
                             (int)length, text);
        }
        *out |= found;
        text += length + (text[length] == ',');
    }
    return TN_OK;
}

static void print_progress(void *ctx, int level, const char *text)
{
    const struct chaos_session *session = ctx;
    if (level > 0 && session->options.quiet) { return; }
    fprintf(stderr, "%s%s\n", level > 0 ? "   " : "", text);
}

void chaos_session_name(struct chaos_session *session, int argc, char **argv)
{
    assert(*session->command == '\0');
    size_t used = (size_t)snprintf(session->command, sizeof session->command, "tanist chaos");
    for (int i = 0; i < argc && used < sizeof session->command; i++) {
        bool plain = strpbrk(argv[i], " \t'\"$&;|<>*?()\\`!#~") == NULL;
        used += (size_t)snprintf(session->command + used, sizeof session->command - used,
                                 plain ? " %s" : " '%s'", argv[i]);
    }
}

enum tn_status chaos_session_open(struct chaos_session *session, struct error *error)
{
    const struct chaos_options *o = &session->options;
    assert(session->campaign == NULL);
    unsigned allowed_skips = 0;
    if (parse_needs(o->allow_skips, &allowed_skips, error) != TN_OK) { return TN_EINVAL; }
    ssize_t length = readlink("/proc/self/exe", session->program, sizeof session->program - 1);
    if (length <= 0) { return error_set(error, TN_EIO, "/proc/self/exe: %s", strerror(errno)); }
    session->program[length] = '\0';
    uint64_t seed = o->seed.given ? o->seed.value : 1;
    if (o->dir != NULL) {
        snprintf(session->dir, sizeof session->dir, "%s", o->dir);
    } else {
        snprintf(session->dir, sizeof session->dir, "runs/chaos-%s-%" PRIu64, session->plan.name,
                 seed);
    }
    /* Faults disturb our own connections, too: warnings about that are expected. */
    log_init(LOG_ERROR, LOG_TEXT, "chaos");
    session->stop = stop_on_signals();
    const struct campaign_config config = {.program = session->program,
                                           .dir = session->dir,
                                           .job_file = o->job,
                                           .sets = o->set.items,
                                           .set_count = o->set.count,
                                           .plan = &session->plan,
                                           .baseline = o->baseline,
                                           .command = session->command,
                                           .seed = seed,
                                           .lab = o->network == NULL ||
                                                  strcmp(o->network, "loopback") != 0,
                                           .allowed_skips = allowed_skips,
                                           .may_be_idle = o->may_be_idle,
                                           .keep = o->keep,
                                           .log = print_progress,
                                           .ctx = session,
                                           .stop = session->stop};
    return campaign_open(&config, &session->campaign, error);
}

void chaos_session_close(struct chaos_session *session)
{
    campaign_close(session->campaign);
    plan_free(&session->plan);
}

enum tn_status chaos_session_round(struct chaos_session *session, uint32_t round,
                                   const struct schedule *schedule, bool *passed,
                                   struct error *error)
{
    struct outcome outcome;
    assert(session->campaign != NULL);
    enum tn_status status = campaign_round(session->campaign, round, schedule, &outcome, error);
    if (status != TN_OK) { return status; }
    *passed = outcome.passed;
    session->totals.rounds++;
    session->totals.failed += !outcome.passed;
    session->totals.idle += outcome.passed && outcome.injected == 0;
    session->totals.faults += outcome.injected;
    session->totals.skipped += outcome.skipped;
    return TN_OK;
}

static int print_summary(const struct chaos_session *session)
{
    const struct chaos_totals *totals = &session->totals;
    char report[CHAOS_PATH_MAX + 16];
    assert(totals->failed + totals->idle <= totals->rounds);
    snprintf(report, sizeof report, "%s/report.html", session->dir);
    if (output_is_json(session->options.output)) {
        return output_json(json_pack("{s:i, s:s, s:i, s:i, s:i, s:i, s:i, s:s}", "version", 1,
                                     "plan", session->plan.name, "rounds", (int)totals->rounds,
                                     "broken", (int)totals->failed, "untested", (int)totals->idle,
                                     "faults", (int)totals->faults, "skipped", (int)totals->skipped,
                                     "report", report),
                           JSON_INDENT(2));
    }
    int length = printf("%u of %u rounds passed; %u fault%s injected, %u skipped; report: %s\n",
                        totals->rounds - totals->failed - totals->idle, totals->rounds,
                        totals->faults, text_plural(totals->faults), totals->skipped, report);
    return length > 0 ? TN_EXIT_OK : TN_EXIT_IO;
}

int chaos_session_conclude(struct chaos_session *session, enum tn_status status,
                           const struct error *error)
{
    struct error report_error;
    int exit_code = TN_EXIT_OK;
    if (session->totals.rounds > 0) {
        if (campaign_report(session->campaign, &report_error) != TN_OK) {
            exit_code = command_failed(&report_error);
        }
        int printed = session->options.output != NULL ? print_summary(session) : TN_EXIT_OK;
        if (exit_code == TN_EXIT_OK) { exit_code = printed; }
    }
    if (status == TN_EAGAIN && session->stop != NULL && *session->stop) {
        fprintf(stderr, "stopped by a signal\n");
        return STOPPED_EXIT;
    }
    if (status != TN_OK) { return command_failed(error); }
    if (exit_code != TN_EXIT_OK) { return exit_code; }
    return session->totals.failed > 0 ? TN_EXIT_ERROR : TN_EXIT_OK;
}
