/*
 * chaos/campaign.h: rounds of attacks on one job, each on a cluster of its own, compared with a
 * calm run of the same job.
 *
 *   DIR/job.json            the job, with what the plan and the user set
 *   DIR/networks.json       where there is a lab
 *   DIR/calm/               a round without faults: history.jsonl
 *   DIR/round-0001/         history.jsonl; of a round that failed also run/ (logs, checkpoints,
 *                           ZooKeeper), run.log, scratch/, what the judge saw (orders.txt,
 *                           znodes.txt) and REPEAT, the command that repeats it
 *   DIR/report.html, report.json
 *
 * Threads: the main thread, which must be the only one at campaign_open(): it may change the
 * process's network and mount namespace, for good.
 */
#ifndef CHAOS_CAMPAIGN_H
#define CHAOS_CAMPAIGN_H

#include "chaos/inject/probe.h"
#include "chaos/plan/plan.h"
#include "common/cluster/job.h"

struct campaign_config {
    const char *program;     /* Path of tanist. */
    const char *dir;         /* Is made; TN_EEXIST if it holds a campaign. */
    const char *job_file;    /* NULL: a small job of our own. */
    const char *const *sets; /* KEY=VALUE, after the plan's. */
    size_t set_count;
    const struct plan *plan;
    const char *command; /* That the user gave, for the report. */
    uint64_t seed;
    bool lab;  /* Use network namespaces where the machine allows it. */
    bool keep; /* Also the folders of rounds that passed. */
    /* A line for people; `level` 0: a round's outcome, 1: what happens in it. */
    void (*say)(void *ctx, int level, const char *text);
    void *ctx;
    const volatile int *stop; /* Becomes not 0 when the user wants the end. */
};

struct campaign;

/* Probe the machine, make the folder and the lab, do the calm run. TN_EUNHEALTHY: the calm run
 * failed; TN_EINVAL: the job or a setting; TN_EIO, TN_ENOSPC. */
MUST_CHECK enum tn_status campaign_open(const struct campaign_config *config, struct campaign **out,
                                        struct error *error);
/* NULL is allowed. */
void campaign_close(struct campaign *campaign);

/* The faults that the plan wants in this round. */
MUST_CHECK enum tn_status campaign_draw(const struct campaign *campaign, uint32_t round,
                                        struct schedule *out, struct error *error);

struct round_outcome {
    bool kept;              /* The promise. */
    uint32_t done, skipped; /* Faults. */
    double seconds;
    char broken[400]; /* The checks that failed, in words. */
    char folder[1024];
};

/* One attack. TN_OK also when the promise was broken; TN_EAGAIN: the user wants the end; others:
 * the harness itself could not do it. */
MUST_CHECK enum tn_status campaign_round(struct campaign *campaign, uint32_t round,
                                         const struct schedule *schedule,
                                         struct round_outcome *outcome, struct error *error);

/* Write the reports of all rounds so far. */
MUST_CHECK enum tn_status campaign_report(const struct campaign *campaign, struct error *error);

#endif
