/* chaos/report_timeline.c: a round as a picture: lanes, faults, recoveries. */
#include <stdlib.h>
#include <string.h>

#include "chaos/report_parts.h"

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
    const struct chronicle *all;
    struct report_frame lanes, chart;
    size_t rows;          /* Of the rail, in use. */
    double *lane_tops;    /* Owned. */
    uint8_t *blow_rows;   /* Owned: row of each fault's sign. */
    uint8_t *blow_labels; /* Owned: `enum label` of each. */
};

double report_x(const struct report_frame *frame, double at_ms)
{
    double whole = frame->to_ms - frame->from_ms;
    if (at_ms < frame->from_ms) at_ms = frame->from_ms;
    if (at_ms > frame->to_ms) at_ms = frame->to_ms;
    if (whole <= 0) return frame->left;
    return frame->left + (at_ms - frame->from_ms) / whole * (frame->right - frame->left);
}

/* ------------------------------------------------------------- places of things */

static double label_width(const struct blow *blow)
{
    return 20 + 6.4 * (double)strlen(blow->fault) + 5.7 * (double)strlen(blow->whom);
}

/* The first row that is free from there on; RAIL_ROWS: none. */
static size_t free_row(const double rights[RAIL_ROWS], double from)
{
    size_t row = 0;
    while (row < RAIL_ROWS && rights[row] > from) row++;
    return row;
}

/* Signs take turns on the rows of the rail; with their words where there is room for them, to the
 * left at the right end. */
static void place_blow(struct picture *picture, size_t index, double rights[RAIL_ROWS])
{
    enum { SIGN_HALF = 7, MANY = 36 };
    const struct blow *blow = &picture->all->blows[index];
    double x = report_x(&picture->lanes, blow->at_ms), width = label_width(blow);
    bool left = x + width - SIGN_HALF > RIGHT + 8;
    double from = left ? x + SIGN_HALF - width : x - SIGN_HALF;
    enum label label = left ? LABEL_LEFT : LABEL_RIGHT;
    size_t row = picture->all->blow_count > MANY ? RAIL_ROWS : free_row(rights, from);
    if (row == RAIL_ROWS) {
        label = LABEL_NONE;
        row = free_row(rights, x - SIGN_HALF);
    }
    if (row == RAIL_ROWS) row = index % RAIL_ROWS;
    rights[row] = label == LABEL_RIGHT ? x - SIGN_HALF + width : x + SIGN_HALF;
    picture->blow_rows[index] = (uint8_t)row;
    picture->blow_labels[index] = (uint8_t)label;
    if (row + 1 > picture->rows) picture->rows = row + 1;
}

static bool same_group(const char *a, const char *b)
{
    size_t length = strcspn(a, ":");
    return length == strcspn(b, ":") && strncmp(a, b, length) == 0;
}

static double place_lanes(struct picture *picture, double top)
{
    const struct chronicle *all = picture->all;
    for (size_t i = 0; i < all->lane_count; i++) {
        if (i > 0 && !same_group(all->lanes[i - 1], all->lanes[i])) top += GROUP_GAP;
        picture->lane_tops[i] = top;
        top += LANE;
    }
    return top;
}

static bool layout(struct picture *picture)
{
    const struct chronicle *all = picture->all;
    double rights[RAIL_ROWS] = {0};
    picture->lane_tops = calloc(all->lane_count + 1, sizeof *picture->lane_tops);
    picture->blow_rows = calloc(all->blow_count + 1, sizeof *picture->blow_rows);
    picture->blow_labels = calloc(all->blow_count + 1, sizeof *picture->blow_labels);
    if (!picture->lane_tops || !picture->blow_rows || !picture->blow_labels) return false;
    picture->lanes = (struct report_frame){
        .left = LEFT, .right = RIGHT, .from_ms = 0, .to_ms = all->end_ms > 0 ? all->end_ms : 1};
    for (size_t i = 0; i < all->blow_count; i++) place_blow(picture, i, rights);
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
    for (size_t i = 0; i < picture->all->lane_count; i++)
        if (strcmp(picture->all->lanes[i], place) == 0) return picture->lane_tops[i] + LANE / 2.0;
    return -1;
}

/* ------------------------------------------------------------- time */

static double tick_ms(double whole_ms)
{
    static const double steps[] = {10,    20,    50,    100,   200,    500,    1000,   2000,   5000,
                                   10000, 20000, 30000, 60000, 120000, 300000, 600000, 1800000};
    size_t count = sizeof steps / sizeof *steps;
    for (size_t i = 0; i < count; i++)
        if (whole_ms / steps[i] <= 13) return steps[i];
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
        if (at_ms >= 120000 && step_ms >= 60000)
            markup_format(out, "%.0f min</text>", at_ms / 60000);
        else
            markup_format(out, "%.*f s</text>", step_ms < 1000 ? 2 : 0, at_ms / 1000);
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

static void draw_spell(struct markup *out, const struct picture *picture, const struct spell *spell)
{
    static const char *const classes[] = {"down", "up", "frozen"};
    static const char *const words[] = {"down", "up", "frozen"};
    const struct report_frame *frame = &picture->lanes;
    double y = picture->lane_tops[spell->lane] + LANE / 2.0;
    double from = report_x(frame, spell->from_ms), to = report_x(frame, spell->to_ms);
    if (to - from < 1.2) to = from + 1.2;
    markup_wrap(out, "<g><title>", picture->all->lanes[spell->lane], "");
    markup_format(out, " %s", words[spell->state]);
    if (spell->state != PLACE_DOWN && spell->pid > 0)
        markup_format(out, " (pid %lld)", (long long)spell->pid);
    markup_add(out, ", ");
    markup_duration(out, spell->to_ms - spell->from_ms);
    if (spell->state == PLACE_DOWN)
        markup_format(out, "</title><path class=\"down\" d=\"M%.1f %.1fH%.1f\"/></g>", from, y, to);
    else
        markup_format(out,
                      "</title><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                      "height=\"%d\" rx=\"2\"/></g>",
                      classes[spell->state], from, y - BAR / 2.0, to - from, BAR);
}

static void draw_reign(struct markup *out, const struct picture *picture, const struct reign *reign)
{
    double y = lane_of(picture, reign->place);
    double from = report_x(&picture->lanes, reign->from_ms);
    double to = report_x(&picture->lanes, reign->to_ms);
    if (y < 0) return;
    if (to - from < 2) to = from + 2;
    markup_wrap(out, "<g><title>", reign->place, "");
    markup_format(out, " is chief, epoch %lld, for ", (long long)reign->epoch);
    markup_duration(out, reign->to_ms - reign->from_ms);
    markup_format(out,
                  "</title><rect class=\"reign\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                  "height=\"%d\" rx=\"3\"/>",
                  from, y - BAND / 2.0, to - from, BAND);
    if (to - from > 12 + 6 * (reign->epoch > 9) + 6 * (reign->epoch > 99))
        markup_format(out, "<text class=\"epoch\" x=\"%.1f\" y=\"%.1f\">%lld</text>",
                      (from + to) / 2, y + 3.6, (long long)reign->epoch);
    markup_add(out, "</g>");
}

/* ------------------------------------------------------------- faults and recoveries */

static void draw_stretch(struct markup *out, const struct picture *picture,
                         const struct stretch *stretch)
{
    const struct report_frame *frame = &picture->lanes;
    double bottom = picture->chart.top + picture->chart.height;
    double from = report_x(frame, stretch->from_ms), to = report_x(frame, stretch->to_ms);
    if (stretch->phase == RUN_RUNNING || stretch->phase >= RUN_STOPPING) return;
    markup_format(out, "<g><title>%s for ", run_phase_name(stretch->phase));
    markup_duration(out, stretch->to_ms - stretch->from_ms);
    markup_format(out,
                  "</title><rect class=\"still %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                  "height=\"%.1f\"/></g>",
                  run_phase_name(stretch->phase), from, frame->top - 3,
                  to - from < 1 ? 1 : to - from, bottom - frame->top + 3);
}

static void draw_target(struct markup *out, const struct picture *picture, const struct blow *blow,
                        const char *place)
{
    double y = lane_of(picture, place);
    double from = report_x(&picture->lanes, blow->at_ms);
    double to = report_x(&picture->lanes, blow->until_ms);
    if (y < 0) return;
    if (to - from >= 2)
        markup_format(
            out,
            "<rect class=\"under\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
            "rx=\"2\"/><rect class=\"span\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>"
            "<rect class=\"edge\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
            "rx=\"2\"/>",
            from, y - BAND / 2.0, to - from, BAND, from, y - BAND / 2.0, to - from, BAND, from,
            y - BAND / 2.0, to - from, BAND);
    markup_format(out, "<circle class=\"hit\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.6\"/>", from, y);
}

static void title_of_blow(struct markup *out, const struct blow *blow)
{
    markup_format(out, "<title>#%lld at %.2f s: ", (long long)blow->id, blow->at_ms / 1000);
    markup_wrap(out, "", *blow->text ? blow->text : blow->fault, "");
    if (blow->until_ms > blow->at_ms) {
        markup_add(out, ", for ");
        markup_duration(out, blow->until_ms - blow->at_ms);
    }
    if (*report_moment(blow)) markup_wrap(out, "; moment: ", report_moment(blow), "");
    if (blow->step >= 0) markup_format(out, "; step %lld", (long long)blow->step);
    markup_add(out, "</title>");
}

static void draw_words(struct markup *out, const struct blow *blow, enum label label, double x,
                       double y)
{
    enum { AWAY = 10 };
    if (label == LABEL_NONE) return;
    markup_format(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">",
                  label == LABEL_LEFT ? "before" : "after",
                  x + (label == LABEL_LEFT ? -AWAY : AWAY), y);
    markup_wrap(out, "", blow->fault, " <tspan>");
    markup_wrap(out, "", blow->whom, "</tspan></text>");
}

static void draw_blow(struct markup *out, const struct picture *picture, size_t index)
{
    const struct blow *blow = &picture->all->blows[index];
    const struct report_family *family = report_family_of(blow->fault);
    double x = report_x(&picture->lanes, blow->at_ms), lowest = picture->lanes.top;
    double y = 8 + picture->blow_rows[index] * RAIL_ROW + RAIL_ROW / 2.0;
    size_t count = json_array_size(blow->targets);
    markup_format(out, "<g class=\"fault f-%s\">", family->name);
    title_of_blow(out, blow);
    for (size_t i = 0; i < count; i++) {
        const char *place = json_string_value(json_array_get(blow->targets, i));
        double lane = place ? lane_of(picture, place) : -1;
        if (lane > lowest) lowest = lane;
    }
    markup_format(out, "<path class=\"stem\" d=\"M%.1f %.1fV%.1f\"/>", x, y + 6, lowest);
    for (size_t i = 0; i < count; i++) {
        const char *place = json_string_value(json_array_get(blow->targets, i));
        if (place) draw_target(out, picture, blow, place);
    }
    markup_format(out,
                  "<circle class=\"seat\" cx=\"%.1f\" cy=\"%.1f\" r=\"7\"/>"
                  "<use href=\"#s-%s\" x=\"%.1f\" y=\"%.1f\" width=\"8\" height=\"8\"/>",
                  x, y, family->name, x - 4, y - 4);
    draw_words(out, blow, (enum label)picture->blow_labels[index], x, y + 3.5);
    markup_add(out, "</g>");
}

/* Nobody in office: from a chief's fall to the next one. */
static void draw_vacancies(struct markup *out, const struct picture *picture)
{
    const struct chronicle *all = picture->all;
    for (size_t i = 1; i < all->reign_count; i++) {
        const struct reign *former = &all->reigns[i - 1], *next = &all->reigns[i];
        double y = lane_of(picture, former->place), to_y = lane_of(picture, next->place);
        double x = report_x(&picture->lanes, former->to_ms);
        double to = report_x(&picture->lanes, next->from_ms);
        if (y < 0 || to_y < 0) continue;
        markup_add(out, "<g><title>nobody in office for ");
        markup_duration(out, next->from_ms - former->to_ms);
        markup_format(out, "</title><path class=\"handover\" d=\"M%.1f %.1fL%.1f %.1f\"/></g>", x,
                      y, to, to_y);
    }
}

static void draw(struct markup *out, const struct picture *picture)
{
    const struct chronicle *all = picture->all;
    double height = picture->chart.top + picture->chart.height + AXIS + 4;
    markup_format(out,
                  "<svg class=\"timeline\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
                  "aria-label=\"timeline\">",
                  WIDTH, height);
    draw_axis(out, picture);
    for (size_t i = 0; i < all->stretch_count; i++) draw_stretch(out, picture, &all->stretches[i]);
    draw_labels(out, picture);
    for (size_t i = 0; i < all->spell_count; i++) draw_spell(out, picture, &all->spells[i]);
    draw_vacancies(out, picture);
    for (size_t i = 0; i < all->reign_count; i++) draw_reign(out, picture, &all->reigns[i]);
    report_rate_chart(out, &picture->chart, all);
    for (size_t i = 0; i < all->blow_count; i++) draw_blow(out, picture, i);
    markup_add(out, "</svg>");
}

void report_timeline(struct markup *out, const struct chronicle *chronicle)
{
    struct picture picture = {.all = chronicle};
    if (layout(&picture))
        draw(out, &picture);
    else
        out->failed = true;
    free(picture.lane_tops);
    free(picture.blow_rows);
    free(picture.blow_labels);
}
