/*
 * cli/curves/axis.h: the range of an axis, its ticks and their labels. Pure.
 */
#ifndef CLI_CURVES_AXIS_H
#define CLI_CURVES_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum { AXIS_TICKS_MAX = 24, AXIS_LABEL_MAX = 32 };

struct axis {
    double low, high; /* low < high; if `log`, 0 < low. */
    bool log;
    size_t tick_count;
    double ticks[AXIS_TICKS_MAX];
};

/* An axis for values from `low` to `high` with about `ticks` ticks at round numbers. A `log` axis
 * needs a positive `high`; without one, it is linear. */
struct axis axis_make(double low, double high, bool log, size_t ticks);

/* Where a value is: 0 at the low end, 1 at the high end, limited to these. */
double axis_place(const struct axis *axis, double value);

/* "0.05", "12000", "1e-07" */
void axis_label(double value, char text[static AXIS_LABEL_MAX]);

#endif
