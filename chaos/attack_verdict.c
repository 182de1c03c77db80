/* Checks of a cluster whose logs and disks cannot be read: the history is the only evidence. */
#include <assert.h>
#include <string.h>

#include "chaos/attack.h"
#include "chaos/history/json_member.h"
#include "chaos/judge/verdict_checks.h"

/* A number of the history that must not decrease. */
static const struct course {
    const char *check, *kind, *member;
    bool strictly; /* It must not stay the same either. */
} courses[] = {
    {.check = "epochs", .kind = "chief", .member = "epoch", .strictly = true},
    {.check = "generations", .kind = "step", .member = "generation", .strictly = false},
};

static void check_course(json_t *checks, const json_t *history, const struct course *course)
{
    json_int_t highest = -1, now = 0;
    unsigned count = 0;
    size_t i;
    const json_t *line;
    bool ok = true;
    json_array_foreach(history, i, line)
    {
        if (!ok || !line_is(line, course->kind)) { continue; }
        now = json_member_integer(line, course->member, 0);
        ok = course->strictly ? now > highest : now >= highest;
        if (ok) { highest = now; }
        count++;
    }
    if (ok) {
        verdict_add(checks, course->check, count > 0,
                    "%u observed, none decreases; the last is %" JSON_INTEGER_FORMAT, count,
                    highest);
    } else {
        verdict_add(checks, course->check, false,
                    "%s %" JSON_INTEGER_FORMAT " after %s %" JSON_INTEGER_FORMAT, course->member,
                    now, course->member, highest);
    }
}

static void check_alive(json_t *checks, const json_t *history)
{
    const char *phase = "not observed";
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        if (line_is(line, "step")) { phase = json_member_text(line, "phase", "unknown"); }
    }
    bool alive = strcmp(phase, "running") == 0 || strcmp(phase, "stopping") == 0 ||
                 strcmp(phase, "done") == 0;
    verdict_add(checks, "alive", alive, "the last phase of the cluster is %s", phase);
}

/* Without a fault nothing was tested. */
static void check_faults(json_t *checks, const json_t *history)
{
    unsigned injected = 0;
    const char *reason = "the plan has none";
    size_t i;
    const json_t *line;
    json_array_foreach(history, i, line)
    {
        injected += line_is(line, "fault");
        if (line_is(line, "skipped")) { reason = json_member_text(line, "text", "unknown"); }
    }
    if (injected > 0) {
        verdict_add(checks, "faults", true, "%u %s injected", injected,
                    injected == 1 ? "fault was" : "faults were");
    } else {
        verdict_add(checks, "faults", false, "no fault was injected: %s", reason);
    }
}

json_t *attack_judge(const json_t *history, uint64_t within_ms)
{
    json_t *checks = json_array();
    assert(history != NULL);
    if (checks == NULL) { return NULL; }
    check_faults(checks, history);
    verdict_check_recovery(checks, history, within_ms);
    for (size_t i = 0; i < sizeof courses / sizeof *courses; i++) {
        check_course(checks, history, &courses[i]);
    }
    check_alive(checks, history);
    return verdict_of_checks(checks);
}
