/*
 * chaos/campaign.h: a baseline run of a job and rounds, each of which runs the job under faults on
 * a cluster of its own and is compared with the baseline run.
 *
 *   DIR/job.json            the job, with the settings of the plan and of the user
 *   DIR/networks.json       the network namespaces, if there are any
 *   DIR/baseline/           the baseline run: history.jsonl; nothing if that of another campaign is
 *                           used
 *   DIR/round-0001/         history.jsonl; of a round that failed also run/ (logs, checkpoints,
 *                           ZooKeeper), run.log, scratch/, what the checker saw (orders.txt,
 *                           znodes.txt) and REPEAT, the commands that repeat and shrink it
 *   DIR/report.html, report.json
 *
 * Threads: the main thread, which must be the only one at campaign_open(): it may change the
 * process's network and mount namespaces, permanently.
 */
#ifndef CHAOS_CAMPAIGN_H
#define CHAOS_CAMPAIGN_H

#include "chaos/inject/probe.h"
#include "chaos/outcome.h"
#include "chaos/plan/plan.h"
#include "common/job/job.h"

struct campaign_config {
    const char *program;     /* Path of tanist. */
    const char *dir;         /* Is created; TN_EEXIST if it holds a campaign. */
    const char *job_file;    /* NULL: a small built-in job. */
    const char *const *sets; /* KEY=VALUE, after the plan's. */
    size_t set_count;
    const struct plan *plan;
    const char *baseline; /* The history of a round whose baseline run is used; NULL: a new one. */
    const char *command;  /* The user's, for the report. */
    uint64_t seed;
    bool lab;               /* Use network namespaces if the machine allows it. */
    unsigned allowed_skips; /* A set of `enum need`: chaos/judge/verdict.h. */
    bool may_be_idle;       /* Rounds in which no fault was injected are judged as well. */
    bool keep;              /* Keep the folders of rounds that passed too. */
    /* A line for people; `level` 0: a round's outcome, 1: what happens in it. */
    void (*log)(void *ctx, int level, const char *text);
    void *ctx;
    const volatile int *stop; /* Not 0: a signal asks to stop. */
};

struct campaign;

/* Probe the machine, create the folder and the network namespaces, do the baseline run or read that
 * of another campaign. TN_EUNHEALTHY: the baseline run failed; TN_EINVAL: the job or a setting is
 * invalid, or `baseline` is of another job; TN_ENOENT: `baseline` does not exist; TN_EIO,
 * TN_ENOSPC. */
MUST_CHECK enum tn_status campaign_open(const struct campaign_config *config, struct campaign **out,
                                        struct error *error);
/* NULL is allowed. */
void campaign_close(struct campaign *campaign);

/* Draw the schedule of a round. */
MUST_CHECK enum tn_status campaign_draw(const struct campaign *campaign, uint32_t round,
                                        struct schedule *out, struct error *error);

/* Run one round. TN_OK also when it failed; TN_EAGAIN: the user wants to stop; others: the harness
 * failed. */
MUST_CHECK enum tn_status campaign_round(struct campaign *campaign, uint32_t round,
                                         const struct schedule *schedule, struct outcome *outcome,
                                         struct error *error);

/* Write the reports on all rounds so far. */
MUST_CHECK enum tn_status campaign_report(const struct campaign *campaign, struct error *error);

#endif
