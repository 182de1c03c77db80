/* chaos/report/chart_frame.h: where in a picture a chart over time is drawn. Pure. */
#ifndef CHAOS_REPORT_CHART_FRAME_H
#define CHAOS_REPORT_CHART_FRAME_H

/* Time runs from 0 at `left` to `end_ms` at `right`. */
struct chart_frame {
    double left, right, top, bottom;
    double end_ms;
};

/* The x of `at_ms`; a time outside of the frame is moved to its edge. */
double chart_frame_x(const struct chart_frame *frame, double at_ms);

#endif
