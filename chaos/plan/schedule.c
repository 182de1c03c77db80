/* chaos/plan/schedule.c: the faults of a round. Each line of the plan has its own random numbers,
 * made from the seed, the round and the index of the line: a line that is added at the end, or
 * changed, leaves the faults of the others as they were. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/plan/plan.h"
#include "chaos/plan/target_selector.h"
#include "common/base/minmax.h"
#include "common/base/random.h"
#include "common/faults/failpoint.h"

static const uint64_t DRAW_STREAM = 1U << 20; /* Above the numbers of lines. */

/* The round that is being drawn. */
struct drawing {
    const struct plan *plan;
    const struct cluster_shape *shape;
    uint64_t seed; /* The round's. */
    struct schedule *out;
    struct error *error;
};

/* ----------------------------------------------------------------- chance */

/* Rounded to three decimals, so that the history shows the exact value. */
static double draw_real(struct random *random, const double range[2])
{
    assert(range[0] <= range[1]);
    double unit = (double)(random_next(random) >> 11) * 0x1p-53;
    double value = round((range[0] + unit * (range[1] - range[0])) * 1000.0) / 1000.0;
    return fmax(range[0], fmin(range[1], value));
}

static uint32_t draw_count(struct random *random, const uint32_t range[2])
{
    assert(range[0] <= range[1]);
    return range[0] + (uint32_t)random_below(random, (uint64_t)range[1] - range[0] + 1);
}

static uint64_t to_ms(double seconds)
{
    return (uint64_t)llround(seconds * 1000.0);
}

/* ----------------------------------------------------------------- one fault */

static uint64_t draw_duration(const struct plan_fault *line, uint64_t session_ms,
                              struct random *random)
{
    double duration = draw_real(random, line->for_s);
    if (duration <= 0) { return 0; }
    double seconds = line->for_sessions ? duration * (double)session_ms / 1000.0 : duration;
    return u64_max(to_ms(seconds), 1);
}

static uint64_t draw_step(const struct plan_fault *line, uint64_t steps, struct random *random)
{
    return u64_max((uint64_t)(draw_real(random, line->progress) * (double)steps), 1);
}

static enum tn_status draw_selector(const struct drawing *drawing, uint32_t index,
                                    struct random *random, char out[static SELECTOR_MAX])
{
    const struct plan_fault *line = &drawing->plan->faults[index];
    assert(line->selector_count > 0);
    const char *selector = line->selectors[random_below(random, line->selector_count)];
    enum tn_status status = selector_draw(selector, drawing->shape, random, out, drawing->error);
    if (status != TN_OK) { return error_context(drawing->error, "faults[%u].selector", index); }
    /* The passes of all selected nodes count at a failpoint, so that no node is drawn. */
    if (line->trigger.type == TRIGGER_FAILPOINT) { snprintf(out, SELECTOR_MAX, "%s", selector); }
    return TN_OK;
}

/* When the next fault of a line is due, from the one before. */
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
    if (out->type == TRIGGER_TIME || out->type == TRIGGER_FAILPOINT) { out->at_ms = pace->at_ms; }
    if (out->type == TRIGGER_STEP) { out->step = draw_step(line, steps, random); }
}

static enum tn_status add_fault(struct drawing *drawing, uint32_t index, struct pace *pace,
                                struct random *random)
{
    const struct plan_fault *line = &drawing->plan->faults[index];
    const struct cluster_shape *shape = drawing->shape;
    assert(index < drawing->plan->fault_count);
    if (drawing->out->count == INJECTIONS_MAX) {
        return error_set(drawing->error, TN_EINVAL,
                         "faults[%u]: the plan makes more than %d faults per round: lower times",
                         index, INJECTIONS_MAX);
    }
    struct injection *injection = &drawing->out->list[drawing->out->count++];
    injection->fault = line->fault;
    draw_when(line, shape->steps, random, pace, &injection->trigger);
    injection->for_ms = draw_duration(line, shape->session_timeout_ms, random);
    injection->value = draw_real(random, line->value);
    return draw_selector(drawing, index, random, injection->selector);
}

/* ----------------------------------------------------------------- a round */

struct cluster_shape cluster_shape_of(const struct job *job)
{
    return (struct cluster_shape){.coordinators = job->cluster.coordinators,
                                  .ps = job->cluster.ps,
                                  /* The workers of a range count whatever its present number is. */
                                  .workers = job_workers_least(job),
                                  .evaluators = job->cluster.evaluators,
                                  .servers = job->zookeeper.servers,
                                  .steps = job->train.steps,
                                  .session_timeout_ms = job->zookeeper.session_timeout_ms,
                                  .worker_gpus = job_has_gpus(job),
                                  .ps_gpus = job_ps_has_gpu(job)};
}

static bool is_over(const struct plan *plan, uint64_t at_ms)
{
    return plan->seconds > 0 && at_ms >= to_ms(plan->seconds);
}

static enum tn_status add_line(struct drawing *drawing, uint32_t index)
{
    const struct plan_fault *line = &drawing->plan->faults[index];
    struct random random = {random_at(drawing->seed, index, 0)};
    struct pace pace = {0};
    assert(line->times[1] > 0 || line->every_s[1] > 0);
    uint32_t times = line->times[1] ? draw_count(&random, line->times) : UINT32_MAX;
    for (uint32_t i = 0; i < times; i++) {
        enum tn_status status = add_fault(drawing, index, &pace, &random);
        if (status != TN_OK) { return status; }
        if (!is_over(drawing->plan, pace.at_ms)) { continue; }
        drawing->out->count--;
        if (line->every_s[1] > 0) { break; }
    }
    return TN_OK;
}

/* All lines that are not drawn from. */
static enum tn_status add_lines(struct drawing *drawing)
{
    enum tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < drawing->plan->fault_count; i++) {
        if (drawing->plan->draw == 0 || drawing->plan->faults[i].always) {
            status = add_line(drawing, i);
        }
    }
    return status;
}

static enum tn_status add_drawn(struct drawing *drawing)
{
    uint32_t lines[PLAN_FAULTS_MAX], count = 0;
    for (uint32_t i = 0; i < drawing->plan->fault_count; i++) {
        if (!drawing->plan->faults[i].always) { lines[count++] = i; }
    }
    for (uint32_t i = 0; i < drawing->plan->draw && count > 0; i++) {
        struct random random = {random_at(drawing->seed, DRAW_STREAM, i)};
        struct pace pace = {0};
        uint32_t index = lines[random_below(&random, count)];
        enum tn_status status = add_fault(drawing, index, &pace, &random);
        if (status != TN_OK) { return status; }
        if (is_over(drawing->plan, pace.at_ms)) { drawing->out->count--; }
    }
    return TN_OK;
}

/* By type of trigger, then by when it is due; equal ones in the order in which they were drawn. */
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

static bool needs_gpu(const struct plan_fault *line)
{
    for (uint32_t s = 0; s < line->selector_count; s++) {
        if (strcmp(line->selectors[s], "gpu") == 0) { return true; }
    }
    return fault_descriptor(line->fault)->family == FAMILY_GPU ||
           (line->trigger.type == TRIGGER_FAILPOINT &&
            failpoint_is_of_gpu(line->trigger.failpoint));
}

enum tn_status schedule_check(const struct plan *plan, const struct cluster_shape *shape,
                              struct error *error)
{
    for (uint32_t i = 0; i < plan->fault_count; i++) {
        const bool is_of_gpu = needs_gpu(&plan->faults[i]);
        if (is_of_gpu && selector_lacks_gpu("gpu", shape)) {
            return error_set(error, TN_EINVAL,
                             "faults[%u]: it is a fault of GPUs, and the job computes on none: "
                             "give --set train.kernels=cuda, or another plan",
                             i);
        }
        for (uint32_t s = 0; s < plan->faults[i].selector_count; s++) {
            struct random random = {0};
            char target[SELECTOR_MAX];
            const char *selector = plan->faults[i].selectors[s];
            if (is_of_gpu && selector_lacks_gpu(selector, shape)) {
                return error_set(error, TN_EINVAL,
                                 "faults[%u].selector is \"%s\", which computes on no GPU in this "
                                 "job: give \"gpu\"",
                                 i, selector);
            }
            enum tn_status status = selector_draw(selector, shape, &random, target, error);
            if (status != TN_OK) { return error_context(error, "faults[%u].selector", i); }
        }
    }
    return TN_OK;
}

enum tn_status schedule_draw(const struct plan *plan, uint64_t seed, uint32_t round,
                             const struct cluster_shape *shape, struct schedule *out,
                             struct error *error)
{
    struct drawing drawing = {plan, shape, random_at(seed, round, 0), out, error};
    *out = (struct schedule){.list = calloc(INJECTIONS_MAX, sizeof *out->list)};
    if (out->list == NULL) { return error_set(error, TN_ENOMEM, "out of memory"); }
    enum tn_status status = add_lines(&drawing);
    if (status == TN_OK) { status = add_drawn(&drawing); }
    if (status != TN_OK) {
        schedule_free(out);
    } else {
        put_in_order(out);
    }
    return status;
}
