/* The faults of a round. Every strike has chance of its own, made of the seed, the round and its
 * line of the plan, so that a line that is added or changed leaves the others as they were. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/plan/plan.h"
#include "chaos/plan/target_selector.h"
#include "common/base/random.h"

static const uint64_t DRAW_STREAM = 1U << 20; /* Above the numbers of lines. */

/* What a round is drawn from. */
struct deck {
    const struct plan *plan;
    const struct cluster_shape *shape;
    uint64_t seed; /* Of the round. */
    struct schedule *out;
    struct error *error;
};

/* ----------------------------------------------------------------- chance */

/* Within both ends, to three decimals: what people read is exact. */
static double draw_real(struct random *random, const double range[2])
{
    double unit = (double)(random_next(random) >> 11) * 0x1p-53;
    double value = round((range[0] + unit * (range[1] - range[0])) * 1000.0) / 1000.0;
    return fmax(range[0], fmin(range[1], value));
}

static uint32_t draw_count(struct random *random, const uint32_t range[2])
{
    return range[0] + (uint32_t)random_below(random, (uint64_t)range[1] - range[0] + 1);
}

static uint64_t to_ms(double seconds)
{
    return (uint64_t)llround(seconds * 1000.0);
}

/* ----------------------------------------------------------------- one strike */

static uint64_t draw_length(const struct plan_fault *line, uint64_t session_ms,
                            struct random *random)
{
    double length = draw_real(random, line->for_s);
    if (length <= 0) { return 0; }
    uint64_t ms = to_ms(line->for_sessions ? length * (double)session_ms / 1000.0 : length);
    return ms > 0 ? ms : 1;
}

static uint64_t draw_step(const struct plan_fault *line, uint64_t steps, struct random *random)
{
    uint64_t step = (uint64_t)(draw_real(random, line->progress) * (double)steps);
    return step > 0 ? step : 1;
}

static enum tn_status draw_whom(const struct deck *deck, uint32_t index, struct random *random,
                                char out[static WHOM_MAX])
{
    const struct plan_fault *line = &deck->plan->faults[index];
    const char *whom = line->whom[random_below(random, line->whom_count)];
    enum tn_status status = whom_draw(whom, deck->shape, random, out, deck->error);
    if (status != TN_OK) { return error_context(deck->error, "faults[%u].whom", index); }
    /* At a failpoint the passes of all who are meant count: it is not known who comes there. */
    if (line->trigger.type == TRIGGER_POINT) { snprintf(out, WHOM_MAX, "%s", whom); }
    return TN_OK;
}

/* When each strike of a line is due, from the one before. */
struct pace {
    bool begun;
    uint64_t at_ms;
    uint32_t passes;
};

static void draw_when(const struct plan_fault *line, uint64_t steps, struct random *random,
                      struct pace *pace, struct trigger *out)
{
    bool follows = pace->begun && line->every_s[1] > 0;
    uint64_t wait_ms = to_ms(draw_real(random, follows ? line->every_s : line->after_s));
    uint32_t pass = draw_count(random, line->count);
    pace->at_ms = follows ? pace->at_ms + wait_ms : wait_ms;
    pace->passes = line->trigger.type == TRIGGER_PHASE ? pace->passes + pass : pass;
    pace->begun = true;
    *out = line->trigger;
    out->count = pace->passes;
    if (out->type == TRIGGER_TIME || out->type == TRIGGER_POINT) { out->at_ms = pace->at_ms; }
    if (out->type == TRIGGER_STEP) { out->step = draw_step(line, steps, random); }
}

static enum tn_status add_strike(struct deck *deck, uint32_t index, struct pace *pace,
                                 struct random *random)
{
    const struct plan_fault *line = &deck->plan->faults[index];
    const struct cluster_shape *shape = deck->shape;
    if (deck->out->count == INJECTIONS_MAX) {
        return error_set(deck->error, TN_EINVAL,
                         "faults[%u]: the plan comes to more than %d faults a round: lower times",
                         index, INJECTIONS_MAX);
    }
    struct injection *strike = &deck->out->list[deck->out->count++];
    strike->fault = line->fault;
    draw_when(line, shape->steps, random, pace, &strike->trigger);
    strike->for_ms = draw_length(line, shape->session_timeout_ms, random);
    strike->value = draw_real(random, line->value);
    return draw_whom(deck, index, random, strike->whom);
}

/* ----------------------------------------------------------------- a round */

struct cluster_shape cluster_shape_of(const struct job *job)
{
    return (struct cluster_shape){.coordinators = job->cluster.coordinators,
                                  .ps = job->cluster.ps,
                                  .workers = job->cluster.workers,
                                  .servers = job->zookeeper.servers,
                                  .steps = job->train.steps,
                                  .session_timeout_ms = job->zookeeper.session_timeout_ms};
}

static bool is_over(const struct plan *plan, uint64_t at_ms)
{
    return plan->seconds > 0 && at_ms >= to_ms(plan->seconds);
}

static enum tn_status add_line(struct deck *deck, uint32_t index)
{
    const struct plan_fault *line = &deck->plan->faults[index];
    struct random random = {random_at(deck->seed, index, 0)};
    struct pace pace = {0};
    uint32_t times = line->times[1] ? draw_count(&random, line->times) : UINT32_MAX;
    for (uint32_t i = 0; i < times; i++) {
        enum tn_status status = add_strike(deck, index, &pace, &random);
        if (status != TN_OK) { return status; }
        if (!is_over(deck->plan, pace.at_ms)) { continue; }
        deck->out->count--;
        if (line->every_s[1] > 0) { break; }
    }
    return TN_OK;
}

/* Every line but those that are drawn. */
static enum tn_status add_lines(struct deck *deck)
{
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < deck->plan->fault_count; i++) {
        if (deck->plan->draw == 0 || deck->plan->faults[i].always) { status = add_line(deck, i); }
    }
    return status;
}

static enum tn_status add_drawn(struct deck *deck)
{
    uint32_t lines[PLAN_FAULTS_MAX], count = 0;
    for (uint32_t i = 0; i < deck->plan->fault_count; i++) {
        if (!deck->plan->faults[i].always) { lines[count++] = i; }
    }
    for (uint32_t i = 0; i < deck->plan->draw && count > 0; i++) {
        struct random random = {random_at(deck->seed, DRAW_STREAM, i)};
        struct pace pace = {0};
        uint32_t index = lines[random_below(&random, count)];
        enum tn_status status = add_strike(deck, index, &pace, &random);
        if (status != TN_OK) { return status; }
        if (is_over(deck->plan, pace.at_ms)) { deck->out->count--; }
    }
    return TN_OK;
}

/* By kind of trigger, then by when; equal ones as they were drawn. */
static int compare(const void *left, const void *right)
{
    const struct injection *a = left, *b = right;
    if (a->trigger.type != b->trigger.type) { return a->trigger.type < b->trigger.type ? -1 : 1; }
    if (a->trigger.at_ms != b->trigger.at_ms) {
        return a->trigger.at_ms < b->trigger.at_ms ? -1 : 1;
    }
    if (a->trigger.step != b->trigger.step) { return a->trigger.step < b->trigger.step ? -1 : 1; }
    if (a->trigger.count != b->trigger.count) {
        return a->trigger.count < b->trigger.count ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

static void put_in_order(struct schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->count; i++) { schedule->list[i].id = i + 1; }
    if (schedule->count > 0) {
        qsort(schedule->list, schedule->count, sizeof *schedule->list, compare);
    }
    for (uint32_t i = 0; i < schedule->count; i++) { schedule->list[i].id = i + 1; }
}

enum tn_status schedule_draw(const struct plan *plan, uint64_t seed, uint32_t round,
                             const struct cluster_shape *shape, struct schedule *out,
                             struct error *error)
{
    struct deck deck = {plan, shape, random_at(seed, round, 0), out, error};
    *out = (struct schedule){.list = calloc(INJECTIONS_MAX, sizeof *out->list)};
    if (out->list == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = add_lines(&deck);
    if (status == TN_OK) { status = add_drawn(&deck); }
    if (status != TN_OK) {
        schedule_free(out);
    } else {
        put_in_order(out);
    }
    return status;
}
