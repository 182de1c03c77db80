#include "cli/curves/axis.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "common/base/minmax.h"

/* The next of 1, 2, 5, 10, ... that is at least `value`. */
static double round_up(double value)
{
    assert(value > 0);
    const double power = pow(10, floor(log10(value)));
    static const double factors[] = {1, 2, 5, 10};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        if (factors[i] * power >= value * (1 - 1e-9)) { return factors[i] * power; }
    }
    return 10 * power;
}

static void add_tick(struct axis *axis, double value)
{
    const double slack = 1e-9 * (axis->high - axis->low);
    if (axis->tick_count == AXIS_TICKS_MAX) { return; }
    if (value < axis->low - slack || value > axis->high + slack) { return; }
    axis->ticks[axis->tick_count++] = value;
}

static void add_linear_ticks(struct axis *axis, size_t ticks)
{
    const double step = round_up((axis->high - axis->low) / (double)ticks);
    const double first = ceil(axis->low / step - 1e-9);
    for (int i = 0; i < AXIS_TICKS_MAX; i++) { add_tick(axis, (first + i) * step); }
}

/* Powers of ten, and if these are few, also 2 and 5 times them. */
static void add_log_ticks(struct axis *axis, size_t ticks)
{
    const int low = (int)floor(log10(axis->low)), high = (int)ceil(log10(axis->high));
    const int every = (high - low) / (int)ticks + 1;
    const bool fine = high - low < 3;
    for (int power = low; power <= high; power += every) {
        add_tick(axis, pow(10, power));
        if (fine) { add_tick(axis, 2 * pow(10, power)); }
        if (fine) { add_tick(axis, 5 * pow(10, power)); }
    }
}

struct axis axis_make(double low, double high, bool log, size_t ticks)
{
    assert(ticks >= 1);
    assert(isfinite(low) && isfinite(high) && low <= high);
    struct axis axis = {.low = low, .high = high, .log = log && high > 0};
    if (axis.log) {
        if (low <= 0) { axis.low = high / 1e6; }
        if (axis.low >= axis.high) {
            axis.low = high / 2;
            axis.high = 2 * high;
        }
        add_log_ticks(&axis, ticks);
        return axis;
    }
    if (low == high) {
        const double margin = low != 0 ? fabs(low) / 10 : 1;
        axis.low -= margin;
        axis.high += margin;
    }
    add_linear_ticks(&axis, ticks);
    return axis;
}

double axis_place(const struct axis *axis, double value)
{
    double place;
    if (axis->log) {
        const double positive = double_max(value, axis->low);
        place = log(positive / axis->low) / log(axis->high / axis->low);
    } else {
        place = (value - axis->low) / (axis->high - axis->low);
    }
    return double_min(double_max(place, 0), 1);
}

void axis_label(double value, char text[static AXIS_LABEL_MAX])
{
    const double size = fabs(value);
    if (size < 1e-12) { value = 0; }
    snprintf(text, AXIS_LABEL_MAX, size >= 1e3 && size < 1e12 ? "%.0f" : "%.4g", value);
}
