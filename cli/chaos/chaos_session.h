/*
 * cli/chaos/chaos_session.h: what `tanist chaos run`, `replay` and `shrink` share: options, the
 * campaign, progress and summary.
 *
 * Threads: the main thread, which must be the only one at chaos_session_open().
 */
#ifndef CLI_CHAOS_CHAOS_SESSION_H
#define CLI_CHAOS_CHAOS_SESSION_H

#include "chaos/campaign.h"
#include "cli/options.h"

enum { CHAOS_PATH_MAX = 1024, CHAOS_COMMAND_MAX = 2048 };

#define CHAOS_PLAN_DEFAULT "kill-anything"
#define CHAOS_PLAN_HELP                                                                            \
    "Plan: a file, or a name from `tanist chaos list`; default " CHAOS_PLAN_DEFAULT "."

struct chaos_options {
    const char *dir, *job, *output, *network; /* `output` NULL: no summary on stdout. */
    const char *baseline;                     /* The history of a round; NULL: a new run. */
    const char *allow_skips;                  /* Names of needs, separated by commas; NULL: none. */
    struct option_texts set;
    struct option_number seed;
    bool keep, quiet;
    bool may_be_idle; /* chaos/campaign.h */
};

/* Add the options that all three commands have: --set, --network, --baseline, --keep, --quiet. The
 * commands add the others themselves. */
void chaos_options_add(struct options *options, struct chaos_options *given);

struct chaos_totals {
    uint32_t rounds, failed; /* `failed` of all `rounds`. */
    uint32_t idle;           /* Rounds that did not fail, but in which no fault was injected. */
    uint32_t faults, skipped;
};

struct chaos_session {
    struct chaos_options options;
    char program[CHAOS_PATH_MAX], dir[CHAOS_PATH_MAX];
    char command[CHAOS_COMMAND_MAX]; /* The command line. */
    struct plan plan;                /* Owned. */
    struct campaign *campaign;
    struct chaos_totals totals;
    const volatile int *stop; /* cli/stop_signal.h */
};

/* Keep the command line, for the report. */
void chaos_session_name(struct chaos_session *session, int argc, char **argv);

/* Add --allow-skips, for commands that judge rounds. */
void chaos_options_add_skips(struct options *options, struct chaos_options *given);

/* Begin a campaign with `options` and `plan`, and run the baseline. SIGINT and SIGTERM end the
 * campaign from then on. Errors are those of campaign_open(). */
MUST_CHECK enum tn_status chaos_session_open(struct chaos_session *session, struct error *error);
void chaos_session_close(struct chaos_session *session);

/* Run a round and add its outcome to the totals. `*passed`: all checks passed. Errors are those of
 * campaign_round(). */
MUST_CHECK enum tn_status chaos_session_round(struct chaos_session *session, uint32_t round,
                                              const struct schedule *schedule, bool *passed,
                                              struct error *error);

/* Write the reports and print the summary. Returns the exit code: 0 if no round has failed, 1 if
 * one has, 130 if the user has stopped the campaign, or that of `status`, whose `error` is
 * reported. */
int chaos_session_conclude(struct chaos_session *session, enum tn_status status,
                           const struct error *error);

#endif
