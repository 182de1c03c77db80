#include "chaos/history/recovery.h"
#include "chaos/history/json_member.h"
#include "chaos/plan/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_MAX = 96 };

const struct recovery_phase recovery_phases[RECOVERY_PHASES + 1] = {
    {"detect", "detect_ms"}, {"elect", "elect_ms"}, {"restore", "restore_ms"},
    {"resume", "resume_ms"}, {"total", "total_ms"},
};

/* One recovery while it is put together; times are those of the history, -1: not. */
struct course {
    const struct timeline_fault *timeline_fault; /* NULL: nobody's. */
    double at_ms, sign_ms, still_ms, seen_gone_ms, office_ms, running_ms, advanced_ms;
    bool office, paused, stalled, open;
    json_int_t paused_ms, steps_redone, epochs[2];
};

static bool is_any(const char *word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(word, *list) == 0) { return true; }
    }
    return false;
}

/* Faults that need not name a task to cost it its office or its session. */
static bool strikes_all(const struct timeline_fault *timeline_fault)
{
    const struct fault_descriptor *fault = fault_find(timeline_fault->fault);
    return (fault != NULL && (fault->effects & EFFECT_ANY_TASK) != 0) ||
           strncmp(timeline_fault->whom, "zookeeper", 9) == 0 ||
           strcmp(timeline_fault->whom, "everything") == 0 ||
           strcmp(timeline_fault->whom, "agent") == 0;
}

/* ------------------------------------------------------------- whose fault */

/* The last fault before `at_ms` that struck `place` since it was in office, or that could have
 * struck anybody; what struck it by name a moment ago goes before that. Only what happened to
 * nobody in particular may be any fault's. What was over long ago explains nothing. */
static const struct timeline_fault *whose(const struct timeline *all, const char *place,
                                          double since_ms, double at_ms)
{
    enum { MOMENT_MS = 3000, NAMED_MS = 15000, WIDE_MS = 6000, ANY_MS = 10000, SLACK_MS = 1000 };
    const struct timeline_fault *named = NULL, *wide = NULL, *any = NULL;
    for (size_t i = 0; i < all->fault_count; i++) {
        const struct timeline_fault *timeline_fault = &all->faults[i];
        double ago_ms = at_ms - timeline_fault->until_ms;
        if (timeline_fault->at_ms > at_ms) { continue; }
        if (ago_ms <= ANY_MS) { any = timeline_fault; }
        if (ago_ms <= WIDE_MS && strikes_all(timeline_fault)) { wide = timeline_fault; }
        bool in_time = ago_ms <= NAMED_MS && timeline_fault->at_ms >= since_ms - SLACK_MS;
        if (place != NULL && in_time && timeline_fault_hits(timeline_fault, place)) {
            named = timeline_fault;
        }
    }
    if (named != NULL && wide != NULL && named->until_ms < at_ms - MOMENT_MS &&
        wide->at_ms > named->at_ms) {
        return wide;
    }
    if (named != NULL || wide != NULL) { return named != NULL ? named : wide; }
    return place != NULL ? NULL : any;
}

/* ------------------------------------------------------------- its course */

static bool is_sign(const struct timeline_event *sign, const struct timeline_fault *timeline_fault)
{
    static const char *const losses[] = {"task-lost", "chief-lost", NULL};
    static const char *const general[] = {"paused", "loading",  "forming", "zookeeper-lost",
                                          "failed", "fallback", NULL};
    if (is_any(sign->event, losses)) {
        return timeline_fault == NULL || strikes_all(timeline_fault) ||
               timeline_fault_hits(timeline_fault, sign->task);
    }
    return is_any(sign->event, general);
}

/* The first word of it before `until_ms`; -1: there was none. */
static double first_sign(const struct timeline *all, const struct course *course, double until_ms)
{
    for (size_t i = 0; i < all->event_count; i++) {
        const struct timeline_event *sign = &all->events[i];
        if (sign->at_ms < course->at_ms) { continue; }
        if (sign->at_ms > until_ms) { break; }
        if (is_sign(sign, course->timeline_fault)) { return sign->at_ms; }
    }
    return -1;
}

/* The first sample from `from_ms` on that shows progress beyond `step`; -1 `step`: beyond the
 * sample before. */
static double first_advance(const struct timeline *all, double from_ms, json_int_t step)
{
    for (size_t i = 0; i < all->sample_count; i++) {
        const struct sample *sample = &all->samples[i];
        if (sample->at_ms < from_ms) { continue; }
        if (step >= 0 && sample->step > step) { return sample->at_ms; }
        if (step < 0 && i > 0 && sample->step > all->samples[i - 1].step) { return sample->at_ms; }
    }
    /* The last steps may be done between two samples. */
    return from_ms < all->trained_ms ? all->trained_ms : from_ms;
}

static void note_pause(const struct timeline *all, struct course *course, const struct pause *pause)
{
    course->paused = true;
    course->open = course->open || !pause->ended;
    course->still_ms = pause->from_ms;
    course->running_ms = pause->to_ms;
    course->paused_ms = pause->paused_ms;
    course->steps_redone = pause->steps_redone;
    course->advanced_ms = first_advance(all, pause->to_ms, pause->step);
}

static void note_office(const struct timeline *all, struct course *course, size_t term)
{
    course->office = true;
    course->office_ms = all->terms[term].from_ms;
    course->seen_gone_ms = course->office_ms - all->terms[term].took_ms;
    course->epochs[0] = all->terms[term - 1].epoch;
    course->epochs[1] = all->terms[term].epoch;
}

static struct course course_of(const struct timeline *all,
                               const struct timeline_fault *timeline_fault, double at_ms)
{
    struct course course = {.timeline_fault = timeline_fault,
                            .at_ms = at_ms,
                            .sign_ms = -1,
                            .still_ms = -1,
                            .office_ms = -1,
                            .running_ms = -1,
                            .advanced_ms = -1,
                            .paused_ms = -1,
                            .steps_redone = -1};
    for (size_t i = 0; i < all->term_count && all->terms[i].from_ms <= at_ms; i++) {
        course.epochs[0] = course.epochs[1] = all->terms[i].epoch;
    }
    return course;
}

/* The office changed hands because of it: one such at most, the first. */
static void follow_office(const struct timeline *all, struct course *course)
{
    for (size_t i = 1; i < all->term_count; i++) {
        const struct term *former = &all->terms[i - 1];
        double at_ms = all->terms[i].from_ms;
        if (at_ms < course->at_ms) { continue; }
        if (whose(all, former->place, former->from_ms, at_ms) != course->timeline_fault) {
            continue;
        }
        note_office(all, course, i);
        return;
    }
    /* A chief that was struck and has no successor, though the end is not yet. */
    const struct term *last = all->term_count ? &all->terms[all->term_count - 1] : NULL;
    if (course->timeline_fault == NULL || last == NULL || course->at_ms < last->from_ms) { return; }
    bool fell = last->to_ms < all->trained_ms && last->to_ms >= course->at_ms;
    if (fell && whose(all, last->place, last->from_ms, last->to_ms) == course->timeline_fault) {
        course->office = course->open = true;
    }
}

static bool was_lost(const struct timeline *all, const struct timeline_fault *timeline_fault,
                     double until_ms)
{
    for (size_t i = 0; i < all->event_count; i++) {
        const struct timeline_event *sign = &all->events[i];
        if (sign->at_ms < timeline_fault->at_ms || sign->at_ms > until_ms) { continue; }
        if (strcmp(sign->event, "task-lost") == 0 &&
            timeline_fault_hits(timeline_fault, sign->task)) {
            return true;
        }
    }
    return false;
}

/* Workers were held because of it; or were held already, and it had to be got over too. */
static void follow_pause(const struct timeline *all, struct course *course)
{
    for (size_t i = 0; i < all->pause_count; i++) {
        const struct pause *pause = &all->pauses[i];
        bool within = course->timeline_fault->at_ms >= pause->from_ms &&
                      course->timeline_fault->at_ms < pause->to_ms;
        if (pause->to_ms < course->at_ms) { continue; }
        if (within ? !course->office && !was_lost(all, course->timeline_fault, pause->to_ms)
                   : whose(all, pause->task, 0, pause->from_ms) != course->timeline_fault) {
            continue;
        }
        note_pause(all, course, pause);
        return;
    }
}

static bool is_within_pause(const struct timeline *all, double from_ms, double to_ms)
{
    for (size_t i = 0; i < all->pause_count; i++) {
        if (all->pauses[i].from_ms < to_ms && all->pauses[i].to_ms > from_ms) { return true; }
    }
    return false;
}

/* Whether training that stood still from then on did so because of this fault: the last one done
 * by then, and not long over. */
static bool is_last_before(const struct timeline *all, const struct timeline_fault *timeline_fault,
                           double at_ms)
{
    enum { NEAR_MS = 1000, SAMPLE_MS = 200 };
    if (at_ms < timeline_fault->at_ms - SAMPLE_MS) { return false; }
    if (at_ms > timeline_fault->at_ms + NEAR_MS && at_ms > timeline_fault->until_ms) {
        return false;
    }
    for (size_t i = 0; i < all->fault_count; i++) {
        const struct timeline_fault *other = &all->faults[i];
        if (other != timeline_fault && other->at_ms > timeline_fault->at_ms &&
            other->at_ms <= at_ms) {
            return false;
        }
    }
    return true;
}

/* No step was done for STALL_MS, though nobody had held the workers. */
static void follow_stall(const struct timeline *all, struct course *course)
{
    double last_ms = -1;
    if (course->paused || course->at_ms < all->train_ms) { return; }
    for (size_t i = 1; i < all->sample_count; i++) {
        const struct sample *before = &all->samples[i - 1], *now = &all->samples[i];
        if (now->step <= before->step || now->generation != before->generation) { continue; }
        bool long_ago = last_ms >= 0 && now->at_ms - last_ms >= STALL_MS;
        if (long_ago && now->at_ms > course->at_ms && now->at_ms <= all->trained_ms &&
            is_last_before(all, course->timeline_fault, last_ms) &&
            !is_within_pause(all, last_ms, now->at_ms)) {
            course->stalled = true;
            course->advanced_ms = now->at_ms;
            return;
        }
        last_ms = now->at_ms;
    }
}

/* ------------------------------------------------------------- as JSON */

static json_t *ms_or_null(double ms)
{
    return ms >= 0 ? json_real((double)(json_int_t)(ms * 10 + 0.5) / 10) : json_null();
}

static json_t *count_or_null(json_int_t count)
{
    return count >= 0 ? json_integer(count) : json_null();
}

/* The phases follow each other: none begins before the one before it ended. */
static void set_phases(json_t *object, const struct timeline *all, const struct course *course)
{
    double ends[RECOVERY_PHASES] = {course->sign_ms, course->office ? course->office_ms : -1,
                                    course->paused ? course->running_ms : -1,
                                    course->paused || course->stalled ? course->advanced_ms : -1};
    double from_ms = course->at_ms;
    for (size_t i = 0; i < RECOVERY_PHASES; i++) {
        bool known = ends[i] >= 0 && !(course->open && i == RECOVERY_PHASES - 1);
        double to_ms = known && ends[i] > from_ms ? ends[i] : from_ms;
        json_object_set_new(object, recovery_phases[i].key,
                            ms_or_null(known ? to_ms - from_ms : -1));
        from_ms = to_ms;
    }
    bool elected = course->office && course->office_ms >= 0;
    json_object_set_new(object, "total_ms",
                        ms_or_null(course->open ? -1 : from_ms - course->at_ms));
    json_object_set_new(object, "until_ms", ms_or_null(course->open ? all->end_ms : from_ms));
    json_object_set_new(object, "failover_ms",
                        ms_or_null(elected ? course->office_ms - course->at_ms : -1));
}

/* Recoveries that can be compared: of the same fault, done to one of the same kind. */
static void name_group(const struct course *course, char *text, size_t size)
{
    const struct timeline_fault *timeline_fault = course->timeline_fault;
    const char *whom = timeline_fault != NULL ? timeline_fault->whom : "";
    const char *first = timeline_fault != NULL
                            ? json_string_value(json_array_get(timeline_fault->targets, 0))
                            : NULL;
    bool one = timeline_fault != NULL && json_array_size(timeline_fault->targets) == 1;
    if (course->office && one && first != NULL && strncmp(first, "coordinator:", 12) == 0) {
        whom = "chief";
    }
    snprintf(text, size, "%s%s%.*s", timeline_fault != NULL ? timeline_fault->fault : "unprovoked",
             *whom ? " " : "", (int)strcspn(whom, ":"), whom);
}

static json_t *course_json(const struct timeline *all, const struct course *course)
{
    const struct timeline_fault *timeline_fault = course->timeline_fault;
    char group[GROUP_MAX];
    name_group(course, group, sizeof group);
    json_t *targets = timeline_fault != NULL && timeline_fault->targets != NULL
                          ? json_deep_copy(timeline_fault->targets)
                          : json_array();
    json_t *object = json_pack(
        "{s:o, s:s, s:s, s:s, s:o, s:s, s:o, s:b, s:o, s:o, s:[I, I]}", "id",
        timeline_fault != NULL ? json_integer(timeline_fault->id) : json_null(), "fault",
        timeline_fault != NULL ? timeline_fault->fault : "unprovoked", "group", group, "whom",
        timeline_fault != NULL ? timeline_fault->whom : "", "targets", targets, "point",
        timeline_fault != NULL ? timeline_fault->point : "", "at_ms", ms_or_null(course->at_ms),
        "recovered", !course->open, "paused_ms", count_or_null(course->paused_ms), "steps_redone",
        count_or_null(course->steps_redone), "epochs", course->epochs[0], course->epochs[1]);
    if (object != NULL) { set_phases(object, all, course); }
    return object;
}

/* That the office changed hands or that workers were held is a sign too. A mere stall need not
 * have any. */
static int add_course(json_t *list, const struct timeline *all, struct course *course)
{
    const double others[] = {course->office_ms, course->running_ms, course->still_ms,
                             course->office ? course->seen_gone_ms : -1};
    bool stall = course->stalled && !course->office;
    double until_ms = stall ? course->advanced_ms : all->end_ms;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i] >= course->at_ms && others[i] < until_ms) { until_ms = others[i]; }
    }
    course->sign_ms = first_sign(all, course, until_ms);
    if (course->sign_ms < 0 && !stall) { course->sign_ms = until_ms; }
    return json_array_append_new(list, course_json(all, course));
}

/* What happened to the cluster though nobody had done anything to it. */
static int add_nobodys(json_t *list, const struct timeline *all)
{
    int failed = 0;
    for (size_t i = 0; i < all->pause_count; i++) {
        const struct pause *pause = &all->pauses[i];
        if (whose(all, pause->task, 0, pause->from_ms) != NULL) { continue; }
        struct course course = course_of(all, NULL, pause->from_ms);
        note_pause(all, &course, pause);
        failed |= add_course(list, all, &course);
    }
    for (size_t i = 1; i < all->term_count; i++) {
        const struct term *former = &all->terms[i - 1];
        if (whose(all, former->place, former->from_ms, all->terms[i].from_ms) != NULL) { continue; }
        struct course course = course_of(all, NULL, former->to_ms);
        note_office(all, &course, i);
        failed |= add_course(list, all, &course);
    }
    return failed;
}

json_t *recovery_list(const struct timeline *timeline)
{
    json_t *list = json_array();
    int failed = list != NULL ? add_nobodys(list, timeline) : 0;
    for (size_t i = 0; i < timeline->fault_count && list != NULL && failed == 0; i++) {
        const struct timeline_fault *timeline_fault = &timeline->faults[i];
        struct course course = course_of(timeline, timeline_fault, timeline_fault->at_ms);
        follow_office(timeline, &course);
        follow_pause(timeline, &course);
        if (!course.office) { follow_stall(timeline, &course); }
        if (course.office || course.paused || course.stalled) {
            failed = add_course(list, timeline, &course);
        }
    }
    if (failed == 0) { return list; }
    json_decref(list);
    return NULL;
}

/* ------------------------------------------------------------- goodput */

static json_t *ratio_or_null(double value, double whole)
{
    return whole > 0 ? json_real(value / whole) : json_null();
}

json_t *recovery_goodput(const struct timeline *timeline)
{
    double window_ms = timeline->trained_ms - timeline->train_ms, still_ms = 0;
    json_int_t first = -1, last = -1;
    for (size_t i = 0; i < timeline->sample_count; i++) {
        const struct sample *sample = &timeline->samples[i];
        if (first < 0) { first = sample->step; }
        if (sample->step > last) { last = sample->step; }
    }
    for (size_t i = 0; i < timeline->event_count; i++) {
        const struct timeline_event *sign = &timeline->events[i];
        if (strcmp(sign->event, "running") == 0 && sign->step >= 0 && sign->step < first) {
            first = sign->step;
        }
        if (strcmp(sign->event, "done") == 0 && sign->step > last) { last = sign->step; }
    }
    for (size_t i = 0; i < timeline->pause_count; i++) {
        still_ms += timeline->pauses[i].to_ms - timeline->pauses[i].from_ms;
    }
    const json_t *calm = json_object_get(timeline->begin, "calm");
    double calm_rate = json_member_number(calm, "steps_per_s", 0);
    if (first < 0 || last < first) { first = last = 0; }
    double rate = window_ms > 0 ? (double)(last - first) * 1000 / window_ms : 0;
    return json_pack("{s:I, s:f, s:f, s:f, s:o, s:o}", "steps", last - first, "seconds",
                     window_ms / 1000, "steps_per_s", rate, "calm_steps_per_s", calm_rate,
                     "goodput", ratio_or_null(rate, calm_rate), "availability",
                     ratio_or_null(window_ms - still_ms, window_ms));
}
