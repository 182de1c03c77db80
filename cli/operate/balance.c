#include "cli/operate/balance.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>

#include "agent/observe/step_poller.h"
#include "cli/cluster_read.h"
#include "common/base/clock.h"
#include "common/base/minmax.h"
#include "common/cluster/row_balance.h"

enum { ANSWER_MS = 3000, POLL_MS = 2 };

/* ------------------------------------------------------------- the answers */

/* The present ps of the cluster, and what they have measured. */
struct measurement {
    const struct spec *spec;
    uint64_t generation;
    struct step_poller *poller;
    struct row_loads *parts; /* [spec->ps] */
    uint64_t *loads;         /* [ROW_BUCKETS] Of all ps. */
};

static enum tn_status ask(struct measurement *all, struct zk_sync *sync, const char *cluster,
                          struct error *error)
{
    for (uint32_t ps = 0; ps < all->spec->ps; ps++) {
        struct member member;
        const struct task task = {.role = ROLE_PS, .index = ps};
        const enum tn_status status = cluster_read_member(sync, cluster, task, &member, error);
        if (status == TN_ENOENT) {
            return error_set(error, TN_EUNHEALTHY,
                             "ps:%" PRIu32 " is not running: try again when the job trains", ps);
        }
        if (status != TN_OK) { return status; }
        step_poller_ask(all->poller, ps, member.address, member.incarnation);
    }
    step_poller_ask_buckets(all->poller);
    return TN_OK;
}

/* Returns the first ps that has not answered, or their number. */
static uint32_t collect(struct measurement *all)
{
    uint32_t ps = 0;
    while (ps < all->spec->ps &&
           step_poller_get_buckets(all->poller, ps, all->generation, &all->parts[ps])) {
        ps++;
    }
    return ps;
}

static enum tn_status wait_answers(struct measurement *all, struct error *error)
{
    const uint64_t until_ms = clock_monotonic_ms() + ANSWER_MS;
    uint32_t answered = collect(all);
    while (answered < all->spec->ps && clock_monotonic_ms() < until_ms) {
        (void)poll(NULL, 0, POLL_MS);
        answered = collect(all);
    }
    if (answered == all->spec->ps) { return TN_OK; }
    return error_set(error, TN_EUNHEALTHY,
                     "ps:%" PRIu32 " did not answer within %d ms: try again when the job trains",
                     answered, ANSWER_MS);
}

/* ---------------------------------------------------------------- the loads */

/* Whether ps `ps` has the part that /spec names, and has counted. */
static enum tn_status check_part(const struct measurement *all, uint32_t ps, struct error *error)
{
    const struct row_loads *part = &all->parts[ps];
    const struct row_part wanted = row_part_of(&all->spec->rows, all->spec->ps, ps);
    if (part->count == 0) {
        return error_set(error, TN_EINVAL, "the model has no tables, so there is nothing to move");
    }
    if (part->first == wanted.first && part->first + part->count == wanted.end &&
        part->updates > 0) {
        return TN_OK;
    }
    return error_set(error, TN_EUNHEALTHY,
                     "ps:%" PRIu32 " has started just now and has measured no load: try again", ps);
}

static enum tn_status add_up(struct measurement *all, struct error *error)
{
    uint64_t updates = 0;
    for (uint32_t ps = 0; ps < all->spec->ps; ps++) {
        const enum tn_status status = check_part(all, ps, error);
        if (status != TN_OK) { return status; }
        updates = u64_max(updates, all->parts[ps].updates);
    }
    for (uint32_t ps = 0; ps < all->spec->ps; ps++) {
        row_loads_add(&all->parts[ps], updates, all->loads);
    }
    return TN_OK;
}

static enum tn_status decide(const struct measurement *all, uint32_t ps, struct balance *out,
                             struct error *error)
{
    const struct spec *spec = all->spec;
    *out = (struct balance){
        .rows = row_balance(all->loads, ps),
        .imbalance_before = row_imbalance(all->loads, &spec->rows, spec->ps),
    };
    out->imbalance = row_imbalance(all->loads, &out->rows, ps);
    if (isnan(out->imbalance)) {
        return error_set(error, TN_EUNHEALTHY,
                         "no row has been looked up since the ps have started: try again when the "
                         "job trains");
    }
    if (ps != spec->ps || out->imbalance < out->imbalance_before) { return TN_OK; }
    return error_set(error, TN_EINVAL,
                     "the rows are balanced already: the busiest ps has %.2f times the mean load, "
                     "and no other borders give less",
                     out->imbalance_before);
}

static enum tn_status measure(struct measurement *all, struct zk_sync *sync, const char *cluster,
                              struct error *error)
{
    struct run run;
    enum tn_status status = cluster_read_run(sync, cluster, &run, error);
    if (status != TN_OK) { return status; }
    all->generation = run.generation;
    status = step_poller_open(all->spec->key, &all->poller, error);
    if (status != TN_OK) { return status; }
    status = ask(all, sync, cluster, error);
    if (status == TN_OK) { status = wait_answers(all, error); }
    step_poller_close(all->poller);
    return status == TN_OK ? add_up(all, error) : status;
}

enum tn_status balance_measure(struct zk_sync *sync, const char *cluster, const struct spec *spec,
                               uint32_t ps, struct balance *out, struct error *error)
{
    struct measurement all = {
        .spec = spec,
        .parts = calloc(spec->ps, sizeof *all.parts),
        .loads = calloc(ROW_BUCKETS, sizeof *all.loads),
    };
    enum tn_status status = TN_OK;
    assert(spec->ps >= 1 && ps >= 1 && ps <= PS_MAX);
    if (all.parts == NULL || all.loads == NULL) {
        status = error_set(error, TN_ENOMEM, "out of memory for the loads of ps");
    }
    if (status == TN_OK) { status = measure(&all, sync, cluster, error); }
    if (status == TN_OK) { status = decide(&all, ps, out, error); }
    free(all.parts);
    free(all.loads);
    return status;
}
