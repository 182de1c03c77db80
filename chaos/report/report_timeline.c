/* chaos/report/report_timeline.c: a round as a picture: lanes, faults, recoveries. */
#include <stdlib.h>
#include <string.h>

#include "chaos/report/report_private.h"

enum {
    WIDTH = 1120,
    LEFT = 112,
    RIGHT = 1108,
    RAIL_ROWS = 5,
    RAIL_ROW = 16,
    LANE = 20,
    BAR = 8,
    BAND = 14,
    GROUP_GAP = 8,
    CHART = 104,
    CHART_GAP = 18,
    AXIS = 24
};

enum label { LABEL_NONE, LABEL_LEFT, LABEL_RIGHT };

struct picture {
    const struct timeline *all;
    struct report_frame lanes, chart;
    size_t rows;           /* Of the rail, in use. */
    double *lane_tops;     /* Owned. */
    uint8_t *fault_rows;   /* Owned: row of each fault's sign. */
    uint8_t *fault_labels; /* Owned: `enum label` of each. */
};

double report_x(const struct report_frame *frame, double at_ms)
{
    double whole = frame->to_ms - frame->from_ms;
    if (at_ms < frame->from_ms) { at_ms = frame->from_ms; }
    if (at_ms > frame->to_ms) { at_ms = frame->to_ms; }
    if (whole <= 0) { return frame->left; }
    return frame->left + (at_ms - frame->from_ms) / whole * (frame->right - frame->left);
}

/* ------------------------------------------------------------- places of things */

static double label_width(const struct timeline_fault *timeline_fault)
{
    return 20 + 6.4 * (double)strlen(timeline_fault->fault) +
           5.7 * (double)strlen(timeline_fault->whom);
}

/* The first row that is free from there on; RAIL_ROWS: none. */
static size_t free_row(const double rights[RAIL_ROWS], double from)
{
    size_t row = 0;
    while (row < RAIL_ROWS && rights[row] > from) { row++; }
    return row;
}

/* Signs take turns on the rows of the rail; with their words where there is room for them, to the
 * left at the right end. */
static void place_fault(struct picture *picture, size_t index, double rights[RAIL_ROWS])
{
    enum { SIGN_HALF = 7, MANY = 36 };
    const struct timeline_fault *timeline_fault = &picture->all->faults[index];
    double x = report_x(&picture->lanes, timeline_fault->at_ms),
           width = label_width(timeline_fault);
    bool left = x + width - SIGN_HALF > RIGHT + 8;
    double from = left ? x + SIGN_HALF - width : x - SIGN_HALF;
    enum label label = left ? LABEL_LEFT : LABEL_RIGHT;
    size_t row = picture->all->fault_count > MANY ? RAIL_ROWS : free_row(rights, from);
    if (row == RAIL_ROWS) {
        label = LABEL_NONE;
        row = free_row(rights, x - SIGN_HALF);
    }
    if (row == RAIL_ROWS) { row = index % RAIL_ROWS; }
    rights[row] = label == LABEL_RIGHT ? x - SIGN_HALF + width : x + SIGN_HALF;
    picture->fault_rows[index] = (uint8_t)row;
    picture->fault_labels[index] = (uint8_t)label;
    if (row + 1 > picture->rows) { picture->rows = row + 1; }
}

static bool same_group(const char *a, const char *b)
{
    size_t length = strcspn(a, ":");
    return length == strcspn(b, ":") && strncmp(a, b, length) == 0;
}

static double place_lanes(struct picture *picture, double top)
{
    const struct timeline *all = picture->all;
    for (size_t i = 0; i < all->lane_count; i++) {
        if (i > 0 && !same_group(all->lanes[i - 1], all->lanes[i])) { top += GROUP_GAP; }
        picture->lane_tops[i] = top;
        top += LANE;
    }
    return top;
}

static bool layout(struct picture *picture)
{
    const struct timeline *all = picture->all;
    double rights[RAIL_ROWS] = {0};
    picture->lane_tops = calloc(all->lane_count + 1, sizeof *picture->lane_tops);
    picture->fault_rows = calloc(all->fault_count + 1, sizeof *picture->fault_rows);
    picture->fault_labels = calloc(all->fault_count + 1, sizeof *picture->fault_labels);
    if (picture->lane_tops == NULL || picture->fault_rows == NULL ||
        picture->fault_labels == NULL) {
        return false;
    }
    picture->lanes = (struct report_frame){
        .left = LEFT, .right = RIGHT, .from_ms = 0, .to_ms = all->end_ms > 0 ? all->end_ms : 1};
    for (size_t i = 0; i < all->fault_count; i++) { place_fault(picture, i, rights); }
    double top = 8 + (double)picture->rows * RAIL_ROW + 6;
    double bottom = place_lanes(picture, top);
    picture->lanes.top = top;
    picture->lanes.height = bottom - top;
    picture->chart = picture->lanes;
    picture->chart.top = bottom + CHART_GAP;
    picture->chart.height = CHART;
    return true;
}

static double lane_of(const struct picture *picture, const char *place)
{
    for (size_t i = 0; i < picture->all->lane_count; i++) {
        if (strcmp(picture->all->lanes[i], place) == 0) {
            return picture->lane_tops[i] + LANE / 2.0;
        }
    }
    return -1;
}

/* ------------------------------------------------------------- time */

static double tick_ms(double whole_ms)
{
    static const double steps[] = {10,    20,    50,    100,   200,    500,    1000,   2000,   5000,
                                   10000, 20000, 30000, 60000, 120000, 300000, 600000, 1800000};
    size_t count = sizeof steps / sizeof *steps;
    for (size_t i = 0; i < count; i++) {
        if (whole_ms / steps[i] <= 13) { return steps[i]; }
    }
    return whole_ms / 10;
}

static void draw_axis(struct markup *out, const struct picture *picture)
{
    const struct report_frame *frame = &picture->lanes;
    double bottom = picture->chart.top + picture->chart.height;
    double step_ms = tick_ms(frame->to_ms);
    for (int i = 0; i * step_ms <= frame->to_ms; i++) {
        double at_ms = i * step_ms;
        double x = report_x(frame, at_ms);
        markup_format(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x, frame->top, bottom);
        markup_format(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\">", x, bottom + 20);
        if (at_ms >= 120000 && step_ms >= 60000) {
            markup_format(out, "%.0f min</text>", at_ms / 60000);
        } else {
            markup_format(out, "%.*f s</text>", step_ms < 1000 ? 2 : 0, at_ms / 1000);
        }
    }
}

/* ------------------------------------------------------------- lanes */

static void draw_labels(struct markup *out, const struct picture *picture)
{
    for (size_t i = 0; i < picture->all->lane_count; i++) {
        double y = picture->lane_tops[i] + LANE / 2.0;
        markup_format(out, "<text class=\"lane\" x=\"%d\" y=\"%.1f\">", LEFT - 10, y + 4);
        markup_wrap(out, "", picture->all->lanes[i], "</text>");
    }
}

static void draw_place_interval(struct markup *out, const struct picture *picture,
                                const struct place_interval *place_interval)
{
    static const char *const classes[] = {"down", "up", "frozen"};
    static const char *const words[] = {"down", "up", "frozen"};
    const struct report_frame *frame = &picture->lanes;
    double y = picture->lane_tops[place_interval->lane] + LANE / 2.0;
    double from = report_x(frame, place_interval->from_ms),
           to = report_x(frame, place_interval->to_ms);
    if (to - from < 1.2) { to = from + 1.2; }
    markup_wrap(out, "<g><title>", picture->all->lanes[place_interval->lane], "");
    markup_format(out, " %s", words[place_interval->state]);
    if (place_interval->state != PLACE_DOWN && place_interval->pid > 0) {
        markup_format(out, " (pid %lld)", (long long)place_interval->pid);
    }
    markup_add(out, ", ");
    markup_duration(out, place_interval->to_ms - place_interval->from_ms);
    if (place_interval->state == PLACE_DOWN) {
        markup_format(out, "</title><path class=\"down\" d=\"M%.1f %.1fH%.1f\"/></g>", from, y, to);
    } else {
        markup_format(out,
                      "</title><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                      "height=\"%d\" rx=\"2\"/></g>",
                      classes[place_interval->state], from, y - BAR / 2.0, to - from, BAR);
    }
}

static void draw_term(struct markup *out, const struct picture *picture, const struct term *term)
{
    double y = lane_of(picture, term->place);
    double from = report_x(&picture->lanes, term->from_ms);
    double to = report_x(&picture->lanes, term->to_ms);
    if (y < 0) { return; }
    if (to - from < 2) { to = from + 2; }
    markup_wrap(out, "<g><title>", term->place, "");
    markup_format(out, " is chief, epoch %lld, for ", (long long)term->epoch);
    markup_duration(out, term->to_ms - term->from_ms);
    markup_format(out,
                  "</title><rect class=\"reign\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                  "height=\"%d\" rx=\"3\"/>",
                  from, y - BAND / 2.0, to - from, BAND);
    if (to - from > 12 + 6 * (term->epoch > 9) + 6 * (term->epoch > 99)) {
        markup_format(out, "<text class=\"epoch\" x=\"%.1f\" y=\"%.1f\">%lld</text>",
                      (from + to) / 2, y + 3.6, (long long)term->epoch);
    }
    markup_add(out, "</g>");
}

/* ------------------------------------------------------------- faults and recoveries */

static void draw_stretch(struct markup *out, const struct picture *picture,
                         const struct phase_interval *phase_interval)
{
    const struct report_frame *frame = &picture->lanes;
    double bottom = picture->chart.top + picture->chart.height;
    double from = report_x(frame, phase_interval->from_ms),
           to = report_x(frame, phase_interval->to_ms);
    if (phase_interval->phase == RUN_RUNNING || phase_interval->phase >= RUN_STOPPING) { return; }
    markup_format(out, "<g><title>%s for ", run_phase_name(phase_interval->phase));
    markup_duration(out, phase_interval->to_ms - phase_interval->from_ms);
    markup_format(out,
                  "</title><rect class=\"still %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                  "height=\"%.1f\"/></g>",
                  run_phase_name(phase_interval->phase), from, frame->top - 3,
                  to - from < 1 ? 1 : to - from, bottom - frame->top + 3);
}

static void draw_target(struct markup *out, const struct picture *picture,
                        const struct timeline_fault *timeline_fault, const char *place)
{
    double y = lane_of(picture, place);
    double from = report_x(&picture->lanes, timeline_fault->at_ms);
    double to = report_x(&picture->lanes, timeline_fault->until_ms);
    if (y < 0) { return; }
    if (to - from >= 2) {
        markup_format(
            out,
            "<rect class=\"under\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
            "rx=\"2\"/><rect class=\"span\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>"
            "<rect class=\"edge\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
            "rx=\"2\"/>",
            from, y - BAND / 2.0, to - from, BAND, from, y - BAND / 2.0, to - from, BAND, from,
            y - BAND / 2.0, to - from, BAND);
    }
    markup_format(out, "<circle class=\"hit\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.6\"/>", from, y);
}

static void title_of_fault(struct markup *out, const struct timeline_fault *timeline_fault)
{
    markup_format(out, "<title>#%lld at %.2f s: ", (long long)timeline_fault->id,
                  timeline_fault->at_ms / 1000);
    markup_wrap(out, "", *timeline_fault->text ? timeline_fault->text : timeline_fault->fault, "");
    if (timeline_fault->until_ms > timeline_fault->at_ms) {
        markup_add(out, ", for ");
        markup_duration(out, timeline_fault->until_ms - timeline_fault->at_ms);
    }
    if (*report_moment(timeline_fault)) {
        markup_wrap(out, "; moment: ", report_moment(timeline_fault), "");
    }
    if (timeline_fault->step >= 0) {
        markup_format(out, "; step %lld", (long long)timeline_fault->step);
    }
    markup_add(out, "</title>");
}

static void draw_words(struct markup *out, const struct timeline_fault *timeline_fault,
                       enum label label, double x, double y)
{
    enum { AWAY = 10 };
    if (label == LABEL_NONE) { return; }
    markup_format(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">",
                  label == LABEL_LEFT ? "before" : "after",
                  x + (label == LABEL_LEFT ? -AWAY : AWAY), y);
    markup_wrap(out, "", timeline_fault->fault, " <tspan>");
    markup_wrap(out, "", timeline_fault->whom, "</tspan></text>");
}

static void draw_fault(struct markup *out, const struct picture *picture, size_t index)
{
    const struct timeline_fault *timeline_fault = &picture->all->faults[index];
    const struct report_family *family = report_family_of(timeline_fault->fault);
    double x = report_x(&picture->lanes, timeline_fault->at_ms), lowest = picture->lanes.top;
    double y = 8 + picture->fault_rows[index] * RAIL_ROW + RAIL_ROW / 2.0;
    size_t count = json_array_size(timeline_fault->targets);
    markup_format(out, "<g class=\"fault f-%s\">", family->name);
    title_of_fault(out, timeline_fault);
    for (size_t i = 0; i < count; i++) {
        const char *place = json_string_value(json_array_get(timeline_fault->targets, i));
        double lane = place != NULL ? lane_of(picture, place) : -1;
        if (lane > lowest) { lowest = lane; }
    }
    markup_format(out, "<path class=\"stem\" d=\"M%.1f %.1fV%.1f\"/>", x, y + 6, lowest);
    for (size_t i = 0; i < count; i++) {
        const char *place = json_string_value(json_array_get(timeline_fault->targets, i));
        if (place != NULL) { draw_target(out, picture, timeline_fault, place); }
    }
    markup_format(out,
                  "<circle class=\"seat\" cx=\"%.1f\" cy=\"%.1f\" r=\"7\"/>"
                  "<use href=\"#s-%s\" x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\"/>",
                  x, y, family->name, x - 4, y - 4);
    draw_words(out, timeline_fault, (enum label)picture->fault_labels[index], x, y + 3.5);
    markup_add(out, "</g>");
}

/* Nobody in office: from a chief's fall to the next one. */
static void draw_vacancies(struct markup *out, const struct picture *picture)
{
    const struct timeline *all = picture->all;
    for (size_t i = 1; i < all->term_count; i++) {
        const struct term *former = &all->terms[i - 1], *next = &all->terms[i];
        double y = lane_of(picture, former->place), to_y = lane_of(picture, next->place);
        double x = report_x(&picture->lanes, former->to_ms);
        double to = report_x(&picture->lanes, next->from_ms);
        if (y < 0 || to_y < 0) { continue; }
        markup_add(out, "<g><title>nobody in office for ");
        markup_duration(out, next->from_ms - former->to_ms);
        markup_format(out, "</title><path class=\"handover\" d=\"M%.1f %.1fL%.1f %.1f\"/></g>", x,
                      y, to, to_y);
    }
}

static void draw(struct markup *out, const struct picture *picture)
{
    const struct timeline *all = picture->all;
    double height = picture->chart.top + picture->chart.height + AXIS + 4;
    markup_format(out,
                  "<svg class=\"timeline\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
                  "aria-label=\"timeline\">",
                  WIDTH, height);
    draw_axis(out, picture);
    for (size_t i = 0; i < all->phase_interval_count; i++) {
        draw_stretch(out, picture, &all->phase_intervals[i]);
    }
    draw_labels(out, picture);
    for (size_t i = 0; i < all->place_interval_count; i++) {
        draw_place_interval(out, picture, &all->place_intervals[i]);
    }
    draw_vacancies(out, picture);
    for (size_t i = 0; i < all->term_count; i++) { draw_term(out, picture, &all->terms[i]); }
    report_rate_chart(out, &picture->chart, all);
    for (size_t i = 0; i < all->fault_count; i++) { draw_fault(out, picture, i); }
    markup_add(out, "</svg>");
}

void report_timeline(struct markup *out, const struct timeline *timeline)
{
    struct picture picture = {.all = timeline};
    if (layout(&picture)) {
        draw(out, &picture);
    } else {
        out->failed = true;
    }
    free(picture.lane_tops);
    free(picture.fault_rows);
    free(picture.fault_labels);
}
