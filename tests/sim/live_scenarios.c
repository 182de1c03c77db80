/* The scenarios of changes of the job while it runs (S14, P16). */
#include "tests/sim/live_scenarios.h"

#include <assert.h>
#include <string.h>

#include "common/base/minmax.h"
#include "common/job/strategy.h"

enum {
    COORDINATORS = 2,
    PS_MOST = 4,
    WORKERS_MOST = 3,
    FIRST_WORKER = COORDINATORS + PS_MOST,
    STEPS = 600,     /* So many that not all are made before the second change. */
    FASTER = 6,      /* Without ps, steps are faster, and a run has this many times as many. */
    CHANGE_MS = 900, /* Most changes take less. */
    SCALE_MS = 2000, /* An accepted request takes effect so early, also during a change. */
};

static uint64_t between(struct random *random, uint64_t low, uint64_t high)
{
    assert(low <= high);
    return low + random_below(random, high - low + 1);
}

static struct fault *add(struct sim_setup *setup, enum fault_kind kind, uint64_t at_ms,
                         uint32_t target)
{
    assert(setup->fault_count < FAULTS_MAX);
    struct fault *fault = &setup->faults[setup->fault_count++];
    *fault = (struct fault){.kind = kind, .at_ms = at_ms, .target = target};
    return fault;
}

/* A kill of a task that the change itself outlives without the loss of a step: a coordinator, or a
 * worker that is not the last one. */
static void add_kill(struct sim_setup *setup, struct random *random, uint64_t at_ms)
{
    const uint32_t workers = setup->job.cluster.workers;
    const uint64_t task = random_below(random, COORDINATORS + workers - 1);
    add(setup, FAULT_KILL, at_ms + random_below(random, CHANGE_MS),
        (uint32_t)(task < COORDINATORS ? task : FIRST_WORKER + 1 + task - COORDINATORS));
}

void live_on_one_host(struct sim_setup *setup, struct random *random, bool has_ps)
{
    struct job *job = &setup->job;
    setup->one_host = setup->live = true;
    setup->ps_most = PS_MOST;
    setup->ledger = false;
    job->train.mode = TRAIN_SYNC;
    job->train.steps = has_ps ? STEPS : FASTER * STEPS;
    job->train.learning_rate = 0.0625 / 16; /* A higher one diverges. */
    job->checkpoint.best = BEST_NONE;
    job->checkpoint.every_steps = between(random, 10, 80);
    job->cluster.workers = (uint32_t)between(random, 2, WORKERS_MOST);
    job->strategy.type = has_ps ? STRATEGY_TYPE_PS : STRATEGY_TYPE_MIRROR;
    job->cluster.ps = has_ps ? (uint32_t)between(random, 1, PS_MOST) : 0;
    strategy_settle(job);
}

/* Two changes to other numbers; 0: without ps. `turns`: each has ps if the one before has none. */
static void add_changes(struct sim_setup *setup, struct random *random, bool turns)
{
    uint32_t ps = setup->job.cluster.ps;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t before = ps;
        while (ps == before) { ps = (uint32_t)between(random, 1, PS_MOST); }
        if (turns && before > 0) { ps = 0; }
        add(setup, FAULT_CHANGE, 1500 + between(random, 0, 500) + i * UINT64_C(2500), ps);
    }
}

static uint64_t change_ms(const struct sim_setup *setup, uint32_t index)
{
    assert(setup->faults[index].kind == FAULT_CHANGE);
    return setup->faults[index].at_ms;
}

static void add_kills(struct sim_setup *setup, struct random *random)
{
    for (uint32_t i = 0; i < 2; i++) {
        for (uint64_t k = between(random, 0, 3); k > 0; k--) {
            add_kill(setup, random, change_ms(setup, i));
        }
    }
}

void live_resize(struct sim_setup *setup, struct random *random)
{
    live_on_one_host(setup, random, true);
    if (random_below(random, 2) == 0) {
        setup->job.train.optimizer = OPTIMIZER_MOMENTUM;
        setup->job.train.rule_count = setup->job.train.before_count = 0;
        sim_rows_job(&setup->job, "train.table_optimizer=row_adagrad");
    }
    add_changes(setup, random, false);
    add_kills(setup, random);
}

/* The borders between the rows of ps move, and in half of the changes their number changes, too. */
void live_balance(struct sim_setup *setup, struct random *random)
{
    struct job *job = &setup->job;
    live_on_one_host(setup, random, true);
    job->cluster.ps = (uint32_t)between(random, 2, PS_MOST);
    job->train.optimizer = OPTIMIZER_MOMENTUM;
    job->train.rule_count = job->train.before_count = 0;
    sim_rows_job(job, "train.table_optimizer=row_adagrad");
    uint32_t ps = job->cluster.ps;
    for (uint32_t i = 0; i < 2; i++) {
        if (random_below(random, 2) == 0) { ps = (uint32_t)between(random, 2, PS_MOST); }
        const uint64_t at_ms = 1500 + between(random, 0, 500) + i * UINT64_C(2500);
        add(setup, FAULT_CHANGE, at_ms, ps)->other = (uint32_t)between(random, 1, 1000000);
    }
    add_kills(setup, random);
}

/* The fixed number of workers changes; in half of the seeds a change of the ps, or of the strategy,
 * follows. */
void live_workers(struct sim_setup *setup, struct random *random)
{
    enum { MOST = 5, CHANGES = 3 };
    live_on_one_host(setup, random, random_below(random, 2) == 0);
    setup->workers_most = MOST;
    setup->job.train.steps = FASTER * STEPS;
    uint32_t workers = setup->job.cluster.workers;
    for (uint64_t i = 0; i < CHANGES; i++) {
        const uint64_t at_ms = 1500 + between(random, 0, 500) + i * UINT64_C(2500);
        const uint32_t before = workers;
        if (i == 1 && random_below(random, 2) == 0) {
            const bool has_ps = setup->job.cluster.ps > 0;
            add(setup, FAULT_CHANGE, at_ms, has_ps ? 0 : (uint32_t)between(random, 1, PS_MOST));
        } else {
            while (workers == before) { workers = (uint32_t)between(random, 1, MOST); }
            add(setup, FAULT_WORKERS, at_ms, workers);
        }
        for (uint64_t k = between(random, 0, 3); k > 0; k--) { add_kill(setup, random, at_ms); }
    }
}

void live_switch(struct sim_setup *setup, struct random *random)
{
    live_on_one_host(setup, random, random_below(random, 2) == 0);
    add_changes(setup, random, true);
    add_kills(setup, random);
}

/* Without ps all workers leave, and all but one of them, which often owns no slices, are killed
 * meanwhile: the checkpoint of the gate takes longer than such a worker has to stay without a gate.
 */
void live_survivor(struct sim_setup *setup, struct random *random)
{
    live_on_one_host(setup, random, false);
    setup->job.cluster.workers = WORKERS_MOST;
    setup->job.train.slices = (uint32_t)between(random, 1, WORKERS_MOST);
    setup->job.checkpoint.every_steps = 200;
    setup->disk.write_ms = (uint32_t)between(random, 200, CHANGE_MS);
    const uint64_t at_ms = 1500 + between(random, 0, 500);
    add(setup, FAULT_CHANGE, at_ms, (uint32_t)between(random, 1, PS_MOST));
    const uint64_t survivor = random_below(random, WORKERS_MOST);
    for (uint32_t i = 0; i < WORKERS_MOST; i++) {
        if (i == survivor) { continue; }
        add(setup, FAULT_KILL, at_ms + random_below(random, 2 * CHANGE_MS), FIRST_WORKER + i);
    }
}

void live_requests(struct sim_setup *setup, struct random *random)
{
    const bool switches = random_below(random, 2) == 0;
    live_on_one_host(setup, random, !switches || random_below(random, 2) == 0);
    setup->job.cluster.workers = WORKERS_MOST;
    setup->job.cluster.workers_least = 1;
    add_changes(setup, random, switches);
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t at_ms = change_ms(setup, i);
        add(setup, FAULT_SCALE, at_ms + random_below(random, CHANGE_MS),
            (uint32_t)between(random, 1, WORKERS_MOST));
        if (random_below(random, 2) == 0) {
            add(setup, FAULT_HOLD, at_ms + random_below(random, CHANGE_MS), 0)->duration_ms =
                between(random, 10, 2000);
        }
        if (random_below(random, 2) == 0) {
            add(setup, FAULT_KILL, at_ms + random_below(random, CHANGE_MS),
                (uint32_t)random_below(random, COORDINATORS));
        }
    }
}

/* Three changes, each to another number of ps or to none. Operators scale the run before, while and
 * after each of them is made, and nodes die all the time. */
void live_sequence(struct sim_setup *setup, struct random *random)
{
    enum { CHANGES = 3, GAP_MS = 2500 };
    live_on_one_host(setup, random, random_below(random, 2) == 0);
    setup->job.train.steps = FASTER * STEPS;
    setup->job.cluster.workers = WORKERS_MOST;
    setup->job.cluster.workers_least = 1;
    uint32_t ps = setup->job.cluster.ps;
    for (uint64_t i = 0; i < CHANGES; i++) {
        const uint64_t at_ms = 1500 + between(random, 0, 500) + i * GAP_MS;
        const uint32_t before = ps;
        while (ps == before) { ps = (uint32_t)between(random, 0, PS_MOST); }
        add(setup, FAULT_CHANGE, at_ms, ps);
        for (uint64_t k = between(random, 1, 3); k > 0; k--) {
            add(setup, FAULT_SCALE, at_ms - CHANGE_MS / 3 + random_below(random, 2 * CHANGE_MS),
                (uint32_t)between(random, 1, WORKERS_MOST));
        }
        for (uint64_t k = between(random, 0, 3); k > 0; k--) {
            add_kill(setup, random, at_ms - CHANGE_MS / 3 + random_below(random, CHANGE_MS));
        }
    }
}

void live_stop(struct sim_setup *setup, struct random *random)
{
    const bool switches = random_below(random, 2) == 0;
    live_on_one_host(setup, random, !switches || random_below(random, 2) == 0);
    setup->job.train.steps *= 4;
    add_changes(setup, random, switches);
    const uint64_t at_ms = change_ms(setup, 1);
    add(setup, FAULT_STOP, at_ms + random_below(random, CHANGE_MS), 0);
    if (random_below(random, 2) == 0) { add_kill(setup, random, at_ms); }
}

/* Whatever stops or separates nodes, the agent and the command, and a second change meanwhile. */
void live_faults(struct sim_setup *setup, struct random *random)
{
    enum {
        KINDS = 1 << FAULT_KILL | 1 << FAULT_CRASH_LOOP | 1 << FAULT_FREEZE | 1 << FAULT_AGENT |
                1 << FAULT_EVERYTHING | 1 << FAULT_RESET | 1 << FAULT_CUT_ZOOKEEPER |
                1 << FAULT_DROP_SESSION | 1 << FAULT_SERVER | 1 << FAULT_OUTAGE |
                1 << FAULT_RESIGN | 1 << FAULT_HOLD,
        DRAWN_MAX = 6
    };
    const bool switches = random_below(random, 2) == 0;
    live_on_one_host(setup, random, !switches || random_below(random, 2) == 0);
    add_changes(setup, random, switches);
    for (uint32_t i = 0; i < 2; i++) {
        const uint64_t at_ms = change_ms(setup, i);
        struct fault drawn[FAULTS_MAX];
        const uint32_t count =
            faults_draw(random, (uint32_t)between(random, 1, DRAWN_MAX), at_ms, at_ms + CHANGE_MS,
                        KINDS, setup->job.zookeeper.session_timeout_ms, drawn);
        for (uint32_t k = 0; k < count; k++) { setup->faults[setup->fault_count++] = drawn[k]; }
    }
    setup->faults[0].duration_ms = random_below(random, 3) == 0 ? between(random, 1, 500) : 0;
    add(setup, FAULT_CHANGE, change_ms(setup, 0) + random_below(random, CHANGE_MS),
        (uint32_t)between(random, 1, PS_MOST));
}

/* ------------------------------------------------------------------- verdicts */

/* An agent that has nothing to do has answered all requests. Commands look again every 20 ms. */
static const char *find_lost_request(const struct sim_cluster *cluster)
{
    enum { LATE_MS = 15000 };
    const struct sim_live *live = &cluster->live;
    const uint64_t now_ms = world_ms(&cluster->world);
    for (uint32_t i = 0; i < live->author_count; i++) {
        const struct sim_author *author = &live->authors[i];
        const bool waits = !author->killed && author->result == RESULT_NONE;
        if (!waits || live->agents_lost > 0 || now_ms < author->asked_ms + LATE_MS) { continue; }
        if (live->changer.core.stage == JOB_CHANGE_IDLE) { return "a request has no answer"; }
    }
    return NULL;
}

/* Whether a command got no other answer than that the run ends: without a network between workers
 * it may be fast. */
static bool came_too_late(const struct sim_author *author)
{
    if (author->result == RESULT_NONE) { return true; /* See find_lost_request(). */ }
    if (author->result != RESULT_REFUSED) { return false; }
    const char *text = author->request.text;
    return (strstr(text, "the run ") != NULL && strstr(text, "end") != NULL) ||
           strstr(text, "leaving") != NULL;
}

/* Whether it asked for what the cluster is already: a change between them, which was to make it
 * differ, was refused as another one was under way. */
static bool came_for_nothing(const struct sim_live *live, uint32_t index)
{
    const struct sim_author *author = &live->authors[index];
    if (author->result != RESULT_REFUSED) { return false; }
    if (strstr(author->request.text, "nothing to change") == NULL) { return false; }
    for (uint32_t i = 0; i < index; i++) {
        if (live->authors[i].result == RESULT_BUSY) { return true; }
    }
    return false;
}

/* Whether it came too soon instead, while a change before it, which was made, was under way. */
static bool came_too_soon(const struct sim_live *live, uint32_t index)
{
    if (live->authors[index].result != RESULT_BUSY) { return false; }
    for (uint32_t i = 0; i < index; i++) {
        if (live->authors[i].result == RESULT_DONE) { return true; }
    }
    return false;
}

const char *is_changed(const struct sim_cluster *cluster)
{
    uint32_t done = 0;
    for (uint32_t i = 0; i < cluster->live.author_count; i++) {
        const struct sim_author *author = &cluster->live.authors[i];
        done += author->result == RESULT_DONE;
        if (author->result == RESULT_DONE || came_too_late(author)) { continue; }
        if (came_too_soon(&cluster->live, i) || came_for_nothing(&cluster->live, i)) { continue; }
        return "a change was not made";
    }
    if (cluster->resizes < done) { return "a change was reported that was not made"; }
    if (cluster->checker.steps_redone > 0) { return "steps were redone"; }
    return find_lost_request(cluster);
}

const char *requests_are_kept(const struct sim_cluster *cluster)
{
    const struct sim_live *live = &cluster->live;
    if (cluster->checker.steps_redone > 0) { return "steps were redone"; }
    const bool in_time =
        live->workers > 0 && world_ms(&cluster->world) >= live->scaled_ms + SCALE_MS;
    if (in_time && cluster->checker.run.workers != live->workers) {
        return "a request to scale was lost";
    }
    return find_lost_request(cluster);
}

const char *is_sequence(const struct sim_cluster *cluster)
{
    const char *failure = is_changed(cluster);
    return failure != NULL ? failure : requests_are_kept(cluster);
}

const char *is_stopped_live(const struct sim_cluster *cluster)
{
    const uint64_t step = cluster->checker.run.evaluation.step;
    const bool is_asked = cluster->checker.stop_requested;
    /* It may also end before training begins again. */
    const bool is_whole = step != STEP_NONE && step >= cluster->setup.job.train.steps;
    if (is_asked && is_whole) { return "the run did not stop early"; }
    return cluster->checker.steps_redone > 0 ? "steps were redone" : find_lost_request(cluster);
}

/* Each change that a command reports was made, once; those of killed commands may be. */
const char *answers_are_true(const struct sim_cluster *cluster)
{
    const struct sim_live *live = &cluster->live;
    uint32_t done = 0, open = live->agents_lost;
    for (uint32_t i = 0; i < live->author_count; i++) {
        done += live->authors[i].result == RESULT_DONE;
        open += live->authors[i].result == RESULT_NONE;
    }
    if (cluster->resizes < done) { return "a change was reported that was not made"; }
    if (cluster->resizes > done + open) { return "a change was made that was refused"; }
    return find_lost_request(cluster);
}
