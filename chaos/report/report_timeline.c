/* chaos/report/report_timeline.c: a round as a picture: a lane for each component, the faults above
 * the lanes, the rate of steps below. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chaos/report/chart_frame.h"
#include "chaos/report/number.h"
#include "chaos/report/report_private.h"
#include "common/base/minmax.h"

enum {
    WIDTH = 1120,
    LEFT = 112,
    RIGHT = 1108,
    TOP = 8,
    BADGE_ROWS = 5,
    BADGE_ROW = 16,
    BADGE_RADIUS = 7,
    LANE = 20,
    BAR = 8,
    BAND = 14,
    GROUP_GAP = 8,
    CHART = 104,
    CHART_GAP = 18,
    AXIS = 24
};

/* Where the name of a fault stands, as seen from its badge. */
enum side { SIDE_NONE, SIDE_LEFT, SIDE_RIGHT };

struct badge {
    size_t row;
    enum side side;
};

struct picture {
    const struct timeline *all;
    struct chart_frame lanes, chart;
    double *lane_tops;    /* Owned. */
    struct badge *badges; /* Owned; one a fault. */
};

/* ------------------------------------------------------------- layout */

static double label_width(const struct timeline_fault *fault)
{
    assert(fault->fault != NULL);
    assert(fault->selector != NULL);
    return 20 + 6.4 * (double)strlen(fault->fault) + 5.7 * (double)strlen(fault->selector);
}

/* The first row that is free from there on; BADGE_ROWS: none. */
static size_t free_row(const double rights[BADGE_ROWS], double from)
{
    size_t row = 0;
    while (row < BADGE_ROWS && rights[row] > from) { row++; }
    return row;
}

/* Badges share the rows above the lanes; each has a label if a row has space for it, to the left of
 * the badge at the right end. */
static struct badge place_badge(const struct picture *picture, size_t index,
                                double rights[BADGE_ROWS])
{
    assert(index < picture->all->fault_count);
    enum { MANY = 36, MARGIN = 8 };
    const struct timeline_fault *fault = &picture->all->faults[index];
    double x = chart_frame_x(&picture->lanes, fault->at_ms), width = label_width(fault);
    bool left = x + width - BADGE_RADIUS > RIGHT + MARGIN;
    double from = left ? x + BADGE_RADIUS - width : x - BADGE_RADIUS;
    struct badge badge = {.row = free_row(rights, from), .side = left ? SIDE_LEFT : SIDE_RIGHT};
    if (badge.row == BADGE_ROWS || picture->all->fault_count > MANY) {
        badge.side = SIDE_NONE;
        badge.row = free_row(rights, x - BADGE_RADIUS);
    }
    if (badge.row == BADGE_ROWS) { badge.row = index % BADGE_ROWS; }
    assert(badge.row < BADGE_ROWS);
    rights[badge.row] = x + (badge.side == SIDE_RIGHT ? width - BADGE_RADIUS : BADGE_RADIUS);
    return badge;
}

/* Returns the bottom of the last row. */
static double place_badges(struct picture *picture)
{
    assert(picture->badges != NULL);
    double rights[BADGE_ROWS] = {0};
    size_t rows = 0;
    for (size_t i = 0; i < picture->all->fault_count; i++) {
        picture->badges[i] = place_badge(picture, i, rights);
        rows = size_max(rows, picture->badges[i].row + 1);
    }
    return TOP + (double)rows * BADGE_ROW;
}

/* "ps:0" and "ps:1" are. */
static bool is_same_group(const char *a, const char *b)
{
    size_t length = strcspn(a, ":");
    return length == strcspn(b, ":") && strncmp(a, b, length) == 0;
}

/* Returns the bottom of the last lane. */
static double place_lanes(struct picture *picture, double top)
{
    assert(picture->lane_tops != NULL);
    const struct timeline *all = picture->all;
    for (size_t i = 0; i < all->lane_count; i++) {
        if (i > 0 && !is_same_group(all->lanes[i - 1], all->lanes[i])) { top += GROUP_GAP; }
        picture->lane_tops[i] = top;
        top += LANE;
    }
    return top;
}

static bool lay_out(struct picture *picture)
{
    enum { BADGE_GAP = 6 };
    const struct timeline *all = picture->all;
    picture->lane_tops = calloc(all->lane_count + 1, sizeof *picture->lane_tops);
    picture->badges = calloc(all->fault_count + 1, sizeof *picture->badges);
    if (picture->lane_tops == NULL || picture->badges == NULL) { return false; }
    picture->lanes = (struct chart_frame){
        .left = LEFT, .right = RIGHT, .end_ms = all->end_ms > 0 ? all->end_ms : 1};
    picture->lanes.top = place_badges(picture) + BADGE_GAP;
    picture->lanes.bottom = place_lanes(picture, picture->lanes.top);
    picture->chart = picture->lanes;
    picture->chart.top = picture->lanes.bottom + CHART_GAP;
    picture->chart.bottom = picture->chart.top + CHART;
    assert(picture->lanes.top <= picture->lanes.bottom);
    return true;
}

static double lane_middle(const struct picture *picture, size_t lane)
{
    assert(lane < picture->all->lane_count);
    return picture->lane_tops[lane] + LANE / 2.0;
}

/* -1: it has no lane. */
static double middle_of(const struct picture *picture, const char *component)
{
    for (size_t i = 0; i < picture->all->lane_count; i++) {
        if (strcmp(picture->all->lanes[i], component) == 0) { return lane_middle(picture, i); }
    }
    return -1;
}

/* ------------------------------------------------------------- time */

static double tick_ms(double whole_ms)
{
    assert(whole_ms > 0);
    enum { TICKS_MAX = 13 };
    static const double steps[] = {10,    20,    50,    100,   200,    500,    1000,   2000,   5000,
                                   10000, 20000, 30000, 60000, 120000, 300000, 600000, 1800000};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (whole_ms / steps[i] <= TICKS_MAX) { return steps[i]; }
    }
    return whole_ms / 10;
}

static void draw_axis(struct markup *out, const struct picture *picture)
{
    double bottom = picture->chart.bottom, end_ms = picture->lanes.end_ms;
    double step_ms = tick_ms(end_ms);
    for (int i = 0; i * step_ms <= end_ms; i++) {
        double at_ms = i * step_ms, x = chart_frame_x(&picture->lanes, at_ms);
        markup_format(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x, picture->lanes.top,
                      bottom);
        if (at_ms >= 120000 && step_ms >= 60000) {
            markup_label(out, "tick", x, bottom + 20, "%.0f min", at_ms / 60000);
        } else {
            markup_label(out, "tick", x, bottom + 20, "%.*f s", step_ms < 1000 ? 2 : 0,
                         at_ms / 1000);
        }
    }
}

/* Training stands still. */
static void draw_phase(struct markup *out, const struct picture *picture,
                       const struct phase_interval *interval)
{
    assert(interval->from_ms <= interval->to_ms);
    double from = chart_frame_x(&picture->lanes, interval->from_ms);
    double to = chart_frame_x(&picture->lanes, interval->to_ms), top = picture->lanes.top - 3;
    const char *name = run_phase_name(interval->phase);
    char class[32];
    if (interval->phase == RUN_RUNNING || interval->phase >= RUN_STOPPING) { return; }
    (void)snprintf(class, sizeof class, "still %s", name);
    markup_add(out, "<g>");
    markup_title(out, "%s for %s", name, number_duration(interval->to_ms - interval->from_ms).at);
    markup_rect(out, class, from, top, double_max(to - from, 1), picture->chart.bottom - top, 0);
    markup_add(out, "</g>");
}

/* ------------------------------------------------------------- lanes */

static void draw_bar(struct markup *out, const char *class, double from, double to, double middle,
                     double height)
{
    assert(from <= to);
    markup_rect(out, class, from, middle - height / 2, to - from, height, 2);
}

static void draw_component(struct markup *out, const struct picture *picture,
                           const struct component_interval *interval)
{
    assert(interval->from_ms <= interval->to_ms);
    assert(interval->state <= COMPONENT_FROZEN);
    static const char *const states[] = {
        [COMPONENT_DOWN] = "down", [COMPONENT_UP] = "up", [COMPONENT_FROZEN] = "frozen"};
    const char *component = picture->all->lanes[interval->lane], *state = states[interval->state];
    double y = lane_middle(picture, interval->lane);
    double from = chart_frame_x(&picture->lanes, interval->from_ms);
    double to = double_max(chart_frame_x(&picture->lanes, interval->to_ms), from + 1.2);
    struct number_text lasted = number_duration(interval->to_ms - interval->from_ms);
    markup_add(out, "<g>");
    if (interval->state != COMPONENT_DOWN && interval->pid > 0) {
        markup_title(out, "%s %s (pid %" JSON_INTEGER_FORMAT "), %s", component, state,
                     interval->pid, lasted.at);
    } else {
        markup_title(out, "%s %s, %s", component, state, lasted.at);
    }
    if (interval->state == COMPONENT_DOWN) {
        markup_format(out, "<path class=\"down\" d=\"M%.1f %.1fH%.1f\"/>", from, y, to);
    } else {
        draw_bar(out, state, from, to, y, BAR);
    }
    markup_add(out, "</g>");
}

static void draw_term(struct markup *out, const struct picture *picture, const struct term *term)
{
    assert(term->component != NULL);
    double y = middle_of(picture, term->component);
    double from = chart_frame_x(&picture->lanes, term->from_ms);
    double to = double_max(chart_frame_x(&picture->lanes, term->to_ms), from + 2);
    if (y < 0) { return; }
    markup_add(out, "<g>");
    markup_title(out, "%s is chief, epoch %" JSON_INTEGER_FORMAT ", for %s", term->component,
                 term->epoch, number_duration(term->to_ms - term->from_ms).at);
    draw_bar(out, "term", from, to, y, BAND);
    if (to - from > 12 + 6 * (term->epoch > 9) + 6 * (term->epoch > 99)) {
        markup_label(out, "epoch", (from + to) / 2, y + 3.6, "%" JSON_INTEGER_FORMAT, term->epoch);
    }
    markup_add(out, "</g>");
}

/* The time without a chief: from the end of a term to the beginning of the next. */
static void draw_handover(struct markup *out, const struct picture *picture,
                          const struct term *former, const struct term *next)
{
    double from_y = middle_of(picture, former->component),
           to_y = middle_of(picture, next->component);
    if (from_y < 0 || to_y < 0) { return; }
    markup_add(out, "<g>");
    markup_title(out, "no chief for %s", number_duration(next->from_ms - former->to_ms).at);
    markup_format(out, "<path class=\"handover\" d=\"M%.1f %.1fL%.1f %.1f\"/></g>",
                  chart_frame_x(&picture->lanes, former->to_ms), from_y,
                  chart_frame_x(&picture->lanes, next->from_ms), to_y);
}

/* ------------------------------------------------------------- faults */

static void draw_target(struct markup *out, const struct picture *picture,
                        const struct timeline_fault *fault, double y)
{
    assert(fault->at_ms <= fault->until_ms);
    static const char *const layers[] = {"under", "span", "edge"};
    double from = chart_frame_x(&picture->lanes, fault->at_ms);
    double to = chart_frame_x(&picture->lanes, fault->until_ms);
    for (size_t i = 0; i < sizeof layers / sizeof *layers && to - from >= 2; i++) {
        draw_bar(out, layers[i], from, to, y, BAND);
    }
    markup_format(out, "<circle class=\"hit\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.6\"/>", from, y);
}

/* A line down to the lowest target, and what happened to each. */
static void draw_targets(struct markup *out, const struct picture *picture,
                         const struct timeline_fault *fault, double top)
{
    double x = chart_frame_x(&picture->lanes, fault->at_ms), lowest = picture->lanes.top;
    size_t count = json_array_size(fault->targets);
    for (size_t i = 0; i < count; i++) {
        const char *component = json_string_value(json_array_get(fault->targets, i));
        if (component != NULL) { lowest = double_max(lowest, middle_of(picture, component)); }
    }
    markup_format(out, "<path class=\"stem\" d=\"M%.1f %.1fV%.1f\"/>", x, top, lowest);
    for (size_t i = 0; i < count; i++) {
        const char *component = json_string_value(json_array_get(fault->targets, i));
        double y = component != NULL ? middle_of(picture, component) : -1;
        if (y >= 0) { draw_target(out, picture, fault, y); }
    }
}

static void draw_fault_title(struct markup *out, const struct timeline_fault *fault)
{
    const char *moment = timeline_fault_moment(fault);
    markup_format(out, "<title>#%" JSON_INTEGER_FORMAT " at %.2f s: ", fault->id,
                  fault->at_ms / 1000);
    markup_text(out, *fault->text != '\0' ? fault->text : fault->fault);
    if (fault->until_ms > fault->at_ms) {
        markup_format(out, ", for %s", number_duration(fault->until_ms - fault->at_ms).at);
    }
    markup_wrap(out, "; moment: ", moment, "");
    if (fault->step >= 0) { markup_format(out, "; step %" JSON_INTEGER_FORMAT, fault->step); }
    markup_add(out, "</title>");
}

static void draw_fault(struct markup *out, const struct picture *picture, size_t index)
{
    assert(index < picture->all->fault_count);
    enum { LABEL_AWAY = 10 };
    const struct timeline_fault *fault = &picture->all->faults[index];
    const struct badge *badge = &picture->badges[index];
    const char *family = report_family_of(fault->fault)->name;
    double x = chart_frame_x(&picture->lanes, fault->at_ms);
    double y = TOP + ((double)badge->row + 0.5) * BADGE_ROW;
    markup_format(out, "<g class=\"fault f-%s\">", family);
    draw_fault_title(out, fault);
    draw_targets(out, picture, fault, y + 6);
    markup_format(out,
                  "<circle class=\"badge\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>"
                  "<use href=\"#s-%s\" x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\"/>",
                  x, y, BADGE_RADIUS, family, x - 4, y - 4);
    if (badge->side != SIDE_NONE) {
        bool left = badge->side == SIDE_LEFT;
        markup_format(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", left ? "before" : "after",
                      left ? x - LABEL_AWAY : x + LABEL_AWAY, y + 3.5);
        markup_wrap(out, "", fault->fault, " <tspan>");
        markup_wrap(out, "", fault->selector, "</tspan></text>");
    }
    markup_add(out, "</g>");
}

/* ------------------------------------------------------------- picture */

static void draw(struct markup *out, const struct picture *picture)
{
    const struct timeline *all = picture->all;
    markup_format(out,
                  "<svg class=\"timeline\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
                  "aria-label=\"timeline\">",
                  WIDTH, picture->chart.bottom + AXIS + 4);
    draw_axis(out, picture);
    for (size_t i = 0; i < all->phase_interval_count; i++) {
        draw_phase(out, picture, &all->phase_intervals[i]);
    }
    for (size_t i = 0; i < all->lane_count; i++) {
        markup_label(out, "lane", LEFT - 10, lane_middle(picture, i) + 4, "%s", all->lanes[i]);
    }
    for (size_t i = 0; i < all->component_interval_count; i++) {
        draw_component(out, picture, &all->component_intervals[i]);
    }
    for (size_t i = 1; i < all->term_count; i++) {
        draw_handover(out, picture, &all->terms[i - 1], &all->terms[i]);
    }
    for (size_t i = 0; i < all->term_count; i++) { draw_term(out, picture, &all->terms[i]); }
    report_rate_chart(out, &picture->chart, all);
    for (size_t i = 0; i < all->fault_count; i++) { draw_fault(out, picture, i); }
    markup_add(out, "</svg>");
}

void report_timeline(struct markup *out, const struct timeline *timeline)
{
    assert(timeline != NULL);
    struct picture picture = {.all = timeline};
    if (lay_out(&picture)) {
        draw(out, &picture);
    } else {
        out->failed = true;
    }
    free(picture.lane_tops);
    free(picture.badges);
}
