#include "chaos/history/recovery.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "chaos/history/json_member.h"
#include "chaos/plan/fault.h"
#include "common/base/minmax.h"

enum { GROUP_MAX = 96 };

const struct recovery_phase recovery_phases[RECOVERY_PHASES + 1] = {
    {"detect", "detect_ms"}, {"elect", "elect_ms"}, {"restore", "restore_ms"},
    {"resume", "resume_ms"}, {"total", "total_ms"},
};

/* A fault and what it caused. Times are those of the timeline; -1: it did not happen. */
struct incident {
    const struct timeline_fault *fault; /* NULL: no known fault. */
    double at_ms;
    bool elected, paused, stalled;
    bool open; /* The history ends before the recovery does. */
    double loss_seen_ms, elected_ms;
    double paused_ms, restored_ms;
    double resumed_ms;
    json_int_t reported_paused_ms, steps_redone; /* By the chief's event; -1: not known. */
    json_int_t epochs[2];
};

static struct incident new_incident(const struct timeline *all, const struct timeline_fault *fault,
                                    double at_ms)
{
    assert(at_ms >= 0);
    struct incident incident = {.fault = fault,
                                .at_ms = at_ms,
                                .loss_seen_ms = -1,
                                .elected_ms = -1,
                                .paused_ms = -1,
                                .restored_ms = -1,
                                .resumed_ms = -1,
                                .reported_paused_ms = -1,
                                .steps_redone = -1};
    for (size_t i = 0; i < all->term_count && all->terms[i].from_ms <= at_ms; i++) {
        incident.epochs[0] = incident.epochs[1] = all->terms[i].epoch;
    }
    return incident;
}

/* ------------------------------------------------------------- causes */

static bool is_any(const char *word, const char *const *list)
{
    assert(word != NULL);
    for (; *list != NULL; list++) {
        if (strcmp(word, *list) == 0) { return true; }
    }
    return false;
}

/* Whether the fault can cost any node its session or its leadership, whatever its targets are. */
static bool affects_all(const struct timeline_fault *fault)
{
    assert(fault->fault != NULL);
    assert(fault->selector != NULL);
    const struct fault_descriptor *descriptor = fault_find(fault->fault);
    return (descriptor != NULL && (descriptor->effects & EFFECT_ANY_TASK) != 0) ||
           strncmp(fault->selector, "zookeeper", 9) == 0 ||
           strcmp(fault->selector, "everything") == 0 || strcmp(fault->selector, "agent") == 0;
}

/*
 * The fault that caused what happened to `component` at `at_ms`; NULL: none that is known.
 *
 * It is the last fault that hit `component` since `since_ms`, or else the last that affects all. If
 * both exist and the first was over for a while when the second began to matter, it is the second.
 * Without a component (NULL), it may be any fault. A fault that was over long ago causes nothing.
 */
static const struct timeline_fault *cause_of(const struct timeline *all, const char *component,
                                             double since_ms, double at_ms)
{
    assert(since_ms >= 0);
    enum { RECENT_MS = 3000, HIT_MS = 15000, WIDE_MS = 6000, ANY_MS = 10000, SLACK_MS = 1000 };
    const struct timeline_fault *hit = NULL, *wide = NULL, *any = NULL;
    for (size_t i = 0; i < all->fault_count; i++) {
        const struct timeline_fault *fault = &all->faults[i];
        double ago_ms = at_ms - fault->until_ms;
        if (fault->at_ms > at_ms) { continue; }
        if (ago_ms <= ANY_MS) { any = fault; }
        if (ago_ms <= WIDE_MS && affects_all(fault)) { wide = fault; }
        bool in_time = ago_ms <= HIT_MS && fault->at_ms >= since_ms - SLACK_MS;
        if (component != NULL && in_time && timeline_fault_hits(fault, component)) { hit = fault; }
    }
    bool stale = hit != NULL && wide != NULL && hit->until_ms < at_ms - RECENT_MS &&
                 wide->at_ms > hit->at_ms;
    if (hit != NULL && !stale) { return hit; }
    return wide != NULL || component != NULL ? wide : any;
}

/* ------------------------------------------------------------- symptoms */

static bool is_symptom(const struct timeline_event *event, const struct timeline_fault *fault)
{
    assert(event->event != NULL);
    assert(event->task != NULL);
    static const char *const losses[] = {"task-lost", "chief-lost", NULL};
    static const char *const general[] = {"paused", "loading",  "forming", "zookeeper-lost",
                                          "failed", "fallback", NULL};
    if (is_any(event->event, losses)) {
        return fault == NULL || affects_all(fault) || timeline_fault_hits(fault, event->task);
    }
    return is_any(event->event, general);
}

/* The first symptom until `until_ms`; -1: there was none. */
static double first_symptom_ms(const struct timeline *all, const struct incident *incident,
                               double until_ms)
{
    for (size_t i = 0; i < all->event_count && all->events[i].at_ms <= until_ms; i++) {
        const struct timeline_event *event = &all->events[i];
        if (event->at_ms >= incident->at_ms && is_symptom(event, incident->fault)) {
            return event->at_ms;
        }
    }
    return -1;
}

/* When the cluster knew of the fault. A new term and a pause are symptoms too; a mere stall need
 * not have any. */
static double detected_ms(const struct timeline *all, const struct incident *incident)
{
    const double others[] = {incident->elected_ms, incident->restored_ms, incident->paused_ms,
                             incident->elected ? incident->loss_seen_ms : -1};
    bool stall = incident->stalled && !incident->elected;
    double until_ms = stall ? incident->resumed_ms : all->end_ms;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i] >= incident->at_ms) { until_ms = double_min(until_ms, others[i]); }
    }
    double first_ms = first_symptom_ms(all, incident, until_ms);
    return first_ms < 0 && !stall ? until_ms : first_ms;
}

/* ------------------------------------------------------------- a new chief */

static void set_new_chief(const struct timeline *all, struct incident *incident, size_t term)
{
    assert(term > 0);
    assert(term < all->term_count);
    incident->elected = true;
    incident->elected_ms = all->terms[term].from_ms;
    incident->loss_seen_ms = incident->elected_ms - all->terms[term].took_ms;
    incident->epochs[0] = all->terms[term - 1].epoch;
    incident->epochs[1] = all->terms[term].epoch;
}

/* The first term that began because of the fault. */
static void find_new_chief(const struct timeline *all, struct incident *incident)
{
    assert(incident->fault != NULL);
    for (size_t i = 1; i < all->term_count; i++) {
        const struct term *former = &all->terms[i - 1], *term = &all->terms[i];
        if (term->from_ms < incident->at_ms) { continue; }
        if (cause_of(all, former->component, former->from_ms, term->from_ms) != incident->fault) {
            continue;
        }
        set_new_chief(all, incident, i);
        return;
    }
    if (all->term_count == 0) { return; }
    /* A chief that was hit during training, and has no successor. */
    const struct term *last = &all->terms[all->term_count - 1];
    bool lost = incident->at_ms >= last->from_ms && last->to_ms >= incident->at_ms &&
                last->to_ms < all->train_to_ms;
    if (lost && cause_of(all, last->component, last->from_ms, last->to_ms) == incident->fault) {
        incident->elected = incident->open = true;
    }
}

/* ------------------------------------------------------------- a pause */

/* The first sample from `from_ms` on of a step beyond `step`; -1 `step`: beyond the sample before
 * it. */
static double first_advance_ms(const struct timeline *all, double from_ms, json_int_t step)
{
    for (size_t i = 0; i < all->sample_count; i++) {
        const struct sample *sample = &all->samples[i];
        if (sample->at_ms < from_ms) { continue; }
        if (step >= 0 && sample->step > step) { return sample->at_ms; }
        if (step < 0 && i > 0 && sample->step > all->samples[i - 1].step) { return sample->at_ms; }
    }
    /* The last steps may be done between two samples. */
    return double_max(from_ms, all->train_to_ms);
}

static void set_pause(const struct timeline *all, struct incident *incident,
                      const struct pause *pause)
{
    assert(pause->from_ms <= pause->to_ms);
    incident->paused = true;
    incident->open = incident->open || !pause->ended;
    incident->paused_ms = pause->from_ms;
    incident->restored_ms = pause->to_ms;
    incident->reported_paused_ms = pause->paused_ms;
    incident->steps_redone = pause->steps_redone;
    incident->resumed_ms = first_advance_ms(all, pause->to_ms, pause->step);
}

/* Whether the chief noticed the loss of one of the targets. */
static bool lost_a_target(const struct timeline *all, const struct timeline_fault *fault,
                          double until_ms)
{
    assert(fault != NULL);
    for (size_t i = 0; i < all->event_count; i++) {
        const struct timeline_event *event = &all->events[i];
        if (event->at_ms < fault->at_ms || event->at_ms > until_ms) { continue; }
        if (strcmp(event->event, "task-lost") == 0 && timeline_fault_hits(fault, event->task)) {
            return true;
        }
    }
    return false;
}

/* The first pause that the fault caused, or during which it was injected and made it longer. */
static void find_pause(const struct timeline *all, struct incident *incident)
{
    const struct timeline_fault *fault = incident->fault;
    assert(fault != NULL);
    for (size_t i = 0; i < all->pause_count; i++) {
        const struct pause *pause = &all->pauses[i];
        bool within = fault->at_ms >= pause->from_ms && fault->at_ms < pause->to_ms;
        if (pause->to_ms < incident->at_ms) { continue; }
        if (within ? incident->elected || lost_a_target(all, fault, pause->to_ms)
                   : cause_of(all, pause->task, 0, pause->from_ms) == fault) {
            set_pause(all, incident, pause);
            return;
        }
    }
}

/* ------------------------------------------------------------- a stall */

static bool overlaps_pause(const struct timeline *all, double from_ms, double to_ms)
{
    assert(from_ms <= to_ms);
    for (size_t i = 0; i < all->pause_count; i++) {
        if (all->pauses[i].from_ms < to_ms && all->pauses[i].to_ms > from_ms) { return true; }
    }
    return false;
}

/* Whether training that stood still from `from_ms` on did so because of this fault: it was the last
 * one then, and not long over. */
static bool causes_stall(const struct timeline *all, const struct timeline_fault *fault,
                         double from_ms)
{
    assert(fault->at_ms <= fault->until_ms);
    enum { NEAR_MS = 1000, SAMPLE_MS = 200 };
    if (from_ms < fault->at_ms - SAMPLE_MS) { return false; }
    if (from_ms > fault->at_ms + NEAR_MS && from_ms > fault->until_ms) { return false; }
    for (size_t i = 0; i < all->fault_count; i++) {
        double other_ms = all->faults[i].at_ms;
        if (other_ms > fault->at_ms && other_ms <= from_ms) { return false; }
    }
    return true;
}

/* No step was done for STALL_MS, although the workers were not stopped. */
static void find_stall(const struct timeline *all, struct incident *incident)
{
    assert(incident->fault != NULL);
    double last_ms = -1; /* When the step last advanced. */
    if (incident->paused || incident->at_ms < all->train_from_ms) { return; }
    for (size_t i = 1; i < all->sample_count; i++) {
        const struct sample *before = &all->samples[i - 1], *now = &all->samples[i];
        if (now->step <= before->step || now->generation != before->generation) { continue; }
        bool stood_still = last_ms >= 0 && now->at_ms - last_ms >= STALL_MS;
        if (stood_still && now->at_ms > incident->at_ms && now->at_ms <= all->train_to_ms &&
            causes_stall(all, incident->fault, last_ms) &&
            !overlaps_pause(all, last_ms, now->at_ms)) {
            incident->stalled = true;
            incident->resumed_ms = now->at_ms;
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

static void set_ms(json_t *object, const char *key, double ms)
{
    json_object_set_new(object, key, ms_or_null(ms));
}

/* The phases follow each other: none begins before the one before it ended. */
static void set_phases(json_t *object, const struct timeline *all, const struct incident *incident)
{
    assert(json_is_object(object));
    double ends[RECOVERY_PHASES] = {detected_ms(all, incident), incident->elected_ms,
                                    incident->restored_ms,
                                    incident->open ? -1 : incident->resumed_ms};
    double from_ms = incident->at_ms;
    for (size_t i = 0; i < RECOVERY_PHASES; i++) {
        double to_ms = double_max(ends[i], from_ms);
        set_ms(object, recovery_phases[i].key, ends[i] >= 0 ? to_ms - from_ms : -1);
        from_ms = to_ms;
    }
    bool elected = incident->elected_ms >= 0;
    set_ms(object, "total_ms", incident->open ? -1 : from_ms - incident->at_ms);
    set_ms(object, "until_ms", incident->open ? all->end_ms : from_ms);
    set_ms(object, "failover_ms", elected ? incident->elected_ms - incident->at_ms : -1);
}

/* Recoveries that can be compared: from the same fault, injected into targets of the same kind. */
static void name_group(const struct incident *incident, char *text, size_t size)
{
    assert(size > 0);
    const struct timeline_fault *fault = incident->fault;
    if (fault == NULL) {
        (void)snprintf(text, size, "unprovoked");
        return;
    }
    const char *target = json_string_value(json_array_get(fault->targets, 0));
    bool chief = incident->elected && json_array_size(fault->targets) == 1 && target != NULL &&
                 strncmp(target, "coordinator:", 12) == 0;
    const char *selector = chief ? "chief" : fault->selector;
    (void)snprintf(text, size, "%s%s%.*s", fault->fault, *selector ? " " : "",
                   (int)strcspn(selector, ":"), selector);
}

static json_t *incident_json(const struct timeline *all, const struct incident *incident)
{
    static const struct timeline_fault unprovoked = {
        .fault = "unprovoked", .selector = "", .point = ""};
    const struct timeline_fault *fault = incident->fault != NULL ? incident->fault : &unprovoked;
    char group[GROUP_MAX];
    name_group(incident, group, sizeof group);
    json_t *targets = fault->targets != NULL ? json_deep_copy(fault->targets) : json_array();
    json_t *object = json_pack(
        "{s:o, s:s, s:s, s:s, s:o, s:s, s:o, s:b, s:o, s:o, s:[I, I]}", "id",
        incident->fault != NULL ? json_integer(fault->id) : json_null(), "fault", fault->fault,
        "group", group, "selector", fault->selector, "targets", targets, "point", fault->point,
        "at_ms", ms_or_null(incident->at_ms), "recovered", !incident->open, "paused_ms",
        count_or_null(incident->reported_paused_ms), "steps_redone",
        count_or_null(incident->steps_redone), "epochs", incident->epochs[0], incident->epochs[1]);
    if (object != NULL) { set_phases(object, all, incident); }
    return object;
}

static int add_incident(json_t *list, const struct timeline *all, const struct incident *incident)
{
    assert(json_is_array(list));
    return json_array_append_new(list, incident_json(all, incident));
}

/* Pauses and new terms that no known fault caused. */
static int add_unprovoked(json_t *list, const struct timeline *all)
{
    int failed = 0;
    for (size_t i = 0; i < all->pause_count; i++) {
        const struct pause *pause = &all->pauses[i];
        if (cause_of(all, pause->task, 0, pause->from_ms) != NULL) { continue; }
        struct incident incident = new_incident(all, NULL, pause->from_ms);
        set_pause(all, &incident, pause);
        failed |= add_incident(list, all, &incident);
    }
    for (size_t i = 1; i < all->term_count; i++) {
        const struct term *former = &all->terms[i - 1];
        if (cause_of(all, former->component, former->from_ms, all->terms[i].from_ms) != NULL) {
            continue;
        }
        struct incident incident = new_incident(all, NULL, former->to_ms);
        set_new_chief(all, &incident, i);
        failed |= add_incident(list, all, &incident);
    }
    return failed;
}

json_t *recovery_list(const struct timeline *timeline)
{
    assert(timeline != NULL);
    json_t *list = json_array();
    int failed = list != NULL ? add_unprovoked(list, timeline) : -1;
    for (size_t i = 0; i < timeline->fault_count && failed == 0; i++) {
        const struct timeline_fault *fault = &timeline->faults[i];
        struct incident incident = new_incident(timeline, fault, fault->at_ms);
        find_new_chief(timeline, &incident);
        find_pause(timeline, &incident);
        if (!incident.elected) { find_stall(timeline, &incident); }
        if (incident.elected || incident.paused || incident.stalled) {
            failed = add_incident(list, timeline, &incident);
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

/* Steps from the first to the last; those that were done again count once. */
static json_int_t steps_done(const struct timeline *all)
{
    json_int_t first = -1, last = -1;
    for (size_t i = 0; i < all->sample_count; i++) {
        json_int_t step = all->samples[i].step;
        if (first < 0) { first = step; }
        if (step > last) { last = step; }
    }
    for (size_t i = 0; i < all->event_count; i++) {
        const struct timeline_event *event = &all->events[i];
        bool begins = strcmp(event->event, "running") == 0 && event->step >= 0;
        if (begins && event->step < first) { first = event->step; }
        if (strcmp(event->event, "done") == 0 && event->step > last) { last = event->step; }
    }
    return first >= 0 && last >= first ? last - first : 0;
}

json_t *recovery_goodput(const struct timeline *timeline)
{
    assert(timeline->train_from_ms <= timeline->train_to_ms);
    double window_ms = timeline->train_to_ms - timeline->train_from_ms, paused_ms = 0;
    for (size_t i = 0; i < timeline->pause_count; i++) {
        paused_ms += timeline->pauses[i].to_ms - timeline->pauses[i].from_ms;
    }
    const json_t *baseline = json_object_get(timeline->begin, "baseline");
    double baseline_rate = json_member_number(baseline, "steps_per_s", 0);
    json_int_t steps = steps_done(timeline);
    double rate = window_ms > 0 ? (double)steps * 1000 / window_ms : 0;
    return json_pack("{s:I, s:f, s:f, s:f, s:o, s:o}", "steps", steps, "seconds", window_ms / 1000,
                     "steps_per_s", rate, "baseline_steps_per_s", baseline_rate, "goodput",
                     ratio_or_null(rate, baseline_rate), "availability",
                     ratio_or_null(window_ms - paused_ms, window_ms));
}
