/* chaos/report/report_rate.c: steps per second, as an area and as a line that fits into a row. */
#include <assert.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/report/chart_frame.h"
#include "chaos/report/number.h"
#include "chaos/report/report_private.h"
#include "common/base/minmax.h"

enum { BUCKETS = 300, SPARK_BUCKETS = 60, BUCKET_MIN_MS = 200 };

/* Steps per second in each bucket of time, and those among them that had been done before. */
struct rates {
    size_t count;
    double bucket_ms;
    double steps[BUCKETS], redone[BUCKETS];
    double baseline; /* The baseline run's; 0: not known. */
    double top;      /* The end of the axis. */
};

static void spread(const struct rates *rates, double *into, double from_ms, double to_ms,
                   double steps)
{
    assert(from_ms >= 0);
    if (to_ms <= from_ms) { return; }
    for (size_t i = (size_t)(from_ms / rates->bucket_ms); i < rates->count; i++) {
        double start_ms = (double)i * rates->bucket_ms, stop_ms = start_ms + rates->bucket_ms;
        if (start_ms >= to_ms) { break; }
        double within_ms = double_min(to_ms, stop_ms) - double_max(from_ms, start_ms);
        into[i] += steps * within_ms / (to_ms - from_ms) * 1000 / rates->bucket_ms;
    }
}

/* Far above the baseline's rate is only an artefact of when samples were taken: it is cut. */
static double top_of(const struct rates *rates)
{
    assert(rates->count <= BUCKETS);
    double top = rates->baseline * 1.2;
    for (size_t i = 0; i < rates->count; i++) { top = double_max(top, rates->steps[i]); }
    if (rates->baseline > 0) { top = double_min(top, rates->baseline * 3); }
    return top > 0 ? top * 1.05 : 1;
}

static void measure(struct rates *rates, const struct timeline *all, size_t buckets)
{
    assert(buckets > 0);
    assert(buckets <= BUCKETS);
    double highest = -1; /* Step so far. */
    memset(rates, 0, sizeof *rates);
    rates->bucket_ms = double_max(all->end_ms / (double)buckets, BUCKET_MIN_MS);
    rates->count = size_min((size_t)(all->end_ms / rates->bucket_ms) + 1, buckets);
    rates->baseline = json_member_number(json_object_get(all->begin, "baseline"), "steps_per_s", 0);
    for (size_t i = 1; i < all->sample_count; i++) {
        const struct sample *a = &all->samples[i - 1], *b = &all->samples[i];
        double from = (double)a->step, to = (double)b->step;
        highest = double_max(highest, from);
        if (a->generation != b->generation || to <= from) { continue; }
        spread(rates, rates->steps, a->at_ms, b->at_ms, to - from);
        spread(rates, rates->redone, a->at_ms, b->at_ms, double_min(highest, to) - from);
    }
    rates->top = top_of(rates);
}

static void draw_area(struct markup *out, const char *class, const struct chart_frame *frame,
                      const struct rates *rates, const double *values)
{
    assert(rates->top > 0);
    assert(rates->count <= BUCKETS);
    double x = frame->left, height = frame->bottom - frame->top;
    bool on = false;
    markup_format(out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < rates->count; i++) {
        double y = frame->bottom - double_min(values[i] / rates->top, 1) * height;
        double end = chart_frame_x(frame, (double)(i + 1) * rates->bucket_ms);
        if (values[i] > 0 && !on) { markup_format(out, "M%.1f %.1f", x, frame->bottom); }
        if (values[i] > 0) { markup_format(out, "L%.1f %.1f", (x + end) / 2, y); }
        if (values[i] <= 0 && on) { markup_format(out, "L%.1f %.1fZ", x, frame->bottom); }
        on = values[i] > 0;
        x = end;
    }
    if (on) { markup_format(out, "L%.1f %.1fZ", x, frame->bottom); }
    markup_add(out, "\"/>");
}

static void draw_level(struct markup *out, const char *class, const struct chart_frame *frame,
                       double y)
{
    assert(frame->left <= frame->right);
    markup_format(out, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>", class, frame->left, y,
                  frame->right);
}

static void draw_checkpoints(struct markup *out, const struct chart_frame *frame,
                             const struct timeline *all)
{
    double last = -1;
    if (all->checkpoint_count == 0) { return; }
    markup_add(out, "<g>");
    markup_title(out, "%zu checkpoints committed", all->checkpoint_count);
    markup_add(out, "<path class=\"checkpoint\" d=\"");
    for (size_t i = 0; i < all->checkpoint_count; i++) {
        double x = chart_frame_x(frame, all->checkpoints[i]);
        if (x - last < 0.8) { continue; }
        markup_format(out, "M%.1f %.1fv5", x, frame->bottom + 1.5);
        last = x;
    }
    markup_add(out, "\"/></g>");
}

void report_rate_chart(struct markup *out, const struct chart_frame *frame,
                       const struct timeline *timeline)
{
    assert(timeline != NULL);
    assert(frame->top < frame->bottom);
    struct rates rates;
    double axis = frame->left - 10;
    measure(&rates, timeline, BUCKETS);
    markup_add(out, "<g><title>steps per second</title>");
    draw_area(out, "rate", frame, &rates, rates.steps);
    markup_add(out, "</g><g><title>steps done again</title>");
    draw_area(out, "redone", frame, &rates, rates.redone);
    markup_add(out, "</g>");
    if (rates.baseline > 0) {
        double y = frame->bottom - (frame->bottom - frame->top) * rates.baseline / rates.top;
        draw_level(out, "baseline", frame, y);
        markup_label(out, "axis", axis, y + 3.5, "baseline %s/s",
                     number_count((int64_t)(rates.baseline + 0.5)).at);
    }
    draw_checkpoints(out, frame, timeline);
    draw_level(out, "base", frame, frame->bottom);
    markup_label(out, "axis", axis, frame->top + 8, "steps/s");
    markup_label(out, "axis", axis, frame->bottom + 3, "0");
}

void report_sparkline(struct markup *out, const struct timeline *timeline)
{
    assert(timeline != NULL);
    const struct chart_frame frame = {
        .left = 0, .right = 200, .top = 1, .bottom = 21, .end_ms = timeline->end_ms};
    struct rates rates;
    measure(&rates, timeline, SPARK_BUCKETS);
    markup_add(out, "<svg class=\"spark\" viewBox=\"0 0 200 22\" preserveAspectRatio=\"none\" "
                    "aria-hidden=\"true\">");
    draw_area(out, "rate", &frame, &rates, rates.steps);
    markup_add(out, "<path class=\"faults\" d=\"");
    for (size_t i = 0; i < timeline->fault_count; i++) {
        markup_format(out, "M%.0f 17v5", chart_frame_x(&frame, timeline->faults[i].at_ms));
    }
    markup_add(out, "\"/></svg>");
}
