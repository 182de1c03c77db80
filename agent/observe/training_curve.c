#include "agent/observe/training_curve.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "common/base/minmax.h"

void training_curve_load(struct training_curve *curve, uint64_t step, double now_ms)
{
    assert(curve->every_steps >= 1);
    if (step > curve->next || step < curve->first) { curve->first = step; }
    curve->next = step;
    curve->point_step = step / curve->every_steps * curve->every_steps;
    curve->rate_step = step;
    curve->point_ms = curve->rate_ms = curve->reached_ms = now_ms;
}

void training_curve_wait(struct training_curve *curve, double now_ms)
{
    assert(curve->every_steps >= 1);
    curve->reached_ms = now_ms;
}

static void emit_point(struct training_curve *curve, uint64_t step, double at_ms,
                       training_curve_emit *emit, void *ctx)
{
    assert(step > curve->point_step);
    struct training_curve_point point = {
        .step = step,
        .at_ms = at_ms,
        .interval_steps = (uint32_t)u64_min(step - curve->point_step, UINT32_MAX),
    };
    double sum = 0;
    for (uint64_t s = u64_max(curve->point_step, curve->first); s < step; s++) {
        sum += curve->losses[s % TRAINING_CURVE_KEPT];
        point.loss_steps++;
    }
    point.loss = point.loss_steps > 0 ? sum / point.loss_steps : (double)NAN;
    const double ms = at_ms - curve->rate_ms;
    point.steps_per_second = ms > 0 ? 1000 * (double)(step - curve->rate_step) / ms : (double)NAN;
    curve->point_step = curve->rate_step = step;
    curve->point_ms = curve->rate_ms = at_ms;
    emit(ctx, &point);
}

/* Whether a point is due after `step` steps. */
static bool is_due(const struct training_curve *curve, uint64_t step, double at_ms)
{
    if (step % curve->every_steps == 0) { return true; }
    return curve->every_ms != 0 && at_ms >= curve->point_ms + (double)curve->every_ms;
}

void training_curve_add(struct training_curve *curve, uint64_t first, const double *losses,
                        uint32_t count, double now_ms, training_curve_emit *emit, void *ctx)
{
    const uint64_t end = first + count, begin = curve->next;
    const double began_ms = fmin(curve->reached_ms, now_ms);
    assert(losses != NULL || count == 0);
    if (first > curve->next) { curve->first = curve->next = first; }
    while (curve->next < end) {
        const uint64_t step = curve->next++;
        curve->losses[step % TRAINING_CURVE_KEPT] = losses[step - first];
        if (curve->next > curve->first + TRAINING_CURVE_KEPT) {
            curve->first = curve->next - TRAINING_CURVE_KEPT;
        }
        /* Steps take equal times between two answers. */
        const double share = (double)(curve->next - begin) / (double)(end - begin);
        const double at_ms = began_ms + share * (now_ms - began_ms);
        if (is_due(curve, curve->next, at_ms)) { emit_point(curve, curve->next, at_ms, emit, ctx); }
        curve->reached_ms = at_ms;
    }
}

void training_curve_end(struct training_curve *curve, training_curve_emit *emit, void *ctx)
{
    if (curve->next <= curve->point_step) { return; }
    emit_point(curve, curve->next, curve->reached_ms, emit, ctx);
}
