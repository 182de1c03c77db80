/* chaos/report/report_rate.c: steps per second, as an area and as a line that fits into a row. */
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/report/report_private.h"

enum { BUCKETS = 300, SPARK_BUCKETS = 60, BUCKET_MIN_MS = 200 };

/* Steps that were done in each bucket of time, and those among them that had been done before. */
struct rates {
    size_t count;
    double bucket_ms;
    double steps[BUCKETS], redone[BUCKETS];
};

static void spread(struct rates *rates, double *into, double from_ms, double to_ms, double steps)
{
    double whole_ms = to_ms - from_ms;
    if (whole_ms <= 0 || steps <= 0) { return; }
    for (size_t i = (size_t)(from_ms / rates->bucket_ms); i < rates->count; i++) {
        double start_ms = (double)i * rates->bucket_ms, stop_ms = start_ms + rates->bucket_ms;
        if (start_ms >= to_ms) { break; }
        double a = from_ms > start_ms ? from_ms : start_ms, b = to_ms < stop_ms ? to_ms : stop_ms;
        into[i] += steps * (b - a) / whole_ms;
    }
}

static void count_steps(struct rates *rates, const struct timeline *all, size_t buckets)
{
    json_int_t top = -1;
    memset(rates, 0, sizeof *rates);
    rates->bucket_ms = all->end_ms / (double)buckets;
    if (rates->bucket_ms < BUCKET_MIN_MS) { rates->bucket_ms = BUCKET_MIN_MS; }
    rates->count = (size_t)(all->end_ms / rates->bucket_ms) + 1;
    if (rates->count > buckets) { rates->count = buckets; }
    for (size_t i = 1; i < all->sample_count; i++) {
        const struct sample *a = &all->samples[i - 1], *b = &all->samples[i];
        if (a->step > top) { top = a->step; }
        if (a->generation != b->generation || b->step <= a->step) { continue; }
        json_int_t again = top > a->step ? (top < b->step ? top : b->step) - a->step : 0;
        spread(rates, rates->steps, a->at_ms, b->at_ms, (double)(b->step - a->step));
        spread(rates, rates->redone, a->at_ms, b->at_ms, (double)again);
    }
    for (size_t i = 0; i < rates->count; i++) {
        rates->steps[i] *= 1000 / rates->bucket_ms;
        rates->redone[i] *= 1000 / rates->bucket_ms;
    }
}

static double calm_rate(const struct timeline *all)
{
    return json_member_number(json_object_get(all->begin, "calm"), "steps_per_s", 0);
}

/* What is far above calm's rate is an artefact of when samples were taken: it is cut. */
static double top_rate(const struct rates *rates, double calm)
{
    double top = calm * 1.2;
    for (size_t i = 0; i < rates->count; i++) {
        if (rates->steps[i] > top) { top = rates->steps[i]; }
    }
    if (calm > 0 && top > calm * 3) { top = calm * 3; }
    return top > 0 ? top * 1.05 : 1;
}

static void area(struct markup *out, const struct report_frame *frame, const struct rates *rates,
                 const double *values, double top)
{
    double bottom = frame->top + frame->height, x = frame->left;
    bool on = false;
    for (size_t i = 0; i < rates->count; i++) {
        double share = values[i] / top;
        double y = bottom - (share < 1 ? share : 1) * frame->height;
        double end = report_x(frame, (double)(i + 1) * rates->bucket_ms);
        if (values[i] > 0 && !on) { markup_format(out, "M%.1f %.1f", x, bottom); }
        if (values[i] > 0) { markup_format(out, "L%.1f %.1f", (x + end) / 2, y); }
        if (values[i] <= 0 && on) { markup_format(out, "L%.1f %.1fZ", x, bottom); }
        on = values[i] > 0;
        x = end;
    }
    if (on) { markup_format(out, "L%.1f %.1fZ", x, bottom); }
}

static void draw_calm(struct markup *out, const struct report_frame *frame, double calm, double top)
{
    double y = frame->top + frame->height * (1 - calm / top);
    if (calm <= 0) { return; }
    markup_format(out, "<path class=\"calm\" d=\"M%.1f %.1fH%.1f\"/>", frame->left, y,
                  frame->right);
    markup_format(out, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\">calm ", frame->left - 10,
                  y + 3.5);
    markup_count(out, (int64_t)(calm + 0.5));
    markup_add(out, "/s</text>");
}

static void draw_checkpoints(struct markup *out, const struct report_frame *frame,
                             const struct timeline *all)
{
    double y = frame->top + frame->height, last = -1;
    if (all->checkpoint_count == 0) { return; }
    markup_format(out,
                  "<g><title>%zu checkpoints were committed</title><path class=\"checkpoint\" "
                  "d=\"",
                  all->checkpoint_count);
    for (size_t i = 0; i < all->checkpoint_count; i++) {
        double x = report_x(frame, all->checkpoints[i]);
        if (x - last >= 0.8) { markup_format(out, "M%.1f %.1fv5", x, y + 1.5); }
        if (x - last >= 0.8) { last = x; }
    }
    markup_add(out, "\"/></g>");
}

void report_rate_chart(struct markup *out, const struct report_frame *frame,
                       const struct timeline *timeline)
{
    struct rates rates;
    double calm = calm_rate(timeline), bottom = frame->top + frame->height;
    count_steps(&rates, timeline, BUCKETS);
    double top = top_rate(&rates, calm);
    markup_add(out, "<g><title>steps per second</title><path class=\"rate\" d=\"");
    area(out, frame, &rates, rates.steps, top);
    markup_add(out, "\"/></g><g><title>steps that are done again</title><path class=\"redone\" "
                    "d=\"");
    area(out, frame, &rates, rates.redone, top);
    markup_add(out, "\"/></g>");
    draw_calm(out, frame, calm, top);
    draw_checkpoints(out, frame, timeline);
    markup_format(out, "<path class=\"base\" d=\"M%.1f %.1fH%.1f\"/>", frame->left, bottom,
                  frame->right);
    markup_format(out, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\">steps/s</text>",
                  frame->left - 10, frame->top + 8);
    markup_format(out, "<text class=\"axis\" x=\"%.1f\" y=\"%.1f\">0</text>", frame->left - 10,
                  bottom + 3);
}

void report_sparkline(struct markup *out, const struct timeline *timeline)
{
    const struct report_frame frame = {
        .left = 0, .right = 200, .top = 1, .height = 20, .to_ms = timeline->end_ms};
    struct rates rates;
    count_steps(&rates, timeline, SPARK_BUCKETS);
    double top = top_rate(&rates, calm_rate(timeline));
    markup_add(out, "<svg class=\"spark\" viewBox=\"0 0 200 22\" preserveAspectRatio=\"none\" "
                    "aria-hidden=\"true\"><path class=\"rate\" d=\"");
    area(out, &frame, &rates, rates.steps, top);
    markup_add(out, "\"/><path class=\"strike\" d=\"");
    for (size_t i = 0; i < timeline->fault_count; i++) {
        markup_format(out, "M%.0f 17v5", report_x(&frame, timeline->faults[i].at_ms));
    }
    markup_add(out, "\"/></svg>");
}
