#include "group/computation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct computation {
    struct computation_config config;
    struct part_runner *runner;
    struct slice_schedule schedule;
    struct computation_order order;
    float *levels[COMPUTATION_LEVELS_MAX]; /* Partial sums, as in worker/compute.h; 0: not used. */
    double losses[COMPUTATION_LEVELS_MAX];
};

static enum tn_status out_of_memory(struct error *error)
{
    return error_set(error, TN_ENOMEM, "out of memory for the gradients of a part of the model");
}

/* ------------------------------------------------------------ create, destroy */

static enum tn_status create_runner(struct computation *computation, struct error *error)
{
    const struct computation_config *config = &computation->config;
    struct part_runner_config runner = {
        .cut = config->cut,
        .task = config->task,
        .kernels = config->kernels,
        .pool = config->pool,
    };
    /* Slices have at most two sizes. */
    for (uint32_t v = 0; v < config->slices; v++) {
        const uint32_t count = slices_positions(config->slices, config->batch, v).count;
        if (count == runner.sizes[0] || count == runner.sizes[1]) { continue; }
        assert(count > 0 && (runner.sizes[0] == 0 || runner.sizes[1] == 0));
        runner.sizes[runner.sizes[0] != 0] = count;
    }
    return part_runner_create(&runner, &computation->runner, error);
}

enum tn_status computation_create(const struct computation_config *config, struct computation **out,
                                  struct error *error)
{
    assert(config->slices >= 1 && config->slices <= SLICES_MAX);
    assert(config->batch >= config->slices);
    assert(config->fill != NULL && config->send != NULL);
    *out = NULL;
    struct computation *computation = calloc(1, sizeof *computation);
    if (computation == NULL) { return out_of_memory(error); }
    computation->config = *config;
    enum tn_status status = create_runner(computation, error);
    if (status == TN_OK) {
        part_runner_schedule(computation->runner, &computation->schedule);
        *out = computation;
    } else {
        computation_destroy(computation);
    }
    return status;
}

void computation_destroy(struct computation *computation)
{
    if (computation == NULL) { return; }
    for (uint32_t i = 0; i < COMPUTATION_LEVELS_MAX; i++) { free(computation->levels[i]); }
    part_runner_destroy(computation->runner);
    free(computation);
}

void computation_reset(struct computation *computation)
{
    schedule_reset(&computation->schedule);
    for (uint32_t slot = 0; slot < SCHEDULE_SLOTS; slot++) {
        part_runner_clear(computation->runner, slot);
    }
}

/* --------------------------------------------------------- orders and arrivals */

bool computation_order(struct computation *computation, const struct computation_order *order)
{
    assert(order->values != NULL && order->sum != NULL);
    assert(order->node.count >= 1);
    assert(order->node.first + order->node.count <= computation->config.slices);
    if (!schedule_order(&computation->schedule, order->generation, order->step, order->node)) {
        return false;
    }
    computation->order = *order;
    return true;
}

bool computation_is_idle(const struct computation *computation)
{
    return schedule_is_idle(&computation->schedule);
}

static struct slice_range positions(const struct computation *computation, uint32_t slice)
{
    return slices_positions(computation->config.slices, computation->config.batch, slice);
}

uint64_t computation_expects(const struct computation *computation, uint32_t slice, uint32_t edge)
{
    uint32_t arrival;
    if (slice >= computation->config.slices) { return 0; }
    if (!part_runner_find(computation->runner, edge, &arrival)) { return 0; }
    return part_runner_bytes(computation->runner, edge, positions(computation, slice).count);
}

bool computation_arrived(struct computation *computation, const struct schedule_label *label,
                         uint32_t edge, struct buffer *value)
{
    uint32_t arrival, slot;
    assert(value->size == computation_expects(computation, label->slice, edge));
    const bool exists = part_runner_find(computation->runner, edge, &arrival);
    assert(exists);
    switch (schedule_arrived(&computation->schedule, label, arrival, &slot)) {
    case SCHEDULE_KEEP: part_runner_put(computation->runner, slot, arrival, value); return true;
    case SCHEDULE_DROP: return true;
    case SCHEDULE_INVALID: break;
    }
    return false;
}

/* ------------------------------------------------------------------- the tree */

/* The level of a slice's gradient: the number of right turns on the way to it from the node; `ends`
 * is the number of nodes below the root of that way that end with it, so that they are complete. */
static uint32_t find_level(struct slice_node node, uint32_t slice, uint32_t *ends)
{
    uint32_t level = 0;
    *ends = 0;
    while (node.count > 1) {
        struct slice_node left, right;
        slices_children(node, &left, &right);
        const bool is_right = slice >= right.first;
        level += is_right;
        *ends = is_right ? *ends + 1 : 0;
        node = is_right ? right : left;
    }
    return level;
}

static float *level_of(struct computation *computation, uint32_t level)
{
    assert(level < COMPUTATION_LEVELS_MAX);
    if (level == 0) { return computation->order.sum; }
    if (computation->levels[level] == NULL) {
        const uint64_t floats = computation->config.cut->floats[computation->config.task];
        computation->levels[level] = calloc(floats + 1, sizeof(float));
    }
    return computation->levels[level];
}

static void add(uint64_t count, const float *restrict from, float *restrict to)
{
    for (uint64_t i = 0; i < count; i++) { to[i] += from[i]; }
}

/* Add the results of a slice to the sums of the tree. */
static enum tn_status take_results(struct computation *computation,
                                   const struct schedule_next *next, struct error *error)
{
    uint32_t ends;
    const uint32_t slice = next->label.slice;
    const uint64_t floats = computation->config.cut->floats[computation->config.task];
    uint32_t level = find_level(computation->order.node, slice, &ends);
    float *sum = level_of(computation, level);
    if (sum == NULL) { return out_of_memory(error); }
    part_runner_gradient(computation->runner, next->slot, sum);
    computation->losses[level] =
        part_runner_loss(computation->runner, next->slot, positions(computation, slice).count);
    for (; ends > 0; ends--, level--) {
        add(floats, level_of(computation, level), level_of(computation, level - 1));
        computation->losses[level - 1] += computation->losses[level];
    }
    part_runner_clear(computation->runner, next->slot);
    return TN_OK;
}

double computation_loss(const struct computation *computation)
{
    return computation->losses[0];
}

/* -------------------------------------------------------------------- running */

/* The context of callbacks during the run of a part. */
struct running {
    const struct computation_config *config;
    const struct schedule_label *label;
};

static enum tn_status fill(void *ctx, const char *field, struct tn_view view, struct error *error)
{
    const struct running *running = ctx;
    return running->config->fill(running->config->ctx, running->label, field, view, error);
}

static enum tn_status send_value(void *ctx, uint32_t to, uint32_t edge, struct buffer *value,
                                 struct error *error)
{
    const struct running *running = ctx;
    (void)error;
    running->config->send(running->config->ctx, to, running->label, edge, value);
    return TN_OK;
}

static enum tn_status run_part(struct computation *computation, const struct schedule_next *next,
                               struct error *error)
{
    const struct computation_config *config = &computation->config;
    const struct slice_range range = positions(computation, next->label.slice);
    struct running running = {.config = config, .label = &next->label};
    const struct part_run run = {
        .examples = range.count,
        .values = computation->order.values,
        .version = computation->order.version,
        .seed = config->seed,
        .step = computation->order.step,
        .first = range.first,
        .scale = 1.0F / (float)config->batch,
        .fill = fill,
        .send = send_value,
        .ctx = &running,
    };
    return part_runner_run(computation->runner, next->slot, next->part, &run, error);
}

enum tn_status computation_advance(struct computation *computation, bool *done, struct error *error)
{
    *done = false;
    for (;;) {
        const struct schedule_next next = schedule_next(&computation->schedule);
        enum tn_status status = TN_OK;
        if (next.what == SCHEDULE_WAIT) { return TN_OK; }
        if (next.what == SCHEDULE_RUN) {
            status = run_part(computation, &next, error);
            if (status == TN_OK) { schedule_ran(&computation->schedule); }
        } else {
            status = take_results(computation, &next, error);
            if (status == TN_OK) { *done = schedule_finished(&computation->schedule); }
        }
        if (status != TN_OK) { return status; }
    }
}
