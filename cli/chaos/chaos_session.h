/*
 * cli/chaos/chaos_session.h: what `tanist chaos run`, `replay` and `shrink` have alike: their
 * options, a campaign made of them, and how it is told.
 *
 * Threads: the main thread, the only one at the beginning.
 */
#ifndef CLI_CHAOS_CHAOS_SESSION_H
#define CLI_CHAOS_CHAOS_SESSION_H

#include "chaos/campaign.h"
#include "cli/options.h"

enum { CHAOS_OPTIONS = 4, CHAOS_PATH_MAX = 1024, CHAOS_COMMAND_MAX = 2048 };

struct chaos_options {
    const char *dir, *job, *output;
    struct option_texts set;
    struct option_number seed;
    bool keep, quiet;
    const char *network;
};

/* Fill CHAOS_OPTIONS rows of a command's table: those that all three have alike. */
void chaos_options_fill(struct chaos_options *options, struct option *rows);
/* -o, of those that print the summary. */
struct option chaos_output_option(struct chaos_options *options);

struct chaos_totals {
    uint32_t rounds, broken, faults, skipped;
};

struct chaos_session {
    struct chaos_options options;
    char program[CHAOS_PATH_MAX], dir[CHAOS_PATH_MAX];
    char command[CHAOS_COMMAND_MAX]; /* As it was given. */
    struct plan plan;                /* Owned. */
    struct campaign *campaign;
    struct chaos_totals totals;
    bool no_summary;          /* Something else goes to stdout. */
    const volatile int *stop; /* cli/stop_signal.h */
};

/* "tanist chaos " and the words of the command line. */
void chaos_session_name(struct chaos_session *session, int argc, char **argv);

/* From `options` and `plan` to a campaign whose calm run is done. SIGINT and SIGTERM from here on
 * end it. */
MUST_CHECK enum tn_status chaos_session_open(struct chaos_session *session, struct error *error);
void chaos_session_close(struct chaos_session *session);

/* One round; its outcome counts. */
MUST_CHECK enum tn_status chaos_session_round(struct chaos_session *session, uint32_t round,
                                              const struct schedule *schedule, bool *kept,
                                              struct error *error);

/* Write the reports and print what it came to. The program's exit code: 0 every round kept the
 * promise, 1 not, 130 stopped by the user, or that of `status` with its `error`. */
int chaos_session_conclude(struct chaos_session *session, enum tn_status status,
                           const struct error *error);

#endif
