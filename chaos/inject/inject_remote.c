/* chaos/inject/inject_remote.c: the faults that need no power on any host: chaos/cluster/remote.h.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/cluster/remote.h"
#include "common/base/clock.h"

enum { LOOK_MS = 100, TEXT_END = 120, RESUME_TRIES = 3 };

/* Who was struck, to be thawed or struck again. */
struct struck {
    uint32_t count;
    struct member members[TASKS_MAX];
    uint64_t look_at_ms;
    uint32_t kills;
};

static void tell(struct strike *strike, const struct member *member)
{
    char task[TASK_NAME_MAX];
    size_t used = strlen(strike->text);
    task_format(member->task, ':', task, sizeof task);
    if (strike->target_count < TARGETS_MAX) {
        snprintf(strike->targets[strike->target_count++], PLACE_NAME_MAX, "%.*s",
                 PLACE_NAME_MAX - 1, task);
    }
    if (used + TEXT_END < sizeof strike->text) {
        snprintf(strike->text + used, sizeof strike->text - used, "%s%s (pid %" PRIu64 " on %s)",
                 strike->text[used - 1] == ' ' ? "" : ", ", task, member->pid, member->host);
    }
}

static enum tn_status strike_one(struct target_cluster *cluster, struct strike *strike,
                                 const char *task, int number, struct struck *struck,
                                 struct error *error)
{
    struct member *member = &struck->members[struck->count];
    enum tn_status status = remote_find(cluster->remote, task, member, error);
    if (status == TN_OK) { status = remote_signal(cluster->remote, member, number, error); }
    if (status != TN_OK) { return status; }
    struck->count++;
    tell(strike, member);
    return TN_OK;
}

/* "everything" is every node. One of them that is not there now is none the less struck down. */
static enum tn_status strike_all(struct target_cluster *cluster, struct strike *strike, int number,
                                 struct struck *struck, struct error *error)
{
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; i < cluster->count && status == TN_OK; i++) {
        if (!cluster->places[i].is_node) { continue; }
        status = strike_one(cluster, strike, cluster->places[i].name, number, struck, error);
        if (status == TN_EAGAIN) { status = TN_OK; }
    }
    if (status == TN_OK && struck->count == 0) {
        status = error_set(error, TN_EAGAIN, "nobody is there now");
    }
    return status;
}

static enum tn_status strike_with(struct target_cluster *cluster, struct strike *strike, int number,
                                  const char *name, struct error *error)
{
    const char *whom = strike->injection.whom;
    struct task task;
    const bool one = strcmp(whom, "chief") == 0 || task_parse(whom, &task);
    if (!one && strcmp(whom, "everything") != 0) {
        return error_set(error, TN_ENOTSUP, "%s is out of reach: ZooKeeper reaches nodes only",
                         whom);
    }
    struct struck *struck = calloc(1, sizeof *struck);
    if (struck == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    strike->target_count = 0;
    snprintf(strike->text, sizeof strike->text, "%s to ", name);
    enum tn_status status = one ? strike_one(cluster, strike, whom, number, struck, error)
                                : strike_all(cluster, strike, number, struck, error);
    if (status == TN_OK) {
        strike->state = struck;
    } else {
        free(struck);
    }
    return status;
}

static void forget(struct strike *strike)
{
    free(strike->state);
    strike->state = NULL;
}

/* ------------------------------------------------------------- one timeline_fault */

static enum tn_status begin_kill(struct target_cluster *cluster, struct strike *strike,
                                 struct error *error)
{
    enum tn_status status = strike_with(cluster, strike, SIGKILL, "SIGKILL", error);
    forget(strike);
    return status;
}

static enum tn_status begin_terminate(struct target_cluster *cluster, struct strike *strike,
                                      struct error *error)
{
    enum tn_status status = strike_with(cluster, strike, SIGTERM, "SIGTERM", error);
    forget(strike);
    return status;
}

const struct injector injector_remote_kill = {.begin = begin_kill};
const struct injector injector_remote_terminate = {.begin = begin_terminate};

/* ------------------------------------------------------------- freeze */

static enum tn_status begin_freeze(struct target_cluster *cluster, struct strike *strike,
                                   struct error *error)
{
    return strike_with(cluster, strike, SIGSTOP, "SIGSTOP", error);
}

/* Who is dead by now is not meant: the order names its incarnation. */
static void end_freeze(struct target_cluster *cluster, struct strike *strike)
{
    struct struck *struck = strike->state;
    struct error error;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < struck->count; i++) {
        taken += remote_signal(cluster->remote, &struck->members[i], SIGCONT, &error) == TN_OK;
    }
    snprintf(strike->text, sizeof strike->text, "SIGCONT: %u of %u orders were taken", taken,
             struck->count);
    forget(strike);
}

const struct injector injector_remote_freeze = {.begin = begin_freeze, .end = end_freeze};

/* ------------------------------------------------------------- crash loop */

static enum tn_status begin_crash_loop(struct target_cluster *cluster, struct strike *strike,
                                       struct error *error)
{
    enum tn_status status = strike_with(cluster, strike, SIGKILL, "SIGKILL of each life", error);
    struct struck *struck = strike->state;
    if (status == TN_OK) { struck->kills = 1; }
    return status;
}

static void tick_crash_loop(struct target_cluster *cluster, struct strike *strike)
{
    struct struck *struck = strike->state;
    struct member now;
    struct error error;
    const uint64_t now_ms = clock_monotonic_ms();
    if (now_ms < struck->look_at_ms) { return; }
    struck->look_at_ms = now_ms + LOOK_MS;
    if (remote_find(cluster->remote, strike->targets[0], &now, &error) != TN_OK) { return; }
    if (now.incarnation == struck->members[0].incarnation) { return; }
    if (remote_signal(cluster->remote, &now, SIGKILL, &error) != TN_OK) { return; }
    struck->members[0] = now;
    struck->kills++;
}

static void end_crash_loop(struct target_cluster *cluster, struct strike *strike)
{
    (void)cluster;
    snprintf(strike->text, sizeof strike->text, "%s was killed %u times; it may live now",
             strike->targets[0], ((struct struck *)strike->state)->kills);
    forget(strike);
}

const struct injector injector_remote_crash_loop = {
    .begin = begin_crash_loop, .tick = tick_crash_loop, .end = end_crash_loop};

/* ------------------------------------------------------------- wishes */

static enum tn_status begin_resign(struct target_cluster *cluster, struct strike *strike,
                                   struct error *error)
{
    snprintf(strike->text, sizeof strike->text, "the chief is asked to resign");
    return remote_request(cluster->remote, REQUEST_RESIGN, error);
}

static enum tn_status begin_pause(struct target_cluster *cluster, struct strike *strike,
                                  struct error *error)
{
    snprintf(strike->text, sizeof strike->text, "the workers are held");
    return remote_request(cluster->remote, REQUEST_PAUSE, error);
}

/* Somebody's job must not be left standing for want of one answer. */
static void end_pause(struct target_cluster *cluster, struct strike *strike)
{
    struct error error = {0};
    enum tn_status status = TN_EAGAIN;
    for (int i = 0; i < RESUME_TRIES && status != TN_OK; i++) {
        status = remote_request(cluster->remote, REQUEST_RESUME, &error);
    }
    snprintf(strike->text, sizeof strike->text, "%.400s%s",
             status == TN_OK ? "they may go on" : error.text,
             status == TN_OK ? "" : "; `tanist resume` lets them go on");
}

const struct injector injector_remote_resign = {.begin = begin_resign};
const struct injector injector_remote_pause = {.begin = begin_pause, .end = end_pause};
